"""The architectures and workloads that come with the package, by name.

They lie in `models/` in a checkout and in `solver_mapper/_models` in a wheel:

    models/architectures/NAME/arch.yaml       hardware: levels, meshes, energies, and constraints
    that hold for every operation models/architectures/NAME/SHAPE.yaml      dataflow: constraints in
    terms of the dimensions of one problem shape; its top-level key is
                                              not one of arch.yaml's, because Timeloop reads only
    the first of two models/shapes/SHAPE.yaml                  a problem shape in Timeloop's form
    models/workloads/NETWORK.yaml             the layers of a network, each an instance of a shape

Names on a command line: `eyeriss` (hardware, with the dataflow that fits the problem beside it),
`eyeriss/gemm` (the dataflow said outright), `eyeriss/arch` (hardware alone), `resnet50/conv1` (a
layer). Case and the difference between `-` and `_` do not matter, and a layer's name may stop
before any `_` where it is still the only one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from solver_mapper.core.problem import Problem
from solver_mapper.errors import InputError, SourceLocation, did_you_mean, unknown_name
from solver_mapper.io.timeloop.problem_file import read_problem
from solver_mapper.io.timeloop.problem_shapes import with_given_shape
from solver_mapper.io.yaml.documents import Reader, read_one
from solver_mapper.io.yaml.fields import Fields, integer_of, normal, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node, Source, Table, from_python
from solver_mapper.io.yaml.warnings import Notes

DEFAULT_SHAPE = "cnn-layer"
_PACKAGE = Path(__file__).resolve().parents[1]
_PLAIN = "arch"


@dataclass(frozen=True)
class Layer:
    """One layer of a network. `count` is how often the network runs it; `problem` is its definition
    as Timeloop spells it.
    """

    network: str
    name: str
    shape: str
    count: int
    problem: Table

    @property
    def full_name(self) -> str:
        """The name by which commands know the layer."""
        return f"{self.network}/{self.name}"

    @cached_property
    def instance(self) -> dict[str, int]:
        """Bounds and coefficients that the layer gives, in the order in which it gives them."""
        table = table_of(self.problem.entries["instance"], "'instance'")
        return {
            name: integer_of(node, f"'{name}' of {self.full_name}")
            for name, node in table.entries.items()
        }

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulate operations of one run: the product of the bounds of the shape's
        dimensions.
        """
        return read_problem(self.problem, Notes()).macs


