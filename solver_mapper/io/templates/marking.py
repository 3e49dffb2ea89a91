"""Putting marks into a parsed template, so that its output says where each part comes from."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator

from jinja2 import Environment, nodes

from solver_mapper.errors import SourceLocation
from solver_mapper.io.templates.source_map import Origins

_VALUES = (nodes.AssignBlock, nodes.FilterBlock, nodes.Macro, nodes.CallBlock)
"""Blocks whose output is a value that the template may compare or change: no marks stand in it."""


class TemplatePieces:
    """Where the pieces of a template begin: its literal text, in order, and its expressions, by
    line.
    """

    def __init__(self, environment: Environment, source: str):
        self.literals: deque[tuple[str, int, int]] = deque()
        self.expressions: defaultdict[int, deque[int]] = defaultdict(deque)
        offset = 0
        for line, kind, value in environment.lex(source):
            start = source.find(value, offset)
            if start < 0:
                continue
            offset = start + len(value)
            column = start - (source.rfind("\n", 0, start) + 1) + 1
            if kind == "data":
                self.literals.append((value, line, column))
            elif kind == "variable_begin":
                self.expressions[line].append(column)

    def literal(self, text: str, line: int) -> tuple[int, int | None]:
        """Line and column of the next piece of literal text, which is `text`."""
        if self.literals and self.literals[0][0] == text:
            return self.literals.popleft()[1:]
        return line, None

    def expression(self, line: int) -> tuple[int, int | None]:
        """Line and column of the next expression on `line`."""
        columns = self.expressions[line]
        return line, columns.popleft() if columns else None


def mark_template(
    tree: nodes.Template, file: str, positions: TemplatePieces, origins: Origins
) -> None:
    """Mark the start of each expression and the first letter of each line of literal text."""
    for output, plain in _outputs(tree, True):
        marked: list[nodes.Expr] = []
        for node in output.nodes:
            if isinstance(node, nodes.TemplateData):
                line, column = positions.literal(node.data, node.lineno)
                if plain:
                    node.data = _marked(node.data, file, line, column, origins)
            else:
                location = SourceLocation(file, *positions.expression(node.lineno))
                if plain:
                    marked.append(
                        nodes.TemplateData(
                            origins.mark(location, literal=False), lineno=node.lineno
                        )
                    )
            marked.append(node)
        output.nodes = marked


def mark_literal(text: str, file: str, origins: Origins) -> str:
    """The text of a file that is no template, with marks."""
    return _marked(text, file, 1, 1, origins)


def _outputs(node: nodes.Node, plain: bool) -> Iterator[tuple[nodes.Output, bool]]:
    """All outputs below `node` in the order of the source, and whether marks may stand in them."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Output):
            yield child, plain
        else:
            yield from _outputs(child, plain and not isinstance(child, _VALUES))


def _marked(text: str, file: str, line: int, column: int | None, origins: Origins) -> str:
    lines = []
    for index, part in enumerate(text.split("\n")):
        indent = len(part) - len(part.lstrip())
        if indent < len(part):
            first = column if index == 0 else 1
            location = SourceLocation(file, line + index, None if first is None else first + indent)
            part = part[:indent] + origins.mark(location, literal=True) + part[indent:]
        lines.append(part)
    return "\n".join(lines)
