"""Answers: printed first, then written. Files of one result are written as a whole or not at all.

A folder with a record, such as `solution.json`, has all files of that result (`core/files.py`).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

from solver_mapper.cli import colour
from solver_mapper.cli.folding import fold
from solver_mapper.cli.terminal import harmless, raw
from solver_mapper.core.files import replace_files, write_whole
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.report.tables import NARROWEST, on_terminal

Stale = Callable[[dict[str, Any]], Iterable[str]]
"""The names of the other files of a result, from its record."""


class Printable(Protocol):
    """What every public function returns."""

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON."""


@dataclass(frozen=True)
class ResultRecord:
    """The file that says which result a folder has."""

    name: str
    others: Stale


class OutputError(InputError):
    """Standard output cannot be written."""


def print_result(result: Printable, as_json: bool) -> None:
    """Print a result as JSON or as its own text."""
    if as_json:
        print_text(json.dumps(result.to_dict(), ensure_ascii=False) + "\n")
        return
    with on_terminal(columns_of(sys.stdout)):
        text = f"{result}\n"
    print_answer(text)


def print_answer(text: str) -> None:
    """Print text for a person, on a terminal in colour and no wider than that. Raises: see
    `print_text`.
    """
    columns = columns_of(sys.stdout)
    if sys.stdout is None or not colour.wanted(sys.stdout):
        print_text(fold(text, columns))
        return
    sys.stdout.flush()
    _write(raw(sys.stdout), colour.answer(harmless(text), columns))


def columns_of(stream: TextIO | None) -> int | None:
    """Columns of the terminal that a stream is; None if it goes to a file or a pipe."""
    if stream is None or not stream.isatty():
        return None
    if not os.environ.get("COLUMNS"):
        with contextlib.suppress(OSError, ValueError):
            return os.get_terminal_size(stream.fileno()).columns or NARROWEST
    return shutil.get_terminal_size().columns


def print_text(text: str) -> None:
    """Print an answer, all of it, now. To a stream that is closed, nothing is printed.

    Raises: OutputError if it cannot be written; BrokenPipeError if nobody reads it.
    """
    if sys.stdout is not None:
        _write(sys.stdout, text)


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"cannot be written ({error.strerror})", SourceLocation("standard output")
        ) from None


def deliver(
    show: Callable[[], None], write: Callable[[], None], lost: InputError | None = None
) -> None:
    """Print an answer, then write its files; each is tried even if the other fails. `lost`: what
    could not be written before.

    Raises: InputError for what cannot be written; BrokenPipeError if nobody reads the answer.
    """
    failed: list[InputError | BrokenPipeError] = [] if lost is None else [lost]
    for step in (show, write):
        try:
            step()
        except (InputError, BrokenPipeError) as error:
            failed.append(error)
    wrong = [error for error in failed if isinstance(error, InputError)]
    if len(wrong) > 1:
        wrong[0].more = (*wrong[0].more, *wrong[1:])
    if failed:
        raise (wrong or failed)[0]


def need_folder(folder: Path) -> None:
    """Make sure, before a search, that there is a folder and that it can be written to.

    Raises: InputError if not.
    """
    with _errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def write_file(path: Path, text: str) -> None:
    """Write one file as a whole or not at all; the folder must be there. Raises: InputError."""
    with _errors(path, hint=None):
        write_whole(path, _bytes(text))


def write_files(folder: Path, texts: Mapping[str, str], record: ResultRecord | None = None) -> None:
    """Write `texts[name]` to `folder/name`, all or none, making the folder where there is none.

    With a `record`, which is one of the texts, files of an older result in the folder are removed.

    Raises: InputError if a file cannot be written.
    """
    with _errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        stale = () if record is None else _stale(folder, record, texts)
        contents = {name: _bytes(text) for name, text in texts.items()}
        replace_files(folder, contents, None if record is None else record.name, stale)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _stale(folder: Path, record: ResultRecord, texts: Mapping[str, str]) -> list[str]:
    """Names of files of the older result that the new one does not have."""
    try:
        older = json.loads((folder / record.name).read_bytes())
        return [name for name in record.others(older) if name not in texts]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []


@contextlib.contextmanager
def _errors(place: Path, hint: str | None = "-o takes the name of a folder") -> Iterator[None]:
    """Errors of the file system as errors of input."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"cannot be written ({reason})", SourceLocation(str(place)), hint
        ) from None
