"""The network of a study: what a name, a file or a list of layers stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.io import bundled
from solver_mapper.io.bundled import LayerNetwork, read_network
from solver_mapper.io.onnx.model import ImportedModel, import_model
from solver_mapper.io.templates import TemplateOptions
from solver_mapper.io.yaml.bounded import read_file
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.source import Table, from_python

PYTHON = SourceLocation("<python>")
NetworkLike = (
    str
    | Path
    | LayerNetwork
    | ImportedModel
    | Mapping[str, Any]
    | Iterable[tuple[str, int, Mapping[str, Any]]]
)
_LAYERS = re.compile(rb"""^(?:\{\s*)?["']?layers["']?[ \t]*:""", re.MULTILINE)


def is_network(word: str) -> bool:
    """Whether a word of the command line is a network: a file with layers, or the name of a bundled
    network.
    """
    if not bundled.is_file(word):
        return bundled.network(word) is not None
    if is_onnx(word):
        return True
    try:
        return _LAYERS.search(read_file(word)) is not None
    except InputError:
        return False


def is_onnx(source: str | Path) -> bool:
    """Whether the name of a file is that of an ONNX model."""
    return Path(source).suffix.lower() == ".onnx"


def as_network(source: NetworkLike, templates: TemplateOptions | None = None) -> LayerNetwork:
    """The network that `source` stands for: a bundled name, a file, the content of one, or (name,
    count, problem) tuples.

    A problem is what stands under `problem:` in a Timeloop file. `templates` is for files that are
    Jinja2 templates.
    Raises: InputError for anything else, and for layers that cannot be used.
    """
    if isinstance(source, LayerNetwork):
        return source
    if isinstance(source, ImportedModel):
        return _imported(source)
    if isinstance(source, (str, Path)):
        return _named(source, templates)
    if isinstance(source, Mapping):
        return read_network(_table(source), "network")
    if not isinstance(source, Iterable):
        raise InputError(
            f"the network is {source!r:.60}; a name, a path or a list of (name, count, problem) is"
            " needed",
            PYTHON,
        )
    return read_network(_table({"layers": [_layer(each) for each in source]}), "network")


def _named(source: str | Path, templates: TemplateOptions | None) -> LayerNetwork:
    word = str(source)
    if not bundled.is_file(word):
        known = bundled.network(word) or _single(word)
        if known is None:
            hint = did_you_mean(word, (each.name for each in bundled.networks()))
            raise InputError("neither a file nor the name of a network", SourceLocation(word), hint)
        return known
    if is_onnx(source):
        return _imported(import_model(source))
    return read_network(Reader((source,), templates).one(source), Path(word).stem)


def _imported(model: ImportedModel) -> LayerNetwork:
    return read_network(
        _table({"layers": [each.to_dict() for each in model.layers]}), Path(model.file).stem
    )


def _single(word: str) -> LayerNetwork | None:
    """A bundled layer, such as resnet50/conv1, as a network of its own, which runs it once."""
    found = bundled.layer(word)
    return (
        None
        if found is None
        else LayerNetwork(found.full_name, found.name, (), (replace(found, count=1),))
    )


def _layer(each: object) -> dict[str, Any]:
    if not isinstance(each, (tuple, list)) or len(each) != 3 or not isinstance(each[2], Mapping):
        raise InputError(f"a layer is a tuple (name, count, problem), not {each!r:.60}", PYTHON)
    name, count, problem = each
    return {"name": name, "count": count, "problem": problem.get("problem", problem)}


def _table(content: Mapping[str, Any]) -> Table:
    node = from_python(content, PYTHON)
    assert isinstance(node, Table)
    return node
