"""Constraints that a v0.4 architecture implies: those inside its nodes, its fanouts, and its
parallel branches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from solver_mapper.core.constraints import HARDWARE, FactorConstraint, KeepConstraint
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.architecture.v04_form import (
    Embedded,
    Parallel,
    ParallelBranch,
    V04Design,
)
from solver_mapper.io.timeloop.constraints.constraint_file import Context, read_directives
from solver_mapper.io.timeloop.constraints.dataflows import read_dataflow
from solver_mapper.io.timeloop.constraints.extended_constraints import product_constraints
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.io.yaml.source import Table
from solver_mapper.io.yaml.warnings import Notes

_NOWHERE = "<nothing>"


def read_embedded(design: V04Design, context: Context, notes: Notes) -> None:
    """The constraints inside nodes, and what levels that only carry a fanout stand for: no tensors,
    no temporal loops.
    """
    for embedded in design.embedded:
        _read_node(embedded, context, notes)
    for level, location in design.fanouts:
        for tensor in context.problem.tensor_names:
            context.book.add(
                KeepConstraint(
                    level,
                    f"{level}: stores nothing (bypass {tensor})",
                    tensor,
                    False,
                    location=location,
                    origin=HARDWARE,
                )
            )
        for dim in context.problem.dims:
            context.book.add(
                FactorConstraint(
                    level,
                    f"{level} temporal: stores nothing ({dim}=1)",
                    "temporal",
                    dim,
                    "==",
                    1,
                    location=location,
                    origin=HARDWARE,
                )
            )


def _read_node(embedded: Embedded, context: Context, notes: Notes) -> None:
    fields = Fields(embedded.table, f"the constraints of '{embedded.name}'")
    if fields.has("max_overbooked_proportion"):
        raise InputError(
            "overbooked buffers are not modelled: a tile fits always or never",
            fields.location_of("max_overbooked_proportion"),
            "remove this constraint",
        )
    kinds: tuple[Literal["spatial", "temporal", "dataspace"], ...] = (
        "spatial",
        "temporal",
        "dataspace",
    )
    for kind in kinds:
        table = fields.table_at(kind)
        if table is None or not table.entries:
            continue
        fanout = context.architecture.fanouts.get(embedded.name)
        levels = embedded.levels if kind != "spatial" else () if fanout is None else (fanout,)
        for level in levels:
            inner = Fields(
                table, f"the {kind} constraint of '{embedded.name}'", scope=embedded.scope
            )
            products = (
                ()
                if kind == "dataspace"
                else product_constraints(kind, inner, levels, context.problem, everywhere=False)
            )
            for constraint in (*read_directives(kind, inner, level, context), *products):
                context.book.add(replace(constraint, origin=context.origin))
            inner.ignore("type", "target")
            inner.close()
        if not levels:
            _check_idle(kind, embedded, table, context, notes)
    dataflow = fields.node("dataflow")
    flows = (
        []
        if dataflow is None
        else [
            constraint
            for level in embedded.levels
            for constraint in read_dataflow(dataflow, level, context.problem)
        ]
    )
    for constraint in flows:
        context.book.add(replace(constraint, origin=context.origin))
    fields.close()


def _check_idle(
    kind: str, embedded: Embedded, table: Table, context: Context, notes: Notes
) -> None:
    """A constraint where there is nothing to constrain must ask for nothing.

    Raises: InputError for a factor greater than 1, or a tensor to be kept.
    """
    name = embedded.name
    lack = "has no fanout" if kind == "spatial" else "stores nothing"
    fields = Fields(table, f"the {kind} constraint of '{name}'", scope=embedded.scope)
    for constraint in read_directives(kind, fields, name, replace(context, requests=[])):
        wants = (
            isinstance(constraint, FactorConstraint)
            and constraint.comparison in ("==", ">=")
            and constraint.value > 1
        )
        if wants or (isinstance(constraint, KeepConstraint) and constraint.keep):
            raise InputError(
                f"'{constraint.text}' cannot hold: '{name}' {lack}", constraint.location
            )
    what = f"the {kind} constraint of '{name}' has no effect: '{name}' {lack}"
    notes.add("idle-constraint", table.location, what)


def resolve_parallels(parallels: tuple[Parallel, ...], context: Context) -> None:
    """Each tensor is kept in exactly one branch of a `!Parallel`, by its keep constraints, and
    bypasses the others.

    Raises: InputError for a tensor that no branch or several branches keep.
    """
    for parallel in parallels:
        _resolve(parallel, context.problem.tensor_names, context)


def _resolve(parallel: Parallel, tensors: tuple[str, ...], context: Context) -> None:
    kept = [_kept(branch, context) for branch in parallel.branches]
    absent = ", ".join(tensor for tensor in tensors if not any(tensor in each for each in kept))
    for tensor in tensors:
        times = sum(tensor in each for each in kept)
        if times != 1:
            raise InputError(
                f"tensor '{tensor}' is kept in {times or 'no'} branches of this !Parallel, not in"
                " exactly one",
                parallel.location,
                "say 'constraints: {dataspace: {keep: [...]}}' in one branch"
                if times
                else "add the branch"
                f" '!Nothing {{constraints: {{dataspace: {{keep: [{absent}]}}}}}}'"
                " for tensors that no branch stores",
            )
    for branch, inside in zip(parallel.branches, kept, strict=True):
        for level in branch.levels:
            for tensor in context.problem.tensor_names:
                if tensor not in inside:
                    context.book.add(
                        KeepConstraint(
                            level,
                            f"{level}: in parallel to where {tensor} is kept (bypass {tensor})",
                            tensor,
                            False,
                            location=parallel.location,
                            origin=HARDWARE,
                        )
                    )
        for inner in branch.parallels:
            _resolve(inner, tuple(tensor for tensor in tensors if tensor in inside), context)


def _kept(branch: ParallelBranch, context: Context) -> frozenset[str]:
    keeps = [
        constraint
        for constraint in context.book.constraints
        if isinstance(constraint, KeepConstraint) and constraint.keep
    ]
    found = {constraint.tensor for constraint in keeps if constraint.level in branch.levels}
    for table in branch.nothing:
        fields = Fields(table, "the constraints of a !Nothing")
        dataspace = fields.table_at("dataspace")
        fields.close()
        if dataspace is not None:
            constraints = read_directives(
                "dataspace", Fields(dataspace, "a dataspace constraint"), _NOWHERE, context
            )
            found |= {
                constraint.tensor
                for constraint in constraints
                if isinstance(constraint, KeepConstraint) and constraint.keep
            }
    return frozenset(found)
