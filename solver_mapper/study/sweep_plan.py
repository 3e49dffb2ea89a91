"""Reading a sweep: an architecture, workloads, and the points of a grid or of a list of cases.

sweep:
  architecture: eyeriss              # a name, a file, or a list of these
  workloads: [resnet50, bert_base]   # networks, layers such as resnet50/conv1, or files
  objective: edp
  parameters:                        # every combination; or `cases:`, a list of points
    shared_glb.entries: [16384, 32768, 65536]
    array: {set: [column.count, PE.count, "*.meshX"], values: [8, 16, 32]}
  energies: {shared_glb.read: "6 * sqrt(entries / 65536)"}
  front: [capacity, units]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import IO, Any

from solver_mapper.core.objective import parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.errors import NOWHERE, InputError, SourceLocation, did_you_mean
from solver_mapper.io import bundled
from solver_mapper.io.bundled import LayerNetwork
from solver_mapper.io.templates import TemplateOptions
from solver_mapper.io.timeloop.architecture.attribute_paths import overlapping
from solver_mapper.io.yaml.documents import Reader, read_one
from solver_mapper.io.yaml.fields import Fields, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Source, Table, to_python
from solver_mapper.study.network_edp import NETWORK_EDP
from solver_mapper.study.networks import as_network
from solver_mapper.study.swept_energies import energy_path

AXES = ("capacity", "area", "units")
"""Sizes against which a front may be drawn: bits of storage, um2, compute units."""
MOST_POINTS = 100_000
EnergyHook = Callable[[Spec], Mapping[str, Any]]
"""From the specification at a point to energies by path: `{"shared_glb.read": 5.2}`."""
SweepLike = str | Path | IO[str] | IO[bytes] | Mapping[str, Any]


@dataclass(frozen=True)
class DesignPoint:
    """One design. `parameters` are what a reader sees; `settings` what is set, by the path of an
    attribute.
    """

    parameters: dict[str, Any]
    settings: dict[str, Node]
    objective: tuple[str, ...]
    architecture: tuple[Source, ...]
    files: tuple[Source, ...] = ()
    """Files whose top-level keys take the place of the architecture's."""
    places: dict[str, SourceLocation] = field(default_factory=dict)
    """Where the sweep names a path, an architecture or a file, by that name."""

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Errors about a name of the sweep get the place where the sweep has it."""
        try:
            yield
        except InputError as error:
            place = self.places.get(error.file)
            if place is None or place.line is None or error.line is not None:
                raise
            name, text = f"'{error.file}'", error.message
            text = text if name in text else f"{name}: {text}"
            raise InputError(text, place, error.hint, error.more) from None


@dataclass(frozen=True)
class SweepPlan:
    """`front` names the sizes of the architecture front, None for area or else for capacity and
    compute units.
    """

    points: tuple[DesignPoint, ...]
    workloads: dict[str, LayerNetwork]
    formulas: dict[str, Scalar] = field(default_factory=dict)
    hook: EnergyHook | None = None
    front: tuple[str, ...] | None = None
    front_location: SourceLocation = NOWHERE
    template_names: frozenset[str] = frozenset()
    """The variables that the sweep's own file uses, if it is a template."""


def read_sweep(source: SweepLike, templates: TemplateOptions | None = None) -> SweepPlan:
    """The sweep in a file, or in a mapping of the same content, where `energies` may also be a
    function.

    Args: `source`, a path, an open file (names in it are then relative to the working directory) or
    the content; `templates`, for a file that is a Jinja2 template, and for those of its workloads.
    Raises: InputError, with file, line and column, for what cannot be used.
    """
    hook: EnergyHook | None = None
    folder, names = Path(), frozenset[str]()
    if isinstance(source, Mapping):
        content = dict(source.get("sweep", source))
        if callable(content.get("energies")):
            hook = content.pop("energies")
        table = read_one({"sweep": content})
    elif isinstance(source, (str, Path)) or hasattr(source, "read"):
        reader = Reader((source,), templates)
        folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
        table, names = reader.one(source), reader.template_names
    else:
        raise InputError(f"the sweep is {source!r:.60}; a path or a mapping is needed")
    top = Fields(table, "the input")
    body = table_of(top.require("sweep"), "'sweep'")
    top.close()
    return _Reader(Fields(body, "the sweep", exact=True), folder, templates).plan(hook, names)


