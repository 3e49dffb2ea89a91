"""The one reader of files and streams that people name: bounded in size and in waiting."""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import time
from pathlib import Path
from typing import IO, Any

from solver_mapper.deadline import check_time
from solver_mapper.errors import InputError, SourceLocation

MOST_BYTES = 8 << 20
"""Bytes of a file with text. Energy tables of large designs have some hundred thousand."""
_PATIENCE = 60.0
"""Seconds to wait for somebody to write to a pipe."""
_BLOCK = 1 << 16
_TICK = 0.05


def read_file(source: str | Path, most: int = MOST_BYTES) -> bytes:
    """The content of a file, pipe or device.

    Raises: InputError if it cannot be read, has more than `most` bytes, or is a pipe to which
    nobody writes; TimeUp.
    """
    place = SourceLocation(str(source))
    try:
        handle = os.open(source, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            found = os.fstat(handle)
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if stat.S_ISREG(found.st_mode) and found.st_size > most:
                raise _too_large(place, most, f"has {found.st_size:,} bytes")
            return _content(handle, stat.S_ISFIFO(found.st_mode), most, place)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise InputError("no such file", place) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", place) from None
    except ValueError as error:
        raise InputError(f"not a file name ({error})", SourceLocation(repr(str(source)))) from None


def _content(handle: int, pipe: bool, most: int, place: SourceLocation) -> bytes:
    parts, size, waited = [], 0, time.monotonic()
    while True:
        check_time()
        try:
            part = os.read(handle, _BLOCK)
        except BlockingIOError:
            part = None
        if part:
            parts.append(part)
            size += len(part)
            if size > most:
                raise _too_large(place, most, "has more")
        elif part == b"" and (size or not pipe):
            return b"".join(parts)
        else:  # nobody writes yet, or nothing has been written yet
            if time.monotonic() - waited > _PATIENCE:
                raise InputError(f"nobody wrote to this pipe for {_PATIENCE:g} seconds", place)
            _pause(handle, part is None)


def _pause(handle: int, writer: bool) -> None:
    """Wait a moment for something to read."""
    if writer and sys.platform != "win32":
        select.select([handle], [], [], _TICK)
    else:
        time.sleep(_TICK)


def read_stream(stream: IO[Any], name: str, most: int = MOST_BYTES) -> str | bytes:
    """What is left of an open file. Raises: InputError if that is more than `most` characters, or
    neither text nor bytes.
    """
    if getattr(stream, "closed", False):
        raise InputError("cannot be read (the file is closed)", SourceLocation(name))
    try:
        content = stream.read(most + 1)
    except TypeError:  # objects that only know how to read everything
        content = stream.read()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", SourceLocation(name)) from None
    if not isinstance(content, (str, bytes)):
        raise InputError(
            f"what was read is {type(content).__name__}, neither text nor bytes",
            SourceLocation(name),
        )
    if len(content) > most:
        raise _too_large(SourceLocation(name), most, "has more")
    return content


def _too_large(place: SourceLocation, most: int, how: str) -> InputError:
    return InputError(
        f"this is too large: at most {most:,} bytes are read, it {how}",
        place,
        "is this the right file?",
    )
