"""Numbers are printed one way: thousands separated, utilization with two decimals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from solver_mapper.report.tables import percent, short


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (65536, "65,536"),
        (Fraction(65536 * 3, 2), "98,304"),
        (Fraction(123456, 10), "12,346"),
        (Fraction(12345, 100), "123.5"),
        (Fraction(1, 3), "0.3333"),
        (0, "0"),
    ],
)
def test_shortened_numbers_have_no_exponent_where_they_are_compared(
    value: Fraction | int, text: str
) -> None:
    assert short(value) == text


def test_utilization_has_the_decimals_of_timeloop() -> None:
    assert percent(Fraction(12, 256), 2) == "4.69 %"
