"""The least words of a tensor that cross into a level, for many cells at once.

A tile is fetched whole whenever it moves to another position; it stays while loops that do not
index the tensor run innermost. In rounds where the loops that do index it run once only (a last
round of one iteration), it may stay longer: the factors `lone` take these rounds off, as far as no
other loop is sure to move the tile in them.

Where windows slide, a level can keep at most the tile that it holds last. If the innermost loop
moves a window, each of its iterations brings at least what that move uncovers. If it moves the
tensor otherwise, or not at all, each move of the tile costs a whole tile, unless the window goes
back where it was. Apart from that, each run of the loops of the level outside fetches at least the
distinct words of the run less the tiles held before.

Neighbours pass words on to instances whose windows move where theirs were. In each step at least
one instance of those that stand side by side has no such neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from solver_mapper.solve.imperfect.chains import ChainTable, Floats
from solver_mapper.solve.imperfect.shapes import Nodes, Plan, TensorShape
from solver_mapper.verify.imperfect import ImperfectMapspace

NOISE = 1e-10
"""More than the relative rounding error of a bound in double precision."""

Rank = tuple[tuple[int, int], ...]
"""Dimensions of a rank, with their absolute coefficients."""


Known = dict[tuple[object, ...], Any]
"""What has been worked out for some cells; where it depends on their plan, so do the keys."""
Made = TypeVar("Made")


class Cells:
    """Features of some cells under a plan, each looked up once, and words that cross into levels.
    Plans of the same cells share what is `known`.

    `top` and `inner` are levels: words that all instances of `inner` take in, or that all of `top`
    send for them. `inner` may be the compute units.
    """

    def __init__(
        self,
        space: ImperfectMapspace,
        tables: Sequence[ChainTable],
        shapes: Sequence[TensorShape],
        off: Mapping[str, Sequence[Sequence[bool]]],
        plan: Plan,
        nodes: Nodes,
        known: Known,
    ):
        self.space, self.tables, self.shapes, self.off = space, tables, shapes, off
        self.plan, self.nodes, self.depth = plan, nodes, space.depth
        self.size: tuple[int, ...] = (len(nodes),)
        self.every = tuple(range(len(tables)))
        self._known = known

    def once(self, *key: object, make: Callable[[], Made]) -> Made:
        """What `make` returns for a key, made at the first call."""
        found: Made | None = self._known.get(key)
        if found is None:
            found = self._known[key] = make()
        return found

    def outside(self, inner: int) -> tuple[object, ...]:
        """What words that enter `inner` depend on of the plan."""
        return self.plan.stores, self.plan.innermost[:inner]

    def low(self, dim: int, *names: str) -> Floats:
        """The least product of features of a dimension."""
        return self.product((dim,), *names)

    def high(self, dim: int, *names: str) -> Floats:
        """The greatest product of features of a dimension."""
        return self.most((dim,), *names)

    def product(self, dims: Sequence[int], *names: str) -> Floats:
        """The product of the least values over dimensions."""
        key = ("low", tuple(dims), names)
        found: Floats | None = self._known.get(key)
        if found is None:
            columns = [self._of(dim, self.tables[dim].least(*names)) for dim in dims]
            found = self._known[key] = self._multiplied(columns)
        return found

    def most(self, dims: Sequence[int], *names: str) -> Floats:
        """The product of the greatest values over dimensions."""
        key = ("high", tuple(dims), names)
        found: Floats | None = self._known.get(key)
        if found is None:
            columns = [self._of(dim, self.tables[dim].greatest(*names)) for dim in dims]
            found = self._known[key] = self._multiplied(columns)
        return found

    def _of(self, dim: int, values: Floats) -> Floats:
        """The values of the nodes of a dimension, one for each cell."""
        return values[self.nodes[:, dim]]

    def _multiplied(self, columns: Sequence[Floats]) -> Floats:
        """The product of factors."""
        if not columns:
            return np.ones(self.size)
        total = columns[0]
        for column in columns[1:]:
            total = total * column
        return total

    def flow(self, number: int, outer: int, inner: int) -> tuple[Floats, Floats]:
        """Words of a tensor that all instances of `outer` send, and that all instances of `inner`
        take in, at least.
        """
        shape, parent = self.shapes[number], inner - 1
        if shape.entangled:
            whole = np.full(self.size, float(self._whole(shape)))
            for level in range(outer, parent):
                if not self.off["no_multicast"][number][level]:
                    whole = whole / self.most(self.every, f"spread{level}")
            return whole, np.full(self.size, float(self._whole(shape)))
        uncast = [
            level for level in range(outer, parent) if self.off["no_multicast"][number][level]
        ]
        copies = [f"outer{outer}", *(f"spread{level}" for level in uncast)]
        each = [f"outer{parent}", f"fewest{inner}"]
        if self.off["no_multicast"][number][parent]:
            copies.append(f"fewest{inner}")
        sent = self._words(number, inner, parent, outer, copies)
        arrived = np.maximum(
            self._words(number, inner, parent, parent, each), self._from_neighbours(number, inner)
        )
        if shape.windows:
            merged = np.ones(self.size)
            for level in range(outer, parent):
                if level not in uncast:
                    merged = merged * self._merged(shape, level)
            copies = copies[: 1 + len(uncast)]
            sent = np.maximum(sent, self._distinct_words(shape, parent, copies) * merged)
            outside = [f"outer{parent}"]
            arrived = np.maximum(arrived, self._distinct_words(shape, parent, outside))
        return sent, arrived

    def _words(
        self, number: int, inner: int, parent: int, top: int, copies: Sequence[str]
    ) -> Floats:
        """Words sent to `inner`, counted at `top`. `copies`: features of dimensions that do not
        index the tensor by which its words multiply.
        """
        shape = self.shapes[number]
        keeps = inner < self.depth and not self.off["no_temporal_reuse"][number][inner]
        links = not self.off["no_link_transfer"][number][parent]
        words = self._plain(shape, inner, parent)
        if not shape.windows:
            return words * self._fetches(shape, inner, top, copies, keeps, links)
        if not keeps:
            near = self._spread(parent, self.every) & links
            fetches = self._fetches(shape, inner, top, copies, keeps, links)
            if links:  # a window that is back where it was comes from a neighbour
                helped = self._spread(parent, shape.free)
                fetches = fetches * np.where(helped, self._unless_back(shape, inner), 1)
            return words * fetches * self._boxes(shape, inner, parent, top, near)
        return words * self._slides(shape, inner, parent, top, copies, links)

    def _plain(self, shape: TensorShape, inner: int, parent: int) -> Floats:
        """Words of the tiles of all instances in use, summed over positions of the loops of single
        ranks.
        """
        outside = f"outer{parent}"
        dense = [dim for dim, coefficient in shape.single if coefficient == 1]
        words = self.product(dense, f"moved{inner}", outside)
        for dim, coefficient in shape.single:
            if coefficient > 1:
                points = self.low(dim, f"moved{inner}", outside)
                beyond = self.low(dim, f"beyond{inner}", outside)
                apart = self.low(dim, f"active{inner}", outside)
                words = words * np.maximum(points, apart + coefficient * beyond)
        return words

    def _fetches(
        self,
        shape: TensorShape,
        inner: int,
        top: int,
        copies: Sequence[str],
        keeps: bool,
        links: bool,
    ) -> Floats:
        """How often each tile is fetched, at least.

        Where tiles are not kept, neighbours may pass words on while the tensor is idle.
        """
        stays = self._rounds(shape, inner, top, copies)
        if keeps:
            return stays
        moves = self._visits(shape, inner, top, copies)
        if not links:
            return moves
        return np.where(self.most(shape.free, f"spread{inner - 1}") > 1, stays, moves)

    def _rounds(self, shape: TensorShape, inner: int, top: int, copies: Sequence[str]) -> Floats:
        """Rounds of the loops that do not index the tensor, less those during which its tile may
        stay. The first round of a tile without windows always fetches it; windows may slide then.
        """
        return self.once(
            *("rounds", shape.free, shape.ranks, inner, top, *copies, *self.outside(inner)),
            make=lambda: self._rounds_anew(shape, inner, top, copies),
        )

    def _rounds_anew(
        self, shape: TensorShape, inner: int, top: int, copies: Sequence[str]
    ) -> Floats:
        rounds = self._visits(shape, inner, top, copies)
        share = np.ones(self.size)
        running = np.ones(self.size, dtype=bool)
        for level in reversed(range(inner)):
            dims = self.plan.innermost[level]
            if dims is not None and not dims:
                continue
            share = np.where(running, share * self._changing(shape, level), share)
            if dims is not None and not dims <= set(shape.free):
                break
            rounds = np.where(running, self._visits(shape, level, top, copies), rounds)
            running = running & (self.product(shape.dims, f"temporal{level}") <= 1)
            if not running.any():
                break
        first = 0 if shape.windows else self.product(shape.free, *copies)
        return rounds * share + first * (1 - share)

    def _changing(self, shape: TensorShape, level: int) -> Floats:
        """At least the share of rounds of a level in which its loops move the tile: its innermost
        loop does, or, where that does not index the tensor, any other.
        """
        dims = self.plan.innermost[level]
        if not shape.dims:
            return np.ones(self.size)
        lone = {dim: self.low(dim, f"lone{level}") for dim in shape.dims}
        moving = [dim for dim in shape.dims if dims and dim in dims] or list(shape.dims)
        share: Floats = reduce(np.minimum, [lone[dim] for dim in moving])
        if dims is not None and dims <= set(shape.free):
            for dim in shape.dims:
                certain = self.low(dim, f"temporal{level}") > 1
                share = np.where(certain, np.maximum(share, lone[dim]), share)
        return share

    def _visits(self, shape: TensorShape, place: int, top: int, copies: Sequence[str]) -> Floats:
        """Positions of the loops outside a place that do not index the tensor, times `copies`: at
        least those of each dimension, and the operations over what instances and tiles cover
        together.
        """

        def positions() -> Floats:
            covered = self._largest(shape.free, place)
            for level in range(top, place):
                covered = covered * self.together(level, shape.free)
            points = prod(self.tables[dim].size for dim in shape.free)
            return np.maximum(self.product(shape.free, f"visits{place}", *copies), points / covered)

        key = ("visits", shape.free, place, top, *copies, self.plan.stores)
        return self.once(*key, make=positions)

    def together(self, level: int, dims: Sequence[int]) -> Floats:
        """Instances that the spatial loops of a level over `dims` can spread over."""
        fanout = self.space.architecture.fanout(level)

        def instances() -> Floats:
            axes = [(axis, room) for axis, room in zip("XY", fanout, strict=True) if room > 1]
            return self._multiplied(
                [np.minimum(room, self.most(dims, f"{axis}{level}")) for axis, room in axes]
            )

        return self.once("together", level, tuple(dims), make=instances)

    def _spread(self, level: int, dims: Sequence[int]) -> NDArray[np.bool_]:
        """Whether spatial loops of a level can be over `dims`."""
        spread: NDArray[np.bool_] = self.most(dims, f"spread{level}") > 1
        return spread

    def _slides(
        self,
        shape: TensorShape,
        inner: int,
        parent: int,
        top: int,
        copies: Sequence[str],
        links: bool,
    ) -> Floats:
        """The factor of windows and of dimensions that do not index the tensor, where a level keeps
        its tile.
        """
        level = self._innermost(inner)
        if level is None:
            return np.zeros(self.size)
        dims = self.plan.innermost[level] or frozenset()
        near = self._spread(parent, shape.sliding) & links
        rank = next((each for each in shape.windows if dims & {dim for dim, _ in each}), None)
        if rank is not None:
            (dim,) = dims
            moved = self._moved(shape, rank, dim, level, inner, parent, top, near)
            return self._visits(shape, inner, top, copies) * moved
        rounds = self._rounds(shape, inner, top, copies)
        if dims & set(shape.free):
            rounds = rounds * self.product(sorted(dims), f"lone{level}")
            rounds = rounds * self._unless_back(shape, inner)
        else:
            near = np.zeros(self.size, dtype=bool)
        return rounds * self._boxes(shape, inner, parent, top, near)

    def _innermost(self, inner: int) -> int | None:
        """The level with the innermost temporal loop outside `inner`; None where that is undecided
        or there is no loop.
        """
        for level in reversed(range(inner)):
            dims = self.plan.innermost[level]
            if dims is None:
                return None
            if dims:
                return level
        return None

    def _unless_back(self, shape: TensorShape, inner: int) -> Floats:
        """The share of moves after which a window is not where it was: all, where only one
        dimension of a rank moves it; else those of the innermost loop, where that does not run
        once.
        """
        share = np.ones(self.size)
        for rank in shape.windows:
            moving = np.zeros(self.size)
            sometimes = np.ones(self.size)
            for dim, _ in rank:
                moving = moving + (self.high(dim, f"visits{inner}") > 1)
                for level in range(inner):
                    sometimes = sometimes * self.low(dim, f"lone{level}")
            share = np.where(moving > 1, share * sometimes / 2, share)
        return share

    def _boxes(
        self,
        shape: TensorShape,
        inner: int,
        parent: int,
        top: int,
        near: NDArray[np.bool_],
        ranks: Sequence[Rank] | None = None,
    ) -> Floats:
        """Words of whole tiles along windows, summed over positions and over the instances that
        need different ones; of one instance only where it has `near` ones that pass words on.
        """
        words = np.ones(self.size)
        for rank in shape.windows if ranks is None else ranks:
            dims = [dim for dim, _ in rank]
            alone = self.product(dims, f"full{inner}", f"outer{top}")
            apart = [
                self.low(dim, f"spanned{inner}", f"outer{parent}")
                * self.product([d for d in dims if d != dim], f"full{inner}", f"outer{top}")
                for dim in dims
            ]
            alone = alone * self._even(dims, inner)
            served = np.where(near, alone, reduce(np.maximum, apart))
            words = words * served * self._span(rank, inner)
        return words

    def _even(self, dims: Sequence[int], inner: int) -> Floats:
        """At least the share of steps in which as many instances are in use along each dimension as
        before: in a last round of fewer, idle neighbours may hold what all others need.
        """
        share = np.ones(self.size)
        for dim in dims:
            spread = self.high(dim, f"spread{inner - 1}")
            uneven = (spread > 1) & (self.low(dim, f"fewest{inner}") < spread)
            share = np.where(uneven, share / 2, share)
        return share

    def _span(self, rank: Rank, place: int) -> Floats:
        """The least extent of a full tile along a rank."""

        def extent() -> Floats:
            fixed = 1.0 - sum(coefficient for _, coefficient in rank)
            span: Floats = reduce(
                np.add, [coefficient * self.low(dim, f"tile{place}") for dim, coefficient in rank]
            )
            return span + fixed

        return self.once("span", rank, place, make=extent)

    def _moved(
        self,
        shape: TensorShape,
        rank: Rank,
        dim: int,
        level: int,
        inner: int,
        parent: int,
        top: int,
        near: NDArray[np.bool_],
    ) -> Floats:
        """Words along windows where the innermost loop over `dim`, at `level`, moves a window along
        `rank`: what each move uncovers, and a whole tile where a run of it begins.
        """
        others = [each for each in shape.windows if each is not rank]
        far = np.zeros(self.size, dtype=bool)
        dims = [each for each, _ in rank]
        span = self._span(rank, inner)
        step = dict(rank)[dim] * self.low(dim, f"union{level}")
        new = np.minimum(span, step)
        rest = [each for each in dims if each != dim]
        moves = f"advances {inner} {level}"
        alone = self.low(dim, moves, f"outer{top}") * self.product(
            rest, f"full{inner}", f"outer{top}"
        )
        apart = [
            self.low(dim, moves, f"fewest{inner}", f"outer{parent}")
            * self.product(rest, f"full{inner}", f"outer{top}")
        ]
        apart += [
            self.low(one, f"spanned{inner}", f"outer{parent}")
            * self.low(dim, moves, f"outer{top}")
            * self.product([e for e in rest if e != one], f"full{inner}", f"outer{top}")
            for one in rest
        ]
        alone = alone * self._even(dims, inner)
        served = np.where(near & self._spread(parent, dims), alone, reduce(np.maximum, apart))
        steady = served * new * self._boxes(shape, inner, parent, top, far, others)
        begins = (span - new) * self.product(dims, f"outer{top}")
        begins = begins * self._boxes(shape, inner, parent, top, near, others)
        once: Floats = self.low(dim, f"lone{level}")
        total: Floats = steady + np.where(once == 1, begins, 0)
        return total

    def _from_neighbours(self, number: int, inner: int) -> Floats:
        """Words that the instances of `inner` below one instance of the level outside take in, from
        there and from each other.
        """
        shape = self.shapes[number]
        keeps = inner < self.depth and not self.off["no_temporal_reuse"][number][inner]
        if not shape.windows or not keeps:
            return np.zeros(self.size)
        copies = ["outer0", f"fewest{inner}"]
        return self._plain(shape, inner, 0) * self._slides(shape, inner, 0, 0, copies, False)

    def _merged(self, shape: TensorShape, level: int) -> Floats:
        """At least the share of instances below `level` that see different words along windows."""
        share = np.ones(self.size)
        for rank in shape.windows:
            bounds = [self.high(dim, f"spread{level}") for dim, _ in rank]
            share = share * reduce(np.maximum, bounds) / reduce(np.multiply, bounds)
        return share

    def _distinct_words(self, shape: TensorShape, parent: int, copies: Sequence[str]) -> Floats:
        """Words that all instances right outside a level send at least, since they are different:
        over the whole run, and in each run of their temporal loops.
        """
        again = self.product(shape.free, *copies)
        swept = self._swept(shape, parent) * self.product(shape.dims, f"outer{parent}")
        total: Floats = again * np.maximum(self._whole(shape), swept)
        return total

    def _swept(self, shape: TensorShape, parent: int) -> Floats:
        """Distinct words of each run of the temporal loops of `parent`, less the words that all
        instances below may hold before.
        """
        times = self.product(shape.free, f"visits{parent}")
        words = times
        for dim, _ in shape.single:
            words = words * self.low(dim, f"points{parent}")
            times = times * self.high(dim, f"visits{parent}")
        for dim in shape.sliding:
            words = words * self.low(dim, f"full{parent}")
            times = times * self.low(dim, f"full{parent}")
        for rank in shape.windows:
            words = words * self._distinct(rank, parent)
        return np.maximum(0, words - times * self._held_below(shape, parent))

    def _held_below(self, shape: TensorShape, parent: int) -> Floats:
        """Words that all instances below one of `parent` hold at once, at most."""
        words = np.ones(self.size)
        for rank in shape.ranks:
            span = np.ones(self.size)
            for dim, coefficient in rank:
                extent = self.high(dim, f"tile{parent + 1}", f"spread{parent}")
                span = span + coefficient * (extent - 1)
            words = words * span
        return words

    def _distinct(self, rank: Rank, place: int) -> Floats:
        """Different values of a rank in a full region, at least."""
        extents = [self.low(dim, f"tile{place}") for dim, _ in rank]
        if len(rank) == 2 and min(c for _, c in rank) == 1:
            span = 1.0 + sum(c * (extent - 1) for (_, c), extent in zip(rank, extents, strict=True))
            return np.minimum(extents[0] * extents[1], span)
        largest: Floats = reduce(np.maximum, extents)
        return largest

    def _whole(self, shape: TensorShape) -> int:
        """Different words of the tensor that some operation needs, at least."""
        bounds = [table.size for table in self.tables]
        total = 1
        counted: set[int] = set()
        for dim, _ in shape.single:
            total *= 1 if dim in counted else bounds[dim]
            counted.add(dim)
        for rank in shape.windows:
            total *= max([bounds[dim] for dim, _ in rank if dim not in counted], default=1)
            counted |= {dim for dim, _ in rank}
        return total

    def tile(self, shape: TensorShape, place: int) -> Floats:
        """Words of the smallest bounding box of a tile."""

        def words() -> Floats:
            return self._multiplied([self._span(rank, place) for rank in shape.ranks])

        return self.once("tile", shape.ranks, place, make=words)

    def partition(self, number: int, level: int) -> Floats:
        """Distinct words that all instances of a level ever see, at most: see `partitions`."""
        shape, outside = self.shapes[number], f"outer{level}"
        words = prod(
            1 + sum(c * (self.tables[dim].size - 1) for dim, c in rank) for rank in shape.ranks
        )
        total = np.full(self.size, float(words)) * self.most(shape.free, outside)
        if shape.entangled:
            return total * self.most(shape.dims, outside)
        for dim, _ in shape.single:
            total = total * self.high(dim, f"share{level}")
        for rank in shape.windows:
            dims = [dim for dim, _ in rank]
            total = total * reduce(
                np.maximum,
                [
                    self.high(one, f"share{level}")
                    * self.most([dim for dim in dims if dim != one], outside)
                    for one in dims
                ],
            )
        return total

    def fractions(self, number: int, inner: int) -> Floats:
        """1 where words per instance may be fractions, below uneven spatial loops or where
        neighbours pass words on; else 0.
        """
        uneven = np.full(self.size, bool(self.shapes[number].windows))
        for dim in self.every:
            spread = self.high(dim, f"spread{inner - 1}")
            uneven = uneven | ((spread > 1) & (self.low(dim, f"fewest{inner}") < spread))
        return uneven.astype(float)

    def _largest(self, dims: Sequence[int], place: int) -> Floats:
        """The largest product of the extents of `dims` in a tile: what a level stores must fit."""
        key = ("largest", tuple(dims), place, self.plan.stores)
        return self.once(*key, make=lambda: self._largest_anew(dims, place))

    def _largest_anew(self, dims: Sequence[int], place: int) -> Floats:
        best = self.most(dims, f"tile{place}")
        room = self.space.architecture.levels[place].capacity if place < self.depth else None
        if room is None:
            return best
        stored = [
            shape
            for shape, stores in zip(self.shapes, self.plan.stores, strict=True)
            if stores[place]
        ]
        tiles = [self.tile(shape, place) for shape in stored]
        taken = reduce(np.add, tiles) if tiles else np.zeros(self.size)
        for shape, tile in zip(stored, tiles, strict=True):
            left, counted = room - taken + tile, set[int]()
            for rank in shape.ranks:
                fitting = [dim for dim, _ in rank if dim in dims and dim not in counted]
                if fitting:
                    counted.add(fitting[0])
                else:
                    left = left / self._span(rank, place)
            if counted:
                rest = self.most([dim for dim in dims if dim not in counted], f"tile{place}")
                best = np.minimum(best, np.maximum(left, 1) * rest)
        return best
