"""What a user gets from `pip install`: the models ship inside the wheel and work far from any
checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]


def run(*words: str | Path, cwd: Path, path: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.campaign
def test_the_wheel_holds_every_model_and_lists_them_without_the_checkout(tmp_path: Path) -> None:
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        tmp_path,
        PROJECT,
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("solver_mapper-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = {
            name.removeprefix("solver_mapper/_models/")
            for name in archive.namelist()
            if "/_models/" in name
        }
        archive.extractall(tmp_path / "installed")
    models = PROJECT / "models"
    assert shipped == {
        str(file.relative_to(models)) for file in models.rglob("*") if file.is_file()
    }
    python = (sys.executable, "-m", "solver_mapper", "models")
    inside, outside = (
        run(*python, "--json", cwd=tmp_path, path=where)
        for where in (tmp_path / "installed", PROJECT)
    )
    assert (
        inside.replace(str(tmp_path / "installed" / "solver_mapper" / "_models"), str(models))
        == outside
    )
