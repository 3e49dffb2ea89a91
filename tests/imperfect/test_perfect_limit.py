"""What perfect factors leave on the table is said in one line, with proven numbers."""

from __future__ import annotations

from itertools import product
from math import ceil, prod
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.mapspace.perfect_limit import perfect_limit
from tests.imperfect.test_solve import ARCHITECTURE, gemm


def limit(*sizes: int, constraints: Any = ()) -> Any:
    spec = sm.load(ARCHITECTURE, gemm(*sizes), {"architecture_constraints": list(constraints)})
    return perfect_limit(spec.need_architecture(), spec.need_problem(), spec.constraints)


@pytest.mark.parametrize("sizes", [(7, 13, 5), (17, 3, 1), (11, 1, 6), (5, 5, 5)])
def test_steps_are_the_fewest_of_all_spatial_bounds(sizes: tuple[int, ...]) -> None:
    def fewest(whole: bool) -> int:
        found = []
        for bounds in product(range(1, 5), repeat=3):
            for axes in product("XY", repeat=3):
                along = [
                    prod(b for b, a in zip(bounds, axes, strict=True) if a == axis) for axis in "XY"
                ]
                divides = all(size % b == 0 for size, b in zip(sizes, bounds, strict=True))
                if max(along) <= 4 and (divides or not whole):
                    found.append(
                        prod(ceil(size / b) for size, b in zip(sizes, bounds, strict=True))
                    )
        return min(found)

    found = limit(*sizes)
    assert (found.perfect, found.imperfect) == (fewest(True), fewest(False))


def test_padding_reaches_the_bound() -> None:
    sizes = {"M": 7, "K": 13, "N": 5}
    found = limit(*sizes.values())
    padded = [found.padded.get(dim, size) for dim, size in sizes.items()]
    solution = sm.solve(sm.load(ARCHITECTURE, gemm(*padded)), "delay")
    assert solution.value == found.imperfect


def test_solve_says_it_in_one_line() -> None:
    solution = sm.solve(sm.load(ARCHITECTURE, gemm(7, 13, 5)), "delay")
    (line,) = [each for each in str(solution).splitlines() if each.startswith("perfect factors")]
    assert "take at least 455 cycles" in line
    assert solution.to_dict()["perfect_limit"]["perfect_cycles"] == 455


def test_nothing_is_said_where_factors_divide() -> None:
    solution = sm.solve(sm.load(ARCHITECTURE, gemm(8, 4, 4)), "delay")
    assert solution.limit is None and "perfect_limit" not in solution.to_dict()


def test_constraints_on_spatial_factors_bind_both() -> None:
    fixed = {"target": "Buf", "type": "spatial", "factors": "M=1 K=1 N=1"}
    assert limit(7, 13, 5, constraints=[fixed]) is None
