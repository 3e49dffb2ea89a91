"""Einsums that differ in names only share their searches; the answer is that of each by itself."""

from __future__ import annotations

import io
import time

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.solve.fused import cells
from solver_mapper.solve.fused.alike import form_of
from solver_mapper.solve.fused.cells import CellMaker
from solver_mapper.solve.fused.compiled import CompiledTables, compile_skeleton
from solver_mapper.solve.fused.cuts import EinsumView
from solver_mapper.solve.fused.graph import Graph
from solver_mapper.solve.fused.minimize import EnergyDelayProduct
from solver_mapper.solve.fused.skeleton import Skeleton
from tests.looptree.test_fused_options import ARCH

PRODUCT = '  - "C{0}[m{0}, n{0}] = A{0}[m{0}, k{0}] * B{0}[k{0}, n{0}]"\n'


def products(
    sizes: list[tuple[int, int, int]], size: int = 512, keep: str = "~Dram"
) -> sm.TreeSpec:
    """Products without any tensor in common."""
    ranks = ", ".join(
        f"M{index}: {m}, K{index}: {k}, N{index}: {n}" for index, (m, k, n) in enumerate(sizes)
    )
    text = (
        ARCH.replace("SIZE", str(size))
        .replace("USAGE", "0")
        .replace("keep: ~Dram", f"keep: {keep}")
        + f"workload:\n  rank_sizes: {{{ranks}}}\n  bits_per_value: {{All: 8}}\n  einsums:\n"
        + "".join(PRODUCT.format(index) for index in range(len(sizes)))
    )
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return spec


def test_forms_tell_einsums_apart_by_all_but_names() -> None:
    first, other, same = products([(8, 6, 4), (8, 4, 6), (8, 6, 4)]).need_workload().einsums
    assert form_of(first).shape == form_of(same).shape != form_of(other).shape
    assert form_of(first, {"C0": 1}).shape == form_of(same, {"C2": 1}).shape
    assert form_of(first, {"C0": 1}).shape != form_of(same, {"A2": 1}).shape


def test_layers_that_repeat_cost_what_they_cost_alone() -> None:
    sizes = [(8, 6, 4), (8, 4, 6), (8, 6, 4)]
    whole = sm.solve(products(sizes), "energy")
    alone = [sm.solve(products([each]), "energy").value for each in sizes]
    assert whole.status == "optimal"
    assert whole.value == sum(value for value in alone if value is not None)


def test_a_constraint_that_names_one_of_the_tensors_holds_for_that_one() -> None:
    """All of B1 must be on chip, so that layers of one shape have different mappings."""
    free = products([(8, 6, 4), (8, 6, 4)])
    bound = products([(8, 6, 4), (8, 6, 4)], keep="~Dram | B1")
    solution = sm.solve(bound, "energy")
    assert solution.status == "optimal" and solution.mapping is not None
    assert sm.validate(bound, solution.mapping).legal
    assert "Sram keeps B1" in str(solution.mapping)
    assert solution.value >= sm.solve(free, "energy").value  # type: ignore[operator]


@pytest.mark.parametrize("few", [1, 3, 10_000])
def test_a_cell_goes_on_from_the_skeletons_of_its_sample(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No skeleton is compiled twice, and none is lost, whether there are more than a sample."""
    spec = products([(8, 6, 4), (8, 4, 6)])
    monkeypatch.setattr(cells, "_SAMPLE", few)
    compiled: list[object] = []

    def counted(skeleton: Skeleton) -> CompiledTables:
        compiled.append(skeleton)
        return compile_skeleton(skeleton)

    monkeypatch.setattr(cells, "compile_skeleton", counted)
    goal = EnergyDelayProduct(1, 1)

    def maker() -> CellMaker:
        graph = Graph(spec.need_architecture(), spec.need_workload())
        return CellMaker(graph, goal, lambda: False)

    alone, after = maker(), maker()
    for position in range(2):
        view = EinsumView(position, (), (), (), frozenset())
        whole = alone.cell(view)
        once = len(compiled)
        sample, rest = after.sample(view), after.cell(view)
        assert whole is not None and sample is not None and rest is not None
        assert len(compiled) - once == once
        assert len(sample.searches) == min(few, len(whole.searches))
        assert [cost.tolist() for cost, _ in rest.searches] == [
            cost.tolist() for cost, _ in whole.searches
        ]
        assert (rest.floor == whole.floor).all()
        compiled.clear()


def test_einsums_that_share_nothing_raise_the_bound_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search that ends before all of them were looked at knows what it has seen."""
    spec = products([(8, 6, 4), (8, 4, 6), (6, 8, 4), (4, 8, 6)])
    cell = CellMaker.cell

    def bound_after(looks: int) -> float:
        clock, seen = Clock(), list[EinsumView]()

        def counted(self: CellMaker, view: EinsumView) -> cells.Cell | None:
            seen.append(view)
            if len(seen) == looks:
                clock.stopped = True
            return cell(self, view)

        monkeypatch.setattr(CellMaker, "cell", counted)
        bound = sm.solve(spec, "energy", clock=clock).bound
        assert bound is not None
        return float(bound)

    bounds = [bound_after(looks) for looks in (1, 2, 3, 4)]
    assert bounds == sorted(set(bounds))
    assert bounds[-1] <= float(sm.solve(spec, "energy").value or 0)


class Watch(Clock):
    """Notes the longest time of the processor between two looks at the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.last = time.process_time()
        self.longest = 0.0

    @property
    def over(self) -> bool:
        now = time.process_time()
        self.longest, self.last = max(self.longest, now - self.last), now
        return super().over


def test_the_clock_is_looked_at_in_every_phase() -> None:
    watch = Watch()
    spec = products([(64, 60, 48), (36, 60, 72), (96, 64, 30)], size=4096)
    assert sm.solve(spec, "edp", clock=watch).status == "optimal"
    assert watch.longest < 1.0


def test_time_that_is_over_at_any_look_ends_the_search_with_a_bound_that_holds() -> None:
    spec = products([(4, 2, 2), (2, 4, 2)])
    best = sm.solve(spec, "energy").value
    assert best is not None

    class Stops(Clock):
        looks = 0

        @property
        def over(self) -> bool:
            self.looks += 1
            return self.looks > self.most

        def __init__(self, most: int) -> None:
            super().__init__()
            self.most = most

    seen = set()
    for most in (0, 1, 3, 10, 30, 60, 100, 10_000):
        found = sm.solve(spec, "energy", clock=Stops(most))
        seen.add(found.status)
        if found.value is not None:
            assert found.value >= best and found.bound is not None and found.bound <= best
    assert seen == {"unknown", "feasible", "optimal"}
