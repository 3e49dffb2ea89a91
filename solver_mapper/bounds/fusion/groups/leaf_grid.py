"""The choices of one Einsum below a trunk, as arrays over the trips of every rank of the trunk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from solver_mapper.bounds.axes import TileAxis, smallest_suffices
from solver_mapper.bounds.bound_curve import Ints
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.candidates import FusionGroup
from solver_mapper.bounds.fusion.groups.leaf import inner_nest
from solver_mapper.bounds.fusion.groups.links import SharedRank
from solver_mapper.bounds.fusion.groups.trunk import (
    Trunk,
    TrunkLoop,
    bundled,
    cut,
    leading,
    parts_of,
)
from solver_mapper.bounds.search import array_of, moved_words, product_of, words_of
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Tensor
from solver_mapper.cost.snowcat.reuse_classes import ReuseClass, reuse_classes

Skeleton = tuple[tuple[int, ...], ...]
"""Segments of trunk axes, outermost first; storage can stand above each segment."""


@dataclass(frozen=True)
class RankCut:
    """One axis of the grid: the ways to cut a bundle of ranks, from not at all to completely."""

    ranks: tuple[SharedRank, ...]
    parts: tuple[tuple[int, ...], ...]

    def drives(self, einsum: int, tensor: Tensor) -> bool:
        """Does cutting change the tile of `tensor` in an Einsum?"""
        return any(rank.variables.get(einsum) in tensor.dims for rank in self.ranks)


class TrunkGrid:
    """The grid of a group's trunks: `head` loops that are always there, then one axis for each of
    `cuts`.

    `above`: a rank of one member whose loop may stand above all axes; it is then the last axis and
             outermost in every skeleton.
    """

    def __init__(self, net: DataflowGraph, group: FusionGroup, above: SharedRank | None):
        self.net, self.group, self.above = net, group, above
        first, rest = leading(net, group)
        self.head: Trunk = tuple(TrunkLoop((rank,), (rank.bound,)) for rank in first)
        bundles = bundled(net, group, rest) if rest else []
        self.cuts = tuple(
            RankCut(tuple(bundle), tuple(parts_of(bundle)))
            for bundle in [*bundles, *([[above]] if above else [])]
        )
        self.bounds = {i: cut(net.problems[i].bounds, self.head, i) for i in group.members}

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of ways to cut each bundle of ranks: the grid's extent along each axis."""
        return tuple(len(each.parts) for each in self.cuts)

    @cached_property
    def trips(self) -> tuple[Ints, ...]:
        """Trips of each axis."""
        return tuple(
            product_of(list(self._parts[number].values())) for number in range(len(self.cuts))
        )

    @cached_property
    def _parts(self) -> tuple[dict[int, Ints], ...]:
        """Per axis and rank of its bundle: the parts it is cut into."""
        return tuple(
            {
                position: self.vector([parts[position] for parts in each.parts], number)
                for position in range(len(each.ranks))
            }
            for number, each in enumerate(self.cuts)
        )

    def vector(self, values: Sequence[int], axis: int, extra: int = 0) -> Ints:
        """`values` along one axis of the grid, which has `extra` more axes than cuts."""
        shape = [1] * (len(self.cuts) + extra)
        shape[axis] = len(values)
        return np.array(values, dtype=self.net.dtype).reshape(shape)

    def inside(self, einsum: int, axes: Sequence[int]) -> dict[str, Ints]:
        """Bounds of an Einsum inside the loops of `axes` (and the head)."""
        bounds = {
            dim: np.asarray(bound, dtype=self.net.dtype)
            for dim, bound in self.bounds[einsum].items()
        }
        for axis in axes:
            for position, rank in enumerate(self.cuts[axis].ranks):
                if einsum in rank.variables:
                    variable = rank.variables[einsum]
                    bounds[variable] = bounds[variable] // self._parts[axis][position]
        return bounds

    def distinct(self, einsum: int, tensor: Tensor, axes: Sequence[int]) -> Ints:
        """Different tiles of `tensor` that the loops of `axes` pass through."""
        return product_of(
            [
                self._parts[axis][position]
                for axis in axes
                for position, rank in enumerate(self.cuts[axis].ranks)
                if rank.variables.get(einsum) in tensor.dims
            ]
        )

    def repeats(self, einsum: int) -> int:
        """Runs of an Einsum times iterations of the head, which no tensor is reused across."""
        total = self.net.repeats[einsum]
        for loop in self.head:
            total *= loop.trips
        return total

    def loops(self, skeleton: Skeleton, position: Sequence[int]) -> tuple[Trunk, list[int]]:
        """The trunk at one position of the grid, and at which of its loops each segment begins."""
        trunk, begins = list(self.head), []
        for segment in skeleton:
            begins.append(len(trunk))
            for axis in segment:
                parts = self.cuts[axis].parts[position[axis]]
                if max(parts) > 1:
                    trunk.append(TrunkLoop(self.cuts[axis].ranks, parts))
        return tuple(trunk), begins


