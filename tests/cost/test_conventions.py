"""Each convention of docs/reference/conventions.md, on the smallest example where it matters: by
the constraint, and traced.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop import evaluate
from tests.cost.step_by_step import TIMELOOP, walk
from tests.strategies import tensor

ALL = frozenset("WIO")
EXAMPLES = {
    "bounding_boxes": ("I", "RF", "tile", 13, 4),
    "regular_shifts": ("I", "RF", "fills", 12, 6),
    "uniform_instances": ("I", "DRAM", "reads", 6, 5),
    "scaled_bypass": ("I", "DRAM", "reads", 4, 3),
    "divided_partitions": ("O", "RF", "reads", 2, 1),
}


def conv(stride: int = 1, **bounds: int) -> Problem:
    tensors = (
        tensor("W", "K", "R"),
        tensor("I", [("P", stride), "R"]),
        tensor("O", "K", "P", read_write=True),
    )
    return Problem("conv", ("K", "R", "P"), {"K": 1, **bounds}, tensors)


def machine(*instances: int) -> Architecture:
    """DRAM, GLB and RF (or DRAM and RF) and the multipliers, in rows of so many instances."""
    names = ["DRAM", "GLB", "RF"] if len(instances) == 4 else ["DRAM", "RF"]
    levels = [
        Buffer(name, None, count, count) for name, count in zip(names, instances, strict=False)
    ]
    return Architecture("row", tuple(levels), Arithmetic("MAC", instances[-1], instances[-1]))


def example(name: str) -> tuple[Architecture, Problem, Mapping]:
    if name == "bounding_boxes":
        levels = LevelMapping("DRAM", keep=ALL), LevelMapping("RF", (loop("P", 4),), keep=ALL)
        return machine(1, 1, 1), conv(stride=4, R=1, P=4), Mapping(levels)
    if name == "regular_shifts":
        levels = (
            LevelMapping("DRAM", (loop("P", 4), loop("K", 2)), keep=ALL),
            LevelMapping("RF", (loop("R", 3),), keep=ALL),
        )
        return machine(1, 1, 1), conv(K=2, R=3, P=4), Mapping(levels)
    if name == "uniform_instances":
        levels = (
            LevelMapping("DRAM", (), (loop("P", 2, "X"),), ALL),
            LevelMapping("RF", (Loop("P", 3, 2),), keep=ALL),
        )
        return machine(1, 2, 2), conv(R=1, P=5), Mapping(levels)
    if name == "scaled_bypass":
        outer, middle = (
            LevelMapping("DRAM", (), (loop("P", 2, "X"),), ALL),
            LevelMapping("GLB", (), (loop("R", 2, "X"),)),
        )
        return (
            machine(1, 2, 4, 4),
            conv(R=2, P=2),
            Mapping((outer, middle, LevelMapping("RF", keep=ALL))),
        )
    tensors = tensor("W", "R"), tensor("I", "P"), tensor("O", ["P", "R"], read_write=True)
    levels = (
        LevelMapping("DRAM", (loop("R", 2),), (loop("P", 2, "X"),), ALL),
        LevelMapping("RF", keep=ALL),
    )
    return (
        machine(1, 2, 2),
        Problem("scatter", ("P", "R"), {"P": 2, "R": 2}, tensors),
        Mapping(levels),
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_convention_has_an_example_where_it_matters(name: str) -> None:
    """The constraint's figure is the model's and the walk's; without the convention the walk finds
    the other one.
    """
    architecture, problem, mapping = example(name)
    data, level, key, by_rule, traced = EXAMPLES[name]
    assert (
        getattr(evaluate(architecture, problem, mapping).levels[level].tensors[data], key)
        == by_rule
    )
    assert getattr(walk(architecture, problem, mapping).accesses[data][level], key) == by_rule
    without = replace(TIMELOOP, **{name: False})
    assert (
        getattr(walk(architecture, problem, mapping, without).accesses[data][level], key) == traced
    )


def test_the_document_lists_each_convention_with_its_figures() -> None:
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "reference" / "conventions.md").read_text()
    for name, (_, _, _, by_rule, traced) in EXAMPLES.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}`")]
        assert row.endswith(f"| {by_rule} | {traced} |")
