"""The prover agrees with plain enumeration: it confirms the optimum, and finds a better mapping
where the claim is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import Objective, parse_objective
from solver_mapper.core.problem import Term
from solver_mapper.verify.boxes import Mapspace
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.prover import ProofTree, Prover
from solver_mapper.verify.target import Target
from tests.campaigns import in_campaigns
from tests.instances import Instance, instance

OBJECTIVES = [
    parse_objective(text)
    for text in ("energy", "delay", "edp", "last-level-accesses", "delay,energy", "energy^2*delay")
]


def proof(space: Mapspace, objective, ranks) -> ProofTree:
    return Prover(Target(space, objective, ranks, Fraction(0)), lambda: False).prove()


def disagreements(seed: int, most: int, wired: bool = True) -> list[str]:
    """Where the prover and enumeration differ, for one objective."""
    return compared(instance(seed, most, wired=wired), OBJECTIVES[seed % len(OBJECTIVES)])


def compared(made: Instance, objective: Objective) -> list[str]:
    space = Mapspace(made.spec)
    best = Exhaustive(made.mapspace).best([objective])[0]
    if best is None:
        return (
            []
            if proof(space, objective, None).complete
            else [f"a mapping where there is none: {made}"]
        )
    ranks = tuple(goal.rank(best[1]) for goal in objective.goals)
    wrong = []
    true = proof(space, objective, ranks)
    if not true.complete:
        wrong.append(
            f"the optimum is not confirmed: {true.better or len(true.open)} {objective} {ranks}"
            f" {made}"
        )
    worse = (*ranks[:-1], ranks[-1] + Fraction(1, space.unit))
    if ranks[-1] and proof(space, objective, worse).better is None:
        wrong.append(f"a value just above the optimum is taken for it: {objective} {ranks} {made}")
    if proof(space, objective, None).better is None:
        wrong.append(f"no mapping is found: {made}")
    return wrong


@pytest.mark.parametrize("seed", [*range(15), *in_campaigns(range(15, 35))])
def test_prover_agrees_with_enumeration(seed):
    """Mapspaces with every feature, feasible or not; the smallest difference in value counts."""
    assert not disagreements(seed, 60, wired=seed % 5 == 0)


@pytest.mark.parametrize("seed", range(2))
def test_a_dimension_twice_in_one_rank(seed):
    """A window over P + P + R is one over 2P + R."""
    made = instance(seed, 12, ["conv1d"], wired=False)
    terms = (Term("P"), Term("P"), Term("R"))
    tensors = tuple(
        replace(each, ranks=(each.ranks[0], terms)) if each.name == "I" else each
        for each in made.problem.tensors
    )
    made = replace(made, problem=replace(made.problem, tensors=tensors))
    assert not compared(made, OBJECTIVES[seed % len(OBJECTIVES)])


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(60, 2060, 50))
def test_prover_agrees_with_enumeration_on_many(first):
    assert not [wrong for seed in range(first, first + 50) for wrong in disagreements(seed, 200)]


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(5000, 5500, 50))
def test_three_ways_agree(first):
    """Enumeration, branch and bound and CP-SAT, on problems of every feature."""
    wrong = []
    for seed in range(first, first + 50):
        made, objective = instance(seed, 60), OBJECTIVES[seed % len(OBJECTIVES)]
        best = Exhaustive(made.mapspace).best([objective])[0]
        solved = sm.solve(made.spec, ",".join(objective.names), gap=0, time_limit=300)
        ranks = [
            tuple(g.rank(x) for g in objective.goals) if x else None
            for x in (best and best[1], solved.evaluation)
        ]
        if solved.status not in ("optimal", "infeasible"):
            wrong.append(f"CP-SAT ends with {solved.status}: {objective} {made}")
        if ranks[0] != ranks[1]:
            wrong.append(f"CP-SAT finds {ranks[1]}, enumeration {ranks[0]}: {objective} {made}")
        wrong += compared(made, objective)
    assert not wrong
