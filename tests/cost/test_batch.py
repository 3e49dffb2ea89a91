"""The batch form against the model, mapping by mapping."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver_mapper.core.architecture import Network
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.cost.timeloop import Evaluator
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.errors import InputError
from tests.strategies import Case, cases, splits

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from batch_model import CHUNK, BatchEvaluator


def template_of(mapping: Mapping, dims: tuple[str, ...]) -> Mapping:
    """The orders of `mapping`, completed so that every dimension has a temporal loop at every
    level.
    """

    def completed(level: LevelMapping) -> LevelMapping:
        temporal = {loop.dim: Loop(loop.dim, 1, 1) for loop in level.temporal} | {
            dim: Loop(dim, 1, 1) for dim in dims
        }
        spatial = {(loop.dim, loop.axis): replace(loop, bound=1, last=1) for loop in level.spatial}
        return replace(level, temporal=tuple(temporal.values()), spatial=tuple(spatial.values()))

    return Mapping(tuple(completed(level) for level in mapping.levels))


def with_factors(template: Mapping, factors: list[int]) -> Mapping:
    left = iter(factors)
    levels = []
    for level in template.levels:
        temporal = tuple(
            replace(loop, bound=(factor := next(left)), last=factor) for loop in level.temporal
        )
        spatial = tuple(
            replace(loop, bound=(factor := next(left)), last=factor) for loop in level.spatial
        )
        levels.append(replace(level, temporal=temporal, spatial=spatial))
    return Mapping(tuple(levels))


@st.composite
def batches(draw: st.DrawFn) -> tuple[Case, Mapping, list[list[int]]]:
    """A machine with limited capacities and free networks, a template, rows of factors for it."""
    case = draw(cases(perfect=True, most=5_000))
    levels = [
        replace(level, network=Network(""), entries=draw(st.sampled_from([None, 4, 40])))
        for level in case.architecture.levels
    ]
    case = replace(case, architecture=replace(case.architecture, levels=tuple(levels)))
    template = template_of(case.mapping, case.problem.dims)
    slots = list(template.loops())
    rows = []
    for _ in range(draw(st.integers(1, 5))):
        row = [0] * len(slots)
        for dim in case.problem.dims:
            places = [place for place, loop in enumerate(slots) if loop.dim == dim]
            for place, (bound, _) in zip(
                places, draw(splits(case.problem.bounds[dim], len(places), True)), strict=True
            ):
                row[place] = bound
        rows.append(row)
    return case, template, rows


@given(batches())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_batch_has_the_figures_of_its_mappings(
    batch: tuple[Case, Mapping, list[list[int]]],
) -> None:
    """Cycles, energy and legality; where neighbours do serve each other, the mapping is marked."""
    case, template, rows = batch
    try:
        found = BatchEvaluator(case.architecture, case.problem, template).evaluate(rows)
    except InputError as refusal:
        assert "too many of the dimensions" in refusal.message
        return
    evaluator = Evaluator(case.architecture, case.problem)
    for index, row in enumerate(rows):
        mapping = with_factors(template, row)
        statistics = evaluator.evaluate(mapping)
        assert found.legal[index] == (not violations(case.architecture, case.problem, mapping))
        if not found.linked[index]:
            assert (found.cycles[index], found.energy_pj(index)) == (
                statistics.cycles,
                statistics.energy_pj,
            )
            assert not any(
                each.link_transfers
                for network in statistics.networks.values()
                for each in network.tensors.values()
            )


@given(batches())
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_without_links_a_batch_is_always_exact(
    batch: tuple[Case, Mapping, list[list[int]]],
) -> None:
    case, template, rows = batch
    names = frozenset(case.problem.tensor_names)
    template = Mapping(tuple(replace(level, no_link_transfer=names) for level in template.levels))
    try:
        found = BatchEvaluator(case.architecture, case.problem, template).evaluate(rows)
    except InputError:
        return
    assert not found.linked.any()
    evaluator = Evaluator(case.architecture, case.problem)
    exact = [evaluator.evaluate(with_factors(template, row)) for row in rows]
    assert list(found.cycles) == [each.cycles for each in exact]
    assert [found.energy_pj(index) for index in range(len(rows))] == [
        each.energy_pj for each in exact
    ]


@given(batches())
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_batch_larger_than_a_chunk_is_put_together_in_order(
    batch: tuple[Case, Mapping, list[list[int]]],
) -> None:
    case, template, rows = batch
    try:
        evaluator = BatchEvaluator(case.architecture, case.problem, template)
    except InputError:
        return
    many = np.array(rows * (CHUNK // len(rows) + 1))
    assert list(evaluator.evaluate(many).energy) == list(
        np.resize(evaluator.evaluate(rows).energy, len(many))
    )


@given(cases(perfect=True))
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_network_with_a_price_is_refused(case: Case) -> None:
    level = replace(case.architecture.levels[0], network=Network("", ingress_energy=Fraction(1)))
    architecture = replace(case.architecture, levels=(level, *case.architecture.levels[1:]))
    with pytest.raises(InputError, match="networks that charge"):
        BatchEvaluator(architecture, case.problem, case.mapping)
