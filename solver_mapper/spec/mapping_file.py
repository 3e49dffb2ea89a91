"""Timeloop's notation of a mapping, read and written: a list of directives, each for one level and one kind of loops."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from solver_mapper.errors import InputError, Place, unknown_name
from solver_mapper.mapping import LevelMapping, Loop, Mapping
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.factors import MARKS, Factor, read_factors, read_order
from solver_mapper.spec.fields import Fields, sequence_of, table_of, text_of
from solver_mapper.spec.problem import Problem
from solver_mapper.spec.source import Node
from solver_mapper.spec.targets import FLAGS, KEEP_TYPES, read_tensors, refuse_unmodelled, target_level

_KINDS = {"temporal": "temporal", "spatial": "spatial", **dict.fromkeys(KEEP_TYPES, "bypass")}


@dataclass
class _Level:
    """What the directives of one level have said so far."""

    loops: dict[str, tuple[Loop, ...]] = field(default_factory=dict)
    keep: dict[str, tuple[bool, Place]] = field(default_factory=dict)
    flags: dict[str, frozenset[str]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)


def read_mapping(node: Node, architecture: Architecture, problem: Problem) -> Mapping:
    """The mapping under the top-level key `mapping`.

    Levels without directives get no loops; tensors not mentioned at a level are kept there; dimensions missing in a permutation
    lie outside those listed, in declaration order. Whether the mapping is legal is for `validate` to say.

    Raises: InputError for unknown levels, dimensions and tensors, and directives that contradict each other.
    """
    levels = {name: _Level() for name in architecture.level_names}
    for each in sequence_of(node, "the mapping").items:
        fields = Fields(table_of(each, "a mapping directive"), "a mapping directive")
        name = target_level(fields.require("target", "name"), architecture)
        kind_node = fields.require("type")
        word = text_of(kind_node, "the type of a mapping directive")
        if word not in _KINDS:
            raise unknown_name("type of mapping directive", word, _KINDS, kind_node.place)
        fields.what = f"the {word} directive of '{name}'"
        _read_directive(_KINDS[word], fields, levels[name], problem)
    done = tuple(_level_mapping(name, level, problem) for name, level in levels.items())
    return Mapping(done, problem.dims, problem.tensor_names)


def _read_directive(kind: str, fields: Fields, level: _Level, problem: Problem) -> None:
    refuse_unmodelled(fields)
    if kind == "bypass":
        _read_keep(fields, level, problem)
        level.places.setdefault(kind, fields.place)
        fields.close()
        return
    if kind in level.loops:
        raise InputError(f"{fields.what} is given twice, first at {level.places[kind]}", fields.place, "keep one of them")
    order = _order(fields, problem)
    split = fields.integer("split") if kind == "spatial" else None
    level.loops[kind] = _loops(_factors(fields, problem), order, kind, len(order) if split is None else split)
    level.places[kind] = fields.place
    for flag, names in FLAGS[kind]:
        node = fields.node(*names)
        if node is not None:
            level.flags[flag] = frozenset(name for name, _ in read_tensors(node, problem, f"'{names[0]}'"))
    fields.close()


def _read_keep(fields: Fields, level: _Level, problem: Problem) -> None:
    for key, keep in (("keep", True), ("bypass", False)):
        node = fields.node(key)
        for tensor, place in () if node is None else read_tensors(node, problem, f"'{key}' of {fields.what}"):
            before, first = level.keep.get(tensor, (keep, place))
            if before != keep:
                raise InputError(f"'{tensor}' is both kept and bypassed, the former at {first}", place)
            level.keep[tensor] = keep, place


def _order(fields: Fields, problem: Problem) -> tuple[str, ...]:
    """Every dimension of the problem, innermost first."""
    node = fields.node("permutation")
    words = () if node is None else read_order(node, problem.dims)
    for word in words:
        if word.text in MARKS:
            raise InputError(f"'{word.text}' has no meaning in the permutation of a mapping", word.place, "list the dimensions")
    given = tuple(word.text for word in words)
    return (*given, *(dim for dim in problem.dims if dim not in given))


def _factors(fields: Fields, problem: Problem) -> dict[str, Factor]:
    node = fields.node("factors")
    found: dict[str, Factor] = {}
    for factor in () if node is None else read_factors(node, problem.bounds):
        if factor.comparison != "==":
            raise InputError(f"'{factor}' is no factor: a mapping needs a number", factor.place, f"write '{factor.dim}=...'")
        other = found.get(factor.dim, factor)
        if (other.value, other.last) != (factor.value, factor.last):
            raise InputError(f"'{factor.dim}' has two factors, {other} and {factor}", factor.place)
        found[factor.dim] = factor
    return found


def _loops(factors: dict[str, Factor], order: tuple[str, ...], kind: str, split: int) -> tuple[Loop, ...]:
    """The loops, outer to inner. Of the spatial ones those at positions below `split` lie along X."""
    loops = []
    for position, dim in enumerate(order):
        if dim in factors:
            factor = factors[dim]
            axis = "" if kind == "temporal" else "X" if position < split else "Y"
            loops.append(Loop(dim, factor.value, factor.value if factor.last is None else factor.last, axis))
    return tuple(loops[::-1])


def _level_mapping(name: str, level: _Level, problem: Problem) -> LevelMapping:
    keep = frozenset(tensor for tensor in problem.tensor_names if level.keep.get(tensor, (True, None))[0])
    none: frozenset[str] = frozenset()
    return LevelMapping(
        name, level.loops.get("temporal", ()), level.loops.get("spatial", ()), keep,
        no_temporal_reuse=level.flags.get("no_temporal_reuse", none), no_multicast=level.flags.get("no_multicast", none),
        no_link_transfer=level.flags.get("no_link_transfer", none), places=level.places,
    )


def write_mapping(mapping: Mapping) -> str:
    """A YAML file that Timeloop v3 reads and that reads back as an equal mapping; the same bytes for equal mappings.

    Where `mapping.dims` and `mapping.tensors` are empty, those that occur in it are used, in alphabetical order.

    Raises: InputError if two temporal (or two spatial) loops at one level are over the same dimension, or a loop along X lies
    outside one along Y: Timeloop's notation cannot say that.
    """
    dims = mapping.dims or tuple(sorted({each.dim for each in mapping.loops()}))
    tensors = mapping.tensors or tuple(sorted({tensor for level in mapping.levels for tensor in level.keep}))
    lines = ["mapping:"]
    for level in mapping.levels:
        for directive in _directives(level, dims, tensors):
            lines += [f"{'  ' if index else '- '}{key}: {value}" for index, (key, value) in enumerate(directive)]
    return "\n".join(lines) + "\n"


def _directives(level: LevelMapping, dims: tuple[str, ...], tensors: tuple[str, ...]) -> Iterable[list[tuple[str, str]]]:
    target = ("target", _word(level.level))
    kept = [tensor for tensor in tensors if tensor in level.keep]
    bypassed = [tensor for tensor in tensors if tensor not in level.keep]
    yield [target, ("type", "bypass"), ("keep", _list(kept)), ("bypass", _list(bypassed))]
    yield [target, ("type", "temporal"), *_nest(level.temporal, dims, level.level),
           *_flag("no_temporal_reuse", level.no_temporal_reuse, tensors)]
    if level.spatial or level.no_multicast or level.no_link_transfer:
        across = sum(each.axis == "X" for each in level.spatial)
        if any(each.axis == "X" for each in level.spatial[: len(level.spatial) - across]):
            raise InputError(f"{level.level}: Timeloop's notation cannot have loops along X outside loops along Y")
        yield [target, ("type", "spatial"), *_nest(level.spatial, dims, level.level), ("split", str(across)),
               *_flag("no_multicast_no_reduction", level.no_multicast, tensors),
               *_flag("no_link_transfer", level.no_link_transfer, tensors)]


def _nest(loops: tuple[Loop, ...], dims: tuple[str, ...], level: str) -> list[tuple[str, str]]:
    """`factors` of the loops there are, and a `permutation` of all dimensions, innermost first."""
    inward = [each.dim for each in reversed(loops)]
    if len(set(inward)) < len(inward):
        raise InputError(f"{level}: Timeloop's notation has one loop over a dimension, this mapping has several")
    order = [*inward, *(dim for dim in dims if dim not in inward)]
    joint = "," if any(len(dim) > 1 for dim in order) else ""
    factors = " ".join(f"{each.dim}={each.bound}" + ("" if each.perfect else f",{each.last}") for each in loops)
    return [*([("factors", _word(factors))] if loops else []), ("permutation", _word(joint.join(order)))]


def _flag(key: str, flagged: frozenset[str], tensors: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(key, _list([tensor for tensor in tensors if tensor in flagged]))] if flagged else []


def _list(words: list[str]) -> str:
    return f"[{', '.join(_word(word) for word in words)}]"


def _word(text: str) -> str:
    """`text` as a YAML scalar, quoted where it could be taken for something else."""
    plain = re.fullmatch(r"[A-Za-z_][\w.=]*([ ,][\w=]+)*", text, re.ASCII) and "," not in text
    reserved = text.lower() in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    return text if plain and not reserved else json.dumps(text)
