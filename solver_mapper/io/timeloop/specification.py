"""From files to a `Spec`: which top-level key is read by whom."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, replace

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import HARDWARE, Constraint, Constraints
from solver_mapper.core.editing import edited
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.core.reuse_flags import with_reuse_flags
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.architecture.attribute_paths import with_attributes
from solver_mapper.io.timeloop.architecture.energy_notes import note_energies
from solver_mapper.io.timeloop.architecture.energy_tables import EnergyTables, read_tables
from solver_mapper.io.timeloop.architecture.flat_form import read_flat
from solver_mapper.io.timeloop.architecture.tree_form import read_tree
from solver_mapper.io.timeloop.architecture.v04_form import V04Design, read_v04
from solver_mapper.io.timeloop.constraints.constraint_collector import ConstraintCollector
from solver_mapper.io.timeloop.constraints.constraint_file import Context, read_constraints
from solver_mapper.io.timeloop.constraints.maximize_dims import MaximizeRequest, resolve
from solver_mapper.io.timeloop.constraints.split_position import count_unit_dims
from solver_mapper.io.timeloop.constraints.v04_constraints import read_embedded, resolve_parallels
from solver_mapper.io.timeloop.mapping_reader import read_mapping
from solver_mapper.io.timeloop.problem_file import read_problem
from solver_mapper.io.timeloop.problem_shapes import with_given_shape
from solver_mapper.io.timeloop.suspicious import note_suspicious
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.fields import Fields, normal, table_of
from solver_mapper.io.yaml.merge_keys import joined
from solver_mapper.io.yaml.scope import Scope
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Source, Table
from solver_mapper.io.yaml.warnings import Notes

_WITHOUT_BEARING = (
    "mapper",
    "model",
    "diagnostics",
    "compound_components",
    "primitive_components",
    "components",
    "globals",
    "action_counts",
    "ERT_summary",
    "ART_summary",
    "flattened_architecture",
    "energy_estimation",
    "layout",
    "dumped_by_timeloop_front_end",
)
_CONSTRAINT_KEYS = {
    "architecture_constraints": "architecture_constraints",
    "arch_constraints": "architecture_constraints",
    "constraints": "constraints",
    "mapspace_constraints": "mapspace_constraints",
    "mapspace": "mapspace_constraints",
}
"""Top-level keys of constraints, with the name under which they are reported."""
_PARTS = ("constraints", "variables", "components", "globals")
"""Words of which the front end of v0.4 knows a top-level key by: `extra_mapping_constraints` are
constraints.
"""


@dataclass(frozen=True)
class _Input:
    """The top level of all files, and what has been read of it. `design` is None unless the
    architecture is in the v0.4 form.
    """

    top: Fields
    notes: Notes
    scope: Scope
    architecture: Architecture | None
    design: V04Design | None
    problem: Problem | None


def load(*sources: Source) -> Spec:
    """Read and check files (paths, open files, or dicts of their contents), merged by top-level
    key.

    Raises: InputError, with file, line and column, for anything that cannot be used.
    """
    reader = Reader(sources)
    return read_spec(reader.all(*sources), reader.notes)


def read_spec(table: Table, notes: Notes | None = None) -> Spec:
    """What files say whose top levels have been merged to `table`; warnings are added to `notes`.

    Raises: InputError as `load`.
    """
    table = _with_joined_variables(table)
    top, notes = Fields(table, "the input"), notes or Notes()
    variables = [table_of(node, f"'{key}'") for key, node in _parts(top, "variables")]
    scope = Scope(*variables, root=table)
    tables = read_tables(top.node("ERT"), top.node("ART"))
    architecture, design = _read_architecture(top, tables, notes, scope)
    problem_node = top.node("problem")
    problem = (
        None
        if problem_node is None
        else read_problem(with_given_shape(problem_node, top.node("shape")), notes, scope)
    )
    given = _Input(top, notes, scope, architecture, design, problem)
    implied, constraints = _read_constraints(given)
    _note_template(given)
    mapping, directives = _read_mapping(given, implied, constraints)
    top.ignore(
        *_WITHOUT_BEARING,
        *(key for word in ("components", "globals") for key, _ in _parts(top, word)),
    )
    if top.has("sparse_optimizations"):
        notes.sparse(top.location_of("sparse_optimizations"), "sparse optimizations")
    _refuse_bare_problem(top)
    top.close()
    spec = Spec(
        architecture,
        problem,
        mapping,
        constraints,
        top.location,
        directives=directives,
        source=table,
    )
    note_suspicious(spec, notes)
    if architecture is not None:
        note_energies(spec, top.require("arch", "architecture"), tables, notes)
    return replace(spec, warnings=tuple(notes.lines))


def _with_joined_variables(table: Table) -> Table:
    keys = [key for key in table.entries if "variables" in normal(key)]
    found = {key: joined(table.entries[key], f"'{key}'") for key in keys}
    return replace(table, entries=table.entries | found)


def _refuse_bare_problem(top: Fields) -> None:
    """Raises: InputError for what belongs under `problem:`, but for a shape beside a problem, as
    Timeloop's files of shapes give it.
    """
    for key in ("instance",) if top.has("problem") else ("shape", "instance"):
        if top.has(key):
            what = f"'{key}' stands at the top level; it belongs under 'problem:'"
            raise InputError(
                what, top.location_of(key), "write 'problem: {shape: ..., instance: ...}'"
            )


def _read_architecture(
    top: Fields, tables: EnergyTables, notes: Notes, scope: Scope
) -> tuple[Architecture | None, V04Design | None]:
    if top.has("arch") and top.has("architecture"):
        raise InputError(
            "both 'arch' and 'architecture' are given",
            top.location_of("architecture"),
            "keep one of them",
        )
    node = top.node("arch", "architecture")
    if node is None:
        return None, None
    table = table_of(node, "the architecture")
    form = Fields(table, "the architecture")
    if form.has("local"):
        raise InputError(
            "this architecture was flattened by Accelergy, which is a result and no input",
            form.location_of("local"),
            "give the architecture from which it was made",
        )
    design = read_v04(table, tables, notes, scope) if form.has("nodes") else None
    read_old = read_tree if form.has("subtree") else read_flat
    architecture = read_old(table, tables, notes, scope) if design is None else design.architecture
    return architecture, design


def _read_constraints(given: _Input) -> tuple[tuple[Constraint, ...], Constraints]:
    """The constraints that are part of every mapping (v0.4), and the union of all constraints,
    wherever they stand.
    """
    found = _constraint_nodes(given.top)
    if not found and given.design is None:
        return (), Constraints()
    if given.architecture is None:
        raise InputError(
            "constraints cannot be read without the architecture whose levels they name",
            found[0][1].location,
        )
    if given.problem is None:
        # `energies` needs no problem; whatever obeys constraints asks for one.
        for _, node in found:
            given.notes.add(
                "unread-constraints",
                node.location,
                "these constraints are not read, since they name dimensions of a problem and there"
                " is none; add a file with 'problem:'",
            )
        return (), Constraints()
    book, requests = ConstraintCollector(given.problem.dims), list[MaximizeRequest]()
    context = Context(
        given.architecture,
        given.problem,
        book,
        "architecture",
        requests,
        given.notes,
        given.scope,
    )
    if given.design is not None:
        read_embedded(given.design, context, given.notes)
    for origin, node in found:
        read_constraints(
            node,
            Context(
                given.architecture,
                given.problem,
                book,
                origin,
                requests,
                given.notes,
                given.scope,
            ),
        )
    resolve(requests, given.architecture, given.problem, book)
    if given.design is None:
        return (), book.done()
    count_unit_dims([level for level, _ in given.design.fanouts], given.problem, book, given.notes)
    resolve_parallels(given.design.parallels, context)
    return (
        tuple(
            constraint
            for constraint in book.constraints
            if constraint.origin in ("architecture", "constraints", HARDWARE)
        ),
        book.done(),
    )


def _note_template(given: _Input) -> None:
    node = given.top.node("mapspace")
    template = Fields(node, "'mapspace'").node("template") if isinstance(node, Table) else None
    if isinstance(template, Scalar) and template.text == "ruby":
        given.notes.add(
            "ruby",
            template.location,
            "the template 'ruby' asks for imperfect factors, which 'solve --factors imperfect' has;"
            " by default factors are perfect",
        )


def _constraint_nodes(top: Fields) -> list[tuple[str, Node]]:
    architecture = top.node("arch", "architecture")
    inside = (
        Fields(architecture, "the architecture").node("constraints")
        if isinstance(architecture, Table)
        else None
    )
    nodes = [
        ("architecture_constraints", inside),
        *((origin, top.node(key)) for key, origin in _CONSTRAINT_KEYS.items()),
    ]
    further = [
        ("constraints", node)
        for key, node in _parts(top, "constraints")
        if normal(key) not in _CONSTRAINT_KEYS
    ]
    return [(origin, node) for origin, node in nodes if node is not None] + further


def _parts(top: Fields, word: str) -> list[tuple[str, Node]]:
    """The top-level entries whose key contains `word`, and no word of `_PARTS` that comes before
    it.
    """
    earlier = _PARTS[: _PARTS.index(word)]
    keys = [
        key
        for key in top.table.entries
        if word in normal(key) and not any(each in normal(key) for each in earlier)
    ]
    found = [(key, top.node(key)) for key in keys]
    return [(key, node) for key, node in found if node is not None]


def _read_mapping(
    given: _Input, implied: tuple[Constraint, ...], constraints: Constraints
) -> tuple[Mapping | None, tuple[Constraint, ...]]:
    node = given.top.node("mapping")
    if node is None or (isinstance(node, Sequence) and not node.items):
        return None, ()
    if given.architecture is None:
        raise InputError(
            "a mapping cannot be read without the architecture whose levels it names",
            node.location,
            "add a file with 'architecture:' or 'arch:'",
        )
    if given.problem is None:
        raise InputError(
            "a mapping cannot be read without the problem whose dimensions it names",
            node.location,
            "add a file with 'problem:'",
        )
    mapping, directives = read_mapping(
        node, given.architecture, given.problem, given.notes, implied
    )
    return with_reuse_flags(mapping, constraints), directives


@edited.register
def _edited(spec: Spec, values: abc.Mapping[str, object]) -> Spec:
    if spec.source is None:
        raise InputError(
            "this specification was not read from files, so its attributes cannot be changed",
            spec.location,
        )
    dense = any(warning.code == "sparse-ignored" for warning in spec.warnings)
    return read_spec(with_attributes(spec.source, values), Notes(ignore_sparse=dense))


def with_mapping_of(spec: Spec, top: Table) -> Spec:
    """`spec` with the mapping under `mapping:` in `top` instead of its own.

    Raises: InputError for a mapping that cannot be read, and for a `spec` that was not.
    """
    if spec.source is None:
        raise InputError("this specification was not read from files", spec.location)
    source = spec.source
    given = replace(
        source,
        entries=source.entries | {"mapping": top.entries["mapping"]},
        key_locations=source.key_locations | {"mapping": top.key_locations["mapping"]},
    )
    dense = any(warning.code == "sparse-ignored" for warning in spec.warnings)
    return read_spec(given, Notes(ignore_sparse=dense))
