"""How many instances further out may share words: by trying out ways to lay loops side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf, prod
from random import Random

import pytest

from solver_mapper.core.constraints import Constraints
from solver_mapper.core.primes import divisors
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.inner import Outside
from solver_mapper.solve.outward.packing import Group, Mesh, may_lie, most_side_by_side
from solver_mapper.solve.outward.sharing import Shares, largest
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.solve.test_bounds_on_the_way import drawn_architecture, drawn_problem


def tried(groups: list[Group], done: list[Group], meshes: list[Mesh]) -> float:
    """The most that loops along axes of meshes count, over all ways to choose them."""
    all_groups = [*((each, 0) for each in groups), *((each, 1) for each in done)]
    dims = [
        (number, rounds, first)
        for number, (group, first) in enumerate(all_groups)
        for rounds in group.rounds
    ]
    sides = [side for mesh in meshes for side in mesh]
    best = 0.0
    for chosen in product(*(along(rounds, meshes, first) for _, rounds, first in dims)):
        used = [prod(bounds) for bounds in zip(*chosen, strict=True)] or [1] * len(sides)
        if any(one > side for one, side in zip(used, sides, strict=True)):
            continue
        found = 1.0
        for number, (group, _) in enumerate(all_groups):
            mine = [each for each, dim in zip(chosen, dims, strict=True) if dim[0] == number]
            counts = [
                min(prod(bounds[2 * mesh : 2 * mesh + 2]) for bounds in mine)
                for mesh in range(len(meshes))
            ]
            found *= min(prod(counts), group.most)
        best = max(best, found)
    return best


def along(rounds: int, meshes: list[Mesh], first: int) -> Iterator[tuple[int, ...]]:
    """Loops over one dimension, on one axis of each mesh from the `first` one on."""
    if not meshes:
        yield ()
        return
    for bound in divisors(rounds) if first <= 0 else (1,):
        for here in {(bound, 1), (1, bound)}:
            for further in along(rounds // bound, meshes[1:], first - 1):
                yield (*here, *further)


@pytest.mark.parametrize("seed", range(200))
def test_a_dimension_lies_along_one_axis_of_each_mesh(seed):
    """Those of a window count where both are on the same mesh."""
    random = Random(seed)
    sizes = [1, 2, 3, 4, 6, 7, 8, 12]
    groups, done = (
        [Group((each,)) for each in random.choices(sizes, k=random.randint(0, 2))] for _ in range(2)
    )
    if random.random() < 0.6:
        window = Group((random.choice(sizes), random.choice([2, 3, 4])), random.choice([2, 3, inf]))
        random.choice([groups, done])[:1] = [window]
    meshes = [(random.randint(1, 8), random.randint(1, 6)) for _ in range(random.randint(1, 2))]
    found = most_side_by_side(tuple(groups), tuple(done), tuple(meshes))
    assert found == tried(groups, done, meshes)


@pytest.mark.parametrize("seed", range(100))
def test_loops_lie_side_by_side_if_some_factors_do_along_axes(seed):
    """Of each bound any factors, along one axis of each mesh."""
    random = Random(seed)
    bounds = random.choices([1, 2, 3, 4, 6, 7, 9], k=random.randint(1, 3))
    meshes = [(random.randint(1, 9), random.randint(1, 6)) for _ in range(random.randint(1, 2))]
    sides = [side for mesh in meshes for side in mesh]
    ways = [[each for each in along(bound, meshes, 0) if prod(each) == bound] for bound in bounds]
    used = ([prod(each) for each in zip(*chosen, strict=True)] for chosen in product(*ways))
    fits = any(all(map(int.__le__, each, sides)) for each in used)
    assert may_lie(bounds, meshes) == fits


def test_on_many_meshes_loops_lie_as_in_one_row():
    assert may_lie([18, 14], [(16, 16)]) is False
    assert may_lie([18, 14], [(4, 4), (4, 2), (2, 1)]) is True


def test_of_further_meshes_the_product_counts():
    """8 and 9 lie along one axis each; that of the third mesh is not known."""
    groups = (Group((64,)),)
    assert most_side_by_side(groups, (), ((8, 8),)) == 8
    assert most_side_by_side(groups, (), ((1, 1), (8, 8))) == 8
    assert most_side_by_side(groups, (), ((1, 1), (1, 1), (8, 8))) == 8
    assert most_side_by_side(groups, (), ((2, 1), (1, 2), (4, 4))) == 64


def test_two_dimensions_of_a_window_share_nothing_on_different_meshes():
    window = (Group((4, 3)),)
    assert most_side_by_side(window, (), ((4, 3), (1, 1))) == 3
    assert most_side_by_side(window, (), ((4, 1), (3, 1))) == 1
    assert most_side_by_side((Group((4, 3), 2),), (), ((4, 3), (1, 1))) == 2


def laid_at_random(random: Random, costs: Costs, outside: Outside) -> tuple[int, ...]:
    """What loops side by side share that lie along axes of meshes, dimension by dimension."""
    left = [list(sides) for sides in costs.sides[: outside.meshes]]
    rounds = [int(size) for size in costs.sizes]
    chosen: list[dict[int, int]] = [{} for _ in left]
    for mesh, dim in random.sample(
        [*product(range(len(left)), range(len(rounds)))], k=min(8, len(left) * len(rounds))
    ):
        axis, innermost = random.randrange(2), mesh == outside.meshes - 1
        bounds = [each for each in divisors(rounds[dim]) if each <= left[mesh][axis]]
        if innermost and dim in costs.order[: outside.spread]:
            continue
        bound = random.choice(bounds)
        chosen[mesh][dim] = bound
        rounds[dim] //= bound
        left[mesh][axis] //= bound
    return tuple(prod(each.shared(bounds) for bounds in chosen) for each in costs.tensors)


@pytest.mark.parametrize("seed", range(120))
def test_no_loops_side_by_side_share_more_of_all_tensors(seed):
    random = Random(seed)
    costs = Costs(
        EnumeratedMapspace(drawn_architecture(random), drawn_problem(random), Constraints())
    )
    shares = Shares(costs)
    for meshes in range(1, costs.depth + 1):
        outside = Outside(0, meshes, random.choice([0, 0, *range(len(costs.order) + 1)]))
        most = shares.most(outside, prod(costs.sides[meshes - 1]))
        assert most == largest(most)
        tried = {laid_at_random(random, costs, outside) for _ in range(60)}
        for share in tried:
            assert any(all(map(int.__le__, share, each)) for each in most), (share, most)
