"""What words pay where they enter a network is in the compiled model."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.core.architecture import Network
from solver_mapper.io import bundled
from solver_mapper.io.yaml.documents import read_documents
from solver_mapper.io.yaml.source import to_python
from tests.instances import Instance, instance
from tests.solve.test_compiled_model import PLAIN, disagreements


def with_entries(made: Instance, router: bool) -> Instance:
    """The same with networks that charge for entries, and for routers if asked."""
    random = Random(made.seed)
    levels = tuple(
        replace(
            level,
            network=Network(
                f"below {level.name}",
                ingress_energy=Fraction(random.randint(1, 40), 8),
                router_energy=Fraction(random.randint(1, 40) * router, 8),
            ),
        )
        for level in made.architecture.levels
    )
    return replace(made, architecture=replace(made.architecture, levels=levels))


@pytest.mark.parametrize("seed", range(20))
def test_entries_of_plain_tensors_are_exact(seed):
    """The compiled model calls itself exact then, and its energy is that of the cost model."""
    assert not disagreements(
        with_entries(instance(seed, 10**6, PLAIN, wired=False), router=False), 3
    )


@pytest.mark.parametrize("seed", range(20))
def test_routers_and_windows_are_bounded_from_below(seed):
    assert not disagreements(with_entries(instance(seed, 10**6), router=True), 3)


@pytest.mark.parametrize("price", ["energy-per-ingress", "router-energy"])
def test_a_layer_is_proven_though_words_pay_to_enter(price):
    """Left out of the model, half a picojoule for each word that leaves the buffer kept this proof
    from ending within 20 s.
    """
    document = to_python(read_documents(*bundled.resolve("eyeriss", "resnet50/conv1")))
    chip = document["architecture"]["subtree"][0]["subtree"][0]
    chip["local"][0]["attributes"][price] = "0.5"
    solution = sm.solve(sm.load(document), "energy", time_limit=60, workers=1)
    assert solution.status == "optimal"
    assert any(each.energy_pj for each in solution.evaluation.networks.values())
