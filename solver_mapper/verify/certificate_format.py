"""The certificate file: gzipped JSON lines, a header and the tree in preorder.
docs/explanation/certificate.md describes it.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from solver_mapper.core.files import write_whole
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.verify.boxes import BoxSpace, Split

FORMAT, VERSION = "solver-mapper optimality certificate", 1
_LONGEST = 1 << 26
"""Bytes of a line that are read."""
FLAGS = ("no_temporal_reuse", "no_multicast", "no_link_transfer")


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


def mapping_from_json(space: BoxSpace, levels: list[dict[str, Any]]) -> Mapping:
    """The mapping, with the kinds of reuse that constraints switch off."""
    names, built = space.problem.tensor_names, []
    for number, level in enumerate(levels):
        off = [frozenset(name for name in names if space.off(flag, number, name)) for flag in FLAGS]
        built.append(
            LevelMapping(
                str(level["level"]),
                tuple(loop(str(dim), int(bound)) for dim, bound in level["temporal"]),
                tuple(
                    loop(str(dim), int(bound), str(axis)) for dim, bound, axis in level["spatial"]
                ),
                frozenset(map(str, level["stores"])),
                no_temporal_reuse=off[0],
                no_multicast=off[1],
                no_link_transfer=off[2],
            )
        )
    return Mapping(tuple(built), space.problem.dims, names)


def split_to_json(space: BoxSpace, split: Split) -> list[Any]:
    """A decision by names: the part for which it holds comes first."""
    kind, one, two, value = split
    dims, levels = space.problem.dims, space.architecture.level_names
    if kind == "extent":
        level, loops = space.slots[two - 1]
        return ["extent", dims[one], levels[level], loops, value]
    if kind == "store":
        return ["store", space.problem.tensor_names[one], levels[two]]
    inner = [dims[dim] for dim in range(space.dims) if two >> dim & 1]
    return ["innermost", levels[one], [*inner, None] if two >> space.dims else inner]


def split_from_json(space: BoxSpace, words: list[Any]) -> Split:
    """Raises: ValueError for names that do not exist."""
    dims, levels = space.problem.dims, space.architecture.level_names
    if words[0] == "extent":
        slot = space.slots.index((levels.index(words[2]), words[3]))
        return "extent", dims.index(words[1]), slot + 1, int(words[4])
    if words[0] == "store":
        return "store", space.problem.tensor_names.index(words[1]), levels.index(words[2]), 0
    if words[0] != "innermost":
        raise ValueError(f"unknown decision {words[0]}")
    mask = sum(1 << (space.dims if dim is None else dims.index(dim)) for dim in words[2])
    return "innermost", levels.index(words[1]), mask, 0


def ratio(text: str) -> Fraction:
    """A number as certificates write it: "3/7"."""
    return Fraction(text)


def write_lines(path: Path, lines: Iterable[Any]) -> None:
    """Raises: InputError if the file cannot be written."""
    try:
        raw = io.BytesIO()
        with gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as file:
            for line in lines:
                file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        write_whole(path, raw.getvalue())
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", SourceLocation(str(path))
        ) from None


def read_lines(path: Path) -> Iterator[Any]:
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
