"""Options of solving several Einsums: a limit on shared loops, gaps, relaxed constraints, time
limits; what is refused, and why.
"""

from __future__ import annotations

import io
import time
from fractions import Fraction
from functools import cache

import pytest

import solver_mapper as sm
from solver_mapper.cost.looptree.hardware import Fanout
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.usage import reachable
from tests.looptree.graph_enumeration import random_graph

ARCH = """\
arch:
  nodes:
  - !Memory
    name: Dram
    size: inf
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 100, throughput: inf}
    - {name: write, energy: 100, throughput: inf}
  - !Memory
    name: Sram
    size: SIZE
    leak_power: 0
    tensors: {keep: ~Dram, may_keep: All}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Container
    name: Grid
    spatial: [{name: X, fanout: 4, min_usage: USAGE}]
  - !Compute
    name: Mac
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
HEADS = """\
workload:
  rank_sizes: {H: 8, M: 16, P: 16, E: 8, F: 8}
  bits_per_value: {All: 8}
  einsums:
  - "S[h, m, p] = Q[h, m, e] * K[h, p, e]"
  - "R[h, m, p] = S[h, m, p]"
  - "A[h, m, f] = R[h, m, p] * V[h, p, f]"
"""


def heads(size: int = 3072, usage: str = "0", workload: str = HEADS) -> sm.TreeSpec:
    spec = sm.load(io.StringIO(ARCH.replace("SIZE", str(size)).replace("USAGE", usage) + workload))
    assert isinstance(spec, sm.TreeSpec)
    return spec


@cache
@cache
def with_shared_loops(most: int | None) -> sm.TreeSolution:
    """The attention heads at their least energy, with at most so many shared loops."""
    return sm.solve(heads(), objective="energy", max_fused_loops=most)


def test_more_shared_loops_are_never_worse_and_here_better() -> None:
    values = [with_shared_loops(most).value for most in (0, 1, 2, None)]
    assert None not in values
    assert values[0] > values[1] > values[2] == values[3]  # type: ignore[operator]


def test_the_certificate_tells_the_limit() -> None:
    limited, free = with_shared_loops(1), with_shared_loops(None)
    assert "at most 1 loops" in limited.certificate.mapspace["shared loops"]
    assert "any number of loops" in free.certificate.mapspace["shared loops"]


def test_a_gap_is_kept() -> None:
    exact = with_shared_loops(None)
    loose = sm.solve(heads(), objective="energy", gap=0.2)
    assert exact.value is not None
    assert loose.value is not None
    assert loose.bound is not None
    assert float(loose.bound) <= float(exact.value) <= float(loose.value)
    assert loose.status == "optimal"
    assert (loose.gap or 0) <= 0.2


@pytest.mark.parametrize("gap", [1e-6, 0.01, 0.03, 0.3])
def test_what_is_called_optimal_is_never_open_by_more_than_the_gap(gap: float) -> None:
    for seed in range(9):
        spec = sm.load(io.StringIO(random_graph(seed).text()))
        solution = sm.solve(spec, objective="energy", gap=gap)
        assert solution.status in ("optimal", "infeasible")
        assert (solution.gap or 0) <= gap


def test_time_that_is_up_still_gives_an_answer_with_a_bound_below_the_optimum() -> None:
    best = with_shared_loops(None).value
    for limit in (0.0, 0.3):
        started = time.process_time()
        solution = sm.solve(heads(), objective="energy", time_limit=limit)
        assert time.process_time() - started < 10
        if solution.bound is not None and best is not None:
            assert float(solution.bound) <= float(best) * (1 + 1e-9)


def test_usage_that_cannot_be_reached_is_explained_and_can_be_relaxed() -> None:
    odd = HEADS.replace("H: 8, M: 16, P: 16, E: 8, F: 8", "H: 3, M: 9, P: 9, E: 3, F: 3")
    spec = heads(usage="1", workload=odd)
    solution, reason = sm.solve(spec, objective="energy"), sm.explain(spec)
    assert solution.status == "infeasible"
    assert list(solution.conflict) == reason.to_dict()["conflict"]
    assert [each["text"] for each in solution.conflict] == [
        "'min_usage: 1' of spatial 'X' of 'Grid'"
    ]
    assert "'--relax min_usage'" in reason.repairs[0].text
    assert solution.certificate.proofs[0]["claim"] == (
        "some Einsum has no choice of memories and copies that all constraints allow"
    )
    relaxed = sm.solve(heads(usage="1", workload=odd), objective="energy", relax=["min_usage"])
    assert relaxed.status == "optimal"
    assert "min_usage" in relaxed.certificate.mapspace["relaxed"]


def test_one_relaxation_needs_no_list() -> None:
    spec = heads(usage="1")
    for found in (
        sm.solve(spec, objective="energy", max_fused_loops=0, relax="min_usage"),
        sm.pareto(spec, max_fused_loops=0, relax="min_usage").points[0],
    ):
        assert found.mapping is not None
    with pytest.raises(sm.InputError, match="cannot relax 'min_usge'; did you mean 'min_usage'"):
        sm.solve(spec, relax="min_usge")


def test_reachable_usage_prefers_outer_fanouts_up_to_what_is_asked() -> None:
    spec = heads()
    assert spec.workload is not None
    einsum = spec.workload.einsums[1]
    one = Fraction(1)
    fanouts = [
        Fanout("X", 4, min_usage=one),
        Fanout("Y", 64, min_usage=one / 2),
        Fanout("Z", 2**12, min_usage=one),
    ]
    assert reachable(fanouts, einsum) == (4, 32, 16)


def test_unknown_relaxations_and_wrong_notations_are_refused() -> None:
    with pytest.raises(sm.InputError, match="cannot relax 'min_usge'; did you mean 'min_usage'"):
        sm.solve(heads(), relax=["min_usge"])
    with pytest.raises(sm.InputError, match="for LoopTree input"):
        sm.solve(sm.load("examples/gemm_64.yaml"), max_fused_loops=1)


def test_a_tensor_read_before_it_is_written_is_refused() -> None:
    lines = HEADS.splitlines()
    backwards = "\n".join([*lines[:4], lines[5], lines[4], lines[6]]) + "\n"
    with pytest.raises(sm.InputError, match="Einsum 'R' reads 'S' before 'S' writes it"):
        sm.solve(heads(workload=backwards))


def test_unconnected_einsums_are_mapped() -> None:
    workload = """\
