"""Whether a mapping keeps the rules of its architecture: `tensors` of memories, `reuse`,
`loop_bounds` and `min_usage` of fan-outs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from solver_mapper.core.results.verdict import Violation
from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.hardware import Fanout, Kind, LoopBoundRule, Unit
from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath, LoopStep, StorageStep
from solver_mapper.cost.looptree.mapping.mapping_tree import Spatial
from solver_mapper.cost.looptree.sets import NameSet
from solver_mapper.cost.looptree.storage_choices import Holding, holding
from solver_mapper.cost.looptree.workload import Relevance


def constraint_violations(
    architecture: Architecture, branches: Sequence[EinsumPath]
) -> Iterator[Violation]:
    """Every rule that a mapping breaks, Einsum by Einsum."""
    for branch in branches:
        yield from _storage(architecture, branch)
        for unit in branch.chain.units:
            for fanout in unit.fanouts:
                yield from _fanout(branch, unit, fanout)


def _storage(architecture: Architecture, branch: EinsumPath) -> Iterator[Violation]:
    """Rules of memories and tolls, each with the sets that the memories above leave."""
    universe = frozenset(branch.einsum.tensors)
    scope = architecture.scope(branch.einsum).with_names({"Above": NameSet(frozenset(), universe)})
    seen: frozenset[str] = frozenset()
    above: dict[str, Holding] = {}
    for level, unit in enumerate(branch.chain.units):
        if unit.kind not in (Kind.MEMORY, Kind.TOLL) or (branch.einsum.copy and seen == universe):
            continue
        text = architecture.by_name[unit.name].holding
        constraints = holding(text, scope, f"tensors of '{unit.name}'")
        holds = [hold for hold in branch.holds if hold.level == level]
        kept = frozenset(hold.access.name for hold in holds)
        yield from _kept(branch, unit, constraints, kept, seen)
        for hold in holds:
            yield from _tile(branch, hold, constraints)
            yield from _once(branch, hold, constraints, above)
            yield from _once_to_compute(branch, hold, constraints)
        above[unit.name] = constraints
        if unit.kind is Kind.MEMORY:
            seen |= kept
        scope = scope.with_names(
            {unit.name: NameSet(kept, universe), "Above": NameSet(seen, universe)}
        )


def _kept(
    branch: EinsumPath, unit: Unit, constraints: Holding, kept: frozenset[str], seen: frozenset[str]
) -> Iterator[Violation]:
    name = branch.einsum.name
    must = (constraints.keep | constraints.back) & (
        seen if unit.kind is Kind.TOLL else constraints.keep | constraints.back
    )
    # A copy moves nothing further than to the memory of its last backing node.
    last = branch.einsum.copy and seen | kept == frozenset(branch.einsum.tensors)
    for tensor in sorted(must - kept - (seen if last else frozenset())):
        yield Violation(
            "keep",
            f"'{unit.name}' must keep '{tensor}' of Einsum '{name}'",
            level=unit.name,
            tensor=tensor,
            location=branch.nodes[-1].location,
        )
    for tensor in sorted(kept - must - constraints.may_keep):
        node = next(
            hold.node for hold in branch.holds if hold.unit is unit and hold.access.name == tensor
        )
        yield Violation(
            "bypass",
            f"'{unit.name}' must not keep '{tensor}' of Einsum '{name}'",
            level=unit.name,
            tensor=tensor,
            location=node.location,
        )
    for tensor in sorted(constraints.back & kept & seen):
        yield Violation(
            "keep",
            f"'{unit.name}' must be the outermost to keep '{tensor}' of Einsum '{name}'",
            level=unit.name,
            tensor=tensor,
            location=branch.nodes[-1].location,
        )


def _tile(branch: EinsumPath, hold: StorageStep, constraints: Holding) -> Iterator[Violation]:
    tile = dict(branch.einsum.bounds)
    for loop in branch.loops_above(hold.index, hold.level):
        tile[loop.variable] = loop.tiles(tile[loop.variable])[0][0]
    for constraint in constraints.tile_shape:
        if not constraint.holds(tile):
            shown = ", ".join(
                f"{name} {tile[name]}" for name in sorted(constraint.variables) if name in tile
            )
            yield Violation(
                "tile-shape",
                f"'{hold.node}': tile_shape {constraint.text} is not kept ({shown})",
                level=hold.unit.name,
                tensor=hold.access.name,
                location=hold.node.location,
            )


def _once(
    branch: EinsumPath, hold: StorageStep, constraints: Holding, above: dict[str, Holding]
) -> Iterator[Violation]:
    """Tensors that may move only once: between a hold and the one above it."""
    if hold.backing:
        return
    holders = branch.holders(hold.access.name)
    upper = holders[holders.index(hold) - 1]
    if hold.access.name in constraints.no_refetch | above[upper.unit.name].no_resend:
        loops = branch.loops_above(hold.index, hold.level)
        yield from _refetched(branch, hold, "fetches", loops)


def _once_to_compute(
    branch: EinsumPath, hold: StorageStep, constraints: Holding
) -> Iterator[Violation]:
    if hold is branch.holders(hold.access.name)[-1] and hold.access.name in constraints.no_resend:
        yield from _refetched(branch, hold, "sends", branch.loops)


def _refetched(
    branch: EinsumPath, hold: StorageStep, verb: str, loops: Iterable[LoopStep]
) -> Iterator[Violation]:
    """The first of the loops that makes a tensor move again."""
    for loop in loops:
        if _repeats(branch, hold, loop):
            yield Violation(
                "refetch",
                f"'{hold.node}' {verb} '{hold.access.name}' again for each iteration of"
                f" '{loop.node}'",
                level=hold.unit.name,
                tensor=hold.access.name,
                location=hold.node.location,
            )
            return


def _repeats(branch: EinsumPath, hold: StorageStep, loop: LoopStep) -> bool:
    """Whether a loop moves the same values again. A fan-out that may reuse the tensor serves all
    copies with one access.
    """
    multicast = loop.fanout is not None and hold.access.name in loop.fanout.may_reuse
    return (
        not multicast
        and hold.access.relevance(loop.variable) is Relevance.IRRELEVANT
        and _trips(branch, loop) > 1
    )


def _fanout(branch: EinsumPath, unit: Unit, fanout: Fanout) -> Iterator[Violation]:
    loops = [
        loop
        for loop in branch.loops
        if isinstance(loop.node, Spatial)
        and (loop.node.component, loop.node.name) == (unit.name, fanout.name)
    ]
    location = loops[0].node.location if loops else branch.nodes[-1].location
    trips = dict.fromkeys(branch.einsum.bounds, 1)
    for loop in loops:
        trips[loop.variable] *= _trips(branch, loop)
        for tensor in sorted(fanout.reuse):
            if branch.einsum.by_tensor[tensor].relevance(loop.variable) is not Relevance.IRRELEVANT:
                yield Violation(
                    "reuse",
                    f"'{loop.node}' indexes '{tensor}', which '{fanout.name}' of '{unit.name}' must"
                    " reuse",
                    level=unit.name,
                    tensor=tensor,
                    dimension=loop.variable,
                    location=loop.node.location,
                )
    for constraint in fanout.loop_bounds:
        yield from _bound(branch, unit, fanout, constraint, trips)
    used = branch.used(unit.name, fanout.name)
    least = fanout.min_usage * fanout.size / fanout.usage_scale
    if used < least and not branch.einsum.copy:
        yield Violation(
            "utilization",
            f"Einsum '{branch.einsum.name}' uses {used} of {fanout.size} copies along"
            f" '{fanout.name}' of '{unit.name}'; min_usage {float(fanout.min_usage):g} requires"
            f" {float(least):g}",
            level=unit.name,
            found=used,
            limit=_shown(least),
            location=location,
        )


def _bound(
    branch: EinsumPath, unit: Unit, fanout: Fanout, constraint: LoopBoundRule, trips: dict[str, int]
) -> Iterator[Violation]:
    if not constraint.holds(trips):
        shown = ", ".join(
            f"{name} {trips[name]}" for name in sorted(constraint.variables) if name in trips
        )
        yield Violation(
            "loop-bounds",
            f"'{fanout.name}' of '{unit.name}': {constraint.text} is not kept ({shown})",
            level=unit.name,
            location=branch.nodes[-1].location,
        )


def _trips(branch: EinsumPath, loop: LoopStep) -> int:
    extent = branch.einsum.bounds[loop.variable]
    for other in branch.loops:
        if other.variable == loop.variable:
            tiles = other.tiles(extent)
            if other is loop:
                return sum(count for _, count in tiles)
            extent = tiles[0][0]
    return 1


def _shown(value: Fraction) -> int | str:
    return int(value) if value.denominator == 1 else f"{float(value):g}"
