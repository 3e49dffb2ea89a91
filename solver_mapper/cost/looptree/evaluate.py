"""Energy, latency and occupancy of a LoopTree mapping, exactly.

Energy is actions times energy per action, plus leakage: every instance of every component leaks for
as long as its Einsum takes. The latency of a component is a function of the actions of its busiest
instance (by default the sum of actions over throughput); that of an Einsum the largest of its
components', as if all worked at the same time; that of the workload the sum over Einsums, fused or
not.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from solver_mapper.core.results.rendering import text_of
from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.counting import TensorCount, profile
from solver_mapper.cost.looptree.hardware import Unit
from solver_mapper.cost.looptree.lifetimes import lifetimes
from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath
from solver_mapper.cost.looptree.mapping.labels import LabelledTree, labels
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.mapping.prepare import prepare
from solver_mapper.cost.looptree.occupancy import alive, peaks
from solver_mapper.cost.looptree.statistics import (
    ActionStatistics,
    EinsumStatistics,
    TreeStatistics,
)
from solver_mapper.cost.looptree.workload import Access, Workload
from solver_mapper.deadline import check_time


def evaluate(
    architecture: Architecture, workload: Workload, mapping: TreeMapping
) -> TreeStatistics:
    """Exact figures of `mapping`. A mapping that exceeds a capacity or a fanout is counted all the
    same (see `validate`).

    Raises: InputError with every name that is unknown and every loop or tensor that makes no sense.
    """
    branches = prepare(architecture, workload, mapping).need_sound()
    einsums = tuple(evaluate_branch(branch, workload.instances) for branch in branches)
    tree = LabelledTree(mapping, labels(branches))
    during = alive(branches, workload.instances)
    return TreeStatistics(
        einsums,
        peaks(branches, during),
        lifetimes(branches, during),
        text_of(tree),
        tree=tree,
    )


def evaluate_branch(branch: EinsumPath, instances: int = 1) -> EinsumStatistics:
    """The figures of one Einsum. Args: `instances`, how often the workload runs. Raises: TimeUp."""
    check_time()
    repeats = instances * branch.einsum.instances
    moved = [row for access in branch.einsum.accesses for row in _tensor(branch, access)]
    rows = [*_compute(branch), *(_copied(moved) if branch.einsum.copy else moved)]
    calls: dict[str, dict[str, Fraction]] = {}
    dynamic: dict[str, Fraction] = {}
    for row in rows:
        counts = calls.setdefault(row.component, {})
        counts[row.action] = counts.get(row.action, Fraction(0)) + row.unit_actions
        dynamic[row.component] = dynamic.get(row.component, Fraction(0)) + row.energy * repeats
    latencies = {
        name: branch.chain.by_name[name].latency.at(counts) * repeats
        for name, counts in calls.items()
    }
    latency = max(latencies.values())
    leak = {
        unit.name: unit.leak * unit.instances * share * latency
        for unit, share in _awake(branch)
        if unit.leak
    }
    scaled = tuple(
        ActionStatistics(
            row.component,
            row.subject,
            row.action,
            row.actions * repeats,
            row.unit_actions * repeats,
            row.energy * repeats,
            _times(row.values, repeats),
            _times(row.bits, repeats),
        )
        for row in rows
    )
    return EinsumStatistics(branch.einsum.name, latency, latencies, dynamic, leak, scaled)


def _times(value: Fraction | None, factor: int) -> Fraction | None:
    return None if value is None else value * factor


def _awake(branch: EinsumPath) -> Iterator[tuple[Unit, Fraction]]:
    """Each unit with the share of its instances that is not switched off for want of work."""
    share = Fraction(1)
    shares: dict[str | None, Fraction] = {None: share}
    for unit in branch.chain.units:
        for fanout in unit.fanouts:
            if fanout.power_gateable:
                share *= Fraction(branch.used(unit.name, fanout.name), fanout.size)
        shares[unit.name] = share
        yield unit, share
    for each in branch.chain.aside:
        yield each.unit, shares[each.below]


def _compute(branch: EinsumPath) -> Iterator[ActionStatistics]:
    unit, total, steps = (
        branch.chain.compute,
        int(not branch.einsum.copy),
        int(not branch.einsum.copy),
    )
    copies = frozenset(loop.index for loop in branch.loops if loop.spatial)
    for variable, bound in branch.einsum.bounds.items():
        loops = [loop for loop in branch.loops if loop.variable == variable]
        total *= sum(profile(bound, loops, frozenset()).values())
        steps *= sum(profile(bound, loops, copies).values())
    actions = total * unit.count_scale
    yield ActionStatistics(
        unit.name,
        branch.einsum.name,
        "compute",
        actions,
        steps * unit.count_scale,
        actions * unit.actions["compute"].energy,
    )


def _copied(rows: list[ActionStatistics]) -> Iterator[ActionStatistics]:
    """What a copy moves. Where a component holds several of its tensors, they are the same data
    there: of each action, the tensor with the least values counts, which is nothing where the
    source and the destination are in one memory.
    """
    for row in rows:
        same = [
            other
            for other in rows
            if (other.component, other.action) == (row.component, row.action)
        ]
        if min(same, key=lambda other: other.unit_actions) is row:
            yield row


def _tensor(branch: EinsumPath, access: Access) -> Iterator[ActionStatistics]:
    """Reads and writes of every holder of one tensor."""
    count = TensorCount(branch, access)
    for position, hold in enumerate(count.holders):
        down = count.below(position, count.next_real(position))
        skipped = (down.skipped, down.unit_skipped) if hold.toll or hold.unit.skip_first else (0, 0)
        if hold.toll:
            direction = hold.unit.direction[access.name]
            read = (down.reads - skipped[0]) * (direction != "up") + down.writes * (
                direction != "down"
            )
            unit_read = (down.unit_reads - skipped[1]) * (direction != "up") + down.unit_writes * (
                direction != "down"
            )
            yield _row(hold.unit, access, "read", read, unit_read)
            continue
        read, unit_read = down.reads - skipped[0], down.unit_reads - skipped[1]
        write, unit_write = down.writes, down.unit_writes
        if not hold.backing:
            own = count.below(position, position)
            read, unit_read = read + own.writes, unit_read + own.unit_writes
            write, unit_write = (
                write + own.reads - own.skipped,
                unit_write + own.unit_reads - own.unit_skipped,
            )
        yield _row(hold.unit, access, "read", read, unit_read)
        yield _row(hold.unit, access, "write", write, unit_write)


def _row(
    unit: Unit, access: Access, action: str, values: int, unit_values: int
) -> ActionStatistics:
    kind = unit.actions[action]
    rate = kind.actions_per_value[access.name] * unit.count_scale
    return ActionStatistics(
        unit.name,
        access.name,
        action,
        values * rate,
        unit_values * rate,
        values * rate * kind.energy,
        Fraction(values),
        values * unit.bits[access.name],
    )
