"""`validate` judges mappings by every constraint of constraint files: what they mean, where, and
what is said about it.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import solver_mapper as sm
from solver_mapper.core.constraints import Constraint
from tests.constraints.designs import DESIGN, MAPPING, bypass, spatial, spec_with, temporal

ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("equality", temporal("GLB", factors="C=2 R3 P 2")),
    ("equality to 1 where there is no loop", temporal("RF", factors="K=1 R=1 P=1")),
    ("the whole bound", temporal("GLB", factors="R=0")),
    ("limits", temporal("GLB", factors="C<=2 C<3 C>=2 C>1 C!=4 P!=1")),
    ("permutation", temporal("GLB", permutation="RCP")),
    ("unit loops stand anywhere in a permutation", temporal("GLB", permutation="KRCP")),
    ("outermost part", temporal("GLB", permutation="R_P")),
    ("outermost part alone, with a unit loop", temporal("GLB", permutation="_PK")),
    ("gaps", temporal("GLB", permutation="R*P")),
    ("spatial permutation across both axes", spatial("GLB", permutation="KP")),
    ("split counts positions of unit loops", spatial("GLB", permutation="CKRP", split=2)),
    ("split with unit loops behind it", spatial("GLB", permutation="CKRP", split=3)),
    ("split without a permutation", spatial("GLB", split=2)),
    (
        "split with a permutation that leaves the middle free",
        spatial("GLB", permutation="C_P", split=2),
    ),
    ("kept and bypassed", bypass("GLB", keep=["I"], bypass=["W"])),
    ("full use of the array", {"target": "RF", "type": "utilization", "min": 1}),
    ("flags that the mapping has", temporal("RF", no_temporal_reuse=["W"])),
]


@pytest.mark.parametrize(
    "constraint", [each[1] for each in ACCEPTED], ids=[each[0] for each in ACCEPTED]
)
def test_a_mapping_that_obeys_is_legal(constraint: dict[str, Any]) -> None:
    mapping = [
        {**each, "no_temporal_reuse": ["W"]} if each["target"] == "RF" else each for each in MAPPING
    ]
    verdict = sm.validate(spec_with(constraint, mapping=mapping))
    assert verdict.legal, str(verdict)


REJECTED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        temporal("GLB", factors="C=4"),
        {"rule": "factor", "dimension": "C", "found": 2, "limit": 4},
        "C is 2",
    ),
    (
        temporal("RF", factors="R=3"),
        {"rule": "factor", "dimension": "R", "found": 1, "limit": 3},
        "R is 1",
    ),
    (temporal("GLB", factors="C<=1"), {"rule": "factor", "found": 2, "limit": 1}, "at most 1"),
    (temporal("GLB", factors="C<2"), {"rule": "factor", "found": 2, "limit": 2}, "less than 2"),
    (temporal("GLB", factors="C>=3"), {"rule": "factor", "found": 2, "limit": 3}, "at least 3"),
    (temporal("GLB", factors="C>2"), {"rule": "factor", "found": 2, "limit": 2}, "more than 2"),
    (temporal("GLB", factors="C!=2"), {"rule": "factor", "found": 2, "limit": 2}, "anything but 2"),
    (
        temporal("GLB", factors="C=4,2"),
        {"rule": "factor", "found": 2, "limit": "4,2"},
        "requires 4,2",
    ),
    (temporal("GLB", factors="R=2,1"), {"rule": "factor", "found": 3}, "requires 2,1"),
    (temporal("GLB", factors="P=0"), {"rule": "factor", "found": 2, "limit": 16}, "requires 16"),
    (
        spatial("GLB", factors="K=1"),
        {"rule": "factor", "found": 4, "limit": 1},
        "GLB spatial: the factor of K is 4",
    ),
    (
        temporal("GLB", permutation="CR"),
        {"rule": "permutation", "found": "R C P"},
        "requires C inside R",
    ),
    (
        temporal("GLB", permutation="P"),
        {"rule": "permutation", "found": "R C P"},
        "requires P inside R",
    ),
    (temporal("GLB", permutation="_R"), {"rule": "permutation"}, "requires C inside R"),
    (
        temporal("GLB", permutation="P*R"),
        {"rule": "permutation", "dimension": "P"},
        "requires P inside R",
    ),
    (
        spatial("GLB", permutation="PK"),
        {"rule": "permutation", "found": "K P"},
        "requires P inside K",
    ),
    (
        spatial("GLB", permutation="KPCR", split=2),
        {"rule": "split", "limit": 2, "dimension": "P"},
        "P lies along Y but has position 1;",
    ),
    (
        spatial("GLB", permutation="CKRP", split=1),
        {"rule": "split", "found": 2, "limit": 1},
        "K lies along X but has position 1;",
    ),
    (
        spatial("GLB", split=0),
        {"rule": "split", "found": 1, "limit": 0},
        "K lies along X but has position 0 or further out",
    ),
    (
        spatial("GLB", split=4),
        {"rule": "split", "found": 1, "limit": 4},
        "P lies along Y but has position 3 or further in",
    ),
    (
        spatial("GLB", permutation="P*K*C", split=2),
        {"rule": "split"},
        "P lies along Y but has position 1 or",
    ),
    (
        spatial("GLB", permutation="C*K", split=1),
        {"rule": "split"},
        "K lies along X but has position 1 or further out",
    ),
    (
        bypass("GLB", keep=["W"]),
        {"rule": "keep", "tensor": "W", "found": "bypass", "limit": "keep"},
        "bypasses W",
    ),
    (bypass("GLB", bypass=["O"]), {"rule": "bypass", "tensor": "O"}, "keeps O"),
]


@pytest.mark.parametrize(
    ("constraint", "said", "message"), REJECTED, ids=[message for _, _, message in REJECTED]
)
def test_a_mapping_that_does_not_obey_is_illegal(
    constraint: dict[str, Any], said: dict[str, Any], message: str
) -> None:
    found = [each.to_dict() for each in sm.validate(spec_with(constraint)).violations]
    about = [
        each
        for each in found
        if {key: each[key] for key in said} == said and message in each["message"]
    ]
    assert about, found
    assert about[0]["level"] == constraint["target"]


def test_more_loops_along_x_than_a_split_has_positions() -> None:
    """Neither loop offends alone: either could be the first of the two positions."""
    square = [
        (
            {**each, "factors": "K=2 C=2 P=4", "permutation": "KCPR", "split": 2}
            if each["type"] == "spatial"
            else each
        )
        for each in MAPPING
    ]
    square[0], square[1] = {**square[0], "factors": "K=4 P=2"}, {**square[1], "factors": "P=2 R=3"}
    for count, wrong in (
        (1, "the loops along X (K C) take 2 positions"),
        (4, "P lies along Y but has position 3 or further in"),
    ):
        (violation,) = sm.validate(
            spec_with(spatial("GLB", split=count), mapping=square)
        ).violations
        assert (violation.rule, wrong in violation.message) == ("split", True)
    assert sm.validate(
        spec_with(spatial("GLB", split=2), spatial("GLB", permutation="K*C"), mapping=square)
    ).legal


def test_too_little_use_of_the_array_is_a_violation_of_utilization() -> None:
    half = [
        {**each, "factors": "K=2 P=4"} if each["type"] == "spatial" else each for each in MAPPING
    ]
    half[0] = {**half[0], "factors": "K=4 P=2"}
    verdict = sm.validate(
        spec_with({"target": "RF", "type": "parallelism", "min": 0.75}, mapping=half)
    )
    (violation,) = verdict.violations
    assert (violation.rule, violation.found, violation.limit) == ("utilization", 8, 12)
    assert "8 of 16 instances (50 %)" in violation.message


def test_too_little_use_of_a_buffer_is_a_violation_of_utilization() -> None:
    buffers = [
        {**each, "min-utilization": 0.5} if each["name"] == "RF" else each
        for each in DESIGN["arch"]["storage"]
    ]
    verdict = sm.validate(spec_with(arch={**DESIGN["arch"], "storage": buffers}))
    (violation,) = verdict.violations
    assert (violation.rule, violation.level, violation.found, violation.limit) == (
        "utilization",
        "RF",
        5,
        16,
    )


def test_both_constraint_sets_hold_and_every_violation_is_listed() -> None:
    spec = spec_with(
        temporal("GLB", factors="C=4 P=4"),
        bypass("GLB", keep=["W"]),
        mapspace=[temporal("DRAM", permutation="PK")],
    )
    assert [each.rule for each in sm.validate(spec).violations] == [
        "factor",
        "factor",
        "keep",
        "permutation",
    ]


def test_hardware_and_rules_are_judged_together() -> None:
    wide = [
        {**each, "factors": "K=8 P=4"} if each["type"] == "spatial" else each for each in MAPPING
    ]
    wide[0] = {**wide[0], "factors": "P=2"}
    found = {
        each.rule
        for each in sm.validate(spec_with(spatial("GLB", factors="K<=4"), mapping=wide)).violations
    }
    assert found == {"fanout", "factor"}


def test_violations_name_the_line_of_the_mapping_and_the_rule(tmp_path: Path) -> None:
    files = []
    for name, content in (("design", DESIGN), ("map", {"mapping": MAPPING})):
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(yaml.safe_dump(content))
    files.append(tmp_path / "rules.yaml")
    files[-1].write_text(
        "architecture_constraints:\n- {target: GLB, type: temporal, factors: C=2 P=4,\n  "
        " permutation: C}\n- {target: RF, type: temporal, factors: K=2}\n- {target: GLB, type:"
        " bypass, keep: [W]}\n"
    )
    factor, permutation, unwritten, keep = sm.validate(sm.load(*files)).violations
    lines = (tmp_path / "map.yaml").read_text().splitlines()
    assert factor.location.file == permutation.location.file == keep.location.file == str(files[1])
    assert "P=2" in lines[factor.location.line - 1][factor.location.column - 1 :]
    assert "RCPK" in lines[permutation.location.line - 1]
    assert lines[keep.location.line - 1].strip() == "- W"
    assert "type: temporal" in "".join(
        lines[unwritten.location.line - 1 : unwritten.location.line + 3]
    )
    assert [each.constraint.location.line for each in (factor, permutation, unwritten, keep)] == [
        2,
        3,
        4,
        5,
    ]
    assert factor.to_dict()["constraint"] == {
        "text": "GLB temporal: factors P=4",
        "file": str(files[2]),
        "line": 2,
    }


def test_a_mapping_without_lines_shows_the_line_of_the_rule(tmp_path: Path) -> None:
    spec = spec_with()
    bare = replace(
        spec.need_mapping(),
        levels=tuple(replace(each, locations={}) for each in spec.need_mapping().levels),
    )
    file = tmp_path / "rules.yaml"
    file.write_text("architecture_constraints:\n- {target: GLB, type: temporal, factors: C=4}\n")
    (violation,) = sm.validate(sm.load(DESIGN, file), bare).violations
    assert (violation.location.file, violation.location.line) == (str(file), 2)


def test_the_terminal_shows_the_offending_lines(tmp_path: Path) -> None:
    design, constraints, mapping = (
        tmp_path / name for name in ("design.yaml", "rules.yaml", "map.yaml")
    )
    design.write_text(yaml.safe_dump(DESIGN))
    mapping.write_text(yaml.safe_dump({"mapping": MAPPING}, default_flow_style=None, width=200))
    constraints.write_text("mapspace:\n- {target: GLB, type: temporal, factors: C=4}\n")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "solver_mapper",
            "validate",
            str(design),
            str(mapping),
            str(constraints),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "[factor] GLB temporal: the factor of C is 2" in run.stdout
    assert "factors: C=2 P=2 R=3" in run.stdout
    assert "factors: C=4}" in run.stdout


def test_a_kind_of_constraint_without_a_check_is_never_passed_over() -> None:
    @dataclass(frozen=True)
    class Unheard(Constraint):
        pass

    spec = spec_with(temporal("GLB", factors="C=2"))
    spec = replace(spec, constraints=(*spec.constraints, Unheard("GLB", "GLB: unheard of")))
    with pytest.raises(TypeError, match="no check of Unheard"):
        sm.solve(spec)
