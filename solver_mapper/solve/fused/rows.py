"""All ways to split one rank variable over the places that its loops may take, as tables of whole
numbers.

Variables that share a rank (`p + r`) are split together. A row of a group is one choice for each of
its variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.primes import divisors
from solver_mapper.cost.looptree.hardware import Fanout, LoopBoundRule
from solver_mapper.cost.looptree.workload import Access, Relevance
from solver_mapper.solve.cpsat.linear_form import too_large
from solver_mapper.solve.fused.skeleton import Skeleton

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Dimension:
    """A spatial dimension: copies of all units from `level` inward."""

    level: int
    fanout: Fanout
    variables: frozenset[str]

    def across(self, skeleton: Skeleton) -> tuple[str, str]:
        """The component and the fan-out along it."""
        return skeleton.chain.units[self.level].name, self.fanout.name


@dataclass(frozen=True)
class RowTable:
    """The rows of one group of variables. `temporal[v]` has a column a site, `spatial[v]` one a
    dimension: trip counts.
    """

    variables: tuple[str, ...]
    bounds: Mapping[str, int]
    temporal: Mapping[str, Ints]
    spatial: Mapping[str, Ints]

    def __len__(self) -> int:
        return len(next(iter(self.temporal.values())))

    def above(self, skeleton: Skeleton, variable: str, node: int) -> Ints:
        """Iterations of all temporal loops over `variable` above a node (the compute is the node
        after the last).
        """
        slots = [index for index, slot in enumerate(skeleton.slots) if slot.above <= node]
        return _product(self.temporal[variable], slots)

    def copies(self, variable: str, dimensions: Sequence[int]) -> Ints:
        """Copies over which `variable` is spread along these dimensions."""
        return _product(self.spatial[variable], list(dimensions))

    def kept(self, keep: Flags) -> RowTable:
        """The rows that `keep` selects."""
        return RowTable(
            self.variables,
            self.bounds,
            {name: table[keep] for name, table in self.temporal.items()},
            {name: table[keep] for name, table in self.spatial.items()},
        )


def _product(table: Ints, columns: list[int]) -> Ints:
    result: Ints = np.prod(table[:, columns], axis=1, dtype=np.int64)
    return result


@functools.lru_cache(maxsize=4096)
def splits(number: int, positions: int) -> Ints:
    """All ways to write `number` as a product of `positions` whole factors in order, one a row.
    Rows are in increasing order. Raises: InputError for a number beyond 64-bit integers.
    """
    if number >= 2**62:
        raise too_large()
    if positions == 0:
        return np.empty((int(number == 1), 0), dtype=np.int64)
    if positions == 1:
        return np.array([[number]], dtype=np.int64)
    parts = []
    for first in divisors(number):
        rest = splits(number // first, positions - 1)
        parts.append(np.hstack([np.full((len(rest), 1), first, dtype=np.int64), rest]))
    return np.vstack(parts)


def dimensions_of(skeleton: Skeleton) -> tuple[Dimension, ...]:
    """The spatial dimensions of the architecture, each with the variables it may distribute."""
    einsum = skeleton.einsum
    found = []
    for level, unit in enumerate(skeleton.chain.units):
        for fanout in unit.fanouts:
            if fanout.size > 1:
                across = unit.name, fanout.name
                shared = {loop.variable for loop in skeleton.prefix if loop.across == across}
                allowed = frozenset(
                    name
                    for name in einsum.variables
                    if not einsum.copy
                    and (across not in skeleton.closed or name in shared)
                    and einsum.bounds[name] > 1
                    and all(
                        einsum.by_tensor[tensor].relevance(name) is Relevance.IRRELEVANT
                        for tensor in fanout.reuse
                    )
                )
                found.append(Dimension(level, fanout, allowed))
    return tuple(found)


def groups_of(accesses: Sequence[Access], variables: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The variables in groups: those that share a rank of some tensor stand together."""
    groups = [{name} for name in variables]
    for access in accesses:
        for rank in access.tensor.ranks:
            names = {term.dim for term in rank} & set(variables)
            if len(names) > 1:
                joined = set().union(*(group for group in groups if group & names))
                groups = [group for group in groups if not group & names] + [joined]
    return tuple(tuple(sorted(group, key=list(variables).index)) for group in groups)


