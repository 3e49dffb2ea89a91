"""Under limits on products, dataflows and caps on figures, the solver's answers are those of
looking at every mapping.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from solver_mapper.core.constraints import Constraint, Constraints, MetricConstraint
from solver_mapper.core.objective import figure, parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.constraints.random_designs import random_constraint
from tests.instances import Instance, instance
from tests.solve.test_solver_against_enumeration import disagreements

NAMES = {"energy": "energy_pj", "delay": "cycles", "last-level-accesses": "last_level_accesses"}


def limited(made: Instance, rng: Random) -> Spec:
    """The instance with up to two more constraints, and caps that lie between the least and the
    greatest of the best figures.
    """
    constraints: list[Constraint] = [
        random_constraint(rng, made.architecture, made.problem, ("product", "nesting"))
        for _ in range(rng.randint(0, 2))
    ]
    spec = made.spec
    spec = replace(spec, constraints=Constraints((*spec.constraints, *constraints)))
    best = Exhaustive(EnumeratedMapspace(made.architecture, made.problem, spec.constraints)).best(
        [parse_objective(name) for name in NAMES]
    )
    caps = []
    for metric in rng.sample(list(NAMES), 2):
        values = [figure(each[1], metric) for each in best if each is not None]
        if values:
            most = min(values) + (max(values) - min(values)) * Fraction(
                rng.choice([-1, 2, 4, 6, 8]), 8
            )
            caps.append(
                MetricConstraint("", f"metrics: {metric}", NAMES[metric], most, rng.random() < 0.3)
            )
    edp = [each[1].energy_pj * each[1].cycles for each in best if each is not None]
    if edp and rng.random() < 0.5:
        caps.append(
            MetricConstraint(
                "",
                "metrics: edp",
                "edp",
                min(edp) + (max(edp) - min(edp)) * Fraction(rng.randint(0, 4), 8),
            )
        )
    return replace(spec, constraints=Constraints((*spec.constraints, *caps)))


def compare(seeds: range, most: int) -> None:
    for seed in seeds:
        spec = limited(instance(seed, most, wired=False), Random(seed))
        wrong = disagreements(spec)
        assert not wrong, f"{seed}: {spec.constraints} {wrong}"


def test_answers_equal_those_of_enumeration() -> None:
    compare(range(15), 100)


@pytest.mark.campaign
def test_answers_equal_those_of_enumeration_in_hundreds_of_instances() -> None:
    compare(range(1000, 1400), 400)
