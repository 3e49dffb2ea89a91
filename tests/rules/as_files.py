"""Specifications as the files that a user would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

import solver_mapper as sm
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.constraints import (
    FactorRule,
    FlagRule,
    KeepRule,
    NestingRule,
    PermutationRule,
    ProductRule,
    Rule,
    SplitRule,
    UtilizationRule,
)
from solver_mapper.spec.problem import Problem
from solver_mapper.spec.spec import Spec

FLAGS = {"no_temporal_reuse": ("temporal", "no_temporal_reuse"), "no_multicast": ("spatial", "no_multicast_no_reduction"),
         "no_link_transfer": ("spatial", "no_link_transfer")}


def write_files(spec: Spec, folder: Path) -> list[Path]:
    """Files for `spec`, without those of its rules that the reader refuses beside the others, for they contradict them."""
    architecture, problem = spec.need_architecture(), spec.need_problem()
    parts = {"arch.yaml": _architecture(architecture), "problem.yaml": _problem(problem)}
    listed = [each for rule in spec.constraints.rules for each in _constraints(rule, architecture)]
    if not _is_read(listed, parts):
        agreed: list[dict[str, Any]] = []
        for each in listed:
            agreed += [each] if _is_read([*agreed, each], parts) else []
        listed = agreed
    parts["rules.yaml"] = {"mapspace": listed}
    for name, content in parts.items():
        (folder / name).write_text(yaml.safe_dump(content, default_flow_style=None, sort_keys=False))
    return [folder / name for name in parts]


def _is_read(rules: list[dict[str, Any]], parts: dict[str, dict[str, Any]]) -> bool:
    try:
        sm.load(*parts.values(), {"mapspace": rules})
    except sm.InputError:
        return False
    return True


def _architecture(architecture: Architecture) -> dict[str, Any]:
    storage: list[dict[str, Any]] = []
    for buffer in reversed(architecture.levels):
        size = {"technology": "DRAM"} if buffer.entries is None else {"entries": buffer.entries}
        storage.append({"name": buffer.name, "instances": buffer.instances, "meshX": buffer.mesh_x, "word-bits": buffer.word_bits,
                        "vector-access-energy": float(buffer.energy.read), **size})
    units = architecture.arithmetic
    return {"arch": {"arithmetic": {"name": units.name, "instances": units.instances, "meshX": units.mesh_x}, "storage": storage}}


def _problem(problem: Problem) -> dict[str, Any]:
    terms = [term for tensor in problem.tensors for rank in tensor.ranks for term in rank]
    names = {term.coefficient: f"times{term.coefficient}" for term in terms if term.coefficient != 1}
    spaces = [{"name": tensor.name, "read-write": tensor.read_write, "projection": [
        [[term.dim] if term.coefficient == 1 else [term.dim, names[term.coefficient]] for term in rank] for rank in tensor.ranks
    ]} for tensor in problem.tensors]
    coefficients = [{"name": name, "default": value} for value, name in names.items()]
    shape = {"name": problem.name, "dimensions": list(problem.dims), "coefficients": coefficients, "data-spaces": spaces}
    return {"problem": {"shape": shape, "instance": dict(problem.bounds)}}


def _constraints(rule: Rule, architecture: Architecture) -> list[dict[str, Any]]:
    target = {"target": rule.level}
    if isinstance(rule, FactorRule):
        sign = "=" if rule.comparison == "==" else rule.comparison
        return [{**target, "type": rule.kind, "factors": [f"{rule.dim}{sign}{rule.value}"]}]
    if isinstance(rule, PermutationRule):
        text = ("*" if rule.gaps else "").join(rule.inner) + (f"_{''.join(rule.outer)}" if rule.outer else "")
        return [{**target, "type": rule.kind, "permutation": text}] if text else []
    if isinstance(rule, KeepRule):
        return [{**target, "type": "bypass", "keep" if rule.keep else "bypass": [rule.tensor]}]
    if isinstance(rule, SplitRule):
        return [{**target, "type": "spatial", "split": rule.split}]
    if isinstance(rule, FlagRule):
        kind, key = FLAGS[rule.flag]
        return [{**target, "type": kind, key: sorted(rule.tensors)}]
    if isinstance(rule, UtilizationRule):
        return [{**target, "type": "utilization", "min": float(rule.least)}]
    if isinstance(rule, NestingRule):
        return [{**target, "dataflow": f"{rule.flow}-stationary"}]
    assert isinstance(rule, ProductRule)
    return [_product(rule, architecture)]


def _product(rule: ProductRule, architecture: Architecture) -> dict[str, Any]:
    levels = [name for name in architecture.level_names if any(level == name for level, _, _ in rule.loops)]
    (kind,) = {kind for _, kind, _ in rule.loops}
    return {"target": levels, kind: {"product": f"{'*'.join(sorted(rule.dims))} {rule.comparison} {rule.value}"}}
