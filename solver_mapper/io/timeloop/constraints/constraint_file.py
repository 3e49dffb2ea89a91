"""Reading constraints, in every place and form that Timeloop and its front end know."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    Constraint,
    FactorConstraint,
    KeepConstraint,
    Kind,
    PermutationConstraint,
    ReuseConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.errors import InputError, SourceLocation, unknown_name
from solver_mapper.io.timeloop.constraints import shorthands
from solver_mapper.io.timeloop.constraints.constraint_collector import ConstraintCollector
from solver_mapper.io.timeloop.constraints.dataflows import read_dataflow
from solver_mapper.io.timeloop.constraints.extended_constraints import (
    FIELDS,
    product_constraints,
    read_additions,
    read_targets,
)
from solver_mapper.io.timeloop.constraints.maximize_dims import MaximizeRequest, read_request
from solver_mapper.io.timeloop.constraints.targets import (
    ALL,
    FLAGS,
    KEEP_TYPES,
    read_split,
    read_tensors,
    refuse_unmodelled,
)
from solver_mapper.io.timeloop.factor_grammar import Factor, OrderWord, read_factors, read_order
from solver_mapper.io.timeloop.unread_keys import note_loops
from solver_mapper.io.yaml.fields import Fields, sequence_of, table_of, text_of
from solver_mapper.io.yaml.scope import Scope
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, kind_of
from solver_mapper.io.yaml.warnings import Notes

_UTILIZATION = ("utilization", "parallelism")
_KINDS: dict[str, Kind] = {"temporal": "temporal", "spatial": "spatial"}
_TYPES = (*_KINDS, *KEEP_TYPES, *_UTILIZATION)


@dataclass(frozen=True)
class Context:
    """What constraints are read against. `origin` is the top-level key they stand under, `requests`
    gathers what can only be decided when all constraints have been read, `notes` warnings; `scope`
    has the names that arithmetic may use.
    """

    architecture: Architecture
    problem: Problem
    book: ConstraintCollector
    origin: str
    requests: list[MaximizeRequest]
    notes: Notes
    scope: Scope = field(default_factory=Scope)


def read_constraints(node: Node, context: Context) -> None:
    """Read everything under one top-level key: a list, or a mapping with `targets` or
    `constraints`.

    Raises: InputError for unknown targets, types, dimensions and tensors, and for contradictions.
    """
    for each in _listed(node, context):
        fields = Fields(table_of(each, "a constraint"), "a constraint", scope=context.scope)
        if not fields.has("type", "constraints") and fields.has(*FIELDS):
            _add(read_additions(fields, context.architecture, context.problem), context)
            fields.close()
            continue
        target = fields.require("target", "name")
        nested = fields.sequence_at("constraints")
        if nested is None:
            _read_one(fields, target, context)
            continue
        fields.close()
        for inner in nested.items:
            _read_one(
                Fields(table_of(inner, "a constraint"), "a constraint", scope=context.scope),
                target,
                context,
            )


def _add(constraints: list[Constraint], context: Context) -> None:
    for constraint in constraints:
        context.book.add(replace(constraint, origin=context.origin))


def _listed(node: Node, context: Context) -> tuple[Node, ...]:
    """The list of constraints; `constraints: name` refers to the list under `constraints_name`.
    What is about all levels may stand beside the list.
    """
    origin = context.origin
    if isinstance(node, Sequence) or (isinstance(node, Scalar) and node.is_null):
        return sequence_of(node, f"'{origin}'").items
    if isinstance(node, Scalar):
        raise InputError(f"'{origin}' must be a list, not {kind_of(node)}", node.location)
    fields = Fields(table_of(node, f"'{origin}'"), f"'{origin}'")
    found = [fields.node(name) for name in ("constraints", "targets")]
    if all(found):
        raise InputError(
            f"'{origin}' has both 'constraints' and 'targets'",
            fields.location_of("targets"),
            "keep one of them",
        )
    listed = found[0] or found[1]
    if isinstance(listed, Scalar):
        listed = fields.require(f"constraints_{listed.text}")
    _add(read_additions(fields, context.architecture, context.problem), context)
    fields.ignore(
        "version",
        "template",
        *(key for key in fields.table.entries if key.startswith("constraints_")),
    )
    fields.close()
    return () if listed is None else sequence_of(listed, f"the constraints of '{origin}'").items


def _read_one(fields: Fields, target: Node, context: Context) -> None:
    node = fields.require("type")
    word = text_of(node, "the type of a constraint")
    fields.ignore("target", "name")
    inner = fields.table_at("attributes")
    if inner is not None:
        fields.close()
        fields = Fields(inner, "the attributes of a constraint", scope=context.scope)
    if word == "max_overbooked_proportion":
        raise InputError(
            "overbooked buffers are not modelled: a tile fits always or never",
            node.location,
            "remove this constraint",
        )
    if word not in _TYPES:
        raise unknown_name("type of constraint", word, _TYPES, node.location)
    levels = read_targets(target, context.architecture, word)
    if word in _KINDS:
        _add(
            product_constraints(_KINDS[word], fields, levels, context.problem, everywhere=False),
            context,
        )
    if word in KEEP_TYPES:
        fields.what = f"the {word} constraint of '{', '.join(levels)}'"
        note_loops(fields, context.notes)
    for level in levels:
        fields.what = f"the {word} constraint of '{level}'"
        for constraint in read_directives(word, fields, level, context):
            context.book.add(constraint)
    fields.close()


def read_directives(word: str, fields: Fields, level: str, context: Context) -> list[Constraint]:
    """The constraints of one constraint of type `word` at `level`; the caller closes `fields`."""
    constraints: list[Constraint]
    refuse_unmodelled(fields)
    if word in _UTILIZATION:
        least = fields.number("min")
        if least is None or least > 1:
            raise InputError(
                f"{fields.what} needs a 'min' between 0 and 1", fields.location_of("min")
            )
        constraints = [
            UtilizationConstraint(
                level,
                f"{level} {word}: min {float(least):g}",
                least,
                location=fields.location_of("min"),
            )
        ]
    elif word in KEEP_TYPES:
        constraints = _keep_constraints(fields, level, context.problem)
    else:
        constraints = _loop_constraints(_KINDS[word], fields, level, context)
    return [replace(constraint, origin=context.origin) for constraint in constraints]


def _keep_constraints(fields: Fields, level: str, problem: Problem) -> list[Constraint]:
    constraints: list[Constraint] = []
    for key, keep in (("keep", True), ("bypass", False)):
        node = fields.node(key)
        named = () if node is None else read_tensors(node, problem, f"'{key}' of {fields.what}")
        constraints += [
            KeepConstraint(level, f"{level}: {key} {tensor}", tensor, keep, location=location)
            for tensor, location in named
        ]
    return constraints + shorthands.keep_constraints(fields, level, problem)


def _loop_constraints(kind: Kind, fields: Fields, level: str, context: Context) -> list[Constraint]:
    problem = context.problem
    node = fields.node("factors")
    factors = () if node is None else read_factors(node, problem.bounds)
    constraints: list[Constraint] = [_factor_constraint(kind, factor, level) for factor in factors]
    constraints += _default_limits(kind, factors, fields, level, problem)
    constraints += shorthands.factor_constraints(kind, fields, level, problem, factors)
    request = read_request(kind, fields, level, context.architecture, problem)
    if request is not None:
        context.requests.append(request)
    constraints += _permutation_constraints(kind, fields, level, problem)
    dataflow = fields.node("dataflow") if kind == "temporal" else None
    constraints += [] if dataflow is None else read_dataflow(dataflow, level, problem)
    split = read_split(kind, fields, problem, context.notes)
    if split is not None:
        constraints.append(
            SplitConstraint(
                level,
                f"{level} spatial: split {split}",
                split,
                location=fields.location_of("split"),
            )
        )
    for flag, names in FLAGS[kind]:
        for name in names:
            constraints += _flag_constraints(flag, name, fields, level, problem)
    fields.ignore("remainders")
    return constraints


def _factor_constraint(kind: Kind, factor: Factor, level: str) -> FactorConstraint:
    return FactorConstraint(
        level,
        f"{level} {kind}: factors {factor}",
        kind,
        factor.dim,
        factor.comparison,
        factor.value,
        factor.last,
        location=factor.location,
    )


def _default_limits(
    kind: Kind, factors: tuple[Factor, ...], fields: Fields, level: str, problem: Problem
) -> list[Constraint]:
    """`default_max_factor` and `default_min_factor` hold for dimensions without a limit of that
    kind.
    """
    constraints: list[Constraint] = []
    for key, comparison in (("default_max_factor", "<="), ("default_min_factor", ">=")):
        value = fields.integer(key, least=1)
        if value is not None:
            limited = {factor.dim for factor in factors if factor.comparison == comparison}
            location = fields.location_of(key)
            constraints += [
                _factor_constraint(
                    kind,
                    Factor(dim, "<=" if comparison == "<=" else ">=", value, None, location),
                    level,
                )
                for dim in problem.dims
                if dim not in limited
            ]
    return constraints


def _permutation_constraints(
    kind: Kind, fields: Fields, level: str, problem: Problem
) -> list[Constraint]:
    """`RP_K`: R innermost, P next, K outermost, the others in between. `R*P*K`: only this order,
    with others in between.
    """
    node = fields.node("permutation")
    words = () if node is None else read_order(node, problem.dims)
    marks = [index for index, word in enumerate(words) if word.text == "_"]
    if len(marks) > 1:
        raise InputError(
            "a permutation has one '_' at most, before what is outermost", words[marks[1]].location
        )
    cut = marks[0] if marks else len(words)
    inner, outer = words[:cut], words[cut + 1 :]
    starred = next((word for word in outer if word.text == ALL), None)
    if starred:
        raise InputError("'*' has no meaning after '_'", starred.location)
    gaps = any(word.text == ALL for word in inner)
    listed = tuple(word.text for word in inner if word.text != ALL)
    if node is None or not (listed or outer):
        return []
    text = f"{level} {kind}: permutation {_spelled(words, problem)}"
    return [
        PermutationConstraint(
            level,
            text,
            kind,
            listed,
            tuple(word.text for word in outer),
            gaps,
            location=node.location,
        )
    ]


def _spelled(words: tuple[OrderWord, ...], problem: Problem) -> str:
    return ("," if any(len(dim) > 1 for dim in problem.dims) else "").join(
        word.text for word in words
    )


def _flag_constraints(
    flag: str, name: str, fields: Fields, level: str, problem: Problem
) -> list[Constraint]:
    node = fields.node(name)
    named: tuple[tuple[str, SourceLocation], ...] = (
        () if node is None else read_tensors(node, problem, f"'{name}'")
    )
    if node is None or not named:
        return []
    tensors = [tensor for tensor, _ in named]
    return [
        ReuseConstraint(
            level,
            f"{level}: {name} {', '.join(tensors)}",
            flag,
            frozenset(tensors),
            location=node.location,
        )
    ]
