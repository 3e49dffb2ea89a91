"""The worked example under "Files" of docs/explanation/bounds.md."""

from __future__ import annotations

import re
from pathlib import Path

from tests.documents import ROOT, printed_here, text_of


def test_the_last_example_of_the_page(tmp_path: Path) -> None:
    """The commands under "Files": the figures that the text names."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = text_of("docs/explanation/bounds.md")
    first, second = re.findall(r"^    (solver-mapper .*)$", page, re.MULTILINE)
    printed_here(first, tmp_path)
    printed = printed_here(second, tmp_path)
    assert "energy   1024 J" in printed
    assert "Buffer holds 584 of" in printed
