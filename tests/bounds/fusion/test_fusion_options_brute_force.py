"""Further freedoms of FFMR, and the join of v2, against a walk through everything."""

import itertools
from functools import cache

import pytest

from solver_mapper.bounds.fusion import FusionOptions, fuse
from solver_mapper.bounds.fusion.dataflow_graph import net_of
from solver_mapper.bounds.fusion.orojenesis_v2.families import families
from solver_mapper.bounds.fusion.orojenesis_v2.join import compatible, tiled_together
from solver_mapper.bounds.fusion.special import SpecialRanks
from tests.bound_curves import corners, steps
from tests.bounds.fusion.fusion_cases import ATTENTION, CHAIN2, CHAIN3, FORK, JOIN, workload
from tests.bounds.fusion.test_fusion_brute_force import (
    Tiny,
    divisors,
    kept,
    loops_in_every_order,
    size,
    streamed,
    thinned,
)


@cache
def uneven_ways(accesses, bounds_items, trunk, private):
    """`ways` of the brute force, where each tensor may also be whole for one run of the Einsum,
    whatever the others do.
    """
    bounds = dict(bounds_items)
    inside = dict(bounds)
    for dim, count in trunk:
        inside[dim] //= count
    found = set()
    places = [
        [None, len(trunk), *(range(len(trunk)) if name in private else ())]
        for name, _, _ in accesses
    ]
    for chosen in itertools.product(*places):
        flowing = tuple(access for access, at in zip(accesses, chosen, strict=True) if at is None)
        stays = own = moved = 0
        for (_, dims, written), at in zip(accesses, chosen, strict=True):
            if at is not None:
                more, words = kept(dims, written, bounds, trunk, at)
                stays, own, moved = (
                    stays + words * (at < len(trunk)),
                    own + words * (at == len(trunk)),
                    moved + more,
                )
        dims = {dim: inside[dim] for dim in inside if any(dim in each for _, each, _ in flowing)}
        for local in loops_in_every_order(dims):
            more, words = streamed(flowing, bounds, trunk, local)
            found.add((stays, own + words, moved + more))
    return found


@pytest.mark.parametrize(
    "einsums, sizes",
    [
        (CHAIN2, {"m": 4, "k": 4, "n": 4, "l": 3}),
        (FORK, {"m": 2, "k": 2, "p": 4, "q": 2, "r": 3}),
        (CHAIN3, {"m": 4, "k": 2, "p": 2, "q": 4, "r": 2}),
    ],
    ids=["two", "fork", "three"],
)
def test_uneven_tensors_equal_the_walk_through_every_mapping(einsums, sizes, monkeypatch):
    monkeypatch.setattr("tests.bounds.fusion.test_fusion_brute_force.ways", uneven_ways)
    load = workload(einsums, **sizes)
    assert steps(fuse(load, options=FusionOptions(uneven_tensors=True))) == Tiny(load).curve()


class Shared(Tiny):
    """A workload input that several Einsums read may have a home on chip, too: whole it is fetched
    once, tiled once a tile. Here all its readers are in a group, or none shares it.
    """

    def __init__(self, load):
        super().__init__(load)
        self.made = self.intermediates
        self.inputs = {name for name, users in self.users.items() if len(users) > 1} - set(
            self.made
        )
        self.intermediates = sorted(self.inputs | set(self.made))

    def run(self, sequence, where):
        whole = sum(self.full(name) for name in self.inputs if where[name] == "whole")
        return [(peak, moved + whole) for peak, moved in super().run(sequence, where)]

    def passing(self, group, tiled):
        return [
            name for name in super().passing(group, tiled) if name in self.made or name in tiled
        ]

    def trunked(self, members, tiled, where, trunk):
        fetched = 0
        for name in self.inputs & set(tiled):
            tile = dict(self.bounds[min(self.users[name])])
            rounds = 1
            for dim, count in trunk:
                tile[dim], rounds = tile[dim] // count, rounds * count
            fetched += size(tile, self.dims(name)) * rounds
        return [
            (buffer, moved + fetched)
            for buffer, moved in super().trunked(members, tiled, where, trunk)
        ]


@pytest.mark.parametrize(
    "einsums, sizes",
    [(JOIN, {"m": 2, "k": 4, "p": 4}), (JOIN, {"m": 4, "k": 2, "p": 3})],
    ids=["wide", "tall"],
)
def test_shared_inputs_equal_the_walk_through_every_mapping(einsums, sizes):
    """T0 is read by two of three Einsums."""
    load = workload(einsums, **sizes)
    assert (
        steps(fuse(load, options=FusionOptions(share_inputs=True)))
        == Shared(load).curve()
        != Tiny(load).curve()
    )


