"""What a run of window steps costs: halos kept, and words passed on by neighbours.

A *run* is the innermost temporal loop outside a buffer, over a dimension that slides the window:
`steps` tiles, each one step from the last. The buffer fetches the first tile in full, then only
what is new (docs/explanation/model.md "Words into a level"). Units side by side hold windows at
different offsets; where one needs what a neighbour fetched a step before, the neighbour passes it
on (docs/explanation/model.md "Links").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from itertools import product

from solver_mapper.core.primes import divisors
from solver_mapper.mapspace.components import RankComponent

Offset = tuple[int, ...]
Chains = tuple[tuple[str, ...], ...]
"""Who stands beside whom: each chain lists, innermost first, dimensions whose loops number the
places along an axis.
"""
APART: Chains = ()


class RunTransition(Enum):
    """How even a run's first tile may come from neighbours, as one run follows another: not at all;
    from units that differ in the component's dimensions alone, when loops over these go on or,
    *again*, also when they start over while an idle loop advances; from units that differ in those
    and, *crossed*, in another component's, whose loops are innermost; or, *swept*, only in another
    component's, when this one's window is back where it was.
    """

    NEVER = "never"
    ONWARD = "onward"
    AGAIN = "again"
    CROSSED = "crossed"
    SWEPT = "swept"


@dataclass(frozen=True)
class RunCost:
    """Words over all runs: `sent` by the parents to all units, and received from neighbours
    instead, at least `linked` where they help at all, and at `most`.
    """

    sent: int
    linked: int = 0
    most: int = 0


def new_words(component: RankComponent, tile: Mapping[str, int], dim: str, step: int) -> int:
    """Words of a tile that its predecessor lacks when `dim` advances by `step` points."""
    full = overlap = 1
    for rank in component.ranks:
        extent = 1 + sum(abs(t.coefficient) * (tile[t.dim] - 1) for t in rank)
        moved = sum(abs(t.coefficient) for t in rank if t.dim == dim) * step
        full *= extent
        overlap *= max(0, extent - moved)
    return full - overlap


@dataclass(frozen=True)
class Run:
    """A run along `dim` of `steps` tiles for `units[d]` buffers per dimension, side by side, each
    with a tile of `tile[d]` points.

    `rest[d]` iterations of each dimension lie outside the run. `keeps` says whether a buffer keeps
    the overlap with the next tile. There are `skipped[d]` units further out, which loops outside
    those skip: a step spans `stride` times the units along `dim`, or where that is not known, up to
    `strides` times as many.
    """

    component: RankComponent
    tile: Mapping[str, int]
    units: Mapping[str, int]
    dim: str
    steps: int
    rest: Mapping[str, int]
    keeps: bool
    skipped: Mapping[str, int]
    stride: int = 1
    strides: int = 1

    @property
    def step(self) -> int:
        """Points by which an iteration of the loop moves the window."""
        return self.tile[self.dim] * self.units[self.dim] * self.stride

    @property
    def shift(self) -> Offset:
        """How far windows move in a step."""
        return self.component.offset({self.dim: self.step})

    @property
    def plain(self) -> bool:
        """Whether all moves are known."""
        return self.component.orderly and all(units == 1 for units in self.skipped.values())

    @property
    def other(self) -> str:
        """The other one of two dimensions."""
        return next(dim for dim in self.component.dims if dim != self.dim)

    @property
    def full(self) -> int:
        """Words of one tile."""
        return self.component.footprint(self.tile)

    @property
    def fresh(self) -> int:
        """Words that are new in each tile but the first."""
        return (
            new_words(self.component, self.tile, self.dim, self.step) if self.keeps else self.full
        )

    @property
    def filled(self) -> int:
        """Words that enter one buffer over the run."""
        return self.full + (self.steps - 1) * self.fresh

    @property
    def number(self) -> int:
        """How many runs there are, in all instances of the parent."""
        return math.prod(self.rest.values())

    def base(self, dim: str) -> Offset:
        """How far the windows move when `dim` advances by one iteration right outside the units."""
        return self.component.offset({dim: self.tile[dim] * self.units[dim]})


def send_runs(
    run: Run, beside: Chains | None = APART, transition: RunTransition = RunTransition.NEVER
) -> RunCost:
    """Words of all runs where neighbours stand `beside` each other like that (None: any two units
    may be neighbours), in the best case of those that cannot be told apart: a lower bound.
    """
    return _send_runs(_Case(run, beside, transition))


class _Case:
    """A question to `send_runs`. Cases are equal if they are the same up to the names of
    dimensions: the same sizes come up at many levels, and for rows as for columns.
    """

    __slots__ = ("beside", "key", "run", "transition")

    def __init__(self, run: Run, beside: Chains | None, transition: RunTransition):
        self.run, self.beside, self.transition = run, beside, transition
        dims = run.component.dims
        sizes = tuple(
            (run.tile[dim], run.units[dim], run.rest[dim], run.skipped[dim]) for dim in dims
        )
        chains = (
            None if beside is None else tuple(tuple(map(dims.index, chain)) for chain in beside)
        )
        self.key = (
            run.component.coefficients,
            sizes,
            dims.index(run.dim),
            run.steps,
            run.keeps,
            run.stride,
            run.strides,
            chains,
            transition,
        )

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Case) and self.key == other.key


@lru_cache(maxsize=1 << 16)
def _send_runs(case: _Case) -> RunCost:
    run, beside, transition = case.run, case.beside, case.transition
    held = _held(run)
    lonely = beside is not None and all(run.units[chain[0]] == 1 for chain in beside)
    if transition is not RunTransition.SWEPT and (lonely or len(held) == 1):
        return RunCost(run.number * len(held) * run.filled)
    costs = [_send(each, held, beside, transition) for each in _strides(run, held)]
    return RunCost(
        min(cost.sent for cost in costs),
        min(cost.linked for cost in costs),
        max(cost.most for cost in costs),
    )


def _strides(run: Run, held: Mapping[Offset, int]) -> list[Run]:
    """The run with each stride that makes a difference: those that lead to where another unit was,
    and one that leaves no overlap.
    """
    runs, disjoint = [run], run.fresh == run.full
    if run.strides > run.stride:
        reach = {_plus(one, other, -1) for one in held for other in held}
        for stride in range(run.stride + 1, run.strides + 1):
            longer = replace(run, stride=stride)
            if longer.shift in reach or (not disjoint and longer.fresh == run.full):
                runs.append(longer)
                disjoint |= longer.fresh == run.full
    return runs


def _send(
    run: Run, held: Mapping[Offset, int], beside: Chains | None, transition: RunTransition
) -> RunCost:
    groups, fresh = len(held), run.fresh
    alone, passed = _served(
        run,
        held,
        run.shift,
        APART if beside is not None and transition is RunTransition.CROSSED else beside,
    )
    if fresh < run.full:
        # the first step's neighbours hold whole tiles, not steps: nothing to pass on yet
        linked = run.number * passed * (run.steps - 2) * fresh
        return RunCost(
            run.number * (groups * (run.full + fresh) + alone * (run.steps - 2) * fresh),
            linked,
            linked,
        )
    first, stepping = _firsts(run, held, beside, transition), run.number * (run.steps - 1)
    return RunCost(
        (stepping * alone + first.sent) * run.full,
        (stepping * passed + first.linked) * run.full,
        (stepping * passed + first.most) * run.full,
    )


def least_sent(run: Run, within: Fraction, between: Fraction) -> Fraction:
    """Words of all runs at least, if parents send at least these shares of the units' windows after
    moves within runs, and between them.

    Other loops may multiply the runs, so that even a single one may follow another.
    """
    windows = len(_held(run))
    if run.fresh < run.full:  # as in `_send`
        stepping = (run.steps - 2) * run.fresh * within
        return run.number * windows * (run.full + run.fresh + stepping)
    return run.number * windows * run.full * (between + (run.steps - 1) * within)


def _firsts(
    run: Run, held: Mapping[Offset, int], beside: Chains | None, transition: RunTransition
) -> RunCost:
    """The first tiles of all runs, in tiles instead of words."""
    groups, units = len(held), sum(held.values())
    if transition is RunTransition.NEVER or (
        transition is RunTransition.SWEPT and not _may_stay(run)
    ):
        return RunCost(run.number * groups)
    if transition is RunTransition.SWEPT:
        # the window is back when a loop of its own component advances; other components' loops
        # inside advance at least as often
        back = run.number // 2
        return RunCost((run.number - back) * groups, 0, back * units)
    helped = [
        _served(run, held, shift, beside)
        for shift in _transition_shifts(run, held, beside, transition)
    ]
    first = min([groups, *(waiting for waiting, _ in helped)])
    if transition is RunTransition.CROSSED:
        # only units that start a row of the other component's differ in this one's
        return RunCost(
            run.number * max(first, 0 if beside is None else (groups + 1) // 2),
            0,
            run.number * units,
        )
    ever = groups
    if transition is RunTransition.AGAIN and run.plain:
        ever = min(
            [
                groups,
                *(
                    _served(run, held, shift, beside)[0]
                    for shift in _transition_shifts(run, held, beside, RunTransition.CROSSED)
                ),
            ]
        )
    elif transition is RunTransition.AGAIN:
        ever = first
    again = run.number - (ever > first)
    least, most = (
        min((passed for _, passed in helped), default=0),
        max((passed for _, passed in helped), default=0),
    )
    return RunCost(again * first + (run.number - again) * ever, again * least, again * most)


def _may_stay(run: Run) -> bool:
    """Whether the window may be where it was when the next run begins, if other components' windows
    move in between.
    """
    nowhere = (0,) * len(run.component.ranks)
    return nowhere in _moves(run) | _returns(run) if run.plain else _reachable(run, nowhere)


def _held(run: Run) -> Mapping[Offset, int]:
    """Where the units' windows begin, each with the number of units that share it."""
    dims = run.component.dims
    return _offsets(
        run.component, tuple(run.tile[dim] for dim in dims), tuple(run.units[dim] for dim in dims)
    )


