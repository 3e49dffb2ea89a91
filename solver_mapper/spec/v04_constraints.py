"""Constraints that a v0.4 architecture implies: those inside its nodes, its fanouts, and its parallel branches."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from solver_mapper.errors import InputError
from solver_mapper.spec.additions import product_rules
from solver_mapper.spec.constraint_file import Context, read_rules
from solver_mapper.spec.constraints import HARDWARE, FactorRule, KeepRule
from solver_mapper.spec.dataflow import read_dataflow
from solver_mapper.spec.fields import Fields
from solver_mapper.spec.notes import Notes
from solver_mapper.spec.source import Table
from solver_mapper.spec.v04 import Branch, Design, Embedded, Parallel

_NOWHERE = "<nothing>"


def read_embedded(design: Design, context: Context, notes: Notes) -> None:
    """The constraints inside nodes, and what levels that only carry a fanout stand for: no tensors, no temporal loops."""
    for embedded in design.embedded:
        _read_node(embedded, context, notes)
    for level, place in design.fanouts:
        for tensor in context.problem.tensor_names:
            context.book.add(KeepRule(level, f"{level}: stores nothing (bypass {tensor})", tensor, False, place=place,
                                      origin=HARDWARE))
        for dim in context.problem.dims:
            context.book.add(FactorRule(level, f"{level} temporal: stores nothing ({dim}=1)", "temporal", dim, "==", 1,
                                        place=place, origin=HARDWARE))


def _read_node(embedded: Embedded, context: Context, notes: Notes) -> None:
    fields = Fields(embedded.table, f"the constraints of '{embedded.name}'")
    if fields.has("max_overbooked_proportion"):
        raise InputError("overbooked buffers are not modelled: a tile fits always or never",
                         fields.place_of("max_overbooked_proportion"), "remove this constraint")
    kinds: tuple[Literal["spatial", "temporal", "dataspace"], ...] = ("spatial", "temporal", "dataspace")
    for kind in kinds:
        table = fields.table_at(kind)
        if table is None or not table.entries:
            continue
        fanout = context.architecture.fanouts.get(embedded.name)
        levels = embedded.levels if kind != "spatial" else () if fanout is None else (fanout,)
        for level in levels:
            inner = Fields(table, f"the {kind} constraint of '{embedded.name}'")
            products = () if kind == "dataspace" else product_rules(kind, inner, levels, context.problem, everywhere=False)
            for rule in (*read_rules(kind, inner, level, context), *products):
                context.book.add(replace(rule, origin=context.origin))
            inner.ignore("type", "target")
            inner.close()
        if not levels:
            _check_idle(kind, embedded.name, table, context, notes)
    dataflow = fields.node("dataflow")
    flows = [] if dataflow is None else [rule for level in embedded.levels for rule in read_dataflow(dataflow, level, context.problem)]
    for rule in flows:
        context.book.add(replace(rule, origin=context.origin))
    fields.close()


def _check_idle(kind: str, name: str, table: Table, context: Context, notes: Notes) -> None:
    """A constraint where there is nothing to constrain must ask for nothing.

    Raises: InputError for a factor greater than 1, or a tensor to be kept.
    """
    fields = Fields(table, f"the {kind} constraint of '{name}'")
    for rule in read_rules(kind, fields, name, replace(context, requests=[])):
        wants = isinstance(rule, FactorRule) and rule.comparison in ("==", ">=") and rule.value > 1
        if wants or (isinstance(rule, KeepRule) and rule.keep):
            lack = "has no fanout" if kind == "spatial" else "stores nothing"
            raise InputError(f"'{rule.text}' cannot hold: '{name}' {lack}", rule.place)
    notes.add(table.place, f"the {kind} constraint of '{name}' is about nothing")


def settle_parallels(parallels: tuple[Parallel, ...], context: Context) -> None:
    """Each tensor is kept in exactly one branch of a `!Parallel`, by its keep constraints, and bypasses the others.

    Raises: InputError for a tensor that no branch or several branches keep.
    """
    for parallel in parallels:
        _settle(parallel, context.problem.tensor_names, context)


def _settle(parallel: Parallel, tensors: tuple[str, ...], context: Context) -> None:
    kept = [_kept(branch, context) for branch in parallel.branches]
    for tensor in tensors:
        times = sum(tensor in each for each in kept)
        if times != 1:
            raise InputError(f"tensor '{tensor}' is kept in {times or 'no'} branches of this !Parallel, not in exactly one",
                             parallel.place, "say 'constraints: {dataspace: {keep: [...]}}' in one branch")
    for branch, inside in zip(parallel.branches, kept, strict=True):
        for level in branch.levels:
            for tensor in context.problem.tensor_names:
                if tensor not in inside:
                    context.book.add(KeepRule(level, f"{level}: in parallel to where {tensor} is kept (bypass {tensor})", tensor,
                                              False, place=parallel.place, origin=HARDWARE))
        for inner in branch.parallels:
            _settle(inner, tuple(tensor for tensor in tensors if tensor in inside), context)


def _kept(branch: Branch, context: Context) -> frozenset[str]:
    keeps = [rule for rule in context.book.rules if isinstance(rule, KeepRule) and rule.keep]
    found = {rule.tensor for rule in keeps if rule.level in branch.levels}
    for table in branch.nothing:
        fields = Fields(table, "the constraints of a !Nothing")
        dataspace = fields.table_at("dataspace")
        fields.close()
        if dataspace is not None:
            rules = read_rules("dataspace", Fields(dataspace, "a dataspace constraint"), _NOWHERE, context)
            found |= {rule.tensor for rule in rules if isinstance(rule, KeepRule) and rule.keep}
    return frozenset(found)
