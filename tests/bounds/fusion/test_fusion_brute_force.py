"""FFMR against a program that shares nothing with it but the workload: it walks through every
mapping of tiny workloads.

It enumerates every order of execution, every grouping, every home of every intermediate, every
trunk, every place where a tensor can be kept, every tile and every order of loops, and counts words
by stepping through the iterations.
"""

import itertools
from functools import cache

import pytest

from solver_mapper.bounds.fusion import fuse
from tests.bound_curves import corners, steps
from tests.bounds.fusion.fusion_cases import CHAIN2, CHAIN3, FORK, JOIN, workload


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


def size(bounds, dims):
    total = 1
    for dim in dims:
        total *= bounds[dim]
    return total


def loops_in_every_order(bounds):
    """Every set of loops (dimension, iterations of at least 2), in every order."""
    for trips in itertools.product(*(divisors(bound) for bound in bounds.values())):
        real = [(dim, count) for dim, count in zip(bounds, trips, strict=True) if count > 1]
        yield from itertools.permutations(real)


def streamed(accesses, bounds, trunk, local):
    """Words moved by tensors that are fetched by the tile in every iteration of the trunk, counted
    step by step.
    """
    moved, seen = 0, {name: set() for name, _, _ in accesses}
    tile = dict(bounds)
    for dim, count in (*trunk, *local):
        tile[dim] //= count
    for outer in itertools.product(*(range(count) for _, count in trunk)):
        now = dict.fromkeys(seen)
        for inner in itertools.product(*(range(count) for _, count in local)):
            at = [*zip(trunk, outer, strict=True), *zip(local, inner, strict=True)]
            for name, dims, written in accesses:
                where = tuple(step for (dim, _), step in at if dim in dims)
                if now[name] != where:
                    moved += size(tile, dims) * (2 if written and where in seen[name] else 1)
                    seen[name].add(where)
                    now[name] = where
    return moved, sum(size(tile, dims) for _, dims, _ in accesses)


def kept(dims, written, bounds, trunk, at):
    """A tensor that is loaded in every iteration of the loops above place `at` of the trunk."""
    tile = dict(bounds)
    for dim, count in trunk[:at]:
        tile[dim] //= count
    words, moved, seen = size(tile, dims), 0, set()
    for outer in itertools.product(*(range(count) for _, count in trunk[:at])):
        where = tuple(step for (dim, _), step in zip(trunk, outer, strict=False) if dim in dims)
        moved += words * (2 if written and where in seen else 1)
        seen.add(where)
    return moved, words


@cache
def ways(accesses, bounds_items, trunk, private):
    """All (stays across the trunk, lives during one run, words moved) of one Einsum. `private`:
    tensors that may be kept.
    """
    bounds = dict(bounds_items)
    found = set()
    inside = dict(bounds)
    for dim, count in trunk:
        inside[dim] //= count
    places = [[None, *(range(len(trunk)) if name in private else ())] for name, _, _ in accesses]
    for chosen in itertools.product(*places):
        flowing = tuple(access for access, at in zip(accesses, chosen, strict=True) if at is None)
        stays = moved = 0
        for (_, dims, written), at in zip(accesses, chosen, strict=True):
            if at is not None:
                more, words = kept(dims, written, bounds, trunk, at)
                stays, moved = stays + words, moved + more
        dims = {dim: inside[dim] for dim in inside if any(dim in each for _, each, _ in flowing)}
        for local in loops_in_every_order(dims):
            more, words = streamed(flowing, bounds, trunk, local)
            found.add((stays, words, moved + more))
    return found


