"""What a skeleton costs: sums of products with one factor a group of variables.

Every count, tile and fan-out of a LoopTree is such a product. A quantity is a list of terms
`coefficient * product of factors`; terms whose coefficient is negative take off what first fetches
skip, and never exceed the positive term that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from solver_mapper.cost.looptree.hardware import Kind, Unit
from solver_mapper.cost.looptree.workload import Access, Relevance
from solver_mapper.solve.fused.rows import Dimension
from solver_mapper.solve.fused.skeleton import Skeleton, open_level

Floats = NDArray[np.float64]
Key = tuple[object, ...]


@dataclass
class Terms:
    """Coefficients of products by key; `skips[key]` is taken off what `key` counts."""

    weights: dict[Key, float] = field(default_factory=dict)
    skips: dict[Key, float] = field(default_factory=dict)

    def add(self, key: Key, weight: float) -> None:
        """Add `weight` to the coefficient of `key`."""
        if weight:
            self.weights[key] = self.weights.get(key, 0.0) + weight

    def skip(self, key: Key, weight: float) -> None:
        """Take off the first fetches of what `key` counts."""
        if weight:
            self.skips[key] = self.skips.get(key, 0.0) + weight


@dataclass(frozen=True)
class NodeTraffic:
    """Traffic of `tensor` that `node` causes (the compute is the node after the last), as seen at
    `level`.

    `unit`: of one instance there, else of all. `first`: only the first fetches.
    """

    tensor: str
    node: int
    level: int
    unit: bool
    first: bool = False


@dataclass(frozen=True)
class Tile:
    """Values that `node` reserves."""

    node: int


@dataclass(frozen=True)
class Spread:
    """Copies used along one dimension."""

    dimension: int


@dataclass(frozen=True)
class Shared:
    """Iterations of the loop at a site."""

    slot: int


@dataclass(frozen=True)
class Steps:
    """Iterations of all temporal loops."""


@dataclass(frozen=True)
class Product:
    """Trip counts along a dimension, or tile extents at a node, of some variables multiplied."""

    variables: frozenset[str]
    dimension: int | None = None
    node: int | None = None


@dataclass(frozen=True)
class SkeletonCost:
    """A skeleton's cost: energy of all actions; latency as the largest of `lines`; bits in each
    finite memory against its size.

    `memories` are (level, bits reserved, size). For
    memories of which there is one, or over whose copies only shared loops run, `held[level]` has,
    for each shared loop, the bits reserved just above it, and then all bits reserved; what other
    Einsums share is left out. `caps` are (key, limit) with product <= limit, `floors` with product
    >= limit, `equal` with product == value. `shared` are the keys of the trip counts of the shared
    loops.
    """

    skeleton: Skeleton
    dimensions: tuple[Dimension, ...]
    energy: Terms
    lines: tuple[tuple[Terms, float], ...]
    memories: tuple[tuple[int, Terms, float], ...]
    held: Mapping[int, tuple[Terms, ...]]
    shared: tuple[Key, ...]
    caps: tuple[tuple[Key, int], ...]
    floors: tuple[tuple[Key, float], ...]
    equal: tuple[tuple[Key, int], ...]


def model_of(skeleton: Skeleton, dimensions: tuple[Dimension, ...]) -> SkeletonCost:
    """The cost of a skeleton."""
    energy = Terms()
    calls: dict[tuple[int, str], Terms] = {}
    for access in skeleton.einsum.accesses:
        _tensor(skeleton, access, energy, calls)
    chain = skeleton.chain
    compute = len(chain.units) - 1
    steps = Terms()
    if not skeleton.einsum.copy:
        paid = chain.compute.actions["compute"].energy * chain.compute.count_scale
        energy.add((), float(skeleton.einsum.operations * paid))
        steps.add((Steps(),), float(chain.compute.count_scale))
    calls[compute, "compute"] = steps
    caps: list[tuple[Key, int]] = []
    floors: list[tuple[Key, float]] = []
    equal: list[tuple[Key, int]] = []
    for index, dimension in enumerate(dimensions):
        fanout = dimension.fanout
        caps.append(((Spread(index),), fanout.size))
        if fanout.min_usage > 0 and not skeleton.einsum.copy:
            floors.append(
                ((Spread(index),), float(fanout.min_usage * fanout.size / fanout.usage_scale))
            )
    for key, operator, value in _products(skeleton, dimensions):
        if operator in ("<=", "<"):
            caps.append((key, value - (operator == "<")))
        elif operator in (">=", ">"):
            floors.append((key, float(value + (operator == ">"))))
        else:
            equal.append((key, value))
    shared = tuple(_shared(skeleton, dimensions))
    return SkeletonCost(
        skeleton,
        dimensions,
        energy,
        tuple(_lines(skeleton, calls)),
        tuple(_memories(skeleton)),
        _held(skeleton),
        shared,
        tuple(caps),
        tuple(floors),
        tuple(equal),
    )


def _products(
    skeleton: Skeleton, dimensions: Sequence[Dimension]
) -> Iterable[tuple[Key, str, int]]:
    """The user's rules about products of several variables."""
    for index, dimension in enumerate(dimensions):
        for constraint in dimension.fanout.loop_bounds:
            if constraint.product:
                yield (
                    (Product(constraint.variables, dimension=index),),
                    constraint.operator,
                    constraint.value,
                )
    for index, node in enumerate(skeleton.nodes):
        for constraint in skeleton.placement.constraints[node.level].tile_shape:
            if constraint.product:
                yield (
                    (Product(constraint.variables, node=index),),
                    constraint.operator,
                    constraint.value,
                )


