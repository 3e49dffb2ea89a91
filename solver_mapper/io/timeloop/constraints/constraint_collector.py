"""Constraints as they are gathered from all constraint files: equal ones once, contradictions
refused.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from solver_mapper.core.constraints import (
    HARDWARE,
    Constraint,
    Constraints,
    FactorConstraint,
    KeepConstraint,
    PermutationConstraint,
    ProductConstraint,
    SplitConstraint,
)
from solver_mapper.core.loop_orders import ordered_pairs
from solver_mapper.errors import InputError


@dataclass
class ConstraintCollector:
    """`dims` are the problem's dimensions."""

    dims: Collection[str]
    constraints: list[Constraint] = field(default_factory=list)

    def add(self, constraint: Constraint) -> None:
        """Take `constraint` in, unless it says what another one says already.

        Two values for one factor, product, split or keep flag, and two permutations that order the
        same two loops differently, are contradictions; limits that merely leave nothing over (`P=4`
        and `P<=2`) are not, they have no mapping.

        Where the hardware asks the same, it is the hardware's constraint.
        Raises: InputError that shows both locations.
        """
        for number, other in enumerate(self.constraints):
            if constraint == other:
                self.constraints[number] = constraint if constraint.origin == HARDWARE else other
                return
            if constraint.level == other.level and self._contradicts(constraint, other):
                raise InputError(
                    f"'{constraint.text}' contradicts '{other.text}' at {other.location}",
                    constraint.location,
                    "keep one of them",
                )
        self.constraints.append(constraint)

    def done(self) -> Constraints:
        """The constraints collected."""
        return Constraints(tuple(self.constraints))

    def _contradicts(self, constraint: Constraint, other: Constraint) -> bool:
        if isinstance(constraint, FactorConstraint) and isinstance(other, FactorConstraint):
            same = (constraint.kind, constraint.dim) == (other.kind, other.dim)
            return same and constraint.comparison == other.comparison == "=="
        if isinstance(constraint, PermutationConstraint) and isinstance(
            other, PermutationConstraint
        ):
            reversed_pairs = {(outer, inner) for inner, outer in ordered_pairs(other, self.dims)}
            return constraint.kind == other.kind and not reversed_pairs.isdisjoint(
                ordered_pairs(constraint, self.dims)
            )
        if isinstance(constraint, ProductConstraint) and isinstance(other, ProductConstraint):
            return (
                constraint.loops == other.loops
                and constraint.comparison == other.comparison == "=="
            )
        if isinstance(constraint, KeepConstraint) and isinstance(other, KeepConstraint):
            return constraint.tensor == other.tensor
        return isinstance(constraint, SplitConstraint) and isinstance(other, SplitConstraint)
