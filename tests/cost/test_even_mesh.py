"""Elements of an evenly filled mesh have the neighbours that all pairs of positions have."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.even_mesh import even_mesh
from solver_mapper.cost.timeloop.projection import Projection, project
from solver_mapper.cost.timeloop.spatial_elements import Grid, lay_out, links
from solver_mapper.cost.timeloop.tiles import PlacedLoop
from tests.strategies import tensor

DIMS = ("C", "P", "R", "Q", "S", "K")
TENSORS = (
    tensor("I", "C", [("P", 2), "R"], ["Q", ("S", -1)]),
    tensor("W", "K", "C", "R"),
    tensor("X"),
)
PROBLEM = Problem("window", DIMS, dict.fromkeys(DIMS, 2**31), TENSORS)


@st.composite
def meshes(draw: st.DrawFn) -> tuple[tuple[PlacedLoop, ...], Projection, Grid]:
    """A mesh of up to four loops with room to spare, and a tensor."""
    dims = draw(st.lists(st.integers(0, len(DIMS) - 1), unique=True, max_size=4))
    strides = st.one_of(st.integers(1, 5), st.integers(1, 2**31))
    bounds = [draw(st.integers(1, 4)) for _ in dims]
    loops = tuple(
        PlacedLoop(dim, bound, bound, draw(strides), "XY"[number % 2])
        for number, (dim, bound) in enumerate(zip(dims, bounds, strict=True))
    )
    used = prod(bounds)
    width = draw(st.integers(1, used + 2))
    grid = Grid(width, -(-used // width) + draw(st.integers(0, 2)), hops=False)
    return loops, project(PROBLEM, draw(st.sampled_from(TENSORS))), grid


@given(meshes())
def test_neighbours_are_those_of_listed_elements(made):
    loops, projection, grid = made
    listed, mesh = lay_out(loops, projection.codes), even_mesh(*made)
    near = links(listed, listed, grid)
    for shift in {0, *listed.offsets, *(-each for each in listed.offsets), *near}:
        assert mesh.served(shift) == near.get(shift, [])
