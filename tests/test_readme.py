"""Every command that the README shows is run, and prints what the README says it prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECONDS = re.compile(r"^seconds .*$", re.MULTILINE)


def sessions(document: str = README) -> list[tuple[str, str]]:
    """(command, what it prints) for each command in a document's console blocks."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", document, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


PATIENT = """
import runpy
from solver_mapper.cli import progress
progress.PERIOD = float("inf")
runpy.run_module("solver_mapper", run_name="__main__", alter_sys=True)
"""
"""Runs the program without the lines that say, on a slow machine, how far a search is."""


def printed_by(command: str, folder: Path) -> str:
    """Both streams of a command, run in a folder that holds the examples; runs of blanks at line
    ends do not count.
    """
    words = shlex.split(command)
    program = [sys.executable, "-c", PATIENT] if words[0] == "solver-mapper" else [sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [*program, *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return clean(done.stdout + done.stderr)


def clean(text: str) -> str:
    return "\n".join(line.rstrip() for line in SECONDS.sub("seconds", text).rstrip().splitlines())


@pytest.mark.parametrize(
    ("command", "printed"), sessions(), ids=[command[:60] for command, _ in sessions()]
)
def test_command_prints_what_the_readme_says(command, printed, tmp_path):
    """Elapsed seconds apart, a reader sees exactly what the README shows."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert printed_by(command, tmp_path) == clean(printed)


def test_python_example_runs(tmp_path):
    """The Python block runs as it stands."""
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(
            [sys.executable, "-c", block],
            cwd=tmp_path,
            env=environment,
            check=True,
            timeout=120,
            capture_output=True,
        )


def test_ci_runs_the_readme_test_command():
    """CI's test command is the README's."""
    assert "python -m pytest -n 2" in README
    assert "python -m pytest -n 2" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_first_command_maps_the_layer_of_the_tour():
    """The command that sets everything up ends in one that the tour shows with its output."""
    setup = re.search(r"```sh\n(.*?)```", README, re.DOTALL)
    assert setup is not None
    last = setup[1].strip().split("&& ")[-1].removeprefix(".venv/bin/")
    assert last in [command for command, _ in sessions()]


def test_links_lead_somewhere():
    """Relative links of all pages, and every page of docs is in its index."""
    pages = [
        ROOT / "README.md",
        ROOT / "examples" / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name
