"""Loops on a mesh that is being filled: which compute units may yet have words in common with
those beside them, by laying all units out; and that each way to fill the mesh is met once.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import inf, prod
from random import Random

import numpy as np
import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import Constraints
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.solve.outward import parts, walk
from solver_mapper.solve.outward.spreads import Spread, asked_anew, may_pass
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.strategies import tensor

DIMS, BOUNDS = 4, (2, 3, 4, 6)


def drawn(random: Random, sides: tuple[int, int]) -> tuple[Spread, ...]:
    """Loops that have room on the mesh, one over each dimension at most, those along X first."""
    dims = random.sample(range(DIMS), random.randint(1, DIMS))
    axes = sorted(random.randint(0, 1) for _ in dims)
    loops: list[Spread] = []
    used = [1, 1]
    for dim, axis in zip(dims, axes, strict=True):
        bound = random.choice(BOUNDS)
        if used[axis] * bound <= sides[axis]:
            used[axis] *= bound
            loops.append(Spread(dim, bound, axis))
    return tuple(loops)


def share_words(mesh: tuple[Spread, ...], fixed: frozenset[int], width: int) -> bool:
    """Whether two units beside each other want the same word, in some order of the loops along
    each axis but for the innermost ones.
    """
    x, y = ([loop for loop in mesh if loop.axis == axis] for axis in (0, 1))
    for columns, rows in product(*(list(permutations(each[1:])) for each in (x, y))):
        nest = (*x[:1], *columns, *y[:1], *rows)
        wanted = []
        for unit in range(prod(loop.bound for loop in nest)):
            place = {}
            for loop in nest:
                place[loop.dim], unit = unit % loop.bound, unit // loop.bound
            wanted.append(tuple(place.get(dim, 0) for dim in sorted(fixed)))
        for unit, words in enumerate(wanted):
            beside = wanted[unit + 1 : unit + 2] if (unit + 1) % width else []
            if words in (*beside, *wanted[unit + width : unit + width + 1]):
                return True
    return False


@pytest.mark.parametrize("seed", range(20))
def test_units_that_may_pass_nothing_on_never_share_a_word(seed):
    random, never, wrong = Random(seed), 0, []
    for _ in range(120):
        sides = random.choice([(8, 2), (6, 6), (4, 4), (12, 2), (1, 6), (7, 3), (2, 8)])
        mesh = drawn(random, sides)
        fixed = frozenset(random.sample(range(DIMS), random.randint(1, DIMS - 1)))
        shared = share_words(mesh, fixed, sides[0])
        assert shared or asked_anew(mesh, fixed, sides[0])[0] == 1
        for length in range(len(mesh) + 1):
            if not may_pass(mesh[:length], fixed, sides):
                never += 1
                if shared:
                    wrong.append((mesh, length, fixed, sides))
    assert not wrong
    assert never > 20


@pytest.mark.parametrize("fixed", [frozenset({0}), frozenset({0, 1})])
def test_units_in_a_row_whose_words_all_differ_pass_nothing_on(fixed):
    row = (Spread(0, 4, 0),)
    assert may_pass((), fixed, (8, 2))
    assert may_pass(row, fixed, (8, 2)), "two rows may come to be filled, with something else above"
    assert not may_pass(row, fixed, (6, 2))
    assert not may_pass((*row, Spread(1, 2, 1)), fixed, (8, 2)), "they have room in one row"
    assert may_pass((*row, Spread(2, 2, 0), Spread(3, 2, 1)), fixed, (8, 2))
    assert may_pass((*row, Spread(2, 2, 0), Spread(1, 2, 1)), fixed, (8, 2)) == (1 not in fixed)


def test_each_way_to_fill_the_mesh_of_compute_units_is_met_once(monkeypatch):
    outer = Buffer(
        "DRAM", None, 1, 1, 1, energy=AccessEnergy(Fraction(1), Fraction(1), Fraction(1))
    )
    architecture = Architecture("mesh", (outer,), Arithmetic("MAC", 32, 8, 4))
    tensors = (tensor("A", "M", "K"), tensor("B", "K", "N"), tensor("Z", "M", "N", read_write=True))
    gemm = Problem("gemm", ("M", "N", "K"), {"M": 12, "N": 8, "K": 6}, tensors)
    mapspace = EnumeratedMapspace(architecture, gemm, Constraints())
    met: list[tuple[int, ...]] = []
    real = parts.promising

    def promising(outer, aim, rows, outside, **how):
        if outside == (1, 1, 3):
            met.extend(map(tuple, np.column_stack([rows.arranged, rows.tile]).tolist()))
        return real(outer, aim, rows, outside, **how)

    monkeypatch.setattr(parts, "promising", promising)
    walk.Walk(mapspace, parse_objective("energy").goals[0]).ends(inf)
    assert len(met) == len(set(met)) > 100
