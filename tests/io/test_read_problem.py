"""Problems: shapes given inline or by name, strides and dilations, bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.core.problem import Problem, Term
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.specification import load

DATA = Path(__file__).parents[1] / "data" / "timeloop"
BOUNDS = {"R": 3, "S": 3, "P": 8, "Q": 8, "C": 4, "K": 2, "N": 1}


def problem(**parts: Any) -> Problem:
    return load({"problem": parts}).need_problem()


def test_inline_shape_with_coefficients() -> None:
    conv = load(DATA / "c20_eyeriss_vgg.yaml").need_problem()
    assert conv.dims == ("R", "S", "P", "Q", "C", "K", "N")
    assert conv.tensor("Inputs").ranks[2] == (Term("R", 1), Term("P", 1))
    assert [tensor.read_write for tensor in conv.tensors] == [False, False, True]


def test_shape_by_name_with_strides() -> None:
    conv = problem(shape="cnn-layer", instance={**BOUNDS, "Wstride": 2})
    assert conv.tensor("Inputs").ranks[2:] == (
        (Term("R", 1), Term("P", 2)),
        (Term("S", 1), Term("Q", 1)),
    )


def test_bounds_may_stand_beside_the_shape_and_the_shape_may_be_left_out() -> None:
    spec = load({"problem": BOUNDS})
    assert spec.need_problem() == problem(shape="cnn-layer", instance=BOUNDS)
    assert "cnn-layer" in spec.warnings[0]


def test_projections_may_be_plain_lists_of_dimensions() -> None:
    shape = {
        "name": "copy",
        "dimensions": ["m", "M"],
        "data_spaces": [
            {"name": "A", "projection": ["m", "M"]},
            {"name": "Z", "projection": [["m"], ["M", ["m", 2]]], "read_write": True},
        ],
    }
    copy = problem(shape=shape, instance={"m": 3, "M": 5})
    assert copy.bounds == {"m": 3, "M": 5}
    assert copy.tensor("Z").ranks == ((Term("m"),), (Term("M"), Term("m", 2)))


@pytest.mark.parametrize(
    ("facts", "codes"),
    [
        ({"densities": {"Inputs": 1.0}}, set()),
        ({"commonDensity": 1}, set()),
        ({"densities": {"Inputs": 0.5, "Weights": 1}}, {"unused-density"}),
        ({"densities": {"Inputs": {"distribution": "uniform"}}}, {"unused-density"}),
        ({"commonDensity": 0.25}, {"unused-density"}),
    ],
)
def test_densities_without_sparse_optimizations_change_nothing(
    facts: dict[str, object], codes: set[str]
) -> None:
    dense = problem(shape="cnn-layer", instance=BOUNDS)
    spec = load({"problem": {"shape": "cnn-layer", "instance": {**BOUNDS, **facts}}})
    assert spec.problem == dense
    assert {each.code for each in spec.warnings} == codes
    text = "change no figure without sparse optimizations, as in Timeloop: all tensors are dense"
    assert all(text in warning for warning in spec.warnings)
    with pytest.raises(InputError, match="a density in 'commonDensity' must be a number"):
        problem(shape="cnn-layer", instance={**BOUNDS, "commonDensity": "half"})


def test_sparse_optimizations_are_refused_whatever_the_densities_are() -> None:
    part = {"shape": "cnn-layer", "instance": {**BOUNDS, "densities": {"Inputs": 0.5}}}
    with pytest.raises(InputError, match="sparse optimizations are not modelled; --ignore-sparse"):
        load({"problem": part, "sparse_optimizations": {"targets": []}})


def test_a_list_of_problems_is_named_before_what_else_is_wrong_beside_it() -> None:
    nodes = [{"type": "temporal", "rank": "B", "tile_shape": 1}]
    parts = {"problem": [{}], "mapping": {"nodes": nodes}, "variables": {"technology": "45nm"}}
    with pytest.raises(InputError, match="pytimeloop's list of problems is not read"):
        sm.load(parts)
