"""Curves of prescribed dataflows, against a filter over all mappings."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver_mapper.bounds import Mark, bound
from solver_mapper.bounds.dataflow import from_constraints
from solver_mapper.bounds.levels import level_bounds
from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import (
    Constraints,
    FactorConstraint,
    KeepConstraint,
    PermutationConstraint,
)
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.primes import divisors
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.errors import InfeasibleError
from tests.bound_curves import corners, steps
from tests.bounds.test_bound_single import conv, gemm, walked

PROBLEMS = [gemm(4, 6, 4), gemm(2, 4, 3, 2), conv(P=4, R=3, C=2, K=2)]


def mappings(problem):
    """Every tile with every order of its real loops, outermost first."""
    for sizes in itertools.product(*(divisors(problem.bounds[dim]) for dim in problem.dims)):
        tile = dict(zip(problem.dims, sizes, strict=True))
        for order in itertools.permutations(
            [dim for dim in problem.dims if tile[dim] < problem.bounds[dim]]
        ):
            yield tile, order


def counted(problem, accept):
    whole = problem.dims
    return corners(
        walked(problem, tile, (*order, *(d for d in whole if d not in order)))
        for tile, order in mappings(problem)
        if accept(tile, order)
    )


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_stationary_means_that_all_irrelevant_loops_are_innermost(problem):
    for tensor in problem.tensors:

        def stays(tile, order, tensor=tensor):
            relevant = [dim in tensor.dims for dim in order]
            return relevant == sorted(relevant, reverse=True)

        assert steps(bound(problem, stationary=tensor.name)) == counted(problem, stays), tensor.name


@pytest.mark.parametrize("problem", PROBLEMS[:2], ids=["gemm", "batched"])
def test_a_prescribed_order_binds_real_loops_only(problem):
    for order in itertools.permutations(problem.dims):
        want = counted(
            problem,
            lambda tile, real, order=order: list(real) == [dim for dim in order if dim in real],
        )
        assert steps(bound(problem, order=order)) == want, order


def test_prescribed_tiles():
    problem = gemm(4, 6, 4)
    assert steps(bound(problem, tiles={"K": 2, "N": 4})) == counted(
        problem, lambda tile, _: tile["K"] == 2 and tile["N"] == 4
    )


def test_the_free_curve_is_the_lower_envelope_of_the_dataflows():
    problem = gemm(12, 8, 6)
    flows = [steps(bound(problem, order=order)) for order in itertools.permutations("MKN")]
    assert corners(point for flow in flows for point in flow) == steps(bound(problem))


def test_constraint_files_prescribe_the_loops_of_the_backing_store():
    problem = gemm(4, 6, 4)
    rules = Constraints(
        (
            FactorConstraint("DRAM", "", kind="temporal", dim="K", comparison=">=", value=2),
            PermutationConstraint("DRAM", "", kind="temporal", inner=("N",), outer=("K",)),
            KeepConstraint("RF", "RF: keep A", tensor="A", keep=True),
        )
    )
    space, unused = from_constraints(problem, rules, "DRAM")
    assert [rule.text for rule in unused] == ["RF: keep A"]

    def obeys(tile, order):
        return tile["K"] <= 3 and list(order) == [dim for dim in "KMN" if dim in order]

    assert steps(bound(problem, within=space)) == counted(problem, obeys)


def test_a_dataflow_without_mappings_is_infeasible():
    problem = gemm(4, 6, 4)
    rule = FactorConstraint("DRAM", "", kind="temporal", dim="K", comparison="==", value=4)
    space, _ = from_constraints(problem, Constraints((rule,)), "DRAM")
    with pytest.raises(InfeasibleError, match="gemm"):
        bound(problem, within=space)


@st.composite
def hierarchies(draw):
    """A mapping of a product onto three levels that keep everything: loops at each, some of them
    spatial.
    """
    problem = draw(st.sampled_from([gemm(4, 6, 4), gemm(8, 2, 4), gemm(4, 3, 2, 2)]))
    levels: list[LevelMapping] = []
    rest = dict(problem.bounds)
    for name in ("DRAM", "GLB", "RF"):
        factors = {}
        for axis in ("", "X"):
            taken = {
                dim: (
                    draw(st.sampled_from(divisors(size)))
                    if name != "RF"
                    else (size if not axis else 1)
                )
                for dim, size in rest.items()
            }
            rest = {dim: size // taken[dim] for dim, size in rest.items()}
            order = draw(st.permutations([dim for dim, trips in taken.items() if trips > 1]))
            factors[axis] = tuple(loop(dim, taken[dim], axis) for dim in order)
        levels.append(
            LevelMapping(name, factors[""], factors["X"], keep=frozenset(problem.tensor_names))
        )
    return problem, Mapping(tuple(levels), problem.dims, problem.tensor_names)


@given(hierarchies())
@settings(max_examples=100, deadline=None)
def test_no_mapping_onto_a_hierarchy_moves_less_into_a_level_than_its_bound(case):
    problem, mapping = case
    wide = [math.prod(each.bound for each in level.spatial) for level in mapping.levels]
    machine = Architecture(
        "machine",
        (
            Buffer("DRAM"),
            Buffer("GLB", instances=wide[0], mesh_x=wide[0]),
            Buffer("RF", instances=wide[0] * wide[1], mesh_x=wide[0] * wide[1]),
        ),
        Arithmetic("MAC", instances=math.prod(wide), mesh_x=math.prod(wide)),
    )
    levels = evaluate(machine, problem, mapping).levels
    instances = {buffer.name: buffer.instances for buffer in machine.levels}
    marks = [
        Mark(name, sum(each.tile for each in levels[name].tensors.values()) * instances[name])
        for name in ("GLB", "RF")
    ]
    for outer, bounded in zip(("DRAM", "GLB"), level_bounds(bound(problem), marks), strict=True):
        moved = sum(
            (each.reads + each.updates) * instances[outer]
            for each in levels[outer].tensors.values()
        )
        assert bounded.least <= moved, bounded.level
