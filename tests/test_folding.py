"""Lines on a terminal: no word is lost, no line is wider, carets stay in place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from solver_mapper.cli import colour
from solver_mapper.cli.folding import fold
from tests.documents import ROOT
from tests.test_colour import plain

GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.txt"))
QUOTED = re.compile(r" *\d+ \| | +\^$")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.parametrize("columns", [40, 80])
def test_no_word_is_lost_and_no_line_is_wider(path: Path, columns: int) -> None:
    """Words longer than a line stay whole: a name that is broken cannot be copied."""
    lines = path.read_text(encoding="utf-8").split("\n")
    text = "\n".join(line for line in lines if not QUOTED.match(line))
    shown = fold(text, columns)
    assert shown.split() == text.split()
    longest = max(len(word) for word in text.split())
    assert max(map(len, shown.split("\n"))) <= columns + longest
    assert plain(colour.answer(text, columns)) == shown
    assert fold(text, None) == text == fold(text, 10**6)


def test_what_follows_stands_below_its_column() -> None:
    text = "proof        no choice of mappings gives a smaller edp"
    assert fold(text, 40) == "proof        no choice of mappings gives\n             a smaller edp"


@pytest.mark.parametrize("column", [3, 30, 75, 119])
def test_a_caret_stays_below_its_letter(column: int) -> None:
    """The part of a quoted line that is shown has the letter that the caret points at."""
    quoted = "".join(chr(ord("a") + number % 26) for number in range(120))
    text = f"    11 | {quoted}\n{' ' * (9 + column)}^"
    line, caret = fold(text, 50).split("\n")
    assert len(line) <= 50 and caret.endswith("^")
    assert line[len(caret) - 1] == quoted[column]
