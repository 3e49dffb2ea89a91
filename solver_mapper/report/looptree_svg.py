"""A LoopTree as a picture: SVG text, drawn without any other program.

Loops are boxes, loops in space double boxes, storage is a cylinder filled as far as it fills its
memory, computes are rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from solver_mapper.core.results.rendering import html_of, svg_of
from solver_mapper.cost.looptree.mapping.labels import Label, LabelledTree
from solver_mapper.cost.looptree.mapping.mapping_tree import Nested, Node, Pipeline, Sequential
from solver_mapper.cost.looptree.statistics import TreeStatistics

_CHARACTER, _LINE, _PAD, _GAP, _BETWEEN = 6.7, 15.0, 12.0, 16.0, 28.0
_STYLE = (
    "body{font-family:sans-serif}table{border-collapse:collapse;margin:1em 0}"
    "td,th{border:1px solid #bbb;padding:2px 8px;text-align:left}"
)
_COLOURS = {
    "loop": "#e8eefc",
    "copies": "#e3f4e6",
    "storage": "#fdf3d8",
    "toll": "#fbe4d5",
    "compute": "#eadff5",
    "fork": "#f0f0f0",
}


@dataclass(frozen=True)
class NodeBox:
    """One node at its position. `x` and `y` are its left upper corner."""

    x: float
    y: float
    width: float
    height: float
    label: Label

    @property
    def middle(self) -> float:
        """The horizontal centre."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Drawing:
    """Boxes and the lines between them (x1, y1, x2, y2), within `width` by `height`. `top` is where
    a line from above arrives.
    """

    boxes: tuple[NodeBox, ...]
    lines: tuple[tuple[float, float, float, float], ...]
    width: float
    height: float
    top: float

    def moved(self, dx: float, dy: float) -> Drawing:
        """The drawing moved by a vector."""
        return Drawing(
            tuple(replace(box, x=box.x + dx, y=box.y + dy) for box in self.boxes),
            tuple((a + dx, b + dy, c + dx, d + dy) for a, b, c, d in self.lines),
            self.width,
            self.height,
            self.top + dx,
        )


def arrange(nodes: Sequence[Node], notes: Mapping[int, Label]) -> Drawing:
    """The layout of a run of nodes: one below the other, branches of a fork side by side."""
    boxes: list[tuple[float, float, Label]] = []
    below: Drawing | None = None
    for node in _flat(nodes):
        if isinstance(node, (Sequential, Pipeline)):
            word = "in sequence" if isinstance(node, Sequential) else "in a pipeline"
            boxes.append((*_size(Label("fork", word)), Label("fork", word)))
            below = _side_by_side([arrange((child,), notes) for child in node.nodes])
        else:
            label = notes.get(id(node), Label("loop", str(node)))
            boxes.append((*_size(label), label))
    width = max([below.width if below else 0.0, *(each[0] for each in boxes)])
    return _stacked(boxes, below, width)


def _flat(nodes: Sequence[Node]) -> list[Node]:
    return [
        inner
        for node in nodes
        for inner in (_flat(node.nodes) if isinstance(node, Nested) else [node])
    ]


def _size(label: Label) -> tuple[float, float]:
    lines = [label.text, *([label.detail] if label.detail else [])]
    extra = 10.0 if label.kind == "storage" else 0.0
    return (
        max(len(line) for line in lines) * _CHARACTER + 2 * _PAD,
        len(lines) * _LINE + 10.0 + extra,
    )


def _side_by_side(parts: Sequence[Drawing]) -> Drawing:
    boxes: list[NodeBox] = []
    lines: list[tuple[float, float, float, float]] = []
    x, tops = 0.0, []
    for part in parts:
        placed = part.moved(x, 0.0)
        boxes += placed.boxes
        lines += placed.lines
        tops.append(placed.top)
        x += part.width + _BETWEEN
    middle = (tops[0] + tops[-1]) / 2
    lines += [(middle, -_GAP, top, 0.0) for top in tops]
    return Drawing(
        tuple(boxes), tuple(lines), x - _BETWEEN, max(part.height for part in parts), middle
    )


def _stacked(
    sizes: Sequence[tuple[float, float, Label]], below: Drawing | None, width: float
) -> Drawing:
    middle = width / 2
    boxes: list[NodeBox] = []
    lines: list[tuple[float, float, float, float]] = []
    y = 0.0
    for wide, high, label in sizes:
        if boxes:
            lines.append((middle, y - _GAP, middle, y))
        boxes.append(NodeBox(middle - wide / 2, y, wide, high, label))
        y += high + _GAP
    if below is None:
        return Drawing(tuple(boxes), tuple(lines), width, y - _GAP, middle)
    placed = below.moved(
        (
            middle - below.top
            if 0 <= middle - below.top <= width - below.width
            else (width - below.width) / 2
        ),
        y,
    )
    lines += [(middle if (b < y and d == y) else a, b, c, d) for a, b, c, d in placed.lines]
    return Drawing((*boxes, *placed.boxes), tuple(lines), width, y + below.height, middle)


