"""Writing the files that `-o DIR` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from solver_mapper.errors import InputError, SourceLocation


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write `texts[name]` to `folder/name`, making the folder where there is none.

    Raises: InputError if a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"cannot be written ({reason})",
            SourceLocation(str(folder)),
            "-o takes the name of a folder",
        ) from None
