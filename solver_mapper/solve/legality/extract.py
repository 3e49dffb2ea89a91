"""From values of the model of legality to a mapping, and from a mapping to constraints on those
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ortools.sat.python import cp_model

from solver_mapper.core.constraints import Kind, ReuseConstraint
from solver_mapper.core.loop_orders import pairs_at
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.primes import exponents_of
from solver_mapper.mapspace.order_patterns import arrange
from solver_mapper.mapspace.requirements import Requirement
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.legality.model import Legal

Read = Callable[[cp_model.IntVar], int]


def mapping_of(
    legal: Legal, read: Read, requirements: Iterable[Requirement] | None = None
) -> Mapping:
    """The mapping that variable values stand for, without loops of bound 1, in an order that
    `requirements` allow (None: all of the model).
    """
    obeyed = tuple(legal.guards if requirements is None else requirements)
    names = legal.problem.tensor_names
    levels = []
    for level, buffer in enumerate(legal.architecture.levels):
        temporal = _loops(legal, read, level, "temporal", obeyed)
        spatial = _loops(legal, read, level, "spatial", obeyed)
        keep = frozenset(tensor for tensor in names if read(legal.storage.keep[tensor, level]))
        levels.append(flagged(LevelMapping(buffer.name, temporal, spatial, keep), obeyed))
    return Mapping(tuple(levels), legal.problem.dims, names)


def bound_at(legal: Legal, read: Read, dim: str, slot: Slot) -> int:
    """The loop bound of `dim` at `slot`."""
    bound = 1
    for prime in legal.loops.limits.get(dim, {}):
        bound *= prime ** read(legal.loops.power[dim, prime, slot])
    return bound


def flagged(level: LevelMapping, requirements: Iterable[Requirement]) -> LevelMapping:
    """`level` with the reuse switched off that flag constraints switch off there."""
    found: dict[str, frozenset[str]] = {}
    for requirement in requirements:
        if isinstance(requirement, ReuseConstraint) and requirement.level == level.level:
            found[requirement.flag] = found.get(requirement.flag, frozenset()) | requirement.tensors
    none: frozenset[str] = frozenset()
    return replace(
        level,
        no_temporal_reuse=found.get("no_temporal_reuse", none),
        no_multicast=found.get("no_multicast", none),
        no_link_transfer=found.get("no_link_transfer", none),
    )


def _loops(
    legal: Legal, read: Read, level: int, kind: Kind, requirements: Iterable[Requirement]
) -> tuple[Loop, ...]:
    """Outer to inner; Y outside X."""
    pairs = pairs_at(requirements, legal.architecture.levels[level].name, kind, legal.problem.dims)
    found: list[Loop] = []
    for axis in ("",) if kind == "temporal" else ("X", "Y"):
        slot = Slot(level, axis)
        if slot in legal.loops.slots:
            bounds = {dim: bound_at(legal, read, dim, slot) for dim in legal.loops.dims}
            found += [
                loop(dim, bounds[dim], axis)
                for dim in arrange([d for d, bound in bounds.items() if bound > 1], pairs)
            ]
    return tuple(reversed(found))


def fix(legal: Legal, mapping: Mapping) -> bool:
    """Leave nothing but `mapping` (up to the order of loops); False if the model has no values for
    it.
    """
    model = legal.model
    bounds = {
        (each.dim, Slot(index, each.axis)): each.bound
        for index, level in enumerate(mapping.levels)
        for each in (*level.temporal, *level.spatial)
        if each.bound > 1
    }
    for dim, primes in legal.loops.limits.items():
        for slot in legal.loops.slots:
            powers = exponents_of(bounds.pop((dim, slot), 1), tuple(primes))
            if powers is None:
                return False
            for prime, power in zip(primes, powers, strict=True):
                model.add(legal.loops.power[dim, prime, slot] == power)
    for index, level in enumerate(mapping.levels):
        for tensor in legal.problem.tensor_names:
            model.add(legal.storage.keep[tensor, index] == (tensor in level.keep))
    return not bounds and mapping.perfect
