"""Putting components together into an `Architecture`, whatever notation they came from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer, Network
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.timeloop.architecture.attributes import read_arithmetic, read_buffer
from solver_mapper.io.timeloop.architecture.component import Component
from solver_mapper.io.timeloop.architecture.declared_networks import (
    Ports,
    buffer_ports,
    compute_ports,
    plug,
    read_network,
)
from solver_mapper.io.timeloop.architecture.energy_tables import EnergyTables
from solver_mapper.io.yaml.warnings import Notes

_RANGED = re.compile(r"([^\[\]]*)\[\s*(\d{1,18})\s*\.\.\s*(\d{1,18})\s*\]")


def count_of(name: str, location: SourceLocation) -> tuple[str, int]:
    """`PE[0..15]` -> ("PE", 16); a name without a range counts once.

    Raises: InputError for brackets that hold no range, and for a range that ends before it begins.
    """
    if "[" not in name and "]" not in name:
        return name, 1
    match = _RANGED.fullmatch(name.strip())
    if not match:
        raise InputError(
            f"'{name}' is not a name with a range", location, "ranges are written 'PE[0..15]'"
        )
    first, last = int(match[2]), int(match[3])
    if last < first:
        raise InputError(f"the range of '{name}' ends before it begins", location)
    return match[1].strip(), last - first + 1


@dataclass
class Parts:
    """What a notation has found: levels outer to inner, arrays of compute units, networks, and
    which level names which network.
    """

    levels: list[Buffer] = field(default_factory=list)
    compute: list[Arithmetic] = field(default_factory=list)
    networks: dict[str, Network] = field(default_factory=dict)
    ports: dict[str, Ports] = field(default_factory=dict)

    def take(
        self, component: Component, role: str, class_name: str, tables: EnergyTables, notes: Notes
    ) -> None:
        """Read `component`, which is "storage", "compute" or a "network"."""
        if role == "storage":
            self.ports[component.name] = buffer_ports(component.fields)
            self.levels.append(read_buffer(component, tables, notes))
        elif role == "compute":
            self.ports[component.name] = compute_ports(component.fields)
            self.compute.append(read_arithmetic(component, tables, notes))
        else:
            self.networks[component.name] = read_network(component, class_name, tables, notes)


def build(
    name: str,
    parts: Parts,
    location: SourceLocation,
    groups: Mapping[str, tuple[str, ...]] | None = None,
) -> Architecture:
    """Check the chain of levels above exactly one array of compute units, and lay the wires between
    them.

    Raises: InputError for a missing or second array, no storage, equal names, meshes that do not
    divide, and networks that do not fit.
    """
    levels, compute = parts.levels, parts.compute
    if not compute:
        raise InputError(
            "no compute level: the architecture has no multiply-accumulate units",
            location,
            "add 'arithmetic', or a component of class 'mac', 'intmac', 'fpmac' or 'compute'",
        )
    if len(compute) > 1:
        raise InputError(
            f"two compute levels, '{compute[0].name}' and '{compute[1].name}'", compute[1].location
        )
    if not levels:
        raise InputError("the architecture has no storage level", location)
    seen: dict[str, SourceLocation] = {}
    chain: list[Buffer | Arithmetic] = [*levels, *compute]
    for level in chain:
        if level.name in seen:
            raise InputError(
                f"two levels are called '{level.name}', the other one at {seen[level.name]}",
                level.location,
            )
        seen[level.name] = level.location
    wired = []
    for outer, inner in zip(levels, chain[1:], strict=True):
        _check_meshes(outer, inner)
        above, below = (
            parts.ports.get(each.name, Ports(location=each.location)) for each in (outer, inner)
        )
        wired.append(plug(outer, above, below, inner.name, parts.networks))
    return Architecture(name, tuple(wired), compute[0], location, groups or {})


def _check_meshes(outer: Buffer, inner: Buffer | Arithmetic) -> None:
    meshes = (
        f"'{outer.name}' ({outer.mesh_x} x {outer.mesh_y}) and '{inner.name}' ({inner.mesh_x} x"
        f" {inner.mesh_y})"
    )
    for axis, above, below in (
        ("X", outer.mesh_x, inner.mesh_x),
        ("Y", outer.mesh_y, inner.mesh_y),
    ):
        if below % above:
            raise InputError(
                f"the meshes of {meshes} do not divide: {below} is not a multiple of {above} along"
                f" {axis}",
                inner.location,
                f"give 'mesh{axis}' of '{inner.name}' as a multiple of {above}",
            )
