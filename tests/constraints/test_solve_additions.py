"""`solve` under the constraints that Timeloop does not have, and with a mapping that is given in
part.
"""

from __future__ import annotations

from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.core.results.solution import Solution
from solver_mapper.core.spec import Spec
from tests.constraints.designs import DESIGN, bypass, spatial, spec_with, temporal


def solved(
    *constraints: dict[str, Any],
    mapping: list[dict[str, Any]] | None = None,
    objective: str = "delay",
) -> tuple[Spec, Solution]:
    spec = spec_with(*constraints, mapping=[] if mapping is None else mapping)
    return spec, sm.solve(spec, objective)


def product(solution: Solution, dims: str, axis: bool) -> int:
    """The product of loops over `dims`, spatial or temporal."""
    assert solution.mapping is not None
    total = 1
    for each in solution.mapping.loops():
        if each.dim in dims and bool(each.axis) == axis:
            total *= each.bound
    return total


@pytest.mark.parametrize("most", [2, 6, 16])
def test_a_product_over_levels_holds(most: int) -> None:
    _, solution = solved({"spatial": {"product": f"C*K*R*P <= {most}"}})
    assert solution.status == "optimal"
    assert product(solution, "CKRP", axis=True) <= most
    assert solution.value == 1536 // product(solution, "CKRP", axis=True)
    assert solution.certificate.mapspace["limits"] == [
        f"all levels spatial: product C*K*R*P <= {most}"
    ]
    assert f"under all levels spatial: product C*K*R*P <= {most} " in " ".join(
        str(solution).split()
    )


def test_a_cap_on_one_figure_while_another_is_minimized() -> None:
    """The fastest mapping costs more energy than the cap allows once it is below the least energy
    at full speed.
    """
    constraints = (
        spatial("GLB", factors="C=1 R=1"),
        bypass("RF", keep=["O"], bypass=["W", "I"]),
        bypass("GLB", keep=["W", "I", "O"]),
    )
    _, least = solved(*constraints, objective="energy")
    _, fast = solved(*constraints, objective="delay,energy")
    assert least.evaluation is not None and fast.evaluation is not None
    for cap in (fast.evaluation.energy_pj, least.evaluation.energy_pj):
        spec, solution = solved(*constraints, {"metrics": {"energy_pj": f"<= {float(cap) + 1e-6}"}})
        assert solution.mapping is not None and solution.evaluation is not None
        assert solution.evaluation.energy_pj <= cap
        assert sm.validate(spec, solution.mapping).legal
        assert fast.evaluation.cycles <= solution.evaluation.cycles <= least.evaluation.cycles


def test_a_dataflow_orders_the_loops() -> None:
    spec, solution = solved(
        {"target": "GLB", "dataflow": "weight-stationary"}, temporal("GLB", factors="P=4 C=2 K=2")
    )
    assert solution.mapping is not None
    assert solution.mapping.levels[1].temporal[-1].dim == "P"
    assert sm.validate(spec, solution.mapping).legal


def test_directives_of_a_given_mapping_are_kept_and_the_rest_is_found() -> None:
    given = [
        temporal("RF", factors="R=3"),
        spatial("GLB", factors="K=4", permutation="KP", split=1),
        bypass("GLB", bypass=["W"]),
    ]
    spec, solution = solved(mapping=given)
    assert solution.status == "optimal" and solution.mapping is not None
    _, glb, rf = solution.mapping.levels
    assert [(each.dim, each.bound) for each in rf.temporal if each.dim == "R"] == [("R", 3)]
    assert [(each.dim, each.bound) for each in glb.spatial if each.axis == "X"] == [("K", 4)]
    assert "W" not in glb.keep
    assert (
        solution.certificate.mapspace["kept_from_mapping"][-1]
        == "mapping, RF temporal: factors R=3"
    )
    assert solution.evaluation == sm.evaluate(spec, solution.mapping)


def test_a_whole_mapping_leaves_nothing_to_find() -> None:
    spec = spec_with()
    solution = sm.solve(spec, "energy", keep_mapping=True)
    assert solution.evaluation is not None
    assert solution.evaluation.energy_pj <= sm.evaluate(spec).energy_pj
    assert [level.spatial for level in solution.mapping.levels] == [
        level.spatial for level in spec.need_mapping().levels
    ]


def test_given_directives_that_collide_with_a_rule_are_explained() -> None:
    spec, solution = solved(temporal("RF", factors="R=1"), mapping=[temporal("RF", factors="R=3")])
    assert solution.status == "infeasible"
    assert {entry["text"] for entry in solution.conflict} == {
        "RF temporal: factors R=1",
        "mapping, RF temporal: factors R=3",
    }
    texts = [repair.text for repair in sm.explain(spec).repairs]
    assert texts == [
        "allow R=3 instead of R=1 at RF temporal",
        "allow R=1 instead of R=3 at RF temporal of the mapping",
    ]


def test_a_residual_factor_that_is_given_is_explained() -> None:
    _, solution = solved(mapping=[temporal("RF", factors="P=6,4")])
    assert [entry["text"] for entry in solution.conflict] == ["mapping, RF temporal: factors P=6,4"]


def test_a_mapping_added_in_python_does_not_bind_the_search() -> None:
    spec = sm.load(DESIGN)
    assert isinstance(spec, Spec)
    whole = spec.with_mapping(spec_with().need_mapping())
    assert sm.solve(whole, "delay").value == sm.solve(spec, "delay").value


def test_a_cap_that_nothing_meets_is_proven_and_explained() -> None:
    _, solution = solved({"metrics": {"cycles": "<= 95"}})
    assert solution.status == "infeasible"
    assert solution.conflict[0]["text"] == "metrics: cycles <= 95"