@dataclass(frozen=True)
class LayerNetwork:
    """Layers, each with how often it runs. `aliases` are further names of the network."""

    name: str
    title: str
    aliases: tuple[str, ...]
    layers: tuple[Layer, ...]

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations of all layers, as often as they run."""
        return sum(layer.count * layer.macs for layer in self.layers)


@dataclass(frozen=True)
class Accelerator:
    """An architecture. `dataflows` names the shapes for which it has constraints; without any,
    every mapping that fits is allowed.
    """

    name: str
    title: str
    dataflows: tuple[str, ...]

    def files(self, shape: str | None) -> tuple[Path, ...]:
        """The hardware, and its dataflow constraints for `shape` where there are any."""
        folder = path("architectures", self.name)
        return (
            folder / "arch.yaml",
            *((folder / f"{shape}.yaml",) if shape in self.dataflows else ()),
        )


_Found = Source | Layer | Accelerator | tuple[Path, ...]


def root() -> Path:
    """The directory of shipped models."""
    installed = _PACKAGE / "_models"
    return installed if installed.is_dir() else _PACKAGE.parent / "models"


def path(*parts: str) -> Path:
    """The file or directory `parts` below the shipped models, whether or not it exists:
    `path("shapes", "gemm.yaml")`.
    """
    return root().joinpath(*parts)


def names(*parts: str, suffix: str = ".yaml") -> tuple[str, ...]:
    """Names, without suffix, of the shipped models in the directory `parts`, sorted; empty if there
    is no such directory.
    """
    return tuple(sorted(file.stem for file in path(*parts).glob(f"*{suffix}")))


@cache
def architectures() -> tuple[Accelerator, ...]:
    """All architectures by name. An architecture's title is its file's first line, a comment."""
    found = []
    for file in sorted(path("architectures").glob("*/arch.yaml")):
        first = file.read_text(encoding="utf-8").split("\n", 1)[0]
        dataflows = sorted(other.stem for other in file.parent.glob("*.yaml") if other != file)
        found.append(
            Accelerator(file.parent.name, first.lstrip("# ").rstrip("."), tuple(dataflows))
        )
    return tuple(found)


@cache
def networks() -> tuple[LayerNetwork, ...]:
    """All networks, by name."""
    return tuple(_read_network(file) for file in sorted(path("workloads").glob("*.yaml")))


@cache
def shape(name: str) -> Node:
    """The problem shape called `name`, as a YAML node."""
    return Fields(read_one(path("shapes", f"{name}.yaml")), f"shape '{name}'").require("shape")


def model_names() -> tuple[str, ...]:
    """All names that `resolve` knows, spelled as in the files: architectures, then layers."""
    return (
        *(each.name for each in architectures()),
        *(layer.full_name for each in networks() for layer in each.layers),
    )


def network(name: str) -> LayerNetwork | None:
    """The network with that name or alias."""
    return next((each for each in networks() if _same(name, (each.name, *each.aliases))), None)


def architecture(name: str) -> Accelerator | None:
    """The architecture with that name."""
    return next((each for each in architectures() if _same(name, (each.name,))), None)


def layer(name: str) -> Layer | None:
    """The layer called `NETWORK/LAYER`, or None if there is no such network.

    Raises: InputError if the network has no such layer.
    """
    head, _, tail = name.partition("/")
    net = network(head)
    return None if net is None else _layer(net, tail)


def resolve(*sources: Source, reader: Reader | None = None) -> tuple[Source, ...]:
    """What to read for each source: names of models become their files or problems, everything else
    stays as it is.

    Text that names an existing file, `-`, and text that could only be a file (`./x`, `x.yaml`) is
    left alone, unless its problem decides over the dataflow: then it is read, by `reader`, and its
    tree takes its place.
    Raises: InputError for text that is neither a file nor a model, and for a problem without
    dataflow constraints.
    """
    problem, found = _deciding_problem(
        [_find(source) for source in sources], reader or Reader(sources)
    )
    resolved: list[Source] = []
    for each in found:
        if isinstance(each, Layer):
            resolved.append(_as_source(each))
        elif isinstance(each, Accelerator):
            resolved += each.files(DEFAULT_SHAPE if problem is None else _fitting(each, problem))
        elif isinstance(each, tuple):
            resolved += each
        else:
            resolved.append(each)
    return tuple(resolved)


def _deciding_problem(found: list[_Found], reader: Reader) -> tuple[Problem | None, list[_Found]]:
    """The problem that decides over dataflows, if any is to be decided, and `found` with its files
    read where it took that.
    """
    if not any(isinstance(each, Accelerator) and each.dataflows for each in found):
        return None, found
    nodes: list[Node] = [each.problem for each in found if isinstance(each, Layer)]
    if not nodes:
        found = [
            (
                each
                if isinstance(each, (Layer, Accelerator, tuple)) or each == "-"
                else reader.one(each)
            )
            for each in found
        ]
        tables = [each for each in found if isinstance(each, Table)]
        shape = next((each.entries["shape"] for each in tables if "shape" in each.entries), None)
        nodes = [
            with_given_shape(each.entries["problem"], shape)
            for each in tables
            if "problem" in each.entries
        ]
    return (read_problem(nodes[0], Notes()) if nodes else None), found


def _fitting(known: Accelerator, problem: Problem) -> str | None:
    """The dataflow of `known` written for problems such as this: the same dimensions, relevant to
    the same tensors.
    """
    for name in known.dataflows:
        if _relevance(problem) == _relevance(_unit_problem(name)):
            return name
    if not known.dataflows:
        return None
    hint = (
        f"it has some for {', '.join(known.dataflows)}; '{known.name}/{_PLAIN}' is the hardware"
        " without them"
    )
    tensors = ", ".join(
        f"{tensor.name}[{' '.join(sorted(tensor.dims))}]" for tensor in problem.tensors
    )
    raise InputError(
        f"{known.name} has no dataflow constraints for {tensors}", problem.location, hint
    )


def _relevance(problem: Problem) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    return frozenset(problem.dims), {tensor.name: tensor.dims for tensor in problem.tensors}


@cache
def _unit_problem(name: str) -> Problem:
    """The problem of that shape whose bounds are all 1."""
    node = table_of(shape(name), f"shape '{name}'")
    dims = sequence_of(node.entries["dimensions"], "'dimensions'").items
    instance = from_python({text_of(dim, "a dimension"): 1 for dim in dims}, node.location)
    locations = dict.fromkeys(("shape", "instance"), node.location)
    return read_problem(
        Table({"shape": node, "instance": instance}, locations, node.location), Notes()
    )


def _find(source: Source) -> _Found:
    if not isinstance(source, str) or source == "-" or is_file(source):
        return source
    head, _, tail = source.partition("/")
    if (known := architecture(head)) is not None:
        return known if not tail else known.files(_dataflow(known, tail))
    if (found := layer(source)) is not None:
        return found
    if source.startswith((".", "/", "~")) or source.lower().endswith((".yaml", ".yml", ".json")):
        return source
    hint = (
        did_you_mean(source, (*model_names(), *(each.name for each in networks())))
        or "'solver-mapper models' lists them"
    )
    if os.path.islink(source):
        raise InputError("this link leads to no file", SourceLocation(source))
    raise InputError("neither a file nor the name of a model", SourceLocation(source), hint)


def _dataflow(known: Accelerator, name: str) -> str:
    choices = (_PLAIN, *known.dataflows)
    for choice in choices:
        if _same(name, (choice,)):
            return choice
    raise unknown_name(
        f"dataflow of {known.name}", name, choices, SourceLocation(f"{known.name}/{name}")
    )


def _layer(net: LayerNetwork, name: str) -> Layer:
    exact = [layer for layer in net.layers if _same(name, (layer.name,))]
    short = [
        layer for layer in net.layers if name and normal(layer.name).startswith(f"{normal(name)}_")
    ]
    if len(exact or short) == 1:
        return (exact or short)[0]
    known = [layer.name for layer in short or net.layers]
    if not name:
        hint = f"name one, such as {net.name}/{known[0]}"
        raise InputError(
            f"{net.name} is a network of {len(known)} layers", SourceLocation(net.name), hint
        )
    location = SourceLocation(f"{net.name}/{name}")
    if short:
        raise InputError(
            f"{len(short)} layers of {net.name} begin so", location, f"which of {', '.join(known)}?"
        )
    raise unknown_name(f"layer of {net.name}", name, known, location)


def _as_source(layer: Layer) -> Source:
    return Table(
        {"problem": layer.problem}, {"problem": layer.problem.location}, layer.problem.location
    )


def is_file(text: str) -> bool:
    """Whether there is a file of that name. What no file can be called is none."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _same(name: str, known: Iterable[str]) -> bool:
    return any(normal(name) == normal(each) for each in known)


