"""Ranks that Einsums of a group can iterate over together.

A loop is co-iterated by a group when every tensor that stays on chip between its Einsums is
partitioned by it, the same way for writer and readers. So reduction ranks of a writer never
qualify: only final values cross. Where one Einsum walks over a rank with one variable and another
with several (see `digits`), they share a loop for each digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.digits import Digit, digit_of, digits_of
from solver_mapper.core.problem import Term


class DigitRange(NamedTuple):
    """What a digit counts of a variable of one Einsum: in steps of `stride`, up to `top`; 1 and its
    bound for all of it.
    """

    einsum: int
    variable: str
    stride: int
    top: int


Index = Mapping[int, tuple[Digit, ...]]
"""How the Einsums of a group index one rank of a tensor."""


@dataclass(frozen=True)
class SharedRank:
    """`variables[i]`: the variable of Einsum i that runs over this rank of `bound` points. An
    Einsum without one repeats.

    `strides[i]`: by how much the variable grows from point to point, if that is not 1. `above`:
    more significant digits of the variable of an Einsum that has windows along it. A loop over this
    rank then stands inside loops that cut these completely, so that its tiles are ranges.
    """

    variables: Mapping[int, str]
    bound: int
    strides: Mapping[int, int] = field(default_factory=dict)
    above: tuple[SharedRank, ...] = ()

    @property
    def name(self) -> str:
        """The variable that the first of its Einsums has for it."""
        return next(iter(self.variables.values()))

    def indexes(self, net: DataflowGraph, einsum: int, tensor: str) -> bool:
        """Whether the rank's variable of the Einsum indexes `tensor`."""
        return self.variables.get(einsum) in net.use(einsum, tensor).dims


def common_ranks(
    net: DataflowGraph, group: Sequence[int], tiled: Sequence[str], internal: Sequence[str]
) -> tuple[SharedRank, ...]:
    """The ranks over which `group` can co-iterate while the tensors `tiled` stay on chip.

    `internal` are all tensors that the group both writes and reads. Those that are not tiled must
    be partitioned as well, else a reader would need what its writer has not made yet.
    """
    candidates = [
        parts
        for parts in _linked(net, group, tiled)
        if _one_each(parts, group) and all(_partitions(net, tensor, parts) for tensor in internal)
    ]
    made: dict[frozenset[DigitRange], SharedRank] = {}
    grown = True
    while grown:
        found = {parts: _rank(net, parts, made) for parts in candidates if parts not in made}
        ready = {parts: rank for parts, rank in found.items() if rank is not None}
        made |= ready
        grown = bool(ready)
    order = list(net.problems[group[0]].dims)
    return tuple(sorted(made.values(), key=lambda rank: order.index(rank.variables[group[0]])))


