"""Ranks called head or batch: their fused loops stand outermost by the rules of Orojenesis v2, as a
default of that template.
"""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.bounds.fusion import FusionOptions, fuse
from solver_mapper.bounds.fusion.dataflow_graph import net_of
from solver_mapper.bounds.fusion.orojenesis_v2.families import families
from solver_mapper.bounds.fusion.special import SpecialRanks, named
from solver_mapper.cli import app
from solver_mapper.errors import InputError
from tests.bound_curves import steps
from tests.bounds.fusion.execution_trace import Trace
from tests.bounds.fusion.fusion_cases import workload

ATTENTION = [
    "S[batch, head, m, n] = Q[batch, head, m, e] * K[batch, head, n, e]",
    "P[batch, head, m, n] = S[batch, head, m, n]",
    "O[batch, head, m, f] = P[batch, head, m, n] * V[batch, head, n, f]",
]
SIZES = {"batch": 2, "head": 2, "m": 2, "n": 2, "e": 1, "f": 1}
PAIR = [
    "S[head, m, n] = Q[head, m, e] * K[head, n, e]",
    "O[head, m, f] = S[head, m, n] * V[head, n, f]",
]
PAIR_SIZES = {"head": 4, "m": 2, "n": 2, "e": 2, "f": 2}
SPECIAL = SpecialRanks(frozenset({"head"}), frozenset({"batch"}))
STEP = ["T1[m, p] = T0[m, k] * W0[k, p]", "T2[m, p] = T1[m, p]"]


def loops_of(net, einsum, fused, special=SPECIAL):
    """The fused loops of the families of an Einsum that fuse exactly these tensors."""
    return {
        family.loops
        for family in families(net, einsum, net.intermediates, special)
        if family.fused == frozenset(fused)
    }


def test_names_with_head_or_batch_are_special_whatever_their_case():
    load = sm.load(
        {
            "workload": {
                "rank_sizes": {"Batch": 2, "Q_HEADS": 2, "M": 2},
                "einsums": ["C[Batch: b, q_heads, m] = A[Batch: b, q_heads, m] * B[m]"],
            }
        }
    ).workload
    assert named(load) == SpecialRanks(frozenset({"q_heads"}), frozenset({"b"}))
    assert named(workload(STEP, m=2, k=2, p=2)) == SpecialRanks()


def test_a_head_rank_is_the_outermost_fused_loop():
    net = net_of(workload(ATTENTION, **SIZES))
    assert all(
        loops[:1] in ((), ("head",))
        for i in range(3)
        for loops in loops_of(net, i, {"S"} if i < 2 else {"P"})
    )
    assert ("m",) in loops_of(net, 0, {"S"}, SpecialRanks())
    assert () in loops_of(net, 0, {"S"}), "without fused loops nothing is asked for"


def test_a_batch_rank_comes_next_in_operations_of_three_tensors():
    net = net_of(workload(ATTENTION, **SIZES))
    product, elementwise = loops_of(net, 0, {"S"}), loops_of(net, 1, {"S", "P"})
    assert all(loops[:2] == ("head", "batch") for loops in product if loops)
    assert {
        ("head",),
        ("head", "m"),
        ("head", "batch", "m"),
    } <= elementwise, "elementwise steps are not forced under a batch"


@pytest.mark.parametrize(
    "operands",
    [
        "Q[batch, head, m, e] * K[head, n, e]",
        "Q[batch, head, m, e, batch_q] * K[batch, head, n, e]",
    ],
    ids=["not of all tensors", "one of two"],
)
def test_a_batch_rank_that_is_not_the_one_of_all_tensors_is_free(operands):
    load = workload([f"S[batch, head, m, n] = {operands}", *ATTENTION[1:]], **SIZES, batch_q=2)
    assert ("head", "m") in loops_of(net_of(load), 0, {"S"}, named(load))


def test_a_batch_rank_without_a_head_rank_is_free():
    net = net_of(
        workload(
            ["S[batch, m, n] = Q[batch, m, e] * K[batch, n, e]", "O[batch, m, n] = S[batch, m, n]"],
            batch=2,
            m=2,
            n=2,
            e=2,
        )
    )
    assert ("m",) in loops_of(net, 0, {"S"})


def test_a_head_rank_of_one_value_is_none():
    net = net_of(workload(ATTENTION, **{**SIZES, "head": 1}))
    assert ("m",) in loops_of(net, 0, {"S"})


