"""Reading `problem`: its shape (dimensions, coefficients, dataspaces) and the instance's bounds."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from solver_mapper.core.problem import Problem, Tensor, Term
from solver_mapper.errors import InputError, SourceLocation, did_you_mean, unknown_name
from solver_mapper.io.timeloop.constraints.targets import ALL
from solver_mapper.io.timeloop.factor_grammar import is_dimension_name
from solver_mapper.io.timeloop.problem_shapes import SHAPES, known_shape
from solver_mapper.io.yaml.fields import (
    Fields,
    integer_of,
    normal,
    number_of,
    sequence_of,
    table_of,
    text_of,
)
from solver_mapper.io.yaml.scope import Scope
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table
from solver_mapper.io.yaml.warnings import Notes

_DEFAULT_SHAPE = "cnn-layer"
_LARGEST_BOUND = 2**31 - 1
_TYPO = 0.75
_NO_TERM = (
    "a term with coefficient 0 moves nothing: leave the term out of the projection if that is"
    " meant, or give the stride or dilation"
)
_FACTS = ("h", "w", "hpad", "wpad", "name")
"""What layer files often say beside what their shape uses: the size of the input and its padding.
"""


@dataclass(frozen=True)
class _Shape:
    name: str
    dims: tuple[str, ...]
    defaults: dict[str, int | None]
    tensors: tuple[Node, ...]


def read_problem(node: Node, notes: Notes, scope: Scope | None = None) -> Problem:
    """The problem under the top-level key `problem`; `scope` holds the names that its numbers may
    use.

    Raises: InputError for unknown dimensions and coefficients and missing bounds.
    """
    refuse_list(node)
    table = table_of(node, "the problem")
    fields = Fields(table, "the problem", exact=True, scope=scope)
    shape = _read_shape(fields, notes)
    inner = fields.table_at("instance")
    instance = (
        fields
        if inner is None
        else Fields(inner, "the instance of the problem", exact=True, scope=scope)
    )
    bounds, locations = _read_bounds(instance, shape)
    coefficients = {
        name: _coefficient(instance, name, default) for name, default in shape.defaults.items()
    }
    for each in {id(fields): fields, id(instance): instance}.values():
        _note_densities(each, notes)
    fields.ignore("name", "version")
    if inner is not None:
        _finish_instance(instance, coefficients, notes)
    fields.close()
    tensors = tuple(_read_tensor(each, shape.dims, coefficients) for each in shape.tensors)
    _check_tensors(tensors, table.location)
    return Problem(shape.name, shape.dims, bounds, tensors, table.location, locations)


def refuse_list(node: Node | None) -> None:
    """Raises: InputError for several problems in one list."""
    if isinstance(node, Sequence):
        raise InputError(
            "the problem must be a mapping, not a list",
            node.location,
            "several Einsums are given as 'workload: {einsums: [...]}'; pytimeloop's list of"
            " problems is not read",
        )


def _read_shape(fields: Fields, notes: Notes) -> _Shape:
    node = fields.node("shape")
    if node is None:
        notes.add(
            "assumed-shape",
            fields.location,
            f"the problem has no 'shape'; '{_DEFAULT_SHAPE}' is assumed, as Timeloop does",
        )
        node = Scalar(_DEFAULT_SHAPE, fields.location)
    if isinstance(node, Scalar):
        known = known_shape(node)
        if known is None:
            raise unknown_name("problem shape", node.text, SHAPES, node.location)
        node = known
    shape = Fields(table_of(node, "the problem's shape"), "the problem's shape")
    name = shape.text("name") or "problem"
    dims = _read_dims(shape.require("dimensions"))
    defaults: dict[str, int | None] = {}
    coefficients = shape.sequence_at("coefficients")
    for each in () if coefficients is None else coefficients.items:
        coefficient = Fields(table_of(each, "a coefficient"), "a coefficient")
        word = text_of(coefficient.require("name"), "the name of a coefficient")
        default = coefficient.node("default")
        defaults[word] = (
            None if default is None else _whole(default, f"the default of coefficient '{word}'")
        )
        coefficient.close()
    if shape.has("flatten"):
        raise InputError("flattened dimensions are not modelled", shape.location_of("flatten"))
    tensors = sequence_of(
        shape.require("data-spaces", "data_spaces", "dataspaces"),
        "'data-spaces' of the problem's shape",
    )
    shape.ignore("version")
    shape.close()
    return _Shape(name, dims, defaults, tensors.items)


def _read_dims(node: Node) -> tuple[str, ...]:
    items = sequence_of(node, "'dimensions' of the problem's shape").items
    dims: list[str] = []
    for item in items:
        word = text_of(item, "a dimension")
        if not is_dimension_name(word):
            raise InputError(
                f"'{word}' is not a name for a dimension",
                item.location,
                "begin with a letter, then use letters, digits and '_'",
            )
        if word in dims:
            raise InputError(f"dimension '{word}' is listed twice", item.location)
        dims.append(word)
    if not dims:
        raise InputError("the problem's shape has no dimensions", node.location)
    return tuple(dims)


def _read_bounds(
    instance: Fields, shape: _Shape
) -> tuple[dict[str, int], dict[str, SourceLocation]]:
    bounds: dict[str, int] = {}
    locations: dict[str, SourceLocation] = {}
    for dim in shape.dims:
        node = instance.node(dim)
        if node is None:
            raise InputError(
                f"{instance.what} lacks a bound for dimension '{dim}'",
                instance.location,
                f"add '{dim}: 1' or larger",
            )
        bounds[dim], locations[dim] = (
            integer_of(node, f"the bound of dimension '{dim}'", 1, instance.scope),
            node.location,
        )
        if bounds[dim] > _LARGEST_BOUND:
            raise InputError(
                f"the bound of dimension '{dim}' is larger than {_LARGEST_BOUND}", node.location
            )
    return bounds, locations


def _whole(node: Node, what: str) -> int:
    value = number_of(node, what)
    if value.denominator != 1 or value == 0:
        raise InputError(
            f"{what} must be a whole number other than 0",
            node.location,
            None if value else _NO_TERM,
        )
    return int(value)


def _coefficient(instance: Fields, name: str, default: int | None) -> int:
    node = instance.node(name)
    if node is not None:
        return _whole(node, f"coefficient '{name}'")
    if default is None:
        raise InputError(
            f"{instance.what} lacks a value for coefficient '{name}', which has no default",
            instance.location,
        )
    return default


def _finish_instance(instance: Fields, coefficients: dict[str, int], notes: Notes) -> None:
    """Instances may carry facts about a layer that its shape does not use. Misspelt coefficients
    are refused, but for letter case: public layer files spell `HStride` so, and are known by
    figures in which it is not read.
    """
    folded = {name.lower(): name for name in instance.known}
    for key, location in instance.leftovers():
        close = difflib.get_close_matches(
            key.lower(), [name for name in folded if len(name) > 1], n=1, cutoff=_TYPO
        )
        meant = folded.get(key.lower())
        if meant in coefficients:
            what = (
                f"'{key}' is not read, as in Timeloop: '{meant}' stays {coefficients[meant]}; did"
                f" you mean '{meant}'?"
            )
            notes.add("misspelt-coefficient", location, what)
        elif close or meant is not None:
            raise InputError(
                f"'{key}' is neither a dimension nor a coefficient of the problem",
                location,
                f"did you mean '{meant or folded[close[0]]}'?",
            )
        elif normal(key) not in _FACTS:
            notes.add(
                "unused-fact",
                location,
                f"'{key}' is neither a dimension nor a coefficient of the problem; it is not read",
            )


def _note_densities(fields: Fields, notes: Notes) -> None:
    """Densities other than 1 change no figure unless there are sparse optimizations, which are
    refused: without any, Timeloop's `PerformSparseProcessing` leaves every tensor dense.
    """
    for name in ("densities", "commonDensity"):
        node = fields.node(name)
        parts = node.entries.values() if isinstance(node, Table) else [] if node is None else [node]
        for part in parts:
            if isinstance(part, Scalar) and number_of(part, f"a density in '{name}'") == 1:
                continue
            what = f"densities other than 1 in '{name}'"
            if notes.ignore_sparse:
                notes.sparse(part.location, what)
            else:
                text = f"{what} change no figure without sparse optimizations, as in Timeloop"
                notes.add("unused-density", part.location, f"{text}: all tensors are dense")


def _read_tensor(node: Node, dims: tuple[str, ...], coefficients: dict[str, int]) -> Tensor:
    fields = Fields(table_of(node, "a data-space"), "a data-space")
    word = fields.require("name")
    name = text_of(word, "the name of a data-space")
    if name.strip() in ("", ALL):
        raise InputError(
            f"'{name}' is not a name for a data-space",
            word.location,
            f"use a word; in mappings '{ALL}' means all data-spaces",
        )
    fields.what = f"data-space '{name}'"
    read_write = fields.flag("read-write") or False
    projection = sequence_of(fields.require("projection"), f"the projection of '{name}'")
    fields.close()
    ranks = tuple(_read_rank(rank, name, dims, coefficients) for rank in projection.items)
    return Tensor(name, ranks, read_write, node.location)


def _read_rank(
    node: Node, name: str, dims: tuple[str, ...], coefficients: dict[str, int]
) -> tuple[Term, ...]:
    """A rank is a dimension, or a sum of terms `[dim]` and `[dim, coefficient]`."""
    what = f"the projection of '{name}'"
    if isinstance(node, Scalar):
        return (Term(_dim(node, what, dims)),)
    terms = []
    for item in sequence_of(node, f"a rank in {what}").items:
        parts = item.items if isinstance(item, Sequence) else (item,)
        if not 1 <= len(parts) <= 2:
            raise InputError(
                f"a term in {what} must be [dimension] or [dimension, coefficient]", item.location
            )
        coefficient = _coefficient_of(parts[1], what, coefficients) if len(parts) == 2 else 1
        terms.append(Term(_dim(parts[0], what, dims), coefficient))
    if not terms:
        raise InputError(f"{what} has an empty rank", node.location)
    return tuple(terms)


def _dim(node: Node, what: str, dims: tuple[str, ...]) -> str:
    word = text_of(node, f"a dimension in {what}")
    if word not in dims:
        raise unknown_name("dimension", word, dims, node.location)
    return word


def _coefficient_of(node: Node, what: str, coefficients: dict[str, int]) -> int:
    word = text_of(node, f"a coefficient in {what}")
    if word in coefficients:
        return coefficients[word]
    if word.lstrip("+-")[:1].isdigit():
        return _whole(node, f"a coefficient in {what}")
    raise InputError(
        f"unknown coefficient '{word}'", node.location, did_you_mean(word, coefficients)
    )


def _check_tensors(tensors: tuple[Tensor, ...], location: SourceLocation) -> None:
    if not tensors:
        raise InputError("the problem's shape has no data-spaces", location)
    seen: dict[str, Tensor] = {}
    for tensor in tensors:
        if tensor.name in seen:
            raise InputError(
                f"two data-spaces are called '{tensor.name}', one at {seen[tensor.name].location}",
                tensor.location,
            )
        seen[tensor.name] = tensor
