"""Colour: on terminals only, as NO_COLOR and FORCE_COLOR say, and never a change of the text."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from solver_mapper.cli import colour
from tests.documents import ROOT

GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.txt"))
VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TERM")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_colours_change_no_letter_and_end_with_the_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for paint in (colour.answer, colour.message):
        assert plain(paint(text)) == text
        assert all(line.count("\x1b[") % 2 == 0 for line in paint(text).split("\n"))


@pytest.mark.parametrize(
    ("set_to", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_who_gets_colours(
    set_to: dict[str, str], terminal: bool, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    assert colour.wanted(Terminal() if terminal else io.StringIO()) is wanted


@pytest.mark.parametrize(
    ("line", "style"),
    [
        ("Proven optimal for edp: no mapping in this mapspace is better", colour.GOOD),
        ("Time limit reached: not proven optimal for edp", colour.OPEN),
        ("illegal: 4 violations", colour.BAD),
        ("DRAM [A: 384  B: 192]", colour.BOLD),
    ],
)
def test_what_stands_out(line: str, style: str) -> None:
    assert colour.answer(line).startswith(f"\x1b[{style}m")


def test_warnings_and_carets_stand_out() -> None:
    assert colour.message("warning: x").startswith(f"\x1b[{colour.OPEN}mwarning:\x1b[0m x")
    assert colour.message("     5 | abc\n         ^").endswith("^\x1b[0m")


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_shows_the_answer_in_colour(no_color: bool) -> None:
    """Control characters of the input stay harmless; JSON is never coloured."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    extra = {"PYTHONPATH": str(ROOT), "TERM": "xterm"} | ({"NO_COLOR": "1"} if no_color else {})
    shown = _in_terminal(
        ["validate", "eyeriss", "resnet50/layer3.x.conv2_3x3", "examples/eyeriss_layer.yaml"],
        kept | extra,
    )
    assert shown.strip() == ("legal" if no_color else "\x1b[1;32mlegal\x1b[0m")


def _in_terminal(words: list[str], environment: dict[str, str]) -> str:
    """What a command prints on a terminal of its own."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "solver_mapper", *words]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=theirs) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert running.returncode == 0
    return shown.decode()