@lru_cache(maxsize=4096)
def _offsets(
    component: RankComponent, tiles: tuple[int, ...], units: tuple[int, ...]
) -> Mapping[Offset, int]:
    """Where the units' windows begin, each with the number of units that share it."""
    found: dict[Offset, int] = {(0,) * len(component.ranks): 1}
    for dim, tile, count in zip(component.dims, tiles, units, strict=True):
        step = component.offset({dim: tile})
        spread: dict[Offset, int] = {}
        for (offset, sharing), index in product(found.items(), range(count)):
            moved = _plus(offset, step, index)
            spread[moved] = spread.get(moved, 0) + sharing
        found = spread
    return found


def _plus(offset: Offset, step: Offset, times: int = 1) -> Offset:
    if len(offset) == 1:  # most windows have one rank
        return (offset[0] + times * step[0],)
    return tuple(a + times * b for a, b in zip(offset, step, strict=True))


def _served(
    run: Run, held: Mapping[Offset, int], shift: Offset, beside: Chains | None
) -> tuple[int, int]:
    """(offsets that the parent must still send to, units that take the words from a neighbour)
    after windows moved by `shift`.

    Neighbours relieve the parent of an offset only if they serve all units that share it. Windows
    that do not move are taken to be all served, by units that share them.
    """
    if not any(shift):
        return 0, 0
    if beside is None:
        alone = [offset for offset in held if _plus(offset, shift) not in held]
        return len(alone), sum(held.values()) - sum(held[offset] for offset in alone)
    if not any(
        shift in (near, _plus((0,) * len(near), near, -1))
        for chain in beside
        for near in _differences(run, chain)
    ):
        return len(held), 0
    waiting, passed = set(), 0
    for unit in _units(run.units):
        if any(
            _plus(other, shift, -1) == (0,) * len(shift)
            for chain in beside
            for other in _neighbours(run, chain, unit)
        ):
            passed += 1
        else:
            waiting.add(
                run.component.offset({dim: run.tile[dim] * index for dim, index in unit.items()})
            )
    return (len(waiting), passed) if len(waiting) < len(held) else (len(held), 0)


