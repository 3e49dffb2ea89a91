"""Every command of docs/bounds.md prints what the document shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_readme import clean, printed_by, sessions

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "bounds.md").read_text(encoding="utf-8")
SHOWN = sessions(DOCUMENT)


@pytest.mark.parametrize(("command", "printed"), SHOWN, ids=[command for command, _ in SHOWN])
def test_commands_print_what_the_document_shows(command: str, printed: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert printed_by(command, tmp_path) == clean(printed)


def test_the_last_example_of_the_document(tmp_path: Path) -> None:
    """The commands under "Files": the figures that the text names."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    first, second = re.findall(r"^    (solver-mapper .*)$", DOCUMENT, re.MULTILINE)
    printed_by(first, tmp_path)
    printed = printed_by(second, tmp_path)
    assert "energy   1024 J" in printed
    assert "Buffer holds 584 of" in printed
