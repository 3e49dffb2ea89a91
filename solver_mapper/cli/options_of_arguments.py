"""Errors about the arguments of Python calls, in the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping

from solver_mapper.errors import NOWHERE, ArgumentError, InputError, SourceLocation

COMMAND_LINE = SourceLocation("<command line>")
"""Where options stand that make no sense."""

_OPTIONS: Mapping[str, str] = {
    "every": "--all",
    "factors='imperfect'": "--factors imperfect",
    "memory": "--job-memory",
    "tie_break=False": "--no-tie-break",
    "tiles": "--tile",
}
"""Options that are not called as the arguments that they become."""


def as_typed(error: InputError) -> InputError:
    """`error` and those after it, with options for arguments, at the command line."""
    more = tuple(map(as_typed, error.more))
    if isinstance(error, ArgumentError):
        message = error.message
        if error.location != COMMAND_LINE and not error.argument.startswith("-"):
            message = _renamed(error.message, error.argument)
        return InputError(message, COMMAND_LINE, error.hint, more)
    if error.location == NOWHERE:
        return InputError(error.message, COMMAND_LINE, error.hint, more)
    error.more = more
    return error


def _renamed(message: str, argument: str) -> str:
    """A message with the option where the argument is named, or before it."""
    option = _OPTIONS.get(argument) or f"--{argument.replace('_', '-')}"
    if message.startswith(f"{argument} "):
        return option + message.removeprefix(argument)
    if message.endswith(f" {argument}"):
        return message.removesuffix(argument) + option
    return f"{option}: {message}"
