"""Tests of the solver's paths keep to these where mapspaces are small enough to be enumerated."""

from __future__ import annotations

import pytest

from solver_mapper.solve import session


@pytest.fixture(autouse=True)
def no_enumeration(request, monkeypatch):
    if not {"campaign", "enumerates"} & {mark.name for mark in request.node.iter_markers()}:
        monkeypatch.setattr(session, "FEW_NESTS", 0)
        monkeypatch.setattr(session, "MANY_NESTS", 0)
