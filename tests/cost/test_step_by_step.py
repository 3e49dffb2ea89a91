"""The model against the walk: counting by formula gives what carrying out every step gives."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings

from solver_mapper.cost.timeloop import Evaluator
from solver_mapper.cost.timeloop.latency import steps
from solver_mapper.cost.timeloop.tiles import build_nest
from tests.cost.step_by_step import walk
from tests.strategies import Case, cases

RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def compare(case: Case) -> None:
    """Every word of every tensor at every level, every multicast, hop and link, and the steps."""
    evaluator = Evaluator(case.architecture, case.problem, every_hop=True)
    nest = build_nest(case.problem, case.mapping)
    walked = walk(case.architecture, case.problem, case.mapping)
    assert steps(nest) == walked.steps
    statistics = evaluator.evaluate(case.mapping)
    unbypassed = dict(
        zip(case.problem.tensor_names, evaluator.unbypassed(nest, case.mapping), strict=True)
    )
    for name in case.problem.tensor_names:
        for level, crossing in enumerate(walked.crossings[name]):
            traffic = unbypassed[name][level]
            served: Counter[int] = Counter()
            for record in traffic.records:
                served[record.multicast] += int(record.words)
            assert served == crossing.served, (name, level)
            assert traffic.link_transfers == crossing.links, (name, level)
            assert (
                Fraction(sum(record.double_hops for record in traffic.records), 2) == crossing.hops
            ), (name, level)
        for level, accesses in walked.accesses[name].items():
            found = statistics.levels[level].tensors[name]
            assert (found.tile, found.reads, found.fills, found.updates) == (
                accesses.tile,
                accesses.reads,
                accesses.fills,
                accesses.updates,
            ), (name, level)


@given(cases())
@settings(max_examples=80, deadline=None, suppress_health_check=RELAXED)
def test_the_model_counts_what_the_walk_counts(case: Case) -> None:
    compare(case)


@pytest.mark.campaign
@given(cases())
@settings(max_examples=20_000, deadline=None, suppress_health_check=RELAXED)
def test_the_model_counts_what_the_walk_counts_at_length(case: Case) -> None:
    compare(case)
