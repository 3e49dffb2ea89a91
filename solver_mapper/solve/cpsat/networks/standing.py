"""Whether units can pass a tensor's words on at all, given how they stand and what they hold.

A unit takes words from a neighbour only if the window that it needs now is the one that the
neighbour held a step before: their windows differ by the move of that step. In each step one loop
advances and those inside it start over. If base(e) is what all units together span of a dimension,
and each holds so much of it that it takes n rounds, loops over e that start over take the window
back by (q - 1) base(e) for a divisor q of n, and if the loop that advances is over e, the window
goes on by base(e) along it, whatever the loops inside. (Where meshes further out deal out e as
well, it goes by multiples of base(e) below n.) Where no two neighbours differ by such a move, no
order of loops lets any of them help another. Of a run along one dimension, the moves within it are
single steps, and the loops that advance between its runs make it start over.

That depends on few decisions: the spatial loops that deal out the units, and the tiles below. Of
dimensions that leave the tensor alone, and of those in which windows do not slide, only the
product along each axis matters. It is split into primes here, in any order, though real loops may
not be split so: that can only lower the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import permutations, product
from math import factorial, prod

from ortools.sat.python import cp_model

from solver_mapper.core.primes import divisors, factorize
from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.variables import Variables, slots_where

MOST_UNITS = 20_000
"""Units looked at, over all orders of loops, before help is taken for possible."""
IDLE, PLAIN = "idle", "plain"
Move = tuple[tuple[int, ...], ...]
"""Words along each rank of each sliding component."""
Loop = tuple[str, int]
"""`IDLE`, `PLAIN` or a dimension of a sliding window, and a bound."""


class Moves(Enum):
    """Which moves count: all, those `WITHIN` runs along a dimension, or `BETWEEN` its runs."""

    ALL = "all"
    WITHIN = "within"
    BETWEEN = "between"


@dataclass(frozen=True)
class Standing:
    """Units dealt out along X and Y on a mesh of `width`, filling it row by row.

    By axis, the bounds of loops over each sliding dimension, and of all others together. `tiles`
    has the points of each sliding dimension that one unit holds, `sizes` its bound; `scattered` are
    those that meshes further out may deal out, too. `steady`: units keep what they hold while the
    tensor is idle.
    """

    width: int
    sliding: tuple[RankComponent, ...]
    loops: Mapping[str, Mapping[str, int]]
    tiles: Mapping[str, int]
    sizes: Mapping[str, int]
    scattered: frozenset[str]
    steady: bool

    def may_help(self, moves: Moves = Moves.ALL, run: str | None = None) -> bool:
        """False only if no neighbour can ever have what a unit needs, in moves within runs along
        `run` or between them.
        """
        orders = self._orders()
        wanted = self._moves(moves, run)
        return not orders or any(self._helps(loops, wanted) for loops in orders)

    def lone_share(self) -> Fraction:
        """The share of words, of those that the units take in one step, that some unit has no
        neighbour for to take it from; in the best order of the loops. 0 if there are too many
        orders.
        """
        orders = self._orders()
        least = Fraction(1 if orders else 0)
        for loops in orders:
            least = min(least, self._lone(loops))
            if not least:
                break
        return least

    def _lone(self, loops: Sequence[Loop]) -> Fraction:
        words = [
            _indices(loops, number).get(PLAIN, 0)
            for number in range(prod(bound for _, bound in loops))
        ]
        served = set()
        for number, word in enumerate(words):
            beside = [number + 1] if (number + 1) % self.width else []
            for other in (*beside, number + self.width):
                if other < len(words) and words[other] == word:
                    served |= {number, other}
        alone = {word for number, word in enumerate(words) if number not in served}
        return Fraction(len(alone), len(set(words)))

    def _orders(self) -> list[tuple[Loop, ...]]:
        """The loops in all orders that differ, outer first; none if there are too many."""
        orders = [list(_orders(self.loops[axis])) for axis in "YX"]
        units = prod(prod(loops.values()) for loops in self.loops.values())
        if units * len(orders[0]) * len(orders[1]) > MOST_UNITS:
            return []
        return [(*outer, *inner) for outer, inner in product(*orders)]

    def _helps(self, loops: Sequence[Loop], wanted: set[Move]) -> bool:
        """Whether two neighbours differ by a move, with the loops in this order, outer first."""
        held = [_indices(loops, number) for number in range(prod(bound for _, bound in loops))]
        for number, here in enumerate(held):
            beside = [number + 1] if (number + 1) % self.width else []
            for other in (*beside, number + self.width):
                if other < len(held) and here.get(PLAIN) == held[other].get(PLAIN):
                    apart = {
                        dim: (held[other].get(dim, 0) - here.get(dim, 0)) * self.tiles[dim]
                        for dim in self.tiles
                    }
                    if self._offset(apart) in wanted:
                        return True
        return False

    def _offset(self, points: Mapping[str, int]) -> Move:
        return tuple(component.offset(points) for component in self.sliding)

    def _moves(self, moves: Moves, run: str | None) -> set[Move]:
        """The moves that count, forwards and backwards; none at all is one where units do not keep
        what they hold.
        """
        found: set[Move] = set()
        for ahead in (run,) if moves is Moves.WITHIN else (None, *self.tiles):
            steps = [self._steps(dim, ahead, moves, run) for dim in self.tiles]
            for chosen in product(*steps):
                moved = {dim for dim, step in zip(self.tiles, chosen, strict=True) if step}
                if moves is Moves.BETWEEN and moved == {run} == {ahead}:
                    continue  # the run goes on
                offset = self._offset(dict(zip(self.tiles, chosen, strict=True)))
                if any(map(any, offset)) or not self.steady:
                    found |= {offset, tuple(tuple(-x for x in each) for each in offset)}
        return found

    def _steps(self, dim: str, ahead: str | None, moves: Moves, run: str | None) -> list[int]:
        """By how many points the window may move along `dim` if a loop over `ahead` advances, one
        over no dimension of these windows if None.
        """
        span = self.tiles[dim] * prod(loops.get(dim, 1) for loops in self.loops.values())
        rounds = self.sizes[dim] // span
        scattered = dim in self.scattered
        if dim == ahead:
            return [span * each for each in range(1, rounds if scattered else min(2, rounds))]
        if moves is Moves.WITHIN:
            return [0]
        back = range(rounds) if scattered else [each - 1 for each in divisors(rounds)]
        over = moves is Moves.BETWEEN and dim == run
        return [-span * each for each in back if each or not over]


def standing_of(
    variables: Variables, tensor: Tensor, child: int, values: Mapping[int, int]
) -> Standing:
    """How units of level `child` stand, by the values of the decisions."""
    space = variables.space
    kinds = _kinds(variables, tensor)

    def points(dims: Sequence[str], slots: Sequence[Slot]) -> int:
        chosen = variables.loop_slots(dims, slots)
        return prod(
            prime ** values[power.index]
            for (dim, prime, slot), power in variables.power.items()
            if (dim, slot) in chosen
        )

    meshes = {axis: [Slot(child - 1, axis)] for axis in "XY"}
    below = slots_where(space, below=child)
    return Standing(
        space.architecture.fanout(child - 1)[0],
        _sliding(variables, tensor),
        {a: {kind: points(dims, meshes[a]) for kind, dims in kinds.items()} for a in meshes},
        {dim: points([dim], below) for dim in kinds if dim not in (IDLE, PLAIN)},
        {dim: space.problem.bounds[dim] for dim in kinds if dim not in (IDLE, PLAIN)},
        frozenset(
            dim
            for (dim, _, slot) in variables.power
            if slot.axis and slot.level < child - 1 and dim in kinds
        ),
        child < space.depth and not space.has_flag("no_temporal_reuse", tensor.name, child),
    )


def sums_of_standing(
    variables: Variables, tensor: Tensor, child: int
) -> list[list[cp_model.IntVar]]:
    """Exponents whose sums decide how units of level `child` stand and what they hold."""
    kinds = _kinds(variables, tensor)
    below = slots_where(variables.space, below=child)
    groups = [(dims, [Slot(child - 1, axis)]) for axis in "XY" for dims in kinds.values()]
    groups += [(dims, below) for kind, dims in kinds.items() if kind not in (IDLE, PLAIN)]
    sums = []
    for dims, slots in groups:
        chosen = variables.loop_slots(dims, slots)
        for number in variables.primes(dims):
            sums.append(
                [
                    power
                    for (dim, prime, slot), power in variables.power.items()
                    if prime == number and (dim, slot) in chosen
                ]
            )
    return [each for each in sums if each]


def _sliding(variables: Variables, tensor: Tensor) -> tuple[RankComponent, ...]:
    components = shape_of(tensor, variables.space.dims).components
    return tuple(each for each in components if each.sliding)


def _kinds(variables: Variables, tensor: Tensor) -> dict[str, list[str]]:
    """Dimensions by what a loop over them does to the tensor's windows."""
    dims = variables.space.dims
    sliding = [dim for each in _sliding(variables, tensor) for dim in each.dims]
    idle = variables.space.irrelevant(tensor)
    return {
        IDLE: [dim for dim in dims if dim in idle],
        PLAIN: [dim for dim in dims if dim not in idle and dim not in sliding],
        **{dim: [dim] for dim in sliding},
    }


def _orders(loops: Mapping[str, int]) -> Iterator[tuple[Loop, ...]]:
    """The loops of one axis in all orders that differ."""
    listed: list[Loop] = []
    for name, bound in loops.items():
        if name in (IDLE, PLAIN):
            listed += [(name, prime) for prime, power in factorize(bound) for _ in range(power)]
        elif bound > 1:
            listed.append((name, bound))
    if factorial(len(listed)) > MOST_UNITS:
        return iter([tuple(listed)] * MOST_UNITS)
    return iter(dict.fromkeys(permutations(listed)))


def _indices(loops: Sequence[Loop], number: int) -> dict[str, int]:
    """What the unit with this number stands for: an index for each sliding dimension, and one for
    all `PLAIN` loops.
    """
    found: dict[str, int] = {}
    strides: dict[str, int] = {}
    for name, bound in reversed(loops):
        number, index = divmod(number, bound)
        if name != IDLE:
            found[name] = found.get(name, 0) + index * strides.get(name, 1)
            strides[name] = strides.get(name, 1) * bound
    return found
