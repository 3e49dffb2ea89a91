"""Files that a command will write: before a search it is known whether they can be written, and
that they overwrite neither what was read nor each other.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.errors import InputError
from solver_mapper.io import bundled

ANOTHER = "name another file"


def check_written(
    files: Iterable[tuple[str, Path | None]],
    read: Sequence[str | Path],
    folder: Path | None = None,
    names: Sequence[str] = (),
) -> None:
    """Check, and make the folders of the files where there are none.

    Args: `files`, each with its option, None for one that was not asked for; `read`, the words that
    name the input; `folder`, what -o names; `names`, patterns of the files that are written there.
    Raises: InputError.
    """
    asked = [(option, file) for option, file in files if file is not None]
    inputs = {_resolved(Path(word)): str(word) for word in read if bundled.is_file(str(word))}
    taken: dict[Path, str] = {}
    for option, file in asked:
        place = _resolved(file)
        if place in inputs:
            raise _refused(option, file, "is read as input, and would be overwritten")
        if _is_special(file):
            continue
        if place in taken:
            also = "twice" if taken[place] == option else f"by {taken[place]} too"
            raise _refused(option, file, f"would be written {also}")
        if folder is not None and _is_of_folder(place, folder, names):
            raise _refused(option, file, "would be written by -o too")
        taken[place] = option
    if folder is not None:
        for place, word in inputs.items():
            if _is_of_folder(place, folder, names):
                reason = f"has '{word}', which is read as input and would be overwritten"
                raise _refused("-o", folder, reason, "name another folder")
    for option, file in asked:
        _check_writable(option, file)


def _is_of_folder(place: Path, folder: Path, names: Sequence[str]) -> bool:
    return place.parent == _resolved(folder) and any(fnmatch(place.name, each) for each in names)


def _resolved(file: Path) -> Path:
    """The path of a file with links followed; as it is where it cannot be followed."""
    try:
        return file.resolve()
    except (OSError, ValueError, RuntimeError):
        return file


def _is_special(file: Path) -> bool:
    """Whether this is a device or a pipe, which is written to and not replaced."""
    try:
        return file.exists() and not file.is_file() and not file.is_dir()
    except (OSError, ValueError):
        return False


def _check_writable(option: str, file: Path) -> None:
    try:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        place = file
        if not _is_special(file):
            place = file.parent
            place.mkdir(parents=True, exist_ok=True)
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise _refused(option, file, f"cannot be written ({reason})", None) from None


def _refused(option: str, file: Path, why: str, hint: str | None = ANOTHER) -> InputError:
    return InputError(f"{option}: '{file}' {why}", COMMAND_LINE, hint)
