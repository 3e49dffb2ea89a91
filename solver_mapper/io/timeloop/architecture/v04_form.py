"""The v0.4 form of Timeloop's front end: `architecture: {version: 0.4, nodes: [!Container,
!Component, !Parallel, ...]}`.

Nodes run from the outermost to the compute units. The fanout of a node (`spatial: {meshX, meshY}`)
multiplies all that follows. As the front end does, each fanout gets a level of its own,
`inter_NAME_spatial`, which stores nothing and carries the spatial loops: spatial directives name
the node that has the fanout. Attributes of containers hold for everything after them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NoReturn

from solver_mapper.core.architecture import AccessEnergy, Architecture, Buffer, Network
from solver_mapper.errors import InputError, SourceLocation, unknown_name
from solver_mapper.io.timeloop.architecture.architecture_chain import Parts, build
from solver_mapper.io.timeloop.architecture.component import Component
from solver_mapper.io.timeloop.architecture.energy_tables import EnergyTables
from solver_mapper.io.timeloop.architecture.tree_form import role_of
from solver_mapper.io.timeloop.architecture.versions import version_of
from solver_mapper.io.yaml.expressions import CIMLOOP_HINT
from solver_mapper.io.yaml.fields import Fields, normal, sequence_of, table_of, text_of
from solver_mapper.io.yaml.scope import Scope
from solver_mapper.io.yaml.source import Node, Scalar, Table
from solver_mapper.io.yaml.warnings import Notes

_BRANCHES = ("!Hierarchical", "!Parallel", "!Pipelined")
_LEAVES = ("!Component", "!Container", "!Nothing")
_WITHOUT_BEARING = ("subclass", "required_actions", "area_scale", "energy_scale", "networks")
_DEFAULTS = {"cluster_size": "1", "reduction_supported": "true"}


@dataclass(frozen=True)
class Embedded:
    """The constraints inside the node `name`. `levels` are what temporal and dataspace constraints
    there are about; arithmetic in them may use the names in `scope`."""

    name: str
    levels: tuple[str, ...]
    table: Table
    scope: Scope


@dataclass(frozen=True)
class ParallelBranch:
    """One branch of a `!Parallel`: its storage levels, the constraints of `!Nothing` in it, and the
    parallels inside it.
    """

    levels: tuple[str, ...]
    nothing: tuple[Table, ...]
    parallels: tuple[Parallel, ...]


@dataclass(frozen=True)
class Parallel:
    """A `!Parallel` node: components side by side."""

    branches: tuple[ParallelBranch, ...]
    location: SourceLocation


@dataclass(frozen=True)
class V04Design:
    """`fanouts` are the levels that only carry spatial loops, with the location of the node that
    they belong to.
    """

    architecture: Architecture
    embedded: tuple[Embedded, ...]
    parallels: tuple[Parallel, ...]
    fanouts: tuple[tuple[str, SourceLocation], ...]


@dataclass
class _Walk:
    """What the walk over the nodes has gathered. `mesh` is the product of the fanouts so far."""

    tables: EnergyTables
    notes: Notes
    scope: Scope
    mesh: tuple[int, int] = (1, 1)
    inherited: tuple[Table, ...] = ()
    parts: Parts = field(default_factory=Parts)
    containers: dict[str, int] = field(default_factory=dict)
    fanouts: dict[str, str] = field(default_factory=dict)
    constraints: list[tuple[str, Table, Scope]] = field(default_factory=list)
    seen: dict[str, SourceLocation] = field(default_factory=dict)

    def nodes(self, nodes: tuple[Node, ...], parallel: bool) -> ParallelBranch:
        """Read `nodes` one after the other; `parallel` tells that they stand in a branch of a
        `!Parallel`.
        """
        start, nothing, parallels = len(self.parts.levels), list[Table](), list[Parallel]()
        for node in nodes:
            if isinstance(node, Scalar) and node.tag == "!Nothing":
                continue
            table = table_of(node, "a node of the architecture")
            tag = _tag_of(table)
            if tag == "!Nothing":
                nothing += _constraints_of_nothing(table)
            elif tag == "!Parallel":
                branches = tuple(
                    self.nodes((inner,), parallel=True) for inner in _inner(table, tag)
                )
                parallels.append(Parallel(branches, table.location))
            elif tag in _BRANCHES:
                inside = self.nodes(_inner(table, tag), parallel)
                nothing += inside.nothing
                parallels += inside.parallels
            else:
                self.leaf(table, tag == "!Container", parallel)
        return ParallelBranch(
            tuple(level.name for level in self.parts.levels[start:]),
            tuple(nothing),
            tuple(parallels),
        )

    def leaf(self, table: Table, container: bool, parallel: bool) -> None:
        fields = Fields(table, "a container" if container else "a component")
        name = text_of(fields.require("name"), f"the name of {fields.what}")
        fields.what = f"{'container' if container else 'component'} '{name}'"
        if fields.flag("enabled") is False:
            return
        self._check(name, fields, container, parallel)
        fields.ignore(*_WITHOUT_BEARING)
        attributes = fields.table_at("attributes") or Table({}, {}, table.location)
        scope = Scope(*self.scope.tables, *self.inherited, attributes, root=self.scope.root)
        fan = self._fanout(name, fields, scope)
        if fan != (1, 1):
            if parallel:
                raise InputError(
                    f"{fields.what} stands in a !Parallel and cannot have a fanout",
                    fields.location_of("spatial"),
                )
            self._dummy(name, fan, table.location)
        if container:
            self.containers[name] = len(self.parts.levels)
            self.inherited = (*self.inherited, attributes)
        else:
            self._component(name, fields, attributes, scope)
        constraints = fields.table_at("constraints")
        if constraints is not None:
            self.constraints.append((name, constraints, scope))
        fields.close()

    def _check(self, name: str, fields: Fields, container: bool, parallel: bool) -> None:
        if "[" in name:
            raise InputError(
                f"'{name}' has a range, which v0.4 writes as 'spatial: {{meshX: ...}}'",
                fields.location_of("name"),
            )
        if name in self.seen:
            raise InputError(
                f"two nodes are called '{name}', the other one at {self.seen[name]}",
                fields.location,
            )
        if self.parts.compute:
            raise InputError(
                f"{fields.what} follows the compute units '{self.parts.compute[0].name}'",
                fields.location,
                "the compute units must come last",
            )
        if container and parallel:
            raise InputError(
                f"{fields.what} cannot stand in a !Parallel",
                fields.location,
                "use '!Nothing' for an empty branch",
            )
        if fields.has("max_utilization"):
            _refuse_cimloop("max_utilization", fields.location_of("max_utilization"))
        if fields.has("sparse_optimizations"):
            self.notes.sparse(fields.location_of("sparse_optimizations"), "sparse optimizations")
        self.seen[name] = fields.location

    def _fanout(self, name: str, fields: Fields, scope: Scope) -> tuple[int, int]:
        table = fields.table_at("spatial")
        if table is None:
            return 1, 1
        mesh = Fields(table, f"'spatial' of '{name}'", scope=scope)
        x, y = mesh.integer("meshX", least=1), mesh.integer("meshY", least=1)
        mesh.close()
        return x or 1, y or 1

    def _dummy(self, name: str, fan: tuple[int, int], location: SourceLocation) -> None:
        """A level without storage in front of the fanout, which then multiplies everything that
        follows.
        """
        (x, y), zero, dummy = self.mesh, Fraction(0), f"inter_{name}_spatial"
        network = Network("", word_bits=1, wire_energy=self.tables.wire_energy(), location=location)
        energy = AccessEnergy(zero, zero, zero, origin="none (no storage)")
        self.parts.levels.append(
            Buffer(
                dummy,
                entries=0,
                instances=x * y,
                mesh_x=x,
                mesh_y=y,
                word_bits=1,
                energy=energy,
                network=network,
                location=location,
                entries_location=location,
            )
        )
        self.fanouts[name] = dummy
        self.mesh = x * fan[0], y * fan[1]

    def _component(self, name: str, fields: Fields, own: Table, scope: Scope) -> None:
        class_name = text_of(fields.require("class"), f"the class of '{name}'")
        location = fields.location_of("class")
        role = "" if class_name == "nothing" else role_of(class_name, location)
        if not role:
            if class_name != "nothing":
                what = (
                    f"{fields.what} of class '{class_name}' neither stores nor computes and is"
                    " left out"
                )
                self.notes.add("left-out-component", location, what)
            return
        merged = _merged(own, self.inherited, _DEFAULTS if role == "storage" else {})
        quiet = frozenset(normal(key) for key in merged.entries) - {
            normal(key) for key in own.entries
        }
        what = f"{'storage level' if role == 'storage' else 'component'} '{name}'"
        component = Component(
            name,
            Fields(merged, what, scope=scope),
            fields.location,
            "DRAM" if "DRAM" in class_name else "SRAM",
            mesh=self.mesh,
            inherited=quiet,
        )
        self.parts.take(component, role, class_name, self.tables, self.notes)


def read_v04(table: Table, tables: EnergyTables, notes: Notes, scope: Scope) -> V04Design:
    """Raises: InputError."""
    fields = Fields(table, "the architecture")
    nodes = sequence_of(fields.require("nodes"), "'nodes' of the architecture")
    fields.ignore("constraints")
    version_of(fields, notes, "nodes", ("0.4",))
    fields.close()
    walk = _Walk(tables, notes, scope)
    branch = walk.nodes(nodes.items, parallel=False)
    names = [level.name for level in walk.parts.levels]
    groups = {
        name: tuple(each for each in names[start:] if each not in walk.fanouts.values())
        for name, start in walk.containers.items()
    }
    architecture = build(next(iter(groups), "architecture"), walk.parts, nodes.location, groups)
    embedded = tuple(
        Embedded(name, (name,) if name in names else groups.get(name, ()), inside, within)
        for name, inside, within in walk.constraints
    )
    dummies = tuple((dummy, walk.seen[name]) for name, dummy in walk.fanouts.items())
    return V04Design(
        replace(architecture, fanouts=walk.fanouts), embedded, branch.parallels, dummies
    )


def _tag_of(table: Table) -> str:
    """The kind of a node. Plain Python values carry no tags: there the fields tell."""
    if table.tag is None and table.location.line is None:
        return (
            "!Hierarchical"
            if "nodes" in table.entries
            else "!Component"
            if "class" in table.entries
            else "!Container"
        )
    if table.tag == "!ArrayContainer":
        _refuse_cimloop(table.tag, table.location)
    if table.tag not in (*_BRANCHES, *_LEAVES):
        raise unknown_name(
            "kind of node", table.tag or "without a tag", (*_BRANCHES, *_LEAVES), table.location
        )
    return table.tag


def _refuse_cimloop(name: str, location: SourceLocation) -> NoReturn:
    raise InputError(
        f"'{name}' belongs to CiMLoop, whose Python processors turn it into Timeloop's notation; it"
        " is not read",
        location,
        CIMLOOP_HINT,
    )


def _inner(table: Table, tag: str) -> tuple[Node, ...]:
    fields = Fields(table, f"a {tag}")
    nodes = sequence_of(fields.require("nodes"), f"'nodes' of a {tag}")
    fields.ignore("name")
    fields.close()
    return nodes.items


def _constraints_of_nothing(table: Table) -> list[Table]:
    fields = Fields(table, "a !Nothing")
    constraints = fields.table_at("constraints")
    fields.ignore("name", "class", "attributes")
    fields.close()
    return [] if constraints is None else [constraints]


def _merged(own: Table, inherited: tuple[Table, ...], defaults: dict[str, str]) -> Table:
    """`own` attributes, then those of the innermost container outwards, then `defaults`."""
    entries, locations = dict(own.entries), dict(own.key_locations)
    known = {normal(key) for key in entries}
    for table in reversed(inherited):
        for key, node in table.entries.items():
            if normal(key) not in known:
                entries[key], locations[key] = node, table.key_locations[key]
        known = {normal(key) for key in entries}
    for key, text in defaults.items():
        if key not in known:
            entries[key], locations[key] = Scalar(text, own.location), own.location
    return Table(entries, locations, own.location)
