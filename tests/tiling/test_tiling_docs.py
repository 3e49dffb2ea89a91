"""What docs/reference/tiling.md shows is what the commands print, and its excerpts stand in the
example.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from solver_mapper.cli import app

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/reference/tiling.md").read_text(encoding="utf-8")


def blocks() -> list[str]:
    """The indented blocks of the document."""
    found = re.findall(r"(?:^(?:    .*|)\n)+", DOCUMENT, re.MULTILINE)
    return [
        "\n".join(line[4:] for line in block.strip("\n").split("\n"))
        for block in found
        if block.strip()
    ]


def shown(command: str) -> str:
    """What the document shows below a command."""
    for block in blocks():
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE):
            if part.startswith(f"{command}\n"):
                return part.removeprefix(f"{command}\n")
    raise AssertionError(f"the document does not show '{command}'")


def same(text: str) -> list[str]:
    """Lines without the solver's patch version and without blank ones at the ends."""
    return re.sub(r"CP-SAT [\d.]+", "CP-SAT", text).strip("\n").splitlines()


@pytest.mark.parametrize(
    "command",
    [
        "tile layer.yaml --objective traffic",
        "tile layer.yaml --all",
        "tile layer.yaml tiling.yaml",
        "tile resnet50",
    ],
)
def test_commands_print_what_the_document_shows(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("layer.yaml", "tiling.yaml"):
        Path(file).write_text(shown(f"cat {file}"), encoding="utf-8")
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 0
    assert same(result.stdout) == same(shown(f"solver-mapper {command}"))


def test_the_example_prints_what_the_document_shows() -> None:
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples/transposed_convolution.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert same(result.stdout) == same(shown("python examples/transposed_convolution.py"))


def test_excerpts_stand_in_the_example() -> None:
    example = (ROOT / "examples/transposed_convolution.py").read_text(encoding="utf-8")
    excerpts = [
        block
        for block in blocks()
        if "class Spread" in block or "axes.append" in block or "tiling_of(" in block
    ]
    assert len(excerpts) == 3
    for line in (line.strip() for block in excerpts for line in block.splitlines() if line.strip()):
        assert line in example or line == "def row_by_row(operator, backend, options):", line
