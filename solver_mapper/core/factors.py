"""Which loop bounds a mapspace has: those that divide, or all."""

from __future__ import annotations

from solver_mapper.core.arguments import refuse_given
from solver_mapper.errors import NOWHERE, InputError, SourceLocation, did_you_mean

PERFECT, IMPERFECT = "perfect", "imperfect"
FACTORS = (PERFECT, IMPERFECT)
"""Perfect factors multiply to the size of a dimension; the last rounds of imperfect ones may be
shorter.
"""
NOT_HERE = "is not supported here: only perfect factors are"


def is_imperfect(factors: str) -> bool:
    """Whether `factors` names the mapspace of imperfect factors. Raises: InputError for a word that
    names none.
    """
    if factors not in FACTORS:
        raise InputError(
            f"unknown factors '{factors}'",
            SourceLocation("factors"),
            did_you_mean(factors, FACTORS),
        )
    return factors == IMPERFECT


def refuse_imperfect(factors: str, place: SourceLocation = NOWHERE) -> None:
    """Raises: InputError for imperfect factors where they are not supported."""
    refuse_given(
        {"factors='imperfect'": is_imperfect(factors)},
        NOT_HERE,
        place,
        "leave it out; 'solve' finds mappings of imperfect factors",
    )
