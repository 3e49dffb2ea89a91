"""From files to a `Spec`: which top-level key is read by whom."""

from __future__ import annotations

from solver_mapper.errors import InputError
from solver_mapper.mapping import Mapping
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.attributes import Notes
from solver_mapper.spec.constraint_file import Context, read_constraints
from solver_mapper.spec.constraints import Constraints
from solver_mapper.spec.energy_tables import read_tables
from solver_mapper.spec.fields import Fields, table_of
from solver_mapper.spec.flat import read_flat
from solver_mapper.spec.mapping_file import read_mapping
from solver_mapper.spec.maximize import Request, resolve
from solver_mapper.spec.problem import Problem
from solver_mapper.spec.problem_file import read_problem
from solver_mapper.spec.rulebook import Rulebook
from solver_mapper.spec.source import Node, Source, Table, read_documents
from solver_mapper.spec.spec import Spec
from solver_mapper.spec.tree import read_tree

_WITHOUT_BEARING = (
    "mapper", "model", "diagnostics", "compound_components", "primitive_components", "components", "globals", "variables",
    "action_counts", "ERT_summary", "ART_summary", "flattened_architecture", "energy_estimation", "layout",
)
_CONSTRAINT_KEYS = {
    "architecture_constraints": "architecture_constraints", "arch_constraints": "architecture_constraints",
    "mapspace_constraints": "mapspace_constraints", "mapspace": "mapspace_constraints",
}
"""Top-level keys of constraints, with the name under which they are reported."""


def load(*sources: Source) -> Spec:
    """Read and check files (paths, open files, or dicts of their contents), merged by top-level key.

    Raises: InputError, with file, line and column, for anything that cannot be used.
    """
    return read_spec(read_documents(*sources))


def read_spec(table: Table) -> Spec:
    """What files say whose top levels have been merged to `table`. Raises: InputError as `load`."""
    top = Fields(table, "the input")
    notes = Notes()
    architecture = _architecture(top, notes)
    problem_node = top.node("problem")
    problem = None if problem_node is None else read_problem(problem_node, notes)
    constraints = _constraints(top, architecture, problem)
    mapping = _mapping(top, architecture, problem)
    top.ignore(*_WITHOUT_BEARING)
    if top.has("sparse_optimizations"):
        raise InputError("sparse optimizations are not modelled", top.place_of("sparse_optimizations"))
    top.close()
    return Spec(architecture, problem, mapping, constraints, top.place, tuple(notes.lines))


def _architecture(top: Fields, notes: Notes) -> Architecture | None:
    tables = read_tables(top.node("ERT"), top.node("ART"))
    if top.has("arch") and top.has("architecture"):
        raise InputError("both 'arch' and 'architecture' are given", top.place_of("architecture"), "keep one of them")
    node = top.node("arch", "architecture")
    if node is None:
        return None
    table = table_of(node, "the architecture")
    shape = Fields(table, "the architecture")
    return read_tree(table, tables, notes) if shape.has("subtree") else read_flat(table, tables, notes)


def _constraints(top: Fields, architecture: Architecture | None, problem: Problem | None) -> Constraints:
    """The union of the architecture's and the mapspace's constraints, wherever they stand."""
    found: list[tuple[str, Node]] = []
    arch = top.node("arch", "architecture")
    inside = Fields(arch, "the architecture").node("constraints") if isinstance(arch, Table) else None
    for origin, node in (("architecture_constraints", inside), *((key, top.node(key)) for key in _CONSTRAINT_KEYS)):
        if node is not None:
            found.append((_CONSTRAINT_KEYS.get(origin, origin), node))
    if not found:
        return Constraints()
    if architecture is None or problem is None:
        lacking = "architecture whose levels" if architecture is None else "problem whose dimensions"
        raise InputError(f"constraints cannot be read without the {lacking} they name", found[0][1].place)
    book, requests = Rulebook(problem.dims), list[Request]()
    for origin, node in found:
        read_constraints(node, Context(architecture, problem, book, origin, requests))
    resolve(requests, architecture, problem, book)
    return book.done()


def _mapping(top: Fields, architecture: Architecture | None, problem: Problem | None) -> Mapping | None:
    node = top.node("mapping")
    if node is None:
        return None
    if architecture is None:
        raise InputError("a mapping cannot be read without the architecture whose levels it names", node.place,
                         "add a file with 'architecture:' or 'arch:'")
    if problem is None:
        raise InputError("a mapping cannot be read without the problem whose dimensions it names", node.place,
                         "add a file with 'problem:'")
    return read_mapping(node, architecture, problem)
