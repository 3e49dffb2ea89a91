"""Arguments and options that have no meaning for an input are refused, never dropped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeVar

from solver_mapper.errors import NOWHERE, ArgumentError, InputError, SourceLocation

P = TypeVar("P")
NEED_MAPPING = "add a file with 'mapping:', or let 'solve' find one"


def refuse_given(
    given: Mapping[str, bool],
    reason: str,
    location: SourceLocation = NOWHERE,
    hint: str | None = None,
) -> None:
    """Refuse arguments that were given although they have no meaning here.

    Args: `given`, whether each argument was given, by the name that the user knows it by; `reason`,
    the end of the sentence "NAME ...", such as "is not supported for LoopTree input"; `location`,
    what the error names; `hint`, what to do instead (None: leave the arguments out).
    Raises: InputError for the first that was given, whose `more` has the others.
    """
    found = [
        ArgumentError(name, f"{name} {reason}", location, hint or "leave it out")
        for name, there in given.items()
        if there
    ]
    if found:
        found[0].more = tuple(found[1:])
        raise found[0]


def require_part(part: P | None, name: str, location: SourceLocation, hint: str) -> P:
    """A part of the input that must be there.

    Args: `name`, what it is called in "no NAME was given"; `hint`, how to give it.
    Raises: InputError if it is None.
    """
    if part is None:
        raise InputError(f"no {name} was given", location, hint)
    return part


def require_number(
    name: str, value: object, least: float, most: float = math.inf, *, whole: bool = False
) -> None:
    """Refuse what is no number from `least` to `most`; None is a number that was not given.

    Raises: InputError.
    """
    if value is None:
        return
    wanted = int if whole else (int, float, Fraction)
    if isinstance(value, bool) or not isinstance(value, wanted):
        kind = "a whole number" if whole else "a number"
        raise ArgumentError(name, f"{name} is {value!r:.60}; it must be {kind}")
    if not value >= least:
        raise ArgumentError(name, f"{name} is {value}; it must be at least {least:g}")
    if not value <= most:
        raise ArgumentError(name, f"{name} is {value}; it must be at most {most:,}")
