"""Where in a template something went wrong."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from solver_mapper.errors import SourceLocation

if TYPE_CHECKING:
    from jinja2 import UndefinedError

    from solver_mapper.io.templates.files import File

_NAME = re.compile(r"'([A-Za-z_]\w*)' is undefined")


def undefined_name(error: UndefinedError) -> str | None:
    """The variable that is not set, if that is what `error` says."""
    match = _NAME.fullmatch(error.message or "")
    return match[1] if match else None


def undefined_hint(name: str | None, variables: Iterable[str]) -> str | None:
    """How to set the variable `name`; `variables` are those that are set."""
    if name is None:
        return None
    close = difflib.get_close_matches(name, variables, n=1, cutoff=0.7)
    misspelt = f"-D sets '{close[0]}': did you mean '{name}'?" if close else ""
    return misspelt or f"set it with -D {name}=VALUE (Python: variables={{'{name}': ...}})"


def in_template(error: Exception | None, file: File, word: str | None = None) -> SourceLocation:
    """The line of `file` at which `error` was raised, or which is running now; the column is that
    of `word`, if it stands there.
    """
    line = _running(file.name) if error is None else _raised(error.__traceback__, file.name)
    if line is None:
        return SourceLocation(file.name, 1, 1)
    lines = file.text.split("\n")
    match = (
        re.search(rf"\b{re.escape(word)}\b", lines[line - 1])
        if word and line <= len(lines)
        else None
    )
    return SourceLocation(file.name, line, match.start() + 1 if match else None)


def _raised(trace: TracebackType | None, name: str) -> int | None:
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            found = _template_line(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _running(name: str) -> int | None:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == name:
            return _template_line(frame, frame.f_lineno)
        frame = frame.f_back
    return None


def _template_line(frame: FrameType, line: int) -> int:
    """The template's line: frames of compiled templates count the lines of the code that Jinja2
    made of them.
    """
    template = frame.f_globals.get("__jinja_template__")
    return int(template.get_corresponding_lineno(line)) if template is not None else line
