"""Rules about numbers, judged: loop factors, their products, the use of the multipliers, and caps on figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import prod

from solver_mapper.judge.loops import bound_of, cited, place_in
from solver_mapper.mapping import LevelMapping
from solver_mapper.nest.figures import Figures
from solver_mapper.nest.legality import Violation
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.constraints import HOLDS, FactorRule, MetricRule, ProductRule, UtilizationRule

WORDS: Mapping[str, str] = {
    "==": "", "<=": "at most ", "<": "less than ", ">=": "at least ", ">": "more than ", "!=": "anything but ",
}


def factor(rule: FactorRule, level: LevelMapping) -> Iterator[Violation]:
    """A rule without a residual asks for the bound alone; one with a residual for the last round as well."""
    bound, last = bound_of(level, rule.kind, rule.dim)
    if HOLDS[rule.comparison](bound, rule.value) and (rule.last is None or rule.last == last):
        return
    found = f"{bound}" if bound == last else f"{bound},{last}"
    wanted = f"{rule.value}" if rule.last is None else f"{rule.value},{rule.last}"
    yield Violation(
        "factor", f"{level.level} {rule.kind}: the factor of {rule.dim} is {found}; {cited(rule)} asks for "
        f"{WORDS[rule.comparison]}{wanted}",
        level=level.level, dimension=rule.dim, found=bound if bound == last else found,
        limit=rule.value if rule.last is None else wanted,
        place=place_in(level, rule, f"{rule.kind} {rule.dim}", rule.kind), asked=rule,
    )  # fmt: skip


def utilization(rule: UtilizationRule, architecture: Architecture, levels: tuple[LevelMapping, ...]) -> Iterator[Violation]:
    """The share of the array in use: over all levels, spatial bounds over fanouts."""
    used = units = 1
    for level in levels:
        width, height = architecture.fanout(architecture.index(level.level))
        units *= width * height
        for each in level.spatial:
            used *= each.bound
    if used >= rule.least * units:
        return
    needed = rule.least * units
    least = -(-needed.numerator // needed.denominator)
    share = Fraction(used, units)
    place = next((level.place("spatial") for level in levels if level.place("spatial").line is not None), rule.place)
    yield Violation(
        "utilization", f"the spatial loops use {used} of {units} instances ({100 * float(share):.4g} %); {cited(rule)} asks for at "
        f"least {least}", level=rule.level, found=used, limit=least, place=place, asked=rule,
    )  # fmt: skip


def product(rule: ProductRule, levels: Mapping[str, LevelMapping]) -> Iterator[Violation]:
    """The product of loop bounds over several levels or dimensions."""
    bounds = [(name, kind, dim, bound_of(levels[name], kind, dim)[0]) for name, kind, dim in sorted(rule.loops) if name in levels]
    found = prod(bound for *_, bound in bounds)
    if HOLDS[rule.comparison](found, rule.value):
        return
    factors = " x ".join(f"{dim}={bound} ({name} {kind})" for name, kind, dim, bound in bounds if bound > 1) or "no loops"
    named = [(levels[name], kind, dim) for name, kind, dim, bound in bounds if bound > 1]
    place = place_in(named[0][0], rule, f"{named[0][1]} {named[0][2]}", named[0][1]) if named else rule.place
    yield Violation(
        "product", f"{factors} make {found}; {cited(rule)} asks for {WORDS[rule.comparison]}{rule.value}",
        found=found, limit=rule.value, place=place, asked=rule,
    )  # fmt: skip


METRICS: Mapping[str, Callable[[Figures], Fraction]] = {
    "cycles": lambda figures: Fraction(figures.cycles),
    "energy_pj": lambda figures: figures.energy_pj,
    "edp": lambda figures: figures.energy_pj * figures.cycles,
    "last_level_accesses": lambda figures: Fraction(figures.last_level_accesses),
}
"""What `MetricRule.metric` means."""


def within(rule: MetricRule, figures: Figures) -> bool:
    """Whether a mapping with these figures obeys a cap."""
    value = METRICS[rule.metric](figures)
    return value < rule.most or (value == rule.most and not rule.strict)


def metric(rule: MetricRule, figures: Figures) -> Iterator[Violation]:
    if within(rule, figures):
        return
    value = METRICS[rule.metric](figures)
    found, most = (f"{int(each):,}" if each.denominator == 1 else f"{float(each):,.6g}" for each in (value, rule.most))
    yield Violation(
        "metric", f"{rule.metric} is {found}; {cited(rule)} asks for {WORDS['<' if rule.strict else '<=']}{most}",
        found=int(value) if value.denominator == 1 else float(value),
        limit=int(rule.most) if rule.most.denominator == 1 else float(rule.most), place=rule.place, asked=rule,
    )  # fmt: skip
