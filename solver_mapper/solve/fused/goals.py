"""LoopTree mappings for goals in order of importance.

All goals are powers of energy times powers of latency. Among mappings of equal first value, either
one of these two figures decides over all further goals, or they conflict:

* where the first is latency, any other goal asks for the least energy: one search with that latency
  as the limit;
* where the next is latency, or the first is energy and the next has latency in it: searches for the
  first goal under a falling limit of latency, until its value rises. Each is proven, so the last
  answer of equal value has the least latency.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import Goal, Objective, parse_objective
from solver_mapper.core.progress import Progress
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError
from solver_mapper.solve.fused.solve import solve_tree

NEAR = Fraction(1, 10**8)
"""Share by which two values must differ to be two values."""
_Search = Callable[[str, float], TreeSolution]


def solve_for_goals(
    spec: TreeSpec,
    objective: str | Sequence[str] = "edp",
    *,
    seed: int = 0,
    gap: float = 0.0,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    on_progress: Callable[[Progress], None] | None = None,
    clock: Clock | None = None,
) -> TreeSolution:
    """The best LoopTree mapping for one goal or several in order of importance, with a proof.

    `value` and `bound` are those of the first goal; the status is "optimal" if all are proven.
    Values that differ by less than a part in 10^8 count as equal.
    Raises: InputError as `solve_tree`, and for goals that conflict, such as "edp,energy": less
    energy for an equal product is more latency.
    """
    clock, parsed = clock or Clock(), parse_objective(objective)

    def search(name: str, latency_limit: float) -> TreeSolution:
        return solve_tree(
            spec,
            name,
            seed=seed,
            gap=gap,
            max_fused_loops=max_fused_loops,
            relax=relax,
            on_progress=on_progress,
            clock=clock,
            latency_limit=latency_limit,
        )

    first = parsed.goals[0]
    if len(parsed.goals) == 1:
        return search(first.name, float("inf"))
    falling = _falling(spec, parsed)
    start = search(first.name, float("inf"))
    if start.status != "optimal":
        return replace(start, objective=parsed)
    found = _least_latency(search, start) if falling else _least_energy(search, parsed, start)
    return replace(
        found,
        objective=parsed,
        value=_value(first, found),
        bound=start.bound,
        seconds={phase: start.seconds[phase] + found.seconds[phase] for phase in start.seconds}
        if found is not start
        else start.seconds,
    )


def _value(goal: Goal, solution: TreeSolution) -> Fraction:
    """The exact value of a goal."""
    assert solution.evaluation is not None
    figures = {"energy": solution.evaluation.energy, "delay": solution.evaluation.latency}
    value = Fraction(1)
    for metric, power in goal.powers:
        value *= figures[metric] ** power
    return value


def _falling(spec: TreeSpec, parsed: Objective) -> bool:
    """Whether the least latency is wanted among mappings of equal first value, not the least
    energy.
    """
    first, second = (_powers(goal) for goal in parsed.goals[:2])
    if first.keys() == {"delay"}:
        return False
    if second.keys() == {"delay"} or (first.keys() == {"energy"} and "delay" in second):
        return True
    raise InputError(
        f"'{parsed.names[1]}' after '{parsed.names[0]}' is not an objective for LoopTree input",
        spec.location,
        f"'{parsed.names[0]},delay' finds the least latency among equals",
    )


def _powers(goal: Goal) -> dict[str, int]:
    return dict(goal.powers)


def _least_energy(search: _Search, parsed: Objective, start: TreeSolution) -> TreeSolution:
    """The least energy at the latency of `start`."""
    assert start.value is not None
    assert start.evaluation is not None
    limit = float(start.evaluation.latency * (1 + NEAR / 10))
    return _closed(start, search("energy", limit), parsed.names[1])


def _least_latency(search: _Search, start: TreeSolution) -> TreeSolution:
    """The least latency at the value of `start`."""
    best = start
    assert start.value is not None
    while True:
        assert best.evaluation is not None
        limit = best.evaluation.latency * (1 - NEAR)
        if not limit:
            return best
        found = search(start.objective.names[0], float(limit))
        if found.status == "optimal" and found.value is not None:
            if found.value > start.value * (1 + NEAR):
                return best
            best = found
        elif found.status == "infeasible":
            return best
        else:
            return replace(best, status="feasible", notes=(*best.notes, _unproven("delay")))


def _closed(start: TreeSolution, found: TreeSolution, name: str) -> TreeSolution:
    """`found`, with both proofs; `start` if the search was stopped before it had a mapping."""
    if found.mapping is None:
        return replace(start, status="feasible", notes=(*start.notes, _unproven(name)))
    proofs = (*start.certificate.proofs, *found.certificate.proofs)
    notes: tuple[Any, ...] = () if found.status == "optimal" else (_unproven(name),)
    return replace(
        found,
        certificate=replace(found.certificate, proofs=proofs),
        notes=(*found.notes, *notes),
    )


def _unproven(name: str) -> str:
    return f"the first goal is proven; '{name}' among equals is not"
