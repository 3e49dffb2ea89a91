"""Asking the solver about models of legality."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.spec import Spec
from solver_mapper.errors import LimitReached
from solver_mapper.mapspace.requirements import Requirement, requirements_of
from solver_mapper.solve.cpsat.engine import AVOIDED, invalid_model, solved
from solver_mapper.solve.legality.extract import Read, mapping_of
from solver_mapper.solve.legality.model import Legal, legal_model

QUICK = 0.05
"""The solver's deterministic time for some legal mapping, without a word about where to begin."""


@dataclass(frozen=True)
class Answer:
    """`read` gives variables their values, None if there is no solution; `value` is the
    objective's, `proven` that it is the least.
    """

    read: Read | None
    value: int = 0
    proven: bool = True


def legal_mapping(spec: Spec, clock: Clock, seed: int = 0) -> Mapping | None:
    """Some legal mapping of perfect factors; None if there is provably none.

    Raises: LimitReached.
    """
    legal = legal_model(spec.need_architecture(), spec.need_problem(), requirements_of(spec))
    try:
        read = least(legal, None, clock, seed, effort=QUICK).read
    except LimitReached:
        legal.loops.hint_outermost()
        read = least(legal, None, clock, seed).read
    return None if read is None else mapping_of(legal, read)


def least(
    legal: Legal,
    objective: cp_model.LinearExprT | None,
    clock: Clock,
    seed: int = 0,
    *,
    effort: float | None = None,
) -> Answer:
    """A solution with the least `objective` (None: any solution), or no solution if there is
    provably none. `effort`: the solver's deterministic time, at most.

    Raises: LimitReached if the clock, or the effort, is over before there is a solution.
    """
    if objective is not None:
        legal.model.minimize(objective)
    solver = _solver(clock, seed)
    if effort is not None:
        solver.parameters.max_deterministic_time = effort
    if objective is None:
        _hurry(solver)
    status = solved(solver, legal.model, clock)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        value = 0 if objective is None else round(solver.objective_value)
        return Answer(solver.value, value, status == cp_model.OPTIMAL)
    _check(legal, status)
    return Answer(None)


def colliding(
    legal: Legal, held: Collection[Requirement], clock: Clock
) -> tuple[Requirement, ...] | Read:
    """Asks among `held` (of a guarded model) that no mapping obeys together, or the values of a
    mapping that obeys all of `held`.

    Raises: LimitReached.
    """
    by_index = {
        guard.index: requirement for requirement, guard in legal.guards.items() if guard is not None
    }
    legal.model.clear_assumptions()
    legal.model.add_assumptions(
        [
            guard
            for requirement, guard in legal.guards.items()
            if requirement in held and guard is not None
        ]
    )
    solver = _solver(clock)
    _hurry(solver)
    status = solved(solver, legal.model, clock)
    legal.model.clear_assumptions()
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return solver.value
    _check(legal, status)
    core = {
        by_index[index]
        for index in solver.sufficient_assumptions_for_infeasibility()
        if index in by_index
    }
    return tuple(
        requirement for requirement in legal.guards if requirement in held and requirement in core
    )


def _solver(clock: Clock, seed: int = 0) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    for name, value in AVOIDED.items():
        setattr(solver.parameters, name, value)
    solver.parameters.catch_sigint_signal = False
    if clock.wall_left is not None:
        solver.parameters.max_time_in_seconds = clock.wall_left
    return solver


def _hurry(solver: cp_model.CpSolver) -> None:
    """Without an objective, probing takes ten times as long as the search, which needs neither
    symmetry nor a relaxation.
    """
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.symmetry_level = 0
    solver.parameters.linearization_level = 0


def _check(legal: Legal, status: cp_model.CpSolverStatus) -> None:
    if status == cp_model.MODEL_INVALID:
        raise invalid_model(legal.model, "the model of legality")
    if status != cp_model.INFEASIBLE:
        raise LimitReached(
            "the time limit was reached before it was clear whether any mapping is legal"
        )
