"""A first legal mapping where the solver does not find one soon by itself."""

from __future__ import annotations

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.io import bundled
from solver_mapper.solve.legality import queries
from solver_mapper.solve.legality.loops import Loops


@pytest.mark.parametrize("architecture", ["three_level", "eyeriss"])
def test_the_solver_begins_with_all_loops_outermost(architecture: str, monkeypatch) -> None:
    spec = sm.load(*bundled.resolve(architecture, "resnet50/layer2.x.conv2_3x3"))
    monkeypatch.setattr(queries, "QUICK", 0.0)
    hinted, hint = [], Loops.hint_outermost
    monkeypatch.setattr(Loops, "hint_outermost", lambda loops: hinted.append(hint(loops)))
    mapping = queries.legal_mapping(spec, Clock())
    assert mapping is not None and hinted
    assert sm.validate(spec, mapping).legal
