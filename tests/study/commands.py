"""The command line as a process, for tests of studies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def start(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "solver_mapper", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*words: str | Path) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    process = start(*words)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err
