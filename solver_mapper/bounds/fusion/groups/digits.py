"""Variables as digits of a rank: `4*p + q` with 4 values of q counts a rank as `m` does, p being
the more significant digit.

A rank that one Einsum walks over with one variable and another with several is split: they can
share a loop for each digit, in any order. The first then takes its values of `m` in that order:
with `q` outside, those that are equal modulo 4 come together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from solver_mapper.core.problem import Term


@dataclass(frozen=True)
class Digit:
    """`variable` counts the indices of a rank in steps of `stride`, up to `top`."""

    variable: str
    stride: int
    top: int

    def meets(self, other: Digit) -> bool:
        """Whether both count some step of the rank."""
        return self.stride < other.top and other.stride < self.top


def digits_of(rank: tuple[Term, ...], bounds: Mapping[str, int]) -> tuple[Digit, ...] | None:
    """The digits of an index expression, the most significant first; None if it is no such number
    (a window, a stride).

    Variables of a single value are left out.
    """
    terms = sorted(
        (term for term in rank if bounds[term.dim] > 1), key=lambda term: term.coefficient
    )
    digits: list[Digit] = []
    stride = 1
    for term in terms:
        if term.coefficient != stride or any(term.dim == digit.variable for digit in digits):
            return None
        digits.append(Digit(term.dim, stride, stride := stride * bounds[term.dim]))
    return tuple(reversed(digits))


def digit_of(variable: str, rank: tuple[Term, ...], bounds: Mapping[str, int]) -> Digit | None:
    """The digit of an index expression that a variable counts; None if there is none."""
    return next(
        (digit for digit in digits_of(rank, bounds) or () if digit.variable == variable), None
    )
