"""The README: short enough to read at once, and its two commands are those that work."""

from __future__ import annotations

import re

from tests.documents import ROOT, blocks, clean, sessions, text_of

README = text_of("README.md")
TUTORIAL = "docs/tutorial/first_mapping.md"


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_ci_runs_the_test_command() -> None:
    """CI's test command is the README's."""
    assert "python -m pytest -n 2" in README
    assert "python -m pytest -n 2" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_first_command_maps_the_layer_of_the_tutorial() -> None:
    """The command that sets everything up ends in one that the tutorial shows with its output."""
    last = blocks("README.md", "sh")[0].strip().split("&& ")[-1].removeprefix(".venv/bin/")
    assert last in [command for command, _ in sessions(TUTORIAL)]


def test_its_picture_is_what_the_first_command_prints() -> None:
    """The loop nest and the summary are excerpts of the tutorial's output."""
    printed = clean(dict(sessions(TUTORIAL))[sessions(TUTORIAL)[0][0]])
    for part in re.split(r"\n\n", blocks("README.md", "text")[0].strip()):
        assert clean(part) in printed
