"""What crosses the network below each level, tensor by tensor: multicasts, reductions and transfers
between neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from solver_mapper.core.mapping import LevelMapping
from solver_mapper.cost.timeloop.even_mesh import even_mesh
from solver_mapper.cost.timeloop.fetches import fetched_words, fetches
from solver_mapper.cost.timeloop.multicast_groups import (
    MulticastGroup,
    even_groups,
    multicast_groups,
)
from solver_mapper.cost.timeloop.projection import Box, Projection
from solver_mapper.cost.timeloop.shift_automaton import Flags, Stream, TimeLoop
from solver_mapper.cost.timeloop.spatial_elements import Elements, Grid, lay_out, links
from solver_mapper.cost.timeloop.tiles import Nest, PlacedLoop

Rational = Fraction | int
Memory = dict[tuple[object, ...], "Traffic"]
"""Traffic of one tensor below uneven loops, by all that it depends on."""
MOST_REMEMBERED = 20_000


class MulticastRecord(NamedTuple):
    """`words` sent by one instance of the level, each to `multicast` receivers; `scatter` such
    groups at a step.

    `double_hops` is twice the sum over all those words of the wire hops that each takes.
    """

    multicast: int
    scatter: int
    words: Rational
    double_hops: int


class Traffic(NamedTuple):
    """Words of one tensor between one instance of a level and the `fanout` instances of the next
    inner level below it.

    `words` leave the instance (or, for partial sums, enter it); `delivered` counts every copy that
    arrives below.
    """

    records: tuple[MulticastRecord, ...]
    link_transfers: int
    fanout: int
    words: Rational
    delivered: Rational


class Flow(NamedTuple):
    """`steps` steps at which `words` go to each of `groups`, while `linked` elements get theirs
    from neighbours.
    """

    words: int
    steps: int
    groups: list[MulticastGroup]
    linked: int


def traffic_below(
    nest: Nest,
    projection: Projection,
    levels: Sequence[LevelMapping],
    grids: Sequence[Grid],
    memory: Memory | None = None,
) -> list[Traffic]:
    """Traffic of one tensor below each level, as if no level were bypassed.

    `levels` are those of the mapping and `grids` the elements' grids below each level, outer to
    inner. `memory` is kept between mappings of one architecture and problem.
    """
    below = []
    loops: list[PlacedLoop] = []
    for level in range(len(levels)):
        loops += nest.temporal[level]
        below.append(traffic_at(nest, projection, levels, grids, level, loops, memory))
    return below


def traffic_at(
    nest: Nest,
    projection: Projection,
    levels: Sequence[LevelMapping],
    grids: Sequence[Grid],
    level: int,
    loops: Sequence[PlacedLoop],
    memory: Memory | None = None,
) -> Traffic:
    """Traffic of one tensor below one level; `loops` are the temporal loops of all levels down to
    it.
    """
    plan, spread = levels[level], nest.spatial[level]
    reuse = level + 1 < len(levels) and projection.name not in levels[level + 1].no_temporal_reuse
    may_share, may_link = (
        projection.name not in plan.no_multicast,
        projection.name not in plan.no_link_transfer,
    )
    boundary = _Boundary(projection, spread, grids[level], may_share, may_link)
    if not nest.perfect:
        return _remembered(nest, level, boundary, reuse, memory)
    if not spread:
        return _single(fetched_words(loops, projection, nest.tiles[level + 1], reuse))
    return _even(nest, level, boundary, loops, reuse)


class _Boundary(NamedTuple):
    """Where one tensor crosses to the next inner level: over which spatial loops, onto which grid,
    and what is allowed.
    """

    projection: Projection
    loops: tuple[PlacedLoop, ...]
    grid: Grid
    multicast: bool
    links: bool


def _single(words: int) -> Traffic:
    return Traffic((MulticastRecord(1, 1, words, 0),), 0, 1, words, words)


def _even(
    nest: Nest, level: int, boundary: _Boundary, loops: Sequence[PlacedLoop], reuse: bool
) -> Traffic:
    """Traffic below a level with spatial loops, all factors perfect."""
    projection = boundary.projection
    extents = nest.tiles[level + 1]
    groups = _even_groups(boundary)
    fanout = nest.fanouts[level]
    if not (boundary.links or (projection.sliding and reuse)):
        words = fetched_words(loops, projection, extents, reuse)
        return collect([Flow(words, 1, groups, 0)], fanout)
    flows = []
    for kind in fetches(loops, projection, extents, reuse):
        served, linked = groups, 0
        if boundary.links and kind.words and kind.link is not None:
            served, linked = _evenly_linked(boundary, kind.link)
        flows.append(Flow(kind.words, kind.steps, served, linked))
    return collect(flows, fanout)


@lru_cache(maxsize=1 << 12)
def _even_groups(boundary: _Boundary) -> list[MulticastGroup]:
    """The groups that a level serves without help."""
    return even_groups(boundary.loops, boundary.projection, boundary.multicast, boundary.grid)


@lru_cache(maxsize=1 << 12)
def _evenly_linked(boundary: _Boundary, link: int) -> tuple[list[MulticastGroup], int]:
    """See `_with_links`: the words of all elements are displaced by the code `link` from those at
    the step before.
    """
    mesh = even_mesh(boundary.loops, boundary.projection, boundary.grid)
    return _with_links(boundary, mesh.elements, mesh.served(link), _even_groups(boundary))


def _remembered(
    nest: Nest, level: int, boundary: _Boundary, reuse: bool, memory: Memory | None
) -> Traffic:
    """Traffic below a level, any factors, from `memory` if another mapping had the same."""
    follow_links = bool(boundary.loops) and boundary.links
    stream = tile_stream(nest, boundary.projection, level, reuse, follow_links)
    codes = boundary.projection.codes
    extents = tuple(
        (full, last) if code else (1, 1)
        for full, last, code in zip(
            nest.tiles[level + 1], nest.last_tiles[level + 1], codes, strict=True
        )
    )
    key = (
        *(
            level,
            boundary.loops,
            boundary.grid,
            boundary.multicast,
            boundary.links,
            reuse,
            stream.watched,
        ),
        *(_sorted_idle(stream), extents, nest.fanouts[level]),
    )
    memory = {} if memory is None else memory
    if key not in memory:
        if len(memory) >= MOST_REMEMBERED:
            memory.clear()
        memory[key] = _uneven(nest, level, boundary, stream)
    return memory[key]


def _sorted_idle(stream: Stream) -> tuple[TimeLoop, ...]:
    """The loops, with neighbours in a canonical order that neither move the tile nor change it in
    their last rounds: their order makes no difference.
    """
    found: list[TimeLoop] = []
    idle: list[TimeLoop] = []
    for loop in (*stream.loops, None):
        if loop is not None and not loop.shift and loop.dim not in stream.watched:
            idle.append(loop)
            continue
        dims = [each.dim for each in idle]
        found += sorted(idle) if len(set(dims)) == len(dims) else idle
        idle = []
        if loop is not None:
            found.append(loop)
    return tuple(found)


def _uneven(nest: Nest, level: int, boundary: _Boundary, stream: Stream) -> Traffic:
    """Traffic below a level, any factors."""
    events = stream.count()
    if not boundary.loops:
        return _single(sum(event.words * number for event, number in events.items()))
    flows = []
    spread = frozenset(loop.dim for loop in boundary.loops)
    for event, number in events.items():
        if not event.words:
            continue
        flags = event.flags & spread
        elements, served = _layout(boundary, flags)
        linked = 0
        if event.link is not None:
            shift, earlier = event.link
            near = _links(boundary, flags, earlier & spread).get(shift, [])
            served, linked = _with_links(boundary, elements, near, served)
        flows.append(Flow(event.words, number, served, linked))
    return collect(flows, nest.fanouts[level])


@lru_cache(maxsize=1 << 10)
def _layout(boundary: _Boundary, flags: Flags) -> tuple[Elements, list[MulticastGroup]]:
    """Elements below a level, and the groups that it serves without help."""
    elements = lay_out(boundary.loops, boundary.projection.codes, flags)
    every = range(len(elements.offsets))
    return elements, multicast_groups(elements, every, boundary.multicast, boundary.grid)


@lru_cache(maxsize=1 << 10)
def _links(boundary: _Boundary, flags: Flags, earlier: Flags) -> dict[int, list[int]]:
    """See `links`: from elements as they are under the flags of one step to those of the next."""
    return links(_layout(boundary, flags)[0], _layout(boundary, earlier)[0], boundary.grid)


def _with_links(
    boundary: _Boundary, now: Elements, near: Sequence[int], served: list[MulticastGroup]
) -> tuple[list[MulticastGroup], int]:
    """The groups still served by the level, and how many elements their neighbours serve, if that
    helps the level. `near`: elements whose neighbours have their words.
    """
    if not near:
        return served, 0
    linked = set(near)
    rest = multicast_groups(
        now,
        (i for i in range(len(now.offsets)) if i not in linked),
        boundary.multicast,
        boundary.grid,
    )
    if sum(group.scatter for group in rest) < sum(group.scatter for group in served):
        return rest, len(linked)
    return served, 0


def collect(flows: Iterable[Flow], fanout: int) -> Traffic:
    """Sum up the flows, by multicast and scatter factor."""
    words: dict[tuple[int, int], int] = defaultdict(int)
    hops: dict[tuple[int, int], int] = defaultdict(int)
    transfers = 0
    for flow in flows:
        sent = flow.words * flow.steps
        if sent:
            transfers += flow.linked * sent
            for multicast, scatter, double_hops in flow.groups:
                words[multicast, scatter] += scatter * sent
                hops[multicast, scatter] += double_hops * sent
    records = tuple(MulticastRecord(m, s, words[m, s], hops[m, s]) for m, s in sorted(words))
    return Traffic(
        records,
        transfers,
        fanout,
        sum(r.words for r in records),
        sum(r.words * r.multicast for r in records),
    )


def tile_stream(
    nest: Nest, projection: Projection, level: int, reuse: bool, follow_links: bool
) -> Stream:
    """The tiles that element 0 below `level` holds, one after the other.

    The flags of its events are those before the spatial loops of `level`. Element 0 itself is in
    the last round of such a loop only if that loop then has no other.
    """
    early = {loop.dim for loop in nest.spatial[level] if loop.last > 1}
    full, last = nest.tiles[level + 1], nest.last_tiles[level + 1]
    uneven = {dim for dim in range(len(full)) if full[dim] != last[dim]}
    uneven |= {loop.dim for loop in nest.spatial[level] if loop.bound != loop.last}
    loops = tuple(
        TimeLoop(
            loop.dim,
            loop.bound,
            loop.last,
            projection.codes[loop.dim] * loop.stride,
            bool(loop.axis),
        )
        for loop in nest.outside(level + 1)
    )

    def box(flags: Flags) -> Box:
        return projection.box(
            [
                last[dim] if dim in flags and dim not in early else full[dim]
                for dim in range(len(full))
            ]
        )

    return Stream(loops, box, frozenset(uneven), reuse, follow_links)
