"""A small design for tests of constraints, and shorthands for directives about it."""

from __future__ import annotations

from typing import Any

import solver_mapper as sm
from solver_mapper.core.spec import Spec

ARCHITECTURE: dict[str, Any] = {
    "arch": {
        "arithmetic": {"name": "MAC", "instances": 16, "meshX": 4},
        "storage": [
            {"name": "RF", "entries": 32, "instances": 16, "meshX": 4},
            {"name": "GLB", "entries": 512, "instances": 1},
            {"name": "DRAM", "technology": "DRAM", "instances": 1},
        ],
    }
}
PROBLEM: dict[str, Any] = {
    "problem": {
        "shape": {
            "name": "conv",
            "dimensions": ["C", "K", "R", "P"],
            "data-spaces": [
                {"name": "W", "projection": [[["C"]], [["K"]], [["R"]]]},
                {"name": "I", "projection": [[["C"]], [["P"], ["R"]]]},
                {"name": "O", "projection": [[["K"]], [["P"]]], "read-write": True},
            ],
        },
        "instance": {"C": 4, "K": 8, "R": 3, "P": 16},
    }
}
DESIGN = {**ARCHITECTURE, **PROBLEM}


def temporal(target: str, **fields: Any) -> dict[str, Any]:
    return {"target": target, "type": "temporal", **fields}


def spatial(target: str, **fields: Any) -> dict[str, Any]:
    return {"target": target, "type": "spatial", **fields}


def bypass(target: str, **fields: Any) -> dict[str, Any]:
    return {"target": target, "type": "bypass", **fields}


MAPPING: list[dict[str, Any]] = [
    temporal("DRAM", factors="K=2 P=2", permutation="KPCR"),
    temporal("GLB", factors="C=2 P=2 R=3", permutation="RCPK"),
    spatial("GLB", factors="K=4 P=4", permutation="KPCR", split=1),
    temporal("RF", factors="C=2", permutation="CKRP"),
    bypass("GLB", keep=["I", "O"], bypass=["W"]),
]
"""A legal mapping: K along X, P along Y, weights past the global buffer."""


def spec_with(
    *constraints: dict[str, Any], mapping: list[dict[str, Any]] | None = None, **more: Any
) -> Spec:
    design = {
        **DESIGN,
        "architecture_constraints": list(constraints),
        "mapping": MAPPING if mapping is None else mapping,
        **more,
    }
    spec = sm.load(design)
    assert isinstance(spec, Spec)
    return spec
