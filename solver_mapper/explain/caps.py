"""Conflicts and repairs in which caps on figures take part.

Whether a cap can be met is a question about costs, which the model of legality does not know: here
each question is a search. The figures are those of the problem and the machine at hand, so bounds
and meshes are taken as given; what may give way are the constraints, capacities and least fills.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from solver_mapper.check.loops import bound_of
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import (
    Constraint,
    Constraints,
    FactorConstraint,
    KeepConstraint,
    MetricConstraint,
    ProductConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Objective
from solver_mapper.core.progress import Progress
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.errors import LimitReached
from solver_mapper.explain.change import Change, Value, changed
from solver_mapper.mapspace.requirements import (
    Capacity,
    DimensionBound,
    FanoutRequirement,
    LeastFill,
    Requirement,
    is_changeable,
    requirements_of,
)
from solver_mapper.mapspace.space import build_space
from solver_mapper.solve.cpsat.engine import Settings
from solver_mapper.solve.legality.model import units_of
from solver_mapper.solve.legality.queries import legal_mapping
from solver_mapper.solve.prepare import prepare

PATIENCE = 10.0
"""Seconds for one search."""
BUDGET, SLOW = 5.0, 1.5
"""Seconds of the processor for a conflict, and what is long for one step of it; a step is not cut
short by them.
"""


def caps_of(spec: Spec) -> tuple[MetricConstraint, ...]:
    """The caps on metrics among a specification's constraints."""
    return tuple(
        constraint for constraint in spec.constraints if isinstance(constraint, MetricConstraint)
    )


def without_caps(spec: Spec) -> Spec:
    """The specification without its caps on metrics."""
    return replace(
        spec,
        constraints=Constraints(
            tuple(
                constraint
                for constraint in spec.constraints
                if not isinstance(constraint, MetricConstraint)
            )
        ),
    )


def some_mapping(spec: Spec, clock: Clock) -> Mapping | None:
    """Some legal mapping, caps included; None if there is provably none.

    Raises: LimitReached.
    """
    mapping = legal_mapping(spec, clock)
    caps = caps_of(spec)
    if mapping is None or not caps:
        return mapping
    own = Clock(clock.left)
    found = _minimize(
        spec, caps[0], own, lambda progress: own.stop() if progress.value is not None else None
    )
    return None if found is None else found.mapping


@dataclass(frozen=True)
class _Least:
    """A legal mapping; `value` is that of the figure that was minimized, `proven` that there is no
    smaller one.
    """

    mapping: Mapping
    value: Fraction
    proven: bool


def _least(spec: Spec, cap: MetricConstraint, clock: Clock) -> _Least | None:
    """A legal mapping with a small value of what `cap` limits, the least if that is soon proven;
    None if there is provably none.

    Raises: LimitReached.
    """
    return _minimize(spec, cap, Clock(_patience(clock)))


def _minimize(
    spec: Spec,
    cap: MetricConstraint,
    clock: Clock,
    on_progress: Callable[[Progress], None] | None = None,
) -> _Least | None:
    architecture, problem = spec.need_architecture(), spec.need_problem()
    space = build_space(architecture, problem, spec.constraints, latency(architecture))
    search = prepare(space, Settings(), clock, on_progress)
    goal = cap.limit.goal
    proven = search.minimize(Objective((goal,)))
    if search.best is not None:
        return _Least(search.best.mapping, goal.rank(search.best.statistics), proven)
    if not proven:
        raise LimitReached(
            "the time limit was reached before it was clear whether the caps on figures can be met"
        )
    return None


def _patience(clock: Clock) -> float:
    return PATIENCE if clock.left is None else min(PATIENCE, clock.left)


def capped_conflict(spec: Spec, clock: Clock) -> tuple[Requirement, ...]:
    """An irreducible conflict of a `spec` that has legal mappings, but none within its caps.

    One requirement after the other is left out, and stays out if there is no mapping all the same.
    The fewer constraints are left, the larger is the space to be searched: when a step takes long,
    the requirements that were not tried are taken as given too. The order is: constraints that the
    user set, caps, sizes of buffers, constraints of the architecture.
    """
    requirements = tuple(
        requirement for requirement in requirements_of(spec) if may_give_way(requirement, spec)
    )
    left, begun = spec, time.process_time()
    needed: set[Requirement] = set(caps_of(spec))
    for requirement in sorted(requirements, key=turn):
        started, without = time.process_time(), changed(left, Change(requirement))
        try:
            spared = some_mapping(without, Clock(_patience(clock))) is None
        except LimitReached:
            break
        if spared:
            left = without
            needed.discard(requirement)
        else:
            needed.add(requirement)
        now = time.process_time()
        if now - begun > BUDGET or now - started > SLOW:
            break
    return tuple(requirement for requirement in requirements if requirement in needed)


