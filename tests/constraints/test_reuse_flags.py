"""Reuse that constraints switch off is a property of the hardware: it applies to every mapping,
whatever that says itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper import constraints
from tests.constraints.designs import MAPPING, bypass, spatial, spec_with, temporal

SHARED = [
    temporal("DRAM", factors="K=2 P=2"),
    temporal("GLB", factors="C=4 P=2 R=3"),
    spatial("GLB", factors="K=4 P=4", permutation="KPCR", split=1),
    bypass("GLB", bypass=["W"]),
]
"""The units along X want the same inputs, those along Y the same weights; neighbours along Y share
windows of inputs.
"""
SPELLINGS: list[tuple[str, str, list[str]]] = [
    ("spatial", "no_multicast_no_reduction", ["no_multicast"]),
    ("spatial", "no_reuse", ["no_multicast"]),
    ("spatial", "no_link_transfer", ["no_link_transfer"]),
    ("temporal", "no_temporal_reuse", ["no_temporal_reuse"]),
    ("temporal", "no_reuse", ["no_temporal_reuse"]),
]


def words_of(statistics: Any) -> int:
    """Words of I that leave GLB."""
    return int(statistics.levels["GLB"].tensors["I"].reads)


@pytest.mark.parametrize(("kind", "key", "flags"), SPELLINGS)
def test_a_flag_applies_to_a_mapping_that_does_not_list_it(
    kind: str, key: str, flags: list[str]
) -> None:
    """As if the mapping listed it: equal figures, no violation."""
    mark = {key: ["I"]}
    constraint = spatial("GLB", **mark) if kind == "spatial" else temporal("RF", **mark)
    under = spec_with(constraint, mapping=SHARED)
    merged = [
        each | mark if (each["target"], each["type"]) == ("GLB", kind) else each for each in SHARED
    ]
    listed = spec_with(mapping=merged if kind == "spatial" else [*SHARED, temporal("RF", **mark)])
    plain = spec_with(mapping=SHARED)
    assert sm.validate(under).legal
    assert sm.evaluate(under) == sm.evaluate(listed)
    level = next(each for each in under.need_mapping().levels if each.level == constraint["target"])
    assert all(getattr(level, flag) == {"I"} for flag in flags)
    assert sm.evaluate(under, plain.mapping) == sm.evaluate(listed), "a mapping given in Python"
    assert sm.validate(under, plain.mapping).legal


def test_a_network_without_multicast_carries_each_copy() -> None:
    """Four units along X share each word of I: 4 times the words leave GLB without multicast."""
    plain = sm.evaluate(spec_with(mapping=SHARED))
    under = sm.evaluate(
        spec_with(
            spatial("GLB", no_multicast_no_reduction=["I"], no_link_transfer=["I"]), mapping=SHARED
        )
    )
    linked = sm.evaluate(spec_with(spatial("GLB", no_link_transfer=["I"]), mapping=SHARED))
    assert words_of(plain) <= words_of(linked) < words_of(under) == 4 * 8 * 3 * 16, (
        "one for each MAC"
    )


def test_rules_from_python_apply_too() -> None:
    spec = spec_with(mapping=SHARED)
    added = constraints.add(spec, constraints.no_multicast("GLB", "I"))
    assert sm.validate(spec, constraints=constraints.no_multicast("GLB", "I")).legal
    assert sm.evaluate(added) == sm.evaluate(
        spec_with(spatial("GLB", no_multicast_no_reduction=["I"]), mapping=SHARED)
    )


def test_what_a_mapping_switches_off_itself_stays_off() -> None:
    own = [
        {**each, "no_link_transfer": ["W"]} if each["type"] == "spatial" else each
        for each in MAPPING
    ]
    spec = spec_with(spatial("GLB", no_link_transfer=["I"]), mapping=own)
    assert spec.need_mapping().levels[1].no_link_transfer == {"I", "W"}


def test_a_search_begins_with_the_given_mapping_under_such_a_flag() -> None:
    solution = sm.solve(
        spec_with(spatial("GLB", no_multicast_no_reduction=["I"])), "delay", time_limit=20
    )
    assert "the search began with the given mapping" in solution.certificate.checks


def test_levels_of_other_names_are_left_alone() -> None:
    spec = spec_with(spatial("GLB", no_multicast_no_reduction=["I"]))
    other = replace(spec.need_mapping(), levels=spec.need_mapping().levels[:1])
    assert other.levels[0].no_multicast == frozenset()
