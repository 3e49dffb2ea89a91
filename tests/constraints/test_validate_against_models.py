"""`validate` and the solver's models agree on every mapping: what one accepts the other has a
solution for, and the reverse.

The models have no variables for the order of loops that costs nothing, so a mapping is judged with
its loops put in an order that the constraints allow, where there is one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from ortools.sat.python import cp_model

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import Kind
from solver_mapper.core.loop_orders import pairs_at
from solver_mapper.core.mapping import Loop, Mapping
from solver_mapper.core.primes import exponents_of
from solver_mapper.core.spec import Spec
from solver_mapper.mapspace.order_patterns import arrange
from solver_mapper.mapspace.requirements import requirements_of
from solver_mapper.mapspace.space import Slot, build_space
from solver_mapper.solve.cpsat.compile import compile_space
from solver_mapper.solve.legality.extract import fix
from solver_mapper.solve.legality.model import legal_model
from solver_mapper.solve.legality.queries import least
from tests.campaigns import in_campaigns
from tests.constraints.random_designs import random_mapping, random_spec


def arranged(spec: Spec, mapping: Mapping) -> Mapping:
    """`mapping` with the loops of each nest, and of each axis, in an order that the permutation
    constraints allow.
    """

    def order(level: str, loops: list[Loop], kind: Kind) -> tuple[Loop, ...]:
        inward = [each.dim for each in reversed(loops)]
        by_dim = {each.dim: each for each in loops}
        pairs = pairs_at(spec.constraints, level, kind, spec.need_problem().dims)
        return tuple(by_dim[dim] for dim in reversed(arrange(inward, pairs)))

    levels = []
    for level in mapping.levels:
        axes = [
            order(level.level, [each for each in level.spatial if each.axis == axis], "spatial")
            for axis in "YX"
        ]
        levels.append(
            replace(
                level,
                temporal=order(level.level, list(level.temporal), "temporal"),
                spatial=(*axes[0], *axes[1]),
            )
        )
    return replace(mapping, levels=tuple(levels))


def is_legal_for_the_model_of_legality(spec: Spec, mapping: Mapping) -> bool:
    legal = legal_model(spec.need_architecture(), spec.need_problem(), requirements_of(spec))
    return fix(legal, mapping) and least(legal, None, Clock()).read is not None


def is_legal_for_the_compiled_model(spec: Spec, mapping: Mapping) -> bool:
    space = build_space(spec.need_architecture(), spec.need_problem(), spec.constraints)
    variables = compile_space(space).variables
    bounds = {
        (each.dim, Slot(index, each.axis)): each.bound
        for index, level in enumerate(mapping.levels)
        for each in (*level.temporal, *level.spatial)
    }
    for dim in space.dims:
        primes = tuple(prime for prime, _ in space.primes[dim])
        for slot in space.slots:
            powers = exponents_of(bounds.pop((dim, slot), 1), primes)
            assert powers is not None
            for prime, power in zip(primes, powers, strict=True):
                variables.model.add(variables.power[dim, prime, slot] == power)
    for (tensor, level), keep in variables.keep.items():
        variables.model.add(keep == (tensor in mapping.levels[level].keep))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    return not bounds and solver.solve(variables.model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def compare(seeds: range, compiled: bool) -> Counter[bool]:
    """How many mappings were legal and illegal; on all of them the verdicts agree."""
    counts: Counter[bool] = Counter()
    for seed in seeds:
        rng = Random(seed)
        spec = random_spec(rng, 3)
        for _ in range(3):
            mapping = random_mapping(rng, spec)
            own, best = sm.validate(spec, mapping), sm.validate(spec, arranged(spec, mapping))
            assert best.legal or not own.legal
            judge = (
                is_legal_for_the_compiled_model if compiled else is_legal_for_the_model_of_legality
            )
            assert judge(spec, mapping) == best.legal, f"{seed}: {best} {mapping}"
            counts[best.legal] += 1
    return counts


def test_the_model_of_legality_and_validate_agree() -> None:
    assert min(compare(range(150), compiled=False).values()) > 30


@pytest.mark.parametrize("first", [0, *in_campaigns([25])])
def test_the_compiled_model_and_validate_agree(first: int) -> None:
    assert min(compare(range(first, first + 25), compiled=True).values()) > 5


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(10_000, 14_000, 200))
def test_the_model_of_legality_agrees_on_thousands_of_mappings(first: int) -> None:
    assert min(compare(range(first, first + 200), compiled=False).values()) > 40


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(20_000, 21_000, 100))
def test_the_compiled_model_agrees_on_thousands_of_mappings(first: int) -> None:
    assert min(compare(range(first, first + 100), compiled=True).values()) > 20
