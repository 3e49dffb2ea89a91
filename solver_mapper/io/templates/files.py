"""Files of templates: finding those that others include, and which of them may be read."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solver_mapper.errors import InputError, SourceLocation


@dataclass(frozen=True)
class AllowedFolders:
    """Templates may read files below these folders only."""

    folders: tuple[Path, ...]

    def check(self, file: Path, location: SourceLocation) -> None:
        """Raises: InputError at `location` for a file that lies elsewhere."""
        if not any(file.is_relative_to(folder) for folder in self.folders):
            where = ", ".join(f"'{shown(folder)}'" for folder in self.folders)
            raise InputError(
                f"'{shown(file)}' must not be included: it lies outside {where}",
                location,
                "allow its folder with --include-dir DIR (Python: include_dirs=[DIR])",
            )


def allowed_folders(given: Iterable[Path], include_dirs: Iterable[str]) -> AllowedFolders:
    """The folders of the `given` files, the deepest one that they have in common, their git work
    trees, and `include_dirs`.

    Raises: InputError for an entry of `include_dirs` that is not a folder.
    """
    own = list(dict.fromkeys(Path(os.path.realpath(file)).parent for file in given))
    folders = [*own, *(_common(own)), *(tree for folder in own for tree in _work_tree(folder))]
    for name in include_dirs:
        if not os.path.isdir(name):
            raise InputError(
                "not a folder", SourceLocation(name), "--include-dir takes the name of a folder"
            )
        folders.append(Path(os.path.realpath(name)))
    distinct = list(dict.fromkeys(folders))
    inner = {
        folder
        for folder in distinct
        for other in distinct
        if folder != other and folder.is_relative_to(other)
    }
    return AllowedFolders(tuple(folder for folder in distinct if folder not in inner))


def _common(folders: list[Path]) -> list[Path]:
    """The deepest folder that holds all `folders`, unless that is the file system's root."""
    if not folders:
        return []
    common = Path(os.path.commonpath(folders))
    return [] if common == Path(common.anchor) else [common]


def _work_tree(folder: Path) -> list[Path]:
    return next(([each] for each in (folder, *folder.parents) if (each / ".git").exists()), [])


@dataclass(frozen=True)
class SearchPath:
    """Where one file looks for others: its own folder, then the folders that templates have added,
    then the working directory.
    """

    own: Path
    added: tuple[Path, ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        """In the order in which they are looked through."""
        return (self.own, *self.added, Path.cwd())

    def matching(self, pattern: str, everywhere: bool = False) -> list[Path]:
        """The files and folders that `pattern` (with `*` and `?`) names, sorted: in the first
        folder that has any, or `everywhere`.
        """
        found: dict[Path, None] = {}
        for folder in self.folders:
            found |= dict.fromkeys(
                Path(os.path.realpath(name))
                for name in sorted(glob.glob(str(folder / pattern), recursive=True))
            )
            if found and not everywhere:
                break
        return list(found)

    def similar(self, path: str) -> str | None:
        """A hint for a `path` that names no file: one in the same folder whose name is alike, such
        as `04.yaml` for `4.yaml`.
        """
        head, name = os.path.split(path)
        for folder in self.folders:
            names = os.listdir(folder / head) if os.path.isdir(folder / head) else []
            same = [each for each in names if each.lstrip("0") == name.lstrip("0")]
            close = same or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
            if close:
                return f"did you mean '{os.path.join(head, close[0])}'?"
        return None


@dataclass(frozen=True)
class File:
    """A file to render: its name in messages, its text, where it looks for others, and the values
    of its variables.

    `chain` are the files of which each includes the next, up to this one.
    """

    name: str
    text: str
    search: SearchPath
    variables: Mapping[str, Any]
    chain: tuple[Path, ...] = ()


def shown(path: Path) -> str:
    """`path` as messages name it: relative to the working directory where that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return str(path)
    return relative if len(relative) < len(str(path)) else str(path)
