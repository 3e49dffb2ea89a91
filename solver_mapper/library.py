"""Where the models that come with the package are: `models/` in a checkout, `solver_mapper/_models` in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def root() -> Path:
    """The directory of shipped models."""
    installed = _PACKAGE / "_models"
    return installed if installed.is_dir() else _PACKAGE.parent / "models"


def path(*parts: str) -> Path:
    """The file or directory `parts` below the shipped models, whether or not it exists: `path("backends", "smv.yaml")`."""
    return root().joinpath(*parts)


def names(*parts: str, suffix: str = ".yaml") -> tuple[str, ...]:
    """Names, without suffix, of the shipped models in the directory `parts`, sorted; empty if there is no such directory."""
    return tuple(sorted(file.stem for file in path(*parts).glob(f"*{suffix}")))
