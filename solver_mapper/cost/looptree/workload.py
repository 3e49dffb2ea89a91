"""What is computed: Einsums, the tensors they share, and how each is indexed. Knows nothing of any
architecture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property

from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.cost.looptree.sets import EinsumScope
from solver_mapper.errors import NOWHERE, SourceLocation, unknown_name

EMPTY_SCOPE = EinsumScope({}, {}, {})


class Relevance(Enum):
    """How a rank variable indexes a tensor."""

    IRRELEVANT = "irrelevant"
    RELEVANT = "relevant"
    PARTIAL = "partial"
    """It shares a rank with another variable (`p + r`): neighbouring tiles overlap."""


@dataclass(frozen=True)
class Access:
    """One Einsum's use of one tensor.

    `tensor.ranks[i]` is the index expression of the rank called `rank_names[i]`;
    `tensor.read_write` says that the Einsum writes it. `bits` per value. A `persistent` tensor
    stays in its backing memory for the whole workload.
    """

    tensor: Tensor
    rank_names: tuple[str, ...]
    bits: Fraction = Fraction(1)
    persistent: bool = False
    location: SourceLocation = field(default=NOWHERE, compare=False)

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.tensor.name

    @property
    def output(self) -> bool:
        """Whether the Einsum writes the tensor."""
        return self.tensor.read_write

    @property
    def variables(self) -> frozenset[str]:
        """Rank variables that index the tensor."""
        return self.tensor.dims

    def footprint(self, tile: Mapping[str, int]) -> int:
        """Values in the tile of this tensor that `tile[variable]` points per rank variable touch
        (see `Tensor.footprint`).
        """
        return self.tensor.footprint(tile)

    def relevance(self, variable: str) -> Relevance:
        """The first rank that `variable` indexes decides."""
        for rank in self.tensor.ranks:
            if any(term.dim == variable for term in rank):
                return Relevance.RELEVANT if len(rank) == 1 else Relevance.PARTIAL
        return Relevance.IRRELEVANT

    def __str__(self) -> str:
        indices = []
        for name, rank in zip(self.rank_names, self.tensor.ranks, strict=True):
            text = " + ".join(
                term.dim if term.coefficient == 1 else f"{term.coefficient}*{term.dim}"
                for term in rank
            )
            indices.append(text if text.upper() == name else f"{name}: {text}")
        return f"{self.name}[{', '.join(indices)}]"


@dataclass(frozen=True)
class Einsum:
    """One step of the computation: every point of the box `bounds` reads its inputs and updates its
    output.

    `bounds[variable]` is the number of values of each rank variable, in the order of first use. The
    Einsum runs `instances` times. `scope` holds what set expressions about it may mention, renames
    included. A `copy` moves its input to its output without computing.
    """

    name: str
    accesses: tuple[Access, ...]
    bounds: Mapping[str, int]
    instances: int = 1
    copy: bool = False
    scope: EinsumScope = field(default=EMPTY_SCOPE, compare=False, repr=False)
    location: SourceLocation = field(default=NOWHERE, compare=False)

    @property
    def variables(self) -> tuple[str, ...]:
        """Rank variables in the order of first use."""
        return tuple(self.bounds)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the tensors, in the order of the accesses."""
        return tuple(access.name for access in self.accesses)

    @property
    def inputs(self) -> tuple[Access, ...]:
        """Accesses that read."""
        return tuple(access for access in self.accesses if not access.output)

    @property
    def outputs(self) -> tuple[Access, ...]:
        """Accesses that write."""
        return tuple(access for access in self.accesses if access.output)

    @cached_property
    def by_tensor(self) -> Mapping[str, Access]:
        """Accesses by the tensor's name."""
        return {access.name: access for access in self.accesses}

    @cached_property
    def operations(self) -> int:
        """Multiply-accumulates of one instance: the product of all bounds."""
        total = 1
        for bound in self.bounds.values():
            total *= bound
        return total

    @cached_property
    def problem(self) -> Problem:
        """The same loop nest as a single problem, rank variables as its dimensions."""
        return Problem(
            self.name,
            self.variables,
            self.bounds,
            tuple(access.tensor for access in self.accesses),
            self.location,
        )

    def __str__(self) -> str:
        written = ", ".join(str(access) for access in self.outputs)
        return f"{written} = {' * '.join(str(access) for access in self.inputs)}"


@dataclass(frozen=True)
class Workload:
    """Einsums in execution order. Tensors are shared by name: written by one, read by others. All
    runs `instances` times.
    """

    einsums: tuple[Einsum, ...]
    instances: int = 1
    location: SourceLocation = field(default=NOWHERE, compare=False)

    @cached_property
    def by_name(self) -> Mapping[str, Einsum]:
        """Einsums by name."""
        return {einsum.name: einsum for einsum in self.einsums}

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """All tensor names, in the order of first use."""
        return tuple(dict.fromkeys(name for einsum in self.einsums for name in einsum.tensors))

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """All rank variables, in the order of first use."""
        return tuple(dict.fromkeys(name for einsum in self.einsums for name in einsum.variables))

    @cached_property
    def rank_names(self) -> tuple[str, ...]:
        """The names of all ranks of tensors, in the order of first use."""
        accesses = (access for einsum in self.einsums for access in einsum.accesses)
        return tuple(dict.fromkeys(name for access in accesses for name in access.rank_names))

    def einsum(self, name: str) -> Einsum:
        """The Einsum called `name`. Raises: InputError if there is none."""
        if name not in self.by_name:
            raise unknown_name("Einsum", name, self.by_name, self.location)
        return self.by_name[name]

    def users(self, tensor: str) -> tuple[int, ...]:
        """Positions of the Einsums that read or write `tensor`, in execution order."""
        return tuple(self._users.get(tensor, ()))

    @cached_property
    def _users(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, einsum in enumerate(self.einsums):
            for tensor in einsum.by_tensor:
                found.setdefault(tensor, []).append(index)
        return found

    def producers(self, tensor: str) -> tuple[int, ...]:
        """Positions of the Einsums that write `tensor`."""
        return tuple(
            index for index in self.users(tensor) if self.einsums[index].by_tensor[tensor].output
        )

    def consumers(self, tensor: str) -> tuple[int, ...]:
        """Positions of the Einsums that read `tensor`."""
        return tuple(
            index
            for index in self.users(tensor)
            if not self.einsums[index].by_tensor[tensor].output
        )

    @cached_property
    def intermediates(self) -> frozenset[str]:
        """Tensors that one Einsum writes and another reads."""
        return frozenset(
            name for name in self.tensors if self.producers(name) and self.consumers(name)
        )

    @cached_property
    def shared(self) -> frozenset[str]:
        """Tensors that more than one Einsum uses."""
        return frozenset(name for name in self.tensors if len(self.users(name)) > 1)

    def access(self, tensor: str) -> Access:
        """Some access to `tensor`, preferring the one that writes it."""
        users = self.producers(tensor) or self.users(tensor)
        return self.einsums[users[0]].by_tensor[tensor]


def indexes_alone(access: Access, variable: str) -> bool:
    """Whether `variable` alone indexes one rank of the tensor, with coefficient 1: tiles along it
    never overlap or leave holes.
    """
    found = [rank for rank in access.tensor.ranks if any(term.dim == variable for term in rank)]
    return len(found) == 1 and len(found[0]) == 1 and abs(found[0][0].coefficient) == 1
