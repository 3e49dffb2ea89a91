"""The least words of a tensor that cross from one level to another, over all mappings of a box."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from solver_mapper.verify.boxes import Box, BoxSpace
from solver_mapper.verify.loop_tables import Access
from solver_mapper.verify.window_reuse import Reuse, Slide

Form = tuple[int, tuple[int, ...]]
"""A level and levels with spatial loops: see `Flow`."""


class Words(NamedTuple):
    """Least words over all instances that one case allows: sent, delivered; each as bounded by the
    tile into which they go (`near`), and at best; `repeats`: the least rounds of unspared loops, as
    a fraction of the products of all extents.
    """

    sent: int
    delivered: int
    near_sent: int
    near_delivered: int
    largest: int
    end: int


class Flow(NamedTuple):
    """Least words of a tensor between two levels, over all instances: sent by the outer one
    (`reread`: partial sums read again), delivered to the inner one (`refilled`: partial sums that
    come back). `first`: partial sums that are not read before they are written, at most, at the
    outer and the inner level. `forms`: level and spread of the term that both are, if they are one.
    """

    sent: int
    reread: int
    delivered: int
    refilled: int
    first: tuple[int, int]
    forms: tuple[tuple[int, tuple[int, ...]] | None, tuple[int, tuple[int, ...]] | None]


class Flows(Reuse):
    """Flows in one box, each worked out once."""

    def __init__(self, space: BoxSpace, box: Box):
        super().__init__(space, box)
        self._flows: dict[tuple[int, int, int], Flow] = {}

    def flow(self, tensor: int, outer: int, inner: int) -> Flow:
        """For two levels that store a tensor next to each other; `inner` is the number of levels
        for the compute units.
        """
        key = (tensor, outer, inner)
        if key not in self._flows:
            self._flows[key] = self._flow(*key)
        return self._flows[key]

    def _flow(self, tensor: int, outer: int, inner: int) -> Flow:
        access = self.space.tensors[tensor]
        cases = list(self._cases(access, outer, inner))
        sent, delivered = min(each.sent for each in cases), min(each.delivered for each in cases)
        between = tuple(
            level for level in range(outer, inner) if self.space.spatial[level] is not None
        )
        forms = (
            self._form(cases, "sent", (sent, access.words), inner, between),
            self._form(cases, "delivered", (delivered, access.words), inner, ()),
        )
        if not access.written or not access.plain:
            return Flow(sent, 0, delivered, 0 if access.written else delivered, (0, 0), forms)
        first_sent = access.words * prod(self.spread(level, access.free) for level in range(outer))
        first_delivered = first_sent * prod(
            self.spread(level, access.free) for level in range(outer, inner)
        )
        # Of q rounds the first reads nothing; extents, spatial loops and spared loops leave at
        # least size / most of them.
        size = prod(self.space.sizes[dim] for dim in access.free)
        most = max(each.largest for each in cases) * first_delivered // access.words
        rounds = max(0, size - most)
        reread = max(0, sent - first_sent, sent * rounds // size)
        refilled = max(0, delivered - first_delivered, delivered * rounds // size)
        return Flow(sent, reread, delivered, refilled, (first_sent, first_delivered), forms)

    def _form(
        self,
        cases: list[Words],
        side: str,
        least: tuple[int, int],
        inner: int,
        between: tuple[int, ...],
    ) -> Form | None:
        """What the bound is a constant over; None where it is not of that form. `least`: the bound,
        and the different words, a bound that depends on nothing.
        """
        (value, words), near = least, min(getattr(each, f"near_{side}") for each in cases)
        if near == value:
            return inner, between
        if len(cases) == 1 and cases[0].end < inner and 0 <= near < value and value > words:
            return cases[0].end, tuple(level for level in between if level < cases[0].end)
        return None

    def _cases(self, access: Access, outer: int, inner: int) -> Iterator[Words]:
        """One of these bounds holds, whatever the order of loops."""
        space, forgets = (
            self.space,
            inner == self.space.levels or self.space.off("no_temporal_reuse", inner, access.name),
        )
        neighbours = space.spatial[inner - 1] is not None and not space.off(
            "no_link_transfer", inner - 1, access.name
        )
        if forgets and not neighbours:
            yield self._words(access, outer, inner, 1, inner, None, False)
            return
        spared, end, slides = self._run(access, inner)
        yield self._words(
            access, outer, inner, spared, end, None, forgets and self._linked(access, inner, None)
        )
        for slide in slides:
            yield self._words(
                access,
                outer,
                inner,
                1,
                inner,
                slide,
                neighbours and self._linked(access, inner, slide),
            )
        if not access.plain and any(
            self._returns(access, inner, slide) for slide in (None, *slides)
        ):
            whole = prod(self.space.sizes[dim] for dim in access.free)
            yield Words(access.words, access.words, -1, -1, whole, inner)

    def _words(
        self,
        access: Access,
        outer: int,
        inner: int,
        spared: int,
        end: int,
        slide: Slide | None,
        linked: bool,
    ) -> Words:
        space, free, macs = self.space, access.free, self.space.problem.macs
        words, points = self._tile(access, inner, slide)
        multicast = [
            1 if space.off("no_multicast", level, access.name) else self.spread(level, free)
            for level in range(outer, inner)
        ]
        many, few = self._sharing(access, outer, inner)
        largest = self.largest(free, inner) * spared
        near_delivered = delivered = macs * words // (points * largest)
        near_sent = sent = macs * words * few // (points * largest * prod(multicast) * many)
        if (
            end < inner
        ):  # the spared loops are part of the tile of level `end`, whose extents are bounded too
            around = self.largest(free, end)
            slots = [slot for slot in space.spatial[end:inner] if slot is not None]
            within = prod(self.bounds[dim][slot][0] for slot in slots for dim in free)
            delivered = max(delivered, macs * words * within // (points * around))
            sent = max(
                sent,
                macs
                * words
                * few
                // (points * around * prod(multicast[: max(0, end - outer)]) * many),
            )
            largest = min(largest, around)
        if linked:
            group = self._group(access, inner - 1)
            sent, delivered = sent // group, delivered // group
            near_sent = near_delivered = -1
        loss = (
            linked or (many > few and outer < inner - 1),
            linked,
        )  # words rounded away, at most one an instance
        sent = max(access.words, sent) - loss[0] * space.architecture.levels[outer].instances
        delivered = (
            max(access.words, delivered)
            - loss[1] * space.architecture.levels[min(inner, space.levels - 1)].instances
        )
        return Words(max(0, sent), max(0, delivered), near_sent, near_delivered, largest, end)
