"""Everything that one set of LoopTree files says, together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from solver_mapper.core.arguments import NEED_MAPPING, require_part
from solver_mapper.core.results.rendering import html_of, svg_of
from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.evaluate import evaluate
from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath
from solver_mapper.cost.looptree.mapping.labels import LabelledTree, labels
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.mapping.prepare import prepare
from solver_mapper.cost.looptree.workload import Workload
from solver_mapper.errors import NOWHERE, SourceLocation
from solver_mapper.io.yaml.warnings import InputWarning


@dataclass(frozen=True)
class TreeSpec:
    """The parts that were given; a part that was not is None. Use `need_...` to ask for one that
    must be there.
    """

    architecture: Architecture | None = None
    workload: Workload | None = None
    mapping: TreeMapping | None = None
    location: SourceLocation = NOWHERE
    warnings: tuple[InputWarning, ...] = field(default=(), compare=False)

    def need_architecture(self) -> Architecture:
        """The architecture. Raises: InputError if none was given."""
        hint = "add a file with 'arch:'"
        return require_part(self.architecture, "architecture", self.location, hint)

    def need_workload(self) -> Workload:
        """The workload. Raises: InputError if none was given."""
        return require_part(self.workload, "workload", self.location, "add a file with 'workload:'")

    def need_mapping(self) -> TreeMapping:
        """The mapping. Raises: InputError if none was given."""
        return require_part(self.mapping, "mapping", self.location, NEED_MAPPING)

    def picture(self, mapping: TreeMapping | None = None) -> str:
        """A mapping (None: this one's) as the text of an SVG file: loops, storage and how full it
        is, forks.

        Raises: InputError for a missing part, and for a mapping that makes no sense.
        """
        return svg_of(self._labelled(mapping))

    def page(self, mapping: TreeMapping | None = None, title: str = "LoopTree") -> str:
        """The same with its figures as the text of an HTML file that needs nothing else."""
        drawn = self._labelled(mapping)
        statistics = evaluate(self.need_architecture(), self.need_workload(), drawn.mapping)
        return html_of(drawn, statistics, title)

    def _labelled(self, mapping: TreeMapping | None) -> LabelledTree:
        chosen = mapping or self.need_mapping()
        return LabelledTree(chosen, labels(self.branches(chosen)))

    def branches(self, mapping: TreeMapping) -> tuple[EinsumPath, ...]:
        """Each Einsum's way through the tree, in execution order. Raises: see `picture`."""
        return prepare(self.need_architecture(), self.need_workload(), mapping).need_sound()

    def with_mapping(self, mapping: TreeMapping) -> TreeSpec:
        """The same with another mapping."""
        return replace(self, mapping=mapping)
