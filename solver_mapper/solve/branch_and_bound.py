"""`engine="branch-and-bound"` and `"both"`: the prover of `verify/` as a search, without the
compiled model.

The prover compares boxes of mappings with an incumbent and stops at the first better mapping. Local
search improves that mapping, and the proof begins again with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Objective
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.solve.local_search import LocalSearch
from solver_mapper.solve.session import Session
from solver_mapper.verify.boxes import Mapspace
from solver_mapper.verify.prover import Prover
from solver_mapper.verify.target import Target

Engine = Literal["cpsat", "branch-and-bound", "both"]
FIRST_NODES = 300
"""Boxes that `"both"` splits before it compiles the CP-SAT model: a count, not seconds, so that
equal input gives equal answers."""


@dataclass(frozen=True)
class BoxSearch:
    """What the search ended with. `bound`: no mapping's first goal is below it (None: nothing is
    known); `complete`: the mapping is optimal to the gap, or there is none.
    """

    mapping: Mapping | None
    statistics: Statistics | None
    bound: Fraction | None
    complete: bool
    runs: int
    nodes: int
    evaluated: int

    @property
    def told(self) -> str:
        """The search in one line."""
        end = "no box can contain a better mapping" if self.complete else "not all boxes were split"
        return f"{self.nodes:,} boxes split, {self.evaluated:,} mappings evaluated: {end}"


def parse_engine(name: str) -> Engine:
    """Raises: InputError for anything but the names of `Engine`."""
    names = get_args(Engine)
    if name not in names:
        hint = did_you_mean(name, names)
        raise InputError(f"unknown engine '{name}'", SourceLocation("--engine"), hint)
    engine: Engine = name  # type: ignore[assignment]
    return engine


def search_boxes(
    session: Session,
    goals: Objective,
    start: Mapping | None,
    gap: float,
    most_nodes: int | None = None,
) -> BoxSearch:
    """Search the mapspace of `session` from a mapping `start` that is legal, but for caps perhaps,
    if there is one.

    Args: `gap`, the accepted relative optimality gap; `most_nodes`, boxes that are split at most.
    """
    spec, first = session.spec, goals.goals[0]
    space = Mapspace(spec)
    evaluate = Evaluator(space.architecture, space.problem).evaluate
    caps = tuple(cap.limit for cap in space.all(MetricConstraint))
    local = LocalSearch(spec, session.all_mappings, first, session.settings.seed, limits=caps)
    everything = Objective(goals.all)
    best = None if start is None else (start, evaluate(start))
    if best is not None and not all(cap.admits(best[1]) for cap in caps):
        best = None
    runs = nodes = evaluated = 0
    while True:
        ranks = None if best is None else tuple(goal.rank(best[1]) for goal in everything.goals)
        left = None if most_nodes is None else most_nodes - nodes
        target = Target(space, everything, ranks, Fraction(gap))
        proof = Prover(target, lambda: session.clock.over, left).prove()
        runs, nodes, evaluated = runs + 1, nodes + proof.nodes, evaluated + proof.evaluated
        if proof.better is None:
            break
        best = local.best_from(proof.better, over=lambda: session.clock.over)
        if session.on_progress is not None:
            value = first.shown(first.rank(best[1]))
            session.on_progress(Progress(value, None, session.clock.seconds, first.name))
    mapping, statistics = best or (None, None)
    bound = None if statistics is None else first.rank(statistics) * proof.reached
    return BoxSearch(mapping, statistics, bound, proof.complete, runs, nodes, evaluated)
