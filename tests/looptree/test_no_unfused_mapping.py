"""Fused graphs of which some Einsum has no mapping that hands nothing over: the first mapping, from
a few skeletons of each Einsum, ends there.
"""

from __future__ import annotations

import io

import pytest

import solver_mapper as sm

ARCH = """arch:
  nodes:
  - !Memory
    name: Dram
    size: inf
    leak_power: 0
    tensors: {{keep: ~Intermediates, may_keep: {stored}}}
    actions: [{{name: read, energy: {dram}, throughput: inf}},
              {{name: write, energy: {dram}, throughput: inf}}]
  - !Memory
    name: Sram
    size: 512
    leak_power: 0
    tensors: {{keep: ~Dram, may_keep: All}}
    actions: [{{name: read, energy: {sram}, throughput: inf}},
              {{name: write, energy: {sram}, throughput: inf}}]
  - !Memory
    name: Reg
    size: 64
    leak_power: 0
    tensors: {{keep: Nothing, may_keep: ~Intermediates}}
    actions: [{{name: read, energy: {reg}, throughput: inf}},
              {{name: write, energy: {reg}, throughput: inf}}]
  - !Compute
    name: Mac
    leak_power: 0
    actions: [{{name: compute, energy: 1, throughput: 1}}]
workload:
  rank_sizes: {{M: 4, K: 4, N: 4, P: 4}}
  bits_per_value: {{All: 8}}
  einsums:
"""
DEAR_REGISTERS = {"dram": 30, "sram": 2, "reg": 30}
CHEAP_REGISTERS = {"dram": 7, "sram": 20, "reg": 1}
PRODUCT = ["OA[m, n] = IA[m, k] * WA[k, n]"]
ON_CHIP = ["TC[p] = IC[p]", "OD[p] = TC[p]"]
"""TC may not be stored in Dram."""
PAIRS = [
    *("TA[m, n] = IA[m, k] * WA[k, n]", "OX[m, n] = TA[m, n]"),
    *("TC[m, n] = IC[m, n]", "OD[m, n] = TC[m, n]"),
    *("TE[m, n] = IE[m, k] * WE[k, n]", "OY[m, n] = TE[m, n]"),
]


def solved(einsums: list[str], objective: str, energies: dict[str, int]) -> float:
    listed = "".join(f'  - "{each}"\n' for each in einsums)
    stored = "~TC" if "TC" in listed else "All"
    spec = sm.load(io.StringIO(ARCH.format(stored=stored, **energies) + listed))
    solution = sm.solve(spec, objective)
    assert solution.status == "optimal" and solution.value is not None
    return float(solution.value)


@pytest.mark.parametrize("objective", ["energy", "delay"])
def test_the_order_of_einsums_that_share_nothing_changes_nothing(objective: str) -> None:
    """The product has more orders of storage and loops than are looked at first."""
    parts = [solved(part, objective, DEAR_REGISTERS) for part in (PRODUCT, ON_CHIP)]
    for einsums in ([*PRODUCT, *ON_CHIP], [*ON_CHIP, *PRODUCT]):
        assert solved(einsums, objective, DEAR_REGISTERS) == pytest.approx(sum(parts), rel=1e-9)


def test_einsums_that_are_alike_share_skeletons_from_one_sample() -> None:
    """TE is like TA, of whose skeletons a sample was looked at, and the first to need them all."""
    parts = [solved(PAIRS[at : at + 2], "energy", CHEAP_REGISTERS) for at in (0, 2, 4)]
    assert solved(PAIRS, "energy", CHEAP_REGISTERS) == pytest.approx(sum(parts), rel=1e-9)
