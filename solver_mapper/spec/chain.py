"""Putting components together into an `Architecture`, whatever notation they came from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from solver_mapper.errors import InputError, Place
from solver_mapper.spec.architecture import Architecture, Arithmetic, Buffer

_RANGED = re.compile(r"([^\[\]]*)\[\s*(\d{1,18})\s*\.\.\s*(\d{1,18})\s*\]")


def count_of(name: str, place: Place) -> tuple[str, int]:
    """`PE[0..15]` -> ("PE", 16); a name without a range counts once.

    Raises: InputError for brackets that hold no range, and for a range that ends before it begins.
    """
    if "[" not in name and "]" not in name:
        return name, 1
    match = _RANGED.fullmatch(name.strip())
    if not match:
        raise InputError(f"'{name}' is not a name with a range", place, "ranges are written 'PE[0..15]'")
    first, last = int(match[2]), int(match[3])
    if last < first:
        raise InputError(f"the range of '{name}' ends before it begins", place)
    return match[1].strip(), last - first + 1


def build(name: str, levels: list[Buffer], compute: list[Arithmetic], place: Place,
          groups: Mapping[str, tuple[str, ...]] | None = None) -> Architecture:
    """Check the chain `levels` (outer to inner) above exactly one array of multipliers, and name the wires between them.

    Raises: InputError for a missing or second array, no storage, equal names, and meshes that do not divide.
    """
    if not compute:
        raise InputError("no compute level: the architecture has no multiply-accumulate units", place,
                         "add 'arithmetic', or a component of class 'mac', 'intmac', 'fpmac' or 'compute'")
    if len(compute) > 1:
        raise InputError(f"two compute levels, '{compute[0].name}' and '{compute[1].name}'", compute[1].place)
    if not levels:
        raise InputError("the architecture has no storage level", place)
    seen: dict[str, Place] = {}
    chain: list[Buffer | Arithmetic] = [*levels, *compute]
    for level in chain:
        if level.name in seen:
            raise InputError(f"two levels are called '{level.name}', the other one at {seen[level.name]}", level.place)
        seen[level.name] = level.place
    wired = [_wired(outer, inner) for outer, inner in zip(levels, chain[1:], strict=True)]
    return Architecture(name, tuple(wired), compute[0], place, groups or {})


def _wired(outer: Buffer, inner: Buffer | Arithmetic) -> Buffer:
    meshes = f"'{outer.name}' ({outer.mesh_x} x {outer.mesh_y}) and '{inner.name}' ({inner.mesh_x} x {inner.mesh_y})"
    for axis, above, below in (("X", outer.mesh_x, inner.mesh_x), ("Y", outer.mesh_y, inner.mesh_y)):
        if below % above:
            raise InputError(
                f"the meshes of {meshes} do not divide: {below} is not a multiple of {above} along {axis}", inner.place,
                f"give 'mesh{axis}' of '{inner.name}' as a multiple of {above}")
    if outer.network is None or outer.network.name:
        return outer
    return replace(outer, network=replace(outer.network, name=f"{outer.name} <==> {inner.name}"))
