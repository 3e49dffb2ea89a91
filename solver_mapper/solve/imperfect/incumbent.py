"""The best mapping so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal
from solver_mapper.core.progress import Progress
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.search import EvaluatedMapping
from solver_mapper.solve.session import Session
from solver_mapper.verify.imperfect import ImperfectMapspace


@dataclass
class Incumbent:
    """The best mapping that was offered. `better` is called with each better one."""

    spec: Spec
    space: ImperfectMapspace
    goal: Goal
    gap: float
    best: EvaluatedMapping
    better: Callable[[EvaluatedMapping], None] = field(default=lambda found: None)

    def __post_init__(self) -> None:
        self._evaluate = Evaluator(self.space.architecture, self.space.problem).evaluate

    @property
    def target(self) -> Fraction:
        """A bound that reaches it proves the best mapping within the gap."""
        return self.best.target(self.goal, self.gap)

    def offer(self, mapping: Mapping) -> Fraction | None:
        """The target, if the mapping is legal, of the mapspace, and better than all before."""
        if not self.space.contains(mapping) or not is_legal(self.spec, mapping):
            return None
        found = EvaluatedMapping(mapping, self._evaluate(mapping))
        if self.goal.rank(found.statistics) >= self.goal.rank(self.best.statistics):
            return None
        self.best = found
        self.better(found)
        return self.target


def reporter(
    session: Session, goal: Goal, bound: Callable[[], Fraction | None] = lambda: None
) -> Callable[[EvaluatedMapping], None]:
    """What tells the caller of each better mapping, with the bound that is known then."""

    def report(found: EvaluatedMapping) -> None:
        if session.on_progress is not None:
            least = bound()
            session.on_progress(
                Progress(
                    goal.shown(goal.rank(found.statistics)),
                    None if least is None else float(goal.shown_below(least)),
                    session.clock.seconds,
                    goal.name,
                )
            )

    return report
