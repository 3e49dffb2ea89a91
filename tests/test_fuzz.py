"""No input, however broken, ends in a Python traceback or in an internal error."""

from __future__ import annotations

import contextlib
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from solver_mapper.cli import app
from tests.broken_files import constraint_violations
from tests.campaigns import in_campaigns

PROJECT = Path(__file__).parents[1]
GOOD = [
    *sorted((PROJECT / "tests" / "data" / "timeloop").glob("*.yaml")),
    PROJECT / "examples" / "eyeriss_layer.yaml",
    PROJECT / "tests" / "data" / "report" / "wires_leakage_residuals.yaml",
    *sorted((PROJECT / "tests" / "data" / "looptree").glob("*/case.yaml"))[:6],
]
COMMANDS = sorted(each.name or "" for each in app.registered_commands)
LIMITED = {"solve": ["--time-limit", "0"], "tile": ["--time-limit", "0"]}
"""What keeps commands that search from taking long."""

names = st.sampled_from(
    [
        "three_level",
        "eyeriss",
        "simba/arch",
        "eyeriss/none",
        "tiny/mm8",
        "tiny/conv",
        "tiny",
        "resnet50/conv1",
        "resnet50/",
        "/",
        ".",
        "..",
        "-",
        "",
        "~",
        "x.yaml",
        "a/b/c",
        "eyeriss/gemm/x",
        "arch",
        "[0]",
        "x" * 5000,
    ]
)
options = st.sampled_from(
    [
        "--json",
        "--objective",
        "energy",
        "edp^1.5*delay",
        "energy^1/0",
        "energy**delay",
        "delay,,delay",
        "--seed",
        "-1",
        "99999999999999999999",
        "--workers",
        "1e3",
        "--gap",
        "2",
        "0.5",
        "nan",
        "--time-limit",
        "inf",
        "--word-bits",
        "A=8",
        "A=",
        "=,=",
        "--stationary",
        "--order",
        "--tile",
        "M=0",
        "--constrained",
        "--help",
        "--",
        "--to",
        "timeloop",
        "--template",
    ]
)
words = st.one_of(names, options, st.text(max_size=12), st.just("\udcff\udcfe"))


def run(arguments: list[str], stdin: bytes) -> None:
    result = CliRunner().invoke(app, arguments, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), (
        arguments,
        result.exception,
    )
    assert result.exit_code in (0, 1, 2, 3), (arguments, result.output)
    assert "Traceback" not in result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


any_words = given(
    command=st.sampled_from(COMMANDS),
    given=st.lists(words, max_size=5),
    stdin=st.binary(max_size=40),
)
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def run_in(folder: Path, command: str, given: list[str], stdin: bytes) -> None:
    with contextlib.chdir(folder):  # 'init' writes to where it is told
        run([command, *LIMITED.get(command, []), *given], stdin)


@settings(RELAXED, max_examples=50)
@any_words
def test_any_words_on_the_command_line(
    folder: Path, command: str, given: list[str], stdin: bytes
) -> None:
    run_in(folder, command, given, stdin)


@pytest.mark.campaign
@settings(RELAXED, max_examples=1000)
@any_words
def test_many_words_on_the_command_line(
    folder: Path, command: str, given: list[str], stdin: bytes
) -> None:
    run_in(folder, command, given, stdin)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "models"])
@pytest.mark.parametrize("first", [0, *in_campaigns([10, 20])])
def test_broken_files(folder: Path, command: str, first: int) -> None:
    for seed in range(first, first + 10):
        random = Random(f"{command}{seed}")
        file = folder / "broken.yaml"
        content = constraint_violations(
            random.choice(GOOD).read_text(encoding="utf-8"), random
        ).encode()
        if seed % 5 == 0:
            position = random.randrange(len(content) + 1)
            content = content[:position] + random.randbytes(3) + content[position:]
        file.write_bytes(content)
        beside = random.choice([[], [], ["eyeriss"], ["tiny/mm8"]])
        more = (
            ["--suggest", "--time-limit", "1"]
            if command == "validate" and seed % 2
            else LIMITED.get(command, [])
        )
        run([command, *more, *beside, str(file) if seed % 2 else "-"], content)
