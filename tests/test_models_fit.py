"""The constraints of every architecture that comes with the package leave something over for every
layer that comes with it.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping

import pytest

import solver_mapper as sm
from solver_mapper.core.constraints import KeepConstraint
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.spec import Spec
from solver_mapper.io import bundled
from solver_mapper.io.bundled import Accelerator, Layer, LayerNetwork

# Where the plainest mapping runs a dimension that the dataflow keeps out of DRAM: a row in its
# processing element, a sum in its accumulator.
HOME: AbstractMapping[str, AbstractMapping[str, str]] = {
    "eyeriss": {"R": "weights_spad", "S": "shared_glb", "P": "shared_glb"},
    "tpu": {"C": "Accumulators", "R": "Accumulators", "S": "Accumulators"},
}
REDUCED_AT_HOME = ("gemm", "batched-gemm")

CASES = [
    pytest.param(accelerator, network, id=f"{accelerator.name}-{network.name}")
    for accelerator in bundled.architectures()
    for network in bundled.networks()
]


def plainest(spec: Spec, accelerator: Accelerator, layer: Layer) -> Mapping:
    """One processing element at work; every loop in DRAM but those that the dataflow wants
    elsewhere.
    """
    architecture, problem = spec.need_architecture(), spec.need_problem()
    home = dict(HOME.get(accelerator.name, {}))
    if accelerator.name == "tpu" and layer.shape in REDUCED_AT_HOME:
        home["K"] = "Accumulators"
    bypassed = {
        (constraint.level, constraint.tensor)
        for constraint in spec.constraints
        if isinstance(constraint, KeepConstraint) and not constraint.keep
    }
    outer = architecture.levels[0].name
    levels = []
    for level in architecture.level_names:
        loops = tuple(
            loop(dim, bound)
            for dim, bound in problem.bounds.items()
            if bound > 1 and home.get(dim, outer) == level
        )
        keep = frozenset(name for name in problem.tensor_names if (level, name) not in bypassed)
        levels.append(LevelMapping(level, loops, keep=keep))
    return Mapping(tuple(levels), problem.dims, problem.tensor_names)


@pytest.mark.parametrize(("accelerator", "network"), CASES)
def test_every_layer_has_a_legal_mapping_on_every_architecture(
    accelerator: Accelerator, network: LayerNetwork
) -> None:
    for layer in network.layers:
        spec = sm.load(*bundled.resolve(accelerator.name, layer.full_name))
        mapping = plainest(spec, accelerator, layer)
        verdict = sm.validate(spec, mapping)
        assert verdict.legal, f"{layer.full_name}: {verdict}"
        assert sm.evaluate(spec, mapping).macs == layer.macs
