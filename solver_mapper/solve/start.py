"""What a search begins with: the user's mapping, or a good one found in a fraction of a second."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal
from solver_mapper.core.progress import Progress
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.deadline import running
from solver_mapper.errors import LimitReached
from solver_mapper.solve.legality.queries import legal_mapping
from solver_mapper.solve.local_search import LocalSearch
from solver_mapper.solve.session import Session


class Start(NamedTuple):
    """A mapping to begin with, and what the certificate says about it. `impossible`: it is proven
    that no mapping is legal.
    """

    mapping: Mapping | None
    notes: tuple[str, ...] = ()
    impossible: bool = False


def begin(session: Session, goal: Goal, *, local_search: bool = True) -> Start:
    """The mapping in the specification if it is legal and of the mapspace, or, with `local_search`,
    one found by local search, if one is legal and better.
    """
    given = Start(None)
    clock = session.clock
    try:
        with running(None):
            given = given_start(session, session.all_mappings)
        if given.mapping is not None and not local_search:
            return given
        legal = None if clock.over else legal_mapping(session.spec, clock)
        if legal is None:
            return given._replace(impossible=given.mapping is None and not clock.over)
        if not local_search:
            return given
        search = LocalSearch(session.spec, session.all_mappings, goal, session.settings.seed)
        best, statistics = search.best_from(legal, over=lambda: clock.over)
        if not session.all_mappings.contains(best):
            return given
        notes = given.notes
        if given.mapping is not None:
            spec = session.spec
            mine = evaluate(spec.need_architecture(), spec.need_problem(), given.mapping)
            if goal.rank(mine) <= goal.rank(statistics):
                return given
            notes = ("the given mapping is not as good as one found by local search",)
    except (LimitReached, MemoryError) as error:
        session.ended_by(error)
        return given
    if session.on_progress is not None:
        value = goal.shown(goal.rank(statistics))
        session.on_progress(Progress(value, None, clock.seconds, goal.name))
    return Start(best, (*notes, "the search began with a mapping found by local search"))


class Mappings(Protocol):
    """A mapspace."""

    def contains(self, mapping: Mapping) -> bool:
        """Whether a legal mapping is one of them."""


def given_start(session: Session, mapspace: Mappings) -> Start:
    """The given mapping, if there is one and it is legal and of the mapspace."""
    given = session.spec.mapping
    if given is None:
        return Start(None)
    wrong = session.violations(given)
    if wrong:
        return Start(None, (f"the given mapping is illegal and was not used: {wrong[0].message}",))
    if not mapspace.contains(given):
        return Start(None, ("the given mapping is not of this mapspace and was not used",))
    return Start(given, ("the search began with the given mapping",))
