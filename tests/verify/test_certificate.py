"""Certificates: what `solve` writes holds, and nothing that was changed to prove more does."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.errors import InputError
from solver_mapper.verify import standalone
from solver_mapper.verify.checker import check_certificate
from tests.instances import PLAIN, Instance, instance
from tests.test_solve_small import ARCH, GEMM

OBJECTIVES = ("energy", "edp", "delay,energy", "last-level-accesses")


def certified(made: Instance, objective: str, path: Path) -> sm.Solution:
    solution = sm.solve(made.spec, objective, certificate=path)
    assert solution.certificate.verification[-1]["verdict"] == "agrees"
    return solution


def lines_of(path: Path) -> list[Any]:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def rewrite(path: Path, lines: list[Any]) -> None:
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize("seed", range(16))
def test_what_solve_writes_holds(seed, tmp_path):
    """Feasible mapspaces and infeasible ones, single goals, products and lists."""
    made, path = instance(seed, 60, PLAIN, wired=False), tmp_path / "proof.gz"
    solution = certified(made, OBJECTIVES[seed % 4], path)
    check = sm.check_certificate(made.spec, path)
    assert check.holds, check.reason
    assert ("no mapping is legal" in str(check)) == (solution.status == "infeasible")


def mutations(lines: list[Any], random: Random) -> Iterator[tuple[str, list[Any]]]:
    """Certificates that claim more than is proven, with what was changed."""
    header, tree = lines[0], lines[1:]
    leaves = [
        number
        for number, node in enumerate(tree)
        if node[0] in ("bound", "unfit", "empty", "evaluated")
    ]
    at = random.choice(leaves)
    yield "a leaf is dropped", [header, *tree[:at], *tree[at + 1 :]]
    yield "a leaf is doubled", [header, *tree[:at], tree[at], *tree[at:]]
    yield "the end is cut off", [header, *tree[: random.randrange(len(tree))]]
    yield "another specification", [{**header, "specification": "0" * 64}, *tree]
    bounds = [number for number in leaves if tree[number][0] == "bound"]
    if bounds:
        number, which = random.choice(bounds), random.randint(1, 3)
        raised = [*tree[number]]
        raised[which] += random.choice([1, raised[which] + 1])
        yield "a bound is raised", [header, *tree[:number], raised, *tree[number + 1 :]]
    other = random.choice([number for number in leaves if tree[number][0] != "empty"] or [None])
    if other is not None:
        yield "a box is called empty", [header, *tree[:other], ["empty"], *tree[other + 1 :]]
        yield (
            "mappings are called too large",
            [header, *tree[:other], ["unfit", "capacity of X"], *tree[other + 1 :]],
        )
    if header["incumbent"] is not None:
        yield "there is no mapping", [{**header, "incumbent": None}, *tree]
        values = [str(Fraction(value) - 1) for value in header["incumbent"]["values"]]
        lower = {**header["incumbent"], "values": values}
        yield "a better value", [{**header, "incumbent": lower}, *tree]
        yield (
            "another mapping",
            [{**header, "incumbent": changed(header["incumbent"], random)}, *tree],
        )


def changed(incumbent: dict[str, Any], random: Random) -> dict[str, Any]:
    """A mapping with one loop bound changed, or a tensor that no level stores."""
    levels = json.loads(json.dumps(incumbent["mapping"]))
    loops = [each for level in levels for kind in ("temporal", "spatial") for each in level[kind]]
    if loops:
        random.choice(loops)[1] += 1
    else:
        for level in levels:
            level["stores"] = []
    return {**incumbent, "mapping": levels}


def accepted(seeds: range, tmp_path: Path) -> tuple[int, list[str]]:
    """How many changed certificates were tried, and those that were not refused."""
    tried, wrong = 0, []
    for seed in seeds:
        made, path, random = (
            instance(seed, 40, PLAIN, wired=False),
            tmp_path / f"{seed}.gz",
            Random(seed),
        )
        certified(made, OBJECTIVES[seed % 4], path)
        lines = lines_of(path)
        for what, mutated in mutations(lines, random):
            rewrite(path, mutated)
            tried += 1
            if check_certificate(made.spec, path).holds:
                wrong.append(f"{what}: {made}")
    return tried, wrong


def test_changed_certificates_are_refused(tmp_path):
    """Leaves dropped or doubled, bounds raised, reasons swapped, values and mappings changed."""
    tried, wrong = accepted(range(12), tmp_path)
    assert tried > 80
    assert not wrong


@pytest.mark.campaign
def test_a_thousand_changed_certificates_are_refused(tmp_path):
    tried, wrong = accepted(range(120), tmp_path)
    assert tried >= 1000
    assert not wrong


def test_another_file_is_refused(tmp_path):
    """A certificate holds for its own specification only: here one dimension is smaller."""
    path = tmp_path / "proof.gz"
    sm.solve(sm.load(GEMM, ARCH), "energy", certificate=path)
    assert sm.check_certificate(sm.load(GEMM, ARCH), path).holds
    smaller = json.loads(json.dumps(GEMM))
    smaller["problem"]["instance"] = {**smaller["problem"]["instance"], "M": 2}
    refused = sm.check_certificate(sm.load(smaller, ARCH), path)
    assert not refused.holds
    assert "another specification" in refused.reason


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "this is no certificate"),
        (gzip.compress(b"no json\n"), "this is no certificate"),
        (gzip.compress(b'{"format": "other"}\n'), "this is no optimality certificate"),
        (
            gzip.compress(b'{"format": "solver-mapper optimality certificate", "version": 99}\n'),
            "version 99",
        ),
    ],
    ids=["plain text", "no JSON", "another format", "another version"],
)
def test_files_that_are_no_certificates(content, message, tmp_path):
    path = tmp_path / "proof.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        sm.check_certificate(sm.load(GEMM, ARCH), path)
    with pytest.raises(InputError, match="no such file"):
        sm.check_certificate(sm.load(GEMM, ARCH), tmp_path / "missing")


def test_commands(tmp_path):
    """`solve --certificate` and `check-certificate`, with all its exit codes."""
    case, proof = tmp_path / "case.yaml", tmp_path / "proof.gz"
    case.write_text(json.dumps(GEMM | ARCH))
    solved = CliRunner().invoke(app, ["solve", str(case), "--certificate", str(proof), "--json"])
    assert solved.exit_code == 0
    told = json.loads(solved.stdout)["certificate"]["verification"]
    assert told[-1]["found"] == "confirmed: no mapping is better by more than 0.0001 %"
    held = CliRunner().invoke(app, ["check-certificate", str(case), str(proof)])
    assert held.exit_code == 0
    assert held.stdout.startswith("The certificate holds: no mapping is better than edp ")
    rewrite(proof, lines_of(proof)[:-1])
    refused = CliRunner().invoke(app, ["check-certificate", str(case), str(proof), "--json"])
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["holds"] is False
    for words in ([str(case)], [str(case), str(case)]):
        assert CliRunner().invoke(app, ["check-certificate", *words]).exit_code == 2


def test_answers_without_certificates_say_so(tmp_path):
    """Unproven answers, networks, LoopTree input and model hooks."""
    path = tmp_path / "proof.gz"
    spec = sm.load(GEMM, ARCH)
    told = sm.solve(spec, "energy", time_limit=0, certificate=path).certificate.verification
    assert [each["found"] for each in told] == ["there is no answer"]
    assert not path.exists()
    with pytest.raises(InputError, match="certificate is not supported with a model hook"):
        sm.solve(spec, "energy", certificate=path, model_hook=lambda model: None)
    words = ["solve", "eyeriss", "tiny", "--certificate", str(path)]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "--certificate is for a single problem" in refused.stderr


def test_the_checker_needs_neither_the_solver_nor_numpy(tmp_path):
    """The script runs where both cannot be imported."""
    proof = tmp_path / "proof.gz"
    sm.solve(sm.load("eyeriss", "resnet50/layer4.x.conv1_1x1"), "edp", certificate=proof)
    program = (
        "import runpy, sys\n"
        "for name in ('ortools', 'numpy', 'typer', 'rich'):\n"
        "    sys.modules[name] = None\n"
        f"sys.argv = ['standalone.py', 'eyeriss', 'resnet50/layer4.x.conv1_1x1', {str(proof)!r}]\n"
        f"runpy.run_path({standalone.__file__!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "The certificate holds" in done.stdout
