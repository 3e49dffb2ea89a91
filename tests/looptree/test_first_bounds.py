"""What a search of several Einsums begins with: a mapping from few skeletons, bounds of little
effort.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import solver_mapper as sm
from solver_mapper.deadline import TimeUp
from solver_mapper.solve.fused import minimize as minimize_module
from solver_mapper.solve.fused import search as search_module
from solver_mapper.solve.fused.cells import CellMaker
from solver_mapper.solve.fused.compiled import compile_skeleton
from solver_mapper.solve.fused.cuts import CLOSED, GraphCut, Step, Stepper, loose_view
from solver_mapper.solve.fused.graph import Graph
from solver_mapper.solve.fused.minimize import Best, EnergyDelayProduct, Minimizer
from solver_mapper.solve.fused.search import GraphSearch
from solver_mapper.solve.fused.single import all_skeletons
from tests.campaigns import in_campaigns
from tests.looptree.graph_enumeration import random_graph, random_spatial_graph

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


def steps_of(graph: Graph, limit: int) -> Iterator[Step]:
    """All steps between cuts that can be reached."""
    stepper = Stepper(graph, limit)
    cuts: list[GraphCut] = [CLOSED]
    for position in range(len(graph)):
        found = [step for left in cuts for step in stepper.steps(position, left)]
        yield from found
        cuts = list(dict.fromkeys(step.right for step in found))


@pytest.mark.parametrize("spatial", [False, True])
@pytest.mark.parametrize("block", [0, *in_campaigns(range(1, 30))])
def test_no_bound_that_leaves_shared_loops_open_is_above_that_of_any_shared_loops(
    block: int, spatial: bool
) -> None:
    make = random_spatial_graph if spatial else random_graph
    assert sum(compared(make(seed).text()) for seed in range(4 * block, 4 * block + 4))


def compared(text: str) -> int:
    """Compare the bounds of all views of a graph. Returns how many of these had shared loops."""
    spec = layers(text)
    graph = Graph(spec.need_architecture(), spec.need_workload())
    maker = CellMaker(graph, EnergyDelayProduct(1, 1), lambda: False)
    shared = 0
    for step in steps_of(graph, 2):
        left, right = step.left.memories, step.right.memories
        cell = maker.cell(step.view)
        if cell is not None:
            least = maker.relaxed(loose_view(graph, step.view.position, left, right))
            known = maker.lowest([search for _, search in cell.searches]).least
            assert least is not None and known is not None and (least <= known * (1 + 1e-9)).all()
            shared += bool(step.view.prefix)
    return shared


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
