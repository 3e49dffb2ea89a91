"""Constraints as Python objects: the language of constraint files without YAML.

    import solver_mapper as sm
    from solver_mapper import constraints

    wanted = ( (constraints.temporal("RF", "R") == 3) & (constraints.spatial(constraints.ALL, "C",
        "K") <= 128) & constraints.permutation("GLB", "RCP") & constraints.bypass("GLB", "W") &
        (constraints.cycles <= 200_000)
    )
    solution = sm.solve(spec, constraints=wanted)

Names are those of the problem and the architecture; they are looked up when the constraints meet a
specification. Messages show the line of the program that made a constraint.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

from solver_mapper.core.constraints import (
    Comparison,
    Constraint,
    FactorConstraint,
    Kind,
    MetricConstraint,
    ProductConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.core.reuse_flags import with_reuse_flags
from solver_mapper.core.spec import Spec
from solver_mapper.errors import NOWHERE, InputError, SourceLocation, unknown_name
from solver_mapper.io.timeloop.constraints.constraint_collector import ConstraintCollector
from solver_mapper.io.timeloop.constraints.constraint_file import Context, read_constraints
from solver_mapper.io.timeloop.constraints.extended_constraints import METRIC_NAMES
from solver_mapper.io.timeloop.constraints.maximize_dims import resolve
from solver_mapper.io.timeloop.constraints.targets import target_levels
from solver_mapper.io.yaml.source import Scalar, from_python
from solver_mapper.io.yaml.warnings import Notes

__all__ = [
    "ALL",
    "ConstraintSet",
    "Quantity",
    "add",
    "bypass",
    "constraint",
    "cycles",
    "dataflow",
    "edp",
    "energy_pj",
    "keep",
    "last_level_accesses",
    "no_link_transfer",
    "no_multicast",
    "no_temporal_reuse",
    "permutation",
    "spatial",
    "split",
    "temporal",
    "utilization",
]

ALL = "*"
"""In place of a level: all of them."""
Number = int | float | Fraction
Target = str | int
ORIGIN = "python"


@dataclass(frozen=True)
class _Term:
    """The `kind` loops over `dims` at a level, at all levels of a subtree, or at all levels."""

    kind: Kind
    target: Target
    dims: tuple[str, ...]

    def levels(self, spec: Spec, location: SourceLocation) -> tuple[str, ...]:
        architecture = spec.need_architecture()
        if self.target == ALL:
            return architecture.level_names
        return target_levels(Scalar(str(self.target), location), architecture, self.kind)

    def __str__(self) -> str:
        return (
            f"{'all levels' if self.target == ALL else self.target} {self.kind}"
            f" {'*'.join(self.dims)}"
        )


@dataclass(frozen=True, eq=False)
class _Comparison:
    """A comparison of a quantity with a number."""

    quantity: Quantity
    sign: Comparison
    number: Number
    location: SourceLocation

    def bind(self, spec: Spec, context: Context) -> list[Constraint]:
        if self.quantity.metric:
            return [self._cap()]
        if not isinstance(self.number, int) or self.number < 1:
            raise InputError(
                f"loop bounds compare with whole numbers of at least 1, not {self.number}",
                self.location,
            )
        loops: set[tuple[str, Kind, str]] = set()
        for term in self.quantity.terms:
            _check(term.dims, context.problem, self.location)
            added = {
                (level, term.kind, dim)
                for level in term.levels(spec, self.location)
                for dim in term.dims
            }
            if added & loops:
                raise InputError(f"a loop stands twice in '{self.quantity}'", self.location)
            loops |= added
        sign = "=" if self.sign == "==" else self.sign
        if len(loops) == 1:
            ((level, kind, dim),) = loops
            text = f"{level} {kind}: factors {dim}{sign}{self.number}"
            return [
                FactorConstraint(
                    level, text, kind, dim, self.sign, self.number, location=self.location
                )
            ]
        return [
            ProductConstraint(
                "",
                f"product of {self.quantity} {sign} {self.number}",
                frozenset(loops),
                self.sign,
                self.number,
                location=self.location,
            )
        ]

    def _cap(self) -> Constraint:
        if self.sign not in ("<=", "<"):
            raise InputError(
                f"'{self}' is not a cap",
                self.location,
                "metrics can only be capped, with '<=' or '<'",
            )
        most = (
            self.number if isinstance(self.number, int | Fraction) else Fraction(str(self.number))
        )
        return MetricConstraint(
            "",
            f"metrics: {self}",
            self.quantity.metric,
            Fraction(most),
            self.sign == "<",
            location=self.location,
        )

    def __str__(self) -> str:
        return f"{self.quantity} {self.sign} {self.number}"


@dataclass(frozen=True)
class _Written:
    """A constraint as it would stand in a file."""

    table: dict[str, Any]
    location: SourceLocation

    def bind(self, spec: Spec, context: Context) -> list[Constraint]:
        book = ConstraintCollector(context.problem.dims)
        read_constraints(from_python([self.table], self.location), replace(context, book=book))
        return book.constraints

    def __str__(self) -> str:
        return ", ".join(f"{key}: {value}" for key, value in self.table.items())


@dataclass(frozen=True)
class ConstraintSet:
    """One constraint or several; `&` puts more together."""

    parts: tuple[_Comparison | _Written, ...]

    def __and__(self, other: ConstraintSet) -> ConstraintSet:
        return ConstraintSet(self.parts + other.parts)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "constraints have no truth value: combine them with '&', and write '1 <= x <= 4' as (x"
            " >= 1) & (x <= 4)"
        )

    def __str__(self) -> str:
        return "; ".join(str(part) for part in self.parts)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A product of loop bounds, or a figure of the whole mapping; comparing it with a number makes
    a constraint.
    """

    terms: tuple[_Term, ...] = ()
    metric: str = ""

    __hash__ = object.__hash__

    def __mul__(self, other: Quantity) -> Quantity:
        if self.metric or other.metric:
            raise TypeError("metrics cannot be multiplied; use 'edp'")
        return Quantity(self.terms + other.terms)

    def __le__(self, number: Number) -> ConstraintSet:
        return self._compare("<=", number)

    def __lt__(self, number: Number) -> ConstraintSet:
        return self._compare("<", number)

    def __ge__(self, number: Number) -> ConstraintSet:
        return self._compare(">=", number)

    def __gt__(self, number: Number) -> ConstraintSet:
        return self._compare(">", number)

    def __eq__(self, number: object) -> ConstraintSet:  # type: ignore[override]
        return self._compare("==", number)

    def __ne__(self, number: object) -> ConstraintSet:  # type: ignore[override]
        return self._compare("!=", number)

    def _compare(self, sign: Comparison, number: object) -> ConstraintSet:
        if isinstance(number, bool) or not isinstance(number, int | float | Fraction):
            raise TypeError(f"'{self}' compares with numbers, not with {number!r}")
        return ConstraintSet((_Comparison(self, sign, number, _here()),))

    def __str__(self) -> str:
        return self.metric or " x ".join(str(term) for term in self.terms)


