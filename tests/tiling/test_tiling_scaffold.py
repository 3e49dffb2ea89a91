"""Operators, strategies and optimizers that a user adds: the documented example runs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import solver_mapper as sm

EXAMPLE = Path(__file__).parents[2] / "examples/transposed_convolution.py"
Case = dict[str, Any]


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("transposed_convolution", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["transposed_convolution"] = module
    spec.loader.exec_module(module)
    return module


def untiled(case: Case, inputs: Any, weights: Any) -> Any:
    """Input by input: each is multiplied with the kernels and added where they reach."""
    stride, crop = case["stride"], case["crop"]
    batch, height, width, _ = inputs.shape
    kernels, rows, cols, _ = weights.shape
    whole = np.zeros(
        (batch, (height - 1) * stride + rows, (width - 1) * stride + cols, kernels), dtype=int
    )
    for h in range(height):
        for w in range(width):
            reached = whole[:, h * stride : h * stride + rows, w * stride : w * stride + cols]
            reached += np.tensordot(inputs[:, h, w], weights, axes=(1, 3)).transpose(0, 2, 3, 1)
    return whole[:, crop : whole.shape[1] - crop, crop : whole.shape[2] - crop]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, cols = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    crop = draw(st.integers(0, min(rows, cols) - 1))
    least = 1 if crop == 0 else 3
    return {
        "operator": "transposed_convolution",
        "kernel": {"num": draw(st.integers(1, 20)), "rows": rows, "cols": cols},
        "input_shape": [
            draw(st.integers(1, 2)),
            draw(st.integers(least, 10)),
            draw(st.integers(least, 8)),
            draw(st.integers(1, 40)),
        ],
        "stride": draw(st.integers(1, min(rows, cols))),
        "crop": crop,
        "spad_bytes": draw(st.sampled_from([512, 2048, 8192])),
    }


@pytest.mark.parametrize("objective", ["utilization", "traffic", "row by row"])
def test_the_documented_operator_computes_the_same_in_tiles(
    example: ModuleType, objective: str
) -> None:
    done = 0

    @settings(
        max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(cases())
    def check(case: Case) -> None:
        nonlocal done
        random = np.random.default_rng(7)
        kernel = case["kernel"]
        inputs = random.integers(-9, 10, size=case["input_shape"])
        weights = random.integers(
            -9, 10, size=(kernel["num"], kernel["rows"], kernel["cols"], case["input_shape"][3])
        )
        try:
            tiling = sm.tile(case, objective=objective)
            result = tiling.run(inputs=inputs, weights=weights)
        except sm.InfeasibleError:
            return
        np.testing.assert_array_equal(result, untiled(case, inputs, weights))
        done += 1

    check()
    assert done >= 5


def test_the_traffic_objective_needs_no_strategy(example: ModuleType) -> None:
    case = {
        "operator": "transposed_convolution",
        "input_shape": [1, 14, 14, 64],
        "kernel": {"num": 32, "rows": 4, "cols": 4},
        "stride": 2,
        "crop": 1,
        "spad_bytes": 16384,
    }
    tiling = sm.tile(case, objective="traffic")
    assert tiling.certificate.optimal
    assert tiling.algorithmic_minimum <= tiling.traffic <= sm.tile(case).traffic


def test_tiles_that_do_not_fit_are_not_run(example: ModuleType) -> None:
    """An optimizer may choose anything; what it chose is checked."""
    case = {
        "operator": "transposed_convolution",
        "input_shape": [1, 4, 4, 64],
        "kernel": {"num": 32, "rows": 4, "cols": 4},
        "stride": 2,
        "crop": 1,
        "spad_bytes": 4096,
    }
    tiling = sm.tile(case, objective="row by row")
    assert tiling.defect == "the tiles of weights take 8192 elements, scratchpad 'spad1' holds 2048"
    with pytest.raises(sm.InfeasibleError, match="do not compute the operator"):
        next(tiling.schedule())


def test_the_example_runs_as_a_program() -> None:
    result = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=120, check=True
    )
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["utilization", "traffic", "row by row"]
    assert all(line.endswith("equal to the whole: True") for line in lines)


def test_the_command_takes_a_file_that_adds_an_operator(tmp_path: Path) -> None:
    file = tmp_path / "op.yaml"
    file.write_text(
        "operator: transposed_convolution\ninput_shape: [1, 14, 14, 64]\nkernel: {num: 32, rows: 4,"
        " cols: 4}\nstride: 2\ncrop: 1\nspad_bytes: 16384\n",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        "solver_mapper",
        "tile",
        str(file),
        "--with",
        str(EXAMPLE),
        "--objective",
        "row by row",
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "for h in 0..27:" in result.stdout
