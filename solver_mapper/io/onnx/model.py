"""An ONNX model as a network: its layers with counts, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.onnx.layers import ImportedLayer, Unsupported, layers_of
from solver_mapper.io.onnx.shapes import Operation, OperationGraph, read_graph

_MULTIPLY = ("Einsum", "LSTM", "GRU", "RNN", "DeformConv")
"""Operations that multiply and accumulate, and of which nothing is known here."""


@dataclass(frozen=True)
class Skipped:
    """Operations of one kind that are left out. `macs` is None where they multiply and it is not
    known how often.
    """

    kind: str
    count: int
    macs: int | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {"kind": self.kind, "count": self.count, "macs": self.macs, "reason": self.reason}


@dataclass(frozen=True)
class ImportedModel:
    """The layers of a model, equal ones as one with a count, in the order of their first
    appearance.
    """

    title: str
    file: str
    layers: tuple[ImportedLayer, ...]
    skipped: tuple[Skipped, ...]

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all layers."""
        return sum(layer.count * layer.macs for layer in self.layers)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out: a line for each kind of operation that multiplies, with its share of
        the MACs, and one for all others.
        """
        known = self.macs + sum(each.macs or 0 for each in self.skipped)
        lines = [
            f"left out: {each.count} x {each.kind}, {_share(each.macs, known)}{each.reason}"
            for each in self.skipped
            if each.macs != 0
        ]
        others = ", ".join(f"{each.count} x {each.kind}" for each in self.skipped if each.macs == 0)
        return (*lines, f"left out, without MACs: {others}") if others else tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        layers = [{**each.to_dict(), "macs": each.macs} for each in self.layers]
        return {
            "title": self.title,
            "macs": self.macs,
            "layers": layers,
            "skipped": [each.to_dict() for each in self.skipped],
        }

    def to_yaml(self) -> str:
        """The network as a file that `solve` and `sweep` read."""
        head = f"# Imported from {Path(self.file).name}: {self.macs:,} multiply-accumulates.\n"
        notes = "".join(f"# {note}\n" for note in self.notes)
        title = yaml.safe_dump(
            {"network": {"title": self.title}}, sort_keys=False, allow_unicode=True
        )
        lines = [_line(each) for each in self.layers]
        return f"{head}{notes}\n{title}layers:\n" + "".join(lines)

    def __str__(self) -> str:
        return self.to_yaml().rstrip("\n")


def import_model(path: str | Path, dims: Mapping[str, int] | None = None) -> ImportedModel:
    """Read an ONNX model.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name.
    Raises: InputError for a file that is no ONNX model, for sizes that are not known, and for a
    model without layers.
    """
    if not isinstance(path, (str, Path)):
        raise InputError(f"the model is {path!r:.60}; the path of a file is needed")
    graph = read_graph(path, dims)
    layers: list[ImportedLayer] = []
    skipped: dict[tuple[str, str], Skipped] = {}
    for operation in graph.operations:
        found, left_out = _import(operation, graph)
        layers += found
        if left_out is not None:
            key = (left_out.kind, left_out.reason)
            skipped[key] = _joined(skipped.get(key), left_out)
    if not layers:
        raise InputError(
            "the model has no convolutions or matrix products", SourceLocation(str(path))
        )
    return ImportedModel(graph.name, str(path), _counted(layers), tuple(skipped.values()))


def _import(
    operation: Operation, graph: OperationGraph
) -> tuple[tuple[ImportedLayer, ...], Skipped | None]:
    try:
        found = layers_of(operation, graph)
    except Unsupported as error:
        return (), Skipped(operation.kind, 1, error.macs, f"; {error.reason}")
    except (IndexError, ValueError):
        raise InputError(
            f"'{operation.name}' ({operation.kind}) has tensors of unexpected shapes",
            SourceLocation(graph.file),
        ) from None
    if found is not None:
        return found, None
    if operation.nested:
        return (), Skipped(operation.kind, 1, None, "; what its branches contain is not read")
    return (), Skipped(
        operation.kind,
        1,
        None if operation.kind.rsplit(".", 1)[-1] in _MULTIPLY or "." in operation.kind else 0,
        "",
    )


def _joined(old: Skipped | None, new: Skipped) -> Skipped:
    if old is None:
        return new
    macs = None if old.macs is None or new.macs is None else old.macs + new.macs
    return replace(old, count=old.count + new.count, macs=macs)


def _counted(layers: list[ImportedLayer]) -> tuple[ImportedLayer, ...]:
    """Equal layers as one, named for the first."""
    found: dict[tuple[str, frozenset[tuple[str, int]]], ImportedLayer] = {}
    for layer in layers:
        key = (layer.shape, frozenset(layer.instance.items()))
        old = found.get(key)
        found[key] = layer if old is None else replace(old, count=old.count + layer.count)
    return tuple(found.values())


def _share(macs: int | None, total: int) -> str:
    if macs is None:
        return "MACs unknown"
    return f"{macs:,} MACs ({100 * macs / total:.3g} %)"


def _line(layer: ImportedLayer) -> str:
    text = yaml.safe_dump(
        layer.to_dict(), default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True
    ).strip()
    return f"- {text}\n"