class Tiny:
    """A workload as the brute force sees it."""

    def __init__(self, load):
        self.bounds = [dict(einsum.bounds) for einsum in load.einsums]
        self.accesses = [
            tuple(
                (access.name, frozenset(access.variables), access.output)
                for access in einsum.accesses
            )
            for einsum in load.einsums
        ]
        self.intermediates = sorted(load.intermediates)
        self.users = {name: frozenset(load.users(name)) for name in load.tensors}
        self.needs = [
            frozenset(
                load.producers(access.name)[0]
                for access in einsum.inputs
                if load.producers(access.name)
            )
            for einsum in load.einsums
        ]

    def dims(self, name):
        return next(
            dims for accesses in self.accesses for other, dims, _ in accesses if other == name
        )

    def full(self, name):
        user = min(self.users[name])
        return size(self.bounds[user], self.dims(name))

    def curve(self):
        points = []
        homes = itertools.product(("store", "whole", "tiled"), repeat=len(self.intermediates))
        for home in homes:
            where = dict(zip(self.intermediates, home, strict=True))
            for sequence in self.sequences(frozenset(range(len(self.bounds)))):
                if all(
                    (name in self.inside(sequence))
                    for name, kind in where.items()
                    if kind == "tiled"
                ):
                    points += self.run(sequence, where)
        return corners(points)

    def inside(self, sequence):
        return {
            name
            for name in self.intermediates
            for group in sequence
            if len(group) > 1 and self.users[name] <= group
        }

    def sequences(self, rest, done=frozenset()):
        """All ways to run the Einsums in groups, one group after another."""
        if not rest:
            yield ()
        for count in range(1, len(rest) + 1):
            for group in map(frozenset, itertools.combinations(sorted(rest), count)):
                if all(self.needs[i] <= done | group for i in group):
                    for others in self.sequences(rest - group, done | group):
                        yield (group, *others)

    def run(self, sequence, where):
        totals = [(0, 0)]
        for position, group in enumerate(sequence):
            before = frozenset().union(*sequence[:position])
            after = frozenset().union(*sequence[position + 1 :])
            held = sum(
                self.full(name)
                for name, kind in where.items()
                if kind == "whole"
                and self.users[name] & (before | group)
                and self.users[name] & (group | after)
            )
            options = self.group(group, where)
            totals = corners(
                (max(peak, held + buffer), moved + more)
                for peak, moved in totals
                for buffer, more in options
            )
        return totals

    def group(self, group, where):
        members = sorted(group)
        tiled = [
            name for name, kind in where.items() if kind == "tiled" and self.users[name] <= group
        ]
        if len(members) == 1:
            return self.trunked(members, tiled, where, ()) if not tiled else []
        reached = {members[0]}
        for _ in members:
            reached |= {i for name in tiled if self.users[name] & reached for i in self.users[name]}
        if reached != group:
            return []
        bounds = self.common(members, self.passing(group, tiled))
        return corners(
            point
            for trunk in self.trunks(members, tiled, bounds)
            for point in self.trunked(members, tiled, where, trunk)
        )

    def common(self, members, both):
        """Ranks, with their bounds, that all members can loop over together while the tensors
        `both` pass between them.
        """
        return {
            dim: bound
            for dim, bound in self.bounds[members[0]].items()
            if all(dim in self.bounds[i] for i in members)
            and all(dim in self.dims(name) for name in both)
        }

    def local(self, einsum, trunk):
        """The loops of a trunk as an Einsum calls them."""
        return trunk

    def tile(self, name, trunk):
        """Words of a tensor that one iteration of a trunk touches."""
        first = min(self.users[name])
        tile = dict(self.bounds[first])
        for dim, count in self.local(first, trunk):
            tile[dim] //= count
        return size(tile, self.dims(name))

    def trunks(self, members, tiled, bounds):
        """All fused loops of a group, over ranks with `bounds`."""
        return (trunk for trunk in loops_in_every_order(bounds) if trunk)

    def passing(self, group, tiled):
        """Tensors that every loop of a trunk has to cut."""
        return [name for name in self.intermediates if self.users[name] <= group]

    def trunked(self, members, tiled, where, trunk):
        common = [name for name in self.users if len(self.users[name] & set(members)) > 1]
        combined = {(0, 0, 0)}
        for i in members:
            moving = tuple(
                access for access in self.accesses[i] if where.get(access[0], "store") == "store"
            )
            private = tuple(name for name, _, _ in moving if name not in common)
            live = 0
            for name in tiled:
                live += (
                    self.tile(name, trunk)
                    if min(self.users[name]) <= i <= max(self.users[name])
                    else 0
                )
            options = ways(moving, tuple(self.bounds[i].items()), self.local(i, trunk), private)
            combined = thinned(
                {
                    (stays + more, max(peak, live + own), moved + words)
                    for stays, peak, moved in combined
                    for more, own, words in options
                }
            )
        return corners((stays + peak, moved) for stays, peak, moved in combined)


def thinned(triples):
    """Without triples that another beats in all three figures."""
    kept = []
    for triple in sorted(triples):
        if not any(all(a <= b for a, b in zip(other, triple, strict=True)) for other in kept):
            kept.append(triple)
    return set(kept)


CASES = {
    "two": (CHAIN2, {"m": 8, "k": 4, "n": 4, "l": 4}),
    "two, odd": (CHAIN2, {"m": 6, "k": 4, "n": 8, "l": 3}),
    "two, degenerate": (CHAIN2, {"m": 3, "k": 2, "n": 4, "l": 1}),
    "three": (CHAIN3, {"m": 4, "k": 4, "p": 4, "q": 2, "r": 4}),
    "three, narrow": (CHAIN3, {"m": 4, "k": 1, "p": 2, "q": 1, "r": 2}),
    "fork": (FORK, {"m": 4, "k": 2, "p": 4, "q": 4, "r": 3}),
    "join": (JOIN, {"m": 4, "k": 4, "p": 4}),
}


@pytest.mark.parametrize("einsums, sizes", CASES.values(), ids=CASES)
def test_every_point_equals_the_walk_through_every_mapping(einsums, sizes):
    load = workload(einsums, **sizes)
    assert steps(fuse(load)) == Tiny(load).curve()
