"""Arguments and options that have no meaning for an input are refused, never dropped."""

from __future__ import annotations

from collections.abc import Mapping

from solver_mapper.errors import NOWHERE, InputError, SourceLocation


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
    found = [(f"{name} {reason}", hint or "leave it out") for name, there in given.items() if there]
    if found:
        (message, advice), *others = found
        raise InputError(
            message, location, advice, tuple(InputError(what, location, do) for what, do in others)
        )


def require_at_least(least: float, given: Mapping[str, float | None]) -> None:
    """Refuse numbers that are too small; None is a number that was not given.

    Raises: InputError for the first below `least`.
    """
    for name, value in given.items():
        if value is not None and not value >= least:
            raise InputError(f"{name} is {value}; it must be at least {least:g}")
