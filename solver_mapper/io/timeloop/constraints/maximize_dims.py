"""The shorthand `maximize_dims`: the largest factors of some dimensions that the instances of a
level leave room for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import FactorConstraint, Kind
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.constraints.constraint_collector import ConstraintCollector
from solver_mapper.io.timeloop.factor_grammar import read_order
from solver_mapper.io.yaml.fields import Fields, sequence_of
from solver_mapper.io.yaml.source import Scalar


@dataclass(frozen=True)
class MaximizeRequest:
    """Maximize each of `groups` in turn among the `kind` loops of `level`, within `capacity`."""

    level: str
    kind: Kind
    groups: tuple[tuple[str, ...], ...]
    capacity: int
    fields: Fields


def read_request(
    kind: Kind, fields: Fields, level: str, architecture: Architecture, problem: Problem
) -> MaximizeRequest | None:
    """`maximize_dims: [[R, S], [C, M]]` (or one list), with `maximize_dims_capacity` where there is
    no fanout to fill.
    """
    node = fields.node("maximize_dims")
    capacity = fields.integer("maximize_dims_capacity", least=1)
    if node is None:
        return None
    items = sequence_of(node, f"'maximize_dims' of {fields.what}").items
    lists = (node,) if any(isinstance(item, Scalar) for item in items) else items
    groups = tuple(tuple(word.text for word in read_order(each, problem.dims)) for each in lists)
    if capacity is None and kind == "temporal":
        raise InputError(
            f"{fields.what} has 'maximize_dims' but no 'maximize_dims_capacity'", node.location
        )
    return MaximizeRequest(
        level,
        kind,
        groups,
        capacity or prod(architecture.fanout(architecture.index(level))),
        fields,
    )


def resolve(
    requests: list[MaximizeRequest],
    architecture: Architecture,
    problem: Problem,
    book: ConstraintCollector,
) -> None:
    """Add the factors that `requests` come to, given all other constraints: spatial ones first,
    from the innermost level outwards.

    Raises: InputError for a dimension that has a factor there already.
    """
    order = {name: index for index, name in enumerate(architecture.level_names)}
    for request in sorted(requests, key=lambda each: (each.kind == "temporal", -order[each.level])):
        for group in request.groups:
            _resolve_group(request, group, problem, book)


def _resolve_group(
    request: MaximizeRequest, group: tuple[str, ...], problem: Problem, book: ConstraintCollector
) -> None:
    fixed = [
        constraint
        for constraint in book.constraints
        if isinstance(constraint, FactorConstraint) and constraint.comparison in ("==", ">=")
    ]
    here = [
        constraint
        for constraint in fixed
        if (constraint.level, constraint.kind) == (request.level, request.kind)
    ]
    for constraint in here:
        if constraint.dim in group:
            raise InputError(
                f"'{constraint.dim}' cannot be maximized: it has a factor already, at"
                f" {constraint.location}",
                request.fields.location_of("maximize_dims"),
            )
    room = request.capacity
    for constraint in here:
        room //= constraint.value
    left = {
        dim: -(
            -problem.bounds[dim]
            // prod(
                constraint.value
                for constraint in fixed
                if constraint.dim == dim and constraint.comparison == "=="
            )
        )
        for dim in group
    }
    for dim, factor in largest_factors(left, room).items():
        text = f"{request.level} {request.kind}: maximize_dims {','.join(group)} ({dim}={factor})"
        book.add(
            FactorConstraint(
                request.level,
                text,
                request.kind,
                dim,
                "==",
                factor,
                location=request.fields.location_of("maximize_dims"),
            )
        )


def largest_factors(bounds: Mapping[str, int], room: int) -> dict[str, int]:
    """A divisor of each bound, with the largest product that is at most `room`; of equal products
    the one with the larger factors for the dimensions listed first.
    """
    best: dict[int, tuple[int, ...]] = {1: ()}
    for bound in bounds.values():
        grown: dict[int, tuple[int, ...]] = {}
        for product, chosen in best.items():
            for factor in divisors(bound):
                if product * factor <= room:
                    total, choice = product * factor, (*chosen, factor)
                    grown[total] = max(grown.get(total, choice), choice)
        best = grown
    return dict(zip(bounds, best[max(best)], strict=True)) if best else dict.fromkeys(bounds, 1)
