"""Rules as Python objects mean what the same rules mean in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper import rules
from solver_mapper.rules import ALL, Rules
from tests.rules.designs import bypass, spatial, spec_with, temporal

FLAGGED = "no_multicast_no_reduction"
SAME: list[tuple[Rules, list[dict[str, Any]]]] = [
    (rules.temporal("GLB", "C") == 2, [temporal("GLB", factors="C=2")]),
    (rules.temporal("GLB", "C") <= 2, [temporal("GLB", factors="C<=2")]),
    (rules.temporal(0, "C") < 2, [temporal("RF", factors="C<2")]),
    (rules.spatial("GLB", "K") >= 2, [spatial("GLB", factors="K>=2")]),
    (rules.spatial("GLB", "K") > 2, [spatial("GLB", factors="K>2")]),
    (rules.spatial("GLB", "K") != 2, [spatial("GLB", factors="K!=2")]),
    (rules.spatial(ALL, "C", "K") <= 8, [{"spatial": {"product": "C*K <= 8"}}]),
    (rules.temporal("GLB", "C", "P") == 8, [{"target": "GLB", "temporal": {"product": "C*P = 8"}}]),
    (rules.spatial("GLB", "C") * rules.spatial("GLB", "K") <= 8, [{"target": "GLB", "spatial": {"product": "C*K <= 8"}}]),
    (rules.permutation("GLB", "RCP"), [temporal("GLB", permutation="RCP")]),
    (rules.permutation("GLB", ["R", "*", "P"]), [temporal("GLB", permutation="R*P")]),
    (rules.permutation("GLB", "K_P", "spatial"), [spatial("GLB", permutation="K_P")]),
    (rules.split("GLB", 2), [spatial("GLB", split=2)]),
    (rules.keep("GLB", "W", "I"), [bypass("GLB", keep=["W", "I"])]),
    (rules.bypass("GLB", "*"), [bypass("GLB", bypass="*")]),
    (rules.utilization(0.5), [{"target": "RF", "type": "utilization", "min": 0.5}]),
    (rules.dataflow("RF", "weight-stationary"), [{"target": "RF", "dataflow": "weight-stationary"}]),
    (rules.no_temporal_reuse("RF", "W"), [temporal("RF", no_temporal_reuse=["W"])]),
    (rules.no_multicast("GLB", "W"), [spatial("GLB", **{FLAGGED: ["W"]})]),
    (rules.no_link_transfer("GLB", "I"), [spatial("GLB", no_link_transfer=["I"])]),
    (rules.cycles <= 200, [{"metrics": {"cycles": "<= 200"}}]),
    (rules.energy_pj < 0.1, [{"metrics": {"energy_pj": "< 0.1"}}]),
    (rules.edp <= 10, [{"metrics": {"edp": 10}}]),
    (rules.last_level_accesses <= 10, [{"metrics": {"last-level-accesses": "<= 10"}}]),
    (rules.constraint(target="GLB", type="temporal", factors="P=0 C<=2"), [temporal("GLB", factors="P=0 C<=2")]),
    ((rules.temporal("GLB", "C") == 2) & rules.bypass("GLB", "W"), [temporal("GLB", factors="C=2"), bypass("GLB", bypass=["W"])]),
]


@pytest.mark.parametrize(("objects", "written"), SAME, ids=[str(each[0]) for each in SAME])
def test_objects_mean_what_files_mean(objects: Rules, written: list[dict[str, Any]]) -> None:
    bare = spec_with(mapping=[])
    found, meant = rules.add(bare, objects).constraints.rules, spec_with(*written, mapping=[]).constraints.rules
    assert found == meant
    assert {rule.origin for rule in found} == {"python"}


def test_a_product_over_any_loops() -> None:
    """What the notation of files has no words for: one level's loops over one dimension times another's over another."""
    wanted = rules.temporal("GLB", "C") * rules.temporal("RF", "P") == 6
    (rule,) = rules.add(spec_with(mapping=[]), wanted).constraints.rules
    assert rule.text == "product of GLB temporal C x RF temporal P = 6"
    solution = sm.solve(spec_with(mapping=[]), "delay", rules=wanted)
    assert solution.status == "infeasible"
    assert {entry["text"] for entry in solution.conflict} == {rule.text, "dimension C of 4", "dimension P of 16"}


def test_solve_explain_and_validate_take_them() -> None:
    spec = spec_with()
    wanted = [rules.spatial(ALL, "C", "K", "P", "R") <= 6, rules.permutation("GLB", "PCKR") & (rules.temporal("RF", "C") == 2)]
    assert {each.rule for each in sm.validate(spec, rules=wanted).violations} == {"product", "permutation"}
    solution = sm.solve(spec, "delay", rules=wanted)
    assert (solution.status, solution.value) == ("optimal", 256)
    assert sm.validate(spec, solution.mapping, rules=wanted).legal
    reason = sm.explain(spec, rules=rules.temporal("RF", "C") > 4)
    assert [entry.text for entry in reason.conflict] == ["RF temporal: factors C>4", "dimension C of 4"]


def test_messages_show_the_line_that_made_the_rule() -> None:
    wanted = rules.temporal("GLB", "C") >= 3
    (violation,) = [each for each in sm.validate(spec_with(), rules=wanted).violations if each.asked is not None]
    assert violation.asked is not None
    place = violation.asked.place
    assert place.file == __file__
    assert "wanted = rules.temporal" in Path(__file__).read_text().splitlines()[(place.line or 0) - 1]


@pytest.mark.parametrize(("wanted", "message"), [
    (rules.temporal("GLC", "C") <= 2, "unknown level 'GLC'; did you mean 'GLB'?"),
    (rules.temporal("GLB", "X") <= 2, "unknown dimension 'X'"),
    (rules.bypass("GLB", "V"), "unknown tensor 'V'"),
    (rules.temporal("GLB", "C") <= 0, "whole numbers of at least 1, not 0"),
    (rules.temporal("GLB", "C") <= 1.5, "whole numbers of at least 1, not 1.5"),
    (rules.temporal("GLB", "C") * rules.temporal(ALL, "C") <= 4, "stands twice"),
    (rules.cycles >= 4, "'cycles >= 4' is no cap"),
    (rules.constraint(target="GLB", type="temporal", factor="C=2"), "no field 'factor'; did you mean 'factors'?"),
    ((rules.temporal("GLB", "C") == 2) & (rules.temporal("GLB", "C") == 4), "contradicts"),
])
def test_errors_show_the_line_too(wanted: Rules, message: str) -> None:
    with pytest.raises(sm.InputError) as error:
        rules.add(spec_with(mapping=[]), wanted)
    assert message in str(error.value)
    assert (error.value.file, error.value.line is not None) == (__file__, True)


def test_mistakes_of_python_are_type_errors() -> None:
    with pytest.raises(TypeError, match="combine them with '&'"):
        assert 1 <= rules.temporal("GLB", "C") <= 4
    with pytest.raises(TypeError, match="at least one dimension"):
        rules.temporal("GLB")
    with pytest.raises(TypeError, match="cannot be multiplied"):
        rules.cycles * rules.energy_pj
    with pytest.raises(TypeError, match="compares with numbers"):
        assert rules.temporal("GLB", "C") <= rules.temporal("RF", "C")  # type: ignore[operator]
