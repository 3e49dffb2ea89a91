"""The answer of `solve` as an architect reads it: the loop nest, its figures, and what was proven
about it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as Table
from fractions import Fraction
from typing import Any

from solver_mapper.core.objective import GAP, Goal, left_open, percent_of_gap, rounded_down
from solver_mapper.core.results.rendering import text_of
from solver_mapper.core.results.solution import Solution
from solver_mapper.report.loop_nest_text import loop_nest_text
from solver_mapper.report.tables import number, titled

_PHASES = ("load", "start", "branch and bound", "compile", "solve", "explain", "check", "verify")
_VERDICTS = {"agrees": "verified", "consistent": "consistent", "none": "not verified"}


@text_of.register
def solution_text(solution: Solution) -> str:
    """Nest, figures and proof; without a mapping, what was proven instead. Only the last line
    depends on the machine's speed.
    """
    proof = titled(proof_rows(solution))
    if solution.mapping is None or solution.evaluation is None:
        return f"{verdict(solution)}\n{proof}"
    return "\n".join(
        [
            "Loop nest, outer to inner, with the words that one instance stores",
            loop_nest_text(solution.mapping, solution.evaluation),
            "",
            str(solution.evaluation),
            "",
            verdict(solution),
            proof,
        ]
    )


def verdict(solution: Solution) -> str:
    """What is proven, in one sentence."""
    names = solution.objective.names
    steps = {step["goal"] for step in solution.certificate.proofs}
    proven = ", then ".join(name for name in names if name in steps)
    gap = solution.proven_gap
    if solution.status == "feasible" and proven:
        steps_gap = max(float(step["tolerance"]) for step in solution.certificate.proofs)
        left = ", then ".join(name for name in names if name not in steps)
        return (
            f"Search stopped early: proven optimal for {proven}{left_open(steps_gap, 'within')},"
            f" but among such mappings not for {left}"
        )
    goals = ", then ".join(names)
    return {
        "optimal": (
            f"Proven optimal for {goals}{left_open(gap, 'within')}: no mapping in this mapspace is"
            f" better{left_open(gap, 'by more than')}"
        ),
        "feasible": f"Search stopped early: not proven optimal for {goals}",
        "infeasible": "Proven infeasible: no mapping satisfies the hardware and the constraints",
        "unknown": (
            "The search stopped before it found a mapping; it is not proven that none exists"
        ),
    }[solution.status]


def _entry(entry: dict[str, Any]) -> str:
    text = entry["text"] + (f" ({entry['note']})" if "note" in entry else "")
    return text if entry["line"] is None else f"{entry['file']}:{entry['line']}: {text}"


def proof_rows(solution: Solution) -> list[tuple[str, str]]:
    """What is known of the answer: title and text."""
    certificate = solution.certificate
    rows = _values(solution)
    rows.append(("mapspace", _mapspace(certificate.mapspace)))
    sorts = ("limits", "caps", "dataflows", "kept_from_mapping")
    rows += [
        ("under", constraint) for sort in sorts for constraint in certificate.mapspace.get(sort, [])
    ]
    rows += [("proof", _step(step)) for step in certificate.proofs]
    if solution.limit is not None:
        rows.append(("perfect factors", str(solution.limit)))
    rows += [("conflict", _entry(entry)) for entry in solution.conflict]
    rows += [("repairs", "run 'solver-mapper explain' to list them")] if solution.conflict else []
    rows += [
        (_VERDICTS[each["verdict"]], f"{each['route']}: {each['did']}; {each['found']}")
        for each in certificate.verification
    ]
    if certificate.checks:
        rows.append(("checked", "; ".join(certificate.checks)))
    parameters = ", ".join(f"{name} {value}" for name, value in certificate.parameters.items())
    named = f"{certificate.solver}, seed {certificate.seed}"
    rows.append(("solver", f"{named}; {parameters}" if parameters else named))
    rows.append(
        (
            "seconds",
            ", ".join(
                f"{phase} {solution.seconds[phase]:.2f}"
                for phase in _PHASES
                if phase in solution.seconds
            ),
        )
    )
    return rows


def _values(solution: Solution) -> list[tuple[str, str]]:
    """Value, bound and gap of the first goal, and the values of the goals after it."""
    if solution.evaluation is None or solution.rank is None:
        return []
    first, *others = solution.objective.goals
    rows = [
        (first.name, _shown(first, solution.rank) + _unit(first.name)),
        (
            "lower bound",
            _bound(solution) + _unit(first.name) if solution.bound is not None else "none",
        ),
        ("gap", "unknown" if solution.gap is None else percent_of_gap(solution.gap)),
    ]
    rows += [
        (
            f"then {goal.name}",
            _shown(goal, goal.rank(solution.evaluation)) + _unit(goal.name),
        )
        for goal in others
    ]
    rows += [
        (
            "ties broken by",
            f"least {goal.name}: {_shown(goal, goal.rank(solution.evaluation))}{_unit(goal.name)}",
        )
        for goal in solution.objective.ties
    ]
    rows += [
        (
            "ties broken by",
            f"{goal.name}, without a proof: {_shown(goal, goal.rank(solution.evaluation))}"
            f"{_unit(goal.name)}",
        )
        for goal in solution.objective.unproven[:1]
        if solution.status == "optimal"
    ]
    return rows


def _bound(solution: Solution) -> str:
    """The bound as the value is written, rounded down."""
    if solution.bound_rank is not None and solution.bound_rank == solution.rank:
        return _shown(solution.objective.goals[0], solution.bound_rank)
    if solution.bound is None or isinstance(solution.bound, int):
        return _number(solution.bound or 0)
    whole = math.floor(abs(solution.bound)) or 1
    return _number(
        rounded_down(solution.bound, len(str(whole)) + 2 if abs(solution.bound) >= 1 else 6)
    )


def _unit(goal: str) -> str:
    units = {
        "energy": " pJ",
        "delay": " cycles",
        "edp": " pJ x cycles",
        "last-level-accesses": " words",
    }
    return units.get(goal, " (of pJ and cycles)")


def _shown(goal: Goal, rank: Fraction) -> str:
    """The user's value for a rank, with the digits that the evaluation prints of it."""
    exact = goal.root == 1 and rank >= 1
    return number(rank) if exact else _number(goal.shown(rank))


def _number(value: int | float) -> str:
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:,.2f}"
        if abs(value) >= 1
        else f"{value:.6g}"
    )


def _mapspace(space: Table[str, Any]) -> str:
    sizes = " ".join(f"{dim}={size}" for dim, size in space["dimensions"].items())
    return (
        f"{space['factors']} factors of {sizes} over {space['levels']} levels; {space['orders']};"
        f" {space['bypass']}"
    )


def _step(step: Table[str, Any]) -> str:
    if "cells" in step:
        work = f"{step['cells']:,} cells, {step['evaluated']:,} mappings evaluated"
    else:
        excluded = step["excluded"]
        work = _calls(step["runs"])
        work += f", {excluded} candidates excluded one by one" if excluded else ""
    tolerance = f", {within(step['tolerance'])}" if step["tolerance"] else ""
    return f"{step['goal']}: {step['claim']} ({work}{tolerance})"


def within(tolerance: float) -> str:
    """How much of the value a proof leaves open."""
    share = percent_of_gap(tolerance) if tolerance > GAP else f"{tolerance:.0e}"
    return f"within {share} of the value"


def _calls(number: int) -> str:
    """How often the solver ran; walks outwards, enumeration and local search need none of it."""
    if not number:
        return "without the solver"
    return f"{number} solver call{'s' if number > 1 else ''}"