def _one_each(parts: frozenset[DigitRange], group: Sequence[int]) -> bool:
    """Are these one part of each Einsum in the group, and of the same size?"""
    return (
        len(parts) == len(group) == len({part.einsum for part in parts})
        and len({part.top // part.stride for part in parts}) == 1
    )


def _rank(
    net: DataflowGraph,
    parts: frozenset[DigitRange],
    made: Mapping[frozenset[DigitRange], SharedRank],
) -> SharedRank | None:
    """The rank of these parts; None while the more significant digits are not among the ranks that
    are `made`.
    """
    above: list[SharedRank] = []
    for part in parts:
        if part.top < net.problems[part.einsum].bounds[part.variable] and _has_window(net, part):
            more = next(
                (
                    rank
                    for others, rank in made.items()
                    if any(
                        (other.einsum, other.variable, other.stride)
                        == (part.einsum, part.variable, part.top)
                        for other in others
                    )
                ),
                None,
            )
            if more is None:
                return None
            above += [] if more in above else [more]
    some, listed = min(parts), sorted(parts)
    return SharedRank(
        {part.einsum: part.variable for part in listed},
        some.top // some.stride,
        {part.einsum: part.stride for part in listed if part.stride > 1},
        tuple(above),
    )


def _has_window(net: DataflowGraph, part: DigitRange) -> bool:
    """Does an Einsum index some tensor by a part's variable and others in a sum that is no number
    with digits?
    """
    problem = net.problems[part.einsum]
    return any(
        term.dim == part.variable and digits_of(rank, problem.bounds) is None
        for tensor in problem.tensors
        for rank in tensor.ranks
        for term in rank
    )


def _linked(
    net: DataflowGraph, group: Sequence[int], tiled: Sequence[str]
) -> list[frozenset[DigitRange]]:
    """Parts of variables joined through the ranks of `tiled` that they index; the most significant
    digits of a variable first.
    """
    indexes = [index for tensor in tiled for index in _indexes(net, group, tensor)]
    cuts = {
        (i, variable): {1, bound}
        for i in group
        for variable, bound in net.problems[i].bounds.items()
    }
    while any(_refined(index, cuts) for index in indexes):
        pass
    sets = {
        part: {part} for (i, variable), steps in cuts.items() for part in _parts(i, variable, steps)
    }
    for index in indexes:
        steps = _steps(index, cuts)
        for low, high in pairwise(steps if _nested(steps) else ()):
            nodes = [
                DigitRange(i, digit.variable, low // digit.stride, high // digit.stride)
                for i, digits in index.items()
                for digit in digits
                if digit.stride <= low and high <= digit.top
            ]
            joined = set().union(*(sets[node] for node in nodes))
            for node in joined:
                sets[node] = joined
    return list({id(members): frozenset(members) for members in sets.values()}.values())


def _indexes(net: DataflowGraph, group: Sequence[int], tensor: str) -> list[Index]:
    """How each rank of a tensor is indexed by those of its users in the group that count it by
    digits.
    """
    users = sorted(net.users[tensor] & set(group))
    found: list[Index] = []
    for position in range(len(net.use(users[0], tensor).ranks)):
        counted = {
            i: digits_of(net.use(i, tensor).ranks[position], net.problems[i].bounds) for i in users
        }
        found.append({i: digits for i, digits in counted.items() if digits is not None})
    return found


def _refined(index: Index, cuts: Mapping[tuple[int, str], set[int]]) -> bool:
    """Cut every variable of a rank wherever another one is cut; whether that was news."""
    steps = _steps(index, cuts)
    news = False
    for i, digits in index.items() if _nested(steps) else ():
        for digit in digits:
            known = cuts[i, digit.variable]
            more = {
                step // digit.stride for step in steps if digit.stride <= step <= digit.top
            } - known
            known |= more
            news = news or bool(more)
    return news


def _steps(index: Index, cuts: Mapping[tuple[int, str], set[int]]) -> list[int]:
    return sorted(
        {
            digit.stride * cut
            for i, digits in index.items()
            for digit in digits
            for cut in cuts[i, digit.variable]
        }
    )


def _nested(steps: Sequence[int]) -> bool:
    """Does each step divide the next?"""
    return all(high % low == 0 for low, high in pairwise(steps))


def _parts(einsum: int, variable: str, steps: set[int]) -> list[DigitRange]:
    return [DigitRange(einsum, variable, low, high) for low, high in pairwise(sorted(steps))][::-1]


def alone(rank: tuple[Term, ...]) -> bool:
    """Is the index a variable and nothing else?"""
    return len(rank) == 1 and rank[0].coefficient == 1


def _partitions(net: DataflowGraph, tensor: str, parts: frozenset[DigitRange]) -> bool:
    """Do these parts split `tensor` at one and the same place, in all of its users in the group?"""
    indices = set()
    for part in parts:
        if part.einsum in net.users[tensor]:
            ranks = net.use(part.einsum, tensor).ranks
            own = [
                position
                for position, rank in enumerate(ranks)
                if any(term.dim == part.variable for term in rank)
            ]
            digit = (
                digit_of(part.variable, ranks[own[0]], net.problems[part.einsum].bounds)
                if len(own) == 1
                else None
            )
            if digit is None:
                return False
            indices.add((own[0], digit.stride * part.stride, digit.stride * part.top))
    return len(indices) == 1
