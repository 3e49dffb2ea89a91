"""Errors about arguments of Python calls name the option as it is typed, at the command line."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from solver_mapper.cli.options_of_arguments import COMMAND_LINE, as_typed
from solver_mapper.errors import ArgumentError, InputError, SourceLocation, about_argument
from tests.study.commands import run

EXAMPLES = Path(__file__).parents[1] / "examples"
LEVELS = (EXAMPLES / "first_accelerator.yaml", EXAMPLES / "first_layer.yaml")
TREE = (EXAMPLES / "fused_matmuls.yaml",)
IMPERFECT = ("--factors", "imperfect")
OF_FRONTS = "the objective network-edp: it needs the complete Pareto front of each layer"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("solve", *LEVELS, "--engine", "both", *IMPERFECT),
            "--engine is not supported with imperfect factors; leave it out",
        ),
        (
            ("solve", *LEVELS, "--certificate", "c.gz", *IMPERFECT),
            "--certificate is not supported with imperfect factors",
        ),
        (
            ("solve", *LEVELS, "--workers", "2", *IMPERFECT),
            "--workers above 1 is not supported with imperfect factors",
        ),
        (("solve", *LEVELS, "--max-fused-loops", "2"), "--max-fused-loops is for LoopTree input"),
        (("solve", *TREE, "--keep-mapping"), "--keep-mapping is not supported for LoopTree input"),
        (("explain", *TREE, "--all"), "--all is not supported for LoopTree input"),
        (("explain", *TREE, *IMPERFECT), "--factors imperfect is not supported for LoopTree input"),
        (
            ("convert", *LEVELS, "--to", "foo"),
            "--to: cannot convert to 'foo'; known here: looptree, timeloop",
        ),
        (
            ("convert", *LEVELS, "--to", "timeloop"),
            "--to: the input is in Timeloop notation already",
        ),
        (("bound", *LEVELS, "--tile", "Z=3"), "--tile: unknown dimension 'Z'; known here: K, M, N"),
        (("bound", *LEVELS, "--tile", "M=999"), "--tile: a tile of 999 does not divide M="),
        (("bound", *LEVELS, "--order", "XYZ"), "--order: unknown dimension 'X'"),
        (("bound", *LEVELS, "--order", "MM"), "--order: the order M M must name every dimension"),
        (
            ("bound", *LEVELS, "--order", "MNK", "--stationary", "A"),
            "--order: 'stationary' and 'order' both prescribe the order of loops",
        ),
        (("bound", *LEVELS, "--stationary", "Foo"), "--stationary: unknown tensor 'Foo'"),
        (("bound", *LEVELS, "--word-bits", "Q=3"), "--word-bits: unknown tensor 'Q'"),
        (("bound", *LEVELS, "--einsum", "foo"), "--einsum: there is no workload with an Einsum"),
        (("bound", *TREE, "--einsum", "foo"), "--einsum: unknown Einsum 'foo'; known here: C, D"),
        (("bound", *LEVELS, "--macs-per-cycle", "0"), "--macs-per-cycle is 0; it must be above 0"),
        (("bound", *LEVELS, "--macs-per-cycle", "4"), "a roofline also needs --bandwidth; give"),
        (("fuse", *TREE, "--bandwidth", "4"), "a roofline also needs --macs-per-cycle; give both"),
        (("solve", *LEVELS, "--workers", "1001"), "--workers is 1001; it must be at most 1,000"),
        (("solve", *LEVELS, "--seed", "9" * 11), "--seed is 99999999999; it must be at most"),
        (
            ("compare", *LEVELS, "--objective", "delay,energy"),
            "--objective: 'delay,energy' has 2 goals; a comparison has one",
        ),
        (("tile", "op.yaml", "--objective", "foo"), "--objective: unknown objective 'foo'"),
        (("tile", "op.yaml", "--backend", "foo"), "--backend: unknown backend 'foo'"),
        (
            ("solve", "eyeriss", "tiny", "--objective", "network-edp", "--no-tie-break"),
            f"--no-tie-break is not supported for {OF_FRONTS}",
        ),
        (
            ("solve", "eyeriss", "tiny", "--objective", "network-edp", *IMPERFECT),
            "--objective network-edp is not supported with imperfect factors",
        ),
        (
            ("solve", "eyeriss", "tiny", "--jobs", "2", "--scheduler", "tcp://x:1"),
            "--scheduler: either processes or a cluster run the searches; leave 'jobs' (--jobs)",
        ),
        (
            ("solve", *LEVELS, "--certificate", "c.gz", "--gap", "1"),
            "--certificate proves nothing with a gap of 1; ask for a smaller gap",
        ),
        (("check-certificate", "c.gz"), "a specification and a certificate are needed"),
        (("solve", *LEVELS, "--include-dir", "x"), "--include-dir: there is no folder 'x'"),
        (
            ("solve", "eyeriss", "tiny", "--job-memory", "4G"),
            "--job-memory: the memory of processes is limited, but there are none",
        ),
    ],
)
def test_an_option_is_named_as_it_is_typed(
    words: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    operator = "operator: inner_product\ninput_shape: [1, 8]\nnum_outputs: 4\n"
    (tmp_path / "op.yaml").write_text(operator)
    code, out, errors = run(*words)
    assert (code, out) == (2, ""), errors
    assert f"<command line>: {told}" in " ".join(errors.split())
    assert "<python>" not in errors and "^" not in errors


def test_each_error_of_several_is_translated() -> None:
    place = SourceLocation("a.yaml", 3)
    other = InputError("something else", place)
    error = ArgumentError("tiles", "a tile is odd", place, more=(ArgumentError("x", "x"), other))
    typed = as_typed(error)
    assert typed.describe() == (
        "<command line>: --tile: a tile is odd\n<command line>: --x: x\na.yaml:3: something else"
    )
    assert as_typed(InputError("nothing")).location == COMMAND_LINE


def test_an_error_about_an_argument_keeps_what_it_says() -> None:
    place = SourceLocation("a.yaml", 3)
    with pytest.raises(ArgumentError) as caught, about_argument("tiles"):
        raise InputError("odd", place, "make it even")
    error = caught.value
    assert (error.argument, error.message, error.location) == ("tiles", "odd", place)
    assert error.hint == "make it even"
    assert pickle.loads(pickle.dumps(error)) == error


def test_links_that_lead_nowhere_and_files_for_folders_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    assert "loop: this link leads to no file" in run("solve", "loop", "eyeriss")[2]
    (tmp_path / "file").touch()
    told = run("init", "file")[2]
    assert told == "file: this is a file, not a folder; name another folder\n"


@pytest.mark.parametrize(
    "words", [("solve", *LEVELS, "-o", ""), ("bound", *LEVELS, "-o", ""), ("init", "")]
)
def test_a_folder_without_a_name_is_not_this_folder(words: tuple[str, ...]) -> None:
    code, out, told = run(*words)
    assert (code, out) == (2, "")
    assert "the name of a folder is empty; write . for this folder" in told


def test_an_arithmetic_has_its_article(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("arch: {arithmetic: 3}\n")
    assert (
        "an arithmetic must be a mapping, not" in run("solve", tmp_path / "a.yaml", "tiny/mm8")[2]
    )