def turn(requirement: Requirement) -> int:
    """In which turn a requirement is tried: what users set first, the architecture's own last."""
    if isinstance(requirement, MetricConstraint):
        return 1
    if isinstance(requirement, Capacity | LeastFill):
        return 2
    return 3 if isinstance(requirement, Constraint) and requirement.origin.startswith("arch") else 0


def may_give_way(requirement: Requirement, spec: Spec) -> bool:
    """Bounds and meshes are taken as given; so is a bypass of the outermost level, without which it
    would hold the tensor.
    """
    outermost = (
        isinstance(requirement, KeepConstraint)
        and not requirement.keep
        and requirement.level == spec.need_architecture().level_names[0]
    )
    return (
        is_changeable(requirement)
        and not outermost
        and not isinstance(requirement, DimensionBound | FanoutRequirement)
    )


def capped_repairs(
    spec: Spec, conflict: Sequence[Requirement], clock: Clock
) -> list[tuple[Change, ...]]:
    """Single changes of what takes part in `conflict` that make some mapping legal; if there are
    none, other caps.

    Raises: LimitReached.
    """
    found: list[tuple[Change, ...]] = []
    for requirement in conflict:
        change = (
            raised(changed(spec, Change(requirement)), requirement, clock)
            if isinstance(requirement, MetricConstraint)
            else _numbered(spec, requirement, clock)
        )
        if change is not None:
            found.append((change,))
    return found or [raised_caps(spec, clock)]


def _numbered(spec: Spec, requirement: Requirement, clock: Clock) -> Change | None:
    """A change of `requirement` that makes some mapping legal, if one is soon found."""
    try:
        mapping = some_mapping(changed(spec, Change(requirement)), Clock(_patience(clock)))
    except LimitReached:
        return None
    return (
        None
        if mapping is None
        else Change(requirement, value_of(spec, requirement, mapping), least=False)
    )


def raised(others: Spec, cap: MetricConstraint, clock: Clock) -> Change | None:
    """`cap` as high as it must be for some mapping of `others` to keep to it; None if that has no
    legal mapping.

    Raises: LimitReached.
    """
    found = _least(others, cap, clock)
    return None if found is None else Change(cap, rounded_up(found.value), least=found.proven)


def raised_caps(spec: Spec, clock: Clock) -> tuple[Change, ...]:
    """Caps, one after the other, raised as far as needed for some mapping to be legal; without its
    caps `spec` must have one.

    Raises: LimitReached.
    """
    if some_mapping(spec, clock) is not None:
        return ()
    changes: list[Change] = []
    held = without_caps(spec)
    for cap in caps_of(spec):
        change = raised(held, cap, clock)
        if (
            change is not None
            and isinstance(change.to, Fraction)
            and (change.to > cap.most or (change.to == cap.most and cap.strict))
        ):
            changes.append(change)
            cap = replace(cap, most=change.to, strict=False)
        held = replace(held, constraints=Constraints((*held.constraints, cap)))
    return tuple(changes)


def value_of(spec: Spec, requirement: Requirement, mapping: Mapping) -> Value:
    """The number with which `mapping` obeys `requirement`; None if that has no number."""
    architecture = spec.need_architecture()
    if isinstance(requirement, Capacity | LeastFill):
        buffer = architecture.levels[requirement.level]
        statistics = evaluate(architecture, spec.need_problem(), mapping)
        words = sum(row.tile for row in statistics.levels[buffer.name].tensors.values())
        return (
            math.ceil(words * buffer.multiple_buffering)
            if isinstance(requirement, Capacity)
            else Fraction(words, buffer.capacity or 1)
        )
    levels = dict(zip(architecture.level_names, mapping.levels, strict=True))
    if isinstance(requirement, UtilizationConstraint):
        used = math.prod(each.bound for level in mapping.levels for each in level.spatial)
        return Fraction(used, units_of(architecture))
    if (
        isinstance(requirement, FactorConstraint | ProductConstraint)
        and requirement.comparison != "!="
    ):
        loops = (
            requirement.loops
            if isinstance(requirement, ProductConstraint)
            else {(requirement.level, requirement.kind, requirement.dim)}
        )
        product = math.prod(bound_of(levels[level], kind, dim)[0] for level, kind, dim in loops)
        return product + {"<": 1, ">": -1}.get(requirement.comparison, 0) or None
    return None


def rounded_up(value: Fraction) -> Fraction:
    """`value` itself if a few decimals spell it, else with six significant digits, rounded up."""
    if (value * 10**6).denominator == 1:
        return value
    step = Fraction(10) ** (math.floor(math.log10(value)) - 5)
    return math.ceil(value / step) * step