def _differences(run: Run, chain: tuple[str, ...]) -> Iterator[Offset]:
    """Differences between the windows of units next to each other along a chain."""
    moved: dict[str, int] = {}
    for dim in chain:
        yield run.component.offset({**moved, dim: run.tile[dim]})
        moved[dim] = -run.tile[dim] * (run.units[dim] - 1)


def _units(units: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for index in product(*(range(count) for count in units.values())):
        yield dict(zip(units, index, strict=True))


def _neighbours(run: Run, chain: tuple[str, ...], unit: Mapping[str, int]) -> Iterator[Offset]:
    """How far the windows of the units before and after one along a chain lie from its own."""
    position, size = 0, 1
    for dim in chain:
        position += unit[dim] * size
        size *= run.units[dim]
    for other in (position - 1, position + 1):
        if 0 <= other < size:
            moved = {}
            for dim in chain:
                moved[dim] = run.tile[dim] * (other % run.units[dim] - unit[dim])
                other //= run.units[dim]
            yield run.component.offset(moved)


def _transition_shifts(
    run: Run, held: Mapping[Offset, int], beside: Chains | None, transition: RunTransition
) -> set[Offset]:
    """Moves from the end of a run to the start of the next that lead to where a neighbour, or the
    unit itself, was.
    """
    if run.plain:
        onward, again = (
            transition is not RunTransition.CROSSED,
            transition is not RunTransition.ONWARD,
        )
        moves = (_moves(run) if onward else set()) | (_returns(run) if again else set())
        if beside is None:
            return {shift for shift in moves if any(_plus(each, shift) in held for each in held)}
        return moves & _near(run, beside)
    reach = (
        {_plus(one, other, -1) for one in held for other in held}
        if beside is None
        else _near(run, beside)
    )
    return {shift for shift in reach if _reachable(run, shift)}


def _near(run: Run, beside: Chains) -> set[Offset]:
    """Moves that lead to where a neighbour, or the unit itself, was."""
    nowhere = (0,) * len(run.component.ranks)
    near = [each for chain in beside for each in _differences(run, chain)]
    return {nowhere, *near, *(_plus(nowhere, each, -1) for each in near)}


def _moves(run: Run) -> set[Offset]:
    """How far windows move as one run of two orderly dimensions follows another: a loop outside
    advances by one iteration while those inside start over.
    """
    one, other = run.base(run.dim), run.base(run.other)
    along = set[Offset]()
    if run.rest[run.other] > 1:
        along |= {_plus(other, one, 1 - inside) for inside in _iterations(run, run.dim)}
    if run.rest[run.dim] > 1:
        along |= {_plus(one, other, 1 - inside) for inside in _iterations(run, run.other)}
    return along


def _returns(run: Run) -> set[Offset]:
    """How far windows move when loops over both dimensions start over, while something else
    advances.
    """
    back = {
        _plus((0,) * len(run.component.ranks), run.base(run.dim), 1 - inside)
        for inside in _iterations(run, run.dim)
    }
    return {
        _plus(shift, run.base(run.other), 1 - inside)
        for shift in back
        for inside in _iterations(run, run.other)
    }


def _iterations(run: Run, dim: str) -> list[int]:
    """How often loops over `dim` may run inside another."""
    return [(run.steps if dim == run.dim else 1) * times for times in divisors(run.rest[dim])]


def _reachable(run: Run, shift: Offset) -> bool:
    """Whether whole numbers of iterations of the loops outside can move windows by `shift` from a
    run's end: a necessary condition.
    """
    first, *others = sorted(run.component.dims, key=lambda dim: dim != run.dim)
    step = run.base(first)
    for times in product(*(range(1 - run.rest[dim], run.rest[dim]) for dim in others)):
        left = shift
        for dim, count in zip(others, times, strict=True):
            left = _plus(left, run.base(dim), -count)
        rank = next(k for k, each in enumerate(step) if each)
        count, odd = divmod(left[rank], step[rank])
        if not odd and left == _plus((0,) * len(step), step, count):
            return True
    return False
