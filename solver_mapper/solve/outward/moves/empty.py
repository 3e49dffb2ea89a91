"""Where walks begin."""

from __future__ import annotations

import numpy as np

from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.inner import InnerMappings


def empty(costs: Costs, ways: int = 0) -> InnerMappings:
    """The inner mapping without loops: a unit asks for its operands at each operation. `ways`: in
    how many dimensions may trade places.
    """
    tensors = len(costs.tensors)
    units = np.zeros((1, len(costs.sliding), costs.depth + 1))
    units[..., costs.depth] = 1.0
    dimensions, limits = costs.loops.columns
    return InnerMappings(
        tile=np.ones((1, len(costs.sizes)), dtype=np.int64),
        open=np.zeros((1, tensors), dtype=bool),
        due=np.full((1, tensors), float(costs.operations)),
        sends=np.ones((1, tensors)),
        anew=np.zeros((1, tensors)),
        refund=np.zeros((1, tensors)),
        states=np.zeros((1, len(costs.sliding)), dtype=np.int64),
        fetched=units.copy(),
        sent=units,
        copies=units.copy(),
        parents=np.ones_like(units),
        lost=np.zeros(1),
        doubts=np.zeros(1, dtype=np.int64),
        network=np.zeros_like(units),
        passed=np.zeros((1, tensors, costs.depth if costs.networks else 0)),
        hops=np.zeros((1, tensors, costs.depth if costs.networks else 0)),
        linked=np.zeros((1, tensors, 2 if costs.networks else 0)),
        supplied=np.zeros(1, dtype=np.int64),
        arranged=np.zeros(1, dtype=np.int64),
        looped=np.array([[0, -1]]),
        pace=np.ones(1),
        moved=np.zeros((1, tensors, len(costs.slow), 3)),
        pending=np.zeros((1, tensors, len(costs.slow), 2)),
        shared=np.zeros((1, tensors, len(costs.clustered), 4)),
        used=np.ones((1, len(costs.clustered))),
        energy=np.zeros(1),
        charged=np.zeros(1),
        meshes=np.ones((1, 2), dtype=np.int64),
        here=np.ones((1, dimensions), dtype=np.int64),
        products=np.ones((1, limits), dtype=np.int64),
        laid=np.zeros(1, dtype=np.int64),
        even=np.full(1, (1 << ways) - 1, dtype=np.int64),
        floor=np.full(1, -np.inf),
        least=np.full(1, -np.inf),
        parent=np.full(1, -1, dtype=np.int64),
        move=np.full(1, -1, dtype=np.int64),
    )