@svg_of.register
def svg(tree: LabelledTree) -> str:
    """The picture as the text of an SVG file."""
    drawing = arrange(tree.mapping.nodes, tree.labels).moved(_PAD, _PAD)
    width, height = drawing.width + 2 * _PAD, drawing.height + 2 * _PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" font-family="monospace" font-size="11">'
    ]
    parts += [
        f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="#666"/>'
        for a, b, c, d in drawing.lines
    ]
    for box in drawing.boxes:
        parts += _shape(box)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _shape(box: NodeBox) -> list[str]:
    style = f'fill="{_COLOURS[box.label.kind]}" stroke="#444"'
    x, y, width, height = box.x, box.y, box.width, box.height
    shapes: list[str]
    if box.label.kind == "storage":
        shapes = _cylinder(box, style)
    else:
        rounding = height / 2 if box.label.kind == "compute" else 3.0
        shapes = [
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            f' rx="{rounding:.1f}" {style}/>'
        ]
        if box.label.kind == "copies":
            shapes.append(
                f'<rect x="{x + 3:.1f}" y="{y + 3:.1f}" width="{width - 6:.1f}"'
                f' height="{height - 6:.1f}" rx="2" {style}/>'
            )
    first = (
        y
        + (height + (10.0 if box.label.kind == "storage" else 0.0)) / 2
        + 4
        - (_LINE / 2 if box.label.detail else 0)
    )
    texts = [(box.label.text, first, "bold")] + (
        [(box.label.detail, first + _LINE, "normal")] if box.label.detail else []
    )
    shapes += [
        f'<text x="{box.middle:.1f}" y="{line:.1f}" text-anchor="middle"'
        f' font-weight="{weight}">{escape(text)}</text>'
        for text, line, weight in texts
    ]
    return shapes


def _cylinder(box: NodeBox, style: str) -> list[str]:
    """A drum with its lid; the filled part of its memory is darker."""
    x, y, width, height, lid = box.x, box.y, box.width, box.height, 5.0
    body = (
        f"M{x:.1f},{y + lid:.1f} v{height - 2 * lid:.1f} a{width / 2:.1f},{lid} 0 0 0 {width:.1f},0"
        f" v-{height - 2 * lid:.1f}"
    )
    shapes = [f'<path d="{body}" {style}/>']
    if box.label.share is not None:
        filled = (height - 2 * lid) * min(1.0, float(box.label.share))
        shapes.append(
            f'<rect x="{x:.1f}" y="{y + height - lid - filled:.1f}" width="6" height="{filled:.1f}"'
            ' fill="#d9a521"/>'
        )
    shapes.append(
        f'<ellipse cx="{box.middle:.1f}" cy="{y + lid:.1f}" rx="{width / 2:.1f}" ry="{lid}"'
        f" {style}/>"
    )
    return shapes


@html_of.register
def page(tree: LabelledTree, statistics: TreeStatistics, title: str) -> str:
    """The picture with its figures as the text of an HTML file that needs nothing else."""
    rows = "".join(
        f"<tr><td>{escape(einsum.name)}</td><td>{float(einsum.energy):.6g}</td><td>{float(einsum.latency):.6g}</td>"
        f"<td>{escape(einsum.bottleneck or '')}</td></tr>"
        for einsum in statistics.einsums
    )
    peaks = "".join(
        f"<tr><td>{escape(name)}</td><td>{float(peak.bits):g} of"
        f" {float(peak.size):g}</td><td>{float(100 * peak.fraction):.1f}"
        f" %</td><td>{escape('; '.join(str(each) for each in peak.reservations))}</td></tr>"
        for name, peak in statistics.occupancy.items()
    )
    return (
        f"<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n"
        f"<p>energy {float(statistics.energy):.9g} J, "
        f"latency {float(statistics.latency):.9g} s</p>\n"
        f"{svg(tree)}<table><tr><th>Einsum</th><th>energy (J)</th><th>latency (s)</th>"
        f"<th>bound by</th></tr>{rows}</table>\n"
        "<table><tr><th>memory</th><th>bits</th><th>full</th><th>what makes the peak</th></tr>"
        f"{peaks}</table></body></html>\n"
    )
