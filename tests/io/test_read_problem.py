"""Problems: shapes given inline or by name, strides and dilations, bounds."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.core.problem import Problem, Term
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError
from solver_mapper.io import bundled
from solver_mapper.io.timeloop.problem_shapes import GEMM
from solver_mapper.io.timeloop.specification import load
from solver_mapper.io.yaml.source import to_python

DATA = Path(__file__).parents[1] / "data" / "timeloop"
BOUNDS = {"R": 3, "S": 3, "P": 8, "Q": 8, "C": 4, "K": 2, "N": 1}


def gemm_shape() -> dict[str, Any]:
    return copy.deepcopy(GEMM)


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


OWN_SHAPE = """shape:
  name: rows
  dimensions: [P, C]
  data-spaces:
  - {name: A, projection: [[[P]], [[C]]]}
  - {name: Z, projection: [[[P]]], read-write: true}
"""


def given_beside(tmp_path: Path, asked: str, shape: str = OWN_SHAPE) -> Problem:
    """The problem `{shape: asked, instance: {P: 4, C: 2}}` beside a file `my-rows.yaml`."""
    files = tmp_path / "my-rows.yaml", tmp_path / "layer.yaml"
    files[0].write_text(shape)
    files[1].write_text(f"problem:\n  shape: {asked}\n  instance: {{P: 4, C: 2}}\n")
    return load(*files).need_problem()


@pytest.mark.parametrize("asked", ["rows", "Rows", "rows.yaml", "my-rows", "my-rows.yaml"])
def test_a_shape_that_a_file_gives_beside_the_problem_is_used(tmp_path: Path, asked: str) -> None:
    found = given_beside(tmp_path, asked)
    assert (found.name, found.dims, found.tensor_names) == ("rows", ("P", "C"), ("A", "Z"))


def test_a_given_shape_takes_the_place_of_one_that_timeloop_knows(tmp_path: Path) -> None:
    own = OWN_SHAPE.replace("rows", "cnn-layer")
    assert given_beside(tmp_path, "cnn-layer", own).dims == ("P", "C")


def test_a_given_shape_decides_over_the_dataflow_of_a_bundled_architecture() -> None:
    shape, instance = to_python(bundled.shape("gemm")), {"M": 4, "N": 4, "K": 4}
    own = sm.load("tpu", {"problem": {"shape": shape, "instance": instance}})
    parts = {"shape": {**shape, "name": "mine"}}, {"problem": {"shape": "mine"} | instance}
    given = sm.load("tpu", *parts)
    assert isinstance(own, Spec)
    assert isinstance(given, Spec)
    assert given.constraints == own.constraints


def test_a_given_shape_that_the_problem_does_not_ask_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"layer.yaml:2:10: the problem asks for the shape 'cnn-layer', but the one given"
        r" beside it, at .*my-rows.yaml:2:3, is 'rows'; write 'shape: rows', or give the file of"
        r" 'cnn-layer'",
    ):
        given_beside(tmp_path, "cnn-layer")


@pytest.mark.parametrize(
    ("parts", "why"),
    [({"shape": gemm_shape()}, "defines a shape of its own"), ({}, "asks for no shape")],
)
def test_a_given_shape_needs_a_problem_that_names_it(parts: dict[str, Any], why: str) -> None:
    with pytest.raises(
        InputError,
        match=f"the shape 'gemm' is given beside a problem that {why}; write 'shape: gemm' under"
        " 'problem:', or leave this file out",
    ):
        load({"problem": parts}, {"shape": {**gemm_shape(), "name": "gemm"}})


@pytest.mark.parametrize(
    ("asked", "near"),
    [("dw-cnn-layer", "did you mean 'cnn-layer'?"), ("mine", "known here: cnn-layer, gemm-ABZ.")],
)
def test_an_unknown_shape_can_be_given(asked: str, near: str) -> None:
    with pytest.raises(InputError, match=f"unknown problem shape '{asked}'") as refused:
        problem(shape=asked, instance=BOUNDS)
    assert refused.value.hint == (
        f"{near} A file with 'shape: {{name: {asked}, ...}}' can be given beside the problem"
    )


@pytest.mark.parametrize(
    ("stride", "hint"),
    [
        (
            0,
            "a term with coefficient 0 moves nothing: leave the term out of the projection if that"
            " is meant, or give the stride or dilation",
        ),
        (1.5, None),
    ],
)
def test_a_coefficient_of_0_is_refused_with_what_to_do(stride: float, hint: str | None) -> None:
    with pytest.raises(InputError, match="coefficient 'Wstride' must be a whole number") as refused:
        problem(shape="cnn-layer", instance={**BOUNDS, "Wstride": stride})
    assert refused.value.hint == hint
