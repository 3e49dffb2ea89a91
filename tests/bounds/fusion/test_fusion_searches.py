"""The searches behind a fused curve against each other: two for groups, two for joining them."""

from itertools import product

import pytest

import solver_mapper.bounds.fusion.groups.grid as grid
from solver_mapper.bounds.fusion.blocks import Blocks
from solver_mapper.bounds.fusion.dataflow_graph import net_of
from solver_mapper.bounds.fusion.evaluate import account
from solver_mapper.bounds.fusion.groups.candidates import groups_of
from solver_mapper.bounds.fusion.groups.group import Fuser
from solver_mapper.bounds.fusion.groups.trunk import trunks_of
from solver_mapper.bounds.fusion.join import StateJoin, joined
from solver_mapper.bounds.fusion.ordering import best_order
from solver_mapper.bounds.fusion.plan import PlanRules
from solver_mapper.bounds.fusion.solver_join import SolverJoin
from solver_mapper.errors import LimitReached
from tests.bounds.fusion.fusion_cases import (
    ATTENTION,
    CHAIN2,
    CHAIN3,
    CONVOLUTIONS,
    FORK,
    JOIN,
    SKIP,
    chains,
    workload,
)
from tests.campaigns import in_campaigns

ALL = {
    "two": (CHAIN2, {"m": 12, "k": 4, "n": 6, "l": 4}),
    "three": (CHAIN3, {"m": 4, "k": 6, "p": 4, "q": 2, "r": 4}),
    "fork": (FORK, {"m": 4, "k": 2, "p": 6, "q": 4, "r": 3}),
    "join": (JOIN, {"m": 4, "k": 4, "p": 6}),
    "attention": (ATTENTION, {"b": 2, "h": 2, "m": 4, "n": 2, "e": 2, "d": 4, "o": 2}),
    "small attention": (ATTENTION, {"b": 1, "h": 2, "m": 2, "n": 2, "e": 2, "d": 4, "o": 2}),
    "convolutions": (
        CONVOLUTIONS,
        {"p": 6, "x": 8, "r": 3, "d": 2, "c": 4, "q": 4, "s": 3, "f": 2},
    ),
}


def stairs(plans):
    return list(zip(plans.stairs.buffers.tolist(), plans.stairs.accesses.tolist(), strict=True))


SEARCHED = [*product(ALL, [False, True], [False, True])]
LONG = [each for each in SEARCHED if each[0] == "attention" and any(each[1:])]


@pytest.mark.parametrize(
    ("name", "uneven", "recompute"),
    [*(each for each in SEARCHED if each not in LONG), *in_campaigns(LONG)],
)
def test_all_trunks_at_once_equal_trunk_by_trunk(name, uneven, recompute, monkeypatch):
    """With tensors tiled evenly or unevenly, and with or without loops that run members again."""
    monkeypatch.setattr(grid, "MOST_GRIDS", 10**9)
    einsums, sizes = ALL[name]
    net = net_of(workload(einsums, **sizes))
    fuser = Fuser(net, uneven)
    for group in groups_of(net, 3, True, recompute):
        for held in (frozenset(), frozenset(net.shared) - set(group.tiled)):
            found = grid.by_grids(net, group, held, uneven)
            assert stairs(found) == stairs(fuser.group(group, held, trunks_of(net, group))), (
                group.members
            )


JOINED = {name: ALL[name] for name in ("two", "three", "fork", "join")} | {
    "skip": (SKIP, {"m": 4, "k": 2, "p": 4, "q": 2, "r": 2}),
    "apart": (chains(3), {"m": 4, "k": 2, "n": 4, "l": 2}),
}


@pytest.mark.parametrize("einsums, sizes", JOINED.values(), ids=JOINED)
@pytest.mark.parametrize(
    "rules",
    [PlanRules(), PlanRules(inputs=True), PlanRules(most=1)],
    ids=["plain", "shared inputs", "untiled"],
)
def test_cp_sat_joins_groups_to_the_same_staircase(einsums, sizes, rules):
    net = net_of(workload(einsums, **sizes))
    blocks = Blocks(net, rules)
    by_states = StateJoin(net, blocks, 10**6).plans()
    by_solver = SolverJoin(net, blocks).plans()
    assert [(plan.buffer, plan.accesses) for plan in by_solver] == [
        (plan.buffer, plan.accesses) for plan in by_states
    ]
    for plan in by_solver:
        counted = account(net, plan)
        assert (counted.buffer, counted.accesses) == (plan.buffer, plan.accesses)
    for plan in by_states[::3]:
        assert SolverJoin(net, blocks, ordered=True).within(plan.buffer).accesses == plan.accesses


def test_cp_sat_takes_over_where_states_are_too_many():
    net = net_of(workload(chains(4), m=4, k=2, n=4, l=2))
    assert StateJoin(net, Blocks(net, PlanRules()), 50).plans() is None
    by_solver, by_states = joined(net, PlanRules(states=50)), joined(net, PlanRules())
    assert [(p.buffer, p.accesses) for p in by_solver.plans] == [
        (p.buffer, p.accesses) for p in by_states.plans
    ]
    assert "CP-SAT" in by_solver.proof and "states" in by_states.proof


def test_cp_sat_says_when_figures_are_too_large_for_it():
    net = net_of(workload(CHAIN2, m=2**22, k=2**22, n=2**22, l=1))
    with pytest.raises(LimitReached, match="too large"):
        SolverJoin(net, Blocks(net, PlanRules(most=1)))


class Chosen:
    def __init__(self, *members, buffer=1):
        self.members, self.buffer = frozenset(members), buffer


def test_the_best_order_keeps_whole_tensors_out_of_the_way():
    """T1 is whole from its writer to its reader; a big Einsum runs before or after, never between.
    Groups that wait for each other in a circle have no order.
    """
    net = net_of(workload(["T1[m] = T0[m]", "T2[m] = T1[m]", "U1[m] = U0[m, k]"], m=8, k=4))
    order = best_order(net, [Chosen(0), Chosen(1), Chosen(2, buffer=100)], frozenset(["T1"]))
    assert [min(each.members) for each in order].index(2) in (0, 2)
    chain = net_of(workload(["T1[m] = T0[m]", "T2[m] = T1[m]", "T3[m] = T2[m]"], m=8))
    assert best_order(chain, [Chosen(0, 2), Chosen(1)], frozenset()) is None
