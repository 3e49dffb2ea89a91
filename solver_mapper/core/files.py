"""Writing files: as a whole or not at all, also when the disk is full or the process is killed.

Each file is written under a temporary name in its folder, flushed to the disk, and renamed when all
are complete.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from solver_mapper.errors import InputError, SourceLocation

TEMPORARY = ".solver-mapper-"
"""How names of temporary files begin."""
_numbers = itertools.count()
"""Tells apart what threads write at the same time."""


def write_whole(path: Path, content: bytes) -> None:
    """Write one file; its folder must be there. Pipes and devices are written to, not replaced.

    Raises: OSError if it cannot be written; then what was there is as before. ValueError for what
    is not the name of a file.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(content)
    else:
        replace_files(path.parent, {path.name: content})


@contextlib.contextmanager
def file_errors(place: Path) -> Iterator[None]:
    """Within the block, which writes, errors of the file system are errors of input."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be written ({reason})", SourceLocation(str(place))) from None


def replace_files(
    folder: Path,
    contents: Mapping[str, bytes],
    record: str | None = None,
    stale: Iterable[str] = (),
) -> None:
    """Write `contents[name]` to `folder/name` for all names, or for none; links are replaced.

    Args: `record`, the file among them that stands for all: an older one is removed first, the new
    one comes last, so that a folder with a record has all files of its result; `stale`, names of
    files to remove.
    Raises: OSError if a file cannot be written, ValueError for a name that leads out of the folder;
    what was there is then as before.
    """
    temporary = _written(folder, contents)
    try:
        if record is not None:
            (folder / record).unlink(missing_ok=True)
            _flush(folder)
        for name in sorted(contents, key=lambda name: name == record):
            os.replace(temporary[name], folder / name)
    finally:
        _remove(temporary.values())
    _remove(folder / name for name in stale if is_plain(name))
    _flush(folder)


def is_plain(name: str) -> bool:
    """Whether `name` is the name of a file in a folder, not a way out of it."""
    return Path(name).name == name and name not in ("", ".", "..")


def _written(folder: Path, contents: Mapping[str, bytes]) -> dict[str, Path]:
    """Temporary files with the contents, complete and on the disk; on an error, none."""
    made: dict[str, Path] = {}
    try:
        for name, content in contents.items():
            if not is_plain(name):
                raise ValueError(f"'{name}' is not the name of a file")
            made[name] = folder / f"{TEMPORARY}{os.getpid()}-{next(_numbers)}"
            made[name].unlink(missing_ok=True)
            with open(made[name], "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        _remove(made.values())
        raise
    return made


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def _flush(folder: Path) -> None:
    """Put the names of a folder's files on the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
