"""How many fused mappings a workload has by the rules of Orojenesis v2, exactly."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph, net_of
from solver_mapper.bounds.fusion.fuse import (
    PLAIN,
    FusionOptions,
    check_options,
    must_names,
    special_ranks,
)
from solver_mapper.bounds.fusion.orojenesis_v2.families import (
    Family,
    FusionPattern,
    by_trips,
    fusion_patterns,
    restrictions,
    whole_sets,
)
from solver_mapper.bounds.fusion.orojenesis_v2.join import closing_order, compatible, neighbours
from solver_mapper.bounds.fusion.special import SpecialRanks
from solver_mapper.bounds.search import Restriction
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem
from solver_mapper.core.results.fusion_space import EinsumChoices, FusionSpaceSize
from solver_mapper.cost.looptree.workload import Workload
from solver_mapper.deadline import check_time


def fusion_space(workload: Workload, options: FusionOptions = PLAIN) -> FusionSpaceSize:
    """The size of the design space that `fuse(workload, "v2", options)` searches.

    Raises: InputError for options that the template v2 does not know; TimeUp.
    """
    net = net_of(workload, options.tensor_core)
    check_options(net, "v2", options)
    rule = special_ranks(net, options, by_name=True)
    fusable = net.intermediates - set(options.never_fuse)
    must = must_names(net, options)
    counted = [
        [
            each
            for pattern in fusion_patterns(net, einsum, fusable, rule)
            if pattern.fused >= must & frozenset(problem.tensor_names)
            for each in _counted(net, pattern, options.uneven, options.uneven_tensors)
        ]
        for einsum, problem in enumerate(net.problems)
    ]
    joint = _Joint(net, fusable, counted, rule, options.uneven).counts()
    return FusionSpaceSize(
        tuple(_choices(problem, each) for problem, each in zip(net.problems, counted, strict=True)),
        tuple(sorted(fusable)),
        2 ** len(fusable - must),
        *joint,
    )


_FamilyIndex = tuple[int, int]
"""An Einsum, and the position of one of its families."""


@dataclass(frozen=True)
class _Counted:
    """A family without its mappings, and how many tiles and mappings it has."""

    family: Family
    tiles: int
    mappings: int


def _counted(
    net: DataflowGraph, pattern: FusionPattern, sized: bool, uneven_tensors: bool
) -> list[_Counted]:
    problem = net.problems[pattern.einsum]
    wholes = sum(1 for _ in whole_sets(problem, pattern.fused, uneven_tensors))
    found = []
    for each, trips in by_trips(problem, pattern) if sized else [(pattern, None)]:
        check_time()
        tiles, nests = _nests(problem, each, restrictions(net, each))
        if tiles:
            family = Family(pattern.einsum, pattern.fused, pattern.loops, trips, ())
            found.append(_Counted(family, tiles, nests * wholes))
    return found


def _nests(
    problem: Problem, pattern: FusionPattern, spaces: Sequence[Restriction]
) -> tuple[int, int]:
    """Tiles, and loop nests over tiles, of all `spaces` together (one, or two that overlap)."""
    boxes = [
        {
            dim: frozenset(space.tiles.get(dim, divisors(problem.bounds[dim])))
            for dim in problem.dims
        }
        for space in spaces
    ]
    signed = [(1, box) for box in boxes]
    if len(boxes) == 2:
        signed.append((-1, {dim: boxes[0][dim] & boxes[1][dim] for dim in problem.dims}))
    inner = pattern.inner(problem) if pattern.fused else problem.dims
    tiles = sum(sign * math.prod(map(len, box.values())) for sign, box in signed)
    return tiles, sum(sign * _ordered(problem, box, inner) for sign, box in signed)


def _ordered(problem: Problem, box: dict[str, frozenset[int]], inner: Collection[str]) -> int:
    """Tiles of a box, each with the orders of those of its loops over `inner` that have more than
    one iteration. `by_loops[k]`: tiles with k such loops.
    """
    by_loops = [math.prod(len(sizes) for dim, sizes in box.items() if dim not in inner)]
    for dim in inner:
        whole = int(problem.bounds[dim] in box[dim])
        cut = len(box[dim]) - whole
        by_loops = [
            a * whole + b * cut for a, b in zip((*by_loops, 0), (0, *by_loops), strict=True)
        ]
    return sum(count * math.factorial(loops) for loops, count in enumerate(by_loops))


def _choices(problem: Problem, counted: Sequence[_Counted]) -> EinsumChoices:
    return EinsumChoices(
        problem.name,
        len({each.family.fused for each in counted}),
        len({(each.family.fused, each.family.loops) for each in counted}),
        sum(each.tiles for each in counted),
        sum(each.mappings for each in counted),
    )


@dataclass
class _Joint:
    """Combinations of compatible families, one for each Einsum.

    They are counted Einsum by Einsum. A state has, for each Einsum that shares a tensor with a
    later one, its family; families that all later Einsums treat alike count as one.
    """

    net: DataflowGraph
    fusable: Collection[str]
    counted: Sequence[Sequence[_Counted]]
    rule: SpecialRanks
    uneven: bool
    _fits: dict[tuple[_FamilyIndex, _FamilyIndex], bool] = field(default_factory=dict)
    _like: dict[tuple[_FamilyIndex, tuple[int, ...]], int] = field(default_factory=dict)
    _first: dict[tuple[int, tuple[int, ...], tuple[bool, ...]], int] = field(default_factory=dict)

    def counts(self) -> tuple[int, int, int]:
        """How many combinations there are; how many with tiles; how many with mappings."""
        order = closing_order(self.net, self.fusable)
        states: dict[tuple[_FamilyIndex, ...], tuple[int, int, int]] = {(): (1, 1, 1)}
        for step, einsum in enumerate(order):
            later = order[step + 1 :]
            grown: dict[tuple[_FamilyIndex, ...], tuple[int, int, int]] = {}
            for state, (ways, tiles, mappings) in states.items():
                check_time()
                for at, each in enumerate(self.counted[einsum]):
                    mine = (einsum, at)
                    if not all(self._compatible(other, mine) for other in state):
                        continue
                    after = tuple(
                        alike
                        for index in (*state, mine)
                        if (alike := self._alike(index, later)) is not None
                    )
                    old = grown.get(after, (0, 0, 0))
                    new = ways, tiles * each.tiles, mappings * each.mappings
                    grown[after] = old[0] + new[0], old[1] + new[1], old[2] + new[2]
            states = grown
        return states.get((), (0, 0, 0))

    def _compatible(self, one: _FamilyIndex, other: _FamilyIndex) -> bool:
        if not neighbours(self.net, self.fusable, one[0], other[0]):
            return True
        key = min(one, other), max(one, other)
        if key not in self._fits:
            first, second = (self.counted[einsum][at].family for einsum, at in key)
            self._fits[key] = compatible(self.net, first, second, self.rule, self.uneven)
        return self._fits[key]

    def _alike(self, index: _FamilyIndex, later: Sequence[int]) -> _FamilyIndex | None:
        """The first family met that the Einsums in `later` treat as they treat this one; None if
        it has no neighbour there.
        """
        check_time()
        einsum, at = index
        near = tuple(each for each in later if neighbours(self.net, self.fusable, einsum, each))
        if not near:
            return None
        if (index, near) not in self._like:
            seen = tuple(
                self._compatible(index, (other, number))
                for other in near
                for number in range(len(self.counted[other]))
            )
            self._like[index, near] = self._first.setdefault((einsum, near, seen), at)
        return einsum, self._like[index, near]
