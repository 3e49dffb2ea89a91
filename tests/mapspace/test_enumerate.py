"""`enumerate` against trying every mapping: it yields the legal ones, each once, and ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper import constraints
from solver_mapper.core.mapping import Mapping
from solver_mapper.io import bundled
from solver_mapper.mapspace.size import counter as tally
from tests.constraints.designs import DESIGN, spatial, spec_with, temporal
from tests.mapspace.all_mappings import every_legal, small_specs


def shape(mapping: Mapping) -> Mapping:
    """The mapping with its loops in the order of their names."""
    return replace(
        mapping,
        levels=tuple(
            replace(
                level,
                temporal=tuple(sorted(level.temporal, key=str)),
                spatial=tuple(sorted(level.spatial, key=str)),
            )
            for level in mapping.levels
        ),
    )


def compare(seeds: range, most: int = 100) -> int:
    """How many mappings were listed."""
    count = 0
    for seed, spec in small_specs(seeds, most):
        groups = [group for groups in every_legal(spec) for group in groups]
        listed = list(sm.enumerate(spec))
        assert len(set(listed)) == len(listed), seed
        assert set(listed) == {mapping for group in groups for mapping in group}, seed
        single = list(sm.enumerate(spec, orders=False))
        assert len({shape(mapping) for mapping in single}) == len(single) == len(groups), seed
        assert set(single) <= set(listed), seed
        count += len(listed)
    return count


def test_every_legal_mapping_comes_once() -> None:
    assert compare(range(30)) > 1000


@pytest.mark.campaign
def test_every_legal_mapping_comes_once_in_two_thousand_designs() -> None:
    assert compare(range(1000, 3000), 300) > 100_000


def test_the_solver_lists_the_same_where_tiles_are_too_many_to_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed, spec in small_specs(range(200, 230), 20):
        counted = [
            set(sm.enumerate(spec)),
            {shape(each) for each in sm.enumerate(spec, orders=False)},
        ]
        with monkeypatch.context() as patched:
            patched.setattr(tally, "MOST_TILES", 0)
            solved = [
                set(sm.enumerate(spec)),
                {shape(each) for each in sm.enumerate(spec, orders=False)},
            ]
        assert solved == counted, seed


def test_a_limit_ends_the_list() -> None:
    assert len(list(sm.enumerate(spec_with(), limit=7))) == 7
    assert list(sm.enumerate(spec_with(), limit=0)) == []


def test_the_caller_may_stop() -> None:
    """Of a space of 10^13 mappings the first come at once, one after the other."""
    spec = sm.load(*bundled.resolve("three_level", "resnet50/conv1"))
    assert isinstance(spec, sm.Spec)
    mappings = sm.enumerate(spec)
    first = list(islice(mappings, 50))
    assert len(set(first)) == 50 and next(mappings) not in first
    assert all(sm.validate(spec, mapping).legal for mapping in first)


def test_an_empty_space_has_no_mappings() -> None:
    assert list(sm.enumerate(spec_with(spatial("GLB", factors="P=16 K=8")))) == []


def few(*constraints: dict[str, object]) -> Iterator[Mapping]:
    fixed = [
        temporal("DRAM", factors="C=1 K=1 R=1 P=1"),
        temporal("GLB", factors="C=1 R=1 K=2"),
        spatial("GLB", factors="C=1 R=1 K=4"),
    ]
    holds = [
        {"target": level, "type": "bypass", "keep": ["I", "O", "W"]} for level in ("GLB", "RF")
    ]
    return sm.enumerate(spec_with(*fixed, *holds, *constraints))


def test_orders_that_change_no_figure_count_as_different() -> None:
    """Nothing but R, C and P may be in the register file: 3 x 2 orders there; all have the same
    figures but come apart.
    """
    spec, mappings = (
        spec_with(),
        list(
            few(
                temporal("RF", factors="C=4 R=3 P=2 K=1"),
                temporal("GLB", factors="P=2"),
                spatial("GLB", factors="P=4"),
            )
        ),
    )
    assert {mapping.levels[2].temporal for mapping in mappings} and len(mappings) == len(
        set(mappings)
    )
    statistics = {str(sm.evaluate(spec, mapping).to_dict()) for mapping in mappings}
    assert len(statistics) < len(mappings)


def test_caps_on_figures_are_kept() -> None:
    constraints = (temporal("RF", factors="C=4 R=3 K=1"),)
    free = list(few(*constraints))
    cycles = sorted({sm.evaluate(spec_with(), mapping).cycles for mapping in free})
    assert len(cycles) > 1
    capped = list(few(*constraints, {"metrics": {"cycles": f"<= {cycles[0]}"}}))
    assert set(capped) == {
        mapping for mapping in free if sm.evaluate(spec_with(), mapping).cycles == cycles[0]
    }


def test_rules_from_python_hold_everywhere() -> None:
    """`enumerate`, `space` and `suggest` take the same constraints as `solve`."""
    spec, wanted = (
        spec_with(),
        (constraints.temporal("RF", "C") == 4) & constraints.bypass("GLB", "O"),
    )
    assert all(
        sm.validate(spec, mapping, constraints=wanted).legal
        for mapping in sm.enumerate(spec, 100, orders=False, constraints=wanted)
    )
    assert sm.space(spec, constraints=wanted).legal.mappings < sm.space(spec).legal.mappings
    suggestion = sm.suggest(spec, constraints=wanted)
    assert (
        suggestion.mapping is not None
        and sm.validate(spec, suggestion.mapping, constraints=wanted).legal
    )


def test_wrong_arguments_are_refused_at_once() -> None:
    with pytest.raises(sm.InputError, match="limit is -1; it must be at least 0"):
        sm.enumerate(spec_with(), limit=-1)
    with pytest.raises(sm.InputError, match="no problem was given"):
        sm.enumerate(sm.load({"arch": DESIGN["arch"]}))
    folder = Path(__file__).parents[1] / "data" / "looptree" / "mm_single_01"
    with pytest.raises(sm.InputError, match="listing LoopTree mappings is not supported"):
        sm.enumerate(sm.load(folder / "case.yaml"))
