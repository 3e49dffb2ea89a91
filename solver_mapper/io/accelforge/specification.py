"""Reading LoopTree files: which top-level key is read by which module."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.cost.looptree.architecture import Architecture, need_numbers
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.workload import Workload
from solver_mapper.errors import InputError
from solver_mapper.io.accelforge.architecture_file import read_architecture
from solver_mapper.io.accelforge.mapping_file import read_tree
from solver_mapper.io.accelforge.workload_file import read_workload
from solver_mapper.io.yaml.expressions import evaluate
from solver_mapper.io.yaml.fields import Fields, table_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table

_TAGS = frozenset({"!Memory", "!Toll", "!Compute", "!Fork", "!Hierarchical"})
_WITHOUT_BEARING = ("config", "mapper", "model", "variables", "renames")


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
    workload, arch, mapping = fields.node("workload"), fields.node("arch"), fields.node("mapping")
    architecture = read_architecture(arch, variables) if arch is not None else None
    if architecture is not None and workload is not None:
        need_numbers(architecture)
    numbers = _numbers(variables)
    spec = TreeSpec(
        architecture,
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
        fields.location,
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
                f"no compute is enabled for Einsum '{einsum.name}'", architecture.location
            )
        for compute in enabled:
            architecture.chain(einsum, compute)


def _numbers(node: Node | None) -> dict[str, Fraction]:
    values: dict[str, Fraction] = {}
    if node is None:
        return values
    for name, item in table_of(node, "'variables'").entries.items():
        if isinstance(item, Scalar) and not item.is_null:
            text = text_of(item, f"variable '{name}'")
            try:
                values[name] = evaluate(text, values, item.location, f"variable '{name}'")
            except InputError as error:
                raise InputError(
                    error.message,
                    item.location,
                    error.hint
                    or "variables are numbers; words, lists and functions, as compute-in-memory"
                    " architectures have them, are not supported",
                ) from None
    return values
