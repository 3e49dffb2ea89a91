"""Fused curves that were recorded: Orojenesis v2's rules, its compatibility table, and the template
of the paper.
"""

import json
import pathlib

import pytest

from solver_mapper.bounds.fusion import fuse
from solver_mapper.bounds.fusion.dataflow_graph import net_of
from solver_mapper.bounds.fusion.orojenesis_v2.families import Family
from solver_mapper.bounds.fusion.orojenesis_v2.join import compatible, tiled_together
from solver_mapper.bounds.fusion.special import SpecialRanks
from tests.bound_curves import steps
from tests.bounds.fusion.fusion_cases import CHAIN2, workload

RECORDED = json.loads(
    (pathlib.Path(__file__).parents[2] / "data/orojenesis/curves.json").read_text()
)


def points(rows):
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("case", RECORDED["fused_v2_two_einsum"], ids=lambda case: case["name"])
def test_v2_equals_the_recorded_best_curve(case):
    curve = fuse(workload(CHAIN2, m=case["M"], k=case["K"], n=case["N"], l=case["L"]), "v2")
    assert steps(curve) == points(case["curves"]["best"])
    assert curve.beside["unfused"] == tuple(points(case["curves"]["unfused"]))


@pytest.mark.parametrize("case", RECORDED["fused_v2_two_einsum"], ids=lambda case: case["name"])
def test_ffmr_is_never_worse_than_the_recorded_v2_curve(case):
    curve = fuse(workload(CHAIN2, m=case["M"], k=case["K"], n=case["N"], l=case["L"]))
    assert all(curve.accesses(buffer) <= accesses for buffer, accesses in case["curves"]["best"])


def chain(case):
    widths = case["widths"]
    einsums = [
        f"T{i + 1}[m, n{i + 1}] = T{i}[m, n{i}] * W{i}[n{i}, n{i + 1}]"
        for i in range(len(widths) - 1)
    ]
    return workload(einsums, m=case["M"], **{f"n{i}": width for i, width in enumerate(widths)})


@pytest.mark.parametrize("case", RECORDED["fused_v1_ffmt_chain"], ids=lambda case: case["name"])
def test_ffmt_equals_the_recorded_curve_and_ffmr_is_never_worse(case):
    want = points(case["curves"]["sumA_maxM"])
    assert steps(fuse(chain(case), "ffmt")) == want
    general = fuse(chain(case))
    assert all(general.accesses(buffer) <= accesses for buffer, accesses in want)


def family(einsum, text):
    """The family that an entry of the recorded table describes: "unfused", "C:" or "C:M,N"."""
    fused, _, loops = text.partition(":")
    return Family(
        einsum,
        frozenset() if text == "unfused" else frozenset([fused.strip()]),
        tuple(loop.lower() for loop in loops.split(",") if loop.strip()),
        None,
        (),
    )


@pytest.mark.parametrize("pair", RECORDED["v2_compatibility_table"]["table"])
def test_compatibility_equals_the_published_code(pair):
    net = net_of(workload(CHAIN2, m=8, k=4, n=8, l=4))
    one, other = (family(i, text.strip()) for i, text in enumerate(pair.split(" | ")))
    want = RECORDED["v2_compatibility_table"]["table"][pair]
    assert compatible(net, one, other, SpecialRanks()) == want["compatible"]
    assert ("sum" if tiled_together(net, one, other, SpecialRanks()) else "max") == want["capacity"]


def test_the_worked_example_of_the_seed_rule():
    """64 rows, 32 -> 128 -> 32, one row at a time: resident weights are additive, activations
    maximal.
    """
    curve = fuse(
        workload(
            ["T1[m, p] = T0[m, k] * W0[k, p]", "T2[m, q] = T1[m, p] * W1[p, q]"],
            m=64,
            k=32,
            p=128,
            q=32,
        ),
        "ffmt",
    )
    last = curve.points[-1]
    assert (last.buffer, last.accesses) == (2 * 32 * 128 + 32 + 128, 2 * 64 * 32 + 2 * 32 * 128)
    assert sum(choice.additive for choice in last.plan.steps[0].plan.choices) == 8192


def test_slip_where_one_rank_of_the_writer_is_two_of_the_reader():
    """A channel rank written as one variable and read as head and channel of the head: loops (d)
    match loops (h, e) in either order, for the writer may take its channels in any.
    """
    net = net_of(
        workload(
            ["Q[m, d] = X[m, k] * W[k, d]", "S[m, h, e] = Q[m, D: 4*h + e] * V[h, e]"],
            m=4,
            k=2,
            d=8,
            h=2,
            e=4,
        )
    )
    writer = Family(0, frozenset("Q"), ("m", "d"), None, ())

    def reader(*loops):
        return Family(1, frozenset("Q"), loops, None, ())

    def agree(one, other):
        assert compatible(net, one, other, SpecialRanks()) == compatible(
            net, other, one, SpecialRanks()
        )
        return compatible(net, one, other, SpecialRanks())

    assert all(
        agree(writer, reader("m", *loops)) for loops in (("h", "e"), ("e", "h"), ("h",), ("e",))
    )
    assert not agree(writer, reader("h", "m")) and not agree(writer, reader("m"))


def test_digits_of_two_einsums_that_split_a_rank_alike_do_not_overlap():
    einsums = ["Q[m, D: 4*h + e] = X[m, k] * W[k, h, e]", "S[m, g, f] = Q[m, D: 4*g + f] * V[g, f]"]
    net = net_of(workload(einsums, m=4, k=2, h=2, e=4, g=2, f=4))

    def agree(mine, yours):
        return compatible(
            net,
            *(
                Family(i, frozenset("Q"), tuple(loops), None, ())
                for i, loops in enumerate((mine, yours))
            ),
            SpecialRanks(),
        )

    assert agree("he", "gf") and agree("eh", "fg") and agree("h", "g") and agree("me", "mf")
    assert not agree("he", "fg") and not agree("h", "f") and not agree("he", "g")


def test_where_v2_claims_what_no_execution_attains():
    """The writer makes 8 x 1 blocks of C with n innermost, the reader takes 4 x 1 blocks in that
    order: it needs all 16 columns of its first four rows before the next four, which the claimed 68
    words have no room for. FFMR does not repeat the claim.
    """
    load = workload(CHAIN2, m=16, k=4, n=16, l=4)
    claimed = fuse(load, "v2").at(68)
    assert [found.tile["m"] for _, found in claimed.chosen] == [8, 4] and claimed.accesses == 512
    assert fuse(load).accesses(68) == 640
