"""What makes a mapping illegal: every violation, the level it happens at, and the arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.problem import Problem
from solver_mapper.core.results.verdict import Violation
from solver_mapper.cost.timeloop import evaluate
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.errors import InputError, SourceLocation
from tests.strategies import Case, cases, tensor

KEEP = frozenset("ABZ")
MATMUL = Problem(
    "matmul",
    ("M", "N", "K"),
    {"M": 4, "N": 6, "K": 8},
    (tensor("A", "M", "K"), tensor("B", "K", "N"), tensor("Z", "M", "N", read_write=True)),
)
MACHINE = Architecture(
    "machine",
    (Buffer("DRAM"), Buffer("GLB", 100), Buffer("RF", 24, 8, 4, 2)),
    Arithmetic("MAC", 16, 8, 2),
)
LEGAL = Mapping(
    (
        LevelMapping("DRAM", (loop("K", 8),), keep=KEEP),
        LevelMapping(
            "GLB",
            (loop("N", 3),),
            (loop("N", 2, "Y"), loop("M", 2, "X")),
            KEEP,
            locations={"spatial": SourceLocation("m.yaml", 7, 3)},
        ),
        LevelMapping(
            "RF", (loop("M", 2),), keep=KEEP, locations={"temporal": SourceLocation("m.yaml", 9, 3)}
        ),
    )
)


def with_level(name: str, **changes: Any) -> Mapping:
    return Mapping(
        tuple(replace(level, **changes) if level.level == name else level for level in LEGAL.levels)
    )


def only(mapping: Mapping, architecture: Architecture = MACHINE) -> Violation:
    (found,) = violations(architecture, MATMUL, mapping)
    return found


def machine_with(name: str, **changes: Any) -> Architecture:
    return replace(
        MACHINE,
        levels=tuple(replace(x, **changes) if x.name == name else x for x in MACHINE.levels),
    )


def test_a_mapping_that_fits_is_legal() -> None:
    assert violations(MACHINE, MATMUL, LEGAL) == ()


def test_kept_tiles_must_fit_together() -> None:
    found = only(LEGAL, machine_with("GLB", entries=33))
    assert (found.rule, found.level, found.found, found.limit) == ("capacity", "GLB", 34, 33)
    assert found.message == "GLB: the tiles of A (4), B (6) and Z (24) need 34 words; 33 fit"


def test_bypassed_tensors_take_no_room() -> None:
    assert (
        violations(machine_with("GLB", entries=28), MATMUL, with_level("GLB", keep=frozenset("AZ")))
        == ()
    )


def test_several_buffers_share_the_entries() -> None:
    found = only(LEGAL, machine_with("RF", entries=9, multiple_buffering=Fraction(2)))
    assert (found.found, found.limit, found.location.line) == (5, 4, 9)
    assert found.message.endswith("need 5 words; 4 fit (9 entries shared by 2 buffers)")


def test_a_buffer_can_ask_for_a_least_use() -> None:
    found = only(LEGAL, machine_with("RF", min_utilization=Fraction(1, 4)))
    assert (found.rule, found.found, found.limit) == ("utilization", 5, 6)


def test_spatial_loops_must_fit_below_each_instance() -> None:
    wide = with_level("GLB", temporal=(), spatial=(loop("N", 6, "X"), loop("M", 2, "X")))
    below, whole, units = violations(MACHINE, MATMUL, wide)
    assert (
        below.message
        == "GLB: its spatial loops along X (N=6 x M=2) need 12 instances of RF; 4 lie below"
        " each GLB"
    )
    assert (below.rule, below.level, below.found, below.limit, below.location.line) == (
        "fanout",
        "GLB",
        12,
        4,
        7,
    )
    assert (whole.rule, whole.level, whole.found, whole.limit) == ("fanout", "RF", 12, 4)
    assert (units.rule, units.level, units.found, units.limit) == ("fanout", "MAC", 12, 8)


def test_a_level_may_not_borrow_the_mesh_that_another_leaves_unused() -> None:
    """Along X there are 8 multipliers, but only 2 below each RF. The product of all levels alone
    would pass.
    """
    borrowed = Mapping(
        (
            LEGAL.levels[0],
            LevelMapping("GLB", (loop("N", 3), loop("M", 2)), (loop("N", 2, "Y"),), KEEP),
            LevelMapping("RF", (), (loop("M", 2, "X"),), KEEP),
        )
    )
    assert violations(MACHINE, MATMUL, borrowed) == ()
    narrow = replace(MACHINE, arithmetic=Arithmetic("MAC", 8, 4, 2))
    found = only(borrowed, narrow)
    assert (found.level, found.found, found.limit) == ("RF", 2, 1)


def test_the_factors_of_a_dimension_must_make_up_its_bound() -> None:
    found = only(with_level("DRAM", temporal=(loop("K", 4),)))
    assert (found.rule, found.dimension, found.found, found.limit) == ("factor-product", "K", 4, 8)
    assert found.message == "the factors of K (4) cover 4 iterations; the problem has 8"


def test_residual_factors_cover_what_their_last_rounds_cover() -> None:
    uneven = with_level("DRAM", temporal=(Loop("K", 3, 3), Loop("K", 3, 2)))
    assert violations(MACHINE, MATMUL, uneven) == ()
    found = only(with_level("DRAM", temporal=(Loop("K", 3, 3), Loop("K", 3, 1))))
    assert found.message == "the factors of K (3 x 3,1) cover 7 iterations; the problem has 8"


def test_a_last_round_is_not_longer_than_a_full_one() -> None:
    found = violations(MACHINE, MATMUL, with_level("DRAM", temporal=(Loop("K", 4, 8),)))[0]
    assert (found.rule, found.level, found.found, found.limit) == ("factor", "DRAM", 8, 4)


def test_a_tensor_must_be_held_somewhere() -> None:
    nowhere = Mapping(tuple(replace(level, keep=frozenset("AB")) for level in LEGAL.levels))
    found = only(nowhere)
    assert (found.rule, found.tensor) == ("bypass", "Z")
    assert (
        found.message == "Z is bypassed at every level (DRAM, GLB, RF): no level stores it for MAC"
    )


def test_levels_and_names_must_exist() -> None:
    renamed = Mapping(
        (*LEGAL.levels[:2], replace(LEGAL.levels[2], level="REG", keep=frozenset("ABX")))
    )
    found = violations(MACHINE, MATMUL, renamed)
    assert [(each.rule, each.level, each.tensor) for each in found] == [
        ("unknown-name", "REG", None),
        ("missing-level", "RF", None),
        ("unknown-name", "REG", "X"),
    ]
    stray = with_level("RF", temporal=(loop("M", 2), loop("Q", 3)))
    assert [(each.rule, each.dimension) for each in violations(MACHINE, MATMUL, stray)] == [
        ("unknown-name", "Q")
    ]


def test_levels_out_of_order_are_reported() -> None:
    (found,) = violations(MACHINE, MATMUL, Mapping(LEGAL.levels[::-1]))
    assert "outer to inner they are DRAM, GLB, RF" in found.message


def test_all_violations_are_listed() -> None:
    bad = machine_with("RF", entries=4)
    found = violations(
        replace(bad, levels=(*bad.levels[:1], replace(bad.levels[1], entries=33), bad.levels[2])),
        MATMUL,
        LEGAL,
    )
    assert [each.level for each in found] == ["GLB", "RF"]


def test_figures_of_half_a_mapping_are_refused() -> None:
    with pytest.raises(InputError, match=r"the factors of K \(4\) cover 4 iterations"):
        evaluate(MACHINE, MATMUL, with_level("DRAM", temporal=(loop("K", 4),)))


@given(cases())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_strategies_draw_is_legal_until_a_level_is_one_word_too_small(case: Case) -> None:
    assert not violations(case.architecture, case.problem, case.mapping)
    statistics = evaluate(case.architecture, case.problem, case.mapping)
    for index, level in enumerate(case.architecture.levels):
        used = sum(each.tile for each in statistics.levels[level.name].tensors.values())
        for entries, legal in ((used, True), (used - 1, used == 0)):
            small = [
                replace(x, entries=max(0, entries)) if at == index else x
                for at, x in enumerate(case.architecture.levels)
            ]
            found = violations(
                replace(case.architecture, levels=tuple(small)), case.problem, case.mapping
            )
            assert [(each.rule, each.level) for each in found] == (
                [] if legal else [("capacity", level.name)]
            )
