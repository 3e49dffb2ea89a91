"""What pyproject.toml declares: the version, and the lowest versions of dependencies."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import solver_mapper
from solver_mapper.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lowest(*extras: str, script: Path = ROOT / ".ci" / "lowest.py") -> list[str]:
    done = subprocess.run(
        [sys.executable, str(script), *extras], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_version_is_that_of_the_project() -> None:
    assert solver_mapper.__version__ == PROJECT["version"]


def test_the_command_prints_the_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"solver-mapper {PROJECT['version']}\n")


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["solve", "-h"], ["solve", "--help"]])
def test_help_has_a_short_form(words: list[str]) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0 and "Usage:" in result.stdout


def test_every_dependency_has_a_lowest_version() -> None:
    pins = [line.split("==") for line in lowest()]
    assert [name for name, _ in pins] == [text.split(">=")[0] for text in PROJECT["dependencies"]]
    assert all(
        f">={version}" in text
        for (_, version), text in zip(pins, PROJECT["dependencies"], strict=True)
    )


def test_extras_within_extras_are_followed() -> None:
    names = {line.split("==")[0] for line in lowest("test")}
    assert {"pandas", "onnx", "distributed", "pytest"} <= names


def test_a_dependency_without_a_lower_bound_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "lowest.py"
    script.write_text((ROOT / ".ci" / "lowest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "a"\ndependencies = ["numpy"]\n', encoding="utf-8"
    )
    with pytest.raises(subprocess.CalledProcessError) as failed:
        lowest(script=script)
    assert "'numpy' has no lower bound" in failed.value.stderr
