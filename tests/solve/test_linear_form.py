"""Linear forms over solver variables."""

from __future__ import annotations

from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.solve.cpsat.linear_form import highest, rounded_down, weigh


def test_highest_value_of_a_variable():
    """The upper end of a domain is read as it is, whatever protobuf's lists do with negative
    indices.
    """
    model = cp_model.CpModel()
    assert highest(model.new_int_var(0, 7, "x")) == 7
    assert highest(model.new_int_var_from_domain(cp_model.Domain.from_values([1, 3, 9]), "y")) == 9
    assert highest(model.new_constant(5)) == 5


def test_scale_makes_weights_whole_as_long_as_they_stay_small():
    """Rational weights become whole numbers, unless the sum could then leave the solver's range."""
    variable = cp_model.CpModel().new_int_var(0, 10, "x")
    assert weigh([variable], [Fraction(1, 3)]).scale() == 3
    large = weigh([variable], [Fraction(2**70, 3)]).scale()
    assert 2**59 < large * Fraction(2**70, 3) * 10 < 2**61


def test_weights_of_large_counts_are_rounded_once_for_all():
    """What a weight loses for each of a billion words is a millionth part, not up to one."""
    model = cp_model.CpModel()
    words = [model.new_int_var(10**9, 10**9, f"words{k}") for k in range(2)]
    form = weigh(words, [Fraction(7, 3), Fraction(22, 7)])
    expr, constant, constraints = rounded_down(model, form, Fraction(1))
    model.minimize(expr)
    solver = cp_model.CpSolver()
    assert solver.solve(model) == cp_model.OPTIMAL
    exact = 10**9 * (Fraction(7, 3) + Fraction(22, 7))
    found = round(solver.objective_value) + constant
    assert exact - 10**9 * Fraction(2, 2**20) - 1 <= found <= exact
    assert len(constraints) == 1
    assert not rounded_down(model, form, Fraction(21))[2]  # whole weights: nothing to round
