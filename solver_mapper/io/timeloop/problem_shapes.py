"""Problem shapes by name (`shape: cnn-layer`): those that Timeloop knows, and one that a file gives
beside the problem.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import Any

from solver_mapper.errors import InputError, did_you_mean
from solver_mapper.io.yaml.fields import Fields, normal, table_of
from solver_mapper.io.yaml.source import Node, Scalar, Table, from_python

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


def known_shape(name: Scalar) -> Node | None:
    """The shape that Timeloop knows by `name`, or None."""
    known = {normal(each): shape for each, shape in SHAPES.items()}
    shape = known.get(_word(name.text))
    return None if shape is None else from_python(shape, name.location)


def with_given_shape(problem: Node, given: Node | None) -> Node:
    """`problem` with its shape, where it is a name: `given`, the top level's `shape:`. Timeloop
    finds such a file by its own name; here the name in the shape may be the one asked for, too.

    Raises: InputError for a shape that is neither known nor given, and for a given one that is not
    the one asked for.
    """
    if not isinstance(problem, Table):
        return problem
    asked = Fields(problem, "the problem", exact=True).node("shape")
    if given is None:
        if isinstance(asked, Scalar) and known_shape(asked) is None:
            _refuse_unknown(asked)
        return problem
    shape = table_of(given, "the shape that is given beside the problem")
    name = Fields(shape, "the shape").text("name") or PurePath(shape.location.file).stem
    if not isinstance(asked, Scalar):
        why = "defines a shape of its own" if isinstance(asked, Table) else "asks for no shape"
        raise InputError(
            f"the shape '{name}' is given beside a problem that {why}",
            shape.location,
            f"write 'shape: {name}' under 'problem:', or leave this file out",
        )
    if _word(asked.text) not in (_word(name), _word(PurePath(shape.location.file).name)):
        raise InputError(
            f"the problem asks for the shape '{asked.text}', but the one given beside it, at"
            f" {shape.location}, is '{name}'",
            asked.location,
            f"write 'shape: {name}', or give the file of '{asked.text}'",
        )
    return replace(problem, entries=problem.entries | {"shape": shape})


def _word(name: str) -> str:
    return normal(name.removesuffix(".yaml"))


def _refuse_unknown(asked: Scalar) -> None:
    near = did_you_mean(asked.text, SHAPES) or ""
    near += "" if near.endswith("?") else "."
    raise InputError(
        f"unknown problem shape '{asked.text}'",
        asked.location,
        f"{near} A file with 'shape: {{name: {asked.text}, ...}}' can be given beside the problem",
    )
