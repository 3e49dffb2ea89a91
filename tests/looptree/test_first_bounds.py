"""What a search of several Einsums begins with: a mapping from few skeletons, bounds of little
effort.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import solver_mapper as sm
from solver_mapper.deadline import TimeUp
from solver_mapper.solve.fused import minimize as minimize_module
from solver_mapper.solve.fused import search as search_module
from solver_mapper.solve.fused.cells import CellMaker
from solver_mapper.solve.fused.compiled import compile_skeleton
from solver_mapper.solve.fused.cuts import CLOSED, Stepper
from solver_mapper.solve.fused.graph import Graph
from solver_mapper.solve.fused.minimize import Best, EnergyDelayProduct, Minimizer
from solver_mapper.solve.fused.search import GraphSearch
from solver_mapper.solve.fused.single import all_skeletons

EXAMPLE = Path(__file__).parents[2] / "examples" / "fused_matmuls.yaml"


def loaded() -> sm.TreeSpec:
    spec = sm.load(EXAMPLE)
    assert isinstance(spec, sm.TreeSpec)
    return spec


def test_there_is_a_mapping_before_all_skeletons_are_compiled(monkeypatch):
    def never(maker, view):
        raise TimeUp("all skeletons")

    monkeypatch.setattr(CellMaker, "cell", never)
    found = sm.solve(loaded(), "edp")
    assert found.status == "feasible" and found.mapping is not None


def test_bounds_of_little_effort_are_no_higher_and_may_be_raised():
    spec = loaded()
    graph = Graph(spec.need_architecture(), spec.need_workload())
    maker = CellMaker(graph, EnergyDelayProduct(1, 1), lambda: False)
    view = next(iter(Stepper(graph, 0).steps(0, CLOSED))).view
    little, whole = maker.relaxed(view, 0), maker.relaxed(view)
    assert little is not None and whole is not None
    assert (little <= whole).all() and (little < whole).any()
    again = CellMaker(graph, EnergyDelayProduct(1, 1), lambda: False).relaxed(view)
    assert again is not None and np.allclose(again, whole, rtol=1e-9)


PAIR = """
arch:
  nodes:
  - !Memory
    name: DRAM
    leak_power: 0
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 8, throughput: inf}, {name: write, energy: 8, throughput: inf}]
  - !Memory
    name: GLB
    leak_power: 0
    size: 4096
    tensors: {keep: ~DRAM, may_keep: All}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Container
    name: Array
    spatial: [{name: X, fanout: 8, may_reuse: All}, {name: Y, fanout: 8, may_reuse: All}]
  - !Compute
    name: MAC
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  rank_sizes: {M: 64, K: 64, N: 64, P: 64}
  bits_per_value: {All: 8}
  einsums:
  - "B[m, n] = A[m, k] * W[k, n]"
  - "C[m, p] = B[m, n] * V[n, p]"
"""


@pytest.mark.parametrize("position", [0, 1])
def test_no_bound_is_below_what_the_operations_take(position, tmp_path):
    """Though each group of a skeleton's variables may fill all fan-outs by itself."""
    (tmp_path / "pair.yaml").write_text(PAIR)
    spec = sm.load(tmp_path / "pair.yaml")
    graph = Graph(spec.need_architecture(), spec.need_workload())
    maker = CellMaker(graph, EnergyDelayProduct(1, 1), lambda: False)
    stepper, left = Stepper(graph, 0), CLOSED
    for earlier in range(position):
        left = next(step.right for step in stepper.steps(earlier, left) if not step.view.fused)
    found = [maker.relaxed(step.view, 0) for step in stepper.steps(position, left)]
    known = [least for least in found if least is not None]
    assert known
    assert all((least >= maker.computing(position) * (1 - 1e-12)).all() for least in known)


def test_answers_do_not_depend_on_the_effort_of_first_bounds(monkeypatch):
    whole = sm.solve(loaded(), "edp")
    monkeypatch.setattr(search_module, "_LITTLE", 0)
    assert sm.solve(loaded(), "edp").value == whole.value


LAYER = """
arch:
  nodes:
  - !Memory
    name: Flash
    leak_power: 0
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 15, throughput: inf}, {name: write, energy: 20, throughput: inf}]
  - !Memory
    name: SRAM
    leak_power: 0
    size: 8192
    tensors: {keep: All}
    actions: [{name: read, energy: 2, throughput: inf}, {name: write, energy: 2, throughput: inf}]
  - !Compute
    name: MAC
    leak_power: 0
    actions: [{name: compute, energy: 0, throughput: 1}]
workload:
  rank_sizes: {M: 32, C: 16}
  bits_per_value: {All: 8}
  einsums:
"""
CONVOLUTIONS = [
    f"""\
  - einsum: 'O{n}[p{n}, m] = I{n}[H: p{n} + r{n}, c] * F{n}[c, m, R: r{n}]'
    iteration_space_shape: [0 <= p{n} < 32, 0 <= r{n} < 3]
"""
    for n in range(2)
]


def layers(text: str) -> sm.TreeSpec:
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return spec


def test_bounds_count_partial_sums_that_are_fetched_again() -> None:
    """Of these, the first fetches are skipped. All others are reads like any other."""
    spec = layers(LAYER + CONVOLUTIONS[0])
    (einsum,) = spec.need_workload().einsums
    value = sm.solve(spec, "energy").value
    bounds = [
        Minimizer(compile_skeleton(skeleton), EnergyDelayProduct(1, 0), Best()).prepare()
        for skeleton in all_skeletons(spec.need_architecture(), einsum)
    ]
    assert 0.85 * value < min(bounds) <= value * (1 + 1e-9)


def test_einsums_that_share_nothing_are_bounded_before_all_else(monkeypatch) -> None:
    spec = layers(LAYER + "".join(CONVOLUTIONS))
    known: list[float] = []

    def stopped(search, effort):
        known.append(search.bound)
        raise TimeUp("first bounds")

    monkeypatch.setattr(GraphSearch, "relax", stopped)
    sm.solve(spec, "energy")
    monkeypatch.undo()
    value = sm.solve(spec, "energy").value
    assert 0.85 * value < known[0] <= value * (1 + 1e-9)
    single = sm.solve(layers(LAYER + CONVOLUTIONS[0]), "energy").value
    assert value == 2 * single


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_answers_do_not_depend_on_how_often_the_last_group_is_halved(
    objective: str, monkeypatch
) -> None:
    found = []
    for few in (1, 7, 10**9):
        monkeypatch.setattr(minimize_module, "_FEW", few)
        found.append(sm.solve(layers(LAYER + CONVOLUTIONS[0]), objective).value)
    assert len(set(found)) == 1
