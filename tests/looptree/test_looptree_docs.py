"""Every command and program of docs/looptree.md runs and prints what the document shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_readme import clean, printed_by, sessions

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "looptree.md").read_text(encoding="utf-8")
SHOWN = sessions(DOCUMENT)


@pytest.mark.parametrize(("command", "printed"), SHOWN, ids=[command for command, _ in SHOWN])
def test_commands_print_what_the_document_shows(command: str, printed: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert printed_by(command, tmp_path) == clean(printed)


def test_programs_of_the_document_run(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    programs = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert programs
    for program in programs:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            text=True,
            timeout=120,
            capture_output=True,
            check=False,
        )
        assert not done.returncode, done.stderr
