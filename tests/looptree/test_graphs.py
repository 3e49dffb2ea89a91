"""Graphs of Einsums: the search finds what plain enumeration of all trees finds."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

import solver_mapper as sm
from solver_mapper.solve.fused import cells
from tests.campaigns import in_campaigns
from tests.looptree.graph_enumeration import (
    GraphEnumeration,
    Problem,
    random_graph,
    random_spatial_graph,
)


def check(problem: Problem) -> None:
    solution = sm.solve(sm.load(io.StringIO(problem.text())), objective=problem.objective)
    assert solution.status in ("optimal", "infeasible")
    assert solution.value == GraphEnumeration(problem).optimum()


@pytest.mark.parametrize("seed", [*range(10), *in_campaigns(range(10, 25))])
def test_the_optimum_of_a_graph_equals_enumeration(seed: int) -> None:
    check(random_graph(seed))


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(25, 325))
def test_the_optimum_of_many_graphs_equals_enumeration(seed: int) -> None:
    check(random_graph(seed))


@pytest.mark.parametrize("seed", [*range(10), *in_campaigns(range(10, 25))])
def test_the_optimum_of_a_graph_on_several_copies_equals_enumeration(seed: int) -> None:
    check(random_spatial_graph(seed))


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(25, 425))
def test_the_optimum_of_many_graphs_on_several_copies_equals_enumeration(seed: int) -> None:
    check(random_spatial_graph(seed))


@pytest.mark.parametrize("seed", [*range(8), *in_campaigns(range(8, 160))])
def test_the_optimum_where_a_memory_keeps_all_tensors_equals_enumeration(seed: int) -> None:
    """Copies among them, which keep there no more than they move."""
    problem = random_graph(seed, "copy" if seed % 2 else None)
    check(replace(problem, keeps_all=True, size=problem.size + 6))


@pytest.mark.parametrize("seed", [*range(6), *in_campaigns(range(6, 80))])
def test_the_optimum_with_samples_of_one_skeleton_equals_enumeration(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Einsums of small graphs have few skeletons: no more than are looked at first otherwise."""
    monkeypatch.setattr(cells, "_SAMPLE", 1)
    check(random_graph(seed))
    check(random_spatial_graph(seed))


def with_detour(text: str, first: bool) -> str:
    """A graph's file with a second path of components, beside the memory `Sram` and the compute:
    a dear and slow compute below a memory of its own, which no good mapping uses.
    """
    head, rest = text.split("  - !Memory\n    name: Sram", 1)
    path, workload = rest.split("workload:", 1)
    detour = (
        "  - !Memory\n    name: Side\n    size: 8\n    leak_power: 0\n"
        "    tensors: {may_keep: All}\n    actions:\n"
        "    - {name: read, energy: 99999, throughput: inf}\n"
        "    - {name: write, energy: 99999, throughput: inf}\n"
        "  - !Compute\n    name: Slow\n    leak_power: 0\n    actions:\n"
        "    - {name: compute, energy: 99999, throughput: 0.00001}\n"
    )
    path = f"  - !Memory\n    name: Sram{path}"
    branch, rest = (detour, path) if first else (path, detour)
    inside = "".join(f"  {line}" for line in branch.splitlines(keepends=True))
    return f"{head}  - !Fork\n    nodes:\n{inside}{rest}workload:{workload}"


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("seed", [*range(6), *in_campaigns(range(6, 40))])
def test_a_second_path_that_costs_more_changes_no_optimum(seed: int, first: bool) -> None:
    for problem in (random_graph(seed), random_spatial_graph(seed)):
        text = with_detour(problem.text(), first)
        solution = sm.solve(sm.load(io.StringIO(text)), objective=problem.objective)
        assert solution.status in ("optimal", "infeasible")
        assert solution.value == GraphEnumeration(problem).optimum()


def test_paths_with_different_outermost_memories_are_refused() -> None:
    text = random_graph(0).text()
    head, rest = text.split("  - !Memory\n    name: Dram", 1)
    own = (
        "  - !Fork\n    nodes:\n    - !Memory\n      name: Other\n      size: inf\n"
        "      leak_power: 0\n      actions:\n      - {name: read, energy: 1, throughput: inf}\n"
        "      - {name: write, energy: 1, throughput: inf}\n    - !Compute\n      name: Slow\n"
        "      leak_power: 0\n      actions: [{name: compute, energy: 1, throughput: 1}]\n"
    )
    spec = sm.load(io.StringIO(f"{head}{own}  - !Memory\n    name: Dram{rest}"))
    with pytest.raises(
        sm.InputError, match="the outermost memory is 'Other' on one path of compon"
    ):
        sm.solve(spec)
