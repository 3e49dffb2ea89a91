"""Constraints that Timeloop does not have: products over several levels, caps on figures,
dataflows.

- spatial: {product: "C*K <= 128"}                     over the spatial loops of all levels;
  `target` names fewer
- metrics: {cycles: "<= 200000", energy_pj: "< 1e9"}
- {target: RF, dataflow: weight-stationary}            also as a field of a temporal constraint
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    Comparison,
    Constraint,
    Kind,
    MetricConstraint,
    ProductConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.errors import InputError, unknown_name
from solver_mapper.io.timeloop.constraints.dataflows import read_dataflow
from solver_mapper.io.timeloop.constraints.targets import target_levels
from solver_mapper.io.yaml.fields import Fields, number_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar, Sequence

KINDS: tuple[Kind, Kind] = ("temporal", "spatial")
FIELDS = (*KINDS, "metrics", "dataflow")
"""What a constraint without a `type` may hold, beside `target`."""
METRIC_NAMES = {
    "cycles": "cycles",
    "delay": "cycles",
    "latency": "cycles",
    "energy_pj": "energy_pj",
    "energy": "energy_pj",
    "edp": "edp",
    "last_level_accesses": "last_level_accesses",
}
_PRODUCT = re.compile(r"\s*(.*?)\s*(<=|>=|!=|==?|<|>)\s*(\d{1,18})\s*")
_CAP = re.compile(r"\s*(<=|<)?\s*(.*?)\s*", re.DOTALL)


def read_additions(
    fields: Fields, architecture: Architecture, problem: Problem
) -> list[Constraint]:
    """The constraints of a constraint without a `type`; the caller closes `fields`."""
    target = fields.node("target", "name")
    levels = (
        architecture.level_names
        if target is None
        else read_targets(target, architecture, "spatial")
    )
    constraints: list[Constraint] = []
    for kind in KINDS:
        table = fields.table_at(kind)
        if table is not None:
            inner = Fields(table, f"the {kind} constraint")
            constraints += product_constraints(
                kind, inner, levels, problem, everywhere=target is None
            )
            inner.close()
    constraints += _metric_constraints(fields, target)
    node = fields.node("dataflow")
    if node is not None:
        if target is None:
            raise InputError("a dataflow is that of a level", node.location, "add 'target: LEVEL'")
        constraints += [
            constraint for level in levels for constraint in read_dataflow(node, level, problem)
        ]
    return constraints


def read_targets(node: Node, architecture: Architecture, kind: str) -> tuple[str, ...]:
    """The levels that a target or a list of targets names, without repetition."""
    nodes = node.items if isinstance(node, Sequence) else (node,)
    return tuple(
        dict.fromkeys(level for each in nodes for level in target_levels(each, architecture, kind))
    )


def product_constraints(
    kind: Kind, fields: Fields, levels: Collection[str], problem: Problem, *, everywhere: bool
) -> list[Constraint]:
    """`product: "C*K <= 128"`, one or a list, over the `kind` loops of `levels` together."""
    node = fields.node("product")
    if node is None:
        return []
    where = "all levels" if everywhere else ", ".join(levels)
    constraints: list[Constraint] = []
    for each in node.items if isinstance(node, Sequence) else (node,):
        dims, comparison, value = _read_product(each, problem)
        loops = frozenset((level, kind, dim) for level in levels for dim in dims)
        text = (
            f"{where} {kind}: product {'*'.join(dims)} {'=' if comparison == '==' else comparison}"
            f" {value}"
        )
        constraints.append(
            ProductConstraint("", text, loops, comparison, value, location=each.location)
        )
    return constraints


def _read_product(node: Node, problem: Problem) -> tuple[tuple[str, ...], Comparison, int]:
    text = text_of(node, "a product")
    match = _PRODUCT.fullmatch(text.split("#", 1)[0])
    if match is None or not match[1]:
        raise InputError(
            f"'{text}' is not a limit on a product",
            node.location,
            "products are written 'C*K <= 128'",
        )
    dims = tuple(re.split(r"\s*\*\s*|\s+", match[1]))
    for dim in dims:
        if dim not in problem.dims:
            raise unknown_name("dimension", dim, problem.dims, node.location)
    if len(set(dims)) < len(dims):
        raise InputError(f"a dimension stands twice in '{text}'", node.location)
    signs: dict[str, Comparison] = {
        "<=": "<=",
        "<": "<",
        ">=": ">=",
        ">": ">",
        "=": "==",
        "==": "==",
        "!=": "!=",
    }
    return dims, signs[match[2]], int(match[3])


def _metric_constraints(fields: Fields, target: Node | None) -> Iterator[Constraint]:
    table = fields.table_at("metrics")
    if table is None:
        return
    if target is not None:
        raise InputError(
            "metrics are figures of the whole mapping", target.location, "leave out the target"
        )
    for key, node in table.entries.items():
        name = METRIC_NAMES.get(key.lower().replace("-", "_"))
        if name is None:
            raise unknown_name("metric", key, METRIC_NAMES, table.key_locations[key])
        text = text_of(node, f"the cap on '{key}'")
        sign, number = _CAP.fullmatch(text).groups()  # type: ignore[union-attr]  # matches any text
        if number[:1] in ("=", ">", "!", "<"):
            raise InputError(
                f"'{text}' is not a cap on '{key}'",
                node.location,
                "metrics can only be capped, with '<=' or '<'",
            )
        most = number_of(Scalar(number, node.location), f"the cap on '{key}'")
        yield MetricConstraint(
            "",
            f"metrics: {name} {sign or '<='} {number}",
            name,
            most,
            sign == "<",
            location=node.location,
        )
