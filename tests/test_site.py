"""The documentation site is built strictly: no broken link, no page outside the menu."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import solver_mapper
from tests.documents import ROOT


@pytest.mark.campaign
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """Every page of docs/, the gallery, the notebooks and the interface are part of it."""
    for package in ("mkdocs", "material", "mkdocstrings", "mkdocs_jupyter"):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        inner = page.relative_to(ROOT / "docs").with_suffix("")
        folder = inner.parent if inner.name == "README" else inner
        assert (tmp_path / folder / "index.html").exists(), page
    assert "solve" in (tmp_path / "reference" / "python" / "index.html").read_text("utf-8")
    assert (tmp_path / "gallery" / "index.html").exists()


def test_the_python_page_has_every_public_name() -> None:
    """Functions are named with their module: packages of the same name stand beside them."""
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    shown = dict.fromkeys(re.findall(r"^::: solver_mapper\.([\w.]+)$", page, re.M))
    named = {path.rpartition(".")[2] for path in shown}
    assert not [name for name in solver_mapper.__all__ if name not in named]
    for path in shown:
        module, _, name = f"solver_mapper.{path}".rpartition(".")
        assert callable(getattr(import_module(module), name))
        file = ROOT.joinpath(*module.split("."), name)
        assert not file.is_dir() and not file.with_suffix(".py").exists(), f"{path} is a module"


def test_the_menu_has_every_page() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert str(page.relative_to(ROOT / "docs").as_posix()) in menu, page
    for notebook in (ROOT / "examples" / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{notebook.name}" in menu, notebook
