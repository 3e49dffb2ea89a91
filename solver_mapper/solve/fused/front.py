"""The front of two figures of LoopTree mappings: the best first figure under a falling limit of the
second.

Every point is the answer of one search, so it is proven; the limit of the next search lies just
below the point's second figure. A point that the next one equals in the first figure is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from solver_mapper.core.clock import Clock
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.pareto_front import FrontStatus
from solver_mapper.core.results.timer import Timer
from solver_mapper.cost.looptree.architecture import Component
from solver_mapper.cost.looptree.front import TreeFront, TreeFrontPoint
from solver_mapper.cost.looptree.hardware import Kind
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.errors import InputError, SourceLocation, unknown_name
from solver_mapper.solve.fused.solve import solve_tree

_USAGE = "usage:"
_GOALS = ("energy", "delay", "edp")
_NEAR = Fraction(1, 10**8)
"""Share by which two values must differ to be two points."""
_MOST_BITS = 2**62


@dataclass(frozen=True)
class _Axis:
    """The second metric: latency, or the bits in use at the peak of a `memory`."""

    memory: str | None

    def value(self, statistics: TreeStatistics) -> Fraction:
        if self.memory is None:
            return statistics.latency
        peak = statistics.occupancy.get(self.memory)
        return Fraction(0) if peak is None else peak.bits


def find_tree_front(
    spec: TreeSpec,
    metrics: Sequence[str],
    *,
    seed: int = 0,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    on_progress: Callable[[Progress], None] | None = None,
    clock: Clock | None = None,
) -> TreeFront:
    """The complete front of a goal against latency or against the room taken in a memory.

    Args: `metrics`, "energy" and "delay", or "energy", "delay" or "edp" and "usage:MEMORY", in
    either order; the others as for `solve_tree`.
    Raises: InputError as `solve_tree`, and for metrics that make no sense.
    """
    turned = _is_turned(metrics)
    metrics = metrics[::-1] if turned else metrics
    timer, clock = Timer(), clock or Clock()
    goal, axis = _parsed(spec, metrics)
    limit: Fraction | None = None
    points: list[TreeFrontPoint] = []
    while True:
        solution = solve_tree(
            _limited(spec, axis, limit),
            goal,
            seed=seed,
            max_fused_loops=max_fused_loops,
            relax=relax,
            on_progress=on_progress,
            clock=clock,
            latency_limit=(
                float("inf") if limit is None or axis.memory is not None else float(limit)
            ),
        )
        if solution.status != "optimal":
            break
        point = _point(solution, axis)
        if points and point.values[0] <= points[-1].values[0] * (1 + _NEAR):
            points.pop()
        points.append(point)
        limit = point.values[1] * (1 - _NEAR)
        if not limit:
            break
    timer.lap("solve")
    front = TreeFront(
        _status(solution, points),
        (metrics[0], metrics[1]),
        tuple(points),
        solution.certificate,
        timer.seconds,
    )
    return front.turned() if turned else front


def _is_turned(metrics: Sequence[str]) -> bool:
    """Whether the metrics are given in the order that is not the one of the search."""
    if len(metrics) != 2:
        return False
    first, second = metrics
    return (first, second) == ("delay", "energy") or (first.startswith(_USAGE) and second in _GOALS)


def _status(last: TreeSolution, points: list[TreeFrontPoint]) -> FrontStatus:
    if last.status in ("optimal", "infeasible"):
        return "complete" if points else "infeasible"
    return "partial" if points else "unknown"


def _point(solution: TreeSolution, axis: _Axis) -> TreeFrontPoint:
    assert solution.value is not None
    assert solution.mapping is not None
    assert solution.evaluation is not None
    values = solution.value, axis.value(solution.evaluation)
    return TreeFrontPoint(values, solution.mapping, solution.evaluation)


def _parsed(spec: TreeSpec, metrics: Sequence[str]) -> tuple[str, _Axis]:
    """The goal and the axis that metrics name."""
    location = SourceLocation("--metrics")
    known = "energy,delay, or energy, delay or edp with usage:MEMORY"
    if len(metrics) != 2:
        raise InputError(f"a front has two metrics, not {len(metrics)}", location, known)
    first, second = metrics
    if second.startswith(_USAGE) and first in _GOALS:
        name = second.removeprefix(_USAGE)
        memories = [
            component.name
            for component in spec.need_architecture().root.components()
            if component.kind is Kind.MEMORY
        ]
        if name not in memories:
            raise unknown_name("memory", name, memories, location)
        _refuse_outermost(spec, name, location)
        return first, _Axis(name)
    if (first, second) == ("energy", "delay"):
        return first, _Axis(None)
    raise InputError(
        f"there is no front of '{first}' against '{second}' for LoopTree input", location, known
    )


def _refuse_outermost(spec: TreeSpec, name: str, location: SourceLocation) -> None:
    """Raises: InputError for the outermost memory of several Einsums, which must not be limited."""
    architecture, workload = spec.need_architecture(), spec.need_workload()
    if len(workload.einsums) > 1 and any(
        memory.name == name
        for einsum in workload.einsums
        for compute in architecture.enabled_computes(einsum)
        for memory in architecture.chain(einsum, compute).memories[:1]
    ):
        raise InputError(
            f"the usage of '{name}', the outermost memory, is not supported for several Einsums",
            location,
            "name a memory further in, or map each Einsum by itself",
        )


def _limited(spec: TreeSpec, axis: _Axis, limit: Fraction | None) -> TreeSpec:
    """The specification with the memory of the axis at most as large as the limit."""
    if axis.memory is None:
        return spec
    size = Fraction(_MOST_BITS) if limit is None else limit

    def smaller(memory: Component) -> Component:
        given = memory.values["size"]
        text = str(size) if given.infinite else f"min({given.text}, {size})"
        return memory.with_value("size", text)

    return replace(spec, architecture=spec.need_architecture().changed(axis.memory, smaller))
