"""`solver-mapper bound` and the public `bound`: input, options, and what is written."""

import json

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli.app import app

PROBLEM = """problem:
  shape:
    name: gemm
    dimensions: [M, K, N]
    data-spaces:
    - {name: A, projection: [[[M]], [[K]]]}
    - {name: B, projection: [[[K]], [[N]]]}
    - {name: Z, projection: [[[M]], [[N]]], read-write: true}
  instance: {M: 64, K: 64, N: 64}
"""
MACHINE = """arch:
  arithmetic: {name: MAC, instances: 16}
  storage:
  - {name: RF, instances: 16, entries: 8}
  - {name: GLB, instances: 1, entries: 1024}
  - {name: DRAM, technology: DRAM, instances: 1}
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    (tmp_path / "machine.yaml").write_text(MACHINE)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["bound", *map(str, words)])


def test_json_follows_the_contract(files):
    shown = json.loads(run(files / "problem.yaml", "--json").stdout)
    assert shown["units"] == "words"
    first = shown["curve"][0]
    assert (first["buffer"], first["accesses"], first["tile"]) == (
        3,
        528384,
        {"M": 1, "K": 1, "N": 1},
    )


def test_the_machines_own_buffers_are_marked(files):
    spec = sm.load(files / "problem.yaml", files / "machine.yaml")
    curve = sm.bound(spec)
    assert [(mark.name, mark.buffer) for mark in curve.marks] == [("GLB", 1024), ("RF", 128)]
    levels = curve.to_dict()["levels"]
    assert levels == [
        {"level": "GLB", "capacity": 1024, "accesses": curve.accesses(1024)},
        {"level": "RF", "capacity": 128, "accesses": curve.accesses(128)},
    ]
    assert f"RF (128): at least {curve.accesses(128):,} accesses if it keeps every tensor" in str(
        curve
    )


def test_every_form_is_written(files):
    assert run(files / "problem.yaml", "-o", files / "out").exit_code == 0
    written = sorted(path.name for path in (files / "out").iterdir())
    assert written[:5] == ["curve.csv", "curve.json", "curve.svg", "curve.txt", "machine.yaml"]
    assert "12,288" in (files / "out" / "curve.txt").read_text()


def test_a_written_mapping_can_be_evaluated_on_the_machine_beside_it(files):
    run(files / "problem.yaml", "-o", files / "out")
    for point in sm.bound(sm.load(files / "problem.yaml")).points:
        statistics = sm.evaluate(
            sm.load(
                files / "problem.yaml",
                files / "out/machine.yaml",
                files / f"out/mapping_{point.buffer}.yaml",
            )
        )
        assert statistics.last_level_accesses == statistics.energy_pj == point.accesses


def test_witnesses_of_a_workload_are_looptrees(tmp_path):
    text = (
        "workload:\n  rank_sizes: {M: 4, K: 6, N: 8}\n  bits_per_value: {All: 8}\n  einsums: ['Z[m,"
        " n] = A[m, k] * B[k, n]']\n"
    )
    (tmp_path / "work.yaml").write_text(text)
    run(tmp_path / "work.yaml", "--bypass", "-o", tmp_path / "out")
    for point in sm.bound(sm.load(tmp_path / "work.yaml"), bypass=True).points:
        mapping = tmp_path / f"out/mapping_{point.buffer}.yaml"
        statistics = sm.evaluate(
            sm.load(tmp_path / "work.yaml", tmp_path / "out/machine.yaml", mapping)
        )
        assert statistics.energy == 8 * point.accesses
        assert statistics.occupancy["Buffer"].bits <= 8 * point.buffer


def test_a_dataflow_from_the_command_line(files):
    free, kept = (
        run(files / "problem.yaml", "--json"),
        run(files / "problem.yaml", "--stationary", "A", "--json"),
    )
    assert (
        json.loads(kept.stdout)["curve"][0]["accesses"]
        > json.loads(free.stdout)["curve"][0]["accesses"]
    )
    ordered = json.loads(
        run(files / "problem.yaml", "--order", "MNK", "--tile", "K=8", "--json").stdout
    )
    assert all(point["tile"]["K"] == 8 for point in ordered["curve"])


@pytest.mark.parametrize(
    "options",
    [
        ("--tile", "K"),
        ("--tile", "K=3"),
        ("--order", "MN"),
        ("--stationary", "X"),
        ("--constrained",),
    ],
)
def test_bad_options_end_with_exit_code_2(files, options):
    assert run(files / "problem.yaml", *options).exit_code == 2


def test_without_a_problem_there_is_nothing_to_bound(files):
    assert run(files / "machine.yaml").exit_code == 2
