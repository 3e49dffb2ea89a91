"""Every witness of a fused curve, judged by the LoopTree model."""

import io
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver_mapper as sm
from solver_mapper.bounds.fusion import FusionOptions, TensorCore, fuse
from tests.bounds.fusion.fusion_cases import ATTENTION, CHAIN2, CHAIN3, FORK, JOIN, workload
from tests.campaigns import in_campaigns

SNOWCAT = """
arch:
  nodes:
  - !Memory {name: MainMemory, size: inf, leak_power: 0, area: 0,
             actions: [{name: read, energy: 1, latency: 0}, {name: write, energy: 1, latency: 0}]}
  - !Memory {name: Buffer, size: 1000000, leak_power: 0, area: 0,
             actions: [{name: read, energy: 0, latency: 0}, {name: write, energy: 0, latency: 0}]}
  - !Compute {name: MAC, leak_power: 0, area: 0, actions: [{name: compute, energy: 0, latency: 0}]}
"""


def judged(einsums, sizes, options=None, template="ffmr"):
    """For each point: (buffer, accesses, the model's occupancy, the model's traffic of the main
    memory).
    """
    ranks = {rank.upper(): size for rank, size in sizes.items()}
    spec = sm.load(
        io.StringIO(SNOWCAT),
        {"workload": {"rank_sizes": ranks, "einsums": einsums, "bits_per_value": {"All": 1}}},
    )
    for point in fuse(workload(einsums, **sizes), template, options or FusionOptions()).points:
        statistics = sm.evaluate(spec, point.mapping)
        traffic = sum(
            row.actions
            for einsum in statistics.einsums
            for row in einsum.actions
            if row.component == "MainMemory"
        )
        yield point, statistics.occupancy["Buffer"].bits, traffic


EVEN = {
    "two": (CHAIN2, {"m": 8, "k": 4, "n": 8, "l": 4}),
    "three": (CHAIN3, {"m": 8, "k": 4, "p": 8, "q": 4, "r": 4}),
    "fork": (FORK, {"m": 8, "k": 4, "p": 6, "q": 2, "r": 4}),
    "join": (JOIN, {"m": 6, "k": 4, "p": 8}),
    "attention": (ATTENTION, {"b": 2, "h": 2, "m": 4, "n": 2, "e": 2, "d": 4, "o": 2}),
}
LARGER = (ATTENTION, {"b": 2, "h": 4, "m": 4, "n": 4, "e": 2, "d": 8, "o": 8})


OPTIONS = {
    "plain": FusionOptions(),
    "uneven tensors": FusionOptions(uneven_tensors=True),
    "pairs": FusionOptions(most=2),
}
LONG = [("attention", "uneven tensors"), *product(["larger attention"], OPTIONS)]


@pytest.mark.parametrize(
    ("name", "options"), [*sorted({*product(EVEN, OPTIONS)} - {*LONG}), *in_campaigns(LONG)]
)
def test_the_looptree_model_counts_what_every_witness_claims(name, options):
    networks = EVEN | {"larger attention": LARGER}
    for point, occupied, traffic in judged(*networks[name], OPTIONS[options]):
        assert traffic == point.accesses
        assert occupied <= point.buffer


def test_a_shared_input_is_charged_to_each_reader_by_the_looptree_model():
    """T0 (6 x 4) is read by two Einsums. The curve fetches it once; LoopTree once for each."""
    shared = 0
    for point, occupied, traffic in judged(*EVEN["join"], FusionOptions(share_inputs=True)):
        assert traffic - point.accesses == (6 * 4 if "T0" in point.fused else 0)
        assert occupied <= point.buffer
        shared += "T0" in point.fused
    assert shared


UNEVEN = {
    "three": (CHAIN3, {"m": 8, "k": 2, "p": 16, "q": 2, "r": 16}),
    "fork": (FORK, {"m": 4, "k": 2, "p": 4, "q": 4, "r": 2}),
}


