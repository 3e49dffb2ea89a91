"""Random operators for the tests of tilings, and what they compute, written without the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

Case = dict[str, Any]

_ALIGNMENTS = st.sampled_from([1, 4, 8])
_BYTES = st.sampled_from([256, 512, 1024, 2048, 4096, 8192])


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    """Windows up to 5, strides up to 6 (so larger than some windows), any channels, both kinds of
    padding.
    """
    rows, cols = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    same = draw(st.booleans())
    least = (1, 1) if same else (rows, cols)
    height, width = draw(st.integers(least[0], 18)), draw(st.integers(least[1], 12))
    channels, kernels = draw(st.integers(1, 70)), draw(st.integers(1, 40))
    return _sized(
        draw,
        {
            "operator": "convolution",
            "input_shape": [draw(st.sampled_from([1, 1, 1, 2, 3])), height, width, channels],
            "kernel": {"num": kernels, "rows": rows, "cols": cols},
            "stride": [draw(st.integers(1, 6)), draw(st.integers(1, 6))],
            "padding": "same" if same else "valid",
        },
    )


@st.composite
def poolings(draw: st.DrawFn) -> Case:
    rows, cols = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    height, width = draw(st.integers(rows, 24)), draw(st.integers(cols, 24))
    return _sized(
        draw,
        {
            "operator": "pooling",
            "input_shape": [draw(st.integers(1, 3)), height, width, draw(st.integers(1, 40))],
            "pool": [rows, cols],
            "stride": [draw(st.integers(1, 6)), draw(st.integers(1, 6))],
            "mode": draw(st.sampled_from(["max", "average"])),
        },
    )


@st.composite
def inner_products(draw: st.DrawFn) -> Case:
    return _sized(
        draw,
        {
            "operator": "inner_product",
            "input_shape": [draw(st.integers(1, 12)), draw(st.integers(1, 300))],
            "num_outputs": draw(st.integers(1, 90)),
        },
    )


@st.composite
def batch_norms(draw: st.DrawFn) -> Case:
    if draw(st.booleans()):
        shape = [
            draw(st.integers(1, 3)),
            draw(st.integers(1, 20)),
            draw(st.integers(1, 20)),
            draw(st.integers(1, 40)),
        ]
    else:
        shape = [draw(st.integers(1, 8)), draw(st.integers(1, 600))]
    return _sized(draw, {"operator": "batch_norm", "input_shape": shape})


@st.composite
def elementwise(draw: st.DrawFn) -> Case:
    kind, functions = draw(
        st.sampled_from(
            [("unary", ["relu", "negative"]), ("eltwise", ["add", "multiply", "greater"])]
        )
    )
    shape = [draw(st.integers(1, 9)) for _ in range(draw(st.sampled_from([2, 4])))]
    return _sized(
        draw, {"operator": kind, "input_shape": shape, "function": draw(st.sampled_from(functions))}
    )


@st.composite
def softmaxes(draw: st.DrawFn) -> Case:
    return _sized(
        draw,
        {
            "operator": "softmax",
            "input_shape": [draw(st.integers(1, 40)), draw(st.integers(1, 60))],
        },
    )


KINDS = {
    "convolution": convolutions(),
    "pooling": poolings(),
    "inner_product": inner_products(),
    "batch_norm": batch_norms(),
    "elementwise": elementwise(),
    "softmax": softmaxes(),
}


def _sized(draw: st.DrawFn, case: Case) -> Case:
    return {**case, "spad_bytes": draw(_BYTES), "alignment": draw(_ALIGNMENTS)}


def arrays(case: Case) -> dict[str, Any]:
    """Integers for every operand, the same for the same case."""
    random = np.random.default_rng(list(repr(sorted(case.items())).encode()))
    shapes = {"inputs": case["input_shape"]}
    if case["operator"] == "convolution":
        kernel = case["kernel"]
        shapes["weights"] = [kernel["num"], kernel["rows"], kernel["cols"], case["input_shape"][3]]
    elif case["operator"] == "inner_product":
        shapes["weights"] = [case["num_outputs"], case["input_shape"][1]]
    elif case["operator"] == "batch_norm":
        shapes["weights"] = [4, case["input_shape"][-1]]
    elif case["operator"] == "eltwise":
        shapes["inputs1"] = case["input_shape"]
    return {name: random.integers(-99, 100, size=shape) for name, shape in shapes.items()}


def untiled(case: Case, inputs: Any, weights: Any = None, inputs1: Any = None) -> Any:
    """The operator on whole arrays."""
    match case["operator"]:
        case "convolution":
            return _convolution(case, inputs, weights)
        case "pooling":
            return _pooling(case, inputs)
        case "inner_product":
            return inputs @ weights.T
        case "batch_norm":
            return (inputs - weights[0]) * weights[1] * weights[2] + weights[3]
        case "unary":
            return np.where(inputs > 0, inputs, 0) if case["function"] == "relu" else 0 - inputs
        case "eltwise":
            return {
                "add": inputs + inputs1,
                "multiply": inputs * inputs1,
                "greater": inputs > inputs1,
            }[case["function"]]
        case "softmax":
            powers = np.exp(inputs - inputs.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)
    raise ValueError(case["operator"])


def _convolution(case: Case, inputs: Any, weights: Any) -> Any:
    """One multiplication of matrices for every place of the window's elements."""
    (rows, cols), strides = weights.shape[1:3], case["stride"]
    if case["padding"] == "same":
        inputs = np.pad(
            inputs,
            [(0, 0), (rows // 2, rows - 1 - rows // 2), (cols // 2, cols - 1 - cols // 2), (0, 0)],
        )
    return sum(
        _shifted(inputs, (row, col), (rows, cols), strides) @ weights[:, row, col, :].T
        for row in range(rows)
        for col in range(cols)
    )


def _pooling(case: Case, inputs: Any) -> Any:
    rows, cols = case["pool"]
    shifted = [
        _shifted(inputs, (row, col), (rows, cols), case["stride"])
        for row in range(rows)
        for col in range(cols)
    ]
    return (
        np.max(shifted, axis=0)
        if case["mode"] == "max"
        else np.sum(shifted, axis=0) // (rows * cols)
    )


def _shifted(inputs: Any, at: tuple[int, int], field: tuple[int, int], strides: list[int]) -> Any:
    """The inputs that every window has at one place."""
    (row, col), (height, width) = at, inputs.shape[1:3]
    last_row, last_col = height - field[0] + row + 1, width - field[1] + col + 1
    return inputs[:, row : last_row : strides[0], col : last_col : strides[1], :]
