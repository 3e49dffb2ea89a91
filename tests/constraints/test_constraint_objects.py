"""Constraints as Python objects mean what the same constraints mean in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper import constraints
from solver_mapper.constraints import ALL, ConstraintSet
from tests.constraints.designs import bypass, spatial, spec_with, temporal

FLAGGED = "no_multicast_no_reduction"
SAME: list[tuple[ConstraintSet, list[dict[str, Any]]]] = [
    (constraints.temporal("GLB", "C") == 2, [temporal("GLB", factors="C=2")]),
    (constraints.temporal("GLB", "C") <= 2, [temporal("GLB", factors="C<=2")]),
    (constraints.temporal(0, "C") < 2, [temporal("RF", factors="C<2")]),
    (constraints.spatial("GLB", "K") >= 2, [spatial("GLB", factors="K>=2")]),
    (constraints.spatial("GLB", "K") > 2, [spatial("GLB", factors="K>2")]),
    (constraints.spatial("GLB", "K") != 2, [spatial("GLB", factors="K!=2")]),
    (constraints.spatial(ALL, "C", "K") <= 8, [{"spatial": {"product": "C*K <= 8"}}]),
    (
        constraints.temporal("GLB", "C", "P") == 8,
        [{"target": "GLB", "temporal": {"product": "C*P = 8"}}],
    ),
    (
        constraints.spatial("GLB", "C") * constraints.spatial("GLB", "K") <= 8,
        [{"target": "GLB", "spatial": {"product": "C*K <= 8"}}],
    ),
    (constraints.permutation("GLB", "RCP"), [temporal("GLB", permutation="RCP")]),
    (constraints.permutation("GLB", ["R", "*", "P"]), [temporal("GLB", permutation="R*P")]),
    (constraints.permutation("GLB", "K_P", "spatial"), [spatial("GLB", permutation="K_P")]),
    (constraints.split("GLB", 2), [spatial("GLB", split=2)]),
    (constraints.keep("GLB", "W", "I"), [bypass("GLB", keep=["W", "I"])]),
    (constraints.bypass("GLB", "*"), [bypass("GLB", bypass="*")]),
    (constraints.utilization(0.5), [{"target": "RF", "type": "utilization", "min": 0.5}]),
    (
        constraints.dataflow("RF", "weight-stationary"),
        [{"target": "RF", "dataflow": "weight-stationary"}],
    ),
    (constraints.no_temporal_reuse("RF", "W"), [temporal("RF", no_temporal_reuse=["W"])]),
    (constraints.no_multicast("GLB", "W"), [spatial("GLB", **{FLAGGED: ["W"]})]),
    (constraints.no_link_transfer("GLB", "I"), [spatial("GLB", no_link_transfer=["I"])]),
    (constraints.cycles <= 200, [{"metrics": {"cycles": "<= 200"}}]),
    (constraints.energy_pj < 0.1, [{"metrics": {"energy_pj": "< 0.1"}}]),
    (constraints.edp <= 10, [{"metrics": {"edp": 10}}]),
    (constraints.last_level_accesses <= 10, [{"metrics": {"last-level-accesses": "<= 10"}}]),
    (
        constraints.constraint(target="GLB", type="temporal", factors="P=0 C<=2"),
        [temporal("GLB", factors="P=0 C<=2")],
    ),
    (
        (constraints.temporal("GLB", "C") == 2) & constraints.bypass("GLB", "W"),
        [temporal("GLB", factors="C=2"), bypass("GLB", bypass=["W"])],
    ),
]


@pytest.mark.parametrize(("objects", "written"), SAME, ids=[str(each[0]) for each in SAME])
def test_objects_mean_what_files_mean(
    objects: ConstraintSet, written: list[dict[str, Any]]
) -> None:
    bare = spec_with(mapping=[])
    found, meant = (
        constraints.add(bare, objects).constraints,
        spec_with(*written, mapping=[]).constraints,
    )
    assert found == meant
    assert {constraint.origin for constraint in found} == {"python"}


def test_a_product_over_any_loops() -> None:
    """What the notation of files has no words for: one level's loops over one dimension times
    another's over another.
    """
    wanted = constraints.temporal("GLB", "C") * constraints.temporal("RF", "P") == 6
    (constraint,) = constraints.add(spec_with(mapping=[]), wanted).constraints
    assert constraint.text == "product of GLB temporal C x RF temporal P = 6"
    solution = sm.solve(spec_with(mapping=[]), "delay", constraints=wanted)
    assert solution.status == "infeasible"
    assert {entry["text"] for entry in solution.conflict} == {
        constraint.text,
        "dimension C=4",
        "dimension P=16",
    }


def test_solve_explain_and_validate_take_them() -> None:
    spec = spec_with()
    wanted = [
        constraints.spatial(ALL, "C", "K", "P", "R") <= 6,
        constraints.permutation("GLB", "PCKR") & (constraints.temporal("RF", "C") == 2),
    ]
    assert {each.rule for each in sm.validate(spec, constraints=wanted).violations} == {
        "product",
        "permutation",
    }
    solution = sm.solve(spec, "delay", constraints=wanted)
    assert (solution.status, solution.value) == ("optimal", 256)
    assert sm.validate(spec, solution.mapping, constraints=wanted).legal
    reason = sm.explain(spec, constraints=constraints.temporal("RF", "C") > 4)
    assert [entry.text for entry in reason.conflict] == [
        "RF temporal: factors C>4",
        "dimension C=4",
    ]


def test_messages_show_the_line_that_made_the_rule() -> None:
    wanted = constraints.temporal("GLB", "C") >= 3
    (violation,) = [
        each
        for each in sm.validate(spec_with(), constraints=wanted).violations
        if each.constraint is not None
    ]
    assert violation.constraint is not None
    location = violation.constraint.location
    assert location.file == __file__
    assert (
        "wanted = constraints.temporal"
        in Path(__file__).read_text().splitlines()[(location.line or 0) - 1]
    )


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (constraints.temporal("GLC", "C") <= 2, "unknown level 'GLC'; did you mean 'GLB'?"),
        (constraints.temporal("GLB", "X") <= 2, "unknown dimension 'X'"),
        (constraints.bypass("GLB", "V"), "unknown tensor 'V'"),
        (constraints.temporal("GLB", "C") <= 0, "whole numbers of at least 1, not 0"),
        (constraints.temporal("GLB", "C") <= 1.5, "whole numbers of at least 1, not 1.5"),
        (constraints.temporal("GLB", "C") * constraints.temporal(ALL, "C") <= 4, "stands twice"),
        (constraints.cycles >= 4, "'cycles >= 4' is not a cap"),
        (
            constraints.constraint(target="GLB", type="temporal", factor="C=2"),
            "no field 'factor'; did you mean 'factors'?",
        ),
        (
            (constraints.temporal("GLB", "C") == 2) & (constraints.temporal("GLB", "C") == 4),
            "contradicts",
        ),
    ],
)
def test_errors_show_the_line_too(wanted: ConstraintSet, message: str) -> None:
    with pytest.raises(sm.InputError) as error:
        constraints.add(spec_with(mapping=[]), wanted)
    assert message in str(error.value)
    assert (error.value.file, error.value.line is not None) == (__file__, True)


def test_mistakes_of_python_are_type_errors() -> None:
    with pytest.raises(TypeError, match="combine them with '&'"):
        assert 1 <= constraints.temporal("GLB", "C") <= 4
    with pytest.raises(TypeError, match="at least one dimension"):
        constraints.temporal("GLB")
    with pytest.raises(TypeError, match="cannot be multiplied"):
        constraints.cycles * constraints.energy_pj
    with pytest.raises(TypeError, match="compares with numbers"):
        assert constraints.temporal("GLB", "C") <= constraints.temporal("RF", "C")  # type: ignore[operator]
