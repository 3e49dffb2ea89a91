"""Dataflow shorthands: `weight-`, `input-`, `output-` and `row-stationary`, or the name of a tensor
and `-stationary`.

At a level, X-stationary means: of its temporal loops, those that do not index X lie inside those
that do. So while they run, what lies below the level keeps its part of X. Row-stationary means: the
row of the window (the dimension of the first rank that sums two which the output does not have)
runs whole at the level, inside all its other loops.
"""

from __future__ import annotations

from solver_mapper.core.constraints import Constraint, Kind, NestingConstraint, ProductConstraint
from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.fields import text_of
from solver_mapper.io.yaml.source import Node

_SUFFIX = "stationary"
_NAMES = {
    "weight": ("weights", "weight", "w", "filters", "filter", "kernels", "kernel"),
    "input": ("inputs", "input", "i", "ifmaps", "ifmap", "activations"),
}


def read_dataflow(node: Node, level: str, problem: Problem) -> list[Constraint]:
    """The constraints that a dataflow means at `level`.

    Raises: InputError for a dataflow that the problem does not have.
    """
    text = text_of(node, f"the dataflow of '{level}'")
    flow = text.strip().replace("_", "-").replace(" ", "-")
    if not flow.lower().endswith(f"-{_SUFFIX}"):
        raise InputError(
            f"unknown dataflow '{text}'", node.location, f"dataflows are {_known(problem)}"
        )
    return dataflow_constraints(flow[: -len(_SUFFIX) - 1], level, problem, node.location)


def dataflow_constraints(
    subject: str, level: str, problem: Problem, location: SourceLocation
) -> list[Constraint]:
    """The constraints that `subject`-stationary means at `level`."""
    text = f"{level}: dataflow {subject}-{_SUFFIX}"
    if subject.lower() == "row":
        row = _row(problem, location)
        others = frozenset(problem.dims) - {row}
        loops: frozenset[tuple[str, Kind, str]] = frozenset({(level, "temporal", row)})
        whole = ProductConstraint(
            "",
            f"{text}, {row} = {problem.bounds[row]}",
            loops,
            "==",
            problem.bounds[row],
            location=location,
        )
        return [
            whole,
            NestingConstraint(level, text, "row", frozenset({row}), others, location=location),
        ]
    tensor = _tensor(subject, problem, location)
    inside = frozenset(problem.dims) - tensor.dims
    return [
        NestingConstraint(
            level,
            text,
            subject.lower(),
            inside,
            frozenset(problem.dims) & tensor.dims,
            location=location,
        )
    ]


def _row(problem: Problem, location: SourceLocation) -> str:
    written = frozenset[str]().union(
        *(tensor.dims for tensor in problem.tensors if tensor.read_write)
    )
    for tensor in problem.tensors:
        for rank in tensor.ranks:
            rows = [term.dim for term in rank if term.dim not in written]
            if not tensor.read_write and len(rank) > 1 and rows:
                return rows[0]
    raise InputError(
        "row-stationary needs a tensor that a window slides over, and this problem has none",
        location,
    )


def _tensor(subject: str, problem: Problem, location: SourceLocation) -> Tensor:
    """The tensor of that name, or the one that plays that part."""
    if subject in problem.tensor_names:
        return problem.tensor(subject)
    word = subject.lower()
    written = [tensor for tensor in problem.tensors if tensor.read_write]
    read = [tensor for tensor in problem.tensors if not tensor.read_write]
    if word == "output" and len(written) == 1:
        return written[0]
    if word in _NAMES:
        named = [tensor for tensor in read if tensor.name.lower() in _NAMES[word]]
        slid = [tensor for tensor in read if any(len(rank) > 1 for rank in tensor.ranks)]
        shaped = (
            slid
            if word == "input"
            else [tensor for tensor in read if tensor not in slid]
            if slid
            else []
        )
        for found in (named, shaped):
            if len(found) == 1:
                return found[0]
    raise InputError(
        f"this problem has no tensor that plays the part of the {word}",
        location,
        f"dataflows are {_known(problem)}",
    )


def _known(problem: Problem) -> str:
    tensors = (f"'{name}-{_SUFFIX}'" for name in problem.tensor_names)
    return f"'weight-', 'input-', 'output-' and 'row-{_SUFFIX}', {', '.join(tensors)}"
