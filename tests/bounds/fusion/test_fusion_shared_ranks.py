"""A rank that one Einsum walks over with one variable and another with two: which fused loops an
execution can have.

The judges are the trace of an execution (`tracer`) and a walk through every mapping of tiny
workloads.
"""

from __future__ import annotations

import pytest

from solver_mapper.bounds.fusion import FusionOptions, fuse
from solver_mapper.errors import InputError
from tests.bound_curves import steps
from tests.bounds.fusion.execution_trace import Trace
from tests.bounds.fusion.fusion_cases import ATTENTION, CHAIN2, CHAIN3, FORK, workload
from tests.bounds.fusion.test_fusion_brute_force import Tiny

SPLIT = ["C[m, n] = A[m, k] * B[k, n]", "E[p, q, l] = C[M: 4*p + q, n] * D[n, l]"]
JOINED = ["C[p, q, n] = A[p, q, k] * B[k, n]", "E[m, l] = C[m, n] * D[n, l]"]
THREE = [
    "T1[m, n] = T0[m, k] * W0[k, n]",
    "T2[p, q, n] = T1[M: 4*p + q, n] * V[p, n]",
    "T3[r, s, n] = T2[P: r, Q: s, n] * U[s, n]",
]


class Split(Tiny):
    """`m` of the writer is `q.bound * p + q` of the reader."""

    def __init__(self, load, whole="m", high="p", low="q"):
        super().__init__(load)
        self.whole, self.high, self.low = whole, high, low
        self.parts = next(
            {dim: bounds[dim] for dim in (high, low)} for bounds in self.bounds if high in bounds
        )

    def common(self, members, both):
        def split(dims):
            return {*dims, self.high, self.low} - {self.whole} if self.whole in dims else set(dims)

        shared = set.intersection(
            *(split(self.bounds[i]) for i in members), *(split(self.dims(name)) for name in both)
        )
        known = {dim: bound for i in members for dim, bound in self.bounds[i].items()} | self.parts
        return {dim: bound for dim, bound in known.items() if dim in shared}

    def local(self, einsum, trunk):
        inside = self.whole in self.bounds[einsum]
        return tuple(
            (self.whole if inside and dim in (self.high, self.low) else dim, count)
            for dim, count in trunk
        )

    def tile(self, name, trunk):
        """The box around the rows that the reader takes, holes included, is kept; the writer takes
        its rows in any order.
        """
        exact = super().tile(name, trunk)
        cut = dict(self.parts)
        for dim, count in trunk:
            if dim in cut:
                cut[dim] //= count
        rows = cut[self.high] * cut[self.low]
        return exact // rows * (self.parts[self.low] * (cut[self.high] - 1) + cut[self.low])


@pytest.mark.parametrize(
    ("einsums", "sizes"),
    [
        (SPLIT, {"m": 8, "k": 2, "n": 4, "l": 4, "p": 2, "q": 4}),
        (SPLIT, {"m": 12, "k": 2, "n": 2, "l": 3, "p": 3, "q": 4}),
        (SPLIT, {"m": 4, "k": 2, "n": 4, "l": 2, "p": 1, "q": 4}),
    ],
    ids=["two by four", "three by four", "one by four"],
)
def test_a_split_rank_equals_the_walk_through_every_mapping(einsums, sizes):
    load = workload(einsums, **sizes)
    assert steps(fuse(load)) == Split(load).curve()


@pytest.mark.parametrize(("p", "q"), [(2, 4), (4, 2), (1, 8), (8, 1)])
def test_where_only_one_reads_by_digits_nothing_is_lost(p, q):
    """E's other tensors follow p and q together: the curve is that of the unsplit rank."""
    split = ["C[m, n] = A[m, k] * B[k, n]", f"E[p, q, l] = C[M: {q}*p + q, n] * D[n, l]"]
    assert steps(fuse(workload(split, m=8, k=4, n=8, l=4, p=p, q=q))) == steps(
        fuse(workload(CHAIN2, m=8, k=4, n=8, l=4))
    )


@pytest.mark.parametrize("p, q", [(2, 4), (4, 2), (2, 2)])
def test_ffmr_reaches_what_v2_reaches_by_slip(p, q):
    split = ["C[m, n] = A[m, k] * B[k, n]", f"E[p, q, l] = C[M: {q}*p + q, n] * D[n, l]"]
    load = workload(split, m=p * q, k=4, n=8, l=4, p=p, q=q)
    general = fuse(load)
    assert all(general.accesses(buffer) <= accesses for buffer, accesses in steps(fuse(load, "v2")))


