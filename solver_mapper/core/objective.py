"""What to minimize: a list of goals, each a product of powers of figures, compared one after
another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from typing import Protocol

from solver_mapper.errors import InputError, SourceLocation, did_you_mean

GAP = 1e-6
"""The relative gap at which a search ends, unless another one is asked for."""
_NAMES = {
    "energy": "energy",
    "delay": "delay",
    "cycles": "delay",
    "latency": "delay",
    "last-level-accesses": "last-level-accesses",
}
_MOST_BITS = 1020
"""Binary digits of a value before the point; floating-point numbers end at 1024."""
_FACTOR = re.compile(r"\s*([A-Za-z][A-Za-z-]*)\s*(?:\^\s*([0-9.]+(?:/[0-9]+)?))?\s*")


def rounded_down(value: int | float, digits: int) -> float:
    """`value` with so many significant digits, not above it."""
    return float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(value))


def percent_of_gap(gap: float) -> str:
    """A gap as it is printed, rounded up: what is said to be proven is."""
    share = Context(prec=4, rounding=ROUND_CEILING).create_decimal(100 * gap)
    return f"{float(share):.4g} %"


def left_open(gap: float, words: str) -> str:
    """What qualifies the claim of a proof: nothing for a gap up to `GAP`, else a blank, `words`,
    such as "within", and the gap.
    """
    return f" {words} {percent_of_gap(gap)}" if gap > GAP else ""


def out_of_range(name: str) -> InputError:
    """The error for an objective whose values floating-point numbers cannot hold."""
    return InputError(
        f"the values of '{name}' are out of the range of floating-point numbers, 1e-300 to 1e+306",
        hint="check the units of energies and bandwidths, or use lower powers",
    )


class HasStatistics(Protocol):
    """What a goal reads of an evaluation."""

    @property
    def energy_pj(self) -> Fraction:
        """Energy in pJ."""

    @property
    def cycles(self) -> int:
        """Clock cycles."""

    @property
    def last_level_accesses(self) -> int:
        """Reads, fills and updates of the outermost level, in words."""


_FIGURES: Mapping[str, Callable[[HasStatistics], Fraction]] = {
    "energy": lambda statistics: statistics.energy_pj,
    "delay": lambda statistics: Fraction(statistics.cycles),
    "last-level-accesses": lambda statistics: Fraction(statistics.last_level_accesses),
}
METRICS = tuple(_FIGURES)
"""What a goal may name, apart from products."""


def figure(statistics: HasStatistics, metric: str) -> Fraction:
    """The value of a metric: pJ, cycles, or words."""
    return _FIGURES[metric](statistics)


@dataclass(frozen=True)
class Goal:
    """`name` as the user wrote it; `powers` are whole numbers without a common divisor, so that
    goals compare exactly.
    """

    name: str
    powers: tuple[tuple[str, int], ...]
    root: Fraction = Fraction(1)
    """The user's value is the product of powers raised to this (1 unless fractional powers were
    given).
    """

    @property
    def single(self) -> str | None:
        """The metric, if the goal is just one."""
        return self.powers[0][0] if len(self.powers) == 1 else None

    def product(self, statistics: HasStatistics) -> Fraction:
        """The exact product of the metrics, of any magnitude."""
        value = Fraction(1)
        for metric, power in self.powers:
            value *= figure(statistics, metric) ** power
        return value

    def rank(self, statistics: HasStatistics) -> Fraction:
        """The exact product by which mappings are compared. Raises: InputError for one that no
        floating-point number can show.
        """
        value = self.product(statistics)
        if value.numerator.bit_length() - value.denominator.bit_length() > _MOST_BITS:
            raise out_of_range(self.name)
        return value

    def shown(self, rank: Fraction) -> int | float:
        """The user's value for a rank: a whole number where it is one."""
        if self.root == 1:
            return int(rank) if rank.denominator == 1 else float(rank)
        return math.pow(rank, self.root)

    def shown_below(self, rank: Fraction) -> int | float:
        """The same, and if it has to be rounded, not above the true value."""
        value = self.shown(rank)
        if self.root != 1:
            return (
                value if rank == 0 else math.nextafter(math.nextafter(value, -math.inf), -math.inf)
            )
        return (
            math.nextafter(value, -math.inf)
            if isinstance(value, float) and Fraction(value) > rank
            else value
        )


