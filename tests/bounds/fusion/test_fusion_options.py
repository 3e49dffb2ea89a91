"""What options do to a fused curve, what is refused, and what a curve says of itself."""

import io
import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.bounds import bound
from solver_mapper.bounds.fusion import FusionOptions, fuse
from solver_mapper.bounds.fusion.dataflow_graph import net_of
from solver_mapper.bounds.fusion.fuse import must_names
from solver_mapper.cli.app import app
from solver_mapper.errors import InfeasibleError, InputError
from tests.bound_curves import steps
from tests.bounds.fusion.fusion_cases import (
    ATTENTION,
    CHAIN2,
    CHAIN3,
    CONVOLUTIONS,
    FORK,
    JOIN,
    workload,
)

MACHINE = """
arch:
  nodes:
  - !Memory {name: MainMemory, size: inf, leak_power: 0, area: 0,
             actions: [{name: read, energy: 1, latency: 0}, {name: write, energy: 1, latency: 0}]}
  - !Memory {name: Buffer, size: 512, leak_power: 0, area: 0,
             actions: [{name: read, energy: 0, latency: 0}, {name: write, energy: 0, latency: 0}]}
  - !Compute {name: MAC, leak_power: 0, area: 0, actions: [{name: compute, energy: 0, latency: 0}]}
"""
SIZES = {"m": 8, "k": 4, "n": 8, "l": 4}


def fused(curve):
    return [set(point.fused) for point in curve.points]


def test_unfused_is_the_sum_of_the_bounds_at_equal_buffers():
    load = workload(CHAIN2, **SIZES)
    one, other = (bound(einsum.problem) for einsum in load.einsums)
    curve = fuse(load)
    buffers = sorted({buffer for each in (one, other) for buffer, _ in steps(each)})
    assert curve.beside["unfused"] == tuple(
        (buffer, one.accesses(buffer) + other.accesses(buffer)) for buffer in buffers
    )


def test_one_einsum_alone_has_its_bound():
    load = workload(CHAIN2[:1], m=8, k=4, n=8)
    assert steps(fuse(load)) == steps(bound(load.einsums[0].problem))


@given(st.tuples(*[st.sampled_from([1, 2, 3, 4, 6, 8, 12])] * 5), st.sampled_from([CHAIN3, FORK]))
@settings(max_examples=20, deadline=None)
def test_more_freedom_is_never_worse(shape, einsums):
    """Unfused, untiled, pairs, everything: each curve lies on or below the one before."""
    load = workload(einsums, **dict(zip("mkpqr", shape, strict=True)))
    curve = fuse(load)
    pairs = steps(fuse(load, options=FusionOptions(most=2)))
    order = [curve.beside["unfused"], curve.beside["untiled fusion"], pairs, steps(curve)]
    for less, more in itertools.pairwise(order):
        for buffer, accesses in less:
            assert min(each for size, each in more if size <= buffer) <= accesses


def test_must_and_never_fuse():
    load = workload(CHAIN3, m=8, k=4, p=8, q=4, r=4)
    assert all(
        "T1" in names for names in fused(fuse(load, options=FusionOptions(must_fuse=("T1",))))
    )
    never = fuse(load, options=FusionOptions(never_fuse=("T1", "T2")))
    assert fused(never) == [set()] * len(never.points) and steps(never) == list(
        fuse(load).beside["unfused"]
    )
    for template in ("ffmr", "v2"):
        curve = fuse(load, template, FusionOptions(must_fuse=("T1",), never_fuse=("T2",)))
        assert all(names == {"T1"} for names in fused(curve))


def test_what_small_einsums_read_must_be_fused_if_asked_for():
    """An elementwise step has one input; a bias is more than 128 times smaller than what it is
    added to.
    """
    einsums = [
        "T1[m, p] = T0[m, k] * W0[k, p]",
        "T2[m, p] = T1[m, p]",
        "T3[m, p] = T2[m, p] * B[p]",
    ]
    easily = FusionOptions(must_fuse_easily=True)
    assert must_names(net_of(workload(einsums, m=512, k=4, p=4)), easily) == {"T1", "T2"}
    assert must_names(net_of(workload(einsums, m=128, k=4, p=4)), easily) == {"T1"}
    assert must_names(net_of(workload(einsums, m=512, k=4, p=4)), FusionOptions()) == set()
    for template in ("ffmr", "v2"):
        assert all(
            {"T1", "T2"} <= names
            for names in fused(fuse(workload(einsums, m=512, k=4, p=4), template, easily))
        )


