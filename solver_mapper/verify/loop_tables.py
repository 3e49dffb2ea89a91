"""Loop slots, tile extents, tensors, energies as exact integers, for proofs by branch and bound."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product
from math import lcm, prod
from typing import NamedTuple

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    HOLDS,
    Constraints,
    FactorConstraint,
    KeepConstraint,
    ReuseConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.index_sums import distinct_sums
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem, Tensor

Mask = int
"""A set of small numbers: bit i is set if i is in it."""


class Rank(NamedTuple):
    """One rank of a tensor: dimensions, words by which an iteration widens a tile, words by which
    it moves one.
    """

    dims: tuple[int, ...]
    spans: tuple[int, ...]
    shifts: tuple[int, ...]


class Access(NamedTuple):
    """A tensor. `own` are the dimensions that move it, `free` the others; `plain`: each rank is a
    dimension of its own with coefficient 1; `words`: different words that are touched, at least."""

    name: str
    written: bool
    ranks: tuple[Rank, ...]
    own: frozenset[int]
    free: tuple[int, ...]
    plain: bool
    words: int


def members(mask: Mask) -> list[int]:
    """The numbers whose bits a mask has."""
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


class LoopTables:
    """Everything that bounds need to know of an architecture, a problem and constraints."""

    def __init__(self, architecture: Architecture, problem: Problem, constraints: Constraints):
        self.architecture, self.problem, self.constraints = architecture, problem, constraints
        self.sizes = [problem.bounds[dim] for dim in problem.dims]
        self.dims, self.levels = len(problem.dims), len(architecture.levels)
        self.slots: list[tuple[int, str]] = []
        self.temporal: list[int] = []
        self.spatial: list[int | None] = []
        self.tile, self.union = [0], list[int]()
        for level in range(self.levels):
            self.temporal.append(len(self.slots))
            self.slots.append((level, "temporal"))
            self.union.append(len(self.slots))
            self.spatial.append(len(self.slots) if max(architecture.fanout(level)) > 1 else None)
            self.slots += [(level, "spatial")] * (self.spatial[-1] is not None)
            self.tile.append(len(self.slots))
        self.divisors = [divisors(size) for size in self.sizes]
        self.steps = [
            [
                [self._inner(dim, slot, outer) for outer in self.divisors[dim]]
                for slot in range(len(self.slots))
            ]
            for dim in range(self.dims)
        ]
        self.tensors = [self._access(tensor) for tensor in problem.tensors]
        self.stores = [self._storage_choices(tensor.name) for tensor in problem.tensors]
        self._set_energies()
        units = prod(x * y for x, y in map(architecture.fanout, range(self.levels)))
        least = [each.least for each in constraints if isinstance(each, UtilizationConstraint)]
        self.least_used = max(least, default=Fraction(0)) * units
        self.consistent = lru_cache(None)(self._consistent)
        self.facts = lru_cache(None)(self._facts)
        self.widest = lru_cache(None)(self._widest)
        self.off = lru_cache(None)(self._off)
        self.neighbours = lru_cache(None)(self._neighbours)

    def _inner(self, dim: int, slot: int, outer: int) -> Mask:
        """Extents that can follow inside a slot if the loops from it inwards cover `outer` points:
        what divides, and is allowed.
        """
        level, kind = self.slots[slot]
        name, most = (
            self.architecture.levels[level].name,
            max(self.architecture.fanout(level)) if kind == "spatial" else outer,
        )
        constraints = [
            constraint
            for constraint in self.constraints
            if isinstance(constraint, FactorConstraint)
            and (constraint.level, constraint.kind, constraint.dim)
            == (name, kind, self.problem.dims[dim])
        ]
        mask = 0
        for number, inner in enumerate(self.divisors[dim]):
            factor = outer // inner
            if (
                outer % inner == 0
                and factor <= most
                and all(
                    HOLDS[constraint.comparison](
                        factor,
                        (
                            self.sizes[dim]
                            if (constraint.comparison, constraint.value) == ("==", 0)
                            else constraint.value
                        ),
                    )
                    for constraint in constraints
                )
            ):
                mask |= 1 << number
        return mask

    def _access(self, tensor: Tensor) -> Access:
        ranks = []
        for terms in tensor.ranks:
            used = sorted({self.problem.dims.index(term.dim) for term in terms if term.coefficient})
            named = [
                [term.coefficient for term in terms if term.dim == self.problem.dims[dim]]
                for dim in used
            ]
            ranks.append(
                Rank(
                    tuple(used),
                    tuple(sum(map(abs, each)) for each in named),
                    tuple(map(sum, named)),
                )
            )
        moved = [
            dim
            for rank in ranks
            for dim, shift in zip(rank.dims, rank.shifts, strict=True)
            if shift
        ]
        plain = len(moved) == len(ranks) == len(set(moved)) and all(
            rank.spans == (1,) for rank in ranks
        )
        words, seen = 1, set[int]()
        for rank in ranks:
            if not seen & set(rank.dims):
                words *= distinct_sums(
                    (shift, self.sizes[dim])
                    for dim, shift in zip(rank.dims, rank.shifts, strict=True)
                )
                seen |= set(rank.dims)
        return Access(
            tensor.name,
            tensor.read_write,
            tuple(ranks),
            frozenset(moved),
            tuple(dim for dim in range(self.dims) if dim not in moved),
            plain,
            words,
        )

    def _storage_choices(self, tensor: str) -> list[tuple[bool, ...]]:
        """All choices of the levels that store a tensor. Without a constraint the outermost level
        stores everything.
        """
        free = []
        for number, level in enumerate(self.architecture.levels):
            ruled = [
                constraint.keep
                for constraint in self.constraints
                if isinstance(constraint, KeepConstraint)
                and (constraint.tensor, constraint.level) == (tensor, level.name)
            ]
            free.append(
                ruled[-1:] or [True]
                if number == 0
                else ruled[-1:] or [False, True][: 1 if level.entries == 0 else 2]
            )
        return [choice for choice in product(*free) if any(choice)]

    def _off(self, flag: str, level: int, tensor: str) -> bool:
        """Whether a constraint switches a kind of reuse off."""
        return any(
            isinstance(constraint, ReuseConstraint)
            and (constraint.flag, constraint.level) == (flag, self.architecture.levels[level].name)
            and tensor in constraint.tensors
            for constraint in self.constraints
        )

    def _set_energies(self) -> None:
        """`energies[level]`: least energy of a word read, of a partial sum read, of a fill, of an
        update; whole numbers of pJ / unit.
        """
        rows = []
        for level in self.architecture.levels:
            block, share = Fraction(1, level.block_size), Fraction(1, level.cluster_size)
            address, cost = max(level.address_energy, Fraction(0)), level.energy
            rows.append(
                [
                    (cost.read * block + address) * share,
                    cost.read * block * share,
                    (cost.fill * block + address) * share,
                    (cost.update * block + address) * share,
                ]
            )
        units = self.architecture.arithmetic
        leak = sum(
            (level.energy.leak * level.instances for level in self.architecture.levels),
            units.leak * units.instances,
        )
        operations = Fraction(self.problem.macs * units.energy)
        self.unit = lcm(
            Fraction(leak).denominator,
            operations.denominator,
            *(each.denominator for row in rows for each in row),
        )
        self.energies = [[int(each * self.unit) for each in row] for row in rows]
        self.leak, self.operations = int(leak * self.unit), int(operations * self.unit)

    def _consistent(self, dim: int, extents: tuple[Mask, ...]) -> tuple[Mask, ...] | None:
        """The extents that are part of some chain from the outermost position to the innermost;
        None if there is no chain.
        """
        masks = list(extents)
        for slot, steps in enumerate(self.steps[dim]):
            reached = 0
            for number in members(masks[slot]):
                reached |= steps[number]
            masks[slot + 1] &= reached
        for slot in range(len(self.slots) - 1, -1, -1):
            masks[slot] = sum(
                1 << n for n in members(masks[slot]) if self.steps[dim][slot][n] & masks[slot + 1]
            )
        return tuple(masks) if all(masks) else None

    def _facts(
        self, dim: int, extents: tuple[Mask, ...]
    ) -> tuple[list[int], list[int], list[tuple[int, ...]]]:
        """Least and largest extent at each position, and the possible loop bounds at each slot,
        ascending.
        """
        values = [[self.divisors[dim][number] for number in members(mask)] for mask in extents]
        bounds = []
        for slot in range(len(self.slots)):
            steps, inner = self.steps[dim][slot], extents[slot + 1]
            bounds.append(
                tuple(
                    sorted(
                        {
                            self.divisors[dim][n] // self.divisors[dim][i]
                            for n in members(extents[slot])
                            for i in members(steps[n] & inner)
                        }
                    )
                )
            )
        return [each[0] for each in values], [each[-1] for each in values], bounds

    def _widest(
        self, level: int, choices: tuple[tuple[int, ...], ...], counted: frozenset[int]
    ) -> int:
        """The largest product of the bounds of spatial loops over `counted` that can be laid along
        X and Y; 0 if none can.
        """
        width, height = self.architecture.fanout(level)
        best = {(1, 1): 1}
        for dim, bounds in enumerate(choices):
            found: dict[tuple[int, int], int] = {}
            for (x, y), total in best.items():
                for bound in bounds if dim in counted else bounds[:1]:
                    value = total * bound if dim in counted else total
                    for position in {(x * bound, y), (x, y * bound)}:
                        if (
                            position[0] <= width
                            and position[1] <= height
                            and found.get(position, 0) < value
                        ):
                            found[position] = value
            best = found
        return max(best.values(), default=0)

    def _neighbours(
        self, level: int, loops: tuple[tuple[int, tuple[int, ...]], ...]
    ) -> frozenset[tuple[int, ...]]:
        """By how much the words of neighbouring instances differ along each rank, for spatial
        `loops` (bound, move along each rank) in any order. Instances fill the rows of the mesh one
        by one, so neighbours in a column are as many apart as the mesh is wide.
        """
        width, height = self.architecture.fanout(level)
        found: set[tuple[int, ...]] = set()
        for order in permutations(loops):
            positions = [(0,) * len(loops[0][1])]
            for bound, move in order:
                positions = [
                    tuple(at + index * step for at, step in zip(position, move, strict=True))
                    for position in positions
                    for index in range(bound)
                ]
            for apart in (1, width) if height > 1 else (1,):
                found |= {
                    tuple(to - at for to, at in zip(two, one, strict=True))
                    for one, two in zip(positions, positions[apart:], strict=False)
                }
        return frozenset(found)
