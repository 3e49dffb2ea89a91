"""The words that a window touches along a rank, against a list of all of them."""

from __future__ import annotations

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from solver_mapper.core.index_sums import distinct_sums

TERMS = st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 6)), max_size=4)


@given(TERMS)
@example([(3, 3), (5, 4)])
@example([(2, 3), (3, 3), (9, 2)])
def test_distinct_sums_are_counted(terms):
    """For any coefficients, holes and overlaps included."""
    ranges = [range(size) for _, size in terms]
    values = {
        sum(coefficient * index for (coefficient, _), index in zip(terms, point, strict=True))
        for point in itertools.product(*ranges)
    }
    assert distinct_sums(terms) == len(values)


def test_long_dimensions_need_no_list():
    """Sizes up to 2^62, which no list could hold."""
    assert distinct_sums([(1, 2**62)]) == 2**62
    assert distinct_sums([(2, 2**62)]) == 2**62
    assert distinct_sums([(2, 2**40), (1, 3)]) == 2 * (2**40 - 1) + 3
    assert distinct_sums([(7, 2**40), (1, 3)]) == 3 * 2**40
