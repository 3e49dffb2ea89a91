"""Uneven fusion against a walk through every mapping: inside a group's trunk, runs of members may
co-iterate further by themselves.

Built on the brute force of even fusion, which shares nothing with the search but the workload.
"""

import itertools
from functools import cache

import pytest

from solver_mapper.bounds.fusion import FusionOptions, fuse
from tests.bound_curves import corners, steps
from tests.bounds.fusion.fusion_cases import CHAIN3, FORK, workload
from tests.bounds.fusion.test_fusion_brute_force import (
    Tiny,
    kept,
    loops_in_every_order,
    size,
    streamed,
    thinned,
)


@cache
def ways(accesses, bounds_items, outer, inner, lasting, private):
    """All (stays across the outer loops, across the inner ones, lives during one run, words moved)
    of one Einsum. Tensors in `lasting` may be kept above an outer loop, those in `private` above an
    inner one.
    """
    bounds, path = dict(bounds_items), outer + inner
    inside = dict(bounds)
    for dim, count in path:
        inside[dim] //= count
    found = set()
    places = [
        [
            None,
            *(at for at in range(len(path)) if name in (lasting if at < len(outer) else private)),
        ]
        for name, _, _ in accesses
    ]
    for chosen in itertools.product(*places):
        flowing = tuple(access for access, at in zip(accesses, chosen, strict=True) if at is None)
        stays, moved = [0, 0], 0
        for (_, dims, written), at in zip(accesses, chosen, strict=True):
            if at is not None:
                more, words = kept(dims, written, bounds, path, at)
                stays[at >= len(outer)] += words
                moved += more
        dims = {dim: inside[dim] for dim in inside if any(dim in each for _, each, _ in flowing)}
        for local in loops_in_every_order(dims):
            more, words = streamed(flowing, bounds, path, local)
            found.add((*stays, words, moved + more))
    return found


class Uneven(Tiny):
    """Adds parts to the groups of `Tiny`."""

    def trunked(self, members, tiled, where, trunk):
        points = super().trunked(members, tiled, where, trunk)
        if not trunk or len(members) < 3:
            return points
        for runs in self.runs(members):
            if any(len(run) > 1 for run in runs) and len(runs) > 1:
                choices = [list(self.part(run, members, tiled, where, trunk)) for run in runs]
                totals = {(0, 0, 0)}
                for options in choices:
                    totals = thinned(
                        {
                            (stays + more, max(peak, high), moved + words)
                            for stays, peak, moved in totals
                            for more, high, words in options
                        }
                    )
                points = points + [(stays + peak, moved) for stays, peak, moved in totals]
        return corners(points)

    def runs(self, members):
        """All ways to cut the members into consecutive runs."""
        for count in range(1, len(members) + 1):
            for cuts in itertools.combinations(range(1, len(members)), count - 1):
                yield [
                    members[start:end]
                    for start, end in itertools.pairwise((0, *cuts, len(members)))
                ]

    def part(self, run, members, tiled, where, trunk):
        """(stays across the trunk, the most alive while the run lasts, words moved) for every way
        to run `run`.
        """
        own = [name for name in tiled if self.users[name] <= set(run)]
        finers = (
            [()]
            if len(run) == 1
            else [c for n in range(1, len(own) + 1) for c in itertools.combinations(own, n)]
        )
        for finer in finers:
            if len(run) > 1 and not self.connected(run, finer):
                continue
            both = [name for name in self.intermediates if self.users[name] <= set(run)]
            common = [
                dim
                for dim in self.bounds[run[0]]
                if len(run) > 1
                and all(dim in self.bounds[i] for i in run)
                and all(dim in self.dims(name) for name in both)
            ]
            bounds = {dim: self.bounds[run[0]][dim] for dim in common}
            for dim, count in trunk:
                if dim in bounds:
                    bounds[dim] //= count
            for inner in loops_in_every_order(bounds) if len(run) > 1 else [()]:
                if inner or len(run) == 1:
                    yield from self.nested(run, members, tiled, finer, where, trunk, inner)

    def connected(self, run, finer):
        reached = {run[0]}
        for _ in run:
            reached |= {i for name in finer if self.users[name] & reached for i in self.users[name]}
        return reached == set(run)

    def nested(self, run, members, tiled, finer, where, trunk, inner):
        """The run under `trunk` and `inner`, every choice of every member."""

        def tile(name, path):
            bounds = dict(self.bounds[min(self.users[name])])
            for dim, count in path:
                bounds[dim] //= count
            return size(bounds, self.dims(name))

        shared = {name for name in self.users if len(self.users[name] & set(members)) > 1}
        here = {name for name in self.users if len(self.users[name] & set(run)) > 1}
        outside = sum(
            tile(name, trunk)
            for name in tiled
            if name not in finer
            and min(self.users[name]) <= run[-1]
            and run[0] <= max(self.users[name])
        )
        combined = {(0, 0, 0, 0)}
        for i in run:
            moving = tuple(
                access for access in self.accesses[i] if where.get(access[0], "store") == "store"
            )
            lasting = tuple(name for name, _, _ in moving if name not in shared)
            private = tuple(name for name, _, _ in moving if name not in here)
            live = sum(
                tile(name, trunk + inner)
                for name in finer
                if min(self.users[name]) <= i <= max(self.users[name])
            )
            options = ways(moving, tuple(self.bounds[i].items()), trunk, inner, lasting, private)
            combined = thinned(
                {
                    (far + a, near + b, max(peak, live + own), moved + words)
                    for far, near, peak, moved in combined
                    for a, b, own, words in options
                }
            )
        for far, near, peak, moved in combined:
            yield far, near + peak + outside, moved


CASES = {
    "three": (CHAIN3, {"m": 2, "k": 2, "p": 4, "q": 2, "r": 2}),
    "three, wider": (CHAIN3, {"m": 2, "k": 1, "p": 2, "q": 4, "r": 2}),
    "three, larger": (CHAIN3, {"m": 4, "k": 2, "p": 4, "q": 4, "r": 3}),
    "fork": (FORK, {"m": 4, "k": 2, "p": 4, "q": 2, "r": 2}),
}


@pytest.mark.parametrize("einsums, sizes", CASES.values(), ids=CASES)
def test_every_point_of_uneven_fusion_equals_the_walk_through_every_mapping(einsums, sizes):
    load = workload(einsums, **sizes)
    assert steps(fuse(load, options=FusionOptions(uneven=True))) == Uneven(load).curve()


def test_the_walk_has_points_that_even_fusion_has_not():
    einsums, sizes = CASES["three"]
    load = workload(einsums, **sizes)
    assert Uneven(load).curve() != Tiny(load).curve()
