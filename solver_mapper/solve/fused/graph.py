"""What the Einsums of a workload may hand over on chip: which tensors, in which memories, and which
ranks are one rank through them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.hardware import Chain, Kind, Unit
from solver_mapper.cost.looptree.workload import Access, Workload, indexes_alone
from solver_mapper.errors import InputError

Occurrence = tuple[int, str]
"""A rank variable of an Einsum: (position, name)."""


@dataclass(frozen=True)
class Graph:
    """A workload on an architecture, Einsums in execution order."""

    architecture: Architecture
    workload: Workload

    def __len__(self) -> int:
        return len(self.workload.einsums)

    @cached_property
    def intermediates(self) -> tuple[str, ...]:
        """Tensors that an Einsum writes and later ones use.

        Raises: InputError for a tensor that is read before it is written.
        """
        found = tuple(name for name in self.workload.tensors if name in self.workload.intermediates)
        for name in found:
            first, written = self.spans[name][0], self.workload.producers(name)[0]
            if first < written:
                location = self.access(first, name).location
                raise InputError(
                    f"Einsum '{self.workload.einsums[first].name}' reads '{name}' before "
                    f"'{self.workload.einsums[written].name}' writes it",
                    location,
                    "Einsums run in the order of the file",
                )
        return found

    @cached_property
    def spans(self) -> Mapping[str, tuple[int, int]]:
        """Positions of the first and the last Einsum that uses each tensor."""
        users = {name: self.workload.users(name) for name in self.workload.tensors}
        return {name: (listed[0], listed[-1]) for name, listed in users.items()}

    def live(self, position: int) -> tuple[str, ...]:
        """Intermediates that the Einsum at `position`, or one before, shares with one after it."""
        return tuple(
            name
            for name in self.intermediates
            if self.spans[name][0] <= position < self.spans[name][1]
        )

    def born(self, position: int) -> tuple[str, ...]:
        """Live intermediates that no Einsum before `position` uses."""
        return tuple(name for name in self.live(position) if self.spans[name][0] == position)

    def access(self, position: int, tensor: str) -> Access:
        """How the Einsum at `position` uses `tensor`."""
        return self.workload.einsums[position].by_tensor[tensor]

    def rank_of(self, position: int, tensor: str, variable: str) -> str | None:
        """The rank of the tensor that the variable alone indexes, with coefficient 1; none for a
        tensor of several writers.
        """
        if len(self.workload.producers(tensor)) > 1:
            return None
        access = self.access(position, tensor)
        if not indexes_alone(access, variable):
            return None
        return next(
            name
            for name, rank in zip(access.rank_names, access.tensor.ranks, strict=True)
            if any(term.dim == variable for term in rank)
        )

    def variable_of(self, position: int, tensor: str, rank: str) -> str | None:
        """The variable that alone indexes a rank of the tensor, with coefficient 1."""
        access = self.access(position, tensor)
        index = access.tensor.ranks[access.rank_names.index(rank)]
        return index[0].dim if len(index) == 1 and indexes_alone(access, index[0].dim) else None

    @cached_property
    def families(self) -> Mapping[Occurrence, Occurrence]:
        """For each rank variable, the first that indexes the same rank of some intermediate,
        directly or through others.
        """
        parent: dict[Occurrence, Occurrence] = {
            (position, name): (position, name)
            for position, einsum in enumerate(self.workload.einsums)
            for name in einsum.variables
        }

        def root(item: Occurrence) -> Occurrence:
            while parent[item] != item:
                item = parent[item]
            return item

        for tensor in self.intermediates:
            seen: dict[str, Occurrence] = {}
            for position in self.workload.users(tensor):
                for rank in self.access(position, tensor).rank_names:
                    variable = self.variable_of(position, tensor, rank)
                    if variable is not None:
                        one, other = sorted(
                            (
                                root(seen.setdefault(rank, (position, variable))),
                                root((position, variable)),
                            )
                        )
                        parent[other] = one
        return {item: root(item) for item in parent}

    def variables_after(self, position: int, family: Occurrence) -> frozenset[str]:
        """Names of the variables of a family in the Einsums after `position`."""
        return self._later[position].get(family, frozenset())

    @cached_property
    def _later(self) -> tuple[Mapping[Occurrence, frozenset[str]], ...]:
        found: list[dict[Occurrence, frozenset[str]]] = [{}]
        for position in range(len(self) - 1, 0, -1):
            after = dict(found[0])
            for name in self.workload.einsums[position].variables:
                family = self.families[position, name]
                after[family] = after.get(family, frozenset()) | {name}
            found.insert(0, after)
        return tuple(found)

    def chains(self, position: int) -> tuple[Chain, ...]:
        """The paths of components on which the Einsum at `position` may run: one a compute."""
        einsum = self.workload.einsums[position]
        return tuple(
            self.architecture.chain(einsum, compute)
            for compute in self.architecture.enabled_computes(einsum)
        )

    def across(self, memory: str) -> tuple[tuple[str, str], ...]:
        """The fan-outs (component, name) over whose copies a memory is spread, outer to inner."""
        return self._across[memory]

    @cached_property
    def _across(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """For each memory on chip in which tensors may be handed over: those that exist once, and
        those with the same copies and the same size for every Einsum that has them.
        """
        found: dict[str, set[tuple[tuple[tuple[str, str], ...], Fraction | None]]] = {}
        for position in range(len(self)):
            for chain in self.chains(position):
                ways: list[tuple[str, str]] = []
                for unit in chain.units:
                    ways += [(unit.name, each.name) for each in unit.fanouts if each.size > 1]
                    if unit.kind is Kind.MEMORY and unit is not chain.memories[0]:
                        size = unit.size if ways else None
                        found.setdefault(unit.name, set()).add((tuple(ways), size))
        return {
            name: tuple(ways)
            for name, ((ways, _), *others) in ((n, list(seen)) for n, seen in found.items())
            if not others
        }

    def fanout(self, way: tuple[str, str]) -> int:
        """The copies along a fan-out."""
        return self._fanouts[way]

    @cached_property
    def _fanouts(self) -> Mapping[tuple[str, str], int]:
        return {
            (unit.name, each.name): each.size
            for position in range(len(self))
            for chain in self.chains(position)
            for unit in chain.units
            for each in unit.fanouts
        }

    def closed(self, memories: Iterable[str]) -> frozenset[tuple[str, str]]:
        """The fan-outs over which loops are shared if tensors are handed over in these memories."""
        return frozenset(way for memory in memories for way in self.across(memory))

    def homes(self, tensor: str) -> tuple[str, ...]:
        """The memories on chip in which a tensor may be handed over: those that each Einsum which
        uses the tensor reaches on some path of components.
        """
        users = self.workload.users(tensor)
        if len(self.workload.producers(tensor)) > 1 or any(
            self.access(position, tensor).persistent for position in users
        ):
            return ()
        copied = any(self.workload.einsums[position].copy for position in users)
        lists = [
            [
                unit.name
                for chain in self.chains(position)
                for unit in chain.memories[1:]
                if unit.name in self._across and not (copied and self.across(unit.name))
            ]
            for position in users
        ]
        shared = (name for name in lists[0] if all(name in other for other in lists))
        return tuple(dict.fromkeys(shared))

    def bits(self, tensor: str, memory: str) -> Fraction:
        """The room that the whole tensor takes in a memory: the most that any of its users sees."""
        return max(
            self.access(position, tensor).footprint(self.workload.einsums[position].bounds)
            * unit.bits[tensor]
            for position in self.workload.users(tensor)
            for unit in self._units(memory, position)
        )

    @cached_property
    def crowded(self) -> Mapping[str, float]:
        """The size in bits of each memory in which tensors may be handed over that is too small to
        hold everything at once.

        Raises: InputError where the size depends on the Einsum.
        """
        found: dict[str, float] = {}
        for name in dict.fromkeys(
            unit.name
            for position in range(len(self))
            for chain in self.chains(position)
            for unit in chain.memories[1:]
            if unit in before_fanouts(chain) or unit.name in self._across
        ):
            size, everything = self._size(name), self._everything(name)
            if size is not None and everything > size:
                found[name] = float(size)
        return found

    def _units(self, memory: str, position: int) -> tuple[Unit, ...]:
        """A memory as the Einsum at `position` sees it, once for each chain that has it."""
        chains = self.chains(position)
        return tuple(chain.by_name[memory] for chain in chains if memory in chain.by_name)

    def _size(self, memory: str) -> Fraction | None:
        """Raises: InputError where the size of the memory depends on the Einsum."""
        units = [unit for position in range(len(self)) for unit in self._units(memory, position)]
        if any(unit.size != units[0].size for unit in units):
            raise InputError(
                f"the size of '{memory}' depends on the Einsum, which solve does not support for"
                " several Einsums",
                units[0].size_location,
                "give it one size, or map each Einsum by itself",
            )
        return units[0].size

    def _everything(self, memory: str) -> Fraction:
        """The room in bits that all tensors of all Einsums that may use the memory take in it."""
        return sum(
            (
                access.footprint(einsum.bounds) * max(unit.bits[access.name] for unit in units)
                for position, einsum in enumerate(self.workload.einsums)
                if (units := self._units(memory, position))
                for access in einsum.accesses
            ),
            Fraction(0),
        )


def before_fanouts(chain: Chain) -> tuple[Unit, ...]:
    """The memories of a chain that exist once."""
    found: list[Unit] = []
    for unit in chain.units:
        if any(fanout.size > 1 for fanout in unit.fanouts):
            break
        if unit.kind is Kind.MEMORY:
            found.append(unit)
    return tuple(found)
