"""Why no LoopTree mapping exists: conflicts of which nothing can be spared, and what lifts them."""

from __future__ import annotations

import io

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.errors import LimitReached

ARCH = """\
arch:
  nodes:
  - !Memory
    name: Dram
    size: inf
    leak_power: 0
    tensors: {keep: All}
    actions: [{name: read, energy: 9, throughput: inf}, {name: write, energy: 9, throughput: inf}]
  - !Memory
    name: Sram
    size: 16
    leak_power: 0
    tensors: {keep: All}
    actions: [{name: read, energy: 1, throughput: 3}, {name: write, energy: 1, throughput: 3}]
  - !Container
    name: Grid
    spatial:
    - {name: X, fanout: 5, min_usage: 0.2}
  - !Compute
    name: Mac
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  rank_sizes: {M: 4, K: 2, N: 2}
  bits_per_value: {All: 8}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
"""


def loaded(*changes: tuple[str, str]) -> sm.TreeSpec:
    text = ARCH
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return spec


def test_a_memory_that_is_too_small_and_how_large_it_must_be() -> None:
    """One value of each of three tensors needs 24 bits."""
    reason = sm.explain(loaded())
    assert not reason.feasible
    assert [(each.what, each.text, each.location.line) for each in reason.conflict] == [
        ("capacity", "size of 'Sram': 16 bits", 11)
    ]
    assert [each.text for each in reason.repairs] == [
        "raise the size of 'Sram' to at least 24 bits"
    ]
    assert sm.solve(loaded(("size: 16", "size: 24")), "energy").status == "optimal"
    assert sm.solve(loaded(("size: 16", "size: 23")), "energy").status == "infeasible"


def test_a_usage_that_cannot_be_reached_and_what_can() -> None:
    spec = loaded(("size: 16", "size: 64"), ("min_usage: 0.2", "min_usage: 1"))
    reason = sm.explain(spec)
    assert [each.text for each in reason.conflict] == ["'min_usage: 1' of spatial 'X' of 'Grid'"]
    assert [each.text for each in reason.repairs] == [
        "lower min_usage of 'X' of 'Grid' to 0.8, or '--relax min_usage'"
    ]
    lowered = loaded(("size: 16", "size: 64"), ("min_usage: 0.2", "min_usage: 0.8"))
    assert sm.explain(lowered).feasible


def test_a_conflict_of_sets_names_both_and_the_lines_below() -> None:
    """Sram must hold all, and Dram must be the outermost to hold what Sram backs."""
    spec = loaded(
        ("size: 16", "size: 64"),
        (
            "tensors: {keep: All}\n    actions: [{name: read, energy: 1,",
            "tensors: {keep: All, back: A}\n    actions: [{name: read, energy: 1,",
        ),
    )
    reason = sm.explain(spec)
    assert {each.text for each in reason.conflict} == {
        "'keep: All' of 'Dram'",
        "'back: A' of 'Sram'",
    }
    assert {each.text for each in reason.repairs} == {
        "leave out 'keep: All' of 'Dram'",
        "leave out 'back: A' of 'Sram'",
    }
    assert str(reason).count("leave out") == 2


def test_input_with_mappings_says_so() -> None:
    reason = sm.explain(loaded(("size: 16", "size: 64")))
    assert reason.feasible and reason.to_dict() == {"feasible": True, "conflict": [], "repairs": []}


def test_time_that_is_over_before_an_answer_is_said() -> None:
    clock = Clock()
    clock.stop()
    with pytest.raises(LimitReached, match="the time was over"):
        sm.explain(loaded(("size: 16", "size: 64")), clock=clock)


def test_further_constraints_are_refused() -> None:
    with pytest.raises(sm.InputError, match="constraints is not supported for LoopTree input"):
        sm.explain(loaded(), constraints=[sm.constraints.keep("Sram", "A")])
