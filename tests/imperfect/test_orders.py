"""What bounds take from constraints on orders: nothing that some mapping allows is excluded."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.imperfect_bound import ImperfectLowerBound
from tests.imperfect.test_solve import ARCHITECTURE, gemm

DIMS = ("M", "K", "N")
ORDERS = ["".join(order) for number in range(4) for order in permutations(DIMS, number)]


def space(*constraints: dict[str, Any]) -> ImperfectMapspace:
    spec = sm.load(ARCHITECTURE, gemm(7, 13, 5), {"architecture_constraints": list(constraints)})
    return ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)


def spatial(order: str, split: int) -> dict[str, Any]:
    permuted = {"permutation": order} if order else {}
    return {"target": "Buf", "type": "spatial", "split": split, **permuted}


@pytest.mark.parametrize("split", range(4))
@pytest.mark.parametrize("order", ORDERS)
def test_axes_are_those_along_which_a_loop_alone_may_lie(order: str, split: int) -> None:
    found = space(spatial(order, split))
    level = found.architecture.index("Buf")
    for dim in DIMS:
        ways = {
            axis: found.ways(level, {"": {}, "X": {}, "Y": {}} | {axis: {dim: 2}})[1]
            for axis in "XY"
        }
        assert found.axes(level, dim) == "".join(axis for axis in "XY" if ways[axis])


@pytest.mark.parametrize("order", ORDERS[1:])
def test_a_loop_is_inside_another_whatever_others_there_are(order: str) -> None:
    found = space({"target": "Buf", "type": "temporal", "permutation": order})
    level = found.architecture.index("Buf")
    for number in (2, 3):
        for dims in combinations(DIMS, number):
            orders, _ = found.ways(level, {"": dict.fromkeys(dims, 2), "X": {}, "Y": {}})
            for inner, outer in permutations(dims, 2):
                if found.inside(level, inner, outer):
                    assert all(each.index(inner) < each.index(outer) for each in orders)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("split", range(4))
def test_the_bound_of_steps_knows_the_axes(order: str, split: int) -> None:
    """On this array the fewest steps that constraints leave are reached."""
    constraints = [
        spatial(order, split),
        {"target": "Buf", "type": "spatial", "factors": "K<=3"},
    ]
    spec = sm.load(ARCHITECTURE, gemm(7, 13, 5), {"architecture_constraints": constraints})
    least = sm.solve(spec, "delay", factors="imperfect").value
    steps = ImperfectLowerBound(space(*constraints)).steps
    assert least is not None and least * 3 / 4 <= steps <= least
