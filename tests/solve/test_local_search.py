"""Local search: legal mappings only, at least as good as where it began, the same for the same
seed, at once on real layers.
"""

from __future__ import annotations

import time

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.io import bundled
from solver_mapper.solve.legality.queries import legal_mapping
from solver_mapper.solve.local_search import LocalSearch
from solver_mapper.solve.session import Session
from tests.instances import instance

EDP = parse_objective("edp").goals[0]


@pytest.mark.parametrize("seed", range(40))
def test_it_stays_in_the_mapspace_and_never_ends_worse(seed):
    """Random mapspaces with all constraints: what comes back is legal, of the space, has the
    figures it comes with, and repeats.
    """
    made = instance(seed, 10**6)
    start = legal_mapping(made.spec, Clock())
    if start is None:
        return
    best, statistics = LocalSearch(
        made.spec, Session(made.spec).all_mappings, EDP, seed=seed
    ).best_from(start)
    assert sm.validate(made.spec, best).legal
    assert made.mapspace.contains(best)
    assert statistics.edp == sm.evaluate(made.spec, best).edp <= sm.evaluate(made.spec, start).edp
    assert (
        LocalSearch(made.spec, Session(made.spec).all_mappings, EDP, seed=seed).best_from(start)[0]
        == best
    )


@pytest.mark.parametrize("architecture", ["eyeriss", "three_level", "simba"])
@pytest.mark.parametrize("layer", ["conv1", "layer1.x.conv2_3x3", "layer4.x.conv3_1x1"])
def test_real_layers_have_a_mapping_within_a_second(architecture, layer):
    """A second of processor time, reading included, brings a mapping that costs less than half of
    just any legal one.
    """
    began = time.thread_time()
    spec = sm.load(*bundled.resolve(architecture, f"resnet50/{layer}"))
    assert isinstance(spec, Spec)
    seen: list[tuple[float, float]] = []
    clock = Clock()

    def first(progress):
        seen.append((time.thread_time() - began, progress.value))
        clock.stop()

    solution = sm.solve(spec, "edp", on_progress=first, clock=clock)
    seconds, value = seen[0]
    assert seconds < 1
    assert solution.status == "feasible"
    assert solution.value == value
    assert value < float(sm.evaluate(spec, legal_mapping(spec, Clock())).edp) / 2
    assert 0 < solution.bound < value


def test_few_mappings_are_evaluated_where_windows_slide_over_a_large_mesh(monkeypatch):
    """The exact model looks at each of 65,536 elements."""
    evaluated = []
    exact = Evaluator.evaluate
    monkeypatch.setattr(Evaluator, "evaluate", lambda *of: evaluated.append(of) or exact(*of))
    spaces = {"W": [["K"], ["R"]], "I": [["P", "R"]], "O": [["K"], ["P"]]}
    shape = {
        "name": "conv1d",
        "dimensions": ["K", "P", "R"],
        "data-spaces": [
            {"name": name, "projection": [[[dim] for dim in rank] for rank in ranks]}
            | ({"read-write": True} if name == "O" else {})
            for name, ranks in spaces.items()
        ],
    }
    problem = {"problem": {"shape": shape, "instance": {"K": 256, "P": 256, "R": 3}}}
    counts = []
    for side in (16, 256):
        mesh = {"instances": side * side, "meshX": side}
        storage = [{"name": "DRAM", "technology": "DRAM", "instances": 1}]
        spec = sm.load(
            {"arch": {"arithmetic": {"name": "MAC"} | mesh, "storage": storage}}, problem
        )
        start = legal_mapping(spec, Clock())
        assert start is not None
        evaluated.clear()
        LocalSearch(spec, Session(spec).all_mappings, EDP, effort=16).best_from(start)
        counts.append(len(evaluated))
    assert counts[1] < counts[0] / 5
