"""Energies of all mappings are whole multiples of a unit: bounds that are rounded may be raised."""

from __future__ import annotations

from random import Random

import pytest

from solver_mapper.cost.timeloop.energy import energy_unit
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.cost.timeloop.network_energy import networks_below
from tests.campaigns import in_campaigns
from tests.instances import in_odd_clusters, instance, odd_instance
from tests.solve.test_compiled_model import legal_mappings


@pytest.mark.parametrize("how", [instance, odd_instance])
@pytest.mark.parametrize("first", [0, *in_campaigns(range(40, 800, 40))])
def test_energies_are_multiples_of_a_unit(first, how):
    """Blocks, clusters, addresses, leakage, words from neighbours: but not what networks charge."""
    seen = 0
    for seed in range(first, first + 40):
        made = how(seed, 20_000)
        made = in_odd_clusters(made) if seed % 3 == 0 else made
        networks = [each for below in networks_below(made.architecture) for each in below]
        if not all(each.free for each in networks):
            continue
        unit = energy_unit(made.architecture, made.problem.macs)
        evaluator = Evaluator(made.architecture, made.problem)
        for mapping in legal_mappings(made, Random(seed), 20):
            seen += 1
            assert (evaluator.evaluate(mapping).energy_pj * unit).denominator == 1, made
    assert seen > 50
