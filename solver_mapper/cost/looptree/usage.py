"""How many copies along the fan-outs an Einsum can use at most, with tiles that divide."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from solver_mapper.cost.looptree.hardware import Chain, Fanout
from solver_mapper.cost.looptree.workload import Einsum, Relevance


def with_reachable_usage(chain: Chain, einsum: Einsum) -> Chain:
    """The chain, each `min_usage` lowered to what the Einsum can reach, outer fan-outs first."""
    fanouts = [fanout for unit in chain.units for fanout in unit.fanouts]
    reached = reachable(fanouts, einsum)
    if reached is None:
        return chain
    lowered = iter(
        min(fanout.min_usage, Fraction(used, fanout.size) * fanout.usage_scale)
        for fanout, used in zip(fanouts, reached, strict=True)
    )
    return replace(
        chain,
        units=tuple(
            replace(
                unit,
                fanouts=tuple(replace(fanout, min_usage=next(lowered)) for fanout in unit.fanouts),
            )
            for unit in chain.units
        ),
    )


def is_reachable(chain: Chain, einsum: Einsum) -> bool:
    """Whether the Einsum may reach the `min_usage` of all fan-outs of the chain together. A copy
    uses none.
    """
    lowered = with_reachable_usage(chain, einsum)
    return einsum.copy or all(
        fanout.min_usage == least.min_usage
        for unit, lower in zip(chain.units, lowered.units, strict=True)
        for fanout, least in zip(unit.fanouts, lower.fanouts, strict=True)
    )


def reachable(fanouts: list[Fanout], einsum: Einsum) -> tuple[int, ...] | None:
    """Copies used along each fan-out: of all that is possible, the most along the first, then the
    second, and so on; None if nothing is possible. Past the `min_usage` of a fan-out, more is not
    preferred. Constraints on products of trips are left to the search.
    """
    used = {(1,) * len(fanouts)}
    for variable, bound in einsum.bounds.items():
        choices = [_trips(fanout, einsum, variable, bound) for fanout in fanouts]
        splits = list(_products(choices, bound))
        totals = {
            tuple(a * b for a, b in zip(before, row, strict=True))
            for before in used
            for row in splits
        }
        used = {
            total
            for total in totals
            if all(number <= fanout.size for number, fanout in zip(total, fanouts, strict=True))
        }

    def rank(row: tuple[int, ...]) -> tuple[Fraction, ...]:
        return tuple(
            min(Fraction(number, fanout.size) * fanout.usage_scale, fanout.min_usage)
            for number, fanout in zip(row, fanouts, strict=True)
        )

    return max(sorted(used), key=rank, default=None)


def _trips(fanout: Fanout, einsum: Einsum, variable: str, bound: int) -> list[int]:
    """Trips that a loop over a variable may have along a fan-out, by the constraints that name no
    other.
    """
    if any(
        einsum.by_tensor[tensor].relevance(variable) is not Relevance.IRRELEVANT
        for tensor in fanout.reuse
    ):
        return [1]
    constraints = [
        constraint
        for constraint in fanout.loop_bounds
        if not constraint.product and variable in constraint.variables
    ]
    return [
        trips
        for trips in range(1, min(bound, fanout.size) + 1)
        if bound % trips == 0
        and all(constraint.holds({variable: trips}) for constraint in constraints)
    ]


def _products(choices: list[list[int]], bound: int) -> Iterator[tuple[int, ...]]:
    """One trip count for each fan-out, together dividing the bound."""
    for row in itertools.product(*choices):
        total = 1
        for trips in row:
            total *= trips
        if bound % total == 0:
            yield row