@dataclass(frozen=True)
class Limit:
    """`goal` must be at most `rank`, or below it if `strict`."""

    goal: Goal
    rank: Fraction
    strict: bool

    def admits(self, statistics: HasStatistics) -> bool:
        """Whether these statistics stay within the limit."""
        return self.holds(self.goal.product(statistics))

    @property
    def above(self) -> float:
        """The least floating-point number that is not below `rank`."""
        try:
            nearest = float(self.rank)
        except OverflowError:
            return math.inf
        return math.nextafter(nearest, math.inf) if nearest < self.rank else nearest

    def excludes(self, energy: Fraction, cycles: int) -> bool:
        """For a product of energy and cycles."""
        (_, a), (_, b) = self.goal.powers
        return not self.holds(energy**a * cycles**b)

    def holds(self, rank: Fraction) -> bool:
        """Whether a rank stays within the limit."""
        return rank < self.rank or (rank == self.rank and not self.strict)


@dataclass(frozen=True)
class Objective:
    """Goals in order of importance. `ties` decide between mappings equal in all of them.

    Of an answer, `ties` are those that were proven, and `unproven` those by which the best mapping
    met was taken.
    """

    goals: tuple[Goal, ...]
    ties: tuple[Goal, ...] = ()
    unproven: tuple[Goal, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics as the user wrote them, most important first."""
        return tuple(goal.name for goal in self.goals)

    @property
    def all(self) -> tuple[Goal, ...]:
        """Goals, then ties."""
        return self.goals + self.ties

    def with_tie_break(self) -> Objective:
        """A single figure with ties broken by energy, then delay; anything else as it is.

        Mappings with equal products differ in one factor only where they differ in the other.
        """
        if len(self.goals) > 1 or self.goals[0].single is None:
            return self
        others = (name for name in ("energy", "delay") if name != self.goals[0].single)
        return Objective(self.goals, tuple(_goal(name) for name in others))

    def with_proven(self, count: int) -> Objective:
        """The objective of an answer in which the first `count` of all goals were proven."""
        first = max(count, len(self.goals))
        return Objective(self.goals, self.all[len(self.goals) : first], self.all[first:])


def parse_objective(text: str | Iterable[str]) -> Objective:
    """Read `"edp"`, `"delay,energy"`, `["delay", "energy"]`, `"energy^2*delay"`.

    Raises: InputError for anything else.
    """
    parts = [text] if isinstance(text, str) else text
    ordered = isinstance(parts, Iterable) and not isinstance(parts, (Mapping, Set))
    if not ordered or not all(isinstance(part, str) for part in parts):
        raise InputError(
            f"the objective is {text!r:.60}; it must be a word or a list of words",
            SourceLocation("--objective"),
            f"known here: edp, {', '.join(METRICS)}",
        )
    parts = list(parts)
    if not parts:
        raise InputError("no objective is given", SourceLocation("--objective"))
    words = [word for part in parts for word in part.split(",")]
    goals = tuple(_goal(word.strip()) for word in words)
    if len({goal.powers for goal in goals}) != len(goals):
        raise InputError(
            f"the objective names a metric twice: {', '.join(words)}", SourceLocation("--objective")
        )
    return Objective(goals)


def _goal(word: str) -> Goal:
    powers: dict[str, Fraction] = {}
    for part in word.split("*"):
        match = _FACTOR.fullmatch(part)
        name = match[1].lower() if match else ""
        metrics = (
            ("energy", "delay") if name == "edp" else (_NAMES[name],) if name in _NAMES else ()
        )
        if match is None or not metrics:
            hint = did_you_mean(name or word, ("edp", *METRICS))
            raise InputError(f"unknown objective '{word}'", SourceLocation("--objective"), hint)
        try:
            power = Fraction(match[2]) if match[2] else Fraction(1)
        except (ValueError, ZeroDivisionError):
            raise InputError(
                f"'{match[2]}' is not a power", SourceLocation("--objective")
            ) from None
        for metric in metrics:
            powers[metric] = powers.get(metric, Fraction(0)) + power
    if any(power <= 0 or power > 16 for power in powers.values()):
        raise InputError(
            f"the powers in '{word}' must lie above 0 and be at most 16",
            SourceLocation("--objective"),
        )
    if len(powers) == 1:
        return (
            Goal(word, ((next(iter(powers)), 1),))
            if next(iter(powers.values())) == 1
            else _rooted(word, powers)
        )
    if "last-level-accesses" in powers:
        raise InputError(
            "last-level-accesses cannot be part of a product",
            SourceLocation("--objective"),
            "list it apart: 'edp,...'",
        )
    return _rooted(word, powers)


def _rooted(word: str, powers: dict[str, Fraction]) -> Goal:
    scale = Fraction(
        math.lcm(*(p.denominator for p in powers.values())),
        math.gcd(*(p.numerator for p in powers.values())),
    )
    whole = tuple((metric, int(powers[metric] * scale)) for metric in METRICS if metric in powers)
    return Goal(word, whole, 1 / scale)
