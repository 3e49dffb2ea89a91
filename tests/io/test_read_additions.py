"""Constraints that Timeloop does not have: the meaning of every form, the place of every error."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from solver_mapper.core.constraints import (
    Comparison,
    Constraint,
    Kind,
    MetricConstraint,
    NestingConstraint,
    ProductConstraint,
)
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.specification import load
from tests.io.test_read_constraints import DESIGN, constraints

LEVELS = ("DRAM", "GLB", "RF")


def product(
    levels: tuple[str, ...], kind: Kind, dims: str, comparison: Comparison, value: int
) -> ProductConstraint:
    return ProductConstraint(
        "", "", frozenset((level, kind, dim) for level in levels for dim in dims), comparison, value
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"spatial": {"product": "P*K <= 8"}}, product(LEVELS, "spatial", "PK", "<=", 8)),
        ({"spatial": {"product": "P K<8"}}, product(LEVELS, "spatial", "PK", "<", 8)),
        ({"temporal": {"product": "P * K * R >= 8"}}, product(LEVELS, "temporal", "PKR", ">=", 8)),
        ({"temporal": {"product": "P > 1"}}, product(LEVELS, "temporal", "P", ">", 1)),
        (
            {"target": "GLB", "temporal": {"product": "P*K = 8"}},
            product(("GLB",), "temporal", "PK", "==", 8),
        ),
        (
            {"target": "GLB", "temporal": {"product": "P*K == 8"}},
            product(("GLB",), "temporal", "PK", "==", 8),
        ),
        (
            {"target": "PE", "temporal": {"product": "P*K != 8"}},
            product(("RF",), "temporal", "PK", "!=", 8),
        ),
        (
            {"target": "chip", "temporal": {"product": "P*K <= 8"}},
            product(("GLB", "RF"), "temporal", "PK", "<=", 8),
        ),
        (
            {"target": ["RF", 1], "temporal": {"product": "P*K <= 8"}},
            product(("GLB", "RF"), "temporal", "PK", "<=", 8),
        ),
        (
            {"target": "GLB", "type": "temporal", "product": "P*K <= 8"},
            product(("GLB",), "temporal", "PK", "<=", 8),
        ),
        (
            {"target": "GLB", "type": "spatial", "product": "P*K <= 8 # comment"},
            product(("GLB",), "spatial", "PK", "<=", 8),
        ),
        (
            {"metrics": {"cycles": "<= 200000"}},
            MetricConstraint("", "", "cycles", Fraction(200000)),
        ),
        ({"metrics": {"cycles": 200000}}, MetricConstraint("", "", "cycles", Fraction(200000))),
        ({"metrics": {"delay": "< 5"}}, MetricConstraint("", "", "cycles", Fraction(5), True)),
        (
            {"metrics": {"energy_pj": "<= 0.1"}},
            MetricConstraint("", "", "energy_pj", Fraction(1, 10)),
        ),
        ({"metrics": {"energy": "<= 1e9"}}, MetricConstraint("", "", "energy_pj", Fraction(10**9))),
        ({"metrics": {"edp": "< 1.5e3"}}, MetricConstraint("", "", "edp", Fraction(1500), True)),
        (
            {"metrics": {"last-level-accesses": 7}},
            MetricConstraint("", "", "last_level_accesses", Fraction(7)),
        ),
        (
            {"target": "GLB", "dataflow": "weight-stationary"},
            NestingConstraint("GLB", "", "weight", frozenset("P"), frozenset("RK")),
        ),
        (
            {"target": "GLB", "dataflow": "output_stationary"},
            NestingConstraint("GLB", "", "output", frozenset("R"), frozenset("PK")),
        ),
        (
            {"target": "GLB", "dataflow": "Input Stationary"},
            NestingConstraint("GLB", "", "input", frozenset("K"), frozenset("PR")),
        ),
        (
            {"target": "GLB", "dataflow": "I-stationary"},
            NestingConstraint("GLB", "", "i", frozenset("K"), frozenset("PR")),
        ),
        (
            {"target": "GLB", "type": "temporal", "dataflow": "W-stationary"},
            NestingConstraint("GLB", "", "w", frozenset("P"), frozenset("RK")),
        ),
    ],
)
def test_forms(written: dict[str, Any], meant: Constraint) -> None:
    assert constraints(written) == (meant,)


def test_row_stationary_runs_the_row_of_the_window_whole_and_innermost() -> None:
    assert constraints({"target": "RF", "dataflow": "row-stationary"}) == (
        product(("RF",), "temporal", "R", "==", 3),
        NestingConstraint("RF", "", "row", frozenset("R"), frozenset("PK")),
    )


def test_several_in_one() -> None:
    found = constraints(
        {
            "spatial": {"product": ["P <= 4", "K <= 2"]},
            "temporal": {"product": "R = 3"},
            "metrics": {"cycles": 9, "edp": 1},
        }
    )
    assert [constraint.text for constraint in found] == [
        "all levels temporal: product R = 3",
        "all levels spatial: product P <= 4",
        "all levels spatial: product K <= 2",
        "metrics: cycles <= 9",
        "metrics: edp <= 1",
    ]


def test_beside_the_list_of_targets() -> None:
    """What is about all levels may stand next to `targets`, as it is about none of them in
    particular.
    """
    listed = [{"target": "GLB", "type": "temporal", "factors": "P=2"}]
    key = {"targets": listed, "metrics": {"cycles": 9}, "spatial": {"product": "P<=2"}}
    found = load({**DESIGN, "mapspace_constraints": key}).constraints
    assert [constraint.text for constraint in found] == [
        "all levels spatial: product P <= 2",
        "metrics: cycles <= 9",
        "GLB temporal: factors P=2",
    ]
    assert {constraint.origin for constraint in found} == {"mapspace_constraints"}


def test_inside_a_node_of_v04(tmp_path: Any) -> None:
    file = tmp_path / "arch.yaml"
    file.write_text("""
