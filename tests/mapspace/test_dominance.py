"""The one Pareto filter drops what something else equals or beats, and nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from solver_mapper.core.dominance import some_row_beats, undominated, undominated_rows

ROWS = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 6)] * width), min_size=1, max_size=40)
)


def at_least_as_good(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


@given(ROWS, st.sampled_from([1, 2**70]))
def test_rows_are_kept_that_no_other_beats_one_of_each(rows, scale):
    """By definition, for any number of columns, and for integers beyond 64 bits."""
    table = np.array(rows, dtype=np.int64 if scale == 1 else object) * scale
    kept = [rows[at] for at in undominated_rows(table)]
    best = {row for row in rows if not any(at_least_as_good(o, row) and o != row for o in rows)}
    assert sorted(kept) == sorted(best)
    assert kept == sorted(kept)


@given(ROWS, st.data())
def test_rows_of_other_keys_are_not_compared(rows, data):
    """With keys, the filter is that of each key by itself, and of equal rows the first is kept."""
    keys = [data.draw(st.integers(0, 2)) for _ in rows]
    kept = undominated_rows(np.array(rows), np.array(keys)[:, None])
    wanted = [
        numbers[at]
        for key in sorted(set(keys))
        for numbers in [[number for number, each in enumerate(keys) if each == key]]
        for at in undominated_rows(np.array([rows[number] for number in numbers]))
    ]
    assert kept.tolist() == wanted


@given(ROWS)
def test_things_under_a_relation_are_filtered_as_rows_are(rows):
    """The filter under any relation agrees with that of rows, in the order of the candidates."""
    kept = undominated(rows, at_least_as_good)
    numbers = sorted(undominated_rows(np.array(rows)))
    assert kept == [rows[number] for number in numbers]


@given(ROWS, st.data())
def test_rows_that_a_front_beats(rows, data):
    """Each row is compared with every row of the front."""
    front = [rows[at] for at in sorted({data.draw(st.integers(0, len(rows) - 1)) for _ in "ab"})]
    beaten = some_row_beats(np.array(front), np.array(rows))
    assert beaten.tolist() == [any(at_least_as_good(o, row) for o in front) for row in rows]
