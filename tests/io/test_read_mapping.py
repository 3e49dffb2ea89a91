"""Mappings are read as Timeloop means them, and written so that they read back equal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.timeloop.factor_grammar import read_factors
from solver_mapper.io.timeloop.specification import load
from solver_mapper.io.yaml.source import Scalar

DATA = Path(__file__).parents[1] / "data" / "timeloop"
DESIGN: dict[str, Any] = {
    "arch": {
        "arithmetic": {"name": "MAC", "instances": 8, "meshX": 4},
        "storage": [
            {"name": "RF", "entries": 64, "instances": 8, "meshX": 4},
            {"name": "GLB", "entries": 1024, "instances": 1},
            {"name": "DRAM", "technology": "DRAM", "instances": 1},
        ],
    },
    "problem": {"shape": "gemm-ABZ", "instance": {"M": 16, "N": 8, "K": 4}},
}


def read(*directives: dict[str, Any]) -> Mapping:
    return load({**DESIGN, "mapping": list(directives)}).need_mapping()


def temporal(**more: Any) -> dict[str, Any]:
    return {"target": "GLB", "type": "temporal", **more}


def spatial(**more: Any) -> dict[str, Any]:
    return {"target": "GLB", "type": "spatial", **more}


@pytest.mark.parametrize(
    "factors",
    [
        "M=4 K=2",
        "M 4 K 2",
        "M4 K2",
        "M==4,K=2",
        "M=4; K = 2",
        "M4,K2 # N=8",
        ["M=4", "K=2"],
        {"M": 4, "K": 2},
    ],
)
def test_every_spelling_of_a_factor_means_the_same(factors: Any) -> None:
    assert read(temporal(factors=factors, permutation="KMN")).levels[1].temporal == (
        loop("M", 4),
        loop("K", 2),
    )


@pytest.mark.parametrize("permutation", ["NK M", "N,K,M", ["N", "K", "M"], "NK", "N K"])
def test_permutations_run_from_the_inside_and_end_in_declaration_order(permutation: Any) -> None:
    loops = read(temporal(factors="M=2 N=2 K=2", permutation=permutation)).levels[1].temporal
    assert "".join(each.dim for each in loops) == "MKN"


def test_zero_is_the_whole_bound() -> None:
    assert read(temporal(factors="M=0")).levels[1].temporal == (loop("M", 16),)


@pytest.mark.parametrize("dim", ["é", "Größe", "a٣", "null", "y", "x1", "_x"])
def test_names_of_dimensions_in_any_alphabet_read_back(dim: str) -> None:
    tensor = {"name": "Z", "projection": [[[dim]], [["K"]]], "read-write": True}
    shape = {"name": "any", "dimensions": [dim, "K"], "data-spaces": [tensor]}
    problem = {"shape": shape, "instance": {dim: 16, "K": 4}}
    design = {**DESIGN, "problem": problem}
    factors = f"K=2,{dim}=16, K=2"
    mapping = load({**design, "mapping": [temporal(factors=factors)]}).need_mapping()
    assert [each.dim for each in mapping.loops()] == ["K", dim]
    again = load({**design, **yaml.safe_load(mapping.to_yaml())}).need_mapping()
    assert again == mapping


def test_residual_factors_keep_their_last_round() -> None:
    mapping = load(DATA / "c12_matmul_residual_temporal.yaml").need_mapping()
    assert set(mapping.levels[2].temporal) == {Loop("M", 4, 2), Loop("N", 1, 1), Loop("K", 4, 3)}
    assert not mapping.perfect


def test_split_counts_positions_of_the_full_permutation() -> None:
    level = read(spatial(factors="M=2 K=2", permutation="KNM", split=2)).levels[1]
    assert level.spatial == (loop("M", 2, "Y"), loop("K", 2, "X"))
    assert {each.axis for each in read(spatial(factors="M=2 K=2")).levels[1].spatial} == {"X"}


def test_levels_that_are_not_mentioned_have_no_loops_and_keep_everything() -> None:
    level = read(temporal(factors="M=0")).levels[2]
    assert (level.temporal, level.spatial, level.keep) == ((), (), {"A", "B", "Z"})


@pytest.mark.parametrize("kind", ["bypass", "datatype", "dataspace"])
def test_keep_and_bypass(kind: str) -> None:
    mapping = read({"target": "RF", "type": kind, "keep": ["A"], "bypass": ["Z"]})
    assert mapping.levels[2].keep == {"A", "B"}


def test_targets_may_count_levels_from_the_inside() -> None:
    assert read({"target": 0, "type": "bypass", "bypass": ["A"]}).levels[2].keep == {"B", "Z"}


def test_flags_are_kept_apart_by_kind() -> None:
    level = read(
        temporal(no_temporal_reuse=["A"]),
        spatial(no_link_transfer=["B"], no_multicast_no_reduction=["Z"]),
    ).levels[1]
    assert (level.no_temporal_reuse, level.no_link_transfer, level.no_multicast) == (
        {"A"},
        {"B"},
        {"Z"},
    )


def test_directives_remember_where_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "design.yaml"
    file.write_text(yaml.safe_dump({**DESIGN, "mapping": [spatial(), temporal()]}, sort_keys=False))
    level = load(file).need_mapping().levels[1]
    lines = file.read_text().splitlines()
    assert lines[level.location("temporal").line - 1].strip().startswith("- target")  # type: ignore[operator]
    assert level.location("spatial").line < level.location("temporal").line  # type: ignore[operator]


@pytest.mark.parametrize(
    "name", ["c12_matmul_residual_temporal", "c20_eyeriss_vgg", "c30_tree_arch_ert"]
)
def test_written_mappings_read_back_equal(name: str) -> None:
    file = DATA / f"{name}.yaml"
    mapping = load(file).need_mapping()
    text = mapping.to_yaml()
    again = load(
        {**yaml.safe_load(file.read_text()), "mapping": yaml.safe_load(text)["mapping"]}
    ).need_mapping()
    assert again == mapping
    assert again.to_yaml() == text


def test_written_form() -> None:
    mapping = read(
        temporal(factors="M=4 K=3,1", permutation="KMN"),
        spatial(factors="M=2 N=2", permutation="NMK", split=1),
        {"target": "RF", "type": "bypass", "bypass": ["B"]},
    )
    assert mapping.to_yaml().splitlines()[8:] == [
        "- target: GLB",
        "  type: bypass",
        "  keep: [A, B, Z]",
        "  bypass: []",
        "- target: GLB",
        "  type: temporal",
        '  factors: "M=4 K=3,1"',
        "  permutation: KMN",
        "- target: GLB",
        "  type: spatial",
        "  factors: M=2 N=2",
        "  permutation: NMK",
        "  split: 1",
        "- target: RF",
        "  type: bypass",
        "  keep: [A, Z]",
        "  bypass: [B]",
        "- target: RF",
        "  type: temporal",
        "  permutation: MNK",
    ]


@given(
    st.lists(
        st.tuples(
            st.permutations("MNK"),
            st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=3),
            st.permutations("MNK"),
            st.lists(st.integers(1, 9), max_size=3),
            st.integers(0, 3),
            st.frozensets(st.sampled_from("ABZ")),
            st.frozensets(st.sampled_from("ABZ")),
        ),
        min_size=3,
        max_size=3,
    )
)
def test_any_mapping_survives_writing_and_reading(parts: list[Any]) -> None:
    levels = []
    for name, (order, bounds, across, spread, split, keep, flags) in zip(
        ("DRAM", "GLB", "RF"), parts, strict=True
    ):
        inner = tuple(
            Loop(dim, max(pair), min(pair)) for dim, pair in zip(order, bounds, strict=False)
        )
        space = tuple(
            loop(dim, size, "X" if index < split else "Y")
            for index, (dim, size) in enumerate(zip(across, spread, strict=False))
        )
        levels.append(
            LevelMapping(
                name, inner, space[::-1], keep, no_temporal_reuse=flags, no_link_transfer=keep
            )
        )
    mapping = Mapping(tuple(levels), ("M", "N", "K"), ("A", "B", "Z"))
    assert read(*yaml.safe_load(mapping.to_yaml())["mapping"]) == mapping


def timeloop_reads(text: str, dims: str) -> list[tuple[Any, ...]]:
    """Timeloop v3.0.3's own reading of directives (mapping/parser.cpp), restated: factors by a
    search for its regular expression, permutations letter by letter, `split` over all positions.
    """
    found: list[tuple[Any, ...]] = []
    for directive in yaml.safe_load(text)["mapping"]:
        if directive["type"] == "bypass":
            found.append(
                (directive["target"], sorted(directive["keep"]), sorted(directive["bypass"]))
            )
            continue
        matches = re.findall(
            r"([A-Za-z]+)\s*=*\s*([0-9]+)(?:,([0-9]+))?", directive.get("factors", "")
        )
        factors = {dim: (int(end), int(last or end)) for dim, end, last in matches}
        order = [letter for letter in directive["permutation"] if letter != " "]
        assert sorted(order) == sorted(dims)
        axes = [
            "" if directive["type"] == "temporal" else "X" if index < directive["split"] else "Y"
            for index in range(len(order))
        ]
        found.append(
            (
                directive["target"],
                [
                    (dim, *factors[dim], axis)
                    for dim, axis in zip(order, axes, strict=True)
                    if dim in factors
                ],
            )
        )
    return found


@pytest.mark.parametrize(
    "name", ["c12_matmul_residual_temporal", "c20_eyeriss_vgg", "c30_tree_arch_ert"]
)
def test_timeloop_reads_what_is_written(name: str) -> None:
    mapping = load(DATA / f"{name}.yaml").need_mapping()
    expected: list[tuple[Any, ...]] = []
    for level in mapping.levels:
        expected.append(
            (level.level, sorted(level.keep), sorted(set(mapping.tensors) - level.keep))
        )
        for loops in (level.temporal, level.spatial):
            if loops or loops is level.temporal:
                expected.append(
                    (
                        level.level,
                        [(each.dim, each.bound, each.last, each.axis) for each in reversed(loops)],
                    )
                )
    assert timeloop_reads(mapping.to_yaml(), "".join(mapping.dims)) == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["M", "N", "K"]),
            st.sampled_from(["=", "==", "<=", "<", ">=", ">", "!="]),
            st.integers(1, 99),
            st.sampled_from(["", " ", "  "]),
            st.sampled_from([" ", ", ", "; ", " ,"]),
        ),
        max_size=6,
    )
)
def test_factors_are_told_apart_whatever_stands_between_them(
    items: list[tuple[str, str, int, str, str]],
) -> None:
    text = "".join(
        f"{dim}{blank}{sign}{blank}{value}{between}" for dim, sign, value, blank, between in items
    ).rstrip(" ,;")
    found = read_factors(Scalar(text, SourceLocation("x", 1, 1)), {"M": 16, "N": 8, "K": 4})
    assert [(each.dim, each.comparison, each.value) for each in found] == [
        (dim, "==" if sign == "=" else sign, value) for dim, sign, value, _, _ in items
    ]


def test_what_timeloop_cannot_say_is_not_written() -> None:
    twice = Mapping((LevelMapping("GLB", (loop("M", 2), loop("K", 2), loop("M", 2))),))
    crossed = Mapping((LevelMapping("GLB", (), (loop("M", 2, "X"), loop("K", 2, "Y"))),))
    for mapping in (twice, crossed):
        with pytest.raises(InputError, match="Timeloop's notation"):
            mapping.to_yaml()
