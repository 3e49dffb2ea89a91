"""Constraints about numbers, checked: loop factors, their products, the use of the compute units,
and caps on figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import prod

from solver_mapper.check.loops import bound_of, cited, location_in
from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    HOLDS,
    FactorConstraint,
    MetricConstraint,
    ProductConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.mapping import LevelMapping
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.results.verdict import Violation

WORDS: Mapping[str, str] = {
    "==": "",
    "<=": "at most ",
    "<": "less than ",
    ">=": "at least ",
    ">": "more than ",
    "!=": "anything but ",
}


def factor(constraint: FactorConstraint, level: LevelMapping) -> Iterator[Violation]:
    """A constraint without a residual asks for the bound alone; one with a residual for the last
    round as well.
    """
    bound, last = bound_of(level, constraint.kind, constraint.dim)
    if HOLDS[constraint.comparison](bound, constraint.value) and (
        constraint.last is None or constraint.last == last
    ):
        return
    found = f"{bound}" if bound == last else f"{bound},{last}"
    wanted = (
        f"{constraint.value}"
        if constraint.last is None
        else f"{constraint.value},{constraint.last}"
    )
    yield Violation(
        "factor",
        f"{level.level} {constraint.kind}: the factor of {constraint.dim} is {found}; "
        f"{cited(constraint)} requires {WORDS[constraint.comparison]}{wanted}",
        level=level.level,
        dimension=constraint.dim,
        found=bound if bound == last else found,
        limit=constraint.value if constraint.last is None else wanted,
        location=location_in(
            level, constraint, f"{constraint.kind} {constraint.dim}", constraint.kind
        ),
        constraint=constraint,
    )


def utilization(
    constraint: UtilizationConstraint, architecture: Architecture, levels: tuple[LevelMapping, ...]
) -> Iterator[Violation]:
    """The share of the array in use: over all levels, spatial bounds over fanouts."""
    used = units = 1
    for level in levels:
        width, height = architecture.fanout(architecture.index(level.level))
        units *= width * height
        for each in level.spatial:
            used *= each.bound
    if used >= constraint.least * units:
        return
    needed = constraint.least * units
    least = -(-needed.numerator // needed.denominator)
    share = Fraction(used, units)
    location = next(
        (
            level.location("spatial")
            for level in levels
            if level.location("spatial").line is not None
        ),
        constraint.location,
    )
    yield Violation(
        "utilization",
        f"the spatial loops use {used} of {units} instances ({100 * float(share):.4g} %); "
        f"{cited(constraint)} asks for at least {least}",
        level=constraint.level,
        found=used,
        limit=least,
        location=location,
        constraint=constraint,
    )


def product(
    constraint: ProductConstraint, levels: Mapping[str, LevelMapping]
) -> Iterator[Violation]:
    """The product of loop bounds over several levels or dimensions."""
    bounds = [
        (name, kind, dim, bound_of(levels[name], kind, dim)[0])
        for name, kind, dim in sorted(constraint.loops)
        if name in levels
    ]
    found = prod(bound for *_, bound in bounds)
    if HOLDS[constraint.comparison](found, constraint.value):
        return
    factors = (
        " x ".join(
            f"{dim}={bound} ({name} {kind})" for name, kind, dim, bound in bounds if bound > 1
        )
        or "no loops"
    )
    named = [(levels[name], kind, dim) for name, kind, dim, bound in bounds if bound > 1]
    location = (
        location_in(named[0][0], constraint, f"{named[0][1]} {named[0][2]}", named[0][1])
        if named
        else constraint.location
    )
    yield Violation(
        "product",
        f"{factors} make {found}; {cited(constraint)} requires "
        f"{WORDS[constraint.comparison]}{constraint.value}",
        found=found,
        limit=constraint.value,
        location=location,
        constraint=constraint,
    )


def metric(constraint: MetricConstraint, statistics: Statistics) -> Iterator[Violation]:
    """The violation of a cap on a metric, if `statistics` exceed it."""
    limit = constraint.limit
    value = limit.goal.product(statistics)
    if limit.holds(value):
        return
    found, most = (
        f"{int(each):,}" if each.denominator == 1 else f"{float(each):,.6g}"
        for each in (value, constraint.most)
    )
    yield Violation(
        "metric",
        f"{constraint.metric} is {found}; {cited(constraint)} requires "
        f"{WORDS['<' if constraint.strict else '<=']}{most}",
        found=int(value) if value.denominator == 1 else float(value),
        limit=int(constraint.most) if constraint.most.denominator == 1 else float(constraint.most),
        location=constraint.location,
        constraint=constraint,
    )
