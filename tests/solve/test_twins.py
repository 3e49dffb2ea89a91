"""Walks follow one of each pair of mappings in which dimensions trade places: what they claim is
still what the best mapping costs.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from solver_mapper.core.constraints import Constraints
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.solve.outward import run
from solver_mapper.solve.outward.walk import Walk
from tests.campaigns import in_campaigns
from tests.instances import Instance, instance
from tests.solve.test_outward import bare, wrong_claims
from tests.strategies import tensor

MOST = 4_000
"""Loop nests."""
PIXELS = {
    "CPQ": (tensor("W", "C"), tensor("I", "C", "P", "Q"), tensor("O", "P", "Q", read_write=True)),
    "KPQR": (tensor("A", "P", "Q", "R"), tensor("B", "K"), tensor("Z", "P", "K", read_write=True)),
    "BHMK": (
        tensor("A", "B", "H", "M", "K"),
        tensor("V", "B", "H", "K"),
        tensor("Z", "B", "H", "M", read_write=True),
    ),
}
"""Problems of which several dimensions may trade places, without windows."""
WINDOWS = {
    "CPQRS": (
        tensor("W", "C", "R", "S"),
        tensor("I", "C", ["P", "R"], ["Q", "S"]),
        tensor("O", "P", "Q", read_write=True),
    ),
    "GPQRS": (
        tensor("W", "R", "S"),
        tensor("I", "G", "P", "Q"),
        tensor("O", "G", [("P", 2), "R"], [("Q", 2), "S"], read_write=True),
    ),
}


def square(seed: int, shapes: dict) -> Instance:
    """A random mapspace in which dimensions trade places, with the levels of another one."""
    random = Random(seed)
    while True:
        made = bare(instance(random.randrange(10**6), 400, wired=False))
        dims, tensors = random.choice(list(shapes.items()))
        pairs = {"Q": "P", "S": "R", "H": "B", "M": "B"}
        bounds: dict[str, int] = {}
        for dim in dims:
            same = bounds.get(pairs.get(dim, ""))
            bounds[dim] = same or random.choice([1, 2, 2, 3, 4])
        problem = Problem("square", tuple(dims), bounds, tensors)
        made = replace(made, problem=problem, constraints=Constraints(()))
        walk = Walk(made.mapspace, parse_objective("energy").goals[0])
        if len(walk.trades) and made.mapspace.count(MOST) is not None:
            return made


@pytest.mark.parametrize("seed", [*range(4), 102, *in_campaigns(range(4, 150))])
def test_the_least_claim_is_the_best_mapping(seed: int) -> None:
    """Also where units take a word that stays from each other (102): bounds then took all units to
    be sent it anew whenever it moves.
    """
    assert not wrong_claims(square(seed, PIXELS), exact=True)


@pytest.mark.parametrize("seed", [*range(3), *in_campaigns(range(3, 80))])
def test_no_claim_of_windows_is_above_the_best_mapping(seed: int) -> None:
    assert not wrong_claims(square(seed, WINDOWS), exact=False)


def test_a_walk_follows_one_of_two_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer inner mappings come to each step, and the least claim is the same."""
    made = square(1, PIXELS)
    walk = Walk(made.mapspace, parse_objective("energy").goals[0])
    one = walk.ends(float("inf"))
    monkeypatch.setattr(run, "without_twins", lambda rows, _: rows)
    both = walk.ends(float("inf"))
    assert one.least == both.least
    assert one.examined < both.examined


def test_dimensions_of_all_tensors_do_not_trade_places() -> None:
    """Their loops stand outermost in an order of their own."""
    random = Random(0)
    made = bare(instance(random.randrange(10**6), 400, wired=False))
    bounds = {"B": 2, "H": 2, "M": 3, "K": 3}
    made = replace(made, problem=Problem("heads", tuple("BHMK"), bounds, PIXELS["BHMK"]))
    made = replace(made, constraints=Constraints(()))
    walk = Walk(made.mapspace, parse_objective("energy").goals[0])
    assert walk.outermost == {0, 1}
    assert not np.any(walk.trades[:, :2] != [0, 1])