def test_heads_and_batches_stand_outermost_if_asked_for():
    load = workload(ATTENTION[1:3], b=2, h=4, m=4, n=4, e=2)
    for template in ("ffmr", "v2"):
        free = fuse(load, template)
        curve = fuse(load, template, FusionOptions(head=("h",), batch=("b",)))
        assert all(free.accesses(point.buffer) <= point.accesses for point in curve.points)
    for point in fuse(load, options=FusionOptions(head=("h",), batch=("b",))).points:
        for step in point.plan.steps:
            assert not step.plan.trunk or step.plan.trunk[0].ranks[0].name == "h"


def test_whether_heads_make_v2_footprints_additive():
    """Two batched products that share nothing but the head: their tiles add only if heads count as
    tiled fusion.
    """
    einsums = ["S[h, m, n] = Q[h, m, e] * K[h, e, n]", "O[h, m, f] = S[h, m, n] * V[h, n, f]"]
    load = workload(einsums, h=4, m=2, n=2, e=2, f=2)
    apart, together = (
        fuse(load, "v2", FusionOptions(head=("h",), head_is_tiled=flag, must_fuse=("S",)))
        for flag in (False, True)
    )
    assert apart.least == together.least
    assert apart.enough < together.enough


def test_inputs_that_several_einsums_read_may_be_shared():
    load = workload(JOIN, m=6, k=4, p=8)
    own, shared = fuse(load), fuse(load, options=FusionOptions(share_inputs=True))
    assert own.least == shared.least + 6 * 4 and shared.least == shared.algorithmic_minimum
    assert all(shared.accesses(point.buffer) <= point.accesses for point in own.points)
    assert any("T0" in names for names in fused(shared))


def test_recomputation_may_lower_the_curve_and_says_so():
    load = workload(CHAIN2, **SIZES)
    once, again = fuse(load), fuse(load, options=FusionOptions(recompute=True))
    assert again.accesses(55) == 160 < once.accesses(55)
    assert (
        "no Einsum runs twice" in once.assumptions
        and "no Einsum runs twice" not in again.assumptions
    )


@pytest.mark.parametrize(
    "einsum, sizes",
    [
        (CHAIN2[0], {"m": 8, "k": 6, "n": 4}),
        (CONVOLUTIONS[0], {"p": 6, "x": 8, "r": 3, "d": 2, "c": 4}),
    ],
    ids=["product", "windows"],
)
def test_uneven_tensors_are_whole_while_others_are_tiled(einsum, sizes):
    """By the rules of v2 and by FFMR, which put it down differently, one Einsum has the same curve;
    never above the even one.
    """
    load, options = workload([einsum], **sizes), FusionOptions(uneven_tensors=True)
    even, uneven = fuse(load, "v2"), fuse(load, "v2", options)
    assert steps(uneven) == steps(fuse(load, options=options))
    assert all(uneven.accesses(point.buffer) <= point.accesses for point in even.points)
    assert any(point.accesses < even.accesses(point.buffer) for point in uneven.points)


def test_v2_fuses_uneven_tensors():
    """Both weights held whole (32 each), a row of A and of E (4 each), one word of C that counts on
    both sides.
    """
    load = workload(CHAIN2, **SIZES)
    even, uneven = fuse(load, "v2"), fuse(load, "v2", FusionOptions(uneven_tensors=True))
    assert (even.enough, uneven.enough) == (80, 74)
    assert [row.whole for _, row in uneven.points[-1].chosen] == [("B",), ("D",)]


def test_windows_are_fused_whole_only():
    """A rank that a window reads cannot be cut between writer and reader; channels can."""
    curve = fuse(workload(CONVOLUTIONS, p=6, x=8, r=3, d=2, c=4, q=4, s=3, f=2))
    loops = {
        rank.name
        for point in curve.points
        for step in point.plan.steps
        for loop in step.plan.trunk
        for rank in loop.ranks
    }
    assert loops <= {"c"} and curve.least == curve.algorithmic_minimum


def test_word_sizes_weigh_the_tensors():
    text = {
        "workload": {
            "rank_sizes": {r.upper(): s for r, s in SIZES.items()},
            "einsums": CHAIN2,
            "bits_per_value": {"All - C": 8, "C": 32},
        }
    }
    curve = sm.fuse(sm.load(text))
    assert curve.units == "bytes"
    assert curve.points[0].buffer == 1 + 1 + 4
    same = {"workload": {**text["workload"], "bits_per_value": {"All": 8}}}
    assert sm.fuse(sm.load(same)).units == "words"


def test_instances_multiply_traffic_only():
    einsums = [{"einsum": CHAIN2[0], "n_instances": 3}, {"einsum": CHAIN2[1], "n_instances": 3}]
    many, one = fuse(workload(einsums, **SIZES)), fuse(workload(CHAIN2, **SIZES))
    assert steps(many) == [(buffer, 3 * accesses) for buffer, accesses in steps(one)]


def test_einsums_of_different_instances_are_not_fused():
    curve = fuse(workload([{"einsum": CHAIN2[0], "n_instances": 3}, CHAIN2[1]], **SIZES))
    assert steps(curve) == list(curve.beside["unfused"])