def table_of(skeleton: Skeleton, dimensions: Sequence[Dimension], group: Sequence[str]) -> RowTable:
    """All rows of a group that its own rules allow: fan-outs, loop bounds, tile shapes, tensors
    that move only once.
    """
    einsum = skeleton.einsum
    parts = [_rows(skeleton, dimensions, name) for name in group]
    table = parts[0]
    for part in parts[1:]:
        left = np.repeat(np.arange(len(table)), len(part))
        right = np.tile(np.arange(len(part)), len(table))
        table = RowTable(
            (*table.variables, *part.variables),
            einsum.bounds,
            {
                **{name: rows[left] for name, rows in table.temporal.items()},
                **{name: rows[right] for name, rows in part.temporal.items()},
            },
            {
                **{name: rows[left] for name, rows in table.spatial.items()},
                **{name: rows[right] for name, rows in part.spatial.items()},
            },
        )
    return table


def _rows(skeleton: Skeleton, dimensions: Sequence[Dimension], variable: str) -> RowTable:
    einsum = skeleton.einsum
    slots = [index for index, slot in enumerate(skeleton.slots) if variable in slot.variables]
    spread = [
        index for index, dimension in enumerate(dimensions) if variable in dimension.variables
    ]
    rows = splits(einsum.bounds[variable], len(slots) + len(spread))
    for position, index in enumerate(spread):
        trips, dimension = rows[:, len(slots) + position], dimensions[index]
        least = 2 if dimension.across(skeleton) in skeleton.closed else 1
        rows = rows[(trips >= least) & (trips <= dimension.fanout.size)]
    for position, index in enumerate(slots):
        if skeleton.slots[index].shared is not None:
            rows = rows[rows[:, position] > 1]
    temporal = np.ones((len(rows), len(skeleton.slots)), dtype=np.int64)
    spatial = np.ones((len(rows), len(dimensions)), dtype=np.int64)
    temporal[:, slots], spatial[:, spread] = rows[:, : len(slots)], rows[:, len(slots) :]
    table = RowTable((variable,), einsum.bounds, {variable: temporal}, {variable: spatial})
    return table.kept(_allowed(skeleton, dimensions, table, variable))


def _allowed(
    skeleton: Skeleton, dimensions: Sequence[Dimension], table: RowTable, variable: str
) -> Flags:
    """Which rows of one variable its rules allow."""
    keep = np.ones(len(table), dtype=np.bool_)
    for index, dimension in enumerate(dimensions):
        for constraint in dimension.fanout.loop_bounds:
            keep &= _compares(constraint, variable, table.spatial[variable][:, index])
    bound = table.bounds[variable]
    for index, node in enumerate(skeleton.nodes):
        constraints, access = (
            skeleton.placement.constraints[node.level],
            skeleton.einsum.by_tensor[node.tensor],
        )
        above, level = table.above(skeleton, variable, index), node.level
        inside = [
            position for position, dimension in enumerate(dimensions) if dimension.level <= level
        ]
        for constraint in constraints.tile_shape:
            keep &= _compares(
                constraint, variable, bound // (above * table.copies(variable, inside))
            )
        fetched_once = node.tensor in constraints.no_refetch and node.parent is not None
        if node.parent is not None:
            upper = skeleton.placement.constraints[skeleton.nodes[node.parent].level]
            fetched_once = fetched_once or node.tensor in upper.no_resend
        if fetched_once and access.relevance(variable) is Relevance.IRRELEVANT:
            apart = [each for each in inside if not _multicasts(dimensions[each], node.tensor)]
            keep &= above * table.copies(variable, apart) == 1
    for tensor in skeleton.einsum.tensors:
        last = skeleton.holders(tensor)[-1]
        once = tensor in skeleton.placement.constraints[skeleton.nodes[last].level].no_resend
        if once and skeleton.einsum.by_tensor[tensor].relevance(variable) is Relevance.IRRELEVANT:
            together = [
                position
                for position, dimension in enumerate(dimensions)
                if _multicasts(dimension, tensor)
            ]
            keep &= table.copies(variable, together) == bound
    return keep


def _multicasts(dimension: Dimension, tensor: str) -> bool:
    """Whether one access serves all copies along a fan-out, so that nothing is sent again."""
    return tensor in dimension.fanout.may_reuse


def _compares(constraint: LoopBoundRule, variable: str, values: Ints) -> Flags:
    """Where a rule about each variable on its own holds; products are checked later."""
    if constraint.product or variable not in constraint.variables:
        return np.ones(len(values), dtype=np.bool_)
    return COMPARE[constraint.operator](values, constraint.value)


COMPARE: Mapping[str, Callable[[Ints, int], Flags]] = {
    "==": lambda a, b: a == b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
