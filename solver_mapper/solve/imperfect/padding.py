"""Mappings of larger sizes, cut to the sizes of the problem."""

from __future__ import annotations

from collections.abc import Mapping as Table
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal, Objective
from solver_mapper.core.primes import with_more_divisors
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import TimeUp, running
from solver_mapper.errors import InputError
from solver_mapper.mapspace.perfect_limit import perfect_limit
from solver_mapper.solve.imperfect.incumbent import Incumbent, reporter
from solver_mapper.solve.imperfect.local_search import trimmed
from solver_mapper.solve.imperfect.search import EvaluatedMapping, proves
from solver_mapper.solve.local_search import LocalSearch
from solver_mapper.solve.run import solve_spec
from solver_mapper.solve.session import Session
from solver_mapper.solve.start import begin
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.mapspace import EnumeratedMapspace

WIDE_GAP = 0.03
"""From this gap on, sizes with more divisors are tried."""
PADDING = 1 / 150
"""How much larger such sizes may be."""
MORE_DIVISORS = 2
"""A size is exchanged for one with more than so many times as many divisors."""
PADDED_EFFORT = 32
"""The effort of local search for a first mapping of these sizes."""
PADDED_GAP = 0.01
"""How much better another mapping for these sizes may be."""


def from_more_divisors(
    session: Session,
    space: ImperfectMapspace,
    goals: Objective,
    floor: Fraction | None,
    best: EvaluatedMapping,
) -> EvaluatedMapping:
    """The best mapping, or a better one: a mapping of perfect factors for sizes with more divisors,
    cut to the sizes of the problem.
    """
    goal, bounds = goals.goals[0], space.problem.bounds
    sizes = {dim: with_more_divisors(each, PADDING, MORE_DIVISORS) for dim, each in bounds.items()}
    if sizes == bounds or proves(floor, best, goal, WIDE_GAP) or session.clock.over:
        return best
    larger = _with_sizes(session.spec, sizes)
    larger = replace(larger, mapping=_simple(larger, goal, best.mapping, session))
    try:
        found = solve_spec(
            replace(session, spec=larger, on_progress=None), goals.names[:1], gap=PADDED_GAP
        )
    except InputError:
        return best
    if found.mapping is None:
        return best
    incumbent = Incumbent(session.spec, space, goal, 0.0, best, reporter(session, goal))
    incumbent.offer(trimmed(space, found.mapping))
    return incumbent.best


def _simple(spec: Spec, goal: Goal, like: Mapping, session: Session) -> Mapping | None:
    """A mapping of perfect factors that local search finds from all loops at the outermost level,
    with tensors stored as in another mapping; None if constraints forbid that.
    """
    every = EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    loops = tuple((dim, size, "") for dim, size in every.problem.bounds.items() if size > 1)
    stores = tuple(
        tuple(name in level.keep for level in like.levels) for name in every.problem.tensor_names
    )
    first = every.mapping(((loops, ()), *[((), ())] * (every.depth - 1)), stores)
    if not every.contains(first) or not is_legal(spec, first):
        return None
    search = LocalSearch(spec, every, goal, session.settings.seed, PADDED_EFFORT)
    found, _ = search.best_from(first, over=lambda: session.clock.over)
    return found if every.contains(found) else first


def padded_mapping(session: Session, space: ImperfectMapspace, goal: Goal) -> Mapping | None:
    """A legal mapping of the problem padded to the sizes that the limit of perfect factors names,
    cut to the sizes of the problem; None where perfect factors leave too little on the table, or
    there is none.
    """
    spec = session.spec
    limit = perfect_limit(space.architecture, space.problem, spec.constraints)
    if limit is None or session.clock.over:
        return None
    larger = _with_sizes(spec, limit.padded)
    with suppress(TimeUp), running(session.clock):
        found = begin(replace(session, spec=larger, on_progress=None), goal).mapping
        if found is not None:
            cut = trimmed(space, found)
            if is_legal(spec, cut) and space.contains(cut):
                return cut
    return None


def _with_sizes(spec: Spec, sizes: Table[str, int]) -> Spec:
    """The problem with some other sizes, and no mapping."""
    problem = spec.need_problem()
    larger = replace(problem, bounds={**problem.bounds, **sizes})
    return replace(spec, problem=larger, mapping=None)
