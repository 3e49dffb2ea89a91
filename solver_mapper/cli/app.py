"""The typer application, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec, Protocol

import typer

from solver_mapper.cli.input_options import with_input_options
from solver_mapper.errors import (
    ExactnessError,
    InfeasibleError,
    InputError,
    LimitReached,
    SolverMapperError,
    SourceLocation,
)
from solver_mapper.report.tables import on_terminal
from solver_mapper.version import __version__

app = typer.Typer(
    name="solver-mapper",
    help=(
        "Finds a provably optimal mapping of a tensor operation onto an accelerator, reports its"
        " exact access counts, energy and cycles, and explains why a mapspace is empty."
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help="YAML files (merged), bundled model names, or - for standard input."
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object on standard output, and nothing else."),
]

COMMAND_LINE = SourceLocation("<command line>")
"""Where options stand that make no sense."""

Version = Annotated[
    bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
]

_EXCERPT = 120
"""Columns of a line that are shown."""

YES, NO, BAD_INPUT, LIMIT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130
P = ParamSpec("P")


class Result(Protocol):
    """What every public function returns."""

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""


@app.callback(invoke_without_command=True)
def root(version: Version = False) -> None:
    """Options without a command."""
    if version:
        print(f"solver-mapper {__version__}")
        raise typer.Exit(YES)


def command(name: str) -> Callable[[Callable[P, int]], Callable[P, None]]:
    """Register a command; its function returns the exit code, and the errors of `SolverMapperError`
    end in theirs.

    A command with `files` gets the options about reading in addition; see `input_options`.
    """

    def register(work: Callable[P, int]) -> Callable[P, None]:
        complete = with_input_options(work)

        @app.command(name)
        @functools.wraps(complete)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
            raise typer.Exit(_exit_code(lambda: complete(*args, **kwargs)))

        return guarded

    return register


def _exit_code(work: Callable[[], int]) -> int:
    try:
        return work()
    except InputError as error:
        report(error)
        return BAD_INPUT
    except InfeasibleError as error:
        print(f"solver-mapper: {error}", file=sys.stderr)
        return NO
    except LimitReached as error:
        print(f"solver-mapper: {error}", file=sys.stderr)
        return LIMIT
    except KeyboardInterrupt:
        print("solver-mapper: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is still buffered must not raise again when
        # Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return YES
    except (ExactnessError, SolverMapperError) as error:
        print(f"solver-mapper: {error}", file=sys.stderr)
        return INTERNAL
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        print(
            f"solver-mapper: internal error, please report it with your input: {what}",
            file=sys.stderr,
        )
        return INTERNAL


def report(error: InputError) -> None:
    """Print every error of one pass with the offending line below it."""
    for each in (error, *error.more):
        print(
            f"{each.location}: {each.message}" + (f"; {each.hint}" if each.hint else ""),
            file=sys.stderr,
        )
        for line in excerpt(each.location):
            print(line, file=sys.stderr)


def excerpt(location: SourceLocation) -> list[str]:
    """The line at `location` with a caret below its column, or nothing if it cannot be read again.

    Of a long line the part around the column is shown. What does not print is shown as a blank.
    """
    if location.line is None:
        return []
    try:
        lines = Path(location.file).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, ValueError):
        return []
    if not 0 < location.line <= len(lines):
        return []
    column = location.column or 1
    start = max(0, column - _EXCERPT * 3 // 4)
    shown = "".join(
        letter if letter.isprintable() else " "
        for letter in lines[location.line - 1][start : start + _EXCERPT]
    )
    number = f"{location.line:>6} | "
    marked = [(number + shown).rstrip()]
    if location.column is not None:
        marked.append(" " * (len(number) + column - 1 - start) + "^")
    return marked


def print_result(result: Result, as_json: bool) -> None:
    """Print a result as JSON or as its own text."""
    if as_json:
        json.dump(result.to_dict(), sys.stdout, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        with on_terminal(_columns()):
            sys.stdout.write(f"{result}\n")
    sys.stdout.flush()


def _columns() -> int | None:
    """Columns of the terminal that shows the result; None if it goes to a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def main() -> None:
    """Entry point of the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Bars and names of files may hold characters that the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    app()
