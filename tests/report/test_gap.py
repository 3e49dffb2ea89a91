"""A proof that leaves a gap says so, wherever the claim is printed."""

from __future__ import annotations

from dataclasses import replace

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import left_open, percent_of_gap
from solver_mapper.io import bundled

WITHIN = "Proven optimal for edp within {0}: no mapping in this mapspace is better by more than {0}"
GAP = 0.5


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_gap_is_printed_rounded_up() -> None:
    assert percent_of_gap(0.4452449) == "44.53 %"
    assert percent_of_gap(0.5) == "50 %"
    assert left_open(1e-6, "within") == ""
    assert left_open(0.25, "within") == " within 25 %"


@pytest.mark.parametrize("factors", ["perfect", "imperfect"])
def test_a_solution_names_its_gap(factors: str) -> None:
    spec = sm.load(*bundled.resolve("eyeriss", "tiny/mm12"))
    solution = sm.solve(spec, gap=GAP, factors=factors)
    assert solution.status == "optimal" and solution.gap is not None and solution.gap > 0.01
    text, gap = one_line(str(solution)), percent_of_gap(solution.gap)
    assert WITHIN.format(gap) in text
    assert WITHIN.format(gap) in solution._repr_html_()
    assert "proof edp: no mapping is better by more than the gap (" in text
    assert f"within {percent_of_gap(solution.certificate.proofs[0]['tolerance'])} of" in text


def test_the_largest_gap_of_several_goals_is_named() -> None:
    spec = sm.load(*bundled.resolve("eyeriss", "tiny/mm12"))
    solution = sm.solve(spec, "delay,energy", gap=GAP)
    steps = solution.certificate.proofs
    largest = percent_of_gap(max(step["tolerance"] for step in steps))
    assert f"Proven optimal for delay, then energy within {largest}: no" in str(solution)
    cut = replace(
        solution, status="feasible", certificate=replace(solution.certificate, proofs=steps[:1])
    )
    first = percent_of_gap(steps[0]["tolerance"])
    assert f"proven optimal for delay within {first}, but among such mappings" in str(cut)


def test_a_tree_names_its_gap() -> None:
    solution = sm.solve(sm.load("examples/fused_matmuls.yaml"), gap=GAP)
    assert solution.gap is not None and solution.gap > 0.01
    text = one_line(str(solution))
    assert WITHIN.format(percent_of_gap(solution.gap)) in text
    assert "bounded within the gap of the best (within 50 % of the value)" in text


@pytest.fixture(scope="module")
def network() -> sm.NetworkResult:
    return sm.solve_network("eyeriss", "tiny", gap=GAP)


def test_a_network_names_the_gap_of_each_layer_and_the_largest(network: sm.NetworkResult) -> None:
    largest = percent_of_gap(max(layer.proven_gap for layer in network.layers))
    sentence = f"every layer is proven optimal for edp within {largest}"
    page = network._repr_html_()
    assert sentence in str(network) and sentence.replace("every", "Every") in page
    for layer in network.layers:
        row = next(line for line in str(network).splitlines() if line.startswith(layer.name))
        assert layer.status == "optimal" and f"within {percent_of_gap(layer.proven_gap)}" in row
    assert f"proven optimal within {largest}" in network.plot().summary


def test_a_sweep_names_the_gap() -> None:
    sweep = {"architecture": "eyeriss", "workloads": ["tiny"], "cases": [{}]}
    result = sm.sweep({"sweep": sweep}, gap=GAP)
    (totals,) = result.points[0].workloads.values()
    assert totals.proven and f"within {percent_of_gap(totals.gap)}" in str(result)
    assert f"within {percent_of_gap(totals.gap)}" in result._repr_html_()