def test_v2_takes_names_by_default_and_ffmr_does_not():
    """The same workload with ranks of other names is the one where the rules are switched off."""
    load = workload(PAIR, **PAIR_SIZES)
    other = workload([each.replace("head", "h") for each in PAIR], h=4, m=2, n=2, e=2, f=2)
    for template, default in (("v2", True), ("ffmr", False)):
        off, on, plain = (
            steps(fuse(load, template, FusionOptions(special=flag))) for flag in (False, True, None)
        )
        assert (
            off
            == steps(fuse(other, template))
            == steps(fuse(other, template, FusionOptions(special=True)))
        )
        assert plain == (on if default else off)
        assert on == steps(fuse(other, template, FusionOptions(head=("h",))))
    assert all(
        min(moved for size, moved in off if size <= buffer) <= accesses for buffer, accesses in on
    ), "ffmr: less choice"
    assert steps(fuse(load, "v2")) != steps(fuse(load, "v2", FusionOptions(special=False)))


def test_ffmr_under_the_rules_has_heads_outermost_and_can_be_executed():
    curve = fuse(workload(ATTENTION, **SIZES), options=FusionOptions(special=True))
    trunks = [
        [rank.name for loop in step.plan.trunk for rank in loop.ranks]
        for point in curve.points
        for step in point.plan.steps
        if len(step.plan.members) > 1
    ]
    assert trunks and all(trunk[:2] == ["head", "batch"] for trunk in trunks)
    for point in curve.points:
        trace = Trace(point.net, point.plan)
        assert (trace.accesses, trace.peak <= point.buffer) == (point.accesses, True)


def test_a_head_that_not_all_tensors_have_need_not_be_cut_completely():
    """Q has heads, X does not: fewer, larger pieces of heads fetch X less often."""
    load = workload(
        ["Q[head, m, e] = X[m, d] * W[d, head, e]", "S[head, m, e] = Q[head, m, e] * B[head, e]"],
        head=4,
        m=4,
        d=4,
        e=2,
    )
    curve = fuse(load, options=FusionOptions(special=True))
    trips = {
        loop.trips
        for point in curve.points
        for step in point.plan.steps
        for loop in step.plan.trunk[:1]
    }
    assert trips & {2} and trips & {4}


def test_ffmr_forces_a_batch_only_where_the_rules_do():
    """The pair of elementwise steps has two tensors each."""
    load = workload(
        ["P[batch, head, m] = S[batch, head, m]", "R[batch, head, m] = P[batch, head, m]"],
        batch=4,
        head=2,
        m=4,
    )
    net = net_of(load)
    curve = fuse(load, options=FusionOptions(special=True, must_fuse=("P",)))
    assert curve.points[0].accesses == 2 * 4 * 2 * 4
    assert SPECIAL.batch_of(net.problems[0]) is None


def test_elementwise_steps_of_v2_fuse_over_any_of_their_ranks(monkeypatch):
    """docs/reference/conventions.md: 60 words for the least traffic. The published architecture
    file leaves T2 fused loops over all of its ranks with tiles of one word alone: 80 words.
    """
    load = workload(STEP, m=8, k=4, p=8)
    assert steps(fuse(load, "v2"))[-1] == (60, 128)
    net = net_of(load)
    assert loops_of(net, 1, {"T1"}, SpecialRanks()) == {(), ("m",), ("p",), ("m", "p"), ("p", "m")}

    def published(net, einsum, fusable, *rest):
        """A loop over a special rank that all tensors have cuts it completely."""
        if einsum == 0:
            yield from families(net, einsum, fusable, *rest)
        else:
            strict = SpecialRanks(frozenset({"m", "p"}))
            yield from (
                family
                for family in families(net, einsum, fusable, strict)
                if family.loops or not family.fused
            )

    monkeypatch.setattr("solver_mapper.bounds.fusion.orojenesis_v2.graph_join.families", published)
    assert steps(fuse(load, "v2"))[-1] == (80, 128)


def test_the_command_switches_the_rules(tmp_path):
    file = tmp_path / "work.yaml"
    file.write_text(
        "workload:\n  rank_sizes: {HEAD: 4, M: 2, N: 2, E: 2, F: 2}\n  einsums:\n"
        + "".join(f"  - {each}\n" for each in PAIR)
    )

    def run(*words):
        shown = CliRunner().invoke(app, ["fuse", str(file), "--json", *words])
        return [(point["buffer"], point["accesses"]) for point in json.loads(shown.stdout)["curve"]]

    load = workload(PAIR, **PAIR_SIZES)
    assert (
        run("--template", "v2")
        == run("--template", "v2", "--special-ranks")
        == steps(fuse(load, "v2"))
    )
    assert run("--template", "v2", "--no-special-ranks") == steps(
        fuse(load, "v2", FusionOptions(special=False))
    )
    assert run("--special-ranks") == steps(fuse(load, options=FusionOptions(special=True)))


def test_the_rules_have_no_meaning_for_ffmt():
    with pytest.raises(InputError, match="'special' has no meaning for the template 'ffmt'"):
        fuse(workload(STEP, m=2, k=2, p=2), "ffmt", FusionOptions(special=True))
