"""The project's pages, and what they show: commands, programs, links."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from solver_mapper.cli import app, progress

ROOT = Path(__file__).resolve().parent.parent
PAGES = tuple(
    sorted(
        str(path.relative_to(ROOT))
        for path in (*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.rglob("docs/**/*.md"))
    )
)
SECONDS = re.compile(r"^seconds .*$", re.MULTILINE)
PATIENT = """
import runpy
from solver_mapper.cli import progress
progress.PERIOD = float("inf")
runpy.run_module("solver_mapper", run_name="__main__", alter_sys=True)
"""
"""Runs the program without the lines that say, on a slow machine, how far a search is."""


TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def sessions(page: str) -> list[tuple[str, str]]:
    """(command, what it prints) for each command in a page's console blocks."""
    found = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


def printed_here(command: str, folder: Path) -> str:
    """What `printed_by` gives of a `solver-mapper` command, without a process of its own."""
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "PERIOD", float("inf"))
        done = CliRunner().invoke(app, shlex.split(command)[1:], env=TERMINAL)
    return clean(done.stdout + done.stderr)


def printed_by(command: str, folder: Path) -> str:
    """Both streams of a command, run in `folder`; runs of blanks at line ends do not count."""
    words = shlex.split(command)
    program = [sys.executable, "-c", PATIENT] if words[0] == "solver-mapper" else [sys.executable]
    done = subprocess.run(
        [*program, *words[1:]],
        cwd=folder,
        env={**os.environ, **TERMINAL, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return clean(done.stdout + done.stderr)


def clean(text: str) -> str:
    """A text without what differs from run to run: elapsed seconds, blanks at line ends."""
    return "\n".join(line.rstrip() for line in SECONDS.sub("seconds", text).rstrip().splitlines())


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in headings}