@dataclass
class _Reader:
    """Reads the entries of a sweep; paths of files are relative to `folder`."""

    fields: Fields
    folder: Path
    templates: TemplateOptions | None

    def plan(self, hook: EnergyHook | None, names: frozenset[str]) -> SweepPlan:
        architecture, workloads = self.fields.require("architecture"), self._workloads()
        objective = self._objective(
            self.fields.node("objective") or Scalar("edp", self.fields.location)
        )
        grid, cases = self.fields.table_at("parameters"), self.fields.sequence_at("cases")
        if (grid is None) == (cases is None):
            raise InputError("a sweep has either 'parameters' or 'cases'", self.fields.location)
        listed = (
            _grid(grid)
            if grid is not None
            else [_case(each) for each in cases.items]
            if cases is not None
            else []
        )
        formulas, front = self._formulas(), self._front()
        for each in {tuple(choice): choice for choice in listed}.values():
            _refuse_overlaps(each, formulas)
        points = tuple(self._point(each, architecture, objective, formulas) for each in listed)
        self.fields.close()
        if not points:
            raise InputError("the sweep has no points", self.fields.location)
        place = self.fields.location_of("front")
        return SweepPlan(points, workloads, formulas, hook, front, place, names)

    def _sources(self, node: Node) -> tuple[Source, ...]:
        return tuple(self._source(each) for each in _listed(node))

    def _source_places(self, node: Node) -> dict[str, SourceLocation]:
        named = zip(self._sources(node), _listed(node), strict=True)
        return {source: each.location for source, each in named if isinstance(source, str)}

    def _source(self, node: Node) -> Source:
        """A table as it is, the name of a file of the sweep's folder as its path, any other word as
        it is.
        """
        if isinstance(node, Table):
            return node
        word = text_of(node, "the name of a file")
        beside = str(self.folder / word)
        return beside if bundled.is_file(beside) else word

    def _workloads(self) -> dict[str, LayerNetwork]:
        found: dict[str, LayerNetwork] = {}
        for node in sequence_of(self.fields.require("workloads"), "'workloads'").items:
            source = self._source(node)
            try:
                net = as_network(
                    source if isinstance(source, str) else to_python(node), self.templates
                )
            except InputError as error:
                raise (
                    InputError(error.message, node.location, error.hint)
                    if error.line is None
                    else error
                ) from None
            name = net.name if net.name not in found else f"{net.name}-{len(found) + 1}"
            found[name] = net
        if not found:
            raise InputError("the sweep has no workloads", self.fields.location_of("workloads"))
        return found

    def _objective(self, node: Node) -> tuple[str, ...]:
        words = [text_of(each, "an objective") for each in _listed(node)]
        if words == [NETWORK_EDP]:
            return (NETWORK_EDP,)
        try:
            return parse_objective(words).names
        except InputError as error:
            raise InputError(error.message, node.location, error.hint) from None

    def _formulas(self) -> dict[str, Scalar]:
        table = self.fields.table_at("energies")
        found = {}
        for path, node in {} if table is None else table.entries.items():
            if not isinstance(node, Scalar):
                raise InputError(f"the energy of '{path}' must be a formula", node.location)
            energy_path(path, node.location)
            found[path] = node
        return found

    def _front(self) -> tuple[str, ...] | None:
        node = self.fields.node("front")
        if node is None:
            return None
        words = tuple(text_of(each, "a size") for each in _listed(node))
        for word in words:
            if word not in AXES:
                raise InputError(
                    f"a front cannot be drawn against '{word}'",
                    node.location,
                    did_you_mean(word, AXES),
                )
        return words

    def _point(
        self,
        given: Choice,
        architecture: Node,
        objective: tuple[str, ...],
        formulas: Mapping[str, Scalar],
    ) -> DesignPoint:
        shown = {label: _plain(setting.value) for label, setting in given.items()}
        settings = {path: each.value for each in given.values() for path in each.paths}
        places = {energy_path(path): node.location for path, node in formulas.items()}
        for each in given.values():
            places |= each.paths
        own, files, goal = (
            settings.pop(key, None) for key in ("architecture", "files", "objective")
        )
        own = architecture if own is None else own
        for node in (own, files):
            places |= {} if node is None else self._source_places(node)
        return DesignPoint(
            shown,
            settings,
            objective if goal is None else self._objective(goal),
            self._sources(own),
            () if files is None else self._sources(files),
            places,
        )


