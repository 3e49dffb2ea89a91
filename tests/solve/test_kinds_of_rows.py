"""Kinds of rows: the same whether they are looked up, where numbers are dense, or sorted."""

from __future__ import annotations

import numpy as np
import pytest

from solver_mapper.solve.outward import inner


@pytest.mark.parametrize("seed", range(20))
def test_kinds_are_the_same_whether_looked_up_or_sorted(seed: int, monkeypatch) -> None:
    random = np.random.default_rng(seed)
    columns = [random.integers(0, random.integers(1, 9), size=50) for _ in range(3)]
    found = []
    for dense in (0, 10**9):
        monkeypatch.setattr(inner, "DENSE", dense)
        found.append(inner.alike(columns))
    (first, where), (other_first, other_where) = found
    assert (first == other_first).all() and (where == other_where).all()
    rows = np.array(columns).T
    assert (rows[first][where] == rows).all()
    assert len(np.unique(rows, axis=0)) == len(first)
