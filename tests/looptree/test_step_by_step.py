"""The evaluator against execution on concrete coordinates (step_by_step.py), on random trees, fused
ones included.
"""

from __future__ import annotations

import io
from collections import Counter

import pytest

import solver_mapper as sm
from tests.campaigns import in_campaigns
from tests.looptree.random_trees import random_case
from tests.looptree.step_by_step import peak_bits, walk


def agree(seed: int, ragged: bool = False) -> bool:
    """Whether the case was legal; if so its energy, latency, actions and peaks must equal those of
    the walk.
    """
    spec = sm.load(io.StringIO(random_case(seed, ragged)))
    assert isinstance(spec, sm.TreeSpec)
    if not sm.validate(spec).legal:
        return False
    statistics, totals = sm.evaluate(spec), walk(spec)
    counted = Counter(
        {
            (einsum.name, row.component, row.subject, row.action): row.actions
            for einsum in statistics.einsums
            for row in einsum.actions
            if row.action != "compute"
        }
    )
    assert +counted == +totals.actions
    assert (statistics.energy, statistics.latency) == (totals.energy, totals.latency)
    if not ragged:
        peaks = peak_bits(spec)
        assert {name: peak.bits for name, peak in statistics.occupancy.items()} == {
            name: bits for name, bits in peaks.items() if name in statistics.occupancy
        }
    return True


@pytest.mark.parametrize("block", [*range(3), *in_campaigns(range(3, 10))])
def test_random_trees_equal_their_execution(block: int):
    legal = sum(agree(seed) for seed in range(35 * block, 35 * block + 35))
    assert legal >= 30


@pytest.mark.parametrize("block", [0, *in_campaigns([1, 2])])
def test_tiles_that_do_not_divide_are_counted_as_they_are(block: int):
    """AccelForge counts averages here; the execution has whole tiles and a rest."""
    legal = sum(agree(seed, ragged=True) for seed in range(20 * block, 20 * block + 20))
    assert legal >= 13


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(100))
def test_campaign_of_random_trees(block: int):
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        agree(seed, ragged=bool(block % 2))
