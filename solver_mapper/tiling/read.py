"""From an operator file to an operator and its backend."""

from __future__ import annotations

from dataclasses import dataclass

import solver_mapper.tiling.operators  # noqa: F401  (makes SMAUG's operators known)
from solver_mapper.errors import InputError
from solver_mapper.io.yaml.documents import read_documents
from solver_mapper.io.yaml.fields import Fields, text_of
from solver_mapper.io.yaml.source import Sequence, Source, Table
from solver_mapper.tiling.backend import Backend, backend_of, load_backend
from solver_mapper.tiling.given import GivenTiling, read_given
from solver_mapper.tiling.operator import Operator, operator_type

LABELS = ("id", "source", "test")
"""Fields that say where an operator comes from; they have no bearing on its tiling."""


@dataclass(frozen=True)
class TilingJob:
    """An operator to tile, for a backend. `count` is how often a network runs it; `given` is a
    tiling to check instead.
    """

    operator: Operator
    backend: Backend
    count: int = 1
    given: GivenTiling | None = None


def read_operator(source: Source, backend: Source | Backend | None = None) -> TilingJob:
    """The one operator in a file or mapping.

    Args: `backend` overrides the file's; sizes that the file gives (`spad_bytes`, ..) override the
    backend's.
    Raises: InputError with its location.
    """
    return job_of(read_documents(source), load_backend(backend) if backend is not None else None)


def job_of(table: Table, backend: Backend | None) -> TilingJob:
    """The operator that a table describes."""
    fields = Fields(table, "the operator")
    if not fields.has("operator") and fields.has("layers"):
        raise InputError(
            "this is a network, not one operator",
            fields.location_of("layers"),
            "the command 'tile' and solver_mapper.tiling.tile_network take networks",
        )
    word = fields.require("operator")
    cls = operator_type(text_of(word, "'operator'"), word.location)
    named = fields.node("backend")
    chosen = backend or (backend_of(named) if named is not None else load_backend())
    target = sized(fields, chosen)
    fields.ignore(*LABELS)
    name = fields.text("name") or fields.text("id") or cls.kind
    operator = cls.read(name, fields, target)
    count = fields.integer("count", least=1)
    tiling = fields.table_at("tiling")
    given = None if tiling is None else read_given(tiling, operator)
    fields.close()
    return TilingJob(operator, target, count or 1, given)


def is_operator(table: Table) -> bool:
    """Whether a file describes an operator, or a network of operators, for `tile`."""
    layers = table.entries.get("layers")
    first = layers.items[0] if isinstance(layers, Sequence) and layers.items else None
    return "operator" in table.entries or (isinstance(first, Table) and "operator" in first.entries)


def sized(fields: Fields, backend: Backend) -> Backend:
    """The backend with the sizes that a file gives."""
    scratchpad_bytes, element_bytes = (
        fields.integer(word, least=1) for word in ("spad_bytes", "elem_bytes")
    )
    result = backend.resized(scratchpad_bytes, element_bytes, fields.integer("alignment"))
    most = fields.integer("max_tile_elems", least=1)
    if most is not None and any(result.elements(pad) != most for pad in result.scratchpads):
        found = ", ".join(f"{pad.name} {result.elements(pad)}" for pad in result.scratchpads)
        raise InputError(
            f"'max_tile_elems' is {most}, but the scratchpads hold {found} elements",
            fields.location_of("max_tile_elems"),
            "leave it out",
        )
    return result
