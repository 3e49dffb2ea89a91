"""The certificate file: gzipped JSON lines, a header and the tree in preorder.
docs/explanation/certificate.md describes it.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from solver_mapper.core.constraints import ReuseConstraint
from solver_mapper.core.files import file_errors, write_whole
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError, SourceLocation

FORMAT, VERSION = "solver-mapper optimality certificate", 4
_LONGEST = 1 << 26
"""Bytes of a line that are read."""


@dataclass(frozen=True)
class Check:
    """`holds`, or a `reason` why not; how many `nodes` and `leaves` were read, and `evaluated`
    mappings.
    """

    holds: bool
    reason: str
    nodes: int
    leaves: int
    evaluated: int

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "holds": self.holds,
            "reason": self.reason,
            "nodes": self.nodes,
            "leaves": self.leaves,
            "evaluated_mappings": self.evaluated,
        }

    def __str__(self) -> str:
        if not self.holds:
            return f"The certificate is refused: {self.reason}"
        return (
            f"The certificate holds: {self.reason} ({self.nodes:,} nodes, {self.leaves:,} leaves, "
            f"{self.evaluated:,} mappings evaluated)"
        )


def digest(spec: Spec) -> str:
    """SHA-256 of the architecture, the problem and the constraints, wherever they were written."""
    parts = [spec.need_architecture(), spec.need_problem(), list(spec.constraints)]
    return sha256(json.dumps([_plain(part) for part in parts]).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """A value as JSON, without what takes no part in comparisons (places in files, messages)."""
    if is_dataclass(value):
        kept = {
            each.name: _plain(getattr(value, each.name)) for each in fields(value) if each.compare
        }
        return [type(value).__name__, kept]
    if isinstance(value, dict):
        return [[_plain(key), _plain(each)] for key, each in value.items()]
    if isinstance(value, (frozenset, set)):
        return sorted((_plain(each) for each in value), key=json.dumps)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, (str, bool, int)) else str(value)


def mapping_to_json(mapping: Mapping) -> list[dict[str, Any]]:
    """Level by level; loops outer to inner."""
    return [
        {
            "level": level.level,
            "temporal": [[each.dim, each.bound] for each in level.temporal if each.bound > 1],
            "spatial": [
                [each.dim, each.bound, each.axis] for each in level.spatial if each.bound > 1
            ],
            "stores": sorted(level.keep),
        }
        for level in mapping.levels
    ]


def assembled(
    spec: Spec,
    temporal: Sequence[Sequence[Loop]],
    spatial: Sequence[Sequence[Loop]],
    stores: Sequence[Iterable[str]],
) -> Mapping:
    """The mapping with these loops and stored tensors at each level, in which reuse is off where
    constraints say so."""

    def off(flag: str, level: str) -> frozenset[str]:
        named = [x for x in spec.constraints if isinstance(x, ReuseConstraint)]
        some = [x.tensors for x in named if (x.flag, x.level) == (flag, level)]
        return frozenset().union(*some)

    levels = tuple(
        LevelMapping(
            name,
            tuple(outer),
            tuple(inner),
            frozenset(stored),
            off("no_temporal_reuse", name),
            off("no_multicast", name),
            off("no_link_transfer", name),
        )
        for name, outer, inner, stored in zip(
            spec.need_architecture().level_names, temporal, spatial, stores, strict=True
        )
    )
    problem = spec.need_problem()
    return Mapping(levels, problem.dims, problem.tensor_names)


def write_lines(path: Path, lines: Iterable[Any]) -> None:
    """Raises: InputError if the file cannot be written."""
    with file_errors(path):
        raw = io.BytesIO()
        with gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as file:
            for line in lines:
                file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        write_whole(path, raw.getvalue())


def read_certificate(path: Path) -> tuple[dict[str, Any], Iterator[Any]]:
    """The header, and the nodes.

    Raises: InputError if the file is no certificate of this version.
    """
    lines = _read_lines(path)
    header = next(lines, None)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("this is no optimality certificate", SourceLocation(str(path), 1))
    if header.get("version") != VERSION:
        message = f"version {header.get('version')} of the format is not known"
        raise InputError(message, SourceLocation(str(path), 1), f"this program reads {VERSION}")
    return header, lines


def _read_lines(path: Path) -> Iterator[Any]:
    """Raises: InputError for what is no file of gzipped JSON lines."""
    number = 0
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(_LONGEST):
                number += 1
                if len(line) == _LONGEST:
                    raise ValueError(f"a line has more than {_LONGEST:,} bytes")
                yield json.loads(line)
    except FileNotFoundError:
        raise InputError("no such file", SourceLocation(str(path))) from None
    except (OSError, EOFError, ValueError, zlib.error, RecursionError) as error:
        location = SourceLocation(str(path), number or None)
        raise InputError(f"this is no certificate: {error}", location) from None
