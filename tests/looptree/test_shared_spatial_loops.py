"""Tensors handed over in memories of several copies: each copy keeps its part, and all Einsums
that use the tensor share the loops over the copies.
"""

from __future__ import annotations

import io

import pytest

import solver_mapper as sm
from solver_mapper.cost.looptree.mapping.mapping_tree import Sequential, Spatial, Storage

TEXT = """
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 4, throughput: inf}
    - {name: write, energy: 4, throughput: inf}
  - !Memory
    name: Buffer
    size: SIZE
    leak_power: 0
    tensors: {keep: All}
    spatial: [{name: X, fanout: 4REUSE}]
    actions:
    - {name: read, energy: READ, throughput: inf}
    - {name: write, energy: WRITE, throughput: inf}
  - !Compute
    name: Mac
    leak_power: 0
    actions:
    - {name: compute, energy: 0, throughput: 1}
workload:
  iteration_space_shape:
    m: 0 <= m < 16
    n0: 0 <= n0 < 16
    n1: 0 <= n1 < 16
    n2: 0 <= n2 < 16
  bits_per_value: {All: 8}
  einsums:
  - name: First
    tensor_accesses:
    - {name: A, projection: [m, n0]}
    - {name: V, projection: [n0, n1]}
    - {name: B, projection: [m, n1], output: True}
  - name: Second
    tensor_accesses:
    - {name: B, projection: [m, n1]}
    - {name: W, projection: [n1, n2]}
    - {name: C, projection: [m, n2], output: True}
"""


def specified(size: str, reuse: str = "", read: str = "0", write: str = "0") -> sm.TreeSpec:
    text = TEXT.replace("SIZE", size).replace("REUSE", reuse)
    spec = sm.load(io.StringIO(text.replace("READ", read).replace("WRITE", write)))
    assert isinstance(spec, sm.TreeSpec)
    return spec


def test_each_copy_keeps_its_part_of_what_is_handed_over() -> None:
    solution = sm.solve(specified("inf"), objective="edp")
    assert isinstance(solution, sm.TreeSolution)
    assert solution.mapping is not None
    nodes = solution.mapping.nodes
    spatial = next(node for node in nodes if isinstance(node, Spatial))
    assert Storage(("B",), "Buffer") in nodes[nodes.index(spatial) :]
    assert isinstance(nodes[-1], Sequential)
    assert sm.validate(specified("inf"), solution.mapping).legal
    traffic = 4 * 16 * 16 * 8 * 4
    time = 2 * 16**3 // 4
    assert solution.value == traffic * time


@pytest.mark.parametrize(
    ("size", "reuse", "value"),
    [("320", ", may_reuse: Nothing", 384_827_392)],
)
def test_the_optimum_is_that_of_accelforge(size: str, reuse: str, value: int) -> None:
    """Values of AccelForge 1.0.467's mapper. The buffers are too small for a copy's whole part, so
    a loop in time is shared below the one in space.
    """
    solution = sm.solve(specified(size, reuse, "1/4", "1/2"), objective="edp")
    assert solution.status == "optimal"
    assert solution.value == value
