"""Bounds that choose loops side by side with the tiles that they lead to."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from random import Random

import numpy as np
import pytest

from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import Constraints
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.solve.outward import remaining, spread_ahead
from solver_mapper.solve.outward.ahead import Ahead
from solver_mapper.solve.outward.aim import Aim, least_cycles, rank
from solver_mapper.solve.outward.inner import InnerMappings, Outside
from solver_mapper.solve.outward.moves.empty import empty
from solver_mapper.solve.outward.moves.move import Move, Moves
from solver_mapper.solve.outward.moves.stores import hold
from solver_mapper.solve.outward.moves.temporal_loops import repeat
from solver_mapper.solve.outward.remaining import least_rank
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.outward.sliding import Sliding
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.solve.test_bounds_on_the_way import (
    drawn_problem,
    walk_of,
    with_networks,
    with_slow_levels,
)
from tests.strategies import each_word, tensor

BEHIND = Outside(2, 2)
MOST = 10_000
"""Inner mappings that a walk may examine without ways to spread."""


def small_outer_buffer(room: int | None, objective: str = "energy") -> Walk:
    """A product on a buffer with some room above 4 x 4 elements with registers of 3 words."""
    sizes = {"M": 8, "N": 8, "K": 8}
    tensors = (
        tensor("A", "M", "K"),
        tensor("B", "K", "N"),
        tensor("Z", "M", "N", read_write=True),
    )
    levels = (
        Buffer("DRAM", None, 1, 1, 1, energy=each_word(100)),
        Buffer("Shared", room, 1, 1, 1, energy=each_word(2)),
        Buffer("Registers", 3, 16, 4, 4, energy=each_word(0)),
    )
    units = Arithmetic("MAC", 16, 4, 4, energy=Fraction(0), leak=Fraction(0))
    architecture = Architecture("small outer buffer", levels, units)
    problem = Problem("product", tuple(sizes), sizes, tensors)
    goal = parse_objective(objective).goals[0]
    return Walk(EnumeratedMapspace(architecture, problem, Constraints()), goal)


def held_by_registers(walk: Walk) -> InnerMappings:
    """The inner mapping whose registers hold one word of each tensor."""
    moves = Moves()
    rows = hold(walk.costs, empty(walk.costs), 2, moves)
    (most,) = (each for each in rows if moves[int(each.move[0])].holds == 7)
    return most


def least_both(walk: Walk) -> tuple[float, float]:
    """Least ranks of registers with a word of each tensor: without ways to spread, and with."""
    rows, aim = held_by_registers(walk), Aim(walk.goal, walk.latency, inf)
    cycles = least_cycles(walk.costs, walk.latency, rows, BEHIND)
    energy = Ahead(walk.outer, rows, BEHIND).together()
    without = rank(walk.costs, aim, cycles, energy)
    return float(without[0]), float(least_rank(walk.spread_ahead, aim, rows, BEHIND)[0])


def test_larger_tiles_are_told_from_small_ones():
    """A buffer has room for the words of one element each way to spread, but not for all sixteen
    elements' of three tensors.
    """
    without, found = least_both(small_outer_buffer(12))
    assert found > without * 1.2
    without, found = least_both(small_outer_buffer(None))
    assert found == pytest.approx(without)


def test_units_that_a_way_to_spread_leaves_idle_take_time():
    """With room for three words, sixteen elements have to share words of DRAM, or wait."""
    energy = least_both(small_outer_buffer(3))
    product = least_both(small_outer_buffer(3, "edp"))
    fewest_cycles = 8 * 8 * 8 // 16
    assert product[0] == pytest.approx(energy[0] * fewest_cycles)
    assert product[1] >= energy[1] * fewest_cycles * (1 - 1e-9)


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0, 1.1, 2.0])
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_below_a_target_figures_are_those_without_one(objective: str, share: float):
    """And what leads to none below the target has no figures below it."""
    walk = small_outer_buffer(20, objective)
    rows, moves = held_by_registers(walk), Moves()
    for dim in range(3):
        move = Move(1, dim, 2)
        larger = repeat(walk.costs, rows, move, moves.number(move))
        whatever = least_rank(walk.spread_ahead, Aim(walk.goal, walk.latency, inf), larger, BEHIND)
        aim = Aim(walk.goal, walk.latency, float(whatever[0]) * share)
        ranks = least_rank(walk.spread_ahead, aim, larger, BEHIND)
        if share > 1:
            assert ranks == pytest.approx(whatever)
        else:
            assert (ranks >= aim.target * (1 - 1e-9)).all() and (
                ranks <= whatever * (1 + 1e-9)
            ).all()


def test_few_rows_tell_whether_all_are_looked_at(monkeypatch):
    walk = small_outer_buffer(12)
    whole = walk.ends(1e6)
    monkeypatch.setattr(remaining, "SAMPLE", 1)
    assert small_outer_buffer(12).ends(1e6).least == whole.least
    monkeypatch.setattr(remaining, "WORTH", -1.0)
    fewer = small_outer_buffer(12).ends(float(whole.least or 0) * 1.01)
    monkeypatch.setattr(remaining, "WORTH", 2.0)
    more = small_outer_buffer(12).ends(float(whole.least or 0) * 1.01)
    assert fewer.least == more.least
    assert fewer.examined < more.examined


def test_too_many_ways_are_not_looked_at(monkeypatch):
    walk = small_outer_buffer(12)
    best = walk.ends(inf)
    monkeypatch.setattr(spread_ahead, "MOST_WAYS", 1)
    other = small_outer_buffer(12)
    assert not other.spread_ahead.blocks(BEHIND)
    assert other.ends(inf).least == best.least
    assert np.isfinite(float(best.least or 0))


def without_ways(walk: Walk, target: float) -> Ends:
    """The ends of a walk that does not look at ways to spread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk.spread_ahead, "blocks", lambda outside: [])
        return walk.ends(target, examined=MOST)