workload:
  rank_sizes: {M: 4, N: 6}
  iteration_space_shape: {p: 0 <= p < 4, r: 0 <= r < 3, q: 0 <= q < 2, s: 0 <= s < 2}
  bits_per_value: {All: 8}
  einsums:
  - {name: A, tensor_accesses: [{name: I, projection: {X: p + r}}, {name: F, projection: {R: r}},
                                {name: O, projection: {P: p}, output: True}]}
  - {name: B, tensor_accesses: [{name: J, projection: {Y: q + s}}, {name: G, projection: {S: s}},
                                {name: U, projection: {Q: q}, output: True}]}
"""
    solution = sm.solve(heads(workload=workload), objective="energy")
    assert solution.status == "optimal"


SHARED = """\
mapping:
  nodes:
  - !Storage {tensors: [Q, K, S, R, V, A], component: Dram}
  - !Temporal {rank_variable: VARIABLE, tile_shape: 1}
  - !Sequential
    nodes:
    - !Nested
      nodes: [LOOPS_S, !Compute {einsum: S, component: Mac}]
    - !Nested
      nodes: [LOOPS_R, !Compute {einsum: R, component: Mac}]
    - !Nested
      nodes: [LOOPS_A, !Compute {einsum: A, component: Mac}]
"""


@pytest.mark.parametrize(
    ("variable", "rule"),
    [
        ("h", None),
        ("m", None),
        ("p", None),
        ("[e, p]", "partial-results"),
        ("[m, p]", "foreign-loop"),
    ],
)
def test_a_shared_loop_cuts_the_same_rank_for_writer_and_reader(
    variable: str, rule: str | None
) -> None:
    text = SHARED.replace("VARIABLE", variable)
    for einsum, names in (("S", "hmpe"), ("R", "hmp"), ("A", "hmpf")):
        loops = ", ".join(
            f"!Temporal {{rank_variable: {name}, tile_shape: 1}}"
            for name in names
            if name not in variable
        )
        text = text.replace(f"LOOPS_{einsum}", loops)
    found = {each.rule for each in sm.validate(heads(), read(text)).violations}
    assert (rule in found) if rule else (not found & {"shared-loop", "partial-results"})


def read(text: str) -> TreeMapping:
    mapping = sm.load(
        io.StringIO(ARCH.replace("SIZE", "9999").replace("USAGE", "0") + HEADS + text)
    ).mapping
    assert isinstance(mapping, TreeMapping)
    return mapping


def test_the_bound_of_computing_comes_first_and_a_mapping_second() -> None:
    told: list[tuple[float | None, float | None]] = []
    solution = sm.solve(
        heads(),
        objective="energy",
        on_progress=lambda progress: told.append((progress.value, progress.bound)),
    )
    assert solution.value is not None
    values = [value for value, _ in told if value is not None]
    bounds = [bound for _, bound in told if bound is not None]
    assert told[0] == (None, bounds[0])
    assert told[1] == (values[0], bounds[0])
    assert bounds[0] > 0
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    assert bounds[-1] <= float(solution.value) == values[-1]
