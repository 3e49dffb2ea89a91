"""No bound for one choice of spatial loops exceeds what a mapping with these loops costs.

The bound of a whole problem is that of its best choice; here each choice has its turn, so that a
bound which is too high for another one shows as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import prod
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal, parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.joint.bandwidth import CycleRange, divided, tilted
from solver_mapper.solve.imperfect.joint.costs import HolderCosts, Powers
from solver_mapper.solve.imperfect.joint.holders import HolderSearch
from solver_mapper.solve.imperfect.joint.spatial_loops import SpatialLoops
from solver_mapper.solve.imperfect.joint.walk import Effort
from solver_mapper.solve.imperfect.joint.walks import COARSE, EXACT, FINE, NESTED, GoalState
from solver_mapper.verify.bound import Keeps
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.imperfect_bound import ComputeBoundary, ImperfectLowerBound
from tests.campaigns import in_campaigns
from tests.imperfect.enumeration import few, legal_mappings
from tests.imperfect.test_against_enumeration import QUICK, drawn, small
from tests.imperfect.test_joint_bound import uneven, with_fewer_loops

Choice = tuple[Keeps, tuple[tuple[int, ...], ...]]
"""Who holds what, and for each level and dimension the instances along it."""
FACTORS = (Fraction(10001, 10000), Fraction(11, 10), Fraction(3))
"""Targets, over the least value of a choice: more is left out where they are near."""
MOST = 8
"""Choices of a problem that are looked at."""


def choice_of(spec: Spec, mapping: Mapping) -> Choice:
    """The choice of a mapping."""
    problem = spec.need_problem()
    keeps = tuple(
        tuple(name in level.keep for level in mapping.levels) for name in problem.tensor_names
    )
    spread = tuple(
        tuple(prod(loop.bound for loop in level.spatial if loop.dim == dim) for dim in problem.dims)
        for level in mapping.levels
    )
    return keeps, spread


def least_by_choice(spec: Spec, goal: Goal, mappings: Iterable[Mapping]) -> dict[Choice, Fraction]:
    """The least rank of the mappings of each choice."""
    evaluate = Evaluator(spec.need_architecture(), spec.need_problem()).evaluate
    found = dict[Choice, Fraction]()
    for mapping in mappings:
        choice, rank = choice_of(spec, mapping), goal.rank(evaluate(mapping))
        found[choice] = min(found.get(choice, rank), rank)
    return found


def wrong_choices(spec: Spec, random: Random, name: str) -> list[str]:
    """Some choices whose bound exceeds the least of their mappings."""
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    if not all(space.keeps(tensor) for tensor in space.problem.tensor_names):
        return []
    goal = parse_objective(name).goals[0]
    least = least_by_choice(spec, goal, legal_mappings(spec))
    wrong = []
    for choice in random.sample(sorted(least), min(MOST, len(least))):
        for factor in FACTORS:
            for stage, rank in ranks(space, goal, choice, least[choice] * factor):
                if rank > float(least[choice]) * (1 + 1e-9):
                    wrong.append(f"{name}, {choice}, stage {stage}: {rank} > {least[choice]}")
    return wrong


def ranks(
    space: ImperfectMapspace, goal: Goal, choice: Choice, target: Fraction
) -> list[tuple[int, float]]:
    """Bounds of a choice below a target, by stage; none where the problem is not supported."""
    keeps, spread = choice
    try:
        bound = ImperfectLowerBound(space)
        room = bound.boundaries[bound.depth]
        if not isinstance(room, ComputeBoundary):
            return []
        loops = SpatialLoops(HolderCosts(bound, keeps, Powers.of(goal)), room)
        search = HolderSearch(loops, GoalState(target, lambda mapping: None, Effort()))
        row: NDArray[np.int64] = np.array(spread, dtype=np.int64)
        stages = (NESTED, COARSE, EXACT, FINE)
        return [(stage, search.after(row, stage).rank) for stage in stages]
    except ValueError:
        return []


@pytest.mark.parametrize("seed", [*QUICK[::3], *in_campaigns([*QUICK[1::3], *QUICK[2::3]])])
def test_no_choice_is_bounded_too_high(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    assert not wrong_choices(spec, Random(seed), ("energy", "edp")[seed % 2])


@pytest.mark.parametrize("seed", [*range(20, 26), *in_campaigns(range(26, 50))])
def test_no_choice_is_bounded_too_high_where_spatial_loops_are_uneven(seed: int) -> None:
    spec = uneven(seed)
    if few(spec, 1500):
        assert not wrong_choices(spec, Random(seed), ("edp", "energy")[seed % 2])


def test_first_reads_that_are_elided_grow_with_the_part_of_the_first_instance() -> None:
    """Partial sums over two of three rows at the first of two buffers: it elides first reads of
    two thirds, not of half.
    """
    assert not wrong_choices(uneven(777), Random(777), "edp")


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(first, first + 40) for first in range(0, 320, 40)])
def test_no_choice_of_many_is_bounded_too_high(seeds: range) -> None:
    wrong = {}
    for seed in seeds:
        spec = drawn(seed).spec
        if seed % 4 == 3:
            spec = with_fewer_loops(spec, Random(seed))
        if found := wrong_choices(spec, Random(seed), ("energy", "edp")[seed % 2]):
            wrong[seed] = found
    assert not wrong


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(700, 1300, 50)])
def test_no_choice_of_many_with_uneven_spatial_loops_is_bounded_too_high(seeds: range) -> None:
    wrong = {}
    for seed in seeds:
        spec = uneven(seed)
        if few(spec, 4000) and (found := wrong_choices(spec, Random(seed), "edp")):
            wrong[seed] = found
    assert not wrong


@pytest.mark.parametrize("tilt", (0, 1, 8, 64))
def test_lines_are_above_what_better_mappings_may_spend(tilt: int) -> None:
    """Energy times cycles has to stay below a million."""
    for fewest, most in ((10.0, 20.0), (10.5, 11.0), (100.0, 100.0), (7.2, 90.0)):
        line = tilted(CycleRange(fewest, most), [1e6 / fewest, 1e6 / most], tilt)
        for cycles in np.linspace(fewest, most, 9):
            at = line.energy + line.slope * (line.cycles - cycles)
            assert at >= 1e6 / cycles * (1 - 1e-12)


@pytest.mark.parametrize("taken", (5, 10, 11, 15, 20, 30))
def test_parts_of_a_range_have_all_its_whole_cycles(taken: int) -> None:
    cycles = CycleRange(10.0, 20.5)
    parts = [part for part, _ in divided(cycles, taken, 1)]
    for each in range(10, 21):
        assert any(part.fewest <= each <= part.most for part in parts)
