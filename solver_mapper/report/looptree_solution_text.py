"""The answer of `solve` on LoopTree input as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from solver_mapper.core.objective import left_open, percent_of_gap
from solver_mapper.core.results.rendering import text_of
from solver_mapper.core.results.solution import Certificate
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.report.solution_text import within
from solver_mapper.report.tables import titled


@text_of.register
def solution_text(solution: TreeSolution) -> str:
    """The tree with its figures, and what was proven. Only the last line depends on the
    machine's speed.
    """
    statistics = [] if solution.evaluation is None else [str(solution.evaluation), ""]
    return "\n".join([*statistics, verdict(solution), titled(list(proof_rows(solution)))])


def verdict(solution: TreeSolution) -> str:
    """What is proven, in one sentence."""
    names = ", then ".join(solution.objective.names)
    gap = solution.proven_gap
    return {
        "optimal": (
            f"Proven optimal for {names}{left_open(gap, 'within')}: no mapping in this mapspace is"
            f" better{left_open(gap, 'by more than')}"
        ),
        "feasible": f"Search stopped early: not proven optimal for {names}",
        "infeasible": "Proven infeasible: no mapping satisfies the hardware and the constraints",
        "unknown": (
            "The search stopped before it found a mapping; it is not proven that none exists"
        ),
    }[solution.status]


def proof_rows(solution: TreeSolution) -> Iterator[tuple[str, str]]:
    """What is known of the answer: title and text."""
    if solution.value is not None:
        yield solution.objective.names[0], f"{float(solution.value):.9g}"
        yield "lower bound", "none" if solution.bound is None else f"{float(solution.bound):.9g}"
        yield "gap", "unknown" if solution.gap is None else percent_of_gap(solution.gap)
    yield from certificate_rows(solution.certificate)
    yield from (("conflict", each["text"]) for each in solution.conflict)
    if solution.conflict:
        yield "repairs", "run 'solver-mapper explain' to list them"
    if solution.certificate.checks:
        yield "checked", "; ".join(solution.certificate.checks)
    yield from (("note", note) for note in solution.notes)
    yield "seconds", seconds_text(solution.seconds)


def certificate_rows(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What was searched, and what was proven of it: title and text."""
    yield "mapspace", "; ".join(f"{key}: {value}" for key, value in certificate.mapspace.items())
    yield from (
        ("proof", f"{proof['claim']} ({within(proof['tolerance'])})")
        for proof in certificate.proofs
    )


def seconds_text(seconds: Mapping[str, float]) -> str:
    """Wall-clock seconds of each phase."""
    return ", ".join(f"{phase} {each:.2f}" for phase, each in seconds.items())
