"""What is worth knowing of each node of a tree: trips and tiles of loops, what storage holds and
how full that makes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath
from solver_mapper.cost.looptree.mapping.mapping_tree import Node, TreeMapping
from solver_mapper.cost.looptree.occupancy import Reservation, reservations


@dataclass(frozen=True)
class Label:
    """`kind` is "loop", "copies", "storage", "toll" or "compute"; `text` says what the node does,
    `detail` with which numbers.

    `share` is the part of its memory that storage reserves, None where the memory is unlimited.
    """

    kind: str
    text: str
    detail: str = ""
    share: Fraction | None = None


@dataclass(frozen=True)
class LabelledTree:
    """A mapping with a label for each node, by the node's identity (`labels`)."""

    mapping: TreeMapping
    labels: Mapping[int, Label]


def labels(branches: Sequence[EinsumPath]) -> dict[int, Label]:
    """A label for each node of the tree, by its identity. Where Einsums see a node differently, it
    is for the one that needs most.
    """
    found: dict[int, Label] = {}
    for branch in branches:
        found |= {key: label for key, label in _loops(branch).items() if key not in found}
        leaf = branch.nodes[-1]
        found[id(leaf)] = Label("compute", str(leaf), f"{branch.einsum.operations:,} operations")
    return found | _storage(branches)


def _loops(branch: EinsumPath) -> dict[int, Label]:
    found: dict[int, Label] = {}
    extents = dict(branch.einsum.bounds)
    for loop in branch.loops:
        tiles = loop.tiles(extents[loop.variable])
        trips = sum(count for _, count in tiles)
        sizes = " then ".join(str(size) for size, _ in tiles)
        extents[loop.variable] = tiles[0][0]
        word, over = (
            ("parallel-for", f" over {_copies(loop.node)}") if loop.spatial else ("for", "")
        )
        found[id(loop.node)] = Label(
            "copies" if loop.spatial else "loop",
            f"{word} {loop.node.variable} in {trips}{over}",
            f"tiles of {sizes}",
        )
    return found


def _storage(branches: Sequence[EinsumPath]) -> dict[int, Label]:
    """Labels of storage and tolls, with what each tensor reserves there."""
    tiles: dict[int, dict[str, Reservation]] = {}
    for each in (each for branch in branches for each in reservations(branch)):
        own = tiles.setdefault(id(each.node), {})
        if each.tensor not in own or own[each.tensor].bits < each.bits:
            own[each.tensor] = each
    found: dict[int, Label] = {}
    for hold in (hold for branch in branches for hold in branch.holds):
        if hold.toll:
            found[id(hold.node)] = Label("toll", str(hold.node))
            continue
        own = tiles[id(hold.node)]
        shown = ", ".join(f"{each.tensor} {each.values:,}" for each in own.values())
        bits = sum((each.bits for each in own.values()), Fraction(0))
        share = (
            None
            if hold.unit.size is None
            else (bits / hold.unit.size if hold.unit.size else Fraction(int(bits > 0)))
        )
        part = "" if share is None else f", {float(100 * share):.3g} %"
        found[id(hold.node)] = Label(
            "storage", str(hold.node), f"{shown} values, {float(bits):,.10g} bits{part}", share
        )
    return found


def _copies(node: Node) -> str:
    return f"{getattr(node, 'component', '')} {getattr(node, 'name', '')}"
