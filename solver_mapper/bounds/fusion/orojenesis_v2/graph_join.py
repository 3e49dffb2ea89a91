"""Joining Orojenesis v2 families over a graph of Einsums, one Einsum after another, loop-closing
neighbours first.

A state says which families the Einsums have that still share a tensor with a later one, and which
of those are in one component (tiled-fused, directly or through others). Families that every family
of the later Einsums treats alike count as one in a state. Its points carry the accesses so far, the
largest footprint of a finished component, and the footprint so far of each open one. Later Einsums
only add to these figures or take maxima of them, so a point that another beats in all of them is
dropped without loss.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from solver_mapper.bounds.bound_curve import Ints
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.orojenesis_v2.families import Family, Row, families
from solver_mapper.bounds.fusion.orojenesis_v2.join import (
    closing_order,
    compatible,
    neighbours,
    tiled_together,
)
from solver_mapper.bounds.fusion.special import SpecialRanks
from solver_mapper.core.dominance import undominated_rows
from solver_mapper.deadline import check_time


@dataclass(frozen=True)
class Pick:
    """One point: for each Einsum its family and the mapping in it."""

    buffer: int
    accesses: int
    chosen: tuple[tuple[Family, Row], ...]


State = tuple[tuple[int, ...], tuple[frozenset[int], ...]]
"""Numbers of the live families; components as sets of live Einsums."""


@dataclass
class _Points:
    """Rows of (accesses, largest closed footprint, footprints of the components in order), and
    where each came from: the code of the point before, the number of the family, the point in it.
    """

    rows: Ints
    origins: Ints

    def with_more(self, rows: Ints, origins: Ints) -> _Points:
        rows, origins = np.concatenate([self.rows, rows]), np.concatenate([self.origins, origins])
        kept = undominated_rows(rows, poll=check_time)
        return _Points(rows[kept], origins[kept])


class V2:
    """The v2 search of a net. `fusable`: intermediates that may stay on chip; `must`: those that
    have to. `uneven`,
    `uneven_tensors`: see `FusionOptions`.
    """

    def __init__(
        self,
        net: DataflowGraph,
        fusable: Collection[str],
        must: Collection[str],
        rule: SpecialRanks,
        uneven: bool = False,
        uneven_tensors: bool = False,
    ):
        self.net, self.rule, self.uneven, self.fusable = net, rule, uneven, frozenset(fusable)
        every = (
            families(net, i, fusable, rule, uneven, uneven_tensors)
            for i in range(len(net.problems))
        )
        self.families = [
            [family for family in each if family.fused >= self._forced(i, must)]
            for i, each in enumerate(every)
        ]
        self.numbered = [family for each in self.families for family in each]
        self._numbers = {id(family): number for number, family in enumerate(self.numbered)}
        self.order = closing_order(net, self.fusable)
        self.history: list[tuple[int, int, int]] = []
        self._pairs: dict[tuple[int, int], tuple[bool, bool]] = {}
        self._views: dict[tuple[int, frozenset[int]], tuple[int, bool] | None] = {}
        self._alike: dict[tuple[int, frozenset[int], tuple[tuple[bool, bool], ...]], int] = {}

    def _forced(self, einsum: int, must: Collection[str]) -> frozenset[str]:
        return frozenset(must) & frozenset(self.net.problems[einsum].tensor_names)

    def picks(self) -> tuple[Pick, ...]:
        """The bound curve with a mapping of each Einsum for every point."""
        states: dict[State, tuple[Ints, Ints]] = {
            ((), ()): (np.zeros((1, 2), dtype=self.net.dtype), np.array([-1]))
        }
        for step, i in enumerate(self.order):
            grown: dict[State, _Points] = {}
            for state, (rows, codes) in states.items():
                for after, more, origins in self._grown(
                    i, frozenset(self.order[step + 1 :]), state, rows, codes
                ):
                    check_time()
                    known = grown.get(after, _Points(more[:0], origins[:0]))
                    grown[after] = known.with_more(more, origins)
            states = {
                state: (points.rows, self._remembered(points.origins))
                for state, points in grown.items()
            }
        rows, codes = states.get(
            ((), ()), (np.zeros((0, 2), dtype=self.net.dtype), np.zeros(0, dtype=np.int64))
        )
        order = np.argsort(rows[:, 1], kind="stable")
        return tuple(
            Pick(int(rows[at, 1]), int(rows[at, 0]), self._chosen(int(codes[at]))) for at in order
        )

    def _remembered(self, origins: Ints) -> Ints:
        first = len(self.history)
        self.history += [(int(code), int(number), int(at)) for code, number, at in origins]
        return np.arange(first, len(self.history), dtype=np.int64)

    def _grown(
        self, i: int, later: frozenset[int], state: State, rows: Ints, codes: Ints
    ) -> Iterator[tuple[State, Ints, Ints]]:
        """A state with Einsum `i` in each of its families. `later`: the Einsums still to come."""
        live, components = state
        near = [
            self.numbered[number]
            for number in live
            if self._neighbours(self.numbered[number].einsum, i)
        ]
        for family in self.families[i]:
            number = self._numbers[id(family)]
            if not all(self._pair(number, self._numbers[id(other)])[0] for other in near):
                continue
            tied = {
                other.einsum for other in near if self._pair(number, self._numbers[id(other)])[1]
            }
            merged = [at for at, component in enumerate(components) if component & tied]
            kept = [at for at in range(len(components)) if at not in merged]
            mine = frozenset([i]).union(*(components[at] for at in merged))
            buffers = np.array([point.buffer for point in family.points], dtype=self.net.dtype)
            moved = (
                np.array([point.accesses for point in family.points], dtype=self.net.dtype)
                * self.net.repeats[i]
            )
            total = (rows[:, [2 + at for at in merged]].sum(axis=1)[:, None] + buffers).ravel()
            more = np.column_stack(
                [
                    (rows[:, 0][:, None] + moved).ravel(),
                    np.repeat(rows[:, 1], len(buffers)),
                    *(np.repeat(rows[:, 2 + at], len(buffers)) for at in kept),
                    total,
                ]
            )
            origins = np.column_stack(
                [
                    np.repeat(codes, len(buffers)),
                    np.full(len(more), number),
                    np.tile(np.arange(len(buffers)), len(codes)),
                ]
            )
            after, more = self._closed(
                later, (*live, number), [*(components[at] for at in kept), mine], more
            )
            yield after, more, origins

    def _closed(
        self,
        later: frozenset[int],
        live: tuple[int, ...],
        components: list[frozenset[int]],
        rows: Ints,
    ) -> tuple[State, Ints]:
        """Forget Einsums that share nothing with a later one, and close components that no later
        one can join.
        """
        views = [view for number in live if (view := self._view(number, later)) is not None]
        alive = tuple(number for number, _ in views)
        names = frozenset(self.numbered[number].einsum for number, joins in views if joins)
        done = [at for at, component in enumerate(components) if not component & names]
        open_ = [at for at in range(len(components)) if at not in done]
        order = sorted(open_, key=lambda at: min(components[at] & names))
        closed = rows[:, [1, *(2 + at for at in done)]].max(axis=1)
        rows = np.column_stack([rows[:, 0], closed, *(rows[:, 2 + at] for at in order)])
        return (alive, tuple(components[at] & names for at in order)), rows

    def _view(self, number: int, later: frozenset[int]) -> tuple[int, bool] | None:
        """The first family that those of the Einsums in `later` treat as they treat this one, and
        whether one of them can be tiled-fused with it; None if it shares nothing with them.
        """
        einsum = self.numbered[number].einsum
        near = frozenset(other for other in later if self._neighbours(einsum, other))
        if (number, near) not in self._views:
            seen = tuple(
                self._pair(number, self._numbers[id(family)])
                for other in sorted(near)
                for family in self.families[other]
            )
            first = self._alike.setdefault((einsum, near, seen), number)
            self._views[number, near] = (first, any(tied for _, tied in seen)) if near else None
        return self._views[number, near]

    def _neighbours(self, one: int, other: int) -> bool:
        """Whether two Einsums are ever compared."""
        return neighbours(self.net, self.fusable, one, other)

    def _pair(self, one: int, other: int) -> tuple[bool, bool]:
        """Whether two families are compatible, and whether they are tiled-fused."""
        key = min(one, other), max(one, other)
        if key not in self._pairs:
            a, b = self.numbered[key[0]], self.numbered[key[1]]
            self._pairs[key] = (
                compatible(self.net, a, b, self.rule, self.uneven),
                tiled_together(self.net, a, b, self.rule),
            )
        return self._pairs[key]

    def _chosen(self, code: int) -> tuple[tuple[Family, Row], ...]:
        chosen: list[tuple[Family, Row]] = []
        while code >= 0:
            code, number, at = self.history[code]
            chosen.append((self.numbered[number], self.numbered[number].points[at]))
        return tuple(reversed(chosen))
