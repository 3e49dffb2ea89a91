"""What a storage node holds, and for how long, by where it stands (docs/reference/conventions.md).

The two matrix-vector products of AccelForge's documentation, for two vectors. The recorded figures
are AccelForge 1.0.467's own (`evaluate_mapping`, the reservation of OnChipBuffer).
"""

from __future__ import annotations

import io

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.errors import InputError

FILE = """
arch:
  nodes:
  - !Memory
    name: OffChipBuffer
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 10, throughput: inf}, {name: write, energy: 10, throughput: inf}]
  - !Memory
    name: OnChipBuffer
    size: 100000
    leak_power: 0
    area: 0
    tensors: {keep: ~OffChipBuffer, may_keep: All}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Compute
    name: ComputeUnit
    leak_power: 0
    area: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  rank_sizes: {M: 2, NI: 4, NA: 3, NB: 5}
  bits_per_value: {All: 8}
  einsums: ["A[m, na] = I[m, ni] * WA[ni, na]", "B[m, nb] = A[m, na] * WB[na, nb]"]
mapping:
  nodes:
  - !Storage {component: OffChipBuffer, tensors: [I, WA, WB, B]}
SHARED
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: ni, tile_shape: 1}
      - !Storage {component: OnChipBuffer, tensors: [I]}
      - !Compute {einsum: A, component: ComputeUnit}
    - !Nested
      nodes:
      - !Temporal {rank_variable: nb, tile_shape: 1}
      - !Storage {component: OnChipBuffer, tensors: [B]}
      - !Storage {component: OnChipBuffer, tensors: [WB]}
      - !Compute {einsum: B, component: ComputeUnit}
"""
LOOPS = {name: f"!Temporal {{rank_variable: {name}, tile_shape: 1}}" for name in ("m", "na")}
HELD = {name: f"!Storage {{component: OnChipBuffer, tensors: [{name}]}}" for name in ("WA", "A")}
CASES = {
    "above m": (["WA", "m", "na", "A"], 120, 96),
    "above na": (["m", "WA", "na", "A"], 48, 32),
    "below na": (["m", "na", "WA", "A"], 48, 32),
    "last above the branches": (["m", "na", "A", "WA"], 24, 8),
}
"""The nodes that both Einsums share; OnChipBuffer's peak and WA's bits in it, by AccelForge."""


def text_of(nodes: list[str]) -> str:
    return FILE.replace(
        "SHARED", "\n".join(f"  - {LOOPS.get(each) or HELD[each]}" for each in nodes)
    )


@pytest.mark.parametrize("case", CASES)
def test_the_occupancy_is_accelforges_own(case: str) -> None:
    nodes, peak, weights = CASES[case]
    statistics = sm.evaluate(sm.load(io.StringIO(text_of(nodes))))
    occupancy = statistics.occupancy["OnChipBuffer"]
    assert occupancy.bits == peak
    assert [each.bits for each in occupancy.reservations if each.tensor == "WA"] == [weights]


def test_above_na_the_documentation_means_a_larger_tile_that_lives_in_both_branches() -> None:
    """The tile of all of `na` is 96 bits, and while B runs 24 bits are there beside it: 120 bits.
    That is what is there if something keeps the reservation from being lowered, as the loop over
    `m` does further up.
    """
    above, further = (
        sm.evaluate(sm.load(io.StringIO(text_of(CASES[case][0]))))
        for case in ("above na", "above m")
    )
    assert (
        above.occupancy["OnChipBuffer"].bits == 48 and above.occupancy["OnChipBuffer"].einsum == "A"
    )
    assert (
        further.occupancy["OnChipBuffer"].bits == 120
        and further.occupancy["OnChipBuffer"].einsum == "B"
    )


def test_lowering_changes_no_count() -> None:
    energies = {
        sm.evaluate(sm.load(io.StringIO(text_of(CASES[case][0])))).energy
        for case in ("above na", "below na")
    }
    assert len(energies) == 1


LOOP = "!Temporal {rank_variable: m, tile_shape: 1}"


def test_a_tile_pattern_is_the_tile_shapes_of_a_loop() -> None:
    plain = text_of(CASES["above na"][0])
    spec = sm.load(
        io.StringIO(
            plain.replace(LOOP, "!Temporal {rank_variable: m, tile_pattern: {tile_shape: 1}}")
        )
    )
    assert isinstance(spec, sm.TreeSpec)
    assert spec.mapping == sm.load(io.StringIO(plain)).mapping
    first = sm.load(
        io.StringIO(
            plain.replace(
                LOOP,
                "!Temporal {rank_variable: m,"
                " tile_pattern: {tile_shape: 1, initial_tile_shape: 1}}",
            )
        )
    )
    assert (
        first.mapping
        == sm.load(
            io.StringIO(
                plain.replace("m, tile_shape: 1", "m, tile_shape: 1, initial_tile_shape: 1")
            )
        ).mapping
    )


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (
            "n_iterations: 2",
            "has 'n_iterations', but a loop is given by the tile below it; write 'tile_shape'",
        ),
        ("loop_bound: 2", "has 'loop_bound', but a loop is given by the tile below it"),
        ("factor: 2", "has 'factor', but a loop is given by the tile below it"),
        ("loop_bound: 2, tile_shape: 1", "has 'loop_bound', but"),
        (
            "tile_pattern: {calculated_n_iterations: 2, tile_shape: 1}",
            "'tile_pattern' of !Temporal has 'calculated_n_iterations', but",
        ),
        ("tile_pattern: {shape: 1}", "'tile_pattern' of !Temporal lacks 'tile_shape'"),
        ("tile_pattern: {tile_shape: 1, stride: 1}", "has no field 'stride'"),
        (
            "tile_pattern: {tile_shape: 1}, tile_shape: 1",
            "has both 'tile_pattern' and a tile shape; keep one of them",
        ),
    ],
)
def test_other_ways_to_give_a_loop_are_named(loop: str, message: str) -> None:
    text = text_of(CASES["above na"][0]).replace(LOOP, f"!Temporal {{rank_variable: m, {loop}}}")
    with pytest.raises(InputError) as caught:
        sm.load(io.StringIO(text))
    assert message in str(caught.value) and caught.value.line is not None
    shown = CliRunner().invoke(app, ["evaluate", "-"], input=text)
    assert shown.exit_code == 2 and message in shown.stderr
