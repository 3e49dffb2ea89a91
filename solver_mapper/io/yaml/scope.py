"""Names that arithmetic in a file may use: variables, and the attributes of containers and of the
component itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from solver_mapper.errors import InputError
from solver_mapper.io.yaml.expressions import evaluate
from solver_mapper.io.yaml.source import Scalar, Table


class Scope(Mapping[str, Fraction]):
    """Values of the entries of `tables`, the innermost last; each is worked out when it is asked
    for.

    An entry that uses its own name means the one further out: `width: width * 2`.

    Raises: InputError, from a look-up, for a value that is no arithmetic or that depends on itself.
    """

    def __init__(self, *tables: Table):
        self.tables = tables
        self._open: set[int] = set()

    def __getitem__(self, name: str) -> Fraction:
        found = [table.entries[name] for table in self.tables if name in table.entries]
        if not found:
            raise KeyError(name)
        usable = [node for node in found if id(node) not in self._open]
        if not usable:
            raise InputError(f"'{name}' depends on itself", found[-1].place)
        node = usable[-1]
        if not isinstance(node, Scalar):
            raise InputError(f"'{name}' is not a number", node.place)
        return self.evaluate(node, f"'{name}'")

    def evaluate(self, node: Scalar, what: str) -> Fraction:
        """The value of `node`, in which its own name means an entry further out."""
        self._open.add(id(node))
        try:
            return evaluate(node.text, self, node.place, what)
        finally:
            self._open.discard(id(node))

    def __contains__(self, name: object) -> bool:
        return any(name in table.entries for table in self.tables)

    def __iter__(self) -> Iterator[str]:
        return iter({name: None for table in self.tables for name in table.entries})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def within(self, table: Table) -> Scope:
        """This scope with the entries of `table` further in."""
        return Scope(*self.tables, table)
