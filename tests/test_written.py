"""Output files: before a search it is known that they can be written and overwrite nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.study.commands import run

ONE = ("eyeriss", "tiny/mm8", "-W", "no-energy-table")
EXAMPLES = Path(__file__).parents[1] / "examples"
HARDWARE = str(EXAMPLES / "first_accelerator.yaml")
OPERATOR = """
operator: inner_product
input_shape: [1, 8]
num_outputs: 4
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with input, in which the commands run, and in which a search is an error."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "first_layer.yaml", tmp_path / "layer.yaml")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link.yaml").symlink_to("layer.yaml")

    def searched(*_: object, **__: object) -> None:
        raise AssertionError("a search began")

    for name in ("solve", "solve_network", "pareto", "bound", "fuse", "sweep", "compare"):
        monkeypatch.setattr(f"solver_mapper.api.{name}", searched)
    return tmp_path


def refused(*words: str) -> str:
    code, out, told = run(*words)
    assert (code, out) == (2, ""), told
    return " ".join(told.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--html", "layer.yaml"),
            "<command line>: --html: 'layer.yaml' is read as input, and would be overwritten; name"
            " another file",
        ),
        (("--certificate", "./layer.yaml"), "--certificate: 'layer.yaml' is read as input"),
        (("--html", "link.yaml"), "--html: 'link.yaml' is read as input"),
        (("--html", "directory/../layer.yaml"), "is read as input, and would be overwritten"),
    ],
)
def test_input_is_not_overwritten(words: tuple[str, ...], told: str, folder: Path) -> None:
    before = (folder / "layer.yaml").read_text()
    assert told in refused("solve", HARDWARE, "layer.yaml", *words)
    assert (folder / "layer.yaml").read_text() == before


def test_other_commands_do_not_overwrite_input_either(folder: Path) -> None:
    for command in ("pareto", "evaluate", "bound", "compare"):
        told = refused(command, "layer.yaml", HARDWARE, "--html", "layer.yaml")
        assert "--html: 'layer.yaml' is read as input" in told
    (folder / "op.yaml").write_text(OPERATOR)
    assert "--timeloop: 'op.yaml' is read" in refused("tile", "op.yaml", "--timeloop", "op.yaml")
    (folder / "sweep.yaml").write_text("sweep: {}\n")
    assert "--store: 'sweep.yaml' is read" in refused(
        "sweep", "sweep.yaml", "--store", "sweep.yaml"
    )
    assert "-o: 'layer.yaml' is read" in refused("energies", "layer.yaml", "-o", "layer.yaml")
    assert "-o: 'layer.yaml' is read" in refused("import", "layer.yaml", "-o", "layer.yaml")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--html", "x.html", "--certificate", "x.html"),
            "--certificate: 'x.html' would be written by --html too; name another file",
        ),
        (("--certificate", "x.svg", "--plot", "x.svg"), "'x.svg' would be written by --plot too"),
        (("--plot", "z.svg", "--plot", "cycles=z.svg"), "--plot: 'z.svg' would be written twice"),
        (("-o", "od", "--html", "od/map.yaml"), "--html: 'od/map.yaml' would be written by -o too"),
        (("-o", "od", "--html", "od/report.html"), "would be written by -o too"),
    ],
)
def test_one_file_is_written_once(words: tuple[str, ...], told: str, folder: Path) -> None:
    assert told in refused("solve", *ONE, *words)
    assert not (folder / "od").exists()


def test_a_folder_with_input_is_not_written_over(folder: Path) -> None:
    shutil.copy(folder / "layer.yaml", folder / "directory" / "map.yaml")
    told = refused("solve", HARDWARE, "directory/map.yaml", "-o", "directory")
    assert (
        "-o: 'directory' has 'directory/map.yaml', which is read as input and would be overwritten;"
        " name another folder" in told
    )


@pytest.mark.parametrize("option", ["--html", "--certificate", "--plot"])
def test_what_cannot_be_written_is_known_before_a_search(option: str, folder: Path) -> None:
    (folder / "directory.svg").mkdir()
    (folder / "file").touch()
    told = refused("solve", *ONE, option, "directory.svg")
    assert f"<command line>: {option}: 'directory.svg' cannot be written (Is a directory)" in told
    told = refused("solve", *ONE, option, "file/x.svg")
    assert f"{option}: 'file/x.svg' cannot be written (" in told


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_folder_without_the_right_to_write_is_known_before_a_search(folder: Path) -> None:
    (folder / "directory").chmod(0o500)
    told = refused("solve", *ONE, "--html", "directory/x.html")
    assert "--html: 'directory/x.html' cannot be written (Permission denied)" in told


def test_missing_folders_are_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    words = ("--html", "a/b/x.html", "--plot", "c/x.svg", "--certificate", "d/c.gz")
    assert run("solve", *ONE, *words)[0] == 0
    assert all((folder / name).is_file() for name in ("a/b/x.html", "c/x.svg", "d/c.gz"))


def test_devices_may_be_written_twice() -> None:
    code, _, told = run("evaluate", *ONE, "--html", os.devnull, "--plot", "x.svg")
    assert code == 2 and os.devnull not in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("solve", *ONE, "--plot", "foo=x.svg"),
            "<command line>: --plot: there is no chart 'foo' of this result; known here: cycles,"
            " energy, nest, progress, roofline",
        ),
        (
            ("solve", *ONE, "--plot", "nest=x.png"),
            "--plot: 'nest' is drawn as SVG only; end the name in .svg",
        ),
        (("pareto", *ONE, "--plot", "a,b=x.svg"), "there is no chart 'a,b' of this result"),
        (
            ("solve", "eyeriss", "tiny", "--plot", "foo,macs=x.svg"),
            "<command line>: unknown column 'foo'; known here: bound, count, cycles",
        ),
    ],
)
def test_charts_are_known_before_a_search(words: tuple[str, ...], told: str) -> None:
    assert told in refused(*words)
