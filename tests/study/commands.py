"""The command line for tests: in this process, or as one that can be killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from solver_mapper.cli.app import app


def start(*words: str | Path) -> subprocess.Popen[str]:
    """A process of its own, which prints every line of progress."""
    talkative = (
        "import runpy; from solver_mapper.cli import progress; progress.PERIOD = 0.0; "
        "runpy.run_module('solver_mapper', run_name='__main__')"
    )
    return subprocess.Popen(
        [sys.executable, "-c", talkative, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*words: str | Path, stdin: str = "") -> tuple[int, str, str]:
    """Exit code, standard output and standard error, in this process."""
    done = CliRunner().invoke(app, list(map(str, words)), input=stdin)
    return done.exit_code, done.stdout, done.stderr