def temporal(target: Target, *dims: str) -> Quantity:
    """The product of the temporal loop bounds over `dims` at a level, at all levels of a subtree,
    or at `ALL`.
    """
    return _loops("temporal", target, dims)


def spatial(target: Target, *dims: str) -> Quantity:
    """The product of the spatial loop bounds over `dims`, along both axes, as `temporal`."""
    return _loops("spatial", target, dims)


cycles, energy_pj, edp, last_level_accesses = (
    Quantity(metric=name) for name in dict.fromkeys(METRIC_NAMES.values())
)
"""Figures of the whole mapping, for caps: `cycles <= 200_000`."""


def permutation(
    target: Target, order: str | Iterable[str], kind: Kind = "temporal"
) -> ConstraintSet:
    """The order of the loops of a level, innermost first, with `_` and `*` as in files: "RP_K",
    "R*P", ["Row", "Col"].
    """
    return constraint(
        target=target, type=kind, permutation=order if isinstance(order, str) else list(order)
    )


def split(target: Target, positions: int) -> ConstraintSet:
    """The innermost `positions` of the full spatial order lie along X, the others along Y."""
    return constraint(target=target, type="spatial", split=positions)


def keep(target: Target, *tensors: str) -> ConstraintSet:
    """A level holds these tensors."""
    return constraint(target=target, type="dataspace", keep=list(tensors))


def bypass(target: Target, *tensors: str) -> ConstraintSet:
    """A level does not hold these tensors."""
    return constraint(target=target, type="dataspace", bypass=list(tensors))


def dataflow(target: Target, name: str) -> ConstraintSet:
    """`name` as in files: "weight-stationary", "row-stationary", "W-stationary"."""
    return constraint(target=target, dataflow=name)


def utilization(least: Number) -> ConstraintSet:
    """At least this share (0 to 1) of the compute units is in use."""
    return constraint(target=0, type="utilization", min=float(least))


def no_temporal_reuse(target: Target, *tensors: str) -> ConstraintSet:
    """These tensors do not stay at a level from one step to the next."""
    return constraint(target=target, type="temporal", no_temporal_reuse=list(tensors))


def no_multicast(target: Target, *tensors: str) -> ConstraintSet:
    """The network below a level neither copies nor adds up these tensors."""
    return constraint(target=target, type="spatial", no_multicast_no_reduction=list(tensors))


def no_link_transfer(target: Target, *tensors: str) -> ConstraintSet:
    """Neighbours below a level do not pass these tensors on."""
    return constraint(target=target, type="spatial", no_link_transfer=list(tensors))


def constraint(**fields: Any) -> ConstraintSet:
    """Any constraint as it would stand in a file: `constraint(target="GLB", type="temporal",
    factors="P<=4 R=3")`.
    """
    return ConstraintSet((_Written(fields, _here()),))


def add(spec: Spec, constraints: ConstraintSet | Iterable[ConstraintSet]) -> Spec:
    """`spec` under further constraints.

    Raises: InputError for names that `spec` does not have, and for constraints that contradict each
    other or those of `spec` outright.
    """
    architecture, problem = spec.need_architecture(), spec.need_problem()
    book = ConstraintCollector(problem.dims, list(spec.constraints))
    notes = Notes()
    context = Context(architecture, problem, book, ORIGIN, [], notes)
    for each in [constraints] if isinstance(constraints, ConstraintSet) else constraints:
        for part in each.parts:
            for constraint in part.bind(spec, context):
                book.add(replace(constraint, origin=ORIGIN))
    resolve(context.requests, architecture, problem, book)
    together = book.done()
    mapping = None if spec.mapping is None else with_reuse_flags(spec.mapping, together)
    return replace(
        spec, constraints=together, mapping=mapping, warnings=(*spec.warnings, *notes.lines)
    )


def _loops(kind: Kind, target: Target, dims: tuple[str, ...]) -> Quantity:
    if not dims:
        raise TypeError(f"{kind}() needs a level and at least one dimension")
    return Quantity((_Term(kind, target, dims),))


def _check(dims: Iterable[str], problem: Problem, location: SourceLocation) -> None:
    for dim in dims:
        if dim not in problem.dims:
            raise unknown_name("dimension", dim, problem.dims, location)


def _here() -> SourceLocation:
    """The line of the program that calls this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    file = frame.f_code.co_filename
    return NOWHERE if file.startswith("<") else SourceLocation(file, frame.f_lineno)
