"""Print a pip constraints file: each requirement of pyproject.toml at its lowest declared version.

Usage: python .ci/lowest.py [EXTRA...] prints the constraints of the package and of these extras.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([a-z,]+)\])?(?:>=([0-9.]+))?(?:,<[0-9.]+)?")


def lowest(project: dict[str, Any], extras: Sequence[str]) -> Iterator[str]:
    """`name==version` of each requirement. Raises: ValueError for one without a lower bound."""
    yield from _pins(project, project["dependencies"])
    for extra in extras:
        yield from _pins(project, project["optional-dependencies"][extra])


def _pins(project: dict[str, Any], requirements: Sequence[str]) -> Iterator[str]:
    for text in requirements:
        match = _REQUIREMENT.fullmatch(text)
        name, extras, version = match.groups() if match else (text, None, None)
        if name == project["name"] and extras:
            yield from lowest({**project, "dependencies": []}, extras.split(","))
        elif version is None:
            raise ValueError(f"'{text}' has no lower bound: write 'name>=version'")
        else:
            yield f"{name}=={version}"


if __name__ == "__main__":
    with PYPROJECT.open("rb") as file:
        print("\n".join(lowest(tomllib.load(file)["project"], sys.argv[1:])))
