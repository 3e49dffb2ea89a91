"""Whether a LoopTree mapping is legal. Every violation is listed, with the arithmetic that shows
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from solver_mapper.core.results.verdict import Violation
from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.architecture_constraints import constraint_violations
from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath
from solver_mapper.cost.looptree.mapping.mapping_tree import Spatial, TreeMapping
from solver_mapper.cost.looptree.mapping.prepare import prepare
from solver_mapper.cost.looptree.mapping.soundness import doubtful
from solver_mapper.cost.looptree.occupancy import alive, peaks
from solver_mapper.cost.looptree.workload import Workload


def violations(
    architecture: Architecture, workload: Workload, mapping: TreeMapping
) -> tuple[Violation, ...]:
    """Everything that makes `mapping` illegal. Fan-outs and capacities are checked as far as tiles
    are known, the architecture's rules for Einsums whose own branch makes sense: nothing is
    reported that only follows from another mistake.

    Raises: InputError for a tree without proper ends, and for an architecture that cannot be
    evaluated.
    """
    prepared = prepare(architecture, workload, mapping)
    branches = prepared.branches
    return (
        *prepared.problems,
        *_fanouts(branches),
        *_persistent(branches),
        *_capacities(branches, workload.instances),
        *constraint_violations(architecture, prepared.sound),
    )


def _fanouts(branches: Sequence[EinsumPath]) -> Iterator[Violation]:
    seen: set[tuple[int, int]] = set()
    for branch in branches:
        vague = {
            (loop.level, loop.fanout) for loop in branch.loops if loop.variable in doubtful(branch)
        }
        for loop in branch.loops:
            node = loop.node
            if (
                not isinstance(node, Spatial)
                or loop.fanout is None
                or (loop.level, loop.fanout) in vague
            ):
                continue
            used, size = branch.used(node.component, node.name), loop.fanout.size
            if used > size and (id(loop.fanout), used) not in seen:
                seen.add((id(loop.fanout), used))
                where = f"along '{node.name}' of '{node.component}'"
                text = (
                    f"Einsum '{branch.einsum.name}' spreads over {used} copies {where}; {size}"
                    " exist"
                )
                yield Violation(
                    "fanout",
                    text,
                    level=node.component,
                    dimension=node.name,
                    found=used,
                    limit=size,
                    location=node.location,
                )


def _persistent(branches: Sequence[EinsumPath]) -> Iterator[Violation]:
    seen: set[int] = set()
    for branch in branches:
        for hold in branch.holds:
            if (
                hold.persistent
                and id(hold.node) not in seen
                and branch.loops_above(hold.index, hold.level)
            ):
                seen.add(id(hold.node))
                yield Violation(
                    "persistent",
                    f"'{hold.node}' stands below a loop: a persistent tile cannot change",
                    level=hold.unit.name,
                    tensor=hold.access.name,
                    location=hold.node.location,
                )


def _capacities(branches: Sequence[EinsumPath], instances: int) -> Iterator[Violation]:
    for name, peak in peaks(branches, alive(branches, instances, doubtful)).items():
        if peak.bits > peak.size:
            parts = ", ".join(f"{each.tensor} ({float(each.bits):g})" for each in peak.reservations)
            text = (
                f"{name}: the tiles of {parts} need {float(peak.bits):g} bits while {peak.einsum}"
                f" runs; {float(peak.size):g} fit"
            )
            largest = max(peak.reservations, key=lambda each: each.bits)
            yield Violation(
                "capacity",
                text,
                level=name,
                found=_plain(float(peak.bits)),
                limit=_plain(float(peak.size)),
                location=largest.node.location,
            )


def _plain(number: float) -> int | str:
    return int(number) if number.is_integer() else f"{number:g}"
