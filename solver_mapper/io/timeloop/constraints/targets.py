"""What directives are about: levels, by name, by number or by the name of a group; and tensors."""

from __future__ import annotations

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.problem import Problem
from solver_mapper.errors import InputError, SourceLocation, unknown_name
from solver_mapper.io.timeloop.architecture.architecture_chain import count_of
from solver_mapper.io.yaml.fields import Fields, sequence_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar, Sequence
from solver_mapper.io.yaml.warnings import Notes

ALL = "*"
KEEP_TYPES = ("datatype", "bypass", "bypassing", "dataspace")
FLAGS = {
    "temporal": (("no_temporal_reuse", ("no_temporal_reuse", "no_reuse")),),
    "spatial": (
        ("no_multicast", ("no_multicast_no_reduction", "no_reuse")),
        ("no_link_transfer", ("no_link_transfer",)),
    ),
}
"""Kinds of reuse that directives of each kind can switch off, with the keys that say so."""
_NOT_MODELLED = ("rmw_first_update", "no_coalesce")


def target_level(node: Node, architecture: Architecture, kind: str) -> str:
    """The level that the `target` of a directive of type `kind` names, or counts from the
    innermost, which is 0.
    """
    word = _without_range(node, architecture)
    names = architecture.level_names
    if kind == "spatial" and word in architecture.fanouts:
        return architecture.fanouts[word]
    if word in names:
        return word
    if word.isdecimal() and len(word) < 6:
        if int(word) >= len(names):
            raise InputError(
                f"there is no level {word}",
                node.location,
                f"levels run from 0 ('{names[-1]}') to {len(names) - 1}",
            )
        return names[-1 - int(word)]
    raise unknown_name(
        "level", word, [*names, *architecture.groups, *architecture.fanouts], node.location
    )


def target_levels(node: Node, architecture: Architecture, kind: str) -> tuple[str, ...]:
    """Like `target_level`, but the name of a subtree stands for all levels in it."""
    word = _without_range(node, architecture)
    own = word in architecture.level_names or (kind == "spatial" and word in architecture.fanouts)
    if word in architecture.groups and not own:
        return architecture.groups[word]
    return (target_level(node, architecture, kind),)


def _without_range(node: Node, architecture: Architecture) -> str:
    """The name that `PE` or `PE[0..15]` gives.

    Raises: InputError for a range that is none, or that does not divide the instances of the level.
    """
    name, count = count_of(text_of(node, "a target"), node.location)
    level = next((each for each in architecture.levels if each.name == name), None)
    if level is not None and level.instances % count:
        raise InputError(
            f"'{text_of(node, 'a target')}' has {count} instances; the architecture has"
            f" {level.instances} of '{name}'",
            node.location,
            f"write '{name}'",
        )
    return name


def read_split(kind: str, fields: Fields, problem: Problem, notes: Notes) -> int | None:
    """How many positions of the permutation, innermost first, lie along X; a warning where there
    are fewer.

    Raises: InputError on temporal loops, which lie along no axis.
    """
    if kind == "temporal" and fields.has("split"):
        raise InputError(
            f"{fields.what} has a 'split', but temporal loops lie along no axis of a mesh",
            fields.location_of("split"),
            "move it to the spatial directive, or remove it",
        )
    split = fields.integer("split")
    if split is not None and split > len(problem.dims):
        notes.add(
            "split-above-loops",
            fields.location_of("split"),
            f"split {split} of {fields.what} is above the {len(problem.dims)} loops that there are:"
            " all of them lie along X",
        )
    return split


def read_tensors(node: Node, problem: Problem, what: str) -> tuple[tuple[str, SourceLocation], ...]:
    """A list of tensor names with their locations; a single name counts as a list, and `*` means
    all tensors.
    """
    items = (
        (node,) if isinstance(node, Scalar) and not node.is_null else sequence_of(node, what).items
    )
    found: dict[str, SourceLocation] = {}
    for item in items:
        word = text_of(item, f"a tensor in {what}")
        if word != ALL and word not in problem.tensor_names:
            raise unknown_name("tensor", word, problem.tensor_names, item.location)
        for name in problem.tensor_names if word == ALL else (word,):
            found.setdefault(name, item.location)
    return tuple(found.items())


def refuse_unmodelled(fields: Fields) -> None:
    """Raise InputError for switches of Timeloop's newest versions that would change figures here
    without effect.
    """
    for name in _NOT_MODELLED:
        node = fields.node(name)
        if node is not None and not (isinstance(node, Sequence) and not node.items):
            raise InputError(f"'{name}' is not modelled", node.location)
