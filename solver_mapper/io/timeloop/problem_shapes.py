"""Problem shapes that Timeloop knows by name (`shape: cnn-layer`)."""

from __future__ import annotations

from typing import Any

CNN_LAYER: dict[str, Any] = {
    "name": "CNN-Layer",
    "dimensions": ["R", "S", "P", "Q", "C", "K", "N"],
    "coefficients": [
        {"name": name, "default": 1} for name in ("Wstride", "Hstride", "Wdilation", "Hdilation")
    ],
    "data-spaces": [
        {"name": "Weights", "projection": [[["C"]], [["K"]], [["R"]], [["S"]]]},
        {
            "name": "Inputs",
            "projection": [
                [["N"]],
                [["C"]],
                [["R", "Wdilation"], ["P", "Wstride"]],
                [["S", "Hdilation"], ["Q", "Hstride"]],
            ],
        },
        {"name": "Outputs", "projection": [[["N"]], [["K"]], [["Q"]], [["P"]]], "read-write": True},
    ],
}

GEMM: dict[str, Any] = {
    "name": "gemm-ABZ",
    "dimensions": ["M", "N", "K"],
    "data-spaces": [
        {"name": "A", "projection": [[["M"]], [["K"]]]},
        {"name": "B", "projection": [[["N"]], [["K"]]]},
        {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
    ],
}

SHAPES: dict[str, dict[str, Any]] = {"cnn-layer": CNN_LAYER, "gemm-ABZ": GEMM}
