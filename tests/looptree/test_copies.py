"""Copy Einsums: what they move, what they reserve, and how they are mapped. Figures are
AccelForge's (1.0.467) for the same files.
"""

from __future__ import annotations

import io

import pytest

import solver_mapper as sm

ARCH = """\
arch:
  nodes:
  - !Memory
    name: MainMemory
    size: inf
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 100, throughput: inf}
    - {name: write, energy: 100, throughput: inf}
  - !Memory
    name: GlobalBuffer
    size: 4096
    leak_power: 0
    tensors: {keep: ~MainMemory, may_keep: All}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Compute
    name: MAC
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  rank_sizes: {B: 2, M: 4, D: 8, E: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "I[b, m, d] = J[b, m, d]", is_copy_operation: True}
  - "V[b, m, e] = I[b, m, d] * W[d, e]"
"""
TREE = """\
mapping:
  nodes:
  - !Storage {tensors: [J, W, V], component: MainMemory}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Storage {tensors: [I], component: GlobalBuffer}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: b, tile_shape: 1}
      - !Temporal {rank_variable: d, tile_shape: 1}
      - !Compute {einsum: I, component: MAC}
    - !Nested
      nodes:
      - !Temporal {rank_variable: b, tile_shape: 1}
      - !Temporal {rank_variable: d, tile_shape: 1}
      - !Temporal {rank_variable: e, tile_shape: 1}
      - !Compute {einsum: V, component: MAC}
"""


def test_a_copy_reads_its_source_and_writes_its_destination() -> None:
    statistics = sm.evaluate(sm.load(io.StringIO(ARCH + TREE)))
    assert (statistics.energy, statistics.latency) == (642816, 256)
    assert statistics.einsums[0].energy == 51712
    assert statistics.occupancy["GlobalBuffer"].bits == 128


def test_a_copy_within_one_memory_moves_nothing() -> None:
    tree = TREE.replace("tensors: [J, W, V]", "tensors: [J, I, W, V]").replace(
        "  - !Storage {tensors: [I], component: GlobalBuffer}\n", ""
    )
    statistics = sm.evaluate(sm.load(io.StringIO(ARCH + tree)))
    assert statistics.einsums[0].energy == 0
    assert statistics.einsums[0].latency == 0


def test_holders_further_in_have_no_part_in_a_copy() -> None:
    tree = TREE.replace(
        "      - !Temporal {rank_variable: b, tile_shape: 1}\n",
        "      - !Storage {tensors: [J], component: GlobalBuffer}\n"
        "      - !Temporal {rank_variable: b, tile_shape: 1}\n",
        1,
    )
    assert sm.evaluate(sm.load(io.StringIO(ARCH + tree))).energy == 642816


def test_a_copy_is_mapped_and_the_answer_is_legal() -> None:
    spec = sm.load(io.StringIO(ARCH))
    solution = sm.solve(spec, objective="energy")
    assert solution.status == "optimal"
    assert solution.mapping is not None
    assert sm.validate(spec, solution.mapping).legal
    assert solution.value == 111616


@pytest.mark.parametrize(
    "text", ["V[b, m, e] = I[b, m, d] + I[b, m, d]", "V[b, m, e] = I[b, m, d]"]
)
def test_a_tensor_given_twice_with_one_index_is_read_once(text: str) -> None:
    spec = sm.load(io.StringIO(ARCH.replace("V[b, m, e] = I[b, m, d] * W[d, e]", text)))
    assert spec.workload is not None
    assert spec.workload.einsums[1].tensors == ("I", "V")


def test_a_tensor_given_twice_with_other_indices_is_refused() -> None:
    with pytest.raises(sm.InputError, match=r"'I' stands more than once .* with different indices"):
        sm.load(
            io.StringIO(
                ARCH.replace(
                    "V[b, m, e] = I[b, m, d] * W[d, e]", "V[b, m, e] = I[b, m, d] * I[b, e, d]"
                )
            )
        )


def test_sizes_of_ranks_may_use_those_before() -> None:
    spec = sm.load(io.StringIO(ARCH.replace("D: 8, E: 4}", "D: 2 * M, E: ceil(D / 3)}")))
    assert spec.workload is not None
    assert spec.workload.einsums[1].bounds == {"b": 2, "m": 4, "d": 8, "e": 3}


def test_bits_may_differ_between_einsums() -> None:
    narrow = ARCH.replace(
        '- "V[b, m, e] = I[b, m, d] * W[d, e]"',
        '- einsum: "V[b, m, e] = I[b, m, d] * W[d, e]"\n'
        "    tensor_accesses: [{name: I, bits_per_value: 4}]",
    )
    statistics = sm.evaluate(sm.load(io.StringIO(narrow + TREE)))
    assert statistics.energy == 642816 - 2048 // 2
    assert statistics.occupancy["GlobalBuffer"].bits == 128
    assert sm.solve(sm.load(io.StringIO(narrow)), objective="energy").status == "optimal"


def test_a_copy_need_not_keep_its_source_where_its_destination_is() -> None:
    """A memory that must keep everything holds what several Einsums read, and not a second time
    what it was copied from.
    """
    everything = ARCH.replace("{keep: ~MainMemory, may_keep: All}", "{keep: All}")
    two = everything + '  - "U[b, m, e] = I[b, m, d] * X[d, e]"\n'
    solution = sm.solve(sm.load(io.StringIO(two)), "energy")
    assert solution.status == "optimal"
    assert sm.evaluate(sm.load(io.StringIO(two)), solution.mapping).energy == solution.value


def test_a_copy_pays_for_what_passes_above_the_home_of_its_result() -> None:
    """The tree shows the toll below that home, where several Einsums read the result."""
    wire = """\
  - !Toll
    name: Wire
    leak_power: 0
    direction: up_and_down
    tensors: {keep: All}
    actions: [{name: read, energy: 7, throughput: inf}]
"""
    head, rest = ARCH.split("  - !Memory\n    name: GlobalBuffer", 1)
    text = f"{head}{wire}  - !Memory\n    name: GlobalBuffer{rest}"
    text += '  - "U[b, m, e] = I[b, m, d] * X[d, e]"\n'
    solution = sm.solve(sm.load(io.StringIO(text)), "energy")
    assert solution.status == "optimal" and solution.evaluation is not None
    moved = solution.evaluation.einsums[0].actions
    assert {each.component for each in moved} >= {"MainMemory", "Wire"}
