"""Mappings that come with AccelForge, with the figures recorded from it (version 1.0.467).

Architecture `simple` with energies of 40 per bit in MainMemory, GlobalBuffer of 1e5 bits (1e6 for
sizes of 128) at 8 bits/s.
"""

from __future__ import annotations

import io

import pytest

import solver_mapper as sm

ARCH = """
arch:
  nodes:
  - !Memory
    name: MainMemory
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 40, throughput: inf}, {name: write, energy: 40, throughput: inf}]
  - !Memory
    name: GlobalBuffer
    size: SIZE
    leak_power: 0
    area: 0
    tensors: {keep: ~MainMemory, may_keep: All}
    actions: [{name: read, energy: 1, throughput: 8}, {name: write, energy: 1, throughput: 8}]
  - !Compute
    name: MAC
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
MATVECS = """
workload:
  iteration_space_shape: {na: 0 <= na < 4, ny: 0 <= ny < 3, nz: 0 <= nz < 4}
  bits_per_value: {All: 8}
  einsums:
  - Y[ny] = A[na]*B[na,ny]
  - Z[nz] = Y[ny]*C[ny,nz]
"""


def storage(tensors: str, component: str) -> str:
    return f"- !Storage {{tensors: [{tensors}], component: {component}}}"


def loop(variable: str) -> str:
    return f"- !Temporal {{rank_variable: {variable}, tile_shape: 1}}"


def tree(above: list[str], *branches: list[str]) -> str:
    lines = ["mapping:", "  nodes:", *(f"  {line}" for line in above)]
    if len(branches) == 1:
        return "\n".join([*lines, *(f"  {line}" for line in branches[0])]) + "\n"
    lines += ["  - !Sequential", "    nodes:"]
    for branch in branches:
        lines += ["    - !Nested", "      nodes:", *(f"      {line}" for line in branch)]
    return "\n".join(lines) + "\n"


def matmuls(count: int, m: int, kn: int) -> str:
    shape = ", ".join([f"m: 0 <= m < {m}", *(f"n{i}: 0 <= n{i} < {kn}" for i in range(count + 1))])
    lines = [
        "workload:",
        f"  iteration_space_shape: {{{shape}}}",
        "  bits_per_value: {All: 8}",
        "  einsums:",
    ]
    for i in range(count):
        lines += [
            f"  - name: Matmul{i}",
            "    tensor_accesses:",
            f"    - {{name: T{i}, projection: [m, n{i}]}}",
            f"    - {{name: W{i}, projection: [n{i}, n{i + 1}]}}",
            f"    - {{name: T{i + 1}, projection: [m, n{i + 1}], output: True}}",
            f"    renames: {{weight: W{i}, input: T{i}, output: T{i + 1}}}",
        ]
    return "\n".join(lines) + "\n"


def unfused(count: int) -> str:
    above = [storage(f"T{i}", "MainMemory") for i in range(count + 1)] + [
        storage(f"W{i}", "MainMemory") for i in range(count)
    ]
    return tree(
        above,
        *(
            [
                storage(f"T{i}, W{i}, T{i + 1}", "GlobalBuffer"),
                loop("m"),
                loop(f"n{i}"),
                loop(f"n{i + 1}"),
                f"- !Compute {{einsum: Matmul{i}, component: MAC}}",
            ]
            for i in range(count)
        ),
    )


def fused(count: int) -> str:
    weights = ", ".join(f"W{i}" for i in range(count))
    above = [
        storage(f"T0, T{count}, {weights}", "MainMemory"),
        storage(weights, "GlobalBuffer"),
        loop("m"),
        storage(f"T0, T{count}", "GlobalBuffer"),
        *(storage(f"T{i}", "GlobalBuffer") for i in range(1, count)),
    ]
    return tree(
        above,
        *(
            [loop(f"n{i}"), loop(f"n{i + 1}"), f"- !Compute {{einsum: Matmul{i}, component: MAC}}"]
            for i in range(count)
        ),
    )


def check(
    text: str,
    size: int,
    energy: float,
    latency: float,
    counts: tuple[int, int, int, int],
    share: float,
) -> None:
    spec = sm.load(io.StringIO(ARCH.replace("SIZE", str(size)) + text))
    assert sm.validate(spec).legal
    statistics = sm.evaluate(spec)
    assert isinstance(statistics, sm.TreeStatistics)
    found = tuple(
        sum(
            row.actions
            for einsum in statistics.einsums
            for row in einsum.actions
            if (row.component, row.action) == key
        )
        for key in [
            ("MainMemory", "read"),
            ("MainMemory", "write"),
            ("GlobalBuffer", "read"),
            ("GlobalBuffer", "write"),
        ]
    )
    assert (statistics.energy, statistics.latency, found) == (energy, latency, counts)
    assert float(statistics.occupancy["GlobalBuffer"].fraction) == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize(
    ("count", "m", "kn", "energy", "latency", "counts", "share"),
    [
        (1, 64, 64, 12648448, 1056768, (65536, 32768, 6291456, 2162688), 0.66048),
        (2, 64, 32, 7651328, 530432, (49152, 32768, 3145728, 1097728), 0.24832),
        (2, 128, 128, 170393600, 16842752, (524288, 262144, 100663296, 34078720), 0.263168),
        (3, 64, 32, 11476992, 795648, (73728, 49152, 4718592, 1646592), 0.24832),
    ],
)
def test_unfused_matmuls(
    count: int,
    m: int,
    kn: int,
    energy: int,
    latency: int,
    counts: tuple[int, int, int, int],
    share: float,
):
    check(
        matmuls(count, m, kn) + unfused(count),
        1000000 if kn == 128 else 100000,
        energy,
        latency,
        counts,
        share,
    )


@pytest.mark.parametrize(
    ("count", "m", "kn", "energy", "latency", "counts", "share"),
    [
        (2, 64, 32, 6307840, 526336, (32768, 16384, 3129344, 1081344), 0.16896),
        (2, 128, 128, 159645696, 16809984, (393216, 131072, 100532224, 33947648), 0.264192),
        (3, 64, 32, 8790016, 787456, (40960, 16384, 4685824, 1613824), 0.25088),
    ],
)
def test_fused_matmuls(
    count: int,
    m: int,
    kn: int,
    energy: int,
    latency: int,
    counts: tuple[int, int, int, int],
    share: float,
):
    check(
        matmuls(count, m, kn) + fused(count),
        1000000 if kn == 128 else 100000,
        energy,
        latency,
        counts,
        share,
    )


OUTER, INNER = "MainMemory", "GlobalBuffer"
Y, Z = "- !Compute {einsum: Y, component: MAC}", "- !Compute {einsum: Z, component: MAC}"


@pytest.mark.parametrize(
    ("nodes", "energy", "latency", "counts", "share"),
    [
        (
            tree(
                [storage("A, B, C, Y, Z", OUTER)],
                [storage("A, B", INNER), loop("ny"), storage("Y", INNER), loop("na"), Y],
                [storage("C, Z", INNER), loop("ny"), storage("Y", INNER), loop("nz"), Z],
            ),
            13200,
            127,
            (248, 56, 576, 440),
            0.00136,
        ),
        (
            tree(
                [storage("A, B, C, Z", OUTER), storage("Y", INNER)],
                [storage("A, B", INNER), loop("ny"), loop("na"), Y],
                [storage("C, Z", INNER), loop("ny"), loop("nz"), Z],
            ),
            11232,
            121,
            (224, 32, 552, 416),
            0.00152,
        ),
        (
            tree(
                [storage("A, B, C, Y, Z", OUTER), loop("ny"), storage("Y", INNER)],
                [storage("A, B", INNER), loop("na"), Y],
                [storage("C, Z", INNER), loop("nz"), Z],
            ),
            21072,
            151,
            (376, 120, 640, 568),
            0.00048,
        ),
        (
            tree(
                [
                    storage("A, B, C, Z", OUTER),
                    storage("A", INNER),
                    loop("ny"),
                    storage("Y", INNER),
                ],
                [storage("B", INNER), loop("na"), Y],
                [storage("C, Z", INNER), loop("nz"), Z],
            ),
            16480,
            137,
            (288, 96, 616, 480),
            0.0008,
        ),
    ],
)
def test_matvecs(
    nodes: str, energy: int, latency: int, counts: tuple[int, int, int, int], share: float
):
    check(MATVECS + nodes, 100000, energy, latency, counts, share)