class Again(Tiny):
    """One loop of the last member, over a rank that no tiled tensor has, may stand above the fused
    loops.
    """

    def __init__(self, load):
        super().__init__(load)
        self.own = [frozenset(bounds) for bounds in self.bounds]
        everything = {dim: bound for bounds in self.bounds for dim, bound in bounds.items()}
        self.bounds = [everything | bounds for bounds in self.bounds]

    def trunks(self, members, tiled, bounds):
        bounds = {
            dim: bound for dim, bound in bounds.items() if all(dim in self.own[i] for i in members)
        }
        yield from super().trunks(members, tiled, bounds)
        outward = [
            i
            for i in members
            if any(written and name not in tiled for name, _, written in self.accesses[i])
        ]
        if len(outward) == 1 and not any(
            written and name in tiled for name, _, written in self.accesses[outward[0]]
        ):
            fixed = {
                dim for name in tiled if outward[0] in self.users[name] for dim in self.dims(name)
            }
            for dim in self.own[outward[0]] - fixed:
                for count in divisors(self.bounds[outward[0]][dim])[1:]:
                    yield from (((dim, count), *trunk) for trunk in loops_in_every_order(bounds))


@pytest.mark.parametrize(
    "einsums, sizes",
    [
        (CHAIN2, {"m": 8, "k": 2, "n": 4, "l": 4}),
        (CHAIN2, {"m": 8, "k": 2, "n": 6, "l": 4}),
        (CHAIN3, {"m": 4, "k": 1, "p": 6, "q": 3, "r": 4}),
    ],
    ids=["two", "two, odd", "three"],
)
def test_recomputation_equals_the_walk_through_every_mapping(einsums, sizes):
    load = workload(einsums, **sizes)
    assert (
        steps(fuse(load, options=FusionOptions(recompute=True)))
        == Again(load).curve()
        != Tiny(load).curve()
    )


def v2_by_hand(load, rule):
    """Every choice of a family for every Einsum, every pair of neighbours compatible; then every
    point of every family.
    """
    net = net_of(load)
    points = []
    options = [list(families(net, i, net.intermediates, rule)) for i in range(len(net.problems))]
    near = [
        (i, j)
        for i, j in itertools.combinations(range(len(options)), 2)
        if net.intermediates & set(net.problems[i].tensor_names) & set(net.problems[j].tensor_names)
    ]
    for chosen in itertools.product(*options):
        if not all(compatible(net, chosen[i], chosen[j], rule) for i, j in near):
            continue
        component = list(range(len(chosen)))
        for i, j in near:
            if tiled_together(net, chosen[i], chosen[j], rule):
                component = [component[i] if each == component[j] else each for each in component]
        totals = [
            thinned({(0, 0, row.accesses, at, row.buffer) for row in family.points})
            for at, family in enumerate(chosen)
        ]
        for rows in itertools.product(*totals):
            sums: dict[int, int] = {}
            for at, row in enumerate(rows):
                sums[component[at]] = sums.get(component[at], 0) + row[4]
            points.append((max(sums.values()), sum(row[2] for row in rows)))
    return corners(points)


V2_CASES = {
    "three": (CHAIN3, {"m": 2, "k": 1, "p": 2, "q": 2, "r": 1}, SpecialRanks()),
    "fork": (FORK, {"m": 2, "k": 1, "p": 2, "q": 2, "r": 1}, SpecialRanks()),
    "join": (JOIN, {"m": 2, "k": 2, "p": 2}, SpecialRanks()),
    "heads": (
        ATTENTION[1:3],
        {"b": 1, "h": 2, "m": 2, "n": 2, "e": 2},
        SpecialRanks(frozenset("h"), frozenset("b"), True),
    ),
}


@pytest.mark.parametrize("einsums, sizes, rule", V2_CASES.values(), ids=V2_CASES)
def test_the_join_of_v2_loses_nothing(einsums, sizes, rule):
    load = workload(einsums, **sizes)
    options = FusionOptions(
        head=tuple(rule.head), batch=tuple(rule.batch), head_is_tiled=rule.tiled
    )
    assert steps(fuse(load, "v2", options)) == v2_by_hand(load, rule)