@dataclass(frozen=True)
class MemberOption:
    """One way to run a member, for all trips: `resident[tensor]` is the segment above which a
    tensor is stored (their number: below all of them, for this member's run only); the tensors in
    `flowing` stream in loop orders of `kind`, with the tile sizes `tiles[dim]` along axes of their
    own. The arrays have the axes of the space, then those of `tiles`; `legal` says where tiles
    divide and residence is of use.
    """

    resident: Mapping[str, int]
    flowing: tuple[str, ...]
    kind: ReuseClass | None
    tiles: Mapping[str, tuple[int, ...]]
    additive: Ints
    own: Ints
    accesses: Ints
    legal: Ints


class LeafGrid:
    """One member. Tensors in `held` are on chip by other means; `uneven`, see `Leaves`."""

    def __init__(self, space: TrunkGrid, einsum: int, held: frozenset[str], uneven: bool):
        self.space, self.einsum, self.uneven = space, einsum, uneven
        self.tensors = tuple(
            tensor for tensor in space.net.problems[einsum].tensors if tensor.name not in held
        )

    def options(self, skeleton: Skeleton) -> Iterator[MemberOption]:
        """Every way to run the member below `skeleton`: each choice of stored tensors with each
        reuse class of the others.
        """
        choices = [(None, *self._positions(tensor, skeleton)) for tensor in self.tensors]
        for chosen in product(*choices):
            kept = {
                tensor.name: at
                for tensor, at in zip(self.tensors, chosen, strict=True)
                if at is not None
            }
            flowing = tuple(tensor for tensor in self.tensors if tensor.name not in kept)
            for kind in self._kinds(flowing):
                yield self._option(skeleton, kept, flowing, kind)

    def count(self, skeleton: Skeleton) -> int:
        """How many options there are, about: residences times the loop orders of the nest in which
        everything streams.
        """
        ways = math.prod(
            1 + len(list(self._positions(tensor, skeleton))) for tensor in self.tensors
        )
        return ways * len(self._kinds(self.tensors))

    @cached_property
    def largest(self) -> int:
        """The most tiles that one option has for each position of the trunk's grid."""
        return max(
            math.prod(
                len(sizes) for sizes in (self._tiles(self.tensors, kind) if kind else {}).values()
            )
            for kind in self._kinds(self.tensors)
        )

    def _positions(self, tensor: Tensor, skeleton: Skeleton) -> Iterator[int]:
        """Segments that iterate over something the tensor does not have, right below something that
        it has (or outermost).
        """
        if self.uneven:
            yield len(skeleton)
        if tensor.name in self.space.group.common:
            return
        for at, segment in enumerate(skeleton):
            idle = not all(self._drives(axis, tensor) for axis in segment)
            if idle and (at == 0 or any(self._drives(axis, tensor) for axis in skeleton[at - 1])):
                yield at

    def _drives(self, axis: int, tensor: Tensor) -> bool:
        return self.space.cuts[axis].drives(self.einsum, tensor)

    def _kinds(self, flowing: tuple[Tensor, ...]) -> tuple[ReuseClass | None, ...]:
        return reuse_classes(self._nest_dims(flowing), flowing) if flowing else (None,)

    def _nest_dims(self, flowing: tuple[Tensor, ...]) -> tuple[str, ...]:
        return inner_nest(self.space.net.problems[self.einsum], (), self.einsum, flowing).dims

    def _option(
        self,
        skeleton: Skeleton,
        kept: Mapping[str, int],
        flowing: tuple[Tensor, ...],
        kind: ReuseClass | None,
    ) -> MemberOption:
        tiles = self._tiles(flowing, kind) if kind else {}
        pad = (1,) * len(tiles)
        zero = np.zeros((1,) * len(self.space.cuts) + pad, dtype=self.space.net.dtype)
        additive, own, accesses, legal = zero, zero, zero, zero == 0
        for tensor in (tensor for tensor in self.tensors if tensor.name in kept):
            counts = self._residence(skeleton, tensor, kept[tensor.name])
            words, moved, useful = (each.reshape(each.shape + pad) for each in counts)
            lasting = kept[tensor.name] < len(skeleton)
            additive, own = (additive + words, own) if lasting else (additive, own + words)
            accesses, legal = accesses + moved, legal & (useful if lasting else zero == 0)
        if kind:
            tile, moved, divides = self._stream(flowing, kind, tiles)
            own, accesses, legal = own + tile, accesses + moved, legal & divides
        names = tuple(tensor.name for tensor in flowing)
        return MemberOption(
            kept,
            names,
            kind,
            tiles,
            additive,
            own,
            accesses * self.space.repeats(self.einsum),
            legal,
        )

    def _residence(self, skeleton: Skeleton, tensor: Tensor, at: int) -> tuple[Ints, Ints, Ints]:
        outer = [axis for segment in skeleton[:at] for axis in segment]
        below = [
            axis for segment in skeleton[at:] for axis in segment if not self._drives(axis, tensor)
        ]
        words = self._full(
            self.space.net.weights[tensor.name]
            * words_of(tensor, self.space.inside(self.einsum, outer))
        )
        visits = product_of([self.space.trips[axis] for axis in outer])
        if tensor.read_write:
            visits = 2 * visits - self.space.distinct(self.einsum, tensor, outer)
        return (
            words,
            self._full(words * visits),
            self._full(product_of([self.space.trips[axis] for axis in below])) > 1,
        )

    def _full(self, values: Ints) -> Ints:
        """With one axis for each cut, however few the values depend on."""
        values = array_of(values)
        return (
            values.reshape((1,) * (len(self.space.cuts) - values.ndim) + values.shape)
            if not values.ndim
            else values
        )

    def _tiles(self, flowing: tuple[Tensor, ...], kind: ReuseClass) -> dict[str, tuple[int, ...]]:
        tiles = {}
        for dim in self._nest_dims(flowing):
            bound = self.space.bounds[self.einsum][dim]
            if not smallest_suffices(TileAxis((dim,), bound, (), ()), kind, flowing):
                tiles[dim] = divisors(bound)
        return tiles

    def _stream(
        self, flowing: tuple[Tensor, ...], kind: ReuseClass, tiles: Mapping[str, tuple[int, ...]]
    ) -> tuple[Ints, Ints, Ints]:
        """Space, traffic and legality of the streamed nest; the traffic of all iterations of the
        axes (see `streaming` in `leaf.py`).
        """
        count, extra = len(self.space.cuts), len(tiles)
        axes = range(count)
        dims = self._nest_dims(flowing)
        inside = {
            dim: bound.reshape(bound.shape + (1,) * extra) if bound.ndim else bound
            for dim, bound in self.space.inside(self.einsum, axes).items()
        }
        one = np.ones((1,) * (count + extra), dtype=self.space.net.dtype)
        tile = dict.fromkeys(dims, one)
        for number, (dim, sizes) in enumerate(tiles.items()):
            tile[dim] = self.space.vector(sizes, count + number, extra)
        legal = one > 0
        for dim in tiles:
            legal = legal & (inside[dim] % tile[dim] == 0)
        steps = {dim: inside[dim] // tile[dim] for dim in dims}
        trips = product_of([each.reshape(each.shape + (1,) * extra) for each in self.space.trips])
        own, moved = 0 * one, 0 * one
        for number, tensor in enumerate(flowing):
            weight = self.space.net.weights[tensor.name]
            own = own + weight * words_of(tensor, tile)
            moved = moved + weight * trips * moved_words(tensor, kind, number, tile, steps)
            if tensor.read_write:
                fresh = self.space.distinct(self.einsum, tensor, axes)
                again = trips - (fresh.reshape(fresh.shape + (1,) * extra) if fresh.ndim else fresh)
                once = words_of(tensor, tile) * product_of(
                    [steps[dim] for dim in dims if dim in tensor.dims]
                )
                moved = moved + weight * again * once
        return own, moved, legal
