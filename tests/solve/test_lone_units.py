"""Compute units that no neighbour serves ask for their operands at every step."""

from __future__ import annotations

from fractions import Fraction

import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import Constraints
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.objective import figure
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop import Evaluator
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.mapspace.space import build_space
from solver_mapper.solve.cpsat.compile import compile_space
from solver_mapper.solve.cpsat.extract import values_of
from tests.solve.test_compiled_model import claimed
from tests.strategies import tensor

DIMS = ("P", "R", "Q", "S", "K")
INPUT = tensor("I", [("P", 2), "R"], [("Q", 2), "S"])


def columns() -> RankComponent:
    return shape_of(INPUT, DIMS).components[1]


@pytest.mark.parametrize(
    ("outputs", "weights", "lone"),
    [(1, 3, 3), (2, 3, 4), (3, 3, 5), (2, 2, 4), (4, 4, 4)],
)
def test_windows_that_one_unit_alone_holds(outputs, weights, lone):
    assert columns().lone({"Q": outputs, "S": weights}) == lone


@pytest.mark.parametrize("kernels", [1, 2])
def test_units_with_no_neighbour_of_the_same_window_ask_anew(kernels):
    """Rows go back by two while outputs go on by one, so that windows stay; of the units at 2 Q + S
    only two share a word. With `kernels` side by side all units have a neighbour to take it from.
    """
    spatial = (loop("Q", 2, "Y"), loop("S", 3, "Y"), loop("K", kernels, "X"))
    nest = LevelMapping(
        "L0",
        (loop("P", 4), loop("R", 3)),
        tuple(each for each in spatial if each.bound > 1),
        keep=frozenset("IW"),
    )
    price = Fraction(1)
    outer = Buffer("L0", None, 1, 1, 1, energy=AccessEnergy(price, price, price))
    architecture = Architecture("mesh", (outer,), Arithmetic("MAC", kernels * 6, kernels, 6))
    bounds = {"P": 4, "R": 3, "Q": 2, "S": 3, "K": kernels}
    problem = Problem("rows", DIMS, bounds, (INPUT, tensor("W", "K", "R", "S")))
    mapping = Mapping((nest,), DIMS, ("I", "W"))
    compiled = compile_space(build_space(architecture, problem, Constraints()))
    exact = figure(Evaluator(architecture, problem).evaluate(mapping), "energy")
    assert claimed(compiled, "energy", values_of(compiled, mapping)) == exact
