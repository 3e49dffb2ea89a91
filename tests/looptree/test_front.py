"""Fronts of LoopTree mappings: complete, proven, and what is refused."""

from __future__ import annotations

import importlib
import io
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.solve.fused.solve import solve_tree

ARCH = """\
arch:
  nodes:
  - !Memory
    name: Dram
    size: inf
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 9, throughput: inf}, {name: write, energy: 9, throughput: inf}]
  - !Memory
    name: Sram
    size: 2048
    leak_power: 0
    tensors: {keep: ~Dram, may_keep: All}
    actions: [{name: read, energy: 1, throughput: 3}, {name: write, energy: 1, throughput: 3}]
  - !Compute
    name: Mac
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
PRODUCT = """\
workload:
  rank_sizes: {M: 8, K: 6, N: 4}
  bits_per_value: {All: 8}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
"""
CHAIN = """\
workload:
  rank_sizes: {M: 2, K: 1, N: 3, P: 2}
  bits_per_value: {All: 8}
  einsums:
  - "Y[m, n] = A[m, k] * B[k, n]"
  - "Z[m, p] = Y[m, n] * C[n, p]"
"""


def loaded(workload: str) -> sm.TreeSpec:
    spec = sm.load(io.StringIO(ARCH + workload))
    assert isinstance(spec, sm.TreeSpec)
    return spec


@cache
def front_of(workload: str) -> sm.TreeFront:
    """Energy against latency, with at most one fused loop."""
    return sm.pareto(loaded(workload), max_fused_loops=1)


@pytest.mark.parametrize("workload", [PRODUCT, CHAIN])
def test_no_point_beats_another_and_the_ends_are_the_optima(workload: str) -> None:
    spec, front = loaded(workload), front_of(workload)
    assert front.status == "complete"
    values = [point.values for point in front.points]
    assert len(values) > 1
    assert values == sorted(values)
    assert [second for _, second in values] == sorted((each for _, each in values), reverse=True)
    assert values[0][0] == sm.solve(spec, "energy", max_fused_loops=1).value
    assert values[-1][1] == sm.solve(spec, "delay", max_fused_loops=1).value
    product = sm.solve(spec, "edp", max_fused_loops=1).value
    assert product is not None
    assert min(energy * delay for energy, delay in values) == product
    for point in front.points:
        assert sm.validate(spec, point.mapping).legal
        figures = sm.evaluate(spec, point.mapping)
        assert (figures.energy, figures.latency) == point.values


def test_less_room_costs_energy_and_each_step_is_the_optimum_at_its_size() -> None:
    spec = loaded(PRODUCT)
    front = sm.pareto(spec, ("energy", "usage:Sram"))
    assert front.status == "complete" and len(front.points) > 2
    for point in front.points:
        size = point.values[1]
        peak = sm.evaluate(spec, point.mapping).occupancy.get("Sram")
        assert (Fraction(0) if peak is None else peak.bits) == size
        if size:
            smaller = sm.load(io.StringIO(ARCH.replace("size: 2048", f"size: {size}") + PRODUCT))
            assert sm.solve(smaller, "energy").value == point.values[0]


@pytest.mark.parametrize("metrics", [("delay", "energy"), ("usage:Sram", "energy")])
def test_metrics_in_the_other_order_give_the_same_front(metrics: tuple[str, str]) -> None:
    spec = loaded(PRODUCT)
    front, turned = (sm.pareto(spec, each) for each in (metrics[::-1], metrics))
    assert turned.metrics == metrics
    assert [each.values for each in turned.points] == [
        each.values[::-1] for each in reversed(front.points)
    ]
    assert str(turned).startswith(f"Complete Pareto front of {metrics[0]} and {metrics[1]}")
    partial = "Partial Pareto front of {} and {}: each point is proven; points with a smaller {}"
    for each in (front, turned):
        text = str(replace(each, status="partial"))
        assert text.startswith(partial.format(*each.metrics, metrics[0]))


def test_a_front_that_is_stopped_says_so() -> None:
    assert sm.pareto(loaded(CHAIN), time_limit=0.0).status in ("unknown", "partial")


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        (("energy",), "a front has two metrics, not 1"),
        (("delay", "edp"), "no front of 'delay' against 'edp'"),
        (("usage:Sram", "usage:Sram"), "no front of 'usage:Sram' against 'usage:Sram'"),
        (("energy", "usage:Srm"), "unknown memory 'Srm'"),
        (("last-level-accesses", "usage:Sram"), "no front of 'last-level-accesses'"),
    ],
)
def test_metrics_without_a_meaning_are_refused(metrics: tuple[str, ...], words: str) -> None:
    with pytest.raises(sm.InputError, match=words):
        sm.pareto(loaded(PRODUCT), metrics)


def test_the_usage_of_the_outermost_memory_of_several_einsums_is_refused() -> None:
    spec = loaded(CHAIN)
    memory = spec.need_architecture().root.nodes[0]
    with pytest.raises(sm.InputError, match="the outermost memory, is not supported for several"):
        sm.pareto(spec, ("energy", f"usage:{memory.name}"))


def test_workers_are_refused() -> None:
    with pytest.raises(sm.InputError, match="workers above 1 is not supported for LoopTree"):
        sm.pareto(loaded(PRODUCT), workers=2)


@pytest.mark.parametrize("workload", [PRODUCT, CHAIN])
def test_goals_in_order_are_the_ends_of_the_front(workload: str) -> None:
    """Least energy, then least latency among those, and the other way round."""
    spec = loaded(workload)
    points = front_of(workload).points
    for goals, point in (("energy,delay", points[0]), (["delay", "energy"], points[-1])):
        found = sm.solve(spec, goals, max_fused_loops=1)
        assert found.status == "optimal"
        assert found.evaluation is not None
        values = (found.evaluation.energy, found.evaluation.latency)
        assert values == pytest.approx(point.values, rel=1e-8)
        assert found.value == values[0 if goals == "energy,delay" else 1]
        assert (
            found.to_dict()["objective"]["metrics"]
            == ["energy", "delay"][:: 1 if goals == "energy,delay" else -1]
        )
    products = {point.values[0] * point.values[1] for point in points}
    assert sm.solve(spec, "edp,delay", max_fused_loops=1).value == min(products)


def test_goals_that_conflict_are_refused() -> None:
    with pytest.raises(sm.InputError, match="'energy' after 'edp' is not an objective"):
        sm.solve(loaded(PRODUCT), "edp,energy")


@pytest.mark.parametrize("goals", ["energy,delay", "delay,energy"])
def test_a_second_goal_that_is_not_proven_is_not_called_optimal(
    goals: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock stops after the search for the first goal, whose answer is kept."""
    spec, clock = loaded(CHAIN), Clock()

    def once(*given: Any, **options: Any) -> sm.TreeSolution:
        found = solve_tree(*given, **options)
        clock.stop()
        return found

    module = importlib.import_module("solver_mapper.solve.fused.goals")
    monkeypatch.setattr(module, "solve_tree", once)
    found = sm.solve(spec, goals, clock=clock)
    assert found.status == "feasible"
    assert found.mapping is not None
    assert found.value == sm.solve(spec, goals.split(",")[0]).value
    assert "among equals is not" in found.notes[-1]