def _tensor(
    skeleton: Skeleton, access: Access, energy: Terms, calls: dict[tuple[int, str], Terms]
) -> None:
    """Energy and actions of all holders of one tensor."""
    holders = skeleton.holders(access.name)
    units, levels = skeleton.chain.units, [skeleton.nodes[holder].level for holder in holders]
    ends = [*holders[1:], len(skeleton.nodes)]
    for level, below in zip(levels, ends, strict=True):
        inner = skeleton.nodes[below].level if below < len(skeleton.nodes) else len(units) - 1
        skips = access.output and units[inner].skip_first
        down = None if skeleton.einsum.copy and access.output else "read"
        if not (skeleton.einsum.copy and _stays(skeleton, access, level)):
            _charge(
                energy,
                calls,
                units,
                level,
                access,
                below,
                skips,
                down=down,
                up="write" if access.output else None,
            )
        if below < len(skeleton.nodes):
            _charge(
                energy,
                calls,
                units,
                inner,
                access,
                below,
                skips,
                down="write",
                up="read" if access.output else None,
            )
        for toll in skeleton.tolls[access.name]:
            if level < toll < inner:
                direction = units[toll].direction[access.name]
                _charge(
                    energy,
                    calls,
                    units,
                    toll,
                    access,
                    below,
                    skips,
                    down="read" if direction != "up" else None,
                    up="read" if access.output and direction != "down" else None,
                )


def _stays(skeleton: Skeleton, access: Access, level: int) -> bool:
    """Whether a copy moves nothing of a tensor at a level, because another of its tensors is backed
    there.
    """
    return any(node.level == level and node.tensor != access.name for node in skeleton.nodes)


def _charge(
    energy: Terms,
    calls: dict[tuple[int, str], Terms],
    units: Sequence[Unit],
    level: int,
    access: Access,
    node: int,
    skips: bool,
    down: str | None,
    up: str | None,
) -> None:
    """What one side pays for the traffic that `node` causes: `down` for fetches, `up` for what is
    returned.
    """
    unit = units[level]
    for action, fetch in ((down, True), (up, False)):
        if action is None:
            continue
        kind = unit.actions[action]
        rate = float(kind.actions_per_value[access.name] * unit.count_scale)
        paid = rate * float(kind.energy)
        counted = calls.setdefault((level, action), Terms())
        total, single = (
            NodeTraffic(access.name, node, level, False),
            NodeTraffic(access.name, node, level, True),
        )
        energy.add((total,), paid)
        counted.add((single,), rate)
        if fetch and skips and unit.skip_first:
            energy.skip((total,), paid)
            counted.skip((single,), rate)


