"""The least edp of a network: at a vertex of the layers' fronts, and never above other choices."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver_mapper as sm
from solver_mapper.study.execution.record import Record
from solver_mapper.study.network_edp import LayerPoint, least_product
from tests.study.test_networks import problem

FRONTS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.lists(
            st.tuples(st.fractions(1, 40, max_denominator=4), st.integers(1, 40)),
            min_size=1,
            max_size=4,
        ),
    ),
    min_size=1,
    max_size=4,
)
NETWORK = [
    ("conv", 3, problem("tiny/conv1d")),
    ("product", 1, problem("tiny/mm12")),
    ("again", 2, problem("tiny/conv1d")),
]


def edp(pairs: list[tuple[int, tuple[Fraction, int]]]) -> Fraction:
    return sum((n * e for n, (e, _) in pairs), Fraction(0)) * sum(n * d for n, (_, d) in pairs)


@settings(deadline=None)
@given(FRONTS)
def test_no_choice_is_better_even_if_equal_layers_differ(
    fronts: list[tuple[int, list[tuple[Fraction, int]]]],
) -> None:
    """Against every assignment of a choice to every single run of every layer."""
    layers = [(n, [LayerPoint(e, d, i) for i, (e, d) in enumerate(points)]) for n, points in fronts]
    chosen = least_product(layers)
    found = edp(
        [(n, (each.energy, each.cycles)) for (n, _), each in zip(fronts, chosen, strict=True)]
    )
    for (_, points), each in zip(fronts, chosen, strict=True):
        assert points[each.number] == (each.energy, each.cycles)
    ways = [list(combinations_with_replacement(points, n)) for n, points in fronts]
    least = min(edp([(1, point) for runs in way for point in runs]) for way in product(*ways))
    assert found == least


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tuple[sm.NetworkResult, Path]:
    store = tmp_path_factory.mktemp("edp") / "s.sqlite"
    return sm.solve_network("eyeriss", NETWORK, "network-edp", store=store), store


def test_the_network_has_the_least_edp_over_the_fronts(
    result: tuple[sm.NetworkResult, Path],
) -> None:
    fronts = []
    for layer in ("tiny/conv1d", "tiny/mm12"):
        points = sm.pareto(sm.load("eyeriss", layer)).points
        fronts.append([(each.evaluation.energy_pj, each.evaluation.cycles) for each in points])
    least = min(edp([(5, one), (1, two)]) for one, two in product(*fronts))
    found = result[0]
    assert (found.totals.edp, found.totals.proven, found.status) == (least, True, "optimal")
    assert found.to_dict()["objective"] == ["network-edp"]
    assert "no choice of mappings gives a smaller edp" in str(found)
    separate = sm.solve_network("eyeriss", NETWORK, "edp").totals.edp
    assert separate is not None and least <= separate


def test_mappings_are_those_of_the_totals(result: tuple[sm.NetworkResult, Path]) -> None:
    for layer in result[0].layers:
        assert layer.mapping is not None and sm.validate(layer.spec, layer.mapping).legal
        assert sm.evaluate(layer.spec, layer.mapping).energy_pj == layer.energy_pj
        assert layer.to_dict()["evaluation"]["cycles"] == layer.cycles


def test_fronts_are_stored_and_come_from_processes_too(
    result: tuple[sm.NetworkResult, Path],
) -> None:
    found, store = result
    again = sm.solve_network("eyeriss", NETWORK, "network-edp", store=store)
    assert all(each.stored for each in again.layers) and again.totals == found.totals
    assert sm.solve_network("eyeriss", NETWORK, "network-edp", jobs=2).totals == found.totals


def test_a_front_comes_back_from_text_as_it_was() -> None:
    front = Record.of_front(sm.pareto(sm.load("eyeriss", "tiny/mm12")), 3.0)
    assert front.points and Record.from_json(front.to_json()) == front


def test_a_front_that_is_not_complete_proves_nothing() -> None:
    layers = [("conv", 1, problem("resnet50/layer1.x.conv2_3x3"))]
    found = sm.solve_network("eyeriss", layers, "network-edp", layer_time_limit=0.05)
    assert not found.totals.proven and found.status in ("feasible", "unknown")


def test_what_cannot_be_asked_of_a_network_is_refused() -> None:
    for name, value in {"verify": True, "tie_break": False, "gap": 0.5}.items():
        with pytest.raises(sm.InputError, match=f"{name}.* is not supported for the objective"):
            sm.solve_network("eyeriss", NETWORK, "network-edp", **{name: value})
