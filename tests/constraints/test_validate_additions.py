"""`validate` judges by the constraints that Timeloop does not have, with the arithmetic."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

import solver_mapper as sm
from solver_mapper.check.factors import metric
from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.results.statistics import Statistics
from tests.constraints.designs import DESIGN, MAPPING, spatial, spec_with, temporal

FIGURES = sm.evaluate(spec_with())

ACCEPTED: list[dict[str, Any]] = [
    {"spatial": {"product": "K*P <= 16"}},
    {"spatial": {"product": "K*P = 16"}},
    {"spatial": {"product": "C*R < 2"}},
    {"temporal": {"product": "C*R >= 12"}},
    {"target": "GLB", "temporal": {"product": "C*P*R = 12"}},
    {"target": ["DRAM", "GLB"], "temporal": {"product": "P > 3"}},
    {"metrics": {"cycles": "<= 96"}},
    {"metrics": {"cycles": "< 97", "energy_pj": f"<= {float(FIGURES.energy_pj) + 20_000}"}},
    {"target": "GLB", "dataflow": "output-stationary"},
    {"target": "RF", "dataflow": "weight-stationary"},
]


@pytest.mark.parametrize("constraint", ACCEPTED, ids=str)
def test_a_mapping_that_obeys_is_legal(constraint: dict[str, Any]) -> None:
    mapping = [
        {**each, "permutation": "RCPK"} if each["type"] == "temporal" else each for each in MAPPING
    ]
    verdict = sm.validate(spec_with(constraint, mapping=mapping))
    assert verdict.legal, str(verdict)


REJECTED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"spatial": {"product": "K*P <= 8"}},
        {"rule": "product", "found": 16, "limit": 8, "level": None},
        (
            "K=4 (GLB spatial) x P=4 (GLB spatial) make 16; 'all levels spatial: product K*P <= 8'"
            " requires at most 8"
        ),
    ),
    (
        {"target": "GLB", "temporal": {"product": "C*P*R >= 24"}},
        {"rule": "product", "found": 12, "limit": 24},
        "C=2 (GLB temporal) x P=2 (GLB temporal) x R=3 (GLB temporal) make 12",
    ),
    (
        {"temporal": {"product": "P = 8"}},
        {"rule": "product", "found": 4},
        "P=2 (DRAM temporal) x P=2 (GLB temporal) make 4",
    ),
    (
        {"target": "RF", "temporal": {"product": "K*P != 1"}},
        {"rule": "product", "found": 1},
        "no loops make 1;",
    ),
    (
        {"metrics": {"cycles": "< 96"}},
        {"rule": "metric", "found": 96, "limit": 96},
        "cycles is 96; 'metrics: cycles < 96' requires less than 96",
    ),
    ({"metrics": {"energy_pj": 100}}, {"rule": "metric", "limit": 100}, "energy_pj is "),
    ({"metrics": {"edp": "<= 0.5"}}, {"rule": "metric", "limit": 0.5}, "edp is "),
    (
        {"metrics": {"last_level_accesses": "<= 1"}},
        {"rule": "metric", "found": FIGURES.last_level_accesses},
        "requires at most 1",
    ),
    (
        {"target": "GLB", "dataflow": "weight-stationary"},
        {"rule": "dataflow", "level": "GLB", "found": "R C P", "dimension": "P"},
        (
            "GLB temporal: innermost first the loops are R C P; 'GLB: dataflow weight-stationary'"
            " requires P inside"
        ),
    ),
    (
        {"target": "RF", "dataflow": "row-stationary"},
        {"rule": "product", "found": 1, "limit": 3},
        "RF: dataflow row-stationary, R = 3",
    ),
]


@pytest.mark.parametrize(
    ("constraint", "said", "message"), REJECTED, ids=[message for _, _, message in REJECTED]
)
def test_a_mapping_that_does_not_obey_is_illegal(
    constraint: dict[str, Any], said: dict[str, Any], message: str
) -> None:
    found = [each.to_dict() for each in sm.validate(spec_with(constraint)).violations]
    assert [
        each
        for each in found
        if {key: each[key] for key in said} == said and message in each["message"]
    ], found


def test_places_are_those_of_the_loops_and_of_the_rule(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("design.yaml", "map.yaml", "rules.yaml")]
    files[0].write_text(yaml.safe_dump(DESIGN))
    files[1].write_text(yaml.safe_dump({"mapping": MAPPING}, default_flow_style=None, width=200))
    files[2].write_text("mapspace:\n- spatial: {product: K*P <= 8}\n- metrics: {cycles: <= 10}\n")
    product, metric = sm.validate(sm.load(*files)).violations
    assert "K=4 P=4" in files[1].read_text().splitlines()[(product.location.line or 0) - 1]
    assert product.constraint is not None and metric.constraint is not None
    assert (
        product.constraint.location.line,
        metric.location.line,
        metric.constraint.location.line,
    ) == (
        2,
        3,
        3,
    )


def test_figures_are_judged_of_mappings_that_have_any() -> None:
    """Loops that do not make up the problem have no figures; what is wrong with them is said, and
    nothing else.
    """
    verdict = sm.validate(
        spec_with({"metrics": {"cycles": 1}}, mapping=[temporal("RF", factors="C=2")])
    )
    assert {violation.rule for violation in verdict.violations} == {"factor-product"}


def test_all_violations_at_once() -> None:
    spec = spec_with(
        {"metrics": {"cycles": 1}, "spatial": {"product": "K <= 2"}}, spatial("GLB", factors="K=2")
    )
    assert [each.rule for each in sm.validate(spec).violations] == ["product", "factor", "metric"]


def test_caps_are_compared_with_products_of_any_magnitude() -> None:
    """No floating-point number can show this edp; it is above the cap all the same."""
    figures = SimpleNamespace(cycles=10**9, energy_pj=Fraction(10) ** 300, last_level_accesses=1)
    cap = MetricConstraint("", "cap", "edp", Fraction(10) ** 305)
    (violation,) = metric(cap, cast(Statistics, figures))
    assert violation.found == 10**309
