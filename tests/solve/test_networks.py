"""What words pay where they enter a network is in the compiled model; what else they pay is not,
and proven all the same.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.core.architecture import Network
from solver_mapper.core.objective import parse_objective
from solver_mapper.io import bundled
from solver_mapper.io.yaml.documents import read_documents
from solver_mapper.io.yaml.source import to_python
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.instances import Instance, instance
from tests.solve.test_compiled_model import PLAIN, disagreements, even


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
    made = even(instance(seed, 10**6, PLAIN, wired=False))
    assert not disagreements(with_entries(made, router=False), 3)


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


@pytest.mark.parametrize("seed", [5029, 5200, 5201, 5202, 5225])
def test_claims_are_lower_bounds(seed):
    """With charging networks, bypassed levels among them, and levels that read blocks for the next
    level and for neighbours together.
    """
    assert not disagreements(instance(seed, 10**6), 3)


@pytest.mark.enumerates
def test_a_network_that_charges_hops_is_proven():
    """Products on networks that charge for hops, routers and links, which the model leaves out."""
    spec = instance(17, 500).spec
    mapspace = EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    goal = parse_objective("energy")
    (best,) = Exhaustive(mapspace).best([goal])
    solution = sm.solve(spec, "energy", time_limit=60)
    assert best is not None and solution.status == "optimal"
    assert solution.rank == goal.goals[0].rank(best[1])
