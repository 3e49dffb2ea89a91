"""The walk outwards over partial mappings: its least claim is never above the best mapping, and is
that mapping's figure where levels, meshes and capacities are all there is.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Buffer
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import KeepConstraint
from solver_mapper.core.objective import parse_objective
from solver_mapper.errors import LimitReached
from solver_mapper.solve.outward import walk as walks
from solver_mapper.solve.outward.walk import HASTY, Walk
from solver_mapper.solve.session import open_session
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.instances import Instance, instance

INFINITE = float("inf")
SHAPES = ("matmul", "batched", "mttkrp", "strided")
OBJECTIVES = [parse_objective(text) for text in ("energy", "edp", "energy^2*delay")]
CLOSE = 1e-9


def unhurried() -> bool:
    return False


def bare(made: Instance) -> Instance:
    """The instance with nothing but levels, capacities, energies and meshes."""
    levels = tuple(
        Buffer(
            *(level.name, level.capacity, level.instances, level.mesh_x, level.mesh_y),
            energy=replace(level.energy, leak=Fraction(0)),
        )
        for level in made.architecture.levels
    )
    architecture = replace(made.architecture, levels=levels)
    kept = tuple(each for each in made.constraints if isinstance(each, KeepConstraint))
    return replace(made, architecture=architecture, constraints=kept)


def wrong_claims(made: Instance, *, exact: bool) -> list[str]:
    """Claims above the best mapping's figure, or, if all must be `exact`, other than that."""
    bests = Exhaustive(made.mapspace).best(OBJECTIVES)
    wrong = []
    for objective, best in zip(OBJECTIVES, bests, strict=True):
        goal = objective.goals[0]
        try:
            walk = Walk(made.mapspace, goal, unhurried)
        except ValueError:
            continue
        ends = walk.ends(INFINITE)
        rank = INFINITE if best is None else float(goal.rank(best[1]))
        assert ends.least is not None
        if ends.least > rank or (exact and ends.least < rank * (1 - CLOSE)):
            wrong.append(f"{goal.name}: {ends.least} instead of {rank} in {made}")
        if exact and best is not None and not made.mapspace.contains(ends.mappings[0]):
            wrong.append(f"{goal.name}: {ends.mappings[0]} is no mapping of {made}")
    return wrong


@pytest.mark.parametrize("seed", range(100))
def test_no_claim_is_above_the_best_mapping(seed):
    """Whatever else the mapspace has: constraints, flags, blocks, clusters, bandwidths, wires."""
    assert not wrong_claims(instance(seed, 400, SHAPES), exact=False)


@pytest.mark.parametrize("seed", range(100, 200))
def test_the_least_claim_is_the_best_mapping_where_nothing_else_costs(seed):
    made = bare(instance(seed, 400, SHAPES))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 5000, 50))
def test_claims_of_many(first):
    """The same for thousands of mapspaces."""
    for seed in range(first, first + 50):
        made = instance(seed, 1500, SHAPES)
        assert not wrong_claims(made, exact=False)
        if (bare(made).mapspace.count(6000) or 6001) <= 6000:
            assert not wrong_claims(bare(made), exact=True)
