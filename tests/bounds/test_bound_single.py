"""The bound of one Einsum: recorded curves, brute force, closed forms and the cost model."""

import itertools
import json
import pathlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver_mapper.bounds.search as search
from solver_mapper.bounds import Counting, Mark, TilePoint, bound
from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem, Tensor, Term
from solver_mapper.cost.snowcat.machine_files import BUFFER, STORE
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.errors import InputError
from tests.bound_curves import corners, steps

RECORDED = json.loads(
    (pathlib.Path(__file__).parents[1] / "data/orojenesis/curves.json").read_text()
)


def single(*dims):
    return tuple((Term(dim),) for dim in dims)


def gemm(m, k, n, h=1):
    head = ["H"] if h > 1 else []
    tensors = (
        Tensor("A", single(*head, "M", "K")),
        Tensor("B", single(*head, "K", "N")),
        Tensor("Z", single(*head, "M", "N"), True),
    )
    bounds = dict.fromkeys(head, h) | {"M": m, "K": k, "N": n}
    return Problem("gemm", tuple(bounds), bounds, tensors)


def conv(stride=1, dilation=1, **sizes):
    bounds = {dim: sizes.get(dim, 1) for dim in "RSPQCKN"}
    windows = ((Term("R", dilation), Term("P", stride)), (Term("S", dilation), Term("Q", stride)))
    tensors = (
        Tensor("Weights", single("C", "K", "R", "S")),
        Tensor("Inputs", single("N", "C") + windows),
        Tensor("Outputs", single("N", "K", "Q", "P"), True),
    )
    return Problem("conv", tuple(bounds), bounds, tensors)


