"""The accelerator that tiles are cut for: scratchpads, storage format, and what its datapath asks
of a tile. Data, not code.

A backend is a YAML file with `backend:` at its top; `models/backends/smv.yaml` is the default and
shows every field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from solver_mapper.errors import (
    NOWHERE,
    InputError,
    SourceLocation,
    about_argument,
    did_you_mean,
    unknown_name,
)
from solver_mapper.io import bundled
from solver_mapper.io.yaml.documents import read_one
from solver_mapper.io.yaml.fields import Fields, integer_of, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar, Source, Table
from solver_mapper.tiling.tensors import storage

DEFAULT = "smv"
UNTILED = "None"
_DIMS = re.compile(r"DimN[CHW]{0,3}")
_WHOLE_RANK = "all"


@dataclass(frozen=True)
class Scratchpad:
    """`holds` names the tensors that share these bytes."""

    name: str
    bytes: int
    holds: tuple[str, ...]
    location: SourceLocation = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class TileRule:
    """The least tile of a tensor and the steps by which it grows, one word or number per rank."""

    least: tuple[Scalar, ...]
    step: tuple[Scalar, ...]
    location: SourceLocation = field(default=NOWHERE, compare=False)

    def numbers(
        self, words: tuple[Scalar, ...], sizes: tuple[int, ...], known: Mapping[str, int]
    ) -> tuple[int, ...]:
        """The values of `words` for a tensor of these sizes.

        Raises: InputError for a word that neither the backend nor the operator defines.
        """
        if len(words) != len(sizes):
            raise InputError(
                f"{len(words)} ranks are listed, the tensor has {len(sizes)}", self.location
            )
        return tuple(
            self._number(word, size, known) for word, size in zip(words, sizes, strict=True)
        )

    def _number(self, word: Scalar, size: int, known: Mapping[str, int]) -> int:
        if word.text == _WHOLE_RANK:
            return size
        if word.text in known:
            return known[word.text]
        if word.text.isdecimal() and int(word.text) > 0:
            return int(word.text)
        raise unknown_name("size", word.text, (_WHOLE_RANK, *known), word.location)


@dataclass(frozen=True)
class Backend:
    """Sizes: `element_bytes` bytes an element, the last rank of every stored box padded to
    `alignment` elements.

    `preference` orders the tiling dims that step 1 tries. `units` are named widths of the datapath,
    `tiles[kind][tensor]` the rules in terms of them.
    """

    name: str
    element_bytes: int
    alignment: int
    scratchpads: tuple[Scratchpad, ...]
    units: Mapping[str, int]
    preference: tuple[str, ...]
    tiles: Mapping[str, Mapping[str, TileRule]]
    location: SourceLocation = field(default=NOWHERE, compare=False)

    def scratchpad(self, tensor: str) -> Scratchpad:
        """The scratchpad that holds `tensor`.

        Raises: InputError if there is none.
        """
        for each in self.scratchpads:
            if tensor in each.holds:
                return each
        known = sorted({name for each in self.scratchpads for name in each.holds})
        raise InputError(
            f"no scratchpad of backend '{self.name}' holds '{tensor}'",
            self.location,
            did_you_mean(tensor, known),
        )

    def elements(self, scratchpad: Scratchpad) -> int:
        """Elements that fit into a scratchpad."""
        return scratchpad.bytes // self.element_bytes

    def capacity(self, tensor: str) -> int:
        """Elements that fit into the scratchpad of `tensor`, were it alone there."""
        return self.elements(self.scratchpad(tensor))

    def storage(self, sizes: tuple[int, ...]) -> int:
        """Elements that a box occupies."""
        return storage(sizes, self.alignment)

    def groups(self, tensors: tuple[str, ...]) -> tuple[tuple[Scratchpad, tuple[str, ...]], ...]:
        """Each scratchpad that these tensors use, with those of them that share it."""
        shared = [
            (pad, tuple(tensor for tensor in tensors if self.scratchpad(tensor) is pad))
            for pad in self.scratchpads
        ]
        return tuple((pad, held) for pad, held in shared if held)

    def resized(
        self, scratchpad_bytes: int | None, element_bytes: int | None, alignment: int | None
    ) -> Backend:
        """The same backend with other sizes; None keeps a size. `scratchpad_bytes` applies to every
        scratchpad.
        """
        pads = tuple(
            replace(pad, bytes=pad.bytes if scratchpad_bytes is None else scratchpad_bytes)
            for pad in self.scratchpads
        )
        return replace(
            self,
            scratchpads=pads,
            element_bytes=self.element_bytes if element_bytes is None else element_bytes,
            alignment=self.alignment if alignment is None else alignment,
        )


def load_backend(source: Source | Backend | None = None) -> Backend:
    """A backend from a shipped name ("smv"), a path, a file, or a mapping with `backend:`; None is
    the default.

    Raises: InputError with the location of what is wrong.
    """
    if isinstance(source, Backend):
        return source
    if source is None:
        return shipped(DEFAULT)
    if isinstance(source, str) and not bundled.is_file(source):
        with about_argument("backend"):
            return shipped(source)
    top = Fields(read_one(source), "the file")
    backend = read_backend(table_of(top.require("backend"), "'backend'"))
    top.close()
    return backend


def backend_of(node: Node) -> Backend:
    """The backend that an operator file names or spells out."""
    return (
        read_backend(node)
        if isinstance(node, Table)
        else shipped(text_of(node, "'backend'"), node.location)
    )


@cache
def _read_shipped(name: str) -> Backend:
    return load_backend(bundled.path("backends", f"{name}.yaml"))


def shipped(name: str, location: SourceLocation = NOWHERE) -> Backend:
    """A backend that comes with the package."""
    if name not in bundled.names("backends"):
        raise unknown_name("backend", name, bundled.names("backends"), location)
    return _read_shipped(name)


def read_backend(table: Table) -> Backend:
    """The fields under `backend:`."""
    fields = Fields(table, "the backend")
    name = text_of(fields.require("name"), "'name'")
    element_bytes = integer_of(fields.require("element_bytes"), "'element_bytes'", 1)
    alignment = integer_of(fields.require("alignment"), "'alignment'")
    pads = tuple(
        _read_scratchpad(item)
        for item in sequence_of(fields.require("scratchpads"), "'scratchpads'").items
    )
    units = fields.table_at("units")
    preference = tuple(
        _read_dims(item) for item in sequence_of(fields.require("preference"), "'preference'").items
    )
    tiles = fields.table_at("tiles")
    fields.close()
    _check_scratchpads(pads, fields.location)
    return Backend(
        name,
        element_bytes,
        alignment,
        pads,
        (
            {}
            if units is None
            else {word: integer_of(node, f"'{word}'", 1) for word, node in units.entries.items()}
        ),
        preference,
        (
            {}
            if tiles is None
            else {kind: _read_rules(kind, node) for kind, node in tiles.entries.items()}
        ),
        table.location,
    )


def _read_scratchpad(node: Node) -> Scratchpad:
    fields = Fields(table_of(node, "a scratchpad"), "a scratchpad")
    name = text_of(fields.require("name"), "'name'")
    size = integer_of(fields.require("bytes"), "'bytes'", 1)
    holds = sequence_of(fields.require("holds"), "'holds'")
    fields.close()
    return Scratchpad(
        name, size, tuple(text_of(item, "a tensor") for item in holds.items), node.location
    )


def _check_scratchpads(pads: tuple[Scratchpad, ...], location: SourceLocation) -> None:
    if not pads:
        raise InputError("the backend has no scratchpad", location)
    seen: dict[str, str] = {}
    for pad in pads:
        for tensor in pad.holds:
            if tensor in seen:
                raise InputError(
                    f"'{tensor}' is held by '{seen[tensor]}' and by '{pad.name}'",
                    pad.location,
                    "keep one of them",
                )
            seen[tensor] = pad.name


def _read_dims(node: Node) -> str:
    word = text_of(node, "tiling dims")
    if word != UNTILED and (not _DIMS.fullmatch(word) or len(set(word[3:])) != len(word[3:])):
        raise InputError(
            f"'{word}' is not a choice of tiling dims",
            node.location,
            "write None, or DimN and letters of C, H and W",
        )
    return word


def _read_rules(kind: str, node: Node) -> dict[str, TileRule]:
    return {
        name: _read_rule(f"{name} of {kind}", rule)
        for name, rule in table_of(node, f"'{kind}'").entries.items()
    }


def _read_rule(what: str, node: Node) -> TileRule:
    fields = Fields(table_of(node, what), what)
    lists = [
        sequence_of(fields.require(word), f"'{word}' of {what}").items for word in ("least", "step")
    ]
    fields.close()
    for item in (*lists[0], *lists[1]):
        if not isinstance(item, Scalar):
            raise InputError(f"sizes of {what} are words and numbers", item.location)
    least, step = (tuple(item for item in each if isinstance(item, Scalar)) for each in lists)
    return TileRule(least, step, node.location)
