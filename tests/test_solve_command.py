"""`solver-mapper solve` as a process: exit codes, files, progress, interruption and limits."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import solver_mapper as sm
from solver_mapper.cli.progress import PERIOD, ProgressLine, describe
from solver_mapper.core.progress import Progress
from solver_mapper.io import bundled
from tests.study.commands import run

TINY = ("three_level", "tiny/mm8")
ENDLESS = """
import sys, time
from dataclasses import replace
from solver_mapper import api
from solver_mapper.cli import main
from solver_mapper.core.progress import Progress

solve = api.solve

def endless(spec, objective, *, clock, on_progress, **_):
    solution = solve(spec, objective)
    on_progress(Progress(solution.value, None, clock.seconds, "edp"))
    print("searching", file=sys.stderr, flush=True)
    while not clock.over:
        time.sleep(0.01)
    unproven = replace(solution.certificate, proofs=())
    return replace(
        solution, status="feasible", bound_rank=solution.rank / 2, certificate=unproven
    )

api.solve = endless
main()
"""
"""The command line with a search that, having found a mapping, goes on until it is stopped."""


def solver_mapper(*words: str | Path, code: str | None = None, **how) -> subprocess.Popen[str]:
    start = ["-m", "solver_mapper"] if code is None else ["-c", code]
    return subprocess.Popen(
        [sys.executable, *start, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        **{"stderr": subprocess.PIPE, **how},
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    assert process.stderr is not None
    assert process.stderr.readline() == "searching\n"
    process.send_signal(signal.SIGINT)
    return finish(process)


def test_the_mapping_that_is_written_has_the_figures_that_are_written(tmp_path: Path) -> None:
    """`evaluate` on map.yaml, `solution.json` and what was printed agree to the last digit;
    `validate` finds nothing wrong.
    """
    code, out, _ = finish(solver_mapper("solve", *TINY, "--json", "-o", tmp_path))
    assert code == 0
    printed = json.loads(out)
    assert json.loads((tmp_path / "solution.json").read_text()) == printed
    assert yaml.load((tmp_path / "map.yaml").read_text(), yaml.BaseLoader)["mapping"] == [
        {key: str(value) if isinstance(value, int) else value for key, value in each.items()}
        for each in printed["mapping"]
    ]
    code, out, _ = run("evaluate", *TINY, tmp_path / "map.yaml", "--json", "-o", tmp_path / "again")
    assert code == 0
    assert (
        json.loads(out)
        == printed["evaluation"]
        == json.loads((tmp_path / "again" / "evaluation.json").read_text())
    )
    assert (tmp_path / "again" / "stats.txt").read_bytes() == (tmp_path / "stats.txt").read_bytes()
    assert f"Cycles: {printed['evaluation']['cycles']}\n" in (tmp_path / "stats.txt").read_text()
    assert run("validate", *TINY, tmp_path / "map.yaml")[:2] == (0, "legal\n")


def test_the_same_seed_writes_the_same_mapping_byte_for_byte(tmp_path: Path) -> None:
    """In a process of its own, and in one that has done other things before."""
    words = ("solve", *TINY, "--seed", "3", "-o")
    assert finish(solver_mapper(*words, tmp_path / "one"))[0] == 0
    assert run(*words, tmp_path / "two")[0] == 0
    first, second = (tmp_path / folder / "map.yaml" for folder in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_ctrl_c_gives_the_best_mapping_so_far(tmp_path: Path) -> None:
    code, out, err = interrupt(
        solver_mapper("solve", *TINY, "--json", "-o", tmp_path, code=ENDLESS)
    )
    assert code == 130
    assert "Traceback" not in err
    solution = json.loads(out)
    assert solution["status"] == "feasible"
    assert solution["objective"]["bound"] < solution["objective"]["value"]
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "map.yaml",
        "report.html",
        "solution.json",
        "stats.txt",
    ]
    assert sm.validate(sm.load(*bundled.resolve(*TINY), tmp_path / "map.yaml")).legal


def test_ctrl_c_before_the_search_ends_the_program(tmp_path: Path) -> None:
    # a shell's background jobs, and what they start, ignore interrupts unless told otherwise
    code = (
        "import os, signal\nfrom solver_mapper import api\nfrom solver_mapper.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "api.read_input = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\nmain()"
    )
    assert finish(solver_mapper("solve", *TINY, code=code)) == (
        130,
        "",
        "solver-mapper: interrupted\n",
    )


def test_a_time_limit_gives_the_best_mapping_so_far(tmp_path: Path) -> None:
    started = time.monotonic()
    code, out, _ = finish(
        solver_mapper("solve", *TINY, "--time-limit", "0.5", "-o", tmp_path, code=ENDLESS)
    )
    assert code == 0
    assert time.monotonic() - started > 0.5
    assert "not proven optimal for edp" in out
    assert (tmp_path / "map.yaml").exists()


def test_a_time_limit_before_any_mapping_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    code, out, _ = finish(
        solver_mapper("solve", *TINY, "--time-limit", "0", "--json", "-o", tmp_path)
    )
    assert code == 3
    solution = json.loads(out)
    assert (solution["status"], solution["mapping"], solution["objective"]["value"]) == (
        "unknown",
        None,
        None,
    )
    assert {file.name for file in tmp_path.iterdir()} == {"report.html", "solution.json"}


def test_no_mapping_at_all_is_the_answer_no(tmp_path: Path) -> None:
    constraints = tmp_path / "rules.yaml"
    constraints.write_text(
        "architecture_constraints:\n- {target: RF, type: temporal, factors: M=1 K=1 N=1}\n"
        "- {target: GLB, type: spatial, factors: M=8 K=8 N=8}\n"
    )
    code, out, _ = finish(solver_mapper("solve", *TINY, constraints))
    assert code == 1
    assert out.startswith("Proven infeasible: ")


@pytest.mark.parametrize("what", ["a file", "a folder below a file"])
def test_a_folder_that_cannot_be_written_is_known_before_the_search(
    tmp_path: Path, what: str
) -> None:
    place = tmp_path / "file"
    place.touch()
    folder = place if what == "a file" else place / "below"
    code, out, err = finish(solver_mapper("solve", *TINY, "-o", folder))
    assert (code, out) == (2, "")
    assert err.startswith(f"{folder}: cannot be written (")


def test_a_terminal_shows_one_live_line_and_is_left_clean(tmp_path: Path) -> None:
    """The line is redrawn in place while the search runs, and erased before the answer."""
    ours, theirs = pty.openpty()
    process = solver_mapper(
        "solve",
        *TINY,
        "--time-limit",
        "4",
        code=ENDLESS,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    code, out, _ = finish(process)
    os.close(ours)
    lines = re.findall(r"edp: best (\S+), bound none yet, ([0-9.]+) s", shown.decode())
    assert code == 0
    assert len({seconds for _, seconds in lines}) >= 3  # time goes on without news
    assert float(lines[0][0]) == pytest.approx(
        float(re.findall(r"\nedp +([0-9,.]+) pJ", out)[0].replace(",", "")), rel=1e-5
    )
    assert "\x1b" not in out


class Stream(list[str]):
    """A stream that is no terminal."""

    def write(self, text: str) -> None:
        self.append(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def test_elsewhere_there_are_plain_lines_but_few() -> None:
    stream, time_now = Stream(), 0.0
    with ProgressLine(stream, lambda: time_now) as line:  # type: ignore[arg-type]
        for time_now in (0.5, PERIOD, PERIOD + 0.5, 2 * PERIOD):
            line.show(Progress(1000 - time_now, 500.0, time_now, "delay"))
    assert stream == [
        "delay: best 970, bound 500, gap 48.45 %, 30.0 s\n",
        "delay: best 940, bound 500, gap 46.81 %, 60.0 s\n",
    ]


def test_the_line_says_what_is_not_known_yet() -> None:
    assert (
        describe(Progress(None, None, 0.0, "energy"), 0.25)
        == "energy: best none yet, bound none yet, 0.2 s"
    )