EXECUTED = {
    "split": (SPLIT, {"m": 8, "k": 2, "n": 4, "l": 4, "p": 2, "q": 4}),
    "split, odd": (SPLIT, {"m": 12, "k": 2, "n": 2, "l": 3, "p": 3, "q": 4}),
    "three": (THREE, {"m": 8, "k": 2, "n": 2, "p": 2, "q": 4, "r": 2, "s": 4}),
    "two": (CHAIN2, {"m": 4, "k": 4, "n": 4, "l": 3}),
    "chain": (CHAIN3, {"m": 4, "k": 2, "p": 4, "q": 2, "r": 2}),
    "fork": (FORK, {"m": 4, "k": 2, "p": 4, "q": 2, "r": 3}),
    "attention": (ATTENTION[1:5], {"b": 2, "h": 2, "m": 2, "n": 2, "e": 2}),
    "elementwise": (
        [
            "T1[b, m, p] = T0[b, m, k] * W0[b, k, p]",
            "T2[b, m, p] = T1[b, m, p]",
            "T3[b, m, q] = T2[b, m, p] * W1[b, p, q]",
        ],
        {"b": 2, "m": 4, "k": 2, "p": 4, "q": 2},
    ),
}


@pytest.mark.parametrize("einsums, sizes", EXECUTED.values(), ids=EXECUTED)
def test_every_point_can_be_executed(einsums, sizes):
    """The trace moves as many words as the curve says, and the buffer holds at most its words."""
    curve = fuse(workload(einsums, **sizes))
    for point in curve.points:
        trace = Trace(point.net, point.plan)
        assert (trace.accesses, trace.peak <= point.buffer) == (
            point.accesses,
            True,
        ), point.summary()
    assert any(step.plan.tiled for point in curve.points for step in point.plan.steps)


def test_loops_over_digits_may_stand_in_any_order():
    """E keeps D for every fourth row: the loop over q stands outside, and the writer takes its rows
    in E's order.
    """
    load = workload(
        ["C[m, n] = A[m, k] * B[k, n]", "E[p, q, l] = C[M: 4*p + q, n] * D[q, n, l]"],
        m=16,
        k=4,
        n=4,
        l=4,
        p=4,
        q=4,
    )
    curve = fuse(load)
    assert curve.accesses(48) == fuse(load, "v2").accesses(48) == 208
    point = curve.at(48)
    assert [loop.ranks[0].variables for loop in point.plan.steps[0].plan.trunk] == [
        {0: "m", 1: "q"},
        {0: "m", 1: "p"},
    ]
    trace = Trace(point.net, point.plan)
    assert (trace.accesses, trace.peak <= point.buffer) == (208, True)


def test_windows_need_ranges():
    """The first Einsum slides along m: its rows come in ranges, so a loop over q stands inside a
    complete one over p.
    """
    load = workload(
        ["C[m, n] = A[X: m + r, n] * B[r, n]", "E[p, q, n] = C[M: 4*p + q, n] * D[q, n]"],
        m=8,
        x=9,
        r=2,
        n=2,
        p=2,
        q=4,
    )
    curve = fuse(load)
    trunks = [
        [(loop.ranks[0].variables[1], loop.trips) for loop in step.plan.trunk]
        for point in curve.points
        for step in point.plan.steps
        if step.plan.tiled
    ]
    assert any("q" in dict(trunk) for trunk in trunks)
    assert all(
        ("p", 2) in trunk[: [dim for dim, _ in trunk].index("q")]
        for trunk in trunks
        if "q" in dict(trunk)
    )
    for point in curve.points:
        trace = Trace(point.net, point.plan)
        assert trace.accesses <= point.accesses and trace.peak <= point.buffer


def test_shared_loops_over_digits_have_no_loop_tree():
    """A LoopTree's loop has one tile shape; here the writer's tiles are four times as long as the
    reader's.
    """
    curve = fuse(workload(SPLIT, m=8, k=2, n=4, l=4, p=2, q=4))
    point = next(
        point for point in curve.points if any(step.plan.tiled for step in point.plan.steps)
    )
    assert point.to_dict()["mapping"] is None
    with pytest.raises(
        InputError,
        match="no LoopTree: its shared loops cut 'm' of C into tiles of another size than 'p' of E",
    ):
        _ = point.mapping
    assert curve.points[0].to_dict()["mapping"] is not None


def test_uneven_fusion_and_digits_go_together():
    load = workload(SPLIT, m=8, k=2, n=4, l=4, p=2, q=4)
    even, uneven = fuse(load), fuse(load, options=FusionOptions(uneven=True))
    assert all(uneven.accesses(buffer) <= accesses for buffer, accesses in steps(even))
    assert steps(uneven) == steps(
        fuse(workload(CHAIN2, m=8, k=2, n=4, l=4), options=FusionOptions(uneven=True))
    )


def test_the_figures_of_the_conventions_page():
    load = workload(
        ["C[m, n] = A[m, k] * B[k, n]", "E[p, q, l] = C[M: 4*p + q, n] * D[q, n, l]"],
        m=16,
        k=4,
        n=4,
        l=4,
        p=4,
        q=4,
    )
    enough = {
        template: min(buffer for buffer, accesses in steps(fuse(load, template)) if accesses == 208)
        for template in ("v2", "ffmr")
    }
    assert enough == {"v2": 48, "ffmr": 37}
