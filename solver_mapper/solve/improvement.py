"""Better mappings by local search, in several runs; work that another process may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal, Limit
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import time_is_over
from solver_mapper.solve.local_search import LocalSearch
from solver_mapper.solve.numbering import Numbering
from solver_mapper.solve.pool.messages import Part
from solver_mapper.verify.mapspace import EnumeratedMapspace

SHORT, SHORT_RUNS = 16, 4
"""Short runs of local search take this part of the steps each, and so many come before a long one.
"""


@dataclass(frozen=True)
class Ground:
    """Where local search looks."""

    spec: Spec
    mapspace: EnumeratedMapspace
    numberings: Sequence[Numbering[Any]] = ()

    def mentioned(self, _part: Part) -> Sequence[NDArray[Any]]:
        """Nothing."""
        return ()


def ground(spec: Spec) -> Ground:
    """That of a specification, with all its mappings."""
    return Ground(
        spec,
        EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints),
    )


def runs(effort: int) -> int:
    """How many runs there are for so much effort."""
    return SHORT_RUNS + 1 if effort >= SHORT else 1


def improved(
    ground: Ground,
    *,
    goal: Goal,
    limits: tuple[Limit, ...],
    mapping: Mapping,
    effort: int,
    seeds: Sequence[int],
) -> Mapping:
    """The best mapping that local search finds from a legal one of the mapspace within limits: by a
    long run from the best of short ones, which may end far apart. `seeds`: of all `runs`.
    """

    def run(start: Mapping, seed: int, effort: int) -> tuple[Mapping, Statistics]:
        local = LocalSearch(ground.spec, ground.mapspace, goal, seed, effort, limits)
        return local.best_from(start, over=time_is_over)

    *short, last = seeds
    each = effort // SHORT
    starts = [run(mapping, seed, each) for seed in short]
    start = min(starts, key=lambda found: goal.rank(found[1]), default=(mapping,))[0]
    best, _ = run(start, last, effort - each * len(short))
    return best if ground.mapspace.contains(best) else mapping
