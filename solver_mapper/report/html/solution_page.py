"""The answer of `solve` as a page: the mapping, its figures, and what is proven."""

from __future__ import annotations

from typing import Any

from solver_mapper.core.results.rendering import page_of
from solver_mapper.core.results.solution import Solution
from solver_mapper.report.charts.solution_charts import progress_chart, recorded
from solver_mapper.report.html.page import Code, Definitions, Page, Plot, Section
from solver_mapper.report.html.render import register_fragment
from solver_mapper.report.html.statistics_page import statistics_sections, title_of
from solver_mapper.report.solution_text import proof_rows, verdict

register_fragment(Solution)

STANDING = {"optimal": "good", "feasible": "open", "infeasible": "bad", "unknown": "open"}


@page_of.register
def solution_page(solution: Solution) -> Page:
    """The page of `solve`."""
    statistics = solution.evaluation
    sizes = " ".join(
        f"{dim}={size}" for dim, size in solution.certificate.mapspace["dimensions"].items()
    )
    title = f"Mapping of {sizes}" if statistics is None else title_of(statistics)
    sections = [] if statistics is None else list(statistics_sections(statistics))
    blocks: list[Any] = [Definitions(tuple(proof_rows(solution)))]
    if any(each.value is not None for each in recorded(solution)):
        blocks.append(Plot(progress_chart(solution)))
    sections.append(Section("Proof", tuple(blocks), brief=statistics is None))
    if solution.mapping is not None:
        sections.append(
            Section("Mapping file", (Code(solution.mapping.to_yaml(), "map.yaml for Timeloop"),))
        )
    goals = ", then ".join(solution.objective.names)
    return Page(
        title,
        f"Objective: {goals}",
        verdict(solution),
        STANDING[solution.status],
        tuple(sections),
    )
