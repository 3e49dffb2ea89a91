"""Reading Timeloop's notation of a mapping: a list of directives, each for one level and one kind
of loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    MAPPING,
    Constraint,
    FactorConstraint,
    KeepConstraint,
    Kind,
    PermutationConstraint,
    ReuseConstraint,
    SplitConstraint,
)
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.errors import NOWHERE, InputError, SourceLocation, unknown_name
from solver_mapper.io.timeloop.constraints.targets import (
    FLAGS,
    KEEP_TYPES,
    read_split,
    read_tensors,
    refuse_unmodelled,
    target_level,
)
from solver_mapper.io.timeloop.factor_grammar import MARKS, Factor, read_factors, read_order
from solver_mapper.io.timeloop.unread_keys import note_loops, note_stream, note_unread
from solver_mapper.io.yaml.fields import Fields, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node
from solver_mapper.io.yaml.warnings import Notes

_KINDS = {"temporal": "temporal", "spatial": "spatial", **dict.fromkeys(KEEP_TYPES, "bypass")}


@dataclass
class _Nest:
    """The temporal or spatial loops of a level; `order` (innermost first) and `split` are None
    until somebody gives them. `listed` is the order as far as it was written."""

    factors: dict[str, Factor] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    split: int | None = None
    listed: tuple[str, ...] = ()


@dataclass
class _Level:
    """What is known of one level so far."""

    nests: dict[str, _Nest] = field(
        default_factory=lambda: {"temporal": _Nest(), "spatial": _Nest()}
    )
    keep: dict[str, tuple[bool, SourceLocation]] = field(default_factory=dict)
    flags: dict[str, frozenset[str]] = field(default_factory=dict)
    locations: dict[str, SourceLocation] = field(default_factory=dict)


def read_mapping(
    node: Node,
    architecture: Architecture,
    problem: Problem,
    notes: Notes,
    implied: Iterable[Constraint] = (),
) -> tuple[Mapping, tuple[Constraint, ...]]:
    """The mapping under the top-level key `mapping`, and its directives as constraints, for when it
    is given in part.

    Levels without directives get no loops; tensors not mentioned at a level are kept there;
    dimensions missing in a permutation lie outside those listed, in declaration order. What
    directives leave open is taken from the constraints `implied` (in v0.4, constraints inside the
    architecture are part of each mapping). Whether the mapping is legal is for `validate` to say.

    Raises: InputError for unknown levels, dimensions and tensors, and directives that contradict
    each other.
    """
    levels = {name: _Level() for name in architecture.level_names}
    for each in sequence_of(node, "the mapping").items:
        fields = Fields(table_of(each, "a mapping directive"), "a mapping directive")
        kind_node = fields.require("type")
        word = text_of(kind_node, "the type of a mapping directive")
        if word not in _KINDS:
            raise unknown_name("type of mapping directive", word, _KINDS, kind_node.location)
        name = target_level(fields.require("target", "name"), architecture, word)
        fields.what = f"the {word} directive of '{name}'"
        _read_directive(_KINDS[word], fields, levels[name], problem, notes)
    given = tuple(
        constraint for name, level in levels.items() for constraint in _constraints(name, level)
    )
    for constraint in implied:
        if constraint.level in levels:
            _complete(levels[constraint.level], constraint, problem)
    done = tuple(_level_mapping(name, level, problem) for name, level in levels.items())
    return Mapping(done, problem.dims, problem.tensor_names), given


def _constraints(name: str, level: _Level) -> Iterator[Constraint]:
    """What the directives of a level ask for."""
    about = f"mapping, {name}"
    kinds: tuple[Kind, ...] = ("temporal", "spatial")
    for kind in kinds:
        nest, location = level.nests[kind], level.locations.get(f"{kind} permutation", NOWHERE)
        for each in nest.factors.values():
            yield FactorConstraint(
                name,
                f"{about} {kind}: factors {each}",
                kind,
                each.dim,
                "==",
                each.value,
                each.last,
                location=each.location,
                origin=MAPPING,
            )
        if nest.listed:
            separator = "," if any(len(dim) > 1 for dim in nest.listed) else ""
            text = f"{about} {kind}: permutation {separator.join(nest.listed)}"
            yield PermutationConstraint(
                name, text, kind, nest.listed, location=location, origin=MAPPING
            )
        if nest.split is not None:
            location = level.locations["spatial split"]
            yield SplitConstraint(
                name,
                f"{about} spatial: split {nest.split}",
                nest.split,
                location=location,
                origin=MAPPING,
            )
    for tensor, (keep, location) in level.keep.items():
        yield KeepConstraint(
            name,
            f"{about}: {'keep' if keep else 'bypass'} {tensor}",
            tensor,
            keep,
            location=location,
            origin=MAPPING,
        )
    for flag, tensors in level.flags.items():
        if tensors:
            location = level.locations.get(
                "temporal" if flag == "no_temporal_reuse" else "spatial", NOWHERE
            )
            yield ReuseConstraint(
                name,
                f"{about}: {flag} {', '.join(sorted(tensors))}",
                flag,
                tensors,
                location=location,
                origin=MAPPING,
            )


def _read_directive(
    kind: str, fields: Fields, level: _Level, problem: Problem, notes: Notes
) -> None:
    refuse_unmodelled(fields)
    if kind == "bypass":
        _read_keep(fields, level, problem)
        note_stream(fields, notes)
        note_loops(fields, notes)
        level.locations.setdefault(kind, fields.location)
        fields.close()
        return
    if kind in level.locations:
        raise InputError(
            f"{fields.what} is given twice, first at {level.locations[kind]}",
            fields.location,
            "keep one of them",
        )
    level.locations[kind] = fields.location
    if kind == "temporal":
        note_unread(fields, notes, "split", why="temporal loops lie along no axis of a mesh")
    split = read_split(kind, fields, problem, notes) if kind == "spatial" else None
    listed = _order(fields, problem)
    level.nests[kind] = nest = _Nest(
        _factors(fields, problem), listed and _full(listed, problem), split, listed or ()
    )
    level.locations.update(
        {
            f"{kind} {part}": fields.location_of(part)
            for part in ("permutation", "split")
            if fields.has(part)
        }
    )
    level.locations.update(
        {f"{kind} {dim}": factor.location for dim, factor in nest.factors.items()}
    )
    for flag, names in FLAGS[kind]:
        for name in names:
            node = fields.node(name)
            if node is not None:
                tensors = frozenset(
                    tensor for tensor, _ in read_tensors(node, problem, f"'{name}'")
                )
                level.flags[flag] = level.flags.get(flag, frozenset()) | tensors
    fields.close()


def _read_keep(fields: Fields, level: _Level, problem: Problem) -> None:
    for key, keep in (("keep", True), ("bypass", False)):
        node = fields.node(key)
        for tensor, location in (
            () if node is None else read_tensors(node, problem, f"'{key}' of {fields.what}")
        ):
            before, first = level.keep.get(tensor, (keep, location))
            if before != keep:
                raise InputError(
                    f"'{tensor}' is both kept and bypassed, the other one at {first}", location
                )
            level.keep[tensor] = keep, location
            level.locations.setdefault(f"bypass {tensor}", location)


def _order(fields: Fields, problem: Problem) -> tuple[str, ...] | None:
    """The dimensions as listed, innermost first; None without a permutation."""
    node = fields.node("permutation")
    if node is None:
        return None
    words = read_order(node, problem.dims)
    for word in words:
        if word.text in MARKS:
            raise InputError(
                f"'{word.text}' has no meaning in the permutation of a mapping",
                word.location,
                "list the dimensions",
            )
    return tuple(word.text for word in words)


def _full(inner: Iterable[str], problem: Problem, outer: tuple[str, ...] = ()) -> tuple[str, ...]:
    listed = (*inner, *outer)
    free = tuple(dim for dim in problem.dims if dim not in listed)
    return (*listed[: len(listed) - len(outer)], *free, *outer)


def _factors(fields: Fields, problem: Problem) -> dict[str, Factor]:
    node = fields.node("factors")
    found: dict[str, Factor] = {}
    for factor in () if node is None else read_factors(node, problem.bounds):
        if factor.comparison != "==":
            raise InputError(
                f"'{factor}' is no factor: a mapping needs a number",
                factor.location,
                f"write '{factor.dim}=...'",
            )
        other = found.get(factor.dim, factor)
        if (other.value, other.last) != (factor.value, factor.last):
            raise InputError(
                f"'{factor.dim}' has two factors, {other} and {factor}", factor.location
            )
        found[factor.dim] = factor
    return found


def _complete(level: _Level, constraint: Constraint, problem: Problem) -> None:
    """Let `constraint` decide what the directives of its level have left open."""
    if isinstance(constraint, KeepConstraint):
        level.keep.setdefault(constraint.tensor, (constraint.keep, constraint.location))
    elif (
        isinstance(constraint, FactorConstraint)
        and constraint.comparison == "=="
        and (constraint.value, constraint.last or 1) != (1, 1)
    ):
        factor = Factor(
            constraint.dim, "==", constraint.value, constraint.last, constraint.location
        )
        level.nests[constraint.kind].factors.setdefault(constraint.dim, factor)
    elif (
        isinstance(constraint, PermutationConstraint) and level.nests[constraint.kind].order is None
    ):
        level.nests[constraint.kind].order = _full(constraint.inner, problem, constraint.outer)
    elif isinstance(constraint, SplitConstraint) and level.nests["spatial"].split is None:
        level.nests["spatial"].split = constraint.split


def _loops(nest: _Nest, kind: str, problem: Problem) -> tuple[Loop, ...]:
    """The loops, outer to inner. Spatial ones at positions below `split` lie along X."""
    order = nest.order or problem.dims
    split = len(order) if nest.split is None else nest.split
    loops = []
    for position, dim in enumerate(order):
        if dim in nest.factors:
            factor = nest.factors[dim]
            axis = "" if kind == "temporal" else "X" if position < split else "Y"
            loops.append(
                Loop(dim, factor.value, factor.value if factor.last is None else factor.last, axis)
            )
    return tuple(loops[::-1])


def _level_mapping(name: str, level: _Level, problem: Problem) -> LevelMapping:
    keep = frozenset(
        tensor for tensor in problem.tensor_names if level.keep.get(tensor, (True, None))[0]
    )
    none: frozenset[str] = frozenset()
    return LevelMapping(
        name,
        _loops(level.nests["temporal"], "temporal", problem),
        _loops(level.nests["spatial"], "spatial", problem),
        keep,
        no_temporal_reuse=level.flags.get("no_temporal_reuse", none),
        no_multicast=level.flags.get("no_multicast", none),
        no_link_transfer=level.flags.get("no_link_transfer", none),
        locations=level.locations,
    )
