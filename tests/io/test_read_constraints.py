"""The constraint language: every form with its meaning, every error with its place."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from solver_mapper.core.constraints import (
    Comparison,
    Constraint,
    FactorConstraint,
    KeepConstraint,
    PermutationConstraint,
    ReuseConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.constraints.maximize_dims import largest_factors
from solver_mapper.io.timeloop.specification import load

SMALL = {"word-bits": 16, "entries": 64}
DESIGN: dict[str, Any] = {
    "architecture": {
        "version": 0.3,
        "subtree": [
            {
                "name": "system",
                "local": [{"name": "DRAM", "class": "DRAM"}],
                "subtree": [
                    {
                        "name": "chip",
                        "local": [{"name": "GLB", "class": "SRAM", "attributes": SMALL}],
                        "subtree": [
                            {
                                "name": "PE[0..7]",
                                "local": [
                                    {
                                        "name": "RF",
                                        "class": "regfile",
                                        "attributes": {**SMALL, "meshX": 4},
                                    },
                                    {"name": "MAC", "class": "intmac", "attributes": {"meshX": 4}},
                                ],
                            }
                        ],
                    }
                ],
            }
        ],
    },
    "problem": {
        "shape": {
            "name": "conv",
            "dimensions": ["P", "R", "K"],
            "data-spaces": [
                {"name": "I", "projection": [[["P"], ["R"]]]},
                {"name": "W", "projection": ["R", "K"]},
                {"name": "O", "projection": ["P", "K"], "read-write": True},
            ],
        },
        "instance": {"P": 16, "R": 3, "K": 8},
    },
}


def constraints(*constraints: dict[str, Any], **more: Any) -> tuple[Constraint, ...]:
    return load(
        {**DESIGN, "architecture_constraints": {"targets": list(constraints)}, **more}
    ).constraints


def temporal(**fields: Any) -> dict[str, Any]:
    return {"target": "GLB", "type": "temporal", **fields}


def spatial(**fields: Any) -> dict[str, Any]:
    return {"target": "GLB", "type": "spatial", **fields}


def keep(**fields: Any) -> dict[str, Any]:
    return {"target": "GLB", "type": "bypass", **fields}


def factor(
    dim: str, comparison: Comparison, value: int, last: int | None = None
) -> FactorConstraint:
    return FactorConstraint("GLB", "", "temporal", dim, comparison, value, last)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("P=4", [factor("P", "==", 4)]),
        ("P==4", [factor("P", "==", 4)]),
        ("P4", [factor("P", "==", 4)]),
        ("P 4", [factor("P", "==", 4)]),
        ("P = 4", [factor("P", "==", 4)]),
        ("P0", [factor("P", "==", 16)]),
        ("P=0 K 0", [factor("P", "==", 16), factor("K", "==", 8)]),
        ("P<=4", [factor("P", "<=", 4)]),
        ("P<4", [factor("P", "<", 4)]),
        ("P>=4", [factor("P", ">=", 4)]),
        ("P > 4", [factor("P", ">", 4)]),
        ("P!=4", [factor("P", "!=", 4)]),
        ("P=6,4", [factor("P", "==", 6, 4)]),
        ("P=64", [factor("P", "==", 64)]),
        (
            "P>=2 P<=4 K1 R=3",
            [
                factor("P", ">=", 2),
                factor("P", "<=", 4),
                factor("K", "==", 1),
                factor("R", "==", 3),
            ],
        ),
        ("P=2,K<=4", [factor("P", "==", 2), factor("K", "<=", 4)]),
        (["P=2", "K<=4"], [factor("P", "==", 2), factor("K", "<=", 4)]),
        (["P=6,4", "K 2"], [factor("P", "==", 6, 4), factor("K", "==", 2)]),
        ({"P": 2, "K": 0}, [factor("P", "==", 2), factor("K", "==", 8)]),
        ("P=2 # K=4", [factor("P", "==", 2)]),
        ("", []),
        ([], []),
    ],
)
def test_factors(written: Any, meant: list[Constraint]) -> None:
    assert list(constraints(temporal(factors=written))) == meant


@pytest.mark.parametrize(
    ("written", "inner", "outer", "gaps"),
    [
        ("RP", "RP", "", False),
        ("R P", "RP", "", False),
        ("RP_K", "RP", "K", False),
        ("_K", "", "K", False),
        ("R _ PK", "R", "PK", False),
        ("R*P", "RP", "", True),
        ("R*P*K", "RPK", "", True),
        ("R*P_K", "RP", "K", True),
        ("R,P", "RP", "", False),
        (["R", "P"], "RP", "", False),
        (["R", "*", "P"], "RP", "", True),
        (["R", "_", "P"], "R", "P", False),
    ],
)
def test_permutations(written: Any, inner: str, outer: str, gaps: bool) -> None:
    assert constraints(temporal(permutation=written)) == (
        PermutationConstraint("GLB", "", "temporal", tuple(inner), tuple(outer), gaps),
    )


def test_long_names_are_separated_by_commas_or_blanks() -> None:
    problem = {
        "shape": {
            "name": "mm",
            "dimensions": ["Row", "Col", "C"],
            "data-spaces": [{"name": "Z", "projection": ["Row", "Col", "C"], "read-write": True}],
        },
        "instance": {"Row": 4, "Col": 4, "C": 2},
    }
    for written in ("Col,C,_,Row", "Col C _ Row", ["Col", "C", "_", "Row"], "Col, C,_ ,Row"):
        found = constraints(
            temporal(permutation=written, factors="Row4 Col=2 C 1"), problem=problem
        )
        assert found[-1] == PermutationConstraint("GLB", "", "temporal", ("Col", "C"), ("Row",))
        assert found[:3] == (factor("Row", "==", 4), factor("Col", "==", 2), factor("C", "==", 1))


@pytest.mark.parametrize("kind", ["bypass", "bypassing", "datatype", "dataspace"])
def test_keep_and_bypass(kind: str) -> None:
    found = constraints({"target": "GLB", "type": kind, "keep": ["I", "W"], "bypass": ["O"]})
    assert found == (
        KeepConstraint("GLB", "", "I", True),
        KeepConstraint("GLB", "", "W", True),
        KeepConstraint("GLB", "", "O", False),
    )


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ({"keep": "*"}, "IWO"),
        ({"bypass": ["*"]}, ""),
        ({"keep_only": ["W"]}, "W"),
        ({"bypass_only": ["W"]}, "IO"),
        ({"keep_only": []}, ""),
        ({"bypass_only": "*"}, ""),
    ],
)
def test_keep_shorthands(written: dict[str, Any], kept: str) -> None:
    found = constraints(keep(**written))
    assert {
        constraint.tensor: constraint.keep
        for constraint in found
        if isinstance(constraint, KeepConstraint)
    } == {name: name in kept for name in "IWO"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"factors_only": ["P=4"]}, {"P": 4, "R": 1, "K": 1}),
        ({"factors_only": []}, {"P": 1, "R": 1, "K": 1}),
        ({"factors": "K=2", "factors_only": "P=4"}, {"P": 4, "R": 1, "K": 2}),
        ({"no_iteration_over_dataspaces": ["W"]}, {"R": 1, "K": 1}),
        ({"must_iterate_over_dataspaces": ["O"]}, {"R": 1}),
        ({"maximize_dims": ["P", "R"], "maximize_dims_capacity": 8}, {"P": 8, "R": 1}),
        (
            {"maximize_dims": [["R"], ["P", "K"]], "maximize_dims_capacity": 24},
            {"R": 3, "P": 8, "K": 1},
        ),
        (
            {"factors": "K=2", "maximize_dims": [["P"]], "maximize_dims_capacity": 9},
            {"K": 2, "P": 4},
        ),
    ],
)
def test_loop_shorthands(written: dict[str, Any], meant: dict[str, int]) -> None:
    found = constraints(temporal(**written))
    assert {
        constraint.dim: constraint.value
        for constraint in found
        if isinstance(constraint, FactorConstraint) and constraint.comparison == "=="
    } == meant


def test_maximize_dims_fills_the_fanout_with_what_other_rules_leave() -> None:
    found = constraints(
        spatial(maximize_dims=["P"]), {"target": "RF", "type": "temporal", "factors": "P=4"}
    )
    assert [
        constraint.value
        for constraint in found
        if isinstance(constraint, FactorConstraint) and constraint.kind == "spatial"
    ] == [4]


@pytest.mark.parametrize(
    ("bounds", "room", "factors"),
    [
        ({"R": 3, "S": 3}, 14, (3, 3)),
        ({"C": 64, "M": 64}, 256, (64, 4)),
        ({"C": 10}, 4, (2,)),
        ({"C": 10}, 0, (1,)),
        ({}, 4, ()),
    ],
)
def test_largest_factors(bounds: dict[str, int], room: int, factors: tuple[int, ...]) -> None:
    assert tuple(largest_factors(bounds, room).values()) == factors


def test_default_limits_hold_for_dimensions_without_a_limit() -> None:
    found = constraints(temporal(factors="P<=4", default_max_factor=2, default_min_factor=1))
    assert {
        (constraint.dim, constraint.comparison, constraint.value)
        for constraint in found
        if isinstance(constraint, FactorConstraint)
    } == {
        ("P", "<=", 4),
        ("R", "<=", 2),
        ("K", "<=", 2),
        ("P", ">=", 1),
        ("R", ">=", 1),
        ("K", ">=", 1),
    }


def test_split_and_switched_off_reuse() -> None:
    found = constraints(
        spatial(split=1, no_link_transfer=["I"], no_multicast_no_reduction=["O", "W"]),
        temporal(no_temporal_reuse=["W"]),
    )
    flags = (("no_multicast", "OW"), ("no_link_transfer", "I"), ("no_temporal_reuse", "W"))
    assert found == (
        SplitConstraint("GLB", "", 1),
        *(ReuseConstraint("GLB", "", flag, frozenset(tensors)) for flag, tensors in flags),
    )


@pytest.mark.parametrize("kind", ["utilization", "parallelism"])
def test_least_utilization(kind: str) -> None:
    assert constraints({"target": "RF", "type": kind, "min": 0.3}) == (
        UtilizationConstraint("RF", "", Fraction(3, 10)),
    )


@pytest.mark.parametrize(
    ("key", "origin"),
    [
        ("architecture_constraints", "architecture_constraints"),
        ("arch_constraints", "architecture_constraints"),
        ("mapspace_constraints", "mapspace_constraints"),
        ("mapspace", "mapspace_constraints"),
    ],
)
@pytest.mark.parametrize(
    "shape", ["list", "targets", "constraints", "named", "nested", "attributes"]
)
def test_every_place_and_wrapping_of_the_list(key: str, origin: str, shape: str) -> None:
    one = temporal(factors="P=4")
    value: Any = {
        "list": [one],
        "targets": {"version": 0.3, "targets": [one]},
        "constraints": {"constraints": [one]},
        "named": {
            "template": "uber",
            "constraints": "best",
            "constraints_best": [one],
            "constraints_other": [],
        },
        "nested": {
            "targets": [{"name": "GLB", "constraints": [{"type": "temporal", "factors": "P=4"}]}]
        },
        "attributes": [{"target": "GLB", "type": "temporal", "attributes": {"factors": "P=4"}}],
    }[shape]
    found = load({**DESIGN, key: value}).constraints
    assert found == (factor("P", "==", 4),)
    assert found[0].origin == origin


def test_constraints_inside_a_flat_architecture() -> None:
    arch = {
        "arithmetic": {"name": "MAC", "instances": 1},
        "storage": [{"name": "GLB", "entries": 64, "instances": 1}],
        "constraints": [temporal(factors="P=4")],
    }
    assert load({"arch": arch, "problem": DESIGN["problem"]}).constraints == (factor("P", "==", 4),)


def test_targets_by_number_from_the_inside_and_by_subtree() -> None:
    assert [
        constraint.level
        for constraint in constraints({"target": 2, "type": "temporal", "factors": "P=1"})
    ] == ["DRAM"]
    assert [
        constraint.level
        for constraint in constraints({"target": "chip", "type": "temporal", "factors": "P=1"})
    ] == ["GLB", "RF"]
    assert [
        constraint.level
        for constraint in constraints({"target": "PE", "type": "bypass", "keep": ["W"]})
    ] == ["RF"]


def test_both_sets_together_and_equal_rules_once() -> None:
    found = constraints(
        temporal(factors="P=4 K=1"),
        mapspace_constraints=[temporal(factors="P4 R=1", permutation="R")],
    )
    assert found[:3] == (factor("P", "==", 4), factor("K", "==", 1), factor("R", "==", 1))
    assert found[3:] == (PermutationConstraint("GLB", "", "temporal", ("R",)),)
    assert [constraint.origin.split("_")[0] for constraint in found] == [
        "architecture",
        "architecture",
        "mapspace",
        "mapspace",
    ]


def test_lists_under_one_key_of_several_files_are_joined() -> None:
    first, second = (
        {"mapspace_constraints": {"version": 0.3, "targets": [temporal(factors=text)]}}
        for text in ("P=4", "K=2")
    )
    assert load(DESIGN, first, second).constraints == (factor("P", "==", 4), factor("K", "==", 2))
    with pytest.raises(InputError, match="'version' of 'mapspace_constraints' is given twice"):
        load(DESIGN, first, {"mapspace_constraints": {"version": 0.4, "targets": []}})


def test_libraries_of_components_may_come_in_several_files() -> None:
    bundled = {"compound_components": {"version": 0.3, "classes": [{"name": "smartbuffer"}]}}
    assert load(DESIGN, bundled, bundled).architecture is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (temporal(factors="P=4"), temporal(factors="P=2")),
        (temporal(factors="P=4"), temporal(factors="P=4,2")),
        (temporal(permutation="RP"), temporal(permutation="PR")),
        (temporal(permutation="R"), temporal(permutation="P")),
        (temporal(permutation="_K"), temporal(permutation="_R")),
        (temporal(permutation="R_K"), temporal(permutation="K*R")),
        (spatial(split=1), spatial(split=2)),
        (keep(keep=["W"]), keep(bypass=["W"])),
        (keep(keep_only=["W"]), keep(keep=["O"])),
    ],
)
def test_contradictions_show_both_places(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any]
) -> None:
    files = []
    for name, value in (
        ("design", DESIGN),
        ("first", {"architecture_constraints": [one]}),
        ("second", {"mapspace": [other]}),
    ):
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(yaml.safe_dump(value))
    with pytest.raises(InputError, match="contradicts") as caught:
        load(*files)
    assert caught.value.file == str(tmp_path / "second.yaml")
    assert f"{tmp_path / 'first.yaml'}:" in caught.value.message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (temporal(factors="P=4"), temporal(factors="P<=2")),
        (temporal(permutation="R"), temporal(permutation="RP")),
        (temporal(permutation="R_K"), temporal(permutation="R*K")),
        (temporal(permutation="RP"), spatial(permutation="PR")),
        (temporal(factors="P=4"), {"target": "RF", "type": "temporal", "factors": "P=2"}),
    ],
)
def test_what_is_no_contradiction(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert len(constraints(one, other)) == 2


def test_rules_say_what_they_are_and_where(tmp_path: Path) -> None:
    file = tmp_path / "design.yaml"
    file.write_text(
        yaml.safe_dump(DESIGN)
        + "mapspace:\n- {target: RF, type: spatial, factors: R=1 P<=4, permutation: R_K}\n"
    )
    found = load(file).constraints
    assert [constraint.text for constraint in found] == [
        "RF spatial: factors R=1",
        "RF spatial: factors P<=4",
        "RF spatial: permutation R_K",
    ]
    lines = file.read_text().splitlines()
    columns = [lines[-1].index(text) + 1 for text in ("R=1", "P<=4", "R_K")]
    assert [(constraint.location.line, constraint.location.column) for constraint in found] == [
        (len(lines), column) for column in columns
    ]


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (temporal(factors="X=4"), "unknown dimension 'X'"),
        (temporal(factors="P=a"), "'P' has no factor"),
        (temporal(factors="P"), "'P' has no factor"),
        (temporal(factors="16"), "'16' is not a factor"),
        (temporal(factors="P=16, 5"), "', 5' is not a factor"),
        (temporal(factors="P<=0"), "'P<=0' does not limit"),
        (temporal(factors="P=4,5"), "residual"),
        (temporal(factors="P<=4,2"), "residual"),
        (temporal(factors="P=-1"), "'P' has no factor"),
        (temporal(factors="P=99999999999999999999"), "too large"),
        (temporal(factors=[["P=4"], {"X": 2}]), "unknown dimension 'X'"),
        (temporal(permutation="RX"), "unknown dimension 'X'"),
        (temporal(permutation="RPR"), "'R' stands twice"),
        (temporal(permutation="R_P_K"), "one '_' at most"),
        (temporal(permutation="R_P*"), "after '_'"),
        (temporal(permutation={"R": 1}), "a word or a list"),
        (temporal(split=1), "temporal loops lie along no axis"),
        (spatial(split=-1), "whole number"),
        (spatial(no_temporal_reuse=["W"]), "no field 'no_temporal_reuse'"),
        (temporal(no_temporal_reuse=["V"]), "unknown tensor 'V'"),
        (temporal(rmw_first_update=["O"]), "not modelled"),
        (temporal(maximize_dims=["P"]), "maximize_dims_capacity"),
        (
            temporal(factors="P=2", maximize_dims=["P"], maximize_dims_capacity=4),
            "cannot be maximized",
        ),
        (temporal(factor="P=2"), "no field 'factor'"),
        (keep(keep=["V"]), "unknown tensor 'V'"),
        ({"target": "GLC", "type": "temporal"}, "unknown level 'GLC'"),
        ({"target": 3, "type": "temporal"}, "there is no level 3"),
        ({"target": "GLB", "type": "temporl"}, "unknown type of constraint 'temporl'"),
        ({"target": "GLB"}, "lacks 'type'"),
        ({"type": "temporal"}, "lacks 'target'"),
        ({"target": "RF", "type": "utilization"}, "between 0 and 1"),
        ({"target": "RF", "type": "utilization", "min": 2}, "between 0 and 1"),
        ({"target": "RF", "type": "max_overbooked_proportion", "proportion": 0.1}, "overbooked"),
    ],
)
def test_errors(constraint: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        constraints(constraint)
    assert message in str(caught.value)


def test_constraints_need_the_architecture_and_the_problem() -> None:
    """Without the one they are refused; without the other they are left unread with a warning, and
    nothing that would obey them can be asked.
    """
    whole = {**DESIGN, "mapspace": [temporal()]}
    with pytest.raises(InputError, match="architecture"):
        load({key: value for key, value in whole.items() if key != "architecture"})
    spec = load({key: value for key, value in whole.items() if key != "problem"})
    assert [each.code for each in spec.warnings if each.code == "unread-constraints"]
    with pytest.raises(InputError, match="no problem was given"):
        spec.need_problem()
