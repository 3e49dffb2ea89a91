"""Arguments and options without a meaning for the input are refused, never dropped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli.app import app
from solver_mapper.constraints import ConstraintSet
from solver_mapper.core.arguments import refuse_given, require_number
from solver_mapper.core.clock import Clock

TREE = """\
arch:
  nodes:
  - !Memory
    name: MainMemory
    size: inf
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 9, throughput: inf}, {name: write, energy: 9, throughput: inf}]
  - !Compute
    name: MAC
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  iteration_space_shape: {m: 0 <= m < 4, k: 0 <= k < 2}
  bits_per_value: {All: 8}
  einsums:
  - name: Y
    tensor_accesses:
    - {name: A, projection: [m, k]}
    - {name: Y, projection: [m], output: true}
"""
LEVELS = """\
arch:
  arithmetic: {name: MAC, instances: 1}
  storage: [{name: DRAM, technology: DRAM, instances: 1}]
problem: {R: 1, S: 1, P: 2, Q: 1, C: 2, K: 2, N: 1}
"""

OPERATOR = "operator: {type: inner-product, inputs: [1, 8], neurons: 4}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree.yaml"
    path.write_text(TREE, encoding="utf-8")
    return path


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    path = tmp_path / "levels.yaml"
    path.write_text(LEVELS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workers", 7),
        ("seed", 3),
        ("verify", True),
        ("keep_mapping", True),
        ("keep_mapping", False),
        ("constraints", ConstraintSet(())),
        ("model_hook", lambda model: None),
        ("tie_break", False),
    ],
)
def test_solve_refuses_what_looptree_input_does_not_support(
    tree: Path, name: str, value: Any
) -> None:
    with pytest.raises(sm.InputError, match=f"{name}.* is not supported for LoopTree input"):
        sm.solve(sm.load(tree), "energy", **{name: value})


def test_every_unsupported_argument_is_named(tree: Path) -> None:
    with pytest.raises(sm.InputError) as refused:
        sm.solve(sm.load(tree), "energy", workers=7, keep_mapping=True, gap=0.9)
    assert [each.message.split()[0] for each in (refused.value, *refused.value.more)] == [
        "workers",
        "keep_mapping",
    ]


def test_arguments_that_looptree_input_supports_are_taken(tree: Path) -> None:
    solution = sm.solve(sm.load(tree), "energy", workers=1, gap=0.5, tie_break=True)
    assert solution.status == "optimal"


@pytest.mark.parametrize(("name", "value"), [("max_fused_loops", 1), ("relax", ("min_usage",))])
def test_solve_refuses_what_is_for_looptree_input(levels: Path, name: str, value: Any) -> None:
    with pytest.raises(sm.InputError, match=f"{name} is for LoopTree input"):
        sm.solve(sm.load(levels), **{name: value})


def test_validate_refuses_further_constraints_on_looptree_input(tree: Path) -> None:
    with pytest.raises(sm.InputError, match="constraints is not supported for LoopTree input"):
        sm.validate(sm.load(tree), constraints=ConstraintSet(()))


@pytest.mark.parametrize("function", [sm.solve, sm.pareto, sm.explain, sm.enumerate, sm.suggest])
def test_a_time_limit_beside_a_clock_is_refused(levels: Path, function: Any) -> None:
    with pytest.raises(sm.InputError, match="time_limit is not supported beside a clock"):
        function(sm.load(levels), time_limit=1.0, clock=Clock(None))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": 0}, "workers is 0; it must be at least 1"),
        ({"gap": -0.5}, "gap is -0.5; it must be at least 0"),
        ({"time_limit": -1.0}, "time_limit is -1.0; it must be at least 0"),
        ({"time_limit": float("nan")}, "time_limit is nan; it must be at least 0"),
    ],
)
def test_numbers_out_of_range_are_refused(
    levels: Path, tree: Path, given: dict[str, Any], message: str
) -> None:
    for path in (levels, tree):
        with pytest.raises(sm.InputError, match=message):
            sm.solve(sm.load(path), **given)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("solve", "tree.yaml", "--workers", "7"), "workers above 1 is not supported for LoopTree"),
        (("solve", "tree.yaml", "--verify"), "verify is not supported for LoopTree"),
        (("solve", "tree.yaml", "--keep-mapping"), "--keep-mapping is not supported for LoopTree"),
        (("solve", "tree.yaml", "--no-tie-break"), "--no-tie-break is not supported for LoopTree"),
        (("solve", "tree.yaml", "--store", "x"), "--store is for networks"),
        (("solve", "levels.yaml", "--relax", "min_usage"), "relax is for LoopTree input"),
        (("solve", "levels.yaml", "--max-fused-loops", "1"), "--max-fused-loops is for LoopTree"),
        (
            ("solve", "levels.yaml", "alexnet", "--relax", "min_usage"),
            "--relax is for a single problem, not for a network",
        ),
        (("validate", "levels.yaml", "--hold-bypass"), "--hold-bypass is for --suggest"),
        (("validate", "levels.yaml", "--time-limit", "3"), "--time-limit is for --suggest"),
        (("validate", "tree.yaml", "--suggest"), "mapping"),
        (
            ("pareto", "tree.yaml", "--workers", "2"),
            "workers above 1 is not supported for LoopTree",
        ),
        (("pareto", "tree.yaml", "--seed", "2"), "seed is not supported for LoopTree input"),
        (("solve", "tree.yaml", "--seed", "2"), "seed is not supported for LoopTree input"),
        (("pareto", "levels.yaml", "--max-fused-loops", "1"), "--max-fused-loops is for LoopTree"),
        (("bound", "tree.yaml", "--constrained"), "LoopTree files have no constraints"),
        (("bound", "levels.yaml", "--einsum", "Y"), "there is no workload with an Einsum 'Y'"),
        (("tile", "resnet50", "--objective", "traffic"), "--objective is for a single operator"),
        (("tile", "resnet50", "--timeloop", "x"), "--timeloop is for a single operator"),
        (("bound", "levels.yaml", "--macs-per-cycle", "2"), "a roofline also needs --bandwidth"),
        (("bound", "tree.yaml", "--bandwidth", "2"), "a roofline also needs --macs-per-cycle"),
        (("bound", "levels.yaml", "--tile", "P=1,P=2"), "--tile: 'P' is given twice"),
        (("fuse", "tree.yaml", "--template", "v2", "--most", "2"), "'most' has no meaning for the"),
        (("fuse", "tree.yaml", "--all-mappings", "--most", "2"), "'most' has no meaning for the"),
        (
            ("solve", "levels.yaml", "--engine", "branch-and-bound", "--workers", "2"),
            "workers above 1 is for CP-SAT; branch and bound runs on one core",
        ),
        (("import", "x.onnx", "--dim", "n=1", "--dim", "n=2"), "the size of 'n' is given twice"),
        (("convert", "operator.yaml", "--to", "timeloop", "--strict"), "-W or --strict is for"),
        (("tile", "resnet50", "--all", "--seed", "3"), "--seed does not go with --all"),
        (("tile", "gemm.yaml", "--strict"), "-W or --strict is for architectures and problems"),
        (("tile", "gemm.yaml", "-W", "no-energy-table"), "-W or --strict is for architectures"),
        (("tile", "gemm.yaml", "--ignore-sparse"), "--ignore-sparse is for architectures"),
        (
            ("solve", "eyeriss", "tiny", "--objective", "network-edp", "--no-tie-break"),
            "--no-tie-break is",
        ),
        (("solve", "eyeriss", "tiny", "--objective", "network-edp", "--gap", "0.1"), "gap is not"),
    ],
)
def test_commands_refuse_options_without_a_meaning(
    tree: Path,
    levels: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    (tree.parent / "operator.yaml").write_text(OPERATOR, encoding="utf-8")
    monkeypatch.chdir(tree.parent)
    result = CliRunner().invoke(app, list(words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"jobs": 0}, "jobs is 0; it must be at least 1"),
        ({"jobs": 1.5}, "jobs is 1.5; it must be a whole number"),
        ({"jobs": "2"}, "jobs is '2'; it must be a whole number"),
        ({"jobs": 1, "memory": 0}, "memory is 0; it must be at least 1"),
        ({"memory": 10**9}, "the memory of processes is limited, but there are none"),
        ({"layer_time_limit": -1}, "layer_time_limit is -1; it must be at least 0"),
        ({"jobs": 1, "scheduler": "tcp://x:1"}, "either processes or a cluster"),
    ],
)
def test_studies_refuse_options_that_make_no_sense(given: dict[str, Any], message: str) -> None:
    with pytest.raises(sm.InputError, match=re.escape(message)):
        sm.solve_network("eyeriss", "tiny", **given)
    sweep = {"architecture": "eyeriss", "workloads": ["tiny"], "cases": [{"*.meshX": 14}]}
    with pytest.raises(sm.InputError, match=re.escape(message)):
        sm.sweep(sweep, **given)


def test_comparisons_without_an_optimum_have_no_time_limit(levels: Path) -> None:
    spec = sm.load(levels)
    assert isinstance(spec, sm.Spec)
    with pytest.raises(sm.InputError, match="time_limit needs 'optimum'"):
        sm.compare(spec, {}, time_limit=1.0)


def test_tiles_of_least_traffic_copy_no_shapes() -> None:
    operator = {"operator": {"type": "inner-product", "inputs": [1, 8], "neurons": 4}}
    with pytest.raises(sm.InputError, match="stale_padding=False is not supported"):
        sm.tile(operator, "traffic", stale_padding=False)


def test_what_was_not_given_is_not_refused() -> None:
    refuse_given({"workers": False}, "is not supported")
    require_number("workers", None, 1)
    require_number("jobs", 1, 1, whole=True)


@pytest.mark.parametrize(
    ("value", "whole", "message"),
    [
        (0, True, "jobs is 0; it must be at least 1"),
        (9, True, "jobs is 9; it must be at most 8"),
        (float("nan"), False, "jobs is nan; it must be at least 1"),
        (1.5, True, "jobs is 1.5; it must be a whole number"),
        ("x", False, "jobs is 'x'; it must be a number"),
        (True, False, "jobs is True; it must be a number"),
    ],
)
def test_what_is_no_number_in_range_is_refused(value: object, whole: bool, message: str) -> None:
    with pytest.raises(sm.InputError, match=re.escape(message)):
        require_number("jobs", value, 1, 8, whole=whole)


SPEC = sm.load("three_level", "tiny/mm8")
NETWORK = ("three_level", "tiny")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sm.solve(SPEC, gap=None), "gap is None; it must be a number"),
        (lambda: sm.solve(SPEC, seed=None), "seed is None; it must be a whole number"),
        (lambda: sm.tile(OPERATOR, seed=None), "seed is None; it must be a whole number"),
        (lambda: sm.solve(SPEC, factors=None), "factors is None; it must be a word"),
        (lambda: sm.solve(SPEC, engine=None), "engine is None; it must be a word"),
        (lambda: sm.solve(SPEC, verify="no"), "verify is 'no'; it must be True or False"),
        (lambda: sm.solve(SPEC, time_limit=10**400), "time_limit is out of range"),
        (lambda: sm.solve(SPEC, certificate=3), "certificate is 3; it must be a path"),
        (lambda: sm.solve(SPEC, model_hook=3), "model_hook is 3; it must be a function"),
        (lambda: sm.solve(SPEC, on_progress=3), "on_progress is 3; it must be a function"),
        (lambda: sm.solve(SPEC, clock=3), "clock is 3; it must be a Clock"),
        (lambda: sm.solve(SPEC, relax=3), "relax is 3; it must be a list of words"),
        (
            lambda: sm.solve(SPEC, {"energy": 1}),
            "the objective is {'energy': 1}; it must be a word or a list of words",
        ),
        (lambda: sm.pareto(SPEC, "energy"), "metrics is 'energy'; it must be a list of words"),
        (lambda: sm.bound_mappings(None), "a specification is needed, not NoneType"),
        (lambda: sm.fuse_mappings(None), "a specification is needed, not NoneType"),
        (lambda: sm.energies(None), "a specification is needed, not NoneType"),
        (lambda: sm.compare(None, {}), "a specification is needed, not NoneType"),
        (lambda: sm.fuse(SPEC, options=3), "options is 3; it must be FusionOptions"),
        (lambda: sm.bound(SPEC, bandwidth="x"), "bandwidth is 'x'; it must be a number"),
        (lambda: sm.bound(SPEC, tiles={"M": 0.5}), "tiles of 'M' is 0.5; it must be a whole"),
        (lambda: sm.load("three_level", variables=3), "variables is 3; it must be a mapping from"),
        (
            lambda: sm.load("three_level", include_dirs="x"),
            "include_dirs is 'x'; it must be a list",
        ),
        (lambda: sm.import_fused(None), "path is None; it must be a path"),
        (lambda: sm.solve_network(*NETWORK, store=3), "store is 3; it must be a path or a Store"),
        (lambda: sm.solve_network(*NETWORK, factors=None), "factors is None; it must be a word"),
        (lambda: sm.solve_network(*NETWORK, clock=Clock()), "it must be a StudyClock"),
        (lambda: sm.solve_network(*NETWORK, reading=3), "reading is 3; it must be a Reading"),
        (lambda: SPEC.with_attributes(None), "values is None; it must be a mapping from names"),
        (lambda: SPEC.with_attributes({3: 4}), "values is {3: 4}; it must be a mapping from names"),
        (lambda: sm.solve(SPEC).plot(None), "there is no chart 'None' of this result"),
        (lambda: sm.solve(SPEC).plot().save(3), "path is 3; it must be a path"),
        (lambda: sm.solve(SPEC).to_html(3), "path is 3; it must be a path"),
    ],
)
def test_arguments_of_other_kinds_are_refused(call: Any, message: str) -> None:
    with pytest.raises(sm.InputError, match=re.escape(message)):
        call()


def test_closed_files_are_refused(levels: Path) -> None:
    with levels.open(encoding="utf-8") as file:
        pass
    with pytest.raises(sm.InputError, match=r"cannot be read \(the file is closed\)"):
        sm.load(file)


def test_numbers_and_flags_of_numpy_are_taken() -> None:
    spec, whole, real = SPEC, np.int64(1), np.float32(60)
    expected = sm.solve(spec, seed=1).to_dict()
    found = sm.solve(spec, time_limit=real, seed=whole, workers=whole, verify=np.bool_(False))
    assert found.to_dict()["objective"] == expected["objective"]
    assert json.dumps(found.to_dict()["certificate"]["seed"]) == "1"
    assert len(list(sm.enumerate(spec, np.uint8(2), time_limit=np.int64(60)))) == 2
    network = sm.solve_network(*NETWORK, jobs=whole, seed=whole, gap=np.float64(1e-6))
    assert network.to_dict()["totals"]["proven"]
    assert type(require_number("gap", np.float32(0.5), 0)) is float