@dataclass(frozen=True)
class Setting:
    """A value, and the paths that it sets, each with the place where the sweep names it."""

    value: Node
    paths: dict[str, SourceLocation]


Choice = dict[str, Setting]
"""What a point sets, by the label of the parameter."""


def _grid(table: Table) -> list[Choice]:
    """Every combination of values, the last parameter changing fastest."""
    choices = [
        _parameter(label, node, table.key_locations[label]) for label, node in table.entries.items()
    ]
    if prod(map(len, choices)) > MOST_POINTS:
        raise InputError(
            f"the grid has {prod(map(len, choices)):,} points; at most {MOST_POINTS:,} are swept",
            table.location,
        )
    return [
        dict(zip(table.entries, combination, strict=True))
        for combination in itertools.product(*choices)
    ]


def _parameter(label: str, node: Node, location: SourceLocation) -> list[Setting]:
    """The values of a parameter, each with what it sets: the path that is the label, or the paths
    under `set`.
    """
    if isinstance(node, Table):
        fields = Fields(node, f"parameter '{label}'")
        listed = _listed(fields.require("set"))
        paths = {text_of(each, "a path"): each.location for each in listed}
        if not paths:
            raise InputError(
                f"parameter '{label}' sets nothing",
                fields.location_of("set"),
                "list at least one path under 'set'",
            )
        values = sequence_of(fields.require("values"), f"the values of '{label}'")
        fields.close()
    else:
        paths = _paths(label, location)
        values = sequence_of(node, f"the values of '{label}'")
    if not values.items:
        raise InputError(f"parameter '{label}' has no values", values.location)
    return [Setting(value, paths) for value in values.items]


def _case(node: Node) -> Choice:
    table = table_of(node, "a case")
    return {
        label: Setting(value, _paths(label, table.key_locations[label]))
        for label, value in table.entries.items()
    }


def _paths(label: str, location: SourceLocation) -> dict[str, SourceLocation]:
    """The paths that a label lists."""
    return dict.fromkeys((word.strip() for word in label.split(",")), location)


def _refuse_overlaps(choice: Choice, formulas: Mapping[str, Scalar]) -> None:
    """Raises: InputError if two parameters, or a parameter and a formula, set one attribute."""
    named = [
        (label, path, path, location)
        for label, each in choice.items()
        for path, location in each.paths.items()
    ] + [("energies", path, energy_path(path), node.location) for path, node in formulas.items()]
    for first, second in itertools.combinations(named, 2):
        if first[0] != second[0] and overlapping(first[2], second[2]):
            raise InputError(
                f"'{second[1]}' of '{second[0]}' sets the same as '{first[1]}' of '{first[0]}'",
                second[3],
                "leave one of them out",
            )


def _listed(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Sequence) else (node,)


def _plain(node: Node) -> Any:
    """A value as a reader sees it."""
    if isinstance(node, Scalar) and not node.quoted:
        for kind in (int, float):
            try:
                return kind(node.text)
            except ValueError:
                continue
    return to_python(node)