architecture:
  version: 0.4
  nodes:
  - !Container {name: system}
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 16}}
  - !Container
    name: PE
    spatial: {meshX: 4}
    constraints: {spatial: {product: "P*K <= 2"}}
  - !Component
    name: RF
    class: SRAM
    attributes: {depth: 64, width: 16, datawidth: 16}
    constraints: {dataflow: weight-stationary, temporal: {product: "P*R <= 6"}}
  - !Component {name: MAC, class: intmac, attributes: {datawidth: 16}}
""")
    found = [
        constraint
        for constraint in load(file, {"problem": DESIGN["problem"]}).constraints
        if constraint.origin == "architecture"
    ]
    texts = [constraint.text for constraint in found]
    assert "RF: dataflow weight-stationary" in texts
    assert "RF temporal: product P*R <= 6" in texts
    assert any(text.endswith("spatial: product P*K <= 2") for text in texts)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"spatial": {"product": "P*X <= 8"}}, "unknown dimension 'X'"),
        ({"spatial": {"product": "P*P <= 8"}}, "a dimension stands twice"),
        ({"spatial": {"product": "P*K"}}, "products are written 'C*K <= 128'"),
        ({"spatial": {"product": "<= 8"}}, "products are written 'C*K <= 128'"),
        ({"spatial": {"product": "P*K <= -8"}}, "products are written 'C*K <= 128'"),
        ({"spatial": {"product": "P <= 2 K <= 4"}}, "unknown dimension '<='"),
        ({"spatial": {"product": {"P": 2}}}, "a product must be a word, not a mapping"),
        ({"spatial": {"factors": "P=2"}}, "the spatial constraint has no field 'factors'"),
        ({"spatial": "P*K <= 8"}, "must be a mapping"),
        ({"target": "GLC", "spatial": {"product": "P <= 8"}}, "unknown level 'GLC'"),
        ({"metrics": {"cycle": "<= 8"}}, "unknown metric 'cycle'; did you mean 'cycles'?"),
        ({"metrics": {"cycles": ">= 8"}}, "metrics can only be capped"),
        ({"metrics": {"cycles": "= 8"}}, "metrics can only be capped"),
        ({"metrics": {"cycles": "<= few"}}, "must be a number, not 'few'"),
        ({"metrics": {"cycles": "<=\n\nfew"}}, "must be a number"),
        ({"metrics": {"cycles": []}}, "must be a word, not a list"),
        ({"metrics": "cycles <= 8"}, "must be a mapping"),
        (
            {"metrics": {"cycles": 8}, "target": "GLB"},
            "figures of the whole mapping; leave out the target",
        ),
        ({"dataflow": "weight-stationary"}, "a dataflow is that of a level; add 'target: LEVEL'"),
        ({"target": "GLB", "dataflow": "weight"}, "unknown dataflow 'weight'"),
        ({"target": "GLB", "dataflow": "V-stationary"}, "no tensor that plays the part of the v"),
        ({"target": "GLB", "dataflow": ["weight-stationary"]}, "must be a word, not a list"),
        (
            {"target": "GLB", "dataflow": "weight-stationary", "factors": "P=2"},
            "no field 'factors'",
        ),
        (
            {"target": "GLB", "type": "bypass", "dataflow": "weight-stationary"},
            "no field 'dataflow'",
        ),
    ],
)
def test_errors(written: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        constraints(written)
    assert message in str(error.value)


def test_row_stationary_needs_a_window() -> None:
    matmul = {
        "shape": {
            "name": "mm",
            "dimensions": ["M", "K"],
            "data-spaces": [
                {"name": "A", "projection": ["M", "K"]},
                {"name": "Z", "projection": ["M"], "read-write": True},
            ],
        },
        "instance": {"M": 4, "K": 4},
    }
    with pytest.raises(InputError, match="this problem has none"):
        constraints({"target": "GLB", "dataflow": "row-stationary"}, problem=matmul)
    with pytest.raises(InputError, match="plays the part of the weight"):
        constraints({"target": "GLB", "dataflow": "weight-stationary"}, problem=matmul)


def test_contradicting_products_show_both_places() -> None:
    with pytest.raises(InputError, match="contradicts"):
        constraints({"spatial": {"product": "P*K = 4"}}, {"spatial": {"product": "K*P = 8"}})
