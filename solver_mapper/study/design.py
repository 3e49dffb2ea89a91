"""The architecture of a study, and the specification of a layer on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io import bundled
from solver_mapper.io.accelforge.specification import is_tree_input
from solver_mapper.io.bundled import Layer
from solver_mapper.io.templates import TemplateOptions
from solver_mapper.io.timeloop.architecture.attribute_paths import with_attributes
from solver_mapper.io.timeloop.specification import read_spec
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.source import Source, Table
from solver_mapper.io.yaml.warnings import Notes, WarningFilter

ArchitectureLike = str | Path | Mapping[str, Any] | Sequence[Source]

_OF_ONE_LAYER = frozenset({"unit-dimensions"})
"""Warnings that say nothing of a network: its constraints are for layers of other bounds, too."""


@dataclass(frozen=True)
class Reading:
    """How files are read: `templates`, values and folders for Jinja2 templates; `ignore_sparse`, to
    read sparse designs as dense ones; `warnings`, which of them count.
    """

    templates: TemplateOptions = field(default_factory=TemplateOptions)
    ignore_sparse: bool = False
    warnings: WarningFilter = field(default_factory=WarningFilter)


class Design:
    """An architecture with its constraints. Each file is read once; a bundled one has the dataflow
    that fits the layer.
    """

    def __init__(self, architecture: ArchitectureLike, reading: Reading | None = None) -> None:
        """`architecture`: a bundled name, a path, the content of a file, or a list of these,
        merged.
        """
        if isinstance(architecture, (str, Path, Mapping)):
            architecture = [architecture]
        if not isinstance(architecture, Iterable):
            raise InputError(
                f"the architecture is {architecture!r:.60}; a name, a path, a mapping or a list of"
                " these is needed",
                SourceLocation("architecture"),
            )
        given = tuple(architecture)
        self._reading = reading or Reading()
        self._reader = Reader(
            given,
            self._reading.templates,
            ignore_sparse=self._reading.ignore_sparse,
        )
        self._sources = tuple(
            self._reader.one(each) if hasattr(each, "read") else each for each in given
        )
        self._read: dict[str, Table] = {}

    @property
    def name(self) -> str:
        """What the design is called: its names and files."""
        named = [str(each) for each in self._sources if isinstance(each, (str, Path))]
        return " ".join(named) or "architecture"

    def spec(
        self,
        layer: Layer,
        attributes: Mapping[str, object] | None = None,
        files: Sequence[Source] = (),
    ) -> Spec:
        """The layer on this architecture. A problem in the architecture's files is left out, with a
        warning.

        Args: `attributes`, other values by their path; `files`, whose top-level keys take the place
        of the architecture's.
        Raises: InputError as `load`, and for LoopTree files.
        """
        top = self._content(layer, files)
        notes = Notes(self._reading.ignore_sparse)
        spec = read_spec(with_attributes(top, attributes or {}), notes)
        warnings = tuple(dict.fromkeys((*self._reader.notes.lines, *spec.warnings)))
        return replace(spec, warnings=self._reading.warnings.without(_OF_ONE_LAYER).kept(warnings))

    def check_paths(self, layer: Layer, paths: Iterable[str], files: Sequence[Source] = ()) -> None:
        """Raises: InputError for files that cannot be read, and for a path of an attribute that the
        architecture does not have, whatever its value.
        """
        with_attributes(self._content(layer, files), dict.fromkeys(paths, 1))

    def _content(self, layer: Layer, files: Sequence[Source]) -> Table:
        """The files of the architecture, with this layer."""
        problem = Table(
            {"problem": layer.problem}, {"problem": layer.problem.location}, layer.problem.location
        )
        *own, layers = bundled.resolve(*self._sources, problem, reader=self._reader)
        top = self._reader.all(*(self._without_problem(each) for each in own), layers)
        if is_tree_input(top):
            raise InputError(
                "networks are mapped onto architectures in level-by-level notation only",
                top.location,
                "give 'architecture:'",
            )
        for each in files:
            other = self._reader.one(self._table(each))
            top = Table(
                top.entries | other.entries, top.key_locations | other.key_locations, top.location
            )
        return top

    def _without_problem(self, source: Source) -> Table:
        table = self._table(source)
        if "problem" not in table.entries:
            return table
        self._reader.notes.add(
            "replaced-problem",
            table.key_locations["problem"],
            "this problem is not used: the layers of the network take its place",
        )
        rest = {key: node for key, node in table.entries.items() if key != "problem"}
        return Table(rest, table.key_locations, table.location)

    def _table(self, source: Source) -> Table:
        if not isinstance(source, (str, Path)):
            return self._reader.one(source)
        key = str(source)
        if key not in self._read:
            self._read[key] = self._reader.one(source)
        return self._read[key]
