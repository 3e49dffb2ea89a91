"""Arguments and options that have no meaning for an input are refused, never dropped."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, TypeVar

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
    name: str,
    value: object,
    least: float,
    most: float = math.inf,
    *,
    whole: bool = False,
    needed: bool = False,
) -> Any:
    """A number from `least` to `most`, which may be NumPy's, as Python's own; None is a number that
    was not given.

    Raises: InputError for anything else, for None if a number is `needed`, and for nan if there is
    a `least`.
    """
    if value is None and not needed:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
        kind = "a whole number" if whole else "a number"
        raise ArgumentError(name, f"{name} is {value!r:.60}; it must be {kind}")
    try:
        floating = float(value)
    except OverflowError:
        raise ArgumentError(name, f"{name} is out of range") from None
    number = (
        operator.index(value)
        if isinstance(value, Integral)
        else (value if isinstance(value, Fraction) else floating)
    )
    if number < least or (least > -math.inf and math.isnan(floating)):
        raise ArgumentError(name, f"{name} is {number}; it must be at least {least:g}")
    if number > most:
        raise ArgumentError(name, f"{name} is {number}; it must be at most {most:,}")
    return number


def require_kind(name: str, value: object, kind: type | tuple[type, ...], what: str) -> Any:
    """`value`. Raises: InputError unless it is a `kind`, which is called `what`."""
    if not isinstance(value, kind):
        raise ArgumentError(name, f"{name} is {value!r:.60}; it must be {what}")
    return value


def require_names(name: str, value: object) -> Any:
    """`value`. Raises: InputError unless it is a mapping from names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ArgumentError(name, f"{name} is {value!r:.60}; it must be a mapping from names")
    return value


def require_path(name: str, value: object) -> Any:
    """`value`. Raises: InputError unless it is a path."""
    return require_kind(name, value, (str, os.PathLike), "a path")
