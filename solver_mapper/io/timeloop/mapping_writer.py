"""Writing a mapping in Timeloop's notation: a list of directives, each for one level and one kind
of loops.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.results.rendering import yaml_of
from solver_mapper.errors import InputError


@yaml_of.register
def write_mapping(mapping: Mapping) -> str:
    """A YAML file that Timeloop v3 reads and that reads back as an equal mapping; the same bytes
    for equal mappings.

    Where `mapping.dims` and `mapping.tensors` are empty, those that occur in it are used, in
    alphabetical order.

    Raises: InputError if two temporal (or two spatial) loops at one level are over the same
    dimension, or a loop along X lies outside one along Y: Timeloop's notation cannot say that.
    """
    dims = mapping.dims or tuple(sorted({each.dim for each in mapping.loops()}))
    tensors = mapping.tensors or tuple(
        sorted({tensor for level in mapping.levels for tensor in level.keep})
    )
    lines = ["mapping:"]
    for level in mapping.levels:
        for directive in _directives(level, dims, tensors):
            lines += [
                f"{'  ' if index else '- '}{key}: {value}"
                for index, (key, value) in enumerate(directive)
            ]
    return "\n".join(lines) + "\n"


def _directives(
    level: LevelMapping, dims: tuple[str, ...], tensors: tuple[str, ...]
) -> Iterable[list[tuple[str, str]]]:
    target = ("target", yaml_word(level.level))
    kept = [tensor for tensor in tensors if tensor in level.keep]
    bypassed = [tensor for tensor in tensors if tensor not in level.keep]
    yield [target, ("type", "bypass"), ("keep", _list(kept)), ("bypass", _list(bypassed))]
    yield [
        target,
        ("type", "temporal"),
        *_nest(level.temporal, dims, level.level),
        *_flag("no_temporal_reuse", level.no_temporal_reuse, tensors),
    ]
    if level.spatial or level.no_multicast or level.no_link_transfer:
        across = sum(each.axis == "X" for each in level.spatial)
        if any(each.axis == "X" for each in level.spatial[: len(level.spatial) - across]):
            raise InputError(
                f"{level.level}: Timeloop's notation cannot have loops along X outside loops"
                " along Y"
            )
        yield [
            target,
            ("type", "spatial"),
            *_nest(level.spatial, dims, level.level),
            ("split", str(across)),
            *_flag("no_multicast_no_reduction", level.no_multicast, tensors),
            *_flag("no_link_transfer", level.no_link_transfer, tensors),
        ]


def _nest(loops: tuple[Loop, ...], dims: tuple[str, ...], level: str) -> list[tuple[str, str]]:
    """`factors` of the loops there are, and a `permutation` of all dimensions, innermost first."""
    inward = [each.dim for each in reversed(loops)]
    if len(set(inward)) < len(inward):
        raise InputError(
            f"{level}: Timeloop's notation has one loop over a dimension, this mapping has several"
        )
    order = [*inward, *(dim for dim in dims if dim not in inward)]
    joint = "," if any(len(dim) > 1 for dim in order) else ""
    factors = " ".join(
        f"{each.dim}={each.bound}" + ("" if each.perfect else f",{each.last}") for each in loops
    )
    return [
        *([("factors", yaml_word(factors))] if loops else []),
        ("permutation", yaml_word(joint.join(order))),
    ]


def _flag(key: str, flagged: frozenset[str], tensors: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(key, _list([tensor for tensor in tensors if tensor in flagged]))] if flagged else []


def _list(words: list[str]) -> str:
    return f"[{', '.join(yaml_word(word) for word in words)}]"


def yaml_word(text: str) -> str:
    """`text` as a YAML scalar, quoted where it could be taken for something else."""
    plain = re.fullmatch(r"[A-Za-z_][\w.=]*([ ,][\w=]+)*", text, re.ASCII) and "," not in text
    reserved = text.lower() in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    return text if plain and not reserved else json.dumps(text)