def _read_network(file: Path) -> LayerNetwork:
    return read_network(read_one(file), file.stem)


def read_network(source: Table, name: str) -> LayerNetwork:
    """A network: `layers: [{name, count, shape, instance}]`, and optionally `network: {title,
    aliases}`.

    A layer may have its Timeloop `problem` instead of `shape` and `instance`; without a `count` it
    runs once.
    Raises: InputError for layers that are incomplete or whose problem cannot be used.
    """
    top = Fields(source, f"network '{name}'")
    title, aliases = _read_title(top, name)
    items = sequence_of(top.require("layers"), "'layers'").items
    top.close()
    if not items:
        raise InputError(f"network '{name}' has no layers", top.location_of("layers"))
    return LayerNetwork(
        name, title, aliases, tuple(_read_layer(name, table_of(item, "a layer")) for item in items)
    )


def _read_title(top: Fields, name: str) -> tuple[str, tuple[str, ...]]:
    node = top.node("network")
    if node is None:
        return name, ()
    about = Fields(table_of(node, "'network'"), f"network '{name}'")
    title, listed = about.text("title") or name, about.sequence_at("aliases")
    about.close()
    return title, tuple(text_of(item, "an alias") for item in listed.items) if listed else ()


def _read_layer(network_name: str, table: Table) -> Layer:
    fields = Fields(table, f"a layer of '{network_name}'")
    name, count_node = text_of(fields.require("name"), "'name'"), fields.node("count")
    count = 1 if count_node is None else integer_of(count_node, "'count'", least=1)
    problem = fields.table_at("problem")
    shape_name = "problem"
    if problem is None:
        shape_name, problem = _problem_of_shape(fields, table)
    fields.close()
    read_problem(problem, Notes())
    return Layer(network_name, name, shape_name, count, problem)


def _problem_of_shape(fields: Fields, table: Table) -> tuple[str, Table]:
    """A problem given by the name of a shape, or a shape, and an instance of it."""
    node, instance = fields.require("shape"), table_of(fields.require("instance"), "'instance'")
    locations = {key: table.key_locations[key] for key in ("shape", "instance")}
    if isinstance(node, Table):
        return "problem", Table({"shape": node, "instance": instance}, locations, table.location)
    name = text_of(node, "'shape'")
    if name not in names("shapes"):
        raise unknown_name("problem shape", name, names("shapes"), node.location)
    return name, Table({"shape": shape(name), "instance": instance}, locations, table.location)