def test_figures_beyond_64_bits_are_exact():
    curve = fuse(
        workload(CHAIN2, m=2**22, k=2**22, n=2**22, l=1), options=FusionOptions(never_fuse=("C",))
    )
    assert net_of(workload(CHAIN2, m=2**22, k=2**22, n=2**22, l=1)).dtype == object
    assert curve.points[0].accesses == 2**44 + 2**67 + (2**22 + 2**45)


@pytest.mark.parametrize(
    "template, options, message",
    [
        ("best", {}, "unknown template"),
        ("ffmr", {"must_fuse": ("X",)}, "unknown intermediate tensor 'X'"),
        ("ffmr", {"must_fuse": ("A",)}, "unknown intermediate tensor 'A'"),
        ("ffmr", {"must_fuse": ("C",), "never_fuse": ("C",)}, "both among"),
        ("ffmr", {"head": ("z",)}, "unknown rank variable 'z'"),
        (
            "ffmr",
            {"head": ("m",), "batch": ("n", "m")},
            "'m' is both among the heads and among the batches",
        ),
        ("ffmr", {"most": 0}, "at least 1"),
        ("ffmr", {"head_is_tiled": True}, "no meaning for the template 'ffmr'"),
        ("ffmt", {"uneven": True}, "no meaning for the template 'ffmt'"),
        ("v2", {"recompute": True}, "no meaning for the template 'v2'"),
        ("ffmr", {"uneven": True, "recompute": True}, "cannot be combined"),
    ],
)
def test_options_that_make_no_sense_are_refused(template, options, message):
    with pytest.raises(InputError, match=message):
        fuse(workload(CHAIN2, **SIZES), template, FusionOptions(**options))


@pytest.mark.parametrize(
    "einsums, sizes",
    [
        (FORK, {"m": 4, "k": 4, "p": 4, "q": 4, "r": 4}),
        (
            ["S[h, m, n] = Q[h, m, e] * K[h, e, n]", "O[m, f] = S[h, m, n] * V[h, m, n, f]"],
            {"h": 2, "m": 2, "n": 2, "e": 2, "f": 2},
        ),
    ],
)
def test_ffmt_is_for_chains_with_rows(einsums, sizes):
    with pytest.raises(InputError, match="chains of matrix products"):
        fuse(workload(einsums, **sizes), "ffmt")


def test_a_tensor_that_cannot_be_fused_must_not_have_to_be():
    load = workload([{"einsum": CHAIN2[0], "n_instances": 3}, CHAIN2[1]], **SIZES)
    with pytest.raises(InfeasibleError):
        fuse(load, options=FusionOptions(must_fuse=("C",)))


def test_the_command_and_the_contract(tmp_path):
    file = tmp_path / "work.yaml"
    file.write_text(
        "workload:\n  rank_sizes: {M: 8, K: 4, N: 8, L: 4}\n  einsums:\n"
        + "".join(f"  - {each}\n" for each in CHAIN2)
    )
    run = CliRunner().invoke(app, ["fuse", str(file), "--json"])
    shown = json.loads(run.stdout)
    assert (
        shown["curve"][0].keys() >= {"buffer", "accesses", "fused", "mapping"}
        and shown["template"] == "ffmr"
    )
    assert shown["beside"]["unfused"][0] == [3, 1120]
    assert CliRunner().invoke(app, ["fuse", str(file), "-o", str(tmp_path / "out")]).exit_code == 0
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert (
        written[:4] == ["curve.csv", "curve.json", "curve.svg", "curve.txt"]
        and "mapping_73.yaml" in written
    )
    assert CliRunner().invoke(app, ["fuse", str(file), "--tensor-core", "m=1"]).exit_code == 2
    assert (
        CliRunner().invoke(app, ["fuse", str(file), "--template", "v2", "--head", "q"]).exit_code
        == 2
    )
    lone = json.loads(
        CliRunner().invoke(app, ["bound", str(file), "--einsum", "E", "--json"]).stdout
    )
    assert lone["curve"][0]["buffer"] == 3
    assert CliRunner().invoke(app, ["bound", str(file)]).exit_code == 2


def test_the_machines_memories_are_marked():
    spec = sm.load(
        {
            "workload": {
                "rank_sizes": {r.upper(): s for r, s in SIZES.items()},
                "einsums": CHAIN2,
                "bits_per_value": {"All": 8},
            }
        },
        io.StringIO(MACHINE),
    )
    assert [(mark.name, mark.buffer) for mark in sm.fuse(spec).marks] == [("Buffer", 64)]
    assert [(mark.name, mark.buffer) for mark in sm.bound(spec, einsum="C").marks] == [
        ("Buffer", 64)
    ]
