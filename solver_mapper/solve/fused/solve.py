"""Solving LoopTree input: search, exact evaluation of what was found, certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from threadpoolctl import threadpool_limits

from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import GAP, Goal, Objective, parse_objective
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.solution import Certificate, Status
from solver_mapper.core.results.timer import Timer
from solver_mapper.core.results.verdict import Verdict
from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.evaluate import evaluate
from solver_mapper.cost.looptree.hardware import Kind, Unit
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.cost.looptree.usage import is_reachable
from solver_mapper.cost.looptree.validate import violations
from solver_mapper.cost.looptree.workload import Einsum, Workload
from solver_mapper.deadline import TimeUp, check_time, running
from solver_mapper.errors import ExactnessError, InputError, did_you_mean
from solver_mapper.solve.fused.build import part_of
from solver_mapper.solve.fused.compiled import EPSILON
from solver_mapper.solve.fused.minimize import Best, EnergyDelayProduct, RowChoice
from solver_mapper.solve.fused.search import GraphSearch
from solver_mapper.solve.fused.single import SearchCount, all_skeletons, leak_of, minimize

_MAPSPACE = {
    "tiles": "divisors",
    "storage": "every choice that keep and bypass allow",
    "order": "every order of storage nodes, outer memories first",
    "loops": "between any two storage nodes",
    "spatial": "every split over every fan-out",
}
_FUSED = {
    "fusion": (
        "every intermediate, kept from its writer to its last reader in any memory, or not, below"
        " the same spatial loops for all its users where that has several copies; Einsums in the"
        " order of the file, nothing computed twice"
    ),
}
_CHECKS = (
    "legal for hardware and workload",
    "figures equal to the exact evaluation",
    "no bound exceeds the value",
)

_GRACE = 0.5
"""Seconds beyond the end of the time that the evaluation of the mapping found last may take."""


def solve_tree(
    spec: TreeSpec,
    objective: str | Sequence[str] = "edp",
    *,
    seed: int = 0,
    gap: float = 0.0,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    on_progress: Callable[[Progress], None] | None = None,
    clock: Clock | None = None,
    latency_limit: float = float("inf"),
) -> TreeSolution:
    """The best LoopTree mapping, with a proof. See `api.solve`.

    Args: `max_fused_loops`, how many shared loops may stand above an Einsum; `relax`, constraints
    to lower where they cannot be met; `latency_limit` (s), the most that a mapping may take.

    Raises: InputError for missing parts, objectives other than energy, latency and their products,
    and architectures whose numbers or rules cannot be used; ExactnessError if search and evaluation
    disagree, which is a bug.
    """
    timer = Timer()
    clock = clock or Clock()
    unknown = sorted(set(relax) - {"min_usage"})
    if unknown:
        raise InputError(
            f"cannot relax '{unknown[0]}'", spec.location, did_you_mean(unknown[0], ("min_usage",))
        )
    parsed = parse_objective(objective)
    powers = _powers(parsed, spec)
    architecture, workload = (
        replace(spec.need_architecture(), soft_usage="min_usage" in relax),
        spec.need_workload(),
    )

    def report(value: float, bound: float) -> None:
        if on_progress is not None:
            on_progress(
                Progress(
                    None if value == float("inf") else value,
                    bound if bound > 0 or value == 0 else None,  # 0 before there is one
                    clock.seconds,
                    parsed.names[0],
                )
            )

    confirmed = _Confirmed(architecture, workload, parsed.goals[0])
    # Products of small matrices take longer on several threads, and compete with other work.
    with threadpool_limits(limits=1, user_api="blas"):
        count = _search(confirmed, powers, clock, report, max_fused_loops, gap, latency_limit)
    timer.lap("solve")
    best = confirmed.best
    status: Status = (
        ("optimal" if count.complete else "feasible")
        if best
        else ("infeasible" if count.complete else "unknown")
    )
    certificate = Certificate(
        {
            **_MAPSPACE,
            **(_fused(max_fused_loops) if len(workload.einsums) > 1 else {}),
            **_relaxed(architecture),
        },
        "branch and bound over tables of factors",
        seed,
        {"margin": EPSILON},
        _proofs(parsed, count, gap),
        _CHECKS if best else (),
    )
    if best is None:
        return TreeSolution(status, parsed, None, None, None, None, certificate, timer.seconds)
    value, mapping, statistics = best
    exact = status == "optimal" and count.bound >= float(value) * (1 - EPSILON)
    bound: float | Fraction = value if exact else min(count.bound, float(value))
    return TreeSolution(
        status,
        parsed,
        mapping,
        statistics,
        value,
        bound,
        certificate,
        timer.seconds,
        tuple(_notes(architecture, workload, mapping)),
    )


def _fused(max_fused_loops: int | None) -> dict[str, str]:
    """What the mapspace of several Einsums has besides."""
    most = "any number of" if max_fused_loops is None else f"at most {max_fused_loops}"
    return {
        **_FUSED,
        "shared loops": (
            f"every order and tiling of {most} loops above an Einsum, at most one a rank, over"
            " ranks that tensors link"
        ),
    }


def _relaxed(architecture: Architecture) -> dict[str, str]:
    return (
        {"relaxed": "min_usage, where it cannot be reached, is the most that can"}
        if architecture.soft_usage
        else {}
    )


def _powers(parsed: Objective, spec: TreeSpec) -> tuple[int, int]:
    """The powers of energy and latency in the goal."""
    if len(parsed.goals) > 1:
        raise InputError(
            "LoopTree input takes one metric at a time",
            spec.location,
            "name energy, latency or edp alone",
        )
    powers = dict(parsed.goals[0].powers)
    for metric in powers:
        if metric not in ("energy", "delay"):
            raise InputError(
                f"{metric} is not an objective for LoopTree input",
                spec.location,
                "energy, latency or edp",
            )
    return powers.get("energy", 0), powers.get("delay", 0)


def _check(architecture: Architecture, workload: Workload) -> None:
    """Raise InputError for what the bounds of the search do not cover, TimeUp for want of time."""
    outermost: dict[str, Unit] = {}
    for einsum in workload.einsums:
        check_time()
        for compute in architecture.enabled_computes(einsum):
            chain = architecture.chain(einsum, compute)
            for unit in chain.units:
                if any(action.energy < 0 for action in unit.actions.values()):
                    raise InputError(
                        f"'{unit.name}' gains energy by an action: solve needs energies of at"
                        " least 0",
                        unit.location,
                    )
                if any(
                    fanout.power_gateable and fanout.min_usage < fanout.usage_scale
                    for fanout in unit.fanouts
                ) and any(each.leak for each in (*chain.units, *(u.unit for u in chain.aside))):
                    raise InputError(
                        f"'power_gateable' of '{unit.name}' is not supported by solve",
                        unit.location,
                        "with 'min_usage: 1' all copies are used, and it has no effect",
                    )
            memories = chain.memories
            outermost |= {unit.name: unit for unit in memories[:1]}
    if len(workload.einsums) > 1:
        for unit in outermost.values():
            _check_outermost(architecture, workload, unit)
    if len(outermost) > 1 and workload.intermediates:
        first, second, *_ = outermost.values()
        raise InputError(
            f"the outermost memory is '{first.name}' on one path of components and '{second.name}'"
            " on another: solve cannot hand over tensors between these",
            second.location,
            "put one memory above the !Fork",
        )


def _check_outermost(architecture: Architecture, workload: Workload, memory: Unit) -> None:
    """Raise InputError for an outermost memory that may limit what several Einsums hold in it."""
    sizes: set[Fraction | None] = set()
    room = Fraction(0)
    for einsum in workload.einsums:
        chains = [
            architecture.chain(einsum, each) for each in architecture.enabled_computes(einsum)
        ]
        units = [unit for chain in chains for unit in chain.memories if unit.name == memory.name]
        sizes |= {unit.size for unit in units}
        for access in einsum.accesses if units else ():
            copies = workload.instances * einsum.instances if access.persistent else 1
            bits = max(unit.bits[access.name] for unit in units)
            room += access.footprint(einsum.bounds) * bits * copies
    if any(size is not None and size < room for size in sizes):
        raise InputError(
            f"the outermost memory '{memory.name}' must have room for the tensors of all Einsums,"
            f" {math.ceil(room)} bits, to map several Einsums",
            memory.size_location,
            f"write 'size: {math.ceil(room)}' or 'size: inf'",
        )


@dataclass
class _Grace:
    """Ends an evaluation a moment after its clock is over: what is found last still counts."""

    clock: Clock
    since: float | None = None

    def check(self) -> None:
        """Raises: TimeUp."""
        if self.clock.over:
            now = time.monotonic()
            self.since = now if self.since is None else self.since
            if now - self.since > _GRACE:
                self.clock.check()


@dataclass
class _Confirmed:
    """The best mapping by exact evaluation: its value, itself, its figures."""

    architecture: Architecture
    workload: Workload
    goal: Goal
    best: tuple[Fraction, TreeMapping, TreeStatistics] | None = None

    def confirm(self, mapping: TreeMapping, claimed: float) -> None:
        """Evaluate a mapping, check it, and keep it if it is the best.

        Raises: ExactnessError if its value is not the one that was claimed, or if it is not legal;
        TimeUp.
        """
        statistics = evaluate(self.architecture, self.workload, mapping)
        value = Fraction(1)
        for metric, power in self.goal.powers:
            value *= (statistics.energy if metric == "energy" else statistics.latency) ** power
        if abs(float(value) - claimed) > 1e-6 * abs(claimed):
            raise ExactnessError(
                f"search and evaluation of a LoopTree disagree: {claimed} was claimed,"
                f" {float(value)} is exact"
            )
        if self.best is not None and value >= self.best[0]:
            return
        wrong = violations(self.architecture, self.workload, mapping)
        if wrong:
            raise ExactnessError(
                f"search and evaluation of a LoopTree disagree: {wrong[0].message}"
            )
        self.best = value, mapping, replace(statistics, verdict=Verdict())


def _search(
    confirmed: _Confirmed,
    powers: tuple[int, int],
    clock: Clock,
    report: Callable[[float, float], None],
    max_fused_loops: int | None,
    gap: float,
    latency_limit: float,
) -> SearchCount:
    """Confirm the best mapping. Returns: how far the search went."""
    architecture, workload = confirmed.architecture, confirmed.workload
    grace, count = _Grace(clock), SearchCount(complete=False, bound=0.0)
    try:
        with running(grace):
            _check(architecture, workload)
    except TimeUp:
        return count
    if not all(_may_run(architecture, einsum) for einsum in workload.einsums):
        return SearchCount()
    if len(workload.einsums) == 1:
        (einsum,) = workload.einsums
        best = Best()
        repeats = workload.instances * einsum.instances
        with running(grace), suppress(TimeUp):
            count = minimize(
                all_skeletons(architecture, einsum),
                lambda skeleton: EnergyDelayProduct(
                    *powers, leak_of(skeleton), repeats, latency_limit=latency_limit
                ),
                best,
                lambda: clock.over,
                report,
            )
        for found in best.found:
            confirmed.confirm(TreeMapping(_nodes(found)), best.value)
        return count
    search = GraphSearch(
        architecture,
        workload,
        powers,
        lambda: clock.over,
        report,
        confirmed.confirm,
        max_fused_loops,
        gap,
        latency_limit,
    )
    with running(grace):
        search.run()
    return search.count


def _may_run(architecture: Architecture, einsum: Einsum) -> bool:
    """Whether the Einsum may use enough copies on some path of components."""
    computes = architecture.enabled_computes(einsum)
    return any(is_reachable(architecture.chain(einsum, each), einsum) for each in computes)


def _nodes(found: RowChoice) -> tuple[Any, ...]:
    compiled = found.compiled
    return part_of(
        compiled.skeleton,
        compiled.dimensions,
        [group.table for group in compiled.groups],
        found.rows,
    ).nodes


def _proofs(parsed: Objective, count: SearchCount, gap: float) -> tuple[dict[str, Any], ...]:
    tolerant = count.complete and gap > GAP
    others = "bounded within the gap of the best" if tolerant else "bounded above the best"
    claim = (
        f"{count.skeletons} orders of storage and loops; {count.searched} searched to the end, the"
        f" others {others}"
        if count.complete
        else f"stopped after {count.searched} of {count.skeletons} orders of storage and loops"
    )
    if count.complete and not count.skeletons:
        claim = "some Einsum has no choice of memories and copies that all constraints allow"
    tolerance = gap if tolerant else EPSILON
    return ({"goal": parsed.names[0], "claim": claim, "tolerance": tolerance},)


def _notes(architecture: Architecture, workload: Workload, mapping: TreeMapping) -> Iterator[str]:
    """What is not searched, and tensors that come from nowhere: inputs and results that the
    outermost memory never holds.
    """
    for component in architecture.root.components():
        if not component.holding.force_order:
            yield (
                f"'{component.name}' allows orders against the memory hierarchy"
                " (force_memory_hierarchy_order: false); they are not searched"
            )
    outermost = next(
        component.name
        for component in architecture.root.components()
        if component.kind is Kind.MEMORY
    )
    kept: dict[str, str] = {}
    for node in mapping.walk():
        for tensor in getattr(node, "tensors", ()):
            kept.setdefault(tensor, getattr(node, "component", ""))
    for tensor in workload.tensors:
        if tensor not in workload.intermediates and kept.get(tensor, outermost) != outermost:
            yield (
                f"'{tensor}' is in '{kept[tensor]}' from the start; 'tensors: {{keep: ...}}' on"
                f" '{outermost}' makes it come from there"
            )
