"""What can go wrong, as one tree.

SolverMapperError
├── InputError         the input cannot be used (command line: exit code 2)
│   └── ArgumentError  an argument of a call cannot be used (command line: an option)
├── InfeasibleError    what was asked for provably does not exist (exit code 1)
├── LimitReached       a limit ended the search before any answer (exit code 3)
└── ExactnessError     two of our own computations disagree: a bug of this program
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where something was written. `line` and `column` count from 1; both are None for input that
    came as Python objects.
    """

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(
            str(part) for part in (self.file, self.line, self.column) if part is not None
        )


NOWHERE = SourceLocation("<python>")


class SolverMapperError(Exception):
    """Base of every error that this package raises on purpose. Copies are equal."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SolverMapperError)
            and type(self) is type(other)
            and (self.args, vars(self)) == (other.args, vars(other))
        )

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class InputError(SolverMapperError):
    """The input cannot be used.

    Attributes: `message` (what is wrong), `hint` (what was probably meant, or None), `file`,
    `line`, `column` (where), and `more`, further independent errors found in the same pass.
    """

    def __init__(
        self,
        message: str,
        location: SourceLocation = NOWHERE,
        hint: str | None = None,
        more: tuple[InputError, ...] = (),
    ):
        self.message, self.location, self.hint, self.more = message, location, hint, more
        super().__init__(self.describe())

    def __reduce__(self) -> tuple[type[InputError], tuple[object, ...]]:
        return type(self), (self.message, self.location, self.hint, self.more)

    @property
    def file(self) -> str:
        """The file in which the error is."""
        return self.location.file

    @property
    def line(self) -> int | None:
        """The line from 1, None if unknown."""
        return self.location.line

    @property
    def column(self) -> int | None:
        """The column from 1, None if unknown."""
        return self.location.column

    def describe(self) -> str:
        """`file:line:column: message; hint`, one line per error."""
        own = f"{self.location}: {self.message}" + (f"; {self.hint}" if self.hint else "")
        return "\n".join([own, *(other.describe() for other in self.more)])


class ArgumentError(InputError):
    """An argument of a call cannot be used: `argument`, which on the command line is an option. Its
    message begins or ends with the name, or says nothing of it.
    """

    def __init__(
        self,
        argument: str,
        message: str,
        location: SourceLocation = NOWHERE,
        hint: str | None = None,
        more: tuple[InputError, ...] = (),
    ):
        self.argument = argument
        super().__init__(message, location, hint, more)

    def __reduce__(self) -> tuple[type[InputError], tuple[object, ...]]:
        return type(self), (self.argument, self.message, self.location, self.hint, self.more)


@contextlib.contextmanager
def about_argument(argument: str) -> Iterator[None]:
    """Within the block, errors of the input are about an argument."""
    try:
        yield
    except InputError as error:
        said = error.message, error.location, error.hint, error.more
        raise ArgumentError(argument, *said) from None


class InfeasibleError(SolverMapperError):
    """What was asked for provably does not exist."""


class LimitReached(SolverMapperError):
    """A limit (time, interruption) ended the search before any answer was found."""


class ExactnessError(SolverMapperError):
    """Two of our own computations disagree. Never the user's fault: please report it with the
    input.
    """


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint for a misspelt `word`: the closest known name, else all known names if they are few,
    else None.
    """
    names = sorted({str(name) for name in known})
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), list(folded), n=1, cutoff=0.6)
    if close:
        return f"did you mean '{folded[close[0]]}'?"
    return f"known here: {', '.join(names)}" if 0 < len(names) <= 24 else None


def unknown_name(
    kind: str, word: str, known: Iterable[str], location: SourceLocation
) -> InputError:
    """The error for a name that nothing of that kind bears."""
    return InputError(f"unknown {kind} '{word}'", location, did_you_mean(word, known))