def walked(problem, tile, order):
    """Step through every iteration of the loops over tiles and count words, point by point."""
    trips = [problem.bounds[dim] // tile[dim] for dim in order]
    footprint = accesses = 0
    for tensor in problem.tensors:
        real = [i for i, dim in enumerate(order) if trips[i] > 1 and dim in tensor.dims]
        before, seen = None, set()
        for now in itertools.product(*map(range, trips)):
            origin = {dim: step * tile[dim] for dim, step in zip(order, now, strict=True)}
            box = frozenset(
                itertools.product(
                    *(
                        range(
                            sum(t.coefficient * origin[t.dim] for t in rank),
                            sum(t.coefficient * (origin[t.dim] + tile[t.dim] - 1) for t in rank)
                            + 1,
                        )
                        for rank in tensor.ranks
                    )
                )
            )
            changed = [] if before is None else [i for i in real if before[0][i] != now[i]]
            if before is None or changed:
                where = tuple(now[i] for i in real)
                if tensor.read_write:
                    accesses += len(box) * (1 if where not in seen else 2)
                elif (
                    before is not None
                    and changed == real[-1:]
                    and now[real[-1]] == before[0][real[-1]] + 1
                ):
                    accesses += len(box - before[1])
                else:
                    accesses += len(box)
                seen.add(where)
                before = (now, box)
        footprint += len(box)
    return footprint, accesses


def brute_force(problem):
    for sizes in itertools.product(*(divisors(problem.bounds[dim]) for dim in problem.dims)):
        tile = dict(zip(problem.dims, sizes, strict=True))
        for order in itertools.permutations(
            [dim for dim in problem.dims if tile[dim] < problem.bounds[dim]]
        ):
            yield walked(
                problem, tile, (*order, *(dim for dim in problem.dims if dim not in order))
            )


@pytest.mark.parametrize("case", RECORDED["single_gemm_bmm"], ids=lambda case: case["name"])
def test_gemm_and_batched_gemm_equal_the_recorded_curves(case):
    curve = bound(gemm(case["M"], case["K"], case["N"], case["heads"]))
    assert steps(curve) == [(point["buffer"], point["accesses"]) for point in case["curve"]]
    assert curve.algorithmic_minimum == curve.least == case["algorithmic_min_accesses"]
    assert curve.operations == case["ops_orojenesis"]


@pytest.mark.parametrize("case", RECORDED["single_conv"], ids=lambda case: case["name"])
def test_convolutions_equal_the_recorded_curves(case):
    sizes = {dim: case[dim] for dim in "RSPQCKN"}
    curve = bound(conv(case.get("stride", 1), case.get("dilation", 1), **sizes))
    assert steps(curve) == [tuple(point) for point in case["curve_timeloop_halo"]]


SMALL = {
    "gemm": gemm(4, 6, 2),
    "batched gemm": gemm(2, 4, 3, 2),
    "conv 1d": conv(P=4, R=3, C=2, K=2),
    "conv 2d": conv(P=2, Q=4, R=2, S=3),
    "conv stride 2": conv(2, 1, P=4, R=3, C=2),
    "conv dilation 2": conv(1, 2, P=6, R=2, K=2),
    "matricised product": Problem(
        "mttkrp",
        ("I", "J", "K", "R"),
        {"I": 2, "J": 2, "K": 4, "R": 2},
        (
            Tensor("B", single("I", "J", "K")),
            Tensor("C", single("J", "R")),
            Tensor("D", single("K", "R")),
            Tensor("A", single("I", "R"), True),
        ),
    ),
    "diagonal": Problem(
        "diagonal",
        ("I", "J"),
        {"I": 4, "J": 2},
        (Tensor("A", single("I", "I", "J")), Tensor("Z", single("I"), True)),
    ),
    "elementwise": Problem(
        "copy",
        ("I", "J"),
        {"I": 4, "J": 2},
        (Tensor("A", single("I", "J")), Tensor("Z", single("I", "J"), True)),
    ),
}


@pytest.mark.parametrize("problem", SMALL.values(), ids=SMALL)
def test_small_problems_equal_a_walk_through_every_mapping(problem):
    assert steps(bound(problem)) == corners(brute_force(problem))


@given(st.integers(1, 48), st.integers(1, 48), st.integers(1, 48))
@settings(max_examples=60, deadline=None)
def test_gemm_equals_its_closed_form(m, k, n):
    """Output, left or right operand stationary: three cases of the closed form, over all tiles."""
    points = []
    for tm, tk, tn in itertools.product(divisors(m), divisors(k), divisors(n)):
        spill = m * n * (2 * k // tk - 1)
        kept_output = m * n + m * k * (n // tn) + k * n * (m // tm)
        accesses = min(
            kept_output, m * k + k * n * (m // tm) + spill, k * n + m * k * (n // tn) + spill
        )
        for whole, case in (
            (tk == k, m * n + m * k * (n // tn if tm < m else 1) + k * n),
            (tk == k, m * n + m * k + k * n * (m // tm if tn < n else 1)),
            (tm == m, k * n + m * k * (n // tn if tk < k else 1) + m * n),
            (tn == n, m * k + k * n * (m // tm if tk < k else 1) + m * n),
        ):
            accesses = min(accesses, case) if whole else accesses
        points.append((tm * tk + tk * tn + tm * tn, accesses))
    curve = bound(gemm(m, k, n))
    assert steps(curve) == corners(points)
    assert curve.least == m * k + k * n + m * n
    assert curve.enough == min(m * n + m + n, k * n + k + n, m * k + m + k)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_batched_gemm_is_its_gemm_times_the_batch(m, k, n, h):
    """No tensor is reused across the batch, so the curve scales at the same buffer sizes."""
    assert steps(bound(gemm(m, k, n, h))) == [
        (buffer, h * accesses) for buffer, accesses in steps(bound(gemm(m, k, n)))
    ]


SNOWCAT = Architecture("snowcat", (Buffer(STORE), Buffer(BUFFER)), Arithmetic("MAC"))


@pytest.mark.parametrize(
    "problem", [*SMALL.values(), gemm(16, 12, 18), conv(2, 1, P=8, Q=4, R=3, S=3, C=4, K=2)]
)
def test_the_nest_model_counts_the_same_for_every_witness(problem):
    """Each step's mapping, evaluated by the general model on the two-level architecture, moves the
    words that the step claims.
    """
    for point in bound(problem, counting=Counting(regular_shifts=True)).points:
        statistics = evaluate(SNOWCAT, problem, point.mapping)
        assert statistics.last_level_accesses == point.accesses
        assert sum(each.tile for each in statistics.levels[BUFFER].tensors.values()) == point.buffer


AS_MODEL = {
    "windows": conv(P=4, R=3, C=2, K=2),
    "windows that an outer loop moves on": conv(P=6, R=3, C=2, K=2),
    "stride 2": conv(2, 1, P=4, R=3, K=2),
    "two windows": conv(P=2, Q=3, R=2, S=3),
    "written windows": Problem(
        "spread",
        ("P", "R", "C"),
        {"P": 4, "R": 3, "C": 2},
        (
            Tensor("A", single("P", "C")),
            Tensor("W", single("R", "C")),
            Tensor("Z", ((Term("P"), Term("R")),), True),
        ),
    ),
}


@pytest.mark.parametrize("problem", AS_MODEL.values(), ids=AS_MODEL)
def test_regular_shifts_give_the_best_of_all_mappings_by_the_nest_model(problem):
    points = []
    for sizes in itertools.product(*(divisors(problem.bounds[dim]) for dim in problem.dims)):
        tile = dict(zip(problem.dims, sizes, strict=True))
        for order in itertools.permutations(
            [dim for dim in problem.dims if tile[dim] < problem.bounds[dim]]
        ):
            witness = TilePoint(0, 0, tile, order, {}, problem, frozenset(problem.tensor_names))
            statistics = evaluate(SNOWCAT, problem, witness.mapping)
            points.append(
                (
                    sum(each.tile for each in statistics.levels[BUFFER].tensors.values()),
                    statistics.last_level_accesses,
                )
            )
    assert steps(bound(problem, counting=Counting(regular_shifts=True))) == corners(points)


def test_a_prescribed_order_holds_with_regular_shifts():
    problem = AS_MODEL["windows"]
    free = bound(problem, counting=Counting(regular_shifts=True))
    flows = [
        steps(bound(problem, order=(*order, "S", "Q", "N"), counting=Counting(regular_shifts=True)))
        for order in itertools.permutations("RPCK")
    ]
    assert corners(point for flow in flows for point in flow) == steps(free)


def test_a_grid_walked_in_small_blocks_gives_the_same_curve(monkeypatch):
    want = steps(bound(conv(P=8, Q=8, R=3, S=3, C=8, K=8)))
    windows = bound(conv(P=4, R=3, C=2, K=2), counting=Counting(regular_shifts=True))
    monkeypatch.setattr(search, "BLOCK", 5)
    assert steps(bound(conv(P=4, R=3, C=2, K=2), counting=Counting(regular_shifts=True))) == steps(
        windows
    )
    monkeypatch.setattr(search, "BLOCK", 50)
    assert steps(bound(conv(P=8, Q=8, R=3, S=3, C=8, K=8))) == want


def test_figures_beyond_64_bits_are_exact():
    """2^22 x 2^22 x 2^22 with a weight of 2^10 overflows int64; the first point is known in closed
    form.
    """
    size = 2**22
    curve = bound(gemm(size, size, size), word_bits={"A": 2**13, "B": 2**13, "Z": 2**13})
    assert curve.units == "bytes"
    assert steps(curve)[0] == (3 * 2**10, 2**10 * (size**2 + 2 * size**3))


def test_word_sizes_weigh_the_tensors():
    words, weighted = (
        bound(gemm(4, 4, 4)),
        bound(gemm(4, 4, 4), word_bits={"A": 8, "B": 8, "Z": 32}),
    )
    assert weighted.units == "bytes" and steps(weighted)[0] == (6, 4 * 16 + 2 * 64)
    assert steps(bound(gemm(4, 4, 4), word_bits={"A": 8, "B": 8, "Z": 8})) == steps(words)
    assert bound(gemm(4, 4, 4), word_bits={"A": 4, "B": 4, "Z": 4}).units == "bits"


def test_reading_a_curve():
    curve = bound(gemm(64, 64, 64), marks=[Mark("GLB", 1000), Mark("RF", 2)])
    assert curve.accesses(2) is None and curve.at(3).accesses == 528384
    assert curve.accesses(559) == 36864 and curve.accesses(560) == 28672
    assert (curve.enough, curve.least, curve.effectual_ratio) == (4224, 12288, 4224 / 12288)
    shown = curve.to_dict()
    assert shown["units"] == "words" and shown["marks"] == [
        {"name": "GLB", "buffer": 1000, "accesses": 28672},
        {"name": "RF", "buffer": 2, "accesses": None},
    ]
    assert shown["curve"][0]["tile"] == {"M": 1, "K": 1, "N": 1}
    assert curve.to_csv().splitlines()[1].startswith("3,528384,")
    assert "GLB (1,000): at least 28,672 accesses" in str(curve) and "RF (2): nothing fits" in str(
        curve
    )
    picture = replace(curve, title="a<b").to_svg()
    assert picture.count("<path") > 3 and "a&lt;b" in picture and "GLB" in picture


def test_strides_that_skip_words_do_not_count_them_as_compulsory():
    """A 1x1 filter with stride 2 touches every second column only."""
    curve = bound(conv(2, 1, P=4, C=2, K=3))
    assert curve.algorithmic_minimum == 2 * 4 + 2 * 3 + 3 * 4 == curve.least


@pytest.mark.parametrize(
    "options, message",
    [
        ({"word_bits": {"A": 8}}, "not for B, Z"),
        ({"word_bits": {"A": 8, "B": 0, "Z": 8}}, "at least one bit"),
        ({"word_bits": {"C": 8}}, "unknown tensor 'C'"),
        ({"stationary": "Q"}, "unknown tensor 'Q'"),
        ({"order": "MK"}, "must name every dimension once"),
        ({"order": "MKX"}, "unknown dimension 'X'"),
        ({"order": "MKN", "stationary": "A"}, "both prescribe"),
        ({"tiles": {"M": 5}}, "does not divide"),
        ({"tiles": {"X": 5}}, "unknown dimension 'X'"),
    ],
)
def test_what_does_not_fit_the_problem_is_an_input_error(options, message):
    with pytest.raises(InputError, match=message):
        bound(gemm(4, 4, 4), **options)
