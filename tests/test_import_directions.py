"""Imports point one way: from the commands down to the core, without circles, at any depth of the
code.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "solver_mapper"
LAYERS = (
    ("__main__",),
    ("__init__",),
    ("cli",),
    ("api",),
    ("renderers",),
    ("report",),
    ("study",),
    ("compare",),
    ("tiling",),
    ("bounds",),
    ("explain",),
    ("solve",),
    ("verify",),
    ("constraints",),
    ("io",),
    ("check",),
    ("cost",),
    ("mapspace",),
    ("core",),
    ("io.yaml", "io.templates"),
    ("deadline",),
    ("errors",),
    ("version",),
    ("startup",),
)
"""Parts of the package, the highest first. A part imports parts below it, and itself."""

RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name below the package."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """The package's modules that a file imports, also within functions and under TYPE_CHECKING."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("solver_mapper"):
            base = (node.module or "").removeprefix("solver_mapper").strip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".strip(".")
                is_module = inner in known or f"{inner}.__init__" in known
                found.add(inner if is_module else base or "__init__")
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("solver_mapper.")]
            found.update(name.removeprefix("solver_mapper.") for name in names)
    return {f"{name}.__init__" if f"{name}.__init__" in known else name for name in found}


def part(module: str) -> str:
    """The part of `LAYERS` to which a module belongs: the longest name that begins it."""
    names = [name for name in RANK if module == name or module.startswith(f"{name}.")]
    assert names, f"{module} belongs to no layer: add its part to LAYERS"
    return max(names, key=len)


def test_every_import_points_down() -> None:
    """A module imports only parts below its own."""
    known = modules()
    upward = [
        f"{name} imports {other}"
        for name, path in known.items()
        for other in sorted(imported(path, known))
        if RANK[part(other)] < RANK[part(name)]
    ]
    assert not upward, "\n".join(upward)


def test_no_module_imports_itself_through_others() -> None:
    """There is no circle of imports, also none through imports inside functions."""
    known = modules()
    edges = {name: imported(path, known) for name, path in known.items()}
    done: dict[str, bool] = defaultdict(bool)

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            circle = [*above[above.index(name) :], name]
            pytest.fail("imports in a circle: " + " -> ".join(circle))
        if done[name]:
            return
        for other in sorted(edges.get(name, ())):
            visit(other, (*above, name))
        done[name] = True

    for name in known:
        visit(name, ())


def test_the_independent_prover_shares_nothing_with_the_solver() -> None:
    """`verify` imports neither OR-Tools nor the compiled model nor the reduced mapspace."""
    known = modules()
    for name, path in known.items():
        if part(name) == "verify":
            assert not {part(other) for other in imported(path, known)} & {"solve"}, name
            assert "ortools" not in path.read_text(encoding="utf-8"), name
