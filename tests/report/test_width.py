"""Every table fits a terminal of 80 columns; files and pipes get all columns."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

import solver_mapper as sm
from solver_mapper.report.tables import on_terminal, table, text_width, titled
from tests.report.test_figures_text import CASES, figures_of


@pytest.fixture(scope="module")
def network() -> sm.NetworkResult:
    return sm.solve_network("eyeriss", "tiny")


def longest(text: str) -> int:
    return max(map(len, text.splitlines()))


@pytest.mark.parametrize("name", CASES)
def test_statistics_fit_eighty_columns(name: str) -> None:
    statistics = figures_of(*CASES[name])
    with on_terminal(80):
        narrow = "\n".join(line for line in str(statistics).splitlines() if "   " in line)
    assert longest(narrow) <= 80 < longest(str(statistics))
    for level, row in statistics.levels.items():
        assert level in narrow
        assert all(f"{tensor.reads:,}" in narrow for tensor in row.tensors.values())


def test_options_in_rows_of_text_are_not_broken_at_their_hyphens() -> None:
    rows = [("conflict", "word " * 17 + "'--relax min_usage' lowers it"), ("seconds", "load 1")]
    assert titled(rows).splitlines() == [
        "conflict  " + " ".join(["word"] * 17),
        "          '--relax min_usage' lowers it",
        "seconds   load 1",
    ]


def test_what_has_no_room_is_named() -> None:
    with on_terminal(80):
        assert "(no room for hops" in str(figures_of(*CASES["eyeriss_layer"]))


def test_networks_sweeps_and_fronts_fit_eighty_columns(network: sm.NetworkResult) -> None:
    sweep = sm.sweep(
        {
            "architecture": "eyeriss",
            "workloads": ["tiny/conv1d"],
            "parameters": {"psum_spad.entries": [8, 16], "shared_glb.entries": [4096]},
        }
    )
    front = sm.pareto(sm.load("eyeriss", "tiny/conv1d"))
    for result in (network, sweep, front):
        with on_terminal(80):
            above, _, _ = str(result).partition("\n\n")
        assert longest("\n".join(line for line in above.splitlines() if "   " in line)) <= 80


def test_a_wide_terminal_shows_every_column(network: sm.NetworkResult) -> None:
    with on_terminal(200):
        assert str(network) == str(network)
        assert "no room" not in str(network) and text_width() == 100
    with on_terminal(20):
        assert text_width() == 80


def test_columns_that_are_not_expendable_stay() -> None:
    made = table("a" * 60, "b" * 60, "c" * 5, expendable=(2,))
    made.add_row("1", "2", "3")
    from solver_mapper.report.tables import render

    with on_terminal(80):
        shown = render(made)
    assert "a" * 60 in shown and "b" * 60 in shown and "(no room for ccccc)" in shown


def test_the_command_follows_the_terminal_and_uses_no_colours() -> None:
    """A terminal of 80 columns, as it is."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "solver_mapper", "evaluate", *CASES["eyeriss_layer"]],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait(60) == 0
    text = shown.decode().replace("\r\n", "\n")
    assert "(no room for" in text and "\x1b" not in text
    tables = re.findall(r"^.*   .*$", text, re.MULTILINE)
    assert max(map(len, tables)) <= 80


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_is_offered(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "solver_mapper", "--show-completion", shell],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert done.returncode == 0 and "complet" in done.stdout.lower()
