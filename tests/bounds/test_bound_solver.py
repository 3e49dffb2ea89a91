"""The staircase and the solver, which share no search: with a buffer of any size, both find the
same least traffic.

Windows are counted as the cost model counts them (`regular_shifts`).
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver_mapper as sm
from solver_mapper.bounds import Counting, bound
from solver_mapper.core.problem import Problem
from tests.bounds.test_bound_single import conv, gemm
from tests.campaigns import in_campaigns

AS_SOLVE = Counting(regular_shifts=True)
PROBLEMS = {
    "gemm": gemm(4, 6, 3),
    "batched gemm": gemm(2, 4, 3, 2),
    "windows": conv(P=4, R=3, C=2, K=2),
    "windows, stride 2": conv(2, 1, P=4, R=3, K=2),
    "windows that an outer loop moves on": conv(P=6, R=3, C=2, K=4),
}


def written(problem: Problem) -> dict[str, object]:
    """`problem` as a user writes it."""
    spaces = [
        {
            "name": tensor.name,
            "projection": [
                [
                    [term.dim, str(term.coefficient)] if term.coefficient > 1 else [term.dim]
                    for term in rank
                ]
                for rank in tensor.ranks
            ],
            **({"read-write": True} if tensor.read_write else {}),
        }
        for tensor in problem.tensors
    ]
    coefficients = [{"name": str(number), "default": number} for number in range(2, 4)]
    shape = {
        "name": problem.name,
        "dimensions": list(problem.dims),
        "coefficients": coefficients,
        "data-spaces": spaces,
    }
    return {"problem": {"shape": shape, "instance": dict(problem.bounds)}}


def solved(problem: Problem, capacity: int, keep: bool = True) -> int | None:
    """Least accesses of a backing store above one buffer of `capacity` words, one that keeps all
    tensors unless told otherwise; None if proven impossible.
    """
    machine = {
        "arch": {
            "arithmetic": {"name": "MAC", "instances": 1},
            "storage": [
                {"name": "Buffer", "instances": 1, "entries": capacity},
                {"name": "Store", "technology": "DRAM", "instances": 1},
            ],
        }
    }
    kept = (
        [{"target": "Buffer", "type": "bypass", "keep": list(problem.tensor_names)}] if keep else []
    )
    spec = sm.load(written(problem), machine, {"mapspace": {"constraints": kept}})
    solution = sm.solve(spec, objective="last-level-accesses", workers=1)
    assert solution.status in ("optimal", "infeasible")
    if solution.status == "infeasible":
        return None
    assert solution.value == solution.bound
    return int(solution.value)


def capacities(curve, every):
    """From a buffer in which nothing fits to one word more than is of use: word by word, or where
    the curve has its steps, and one word less.
    """
    least = range(1, curve.enough + 2)
    steps = {point.buffer - less for point in curve.points for less in (0, 1)}
    return least if every else sorted({least[0], least[-1], *steps} & {*least})


@pytest.mark.parametrize("every", [False, *in_campaigns([True])])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_the_solver_and_the_staircase_agree(problem, every):
    curve = bound(problem, counting=AS_SOLVE)
    for capacity in capacities(curve, every):
        assert solved(problem, capacity) == curve.accesses(capacity), capacity


def test_idle_steps_end_an_overlap_for_the_solver_only():
    """P = 4 in two tiles outside K = 2: the second window reuses a word of the first unless the
    step in K in between counts.
    """
    problem = PROBLEMS["windows, stride 2"]
    assert bound(problem).accesses(10) == 29
    assert bound(problem, counting=AS_SOLVE).accesses(10) == 30


@pytest.mark.parametrize("every", [False, *in_campaigns([True])])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_they_agree_if_tensors_may_bypass_the_buffer(problem, every):
    curve, kept = (
        bound(problem, counting=Counting(regular_shifts=True, bypass=bypass))
        for bypass in (True, False)
    )
    for capacity in capacities(curve, every):
        assert solved(problem, capacity, keep=False) == curve.accesses(capacity), capacity
    assert all(curve.accesses(point.buffer) <= point.accesses for point in kept.points)
    assert any(curve.accesses(point.buffer) < point.accesses for point in kept.points)


@given(st.tuples(*[st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 30])] * 3), st.data())
@settings(max_examples=10, deadline=None)
def test_they_agree_on_gemms_of_all_shapes_just_below_and_at_a_step(shape, data):
    problem = gemm(*shape)
    curve = bound(problem)
    step = data.draw(st.sampled_from([point.buffer for point in curve.points]))
    for capacity in (step - 1, step):
        assert solved(problem, capacity) == curve.accesses(capacity)


@given(
    st.tuples(*[st.integers(1, 2)] * 4),
    st.sampled_from([2, 3, 4, 6]),
    st.integers(1, 3),
    st.booleans(),
    st.data(),
)
@settings(max_examples=10, deadline=None)
def test_they_agree_on_convolutions_just_below_and_at_a_step(small, p, r, bypass, data):
    stride, dilation, c, k = small
    problem = conv(stride, dilation, P=p, R=r, C=c, K=k)
    curve = bound(problem, counting=Counting(regular_shifts=True, bypass=bypass))
    step = data.draw(st.sampled_from([point.buffer for point in curve.points]))
    for capacity in range(max(1, step - 1), step + 1):
        assert solved(problem, capacity, keep=not bypass) == curve.accesses(capacity)
