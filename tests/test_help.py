"""The help that a user reads first."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.documents import ROOT


def test_each_command_is_described_in_one_uncut_line() -> None:
    """At 80 columns, the width of a plain terminal."""
    shown = subprocess.run(
        [sys.executable, "-m", "solver_mapper", "--help"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    commands = shown.split("Commands:\n")[1].splitlines()
    assert len(commands) >= 16
    assert [line for line in commands if not line.endswith(".") or "..." in line] == []
