"""Which Einsums of a workload differ in names only, so that what is found for one holds for the
other.

Networks repeat their layers. Two Einsums are alike if some renaming of tensors, rank variables and
the Einsum itself turns all that the search sees of one into what it sees of the other: its bounds
and projections, the units with their numbers for its tensors, and every choice of memories.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from solver_mapper.cost.looptree.mapping.mapping_tree import Leaf, Spatial, Storage, Temporal, Toll
from solver_mapper.cost.looptree.workload import Einsum


@dataclass(frozen=True)
class Form:
    """What an Einsum is but for its names, and its names: tensors, then rank variables."""

    shape: Hashable
    names: tuple[str, ...]


def form_of(einsum: Einsum, *seen: Any) -> Form:
    """The form of an Einsum and of everything else that the search sees of it. An Einsum that uses
    one name for two things has a form of its own.

    Args: `seen`, dataclasses, mappings, tuples, sets, strings and numbers.
    """
    names = (*einsum.tensors, *einsum.variables)
    if len(set(names)) < len(names):
        return Form(object(), names)
    tokens = {name: (index,) for index, name in enumerate(names)}
    plain = replace(
        einsum,
        name="",
        accesses=tuple(replace(access, rank_names=()) for access in einsum.accesses),
    )
    return Form(tuple(_shape(each, tokens) for each in (plain, *seen)), names)


Renamed = TypeVar("Renamed", bound=Leaf)


def renamed(node: Renamed, names: Mapping[str, str], einsum: str) -> Renamed:
    """A node of one Einsum's mapping with the names of another, which is called `einsum`."""
    if isinstance(node, (Storage, Toll)):
        return replace(node, tensors=tuple(names[tensor] for tensor in node.tensors))
    if isinstance(node, (Temporal, Spatial)):
        return replace(node, variable=names[node.variable])
    return replace(node, einsum=einsum)


def _shape(value: Any, tokens: Mapping[str, tuple[int]]) -> Hashable:
    """A value with names replaced by their numbers, to be compared and hashed."""
    if isinstance(value, str):
        return tokens.get(value, value)
    if is_dataclass(value) and not isinstance(value, type):
        return (
            type(value).__name__,
            *(_shape(getattr(value, name), tokens) for name in _compared(type(value))),
        )
    if isinstance(value, Mapping):
        return frozenset((_shape(key, tokens), _shape(item, tokens)) for key, item in value.items())
    if isinstance(value, (frozenset, set)):
        return frozenset(_shape(item, tokens) for item in value)
    if isinstance(value, (tuple, list)):
        return tuple(_shape(item, tokens) for item in value)
    hashed: Hashable = value
    return hashed


@cache
def _compared(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass that make a difference."""
    return tuple(field.name for field in fields(kind) if field.compare)
