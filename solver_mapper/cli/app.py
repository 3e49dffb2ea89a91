"""The typer application, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer
from typer.core import TyperCommand

from solver_mapper.cli import colour
from solver_mapper.cli.folding import fold
from solver_mapper.cli.input_options import with_input_options
from solver_mapper.cli.options_of_arguments import as_typed
from solver_mapper.cli.output import columns_of, print_text
from solver_mapper.cli.request import current_request, process_started, requested
from solver_mapper.cli.terminal import harmless, raw, standard_streams
from solver_mapper.errors import (
    ExactnessError,
    InfeasibleError,
    InputError,
    LimitReached,
    SolverMapperError,
    SourceLocation,
)
from solver_mapper.io.yaml.bounded import read_file
from solver_mapper.solve.cpsat.engine import left_behind
from solver_mapper.startup import end_on_signals, is_out_of_memory
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

Version = Annotated[
    bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
]

_LONGEST = 4000
"""Characters of a message that are shown."""
_MOST_ERRORS = 50
"""Errors of one pass that are shown."""
_EXCERPT = 120
"""Columns of a line that are shown."""

YES, NO, BAD_INPUT, LIMIT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130
P = ParamSpec("P")


class Described(TyperCommand):
    """A command whose help names arguments as the pages do: `solve [OPTIONS] FILE...`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words after the command's name."""
        return ["[OPTIONS]", *(str(each.metavar) for each in self.params if _is_argument(each))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options, without the types that they have in Python."""
        rows = [(each, each.get_help_record(ctx)) for each in self.get_params(ctx)]
        arguments = [(each.metavar, row[1]) for each, row in rows if row and _is_argument(each)]
        options = [row for each, row in rows if row and not _is_argument(each)]
        for title, listed in (("Arguments", arguments), ("Options", options)):
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


@app.callback(invoke_without_command=True)
def root(version: Version = False) -> None:
    """Options without a command."""
    if version:
        print_text(f"solver-mapper {__version__}\n")
        raise typer.Exit(YES)


def command(name: str) -> Callable[[Callable[P, int]], Callable[P, None]]:
    """Register a command; its function returns the exit code, and the errors of `SolverMapperError`
    end in theirs.

    A command with `files` gets the options about reading in addition; see `input_options`.
    """

    def register(work: Callable[P, int]) -> Callable[P, None]:
        complete = with_input_options(work)

        @app.command(name, cls=Described)
        @functools.wraps(complete)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
            with requested():
                raise typer.Exit(_exit_code(lambda: complete(*args, **kwargs)))

        return guarded

    return register


def _exit_code(work: Callable[[], int]) -> int:
    try:
        return work()
    except InputError as error:
        report(as_typed(error))
        return BAD_INPUT
    except InfeasibleError as error:
        say(f"solver-mapper: {error}")
        return NO
    except LimitReached as error:
        code = current_request().code
        say(f"solver-mapper: {'interrupted' if code else error}")
        return code or LIMIT
    except KeyboardInterrupt:
        say("solver-mapper: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return current_request().code  # whoever read the output has seen enough
    except (ExactnessError, SolverMapperError) as error:
        say(f"solver-mapper: {error}")
        return INTERNAL
    except Exception as error:
        if is_out_of_memory(error):
            say("solver-mapper: out of memory before there was an answer")
            return current_request().code or LIMIT
        what = f"{type(error).__name__}: {error}"
        say(f"solver-mapper: internal error, please report it with your input: {what}")
        return INTERNAL


def say(text: str) -> None:
    """A message on standard error; where that cannot be written, there is nobody to tell."""
    with contextlib.suppress(OSError):
        columns = columns_of(sys.stderr)
        if sys.stderr is not None and colour.wanted(sys.stderr):
            sys.stderr.flush()
            print(colour.message(harmless(text), columns), file=raw(sys.stderr), flush=True)
        else:
            print(fold(text, columns), file=sys.stderr, flush=True)


def report(error: InputError) -> None:
    """Print the errors of one pass, each with the offending line below it."""
    for each in (error, *error.more[: _MOST_ERRORS - 1]):
        hint = f"; {_short(each.hint)}" if each.hint else ""
        say(f"{_short(str(each.location))}: {_short(each.message)}{hint}")
        if quoted := excerpt(each.location):
            say("\n".join(quoted))
    if len(error.more) >= _MOST_ERRORS:
        say(f"solver-mapper: and {len(error.more) + 1 - _MOST_ERRORS:,} errors more")


def _short(text: str) -> str:
    """`text` without most of its middle, if it is long: it may quote input."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"


def excerpt(location: SourceLocation) -> list[str]:
    """The line at `location` with a caret below its column, or nothing if it cannot be read again.

    Of a long line the part around the column is shown. What does not print is shown as a blank.
    """
    if location.line is None:
        return []
    try:
        if not Path(location.file).is_file():
            return []
        lines = read_file(location.file).decode("utf-8-sig").split("\n")
    except (InputError, OSError, ValueError):
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


def main() -> None:
    """Entry point of the command line, in a process of its own."""
    end_on_signals()
    process_started.set(time.monotonic() - time.process_time())
    with standard_streams():
        code = _run()
    if left_behind():
        os._exit(code)
    sys.exit(code)


def _run() -> int:
    """The exit code of the command in the arguments of the process."""
    try:
        app(standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else YES if end.code is None else NO
    except InputError as error:
        report(error)
        return BAD_INPUT
    except BrokenPipeError:
        return YES
    except OSError as error:
        say(f"standard output: cannot be written ({error.strerror})")
        return BAD_INPUT
    return YES
