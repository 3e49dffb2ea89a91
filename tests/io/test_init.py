"""`init` writes files that load without a warning, can be solved, and never replace others."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app

NAMES = ("arch.yaml", "constraints.yaml", "problem.yaml")


def test_the_files_make_up_a_problem_without_a_warning(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", str(tmp_path / "new")])
    assert result.exit_code == 0
    assert result.stdout.split()[:3] == [str(tmp_path / "new" / name) for name in NAMES]
    spec = sm.load(*(tmp_path / "new" / name for name in NAMES), strict=True)
    assert isinstance(spec, sm.Spec)
    assert sm.space(spec).to_dict()["legal"] is not None
    assert all((tmp_path / "new" / name).read_text().startswith("# ") for name in NAMES)


def test_nothing_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "problem.yaml").write_text("mine")
    result = CliRunner().invoke(app, ["init", str(tmp_path)])
    assert result.exit_code == 2
    assert "problem.yaml: there already; nothing was written; name another folder" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["problem.yaml"]


def test_standard_output_is_no_folder() -> None:
    result = CliRunner().invoke(app, ["init", "-"])
    assert result.exit_code == 2
    assert "-: files cannot be written to standard output; name a folder" in result.stderr


def test_the_name_of_a_file_is_no_folder(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", str(tmp_path / "design.yaml")])
    assert result.exit_code == 2
    assert "several files are written, into a folder" in result.stderr
    assert "solver-mapper init design" in result.stderr
    assert not list(tmp_path.iterdir())
