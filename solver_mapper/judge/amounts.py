"""Rules about numbers, judged: loop factors and the use of the multipliers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from solver_mapper.judge.loops import bound_of, cited, place_in
from solver_mapper.mapping import LevelMapping
from solver_mapper.nest.legality import Violation
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.constraints import HOLDS, FactorRule, UtilizationRule

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
