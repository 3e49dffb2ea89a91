"""How many windows units must be sent at least: never more than in the cost model, whatever moves
and wherever units stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Tensor
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.projection import project
from solver_mapper.cost.timeloop.spatial_elements import Grid, lay_out, linked_elements
from solver_mapper.cost.timeloop.tiles import build_nest
from solver_mapper.mapspace.components import shape_of
from solver_mapper.mapspace.space import Space, build_space
from solver_mapper.solve.cpsat.compile import compile_space
from solver_mapper.solve.cpsat.extract import values_of
from solver_mapper.solve.cpsat.networks.standing import Moves, Standing, StandingDecisions
from tests.campaigns import in_campaigns
from tests.instances import PLAIN, Instance, instance
from tests.solve.test_compiled_model import legal_mappings
from tests.strategies import tensor

WINDOWS = ("conv1d", "conv2d", "depthwise", "mirror", "scatter", "window3")
Help = tuple[Moves, str | None]


def shares_sent(space: Space, mapping: Mapping, given: Tensor, child: int) -> dict[Help, Fraction]:
    """The least share of windows that no neighbour has, by kinds of moves, loop by loop."""
    problem = space.problem
    nest, projection = build_nest(problem, mapping), project(problem, given)
    codes = projection.codes
    loops = [loop for loop in nest.outside(child) if not loop.axis]
    moves = [
        codes[loop.dim] * loop.stride
        - sum(codes[inner.dim] * (inner.bound - 1) * inner.stride for inner in loops[at + 1 :])
        for at, loop in enumerate(loops)
    ]
    moving = [at for at, loop in enumerate(loops) if codes[loop.dim]]
    grid = Grid(*space.architecture.fanout(child - 1))
    units = lay_out(nest.spatial[child - 1], codes)
    kept = child < space.depth and not space.has_flag("no_temporal_reuse", given.name, child)
    found: dict[Help, Fraction] = {}
    for at, code in enumerate(moves):
        moved = bool(moving) and at <= moving[-1]
        if moved or not kept:
            served = set(linked_elements(units, units, code, grid))
            waiting = {window for i, window in enumerate(units.offsets) if i not in served}
            share = Fraction(len(waiting), len(set(units.offsets)))
            kinds: list[Help] = [(Moves.ALL, None)]
            if moved:
                run = problem.dims[loops[moving[-1]].dim]
                kinds.append((Moves.WITHIN if code == moves[moving[-1]] else Moves.BETWEEN, run))
            for kind in kinds:
                found[kind] = min(share, found.get(kind, share))
    return found


def contradictions(made: Instance, mappings: int) -> Iterator[str]:
    """Shares of windows that are said to be sent at least, and are not."""
    space = build_space(
        made.architecture, made.problem, made.constraints, latency(made.architecture)
    )
    compiled = compile_space(space)
    chosen = legal_mappings(made, Random(made.seed), 100)
    for _, mapping in zip(range(mappings), chosen, strict=False):
        known = {v.index: value for v, value in values_of(compiled, mapping) or []}
        for each, child in product(made.problem.tensors, range(1, space.depth + 1)):
            decisions = StandingDecisions(compiled.variables, each, child)
            standing = decisions.standing(decisions.read(known))
            for (moves, run), share in shares_sent(space, mapping, each, child).items():
                if run in (None, *standing.tiles) and standing.lone_share(moves, run) > share:
                    yield f"{each.name} into {child}, {moves} {run}: {mapping}"


@pytest.mark.parametrize("first", [0, *in_campaigns([50])])
def test_no_fewer_windows_are_sent_than_standing_says(first):
    """Windows of every kind on small meshes, rows often partly filled."""
    wrong = [
        each
        for seed in range(first, first + 50)
        for each in contradictions(instance(seed, 10**6, WINDOWS), 4)
    ]
    assert not wrong


def test_units_that_stand_too_far_apart():
    """Twelve rows dealt out along Y, two words side by side along X: on rows of 14 units, the
    next row of units starts seven rows on, while weights move the window by two at most.
    """
    component = shape_of(tensor("I", ["P", "R"]), ("P", "R")).components[0]
    loops = {"X": {"plain": 2}, "Y": {"P": 12}}
    far = Standing(14, (component,), loops, {"P": 1, "R": 1}, {"P": 12, "R": 3}, frozenset(), True)
    assert far.lone_share() == 1
    one = replace(far, loops={"X": {}, "Y": {"P": 12}})
    assert one.lone_share(Moves.WITHIN, "R") == Fraction(1, 12)
    assert one.lone_share(Moves.BETWEEN, "R") == 1


@pytest.mark.parametrize("first", [0, *in_campaigns([50])])
def test_no_fewer_words_are_lone_than_the_search_charges(first):
    """In steps that leave a plain tensor alone, at least that share of its words has a unit with
    no neighbour to take it from.
    """
    for seed in range(first, first + 50):
        made = instance(seed, 10**6, PLAIN)
        space = build_space(
            made.architecture, made.problem, made.constraints, latency(made.architecture)
        )
        compiled = compile_space(space)
        for _, mapping in zip(range(4), legal_mappings(made, Random(seed), 100), strict=False):
            known = {v.index: value for v, value in values_of(compiled, mapping) or []}
            loops = build_nest(made.problem, mapping).spatial[-1]
            grid = Grid(*space.architecture.fanout(space.depth - 1))
            for each in made.problem.tensors:
                units = lay_out(loops, project(made.problem, each).codes)
                served = set(linked_elements(units, units, 0, grid))
                alone = {word for i, word in enumerate(units.offsets) if i not in served}
                share = Fraction(len(alone), len(set(units.offsets)))
                decisions = StandingDecisions(compiled.variables, each, space.depth)
                standing = decisions.standing(decisions.read(known))
                assert standing.lone_share() <= share, (seed, each.name, mapping)


@pytest.mark.parametrize(("x", "y", "share"), [("plain", "idle", 1), ("idle", "plain", "1/2")])
def test_four_units_on_rows_of_three(x, y, share):
    """Two by two units fill a row of three and one place of the next: with the words along X, no
    neighbours share one; with the words along Y, the first two do.
    """
    four = Standing(3, (), {"X": {x: 2}, "Y": {y: 2}}, {}, {}, frozenset(), False)
    assert four.lone_share() == Fraction(share)
