"""A walk that goes on below higher targets finds what a walk from the start finds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import inf
from random import Random
from typing import Any

import numpy as np
import pytest

from solver_mapper.deadline import TimeUp, running
from solver_mapper.solve.outward import outer_levels, parts, places, run
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.outward.walk import Walk
from tests.campaigns import in_campaigns
from tests.solve.test_bounds_on_the_way import (
    drawn_architecture,
    drawn_problem,
    walk_of,
    with_networks,
    with_slow_levels,
)

CLOSE = 1e-9
MOST = 60_000
"""Inner mappings of a walk, at most."""


def drawn_walk(seed: int) -> Walk:
    random = Random(seed)
    problem, architecture = drawn_problem(random), drawn_architecture(random)
    more = random.choice([None, None, with_slow_levels, with_networks])
    architecture = more(seed, architecture) if more else architecture
    return walk_of(problem, architecture, random.choice(["energy", "edp"]))


class Impatient:
    """A clock that is over after so many looks at it, on average."""

    def __init__(self, random: Random, often: int):
        self._random, self._often = random, often

    def check(self) -> None:
        """Raises: TimeUp if it is."""
        if not self._random.randrange(self._often):
            raise TimeUp


def ended_early(random: Random, walk: Walk, target: float, least: float, last: float) -> Ends:
    """A walk that goes on, and may be interrupted, or have its target lowered."""
    how = {"examined": random.choice([20, 500, inf]), "lowest": random.choice([inf, least / 2])}
    with running(Impatient(random, random.choice([5, 20, 5000]))):
        return walk.further(target, last=last, **how)


def wrong(seed: int) -> list[str]:
    """What is not as a walk from the start says."""
    random, walk, other = Random(seed), drawn_walk(seed), drawn_walk(seed)
    whole = walk.ends(inf, examined=MOST)
    if not whole.whole or not whole.mappings or not whole.least:
        return []
    least, found = float(whole.least), list[str]()
    last = least * random.choice([1.001, 1.2, 3.0])
    target, proven = 0.0, -inf
    while target < last:
        target = min(max(target, least / 4) * random.choice([1.02, 1.3, 2.0]), last)
        ends = ended_early(random, other, target, least, last)
        if not ends.whole or ends.target is not None:
            if ends.least is not None and float(ends.least) > least * (1 + CLOSE):
                found.append(f"{ends.least} is no bound of {least}")
            if not ends.mappings:
                ends = other.further(target, last=last)
        bound = float(ends.least or -inf)
        if bound < proven * (1 - CLOSE) or bound > least * (1 + CLOSE):
            found.append(f"bounds {proven}, {bound} of {least}")
        proven = bound
        if ends.mappings:
            if bound != pytest.approx(least, rel=CLOSE):
                found.append(f"{bound} arrives for {least}")
            return found
        if target > least * (1 + CLOSE):
            return [*found, f"nothing arrives below {target}, for {least}"]
    return [*found, f"nothing arrives below {last}, for {least}"]


@pytest.mark.parametrize("first", [0, *in_campaigns(range(4, 1600, 4))])
def test_a_walk_that_goes_on_ends_as_one_from_the_start(first: int) -> None:
    """Also if it is interrupted on the way, or its target lowered."""
    assert not {seed: found for seed in range(first, first + 4) if (found := wrong(seed))}


@pytest.mark.parametrize("most", [30, 200])
@pytest.mark.parametrize("first", [1600, *in_campaigns(range(1604, 2000, 4))])
def test_it_ends_alike_if_few_inner_mappings_are_kept(
    first: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is given up comes again when the walk begins anew; or the walk tells that it is not
    whole.
    """
    monkeypatch.setattr(run, "MOST_STORED", most)
    for seed in range(first, first + 4):
        walk = drawn_walk(seed)
        whole = walk.ends(inf, examined=MOST)
        if not whole.whole or not whole.mappings or not whole.least:
            continue
        least = float(whole.least)
        for share in (0.5, 0.8, 0.95, 1.01):
            ends = walk.further(share * least)
            if ends.whole:
                assert float(ends.least or 0) == pytest.approx(min(share, 1.0) * least, rel=CLOSE)
                assert bool(ends.mappings) == (share > 1)
            else:
                assert float(ends.least or 0) <= least * (1 + CLOSE)


@pytest.mark.parametrize("error", [MemoryError, ValueError])
@pytest.mark.parametrize("first", [2000, *in_campaigns(range(2004, 2200, 4))])
def test_what_an_error_interrupts_is_not_held_to_be_done(
    first: int, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever memory ends: the next walk finds what one from the start finds."""
    looked = 0
    for seed in range(first, first + 4):
        random, walk = Random(seed), drawn_walk(seed)
        whole = walk.ends(inf, examined=MOST)
        if not whole.whole or not whole.mappings or not whole.least:
            continue
        least, real = float(whole.least), parts.promising

        def failing(*args: Any, **how: Any) -> Any:
            if not random.randrange(4):  # noqa: B023
                raise error
            return real(*args, **how)  # noqa: B023

        walk.further(least / 2)
        with monkeypatch.context() as patch, suppress(error):
            patch.setattr(parts, "promising", failing)
            walk.further(least * 1.01)
            continue
        ends = walk.further(least * 1.01)
        assert ends.whole and ends.mappings
        assert float(ends.least or 0) == pytest.approx(least, rel=CLOSE)
        looked += 1
    assert looked


def test_a_walk_without_tables_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even when it is asked again."""
    walk = drawn_walk(0)
    monkeypatch.setattr(outer_levels, "MOST_FIGURES", 0)
    for target in (1.0, inf):
        with pytest.raises(ValueError, match="too many tiles"):
            walk.further(target)


def test_rows_that_are_given_up_tell_what_they_needed() -> None:
    walk = drawn_walk(0)
    first = run.empty(walk.costs)
    found = places.Places(first.take(slice(0, 0)), horizon=5.0)
    for needed in (3.0, 4.0, 7.0):
        found.wait(("here",), replace(first, least=np.array([needed])))
    assert found.beyond == 3.0
    _, waited = found.taken(("here",), [], target=3.5)
    assert len(waited) == 1 and found.beyond == 4.0
    found.forget(2.0)
    assert found.beyond == 4.0 and not found.any_at(("here",))


@pytest.mark.parametrize("first", [0, *in_campaigns([4])])
def test_what_was_done_is_not_done_again(first: int) -> None:
    """Walks below rising targets examine hardly more, all together, than one below the last."""
    looked = 0
    for seed in range(first, first + 4):
        walk = drawn_walk(seed)
        whole = walk.ends(inf, examined=MOST)
        if not whole.whole or not whole.mappings or not whole.least:
            continue
        last = float(whole.least) * 1.01
        at_once = drawn_walk(seed).ends(last).examined
        rising = [walk.further(share * last) for share in (0.9, 0.95, 0.98, 1.0)]
        assert rising[-1].mappings and rising[-1].in_all <= 1.1 * at_once
        assert sum(each.examined for each in rising) < 2 * at_once
        looked += at_once > 100
    assert looked
