"""How large a tree is, aliases counted as often as they stand: what walks it must end."""

from __future__ import annotations

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.source import Node, Sequence, Table

MOST_VALUES = 1_000_000
DEEPEST = 60


class Extents:
    """Sizes and depths of the nodes of one input; nodes that several places share are looked at
    once.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int, Node]] = {}

    def check(self, node: Node) -> None:
        """Raises: InputError for a tree of more than `MOST_VALUES` values or `DEEPEST` levels."""
        size, depth = self._of(node, 0)
        if size > MOST_VALUES:
            raise _too_many(node.location)
        if depth > DEEPEST:
            raise _too_deep(node.location)

    def check_growth(self, size: int, depth: int, location: SourceLocation) -> None:
        """Raises: InputError for a value of a text, the one of number `size`, `depth` levels deep,
        that is one too many.
        """
        if size > MOST_VALUES:
            raise _too_many(location)
        if depth > DEEPEST:
            raise _too_deep(location)

    def _of(self, node: Node, above: int) -> tuple[int, int]:
        """Values and levels of a tree."""
        if not isinstance(node, (Table, Sequence)):
            return 1, 0
        known = self._known.get(id(node))
        if known is None:
            if above > DEEPEST:
                raise _too_deep(node.location)
            parts = node.entries.values() if isinstance(node, Table) else node.items
            size, depth = 1, 0
            for part in parts:
                more, deep = self._of(part, above + 1)
                size, depth = size + more, max(depth, deep)
            known = self._known[id(node)] = size, depth + 1, node
        return known[0], known[1]


def _too_many(location: SourceLocation) -> InputError:
    return InputError(
        f"this stands for more than {MOST_VALUES:,} values, aliases written out", location
    )


def _too_deep(location: SourceLocation) -> InputError:
    return InputError(f"nested too deeply: more than {DEEPEST} levels", location)
