"""Walks where constraints leave open which level is the outermost one that holds a tensor.

Costs further out depend on that level. So there is one walk for each case, and together they are
one of all mappings: what none of them finds below a target is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, product
from math import inf

from solver_mapper.core.constraints import Constraints, KeepConstraint
from solver_mapper.core.objective import Goal, Limit
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.solve.pool.pool import Pool
from solver_mapper.verify.mapspace import EnumeratedMapspace

MOST_CASES = 16
"""For more than that there are no walks."""

Holders = tuple[tuple[str, int], ...]
"""Tensors with their outermost holders."""


def walk_of(mapspace: EnumeratedMapspace, goal: Goal, pool: Pool | None = None) -> Walk | Cases:
    """A walk of a mapspace, or one for each case of it; a `pool` shares the work.

    Raises: ValueError, see `Walk`; also for too many cases.
    """
    names = mapspace.problem.tensor_names
    cases = product(*(_first_holders(mapspace, name) for name in names))
    some: list[Holders] = [
        tuple(zip(names, case, strict=True)) for case in islice(cases, MOST_CASES + 1)
    ]
    if len(some) > MOST_CASES:
        raise ValueError("there are too many choices of the levels that hold tensors first")
    if len(some) <= 1:
        return Walk(mapspace, goal, pool)
    return Cases([Walk(_with_holders(mapspace, each), goal, pool) for each in some])


def _first_holders(mapspace: EnumeratedMapspace, name: str) -> list[int]:
    """The levels that may be the outermost one that holds a tensor."""
    return sorted({choice.index(True) for choice in mapspace.keeps(name)})


def _with_holders(mapspace: EnumeratedMapspace, holders: Holders) -> EnumeratedMapspace:
    """The mappings in which these are the outermost holders."""
    levels = mapspace.architecture.levels
    rules = [
        KeepConstraint(levels[level].name, "a case of a walk", name, keep=level == first)
        for name, first in holders
        for level in range(first + 1)
    ]
    constraints = Constraints((*mapspace.constraints, *rules))
    return EnumeratedMapspace(mapspace.architecture, mapspace.problem, constraints)


class Cases:
    """The walks of all cases as one; see `Walk` for what its methods do."""

    def __init__(self, walks: Sequence[Walk]):
        self._walks = walks
        self._least = [-inf] * len(walks)
        self._found: dict[int, Ends] = {}
        self.goal, self.limits = walks[0].goal, walks[0].limits
        self.first = any(walk.first for walk in walks)

    def toward(self, goal: Goal, limits: Sequence[Limit]) -> Cases:
        """See `Walk.toward`."""
        return Cases([walk.toward(goal, limits) for walk in self._walks])

    @property
    def figures(self) -> int:
        """See `Walk.figures`."""
        return sum(walk.figures for walk in self._walks)

    @property
    def lists_near_ties(self) -> bool:
        """See `Walk.lists_near_ties`."""
        return all(walk.lists_near_ties for walk in self._walks)

    def ends(
        self,
        target: float,
        *,
        examined: float = inf,
    ) -> Ends:
        """See `Walk.ends`."""
        return _together([walk.ends(target, examined=examined) for walk in self._walks])

    def further(
        self,
        target: float,
        *,
        examined: float = inf,
        lowest: float = inf,
        last: float = inf,
    ) -> Ends:
        """See `Walk.further`. A case whose best mappings are found is over; they are returned
        again, also where the target has fallen below their claims meanwhile.
        """
        going = [number for number in range(len(self._walks)) if number not in self._found]
        made, before = list[Ends](), list(self._found.values())
        for turn, number in enumerate(going):
            share = (examined - _together(made).work) / (len(going) - turn)
            ends = self._walks[number].further(
                target,
                examined=max(share, 1.0),
                lowest=lowest,
                last=last,
            )
            made.append(ends)
            target = target if ends.target is None else ends.target
            if ends.least is not None:
                self._least[number] = max(self._least[number], float(ends.least))
            if not ends.whole:
                break
            if ends.mappings:
                self._found[number] = Ends(ends.mappings, ends.least)
        least = min(self._least)
        return _together([*before, *made])._replace(least=least if least > -inf else None)

    def beam(self, target: float, width: int) -> Ends:
        """See `Walk.beam`."""
        return _together([walk.beam(target, width) for walk in self._walks])

    def near_ties(self, target: float, least: float, most: int, *, examined: float = inf) -> Ends:
        """See `Walk.near_ties`; at most so many of each case."""
        parts: list[Ends] = []
        for walk in self._walks:
            parts.append(walk.near_ties(target, least, most, examined=examined))
            if not parts[-1].whole:
                return _together(parts)._replace(mappings=(), least=least)
        return _together(parts)


def _together(parts: Sequence[Ends]) -> Ends:
    """What walks of all cases come to: mappings of the best case first; the least is known if it is
    of all of them.
    """
    least = [each.least for each in parts if each.least is not None]
    best = sorted(parts, key=lambda each: inf if each.least is None else each.least)
    return Ends(
        tuple(chain.from_iterable(each.mappings for each in best)),
        min(least, default=None) if len(least) == len(parts) else None,
        all(each.whole for each in parts),
        min((each.beyond for each in parts), default=inf),
        sum(each.examined for each in parts),
        sum(each.steps for each in parts),
        min((each.target for each in parts if each.target is not None), default=None),
        sum(each.in_all for each in parts),
    )
