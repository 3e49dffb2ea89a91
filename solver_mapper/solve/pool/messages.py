"""What a search and the processes beside it send each other, and what these work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from solver_mapper.solve.numbering import Numbering

Part = Callable[[Any], Any]
"""A function of tables. It can be pickled, and so can its result."""


class Tables(Protocol):
    """What parts of the work are functions of."""

    @property
    def numberings(self) -> Sequence[Numbering[Any]]:
        """Those to which parts may refer. They grow in the search alone."""
        ...

    def mentioned(self, part: Part) -> Sequence[NDArray[Any]]:
        """The numbers of each that a part refers to, some more than once."""
        ...


class Prepare(NamedTuple):
    """To a process: make the tables that tasks use which name this `number`."""

    number: int
    make: Callable[[], Tables]


class Task(NamedTuple):
    """To a process: call functions of the tables with this number. `met`: what they refer to and
    the process does not know yet, of each numbering.
    """

    number: int
    parts: list[Part]
    met: list[dict[int, Any]]


class Result(NamedTuple):
    """From a process, when it is ready for the next message: what the parts of a task returned."""

    values: Sequence[Any] = ()