@pytest.mark.parametrize("einsums, sizes", UNEVEN.values(), ids=UNEVEN)
def test_uneven_fusion_is_counted_right_and_never_worse_than_even(einsums, sizes):
    even = fuse(workload(einsums, **sizes))
    curve = fuse(workload(einsums, **sizes), options=FusionOptions(uneven=True))
    assert curve.beside["even fusion"] == tuple(
        (point.buffer, point.accesses) for point in even.points
    )
    assert all(curve.accesses(point.buffer) <= point.accesses for point in even.points)
    for point, occupied, traffic in judged(einsums, sizes, FusionOptions(uneven=True)):
        assert traffic == point.accesses
        assert occupied <= point.buffer


def test_uneven_fusion_gains():
    """Three Einsums over m; the first two also over p, while the third waits for all of a row
    block.
    """
    curve = fuse(workload(CHAIN3, m=8, k=4, p=8, q=4, r=4), options=FusionOptions(uneven=True))
    gained = curve.at(37)
    assert (
        gained.accesses
        == 224
        < min(accesses for buffer, accesses in curve.beside["even fusion"] if buffer <= 37)
    )
    part = gained.plan.steps[0].plan.parts[0]
    assert part.members == (0, 1) and part.tiled == ("T1",)
    assert "Against even fusion: up to 1.21 times less" in str(curve)


@given(st.tuples(*[st.sampled_from([1, 2, 3, 4, 6, 8, 12])] * 4))
@settings(max_examples=25, deadline=None)
def test_pairs_of_all_shapes_are_counted_right(shape):
    for point, occupied, traffic in judged(CHAIN2, dict(zip("mknl", shape, strict=True))):
        assert traffic == point.accesses
        assert occupied <= point.buffer


@given(st.tuples(*[st.sampled_from([1, 2, 3, 4, 6, 8])] * 4), st.sampled_from([2, 4]))
@settings(max_examples=15, deadline=None)
def test_ffmr_is_never_worse_than_ffmt(shape, third):
    sizes = dict(zip("mkpq", shape, strict=True)) | {"r": third}
    load = workload(CHAIN3, **sizes)
    if sizes["m"] == 1:
        return
    general = fuse(load)
    for point in fuse(load, "ffmt").points:
        assert general.accesses(point.buffer) <= point.accesses


def test_written_mappings_can_be_read_again():
    for point, _, traffic in judged(CHAIN2, {"m": 8, "k": 4, "n": 8, "l": 4}):
        spec = sm.load(
            io.StringIO(SNOWCAT),
            io.StringIO(point.mapping.to_yaml()),
            {
                "workload": {
                    "rank_sizes": {"M": 8, "K": 4, "N": 8, "L": 4},
                    "einsums": CHAIN2,
                    "bits_per_value": {"All": 1},
                }
            },
        )
        statistics = sm.evaluate(spec)
        assert (
            sum(
                row.actions
                for each in statistics.einsums
                for row in each.actions
                if row.component == "MainMemory"
            )
            == traffic
        )


def test_ffmt_witnesses_are_counted_right():
    for point, occupied, traffic in judged(
        CHAIN3, {"m": 8, "k": 4, "p": 8, "q": 4, "r": 6}, template="ffmt"
    ):
        assert traffic == point.accesses
        assert occupied <= point.buffer


def test_a_tensor_core_bounds_tiles_from_below_and_may_be_flipped():
    sizes = {"m": 8, "k": 8, "n": 8, "l": 8}
    free, square, tall = (
        fuse(workload(CHAIN2, **sizes), options=FusionOptions(tensor_core=core))
        for core in (None, TensorCore(1, 1, 4), TensorCore(1, 4, 4))
    )
    flipped = fuse(
        workload(CHAIN2, **sizes), options=FusionOptions(tensor_core=TensorCore(4, 1, 4))
    )
    assert (
        free.points[0].buffer == 3 and square.points[0].buffer == 9 and tall.points[0].buffer == 24
    )
    assert [(p.buffer, p.accesses) for p in tall.points] == [
        (p.buffer, p.accesses) for p in flipped.points
    ]
    for point, occupied, traffic in judged(
        CHAIN2, sizes, FusionOptions(tensor_core=TensorCore(1, 4, 4))
    ):
        assert traffic == point.accesses and occupied <= point.buffer
