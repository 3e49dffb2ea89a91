"""A user's own constraints on the CP-SAT model hold for every answer, and the variables mean what
their names say.
"""

from __future__ import annotations

import math

import pytest

import solver_mapper as sm
from solver_mapper.core.mapping import Mapping
from tests.constraints.designs import spec_with

SPEC = spec_with(mapping=[])


def bound(mapping: Mapping, dim: str, level: str, axis: str) -> int:
    found = next(each for each in mapping.levels if each.level == level)
    return math.prod(
        each.bound
        for each in (*found.temporal, *found.spatial)
        if (each.dim, each.axis) == (dim, axis)
    )


def test_a_rule_that_no_file_can_say() -> None:
    """As many channels as filters in each register file; the buffer stores exactly one operand."""

    def hook(model: sm.Model) -> None:
        model.cp.add(model.bound("C", "RF") == model.bound("K", "RF"))
        model.cp.add(model.bound("C", "RF") >= 2)
        model.cp.add(model.keep["W", "GLB"] + model.keep["I", "GLB"] == 1)

    solution = sm.solve(SPEC, "delay", model_hook=hook)
    assert solution.status == "optimal" and solution.mapping is not None
    assert bound(solution.mapping, "C", "RF", "") == bound(solution.mapping, "K", "RF", "") >= 2
    assert len({"W", "I"} & solution.mapping.levels[1].keep) == 1
    assert solution.certificate.mapspace["model_hook"].endswith("hook")


def test_products_and_exponents_are_those_of_the_mapping() -> None:
    def hook(model: sm.Model) -> None:
        model.cp.add(model.product([("C", "GLB", "X"), ("K", "GLB", "X"), ("P", "GLB", "Y")]) == 8)
        model.cp.add(model.power["P", 2, "RF", "temporal"] == 3)
        model.cp.add(model.bound("R", "DRAM", "X") == 1)

    mapping = sm.solve(SPEC, "delay", model_hook=hook).mapping
    assert mapping is not None
    assert (
        bound(mapping, "C", "GLB", "X")
        * bound(mapping, "K", "GLB", "X")
        * bound(mapping, "P", "GLB", "Y")
        == 8
    )
    assert bound(mapping, "P", "RF", "") == 8


def test_orders_and_figures() -> None:
    """The class of orders in which P runs innermost at the buffer, and a floor under the cycles."""

    def hook(model: sm.Model) -> None:
        model.cp.add_bool_or(
            [literal for order, literal in model.order["GLB"] if order[:1] == ("P",)]
        )
        model.cp.add(model.bound("P", "GLB") >= 2)
        model.cp.add(model.bound("C", "GLB") >= 2)
        expression, scale = model.energy_pj
        model.cp.add(expression <= int(80_000 * scale))
        model.cp.add(model.cycles <= 400)

    solution = sm.solve(SPEC, "delay", model_hook=hook)
    assert solution.mapping is not None and solution.evaluation is not None
    assert solution.mapping.levels[1].temporal[-1].dim == "P"
    assert solution.evaluation.cycles <= 400


def test_a_hook_that_leaves_nothing_over() -> None:
    solution = sm.solve(SPEC, "delay", model_hook=lambda model: model.cp.add_bool_or([]))
    assert (solution.status, solution.conflict) == ("infeasible", ())


def test_names_in_the_model_are_those_of_the_docs() -> None:
    names: set[str] = set()
    sm.solve(
        SPEC,
        "delay",
        model_hook=lambda model: names.update(
            variable.name for variable in model.cp.proto.variables
        ),
    )
    assert {
        "power[C,2,0T]",
        "power[K,2,1X]",
        "power[P,2,1Y]",
        "keep[W,1]",
        "pattern[1,0]",
        "on_x[1,K]",
        "cycles",
    } <= names


def test_errors() -> None:
    with pytest.raises(KeyError):
        sm.solve(SPEC, "delay", model_hook=lambda model: model.bound("X", "RF"))
    with pytest.raises(sm.InputError, match="verify is not supported with a model hook"):
        sm.solve(SPEC, "delay", model_hook=lambda model: None, verify=True)


def test_a_given_mapping_that_breaks_the_hook_is_no_incumbent() -> None:
    """The mapping keeps K=4 along X; the hook forbids it."""
    solution = sm.solve(
        spec_with(),
        "delay",
        model_hook=lambda model: model.cp.add(model.bound("K", "GLB", "X") == 2),
    )
    assert solution.mapping is not None
    assert bound(solution.mapping, "K", "GLB", "X") == 2
