"""`solver-mapper init`: files to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solver_mapper.cli.app import YES, command
from solver_mapper.cli.output import print_text, write_files
from solver_mapper.cli.search_options import folder_named
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io import bundled

FOLDER = "start"
Target = Annotated[
    Path,
    typer.Argument(
        metavar="[DIR]", help="Directory to write to; created if needed.", parser=folder_named
    ),
]


@command("init")
def init(folder: Target = Path(".")) -> int:
    """Write commented input files to start from."""
    if str(folder) == "-":
        raise InputError(
            "files cannot be written to standard output", SourceLocation("-"), "name a folder"
        )
    if folder.suffix in (".yaml", ".yml") and not folder.exists():
        raise InputError(
            "several files are written, into a folder; this is the name of a file",
            SourceLocation(str(folder)),
            f"solver-mapper init {folder.stem}",
        )
    names = [f"{name}.yaml" for name in bundled.names(FOLDER)]
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise InputError(
            "there already; nothing was written",
            SourceLocation(str(folder / there[0])),
            "name another folder",
        )
    if folder.exists() and not folder.is_dir():
        raise InputError(
            "this is a file, not a folder", SourceLocation(str(folder)), "name another folder"
        )
    write_files(
        folder, {name: bundled.path(FOLDER, name).read_text(encoding="utf-8") for name in names}
    )
    written = [printable(str(folder / name)) for name in names]
    print_text(
        "\n".join([*written, "", f"Try: solver-mapper solve {' '.join(written)} --time-limit 60\n"])
    )
    return YES


def printable(text: str) -> str:
    """`text` with what UTF-8 cannot express as escapes: names of files may be any bytes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
