"""Specifications as the files that a user would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

import solver_mapper as sm
from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    Constraint,
    FactorConstraint,
    KeepConstraint,
    NestingConstraint,
    PermutationConstraint,
    ProductConstraint,
    ReuseConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec

FLAGS = {
    "no_temporal_reuse": ("temporal", "no_temporal_reuse"),
    "no_multicast": ("spatial", "no_multicast_no_reduction"),
    "no_link_transfer": ("spatial", "no_link_transfer"),
}


def write_files(spec: Spec, folder: Path) -> list[Path]:
    """Files for `spec`, without those of its constraints that the reader refuses beside the others,
    for they contradict them.
    """
    architecture, problem = spec.need_architecture(), spec.need_problem()
    parts = {"arch.yaml": _architecture(architecture), "problem.yaml": _problem(problem)}
    listed = [
        each for constraint in spec.constraints for each in _constraints(constraint, architecture)
    ]
    if not _is_read(listed, parts):
        agreed: list[dict[str, Any]] = []
        for each in listed:
            agreed += [each] if _is_read([*agreed, each], parts) else []
        listed = agreed
    parts["rules.yaml"] = {"mapspace": listed}
    for name, content in parts.items():
        (folder / name).write_text(
            yaml.safe_dump(content, default_flow_style=None, sort_keys=False)
        )
    return [folder / name for name in parts]


def _is_read(constraints: list[dict[str, Any]], parts: dict[str, dict[str, Any]]) -> bool:
    try:
        sm.load(*parts.values(), {"mapspace": constraints})
    except sm.InputError:
        return False
    return True


def _architecture(architecture: Architecture) -> dict[str, Any]:
    storage: list[dict[str, Any]] = []
    for buffer in reversed(architecture.levels):
        size = {"technology": "DRAM"} if buffer.entries is None else {"entries": buffer.entries}
        storage.append(
            {
                "name": buffer.name,
                "instances": buffer.instances,
                "meshX": buffer.mesh_x,
                "word-bits": buffer.word_bits,
                "vector-access-energy": float(buffer.energy.read),
                **size,
            }
        )
    units = architecture.arithmetic
    return {
        "arch": {
            "arithmetic": {"name": units.name, "instances": units.instances, "meshX": units.mesh_x},
            "storage": storage,
        }
    }


def _problem(problem: Problem) -> dict[str, Any]:
    terms = [term for tensor in problem.tensors for rank in tensor.ranks for term in rank]
    names = {
        term.coefficient: f"times{term.coefficient}" for term in terms if term.coefficient != 1
    }
    spaces = [
        {
            "name": tensor.name,
            "read-write": tensor.read_write,
            "projection": [
                [
                    [term.dim] if term.coefficient == 1 else [term.dim, names[term.coefficient]]
                    for term in rank
                ]
                for rank in tensor.ranks
            ],
        }
        for tensor in problem.tensors
    ]
    coefficients = [{"name": name, "default": value} for value, name in names.items()]
    shape = {
        "name": problem.name,
        "dimensions": list(problem.dims),
        "coefficients": coefficients,
        "data-spaces": spaces,
    }
    return {"problem": {"shape": shape, "instance": dict(problem.bounds)}}


def _constraints(constraint: Constraint, architecture: Architecture) -> list[dict[str, Any]]:
    target = {"target": constraint.level}
    if isinstance(constraint, FactorConstraint):
        sign = "=" if constraint.comparison == "==" else constraint.comparison
        return [
            {
                **target,
                "type": constraint.kind,
                "factors": [f"{constraint.dim}{sign}{constraint.value}"],
            }
        ]
    if isinstance(constraint, PermutationConstraint):
        text = ("*" if constraint.gaps else "").join(constraint.inner) + (
            f"_{''.join(constraint.outer)}" if constraint.outer else ""
        )
        return [{**target, "type": constraint.kind, "permutation": text}] if text else []
    if isinstance(constraint, KeepConstraint):
        return [
            {
                **target,
                "type": "bypass",
                "keep" if constraint.keep else "bypass": [constraint.tensor],
            }
        ]
    if isinstance(constraint, SplitConstraint):
        return [{**target, "type": "spatial", "split": constraint.split}]
    if isinstance(constraint, ReuseConstraint):
        kind, key = FLAGS[constraint.flag]
        return [{**target, "type": kind, key: sorted(constraint.tensors)}]
    if isinstance(constraint, UtilizationConstraint):
        return [{**target, "type": "utilization", "min": float(constraint.least)}]
    if isinstance(constraint, NestingConstraint):
        return [{**target, "dataflow": f"{constraint.flow}-stationary"}]
    assert isinstance(constraint, ProductConstraint)
    return [_product(constraint, architecture)]


def _product(constraint: ProductConstraint, architecture: Architecture) -> dict[str, Any]:
    levels = [
        name
        for name in architecture.level_names
        if any(level == name for level, _, _ in constraint.loops)
    ]
    (kind,) = {kind for _, kind, _ in constraint.loops}
    return {
        "target": levels,
        kind: {
            "product": (
                f"{'*'.join(sorted(constraint.dims))} {constraint.comparison} {constraint.value}"
            )
        },
    }
