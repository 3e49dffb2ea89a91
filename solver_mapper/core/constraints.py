"""The constraints of constraint files, as records. Each constraint is one thing that a user can
lift.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

from solver_mapper.core.objective import Limit, parse_objective
from solver_mapper.errors import NOWHERE, SourceLocation

Kind = Literal["temporal", "spatial"]
Comparison = Literal["==", "<=", "<", ">=", ">", "!="]
HOLDS: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "!=": operator.ne,
}
"""What each comparison means."""


_GOALS = {"cycles": "delay", "energy_pj": "energy", "last_level_accesses": "last-level-accesses"}
"""How goals name what caps limit, where their names differ."""
HARDWARE = "hardware"
"""The origin of constraints that no user wrote and none can lift: what the architecture's own shape
means.
"""
MAPPING = "mapping"
"""The origin of constraints that directives of a mapping given in part amount to."""


@dataclass(frozen=True)
class Constraint:
    """`level` is a level's name; `text` is the constraint in one line, for messages ("RF spatial:
    factors R=1").
    """

    level: str
    text: str = field(compare=False)
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)
    origin: str = field(default="architecture_constraints", compare=False, kw_only=True)
    """The top-level key under which it stands, "python", `MAPPING`, or `HARDWARE`."""


@dataclass(frozen=True)
class FactorConstraint(Constraint):
    """The loop bound of `dim` among the `kind` loops of the level compares with `value` (`last` for
    residual equality).
    """

    kind: Kind
    dim: str
    comparison: Comparison
    value: int
    last: int | None = None


@dataclass(frozen=True)
class PermutationConstraint(Constraint):
    """Order of the `kind` loops of the level: `inner` are the innermost, innermost first; `outer`
    the outermost, outermost last.

    With `gaps`, `inner` only fixes a relative order (innermost first) and other loops may stand
    between.
    """

    kind: Kind
    inner: tuple[str, ...]
    outer: tuple[str, ...] = ()
    gaps: bool = False


@dataclass(frozen=True)
class SplitConstraint(Constraint):
    """Spatial loops at positions below `split` of the full permutation (innermost first) lie along
    X, the others along Y.
    """

    split: int


@dataclass(frozen=True)
class KeepConstraint(Constraint):
    """`tensor` must be kept at the level (`keep`) or must bypass it."""

    tensor: str
    keep: bool


@dataclass(frozen=True)
class ReuseConstraint(Constraint):
    """A kind of reuse is switched off for `tensors` ("no_temporal_reuse", "no_multicast",
    "no_link_transfer").
    """

    flag: str
    tensors: frozenset[str]


@dataclass(frozen=True)
class UtilizationConstraint(Constraint):
    """The product over all spatial levels of used over available instances is at least `least`."""

    least: Fraction


@dataclass(frozen=True)
class NestingConstraint(Constraint):
    """Of the temporal loops of the level, those over `inside` lie inside those over `outside`;
    `flow` is the dataflow's name.
    """

    flow: str
    inside: frozenset[str]
    outside: frozenset[str]


@dataclass(frozen=True)
class ProductConstraint(Constraint):
    """The product of the bounds of `loops`, each (level, kind, dimension), compares with `value`.
    `level` is empty.
    """

    loops: frozenset[tuple[str, Kind, str]]
    comparison: Comparison
    value: int

    @property
    def dims(self) -> frozenset[str]:
        """The dimensions of the loops in the product."""
        return frozenset(dim for _, _, dim in self.loops)


@dataclass(frozen=True)
class MetricConstraint(Constraint):
    """The figure `metric` of a mapping is at most `most`, or less than that if `strict`. `level` is
    empty.

    Metrics: "cycles", "energy_pj" (pJ), "edp" (pJ x cycles), "last_level_accesses" (words).
    """

    metric: str
    most: Fraction
    strict: bool = False

    @cached_property
    def limit(self) -> Limit:
        """The same as a limit on a goal."""
        goal = parse_objective(_GOALS.get(self.metric, self.metric)).goals[0]
        return Limit(goal, Fraction(self.most), self.strict)


Constraints = tuple[Constraint, ...]
