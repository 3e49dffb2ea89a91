"""Everything that one set of LoopTree files says, together, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.einsum_path import EinsumPath
from solver_mapper.cost.looptree.einsum_paths import prepare
from solver_mapper.cost.looptree.evaluate import evaluate as figures_of
from solver_mapper.cost.looptree.labels import labels
from solver_mapper.cost.looptree.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.workload import Workload
from solver_mapper.errors import NOWHERE, InputError, SourceLocation
from solver_mapper.io.accelforge.architecture_file import read_architecture
from solver_mapper.io.accelforge.mapping_file import read_tree
from solver_mapper.io.accelforge.workload_file import read_workload
from solver_mapper.io.yaml.expressions import evaluate
from solver_mapper.io.yaml.fields import Fields, table_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table
from solver_mapper.report.looptree_svg import page, svg

_TAGS = frozenset({"!Memory", "!Toll", "!Compute", "!Fork", "!Hierarchical"})
_WITHOUT_BEARING = ("config", "mapper", "model", "variables", "renames")


@dataclass(frozen=True)
class TreeSpec:
    """The parts that were given; a part that was not is None. Use `need_...` to ask for one that
    must be there.
    """

    architecture: Architecture | None = None
    workload: Workload | None = None
    mapping: TreeMapping | None = None
    place: SourceLocation = NOWHERE
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def need_architecture(self) -> Architecture:
        if self.architecture is None:
            raise InputError("no architecture was given", self.place, "add a file with 'arch:'")
        return self.architecture

    def need_workload(self) -> Workload:
        if self.workload is None:
            raise InputError("no workload was given", self.place, "add a file with 'workload:'")
        return self.workload

    def need_mapping(self) -> TreeMapping:
        if self.mapping is None:
            raise InputError(
                "no mapping was given",
                self.place,
                "add a file with 'mapping:', or let 'solve' find one",
            )
        return self.mapping

    def picture(self, mapping: TreeMapping | None = None) -> str:
        """A mapping (None: this one's) as the text of an SVG file: loops, storage and how full it
        is, forks.

        Raises: InputError for a missing part, and for a mapping that makes no sense.
        """
        chosen = mapping or self.need_mapping()
        return svg(chosen, labels(self.branches(chosen)))

    def page(self, mapping: TreeMapping | None = None, title: str = "LoopTree") -> str:
        """The same with its figures as the text of an HTML file that needs nothing else."""
        chosen = mapping or self.need_mapping()
        statistics = figures_of(self.need_architecture(), self.need_workload(), chosen)
        return page(chosen, labels(self.branches(chosen)), statistics, title)

    def branches(self, mapping: TreeMapping) -> tuple[EinsumPath, ...]:
        """Each Einsum's way through the tree, in execution order. Raises: InputError as `picture`."""
        return prepare(self.need_architecture(), self.need_workload(), mapping).need_sound()

    def with_mapping(self, mapping: TreeMapping) -> TreeSpec:
        return replace(self, mapping=mapping)


def is_tree_input(top: Table) -> bool:
    """Whether a file's top level is LoopTree notation: a workload, a mapping of nodes, or an
    architecture of tagged nodes.
    """
    if "workload" in top.entries:
        return True
    mapping, arch = top.entries.get("mapping"), top.entries.get("arch")
    if isinstance(mapping, Table) and "nodes" in mapping.entries:
        return True
    nodes = arch.entries.get("nodes") if isinstance(arch, Table) else None
    return isinstance(nodes, Sequence) and any(node.tag in _TAGS for node in nodes.items)


def read_tree_spec(top: Table) -> TreeSpec:
    """The parts of LoopTree input.

    Raises: InputError, with file, line and column, for anything that cannot be used.
    """
    fields = Fields(top, "the input")
    variables = fields.node("variables")
    numbers = _numbers(variables)
    workload, arch, mapping = fields.node("workload"), fields.node("arch"), fields.node("mapping")
    spec = TreeSpec(
        read_architecture(arch, variables) if arch is not None else None,
        (
            read_workload(
                workload,
                fields.node("renames"),
                numbers,
                bits_needed=arch is not None or mapping is not None,
            )
            if workload is not None
            else None
        ),
        read_tree(mapping, numbers) if mapping is not None else None,
        fields.place,
    )
    fields.ignore(*_WITHOUT_BEARING)
    fields.close()
    if spec.architecture is not None and spec.workload is not None:
        _check_numbers(spec.architecture, spec.workload)
    return spec


def _check_numbers(architecture: Architecture, workload: Workload) -> None:
    """Evaluate the architecture for every Einsum, so that whatever is wrong with a number shows
    when it is read.
    """
    for einsum in workload.einsums:
        enabled = architecture.enabled_computes(einsum)
        if not enabled:
            raise InputError(
                f"no compute is enabled for Einsum '{einsum.name}'", architecture.place
            )
        for compute in enabled:
            architecture.chain(einsum, compute)


def _numbers(node: Node | None) -> dict[str, Fraction]:
    values: dict[str, Fraction] = {}
    if node is None:
        return values
    for name, item in table_of(node, "'variables'").entries.items():
        if isinstance(item, Scalar) and not item.is_null:
            values[name] = evaluate(
                text_of(item, f"variable '{name}'"), values, item.place, f"variable '{name}'"
            )
    return values