def drawn_small_buffers(random: Random) -> Architecture:
    """One or two shared buffers of a few words above one or two meshes, with a word or more in the
    elements of each.
    """
    x = y = 1
    rooms: list[tuple[int | None, int, int]] = [(None, 1, 1)]
    rooms += [(random.choice([4, 8, 16, 32, 64]), 1, 1) for _ in range(random.choice([1, 2]))]
    for _ in range(random.choice([1, 1, 2])):
        x *= random.choice([2, 3, 4, 4, 8])
        y *= random.choice([1, 1, 2, 3, 4])
        rooms.append((random.choice([1, 2, 3, 4, 8, 16]), x, y))
    levels = tuple(
        Buffer(f"L{number}", room, x * y, x, y, energy=each_word(random.choice(price)))
        for number, ((room, x, y), price) in enumerate(
            zip(rooms, [(50, 200), *[(1, 2, 5)] * 2, *[(0, 0.1, 0.5)] * 2], strict=False)
        )
    )
    units = Arithmetic("MAC", x * y, x, y, energy=Fraction(0), leak=Fraction(0))
    return Architecture("small buffers", levels, units)


def lost_by_ways_to_spread(seed: int) -> list[str]:
    """Best claims of a random design with small buffers, some of them slow or on networks that
    charge, that a walk misses which looks at ways to spread.
    """
    random = Random(seed)
    problem, architecture = drawn_problem(random), drawn_small_buffers(random)
    more = random.choice([None, None, with_slow_levels, with_networks])
    architecture = more(seed, architecture) if more else architecture
    walk = walk_of(problem, architecture, random.choice(["energy", "edp"]))
    best = without_ways(walk, inf)
    if not best.whole or not best.mappings or not best.least:
        return []
    least = float(best.least)
    found = [walk.ends(least * share).least for share in (1 + 1e-6, 1.1, 2.0)]
    return [f"{seed}: {each} for {least}" for each in found if each != pytest.approx(least)]


@pytest.mark.parametrize("first", [0, *in_campaigns(range(5, 400, 5))])
def test_no_best_mapping_is_lost(first: int):
    seeds = range(first, first + 5)
    assert not [each for seed in seeds for each in lost_by_ways_to_spread(seed)]


def test_a_word_is_used_by_no_more_elements_than_there_are(monkeypatch):
    """Neighbours that pass words of windows on spare the small buffer above them no more."""
    levels = (
        Buffer("DRAM", None, energy=each_word(200)),
        Buffer("Buffer", 512, energy=each_word(1)),
        Buffer("PE", 18, 16, 16, 1, energy=each_word(1)),
    )
    sizes = {"C": 64, "M": 64, "P": 56, "Q": 56, "R": 3, "S": 3}
    window = [("P", 1), ("R", 1)], [("Q", 1), ("S", 1)]
    tensors = (
        tensor("W", "C", "M", "R", "S"),
        tensor("I", "C", *window),
        tensor("O", "M", "P", "Q", read_write=True),
    )
    row = Architecture("row", levels, Arithmetic("MAC", 16, 16, 1, energy=Fraction(1)))
    walk = walk_of(Problem("layer", tuple(sizes), sizes, tensors), row, "energy")
    limited = walk.ends(7e8)
    monkeypatch.setattr(Sliding, "asked_words", lambda self, rows, sparing: np.zeros(len(rows)))
    unlimited = walk.ends(7e8)
    assert limited.whole and unlimited.whole
    assert 3 * limited.examined < unlimited.examined