def _lines(
    skeleton: Skeleton, calls: dict[tuple[int, str], Terms]
) -> Iterable[tuple[Terms, float]]:
    """The sums of which the latency is the largest, with their constants."""
    for level, unit in enumerate(skeleton.chain.units):
        if not any(where == level for where, _ in calls):
            continue
        for line in unit.latency.lines:
            terms = Terms()
            for action, weight in line.weights.items():
                counted = calls.get((level, action), Terms())
                for key, amount in counted.weights.items():
                    terms.add(key, float(weight) * amount)
                for key, amount in counted.skips.items():
                    terms.skip(key, float(weight) * amount)
            if terms.weights or line.constant:
                yield terms, float(line.constant)


def _shared(skeleton: Skeleton, dimensions: Sequence[Dimension]) -> Iterable[Key]:
    """The keys of the trip counts of the shared loops, outer to inner."""
    slots = {slot.shared: index for index, slot in enumerate(skeleton.slots)}
    where = {dimension.across(skeleton): index for index, dimension in enumerate(dimensions)}
    for number, loop in enumerate(skeleton.prefix):
        if loop.across is None:
            yield (Shared(slots[number]),)
        else:
            yield (Product(frozenset((loop.variable,)), dimension=where[loop.across]),)


def _memories(skeleton: Skeleton) -> Iterable[tuple[int, Terms, float]]:
    for level, unit in enumerate(skeleton.chain.units):
        if unit.kind is Kind.MEMORY and unit.size is not None:
            terms = Terms()
            for index, node in enumerate(skeleton.nodes):
                if node.level == level:
                    terms.add((Tile(index),), float(unit.bits[node.tensor]))
            if terms.weights:
                yield level, terms, float(unit.size)


def _is_handed(skeleton: Skeleton, node: int) -> bool:
    """Whether a node is where other Einsums leave or take its tensor."""
    return skeleton.nodes[node].parent is None and skeleton.nodes[node].tensor in skeleton.handed


def _held(skeleton: Skeleton) -> dict[int, tuple[Terms, ...]]:
    """Bits that stay reserved while a shared loop iterates: for each such loop, what stands below
    those outside of it; then all.

    What is handed over is left out: other Einsums see it too.
    """
    count, first = len(skeleton.prefix), open_level(skeleton.chain, skeleton.closed)
    found: dict[int, tuple[Terms, ...]] = {}
    for level, unit in enumerate(skeleton.chain.units[:first]):
        if unit.kind is Kind.MEMORY and unit.size is not None:
            parts = tuple(Terms() for _ in range(count + 1))
            for index, node in enumerate(skeleton.nodes):
                if node.level == level and not _is_handed(skeleton, index):
                    bits = float(unit.bits[node.tensor])
                    above = sum(number <= index for number in skeleton.prefix_above)
                    depth = above + _lowered(skeleton, index)
                    if depth < count:
                        parts[depth].add((Tile(index),), bits)
                    parts[-1].add((Tile(index),), bits)
            found[level] = parts
    return found


def _lowered(skeleton: Skeleton, node: int) -> bool:
    """Whether a reservation is lowered past a shared loop."""
    slot = skeleton.slot_below(node)
    if slot is None or skeleton.slots[slot].shared is None or skeleton.nodes[node].parent is None:
        return False
    (variable,) = skeleton.slots[slot].variables
    return (
        skeleton.einsum.by_tensor[skeleton.nodes[node].tensor].relevance(variable)
        is not Relevance.IRRELEVANT
    )
