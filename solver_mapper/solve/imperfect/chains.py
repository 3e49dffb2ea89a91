"""All loop chains of one dimension, as arrays, with the numbers that costs are made of.

A chain gives the bounds of the dimension's loops at all sites. What the first instance of a level
sees of the dimension is a number of equal regions and one last, shorter region
(docs/explanation/imperfect.md). All numbers here are sums over these regions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.constraints import HOLDS, FactorConstraint, ProductConstraint
from solver_mapper.deadline import TimeUp, check_time
from solver_mapper.errors import LimitReached
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.mapspace import LoopSlot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Names = tuple[str, ...]
Depths = list[tuple[Ints, int, int]]
MOST_VALUES, MOST_TOGETHER = 16_000_000, 40_000_000
"""Features of all chains of one dimension, and of all dimensions together, that are held."""


class Chains(NamedTuple):
    """Groups of chains, by the bounds of the first and the last one; see `ChainTable`."""

    bounds: Ints
    tops: Ints


@dataclass(frozen=True)
class ChainTable:
    """`bounds[c, s]`: the bound of chain c at site s. It stands for a group of chains, which end
    with `tops[c, s]` and differ at one site. `values[f, c]`: feature f, of the first and the last
    of the group; those between have none that is smaller or greater. The chains are the leaves of a
    binary tree whose root is node 0. `parts[:, n]` are the two children of node n; `chain[n]` is
    the first chain of a node; `depths` has the nodes of each depth that have children, and the
    range of these children, pair by pair.
    """

    dim: str
    size: int
    bounds: Ints
    tops: Ints
    values: tuple[Floats, Floats]
    spread: Floats
    """How much the chains of a node differ; 0 for a single chain."""
    parts: Ints
    chain: Ints
    depths: Depths
    numbers: dict[str, int]
    _known: dict[tuple[Names, bool], Floats] = field(default_factory=dict)

    def least(self, *names: str) -> Floats:
        """The least product of features over the chains of each node."""
        return self._extreme(names, np.minimum)

    def greatest(self, *names: str) -> Floats:
        """The greatest product of features over the chains of each node."""
        return self._extreme(names, np.maximum)

    def _extreme(self, names: Names, join: Callable[[Floats, Floats], Floats]) -> Floats:
        key = names, join is np.minimum
        if key not in self._known:
            ends = [
                np.multiply.reduce([self._feature(name, end) for name in names]) for end in range(2)
            ]
            self._known[key] = _joined(join(*ends), self.chain, self.depths, join)
        return self._known[key]

    def group(self, chain: int) -> list[list[int]]:
        """The bounds of all chains that a chain stands for."""
        first, last = self.bounds[chain].tolist(), self.tops[chain].tolist()
        site = next((site for site, bound in enumerate(first) if bound != last[site]), None)
        if site is None:
            return [first]
        bounds = range(first[site], last[site] + 1)
        return [[*first[:site], bound, *first[site + 1 :]] for bound in bounds]

    def _feature(self, name: str, end: int) -> Floats:
        """A feature of all chains; `advances I L`: how often the loops at level L go on to a full
        region of place I.
        """
        kind, *places = name.split()
        if kind == "advances":
            inner, level = places
            full, rounds = self._feature(f"full{inner}", end), self._feature(f"visits{level}", end)
            return np.maximum(full - rounds, 0)
        found: Floats = self.values[end][self.numbers[name]]
        return found


class Features:
    """Numbers of the features of a chain, for an architecture of `levels` storage levels.

    Places are numbered by level; place `levels` is the single point of a compute unit. `region` and
    `tile` are extents at a place; `visits` counts regions, `full` those of full size, `points` sums
    their extents. `active` sums, over all regions, the instances that are in use below the spatial
    loop right outside, `fewest` is the least of these, `moved` sums active instances times extent,
    `beyond` times extent less one. `lone` is at most the share of visits that are not to the last
    region where the temporal loop runs once there.
    """

    def __init__(self, levels: int):
        names = [
            f"{kind}{place}"
            for place in range(levels + 1)
            for kind in (
                "tile",
                "visits",
                "full",
                "points",
                "active",
                "fewest",
                "moved",
                "beyond",
                "spanned",
                "lone",
            )
        ]
        names += [
            f"{kind}{level}"
            for level in range(levels)
            for kind in ("temporal", "X", "Y", "spread", "outer", "union", "share")
        ]
        self.levels = levels
        self.number = {name: number for number, name in enumerate(names)}


def chain_tables(space: ImperfectMapspace) -> list[ChainTable] | None:
    """All chains of each dimension; None if some dimension has none.

    Raises: LimitReached if there are too many for `MOST_VALUES` or `MOST_TOGETHER`; TimeUp.
    """
    sizes, found = space.problem.bounds, dict[str, Chains]()
    too_many: LimitReached | None = None
    for dim in sorted(sizes, key=lambda dim: sizes[dim]):
        check_time()
        try:
            found[dim] = chains_of(space, dim)
        except TimeUp:
            raise
        except LimitReached as error:
            # A dimension that has none tells more.
            too_many = error
            continue
        if not len(found[dim].bounds):
            return None
    if too_many is not None:
        raise too_many
    together = MOST_TOGETHER // len(Features(space.depth).number)
    if sum(len(each.bounds) for each in found.values()) > together:
        raise LimitReached(f"dimensions have more than {together:,} chains of loops together")
    return [chain_table(space, dim, found[dim]) for dim in sizes]


def chains_of(space: ImperfectMapspace, dim: str) -> Chains:
    """All chains of a dimension. Raises: LimitReached if there are too many for `MOST_VALUES`."""
    size = space.problem.bounds[dim]
    bounds = _listed(space, dim, size)
    bounds = bounds[_allowed(space, dim, size, bounds)]
    if not len(bounds):
        return Chains(bounds, bounds)
    found = Chains(*_grouped(space, dim, bounds))
    limit = MOST_VALUES // len(Features(space.depth).number)
    if len(found.bounds) > limit:
        raise LimitReached(f"dimension {dim} has more than {limit:,} chains of loops")
    return found


def chain_table(space: ImperfectMapspace, dim: str, chains: Chains) -> ChainTable:
    """The table of a dimension's chains, of which there are some. Raises: TimeUp."""
    size, (bounds, tops) = space.problem.bounds[dim], chains
    check_time()
    keys = _keys(space, bounds)
    order = np.lexsort(keys[::-1])
    bounds, tops, keys = bounds[order], tops[order], keys[:, order]
    first, parts, depths = _tree(keys)
    check_time()
    values = _features(space, size, bounds), _features(space, size, tops)
    spread = np.zeros(len(first))
    for feature in values[0]:
        check_time()
        spread += _spread(
            *(_joined(feature, first, depths, join) for join in (np.minimum, np.maximum))
        )
    numbers = Features(space.depth).number
    return ChainTable(dim, size, bounds, tops, values, spread, parts, first, depths, numbers)


def _listed(space: ImperfectMapspace, dim: str, size: int) -> Ints:
    """Chains site by site, from the innermost."""
    limit = MOST_VALUES // len(Features(space.depth).number)
    strides = np.ones(1, dtype=np.int64)
    columns: list[Ints] = []
    for site in reversed(space.loop_slots):
        level, axis = site
        room = space.architecture.fanout(level)[axis == "Y"] if axis else size
        most = max(1, min(room, most_bound(space, dim, site)))
        left = -(-size // strides)
        if site == space.loop_slots[0]:
            rows, bound = np.flatnonzero(left <= most), left[left <= most]
        else:
            counts = np.minimum(left, most)
            if counts.sum() > 16 * limit:
                raise LimitReached(f"dimension {dim} has more than {limit:,} chains of loops")
            rows = np.repeat(np.arange(len(strides)), counts)
            bound = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        keep = _passes(space, dim, size, site, bound)
        if axis == "Y" and (level, "X") in space.loop_slots:
            keep &= (bound == 1) | (columns[-1][rows] == 1)
        if not axis:
            keep &= np.minimum(strides[rows] * bound, size) <= most_extent(space, dim, level)
        rows, bound = rows[keep], bound[keep]
        columns = [column[rows] for column in columns] + [bound]
        strides = strides[rows] * bound
    return np.stack(columns[::-1], axis=1)


def most_extent(space: ImperfectMapspace, dim: str, level: int) -> int:
    """The largest tile along `dim` for which a level has room, beside tensors of a single word."""
    size, room = space.problem.bounds[dim], space.architecture.levels[level].capacity
    if room is None:
        return size
    steps = [
        abs(term.coefficient)
        for tensor in space.problem.tensors
        if all(choice[level] for choice in space.keeps(tensor.name))
        for rank in tensor.ranks
        for term in rank
        if term.dim == dim
    ]
    return min([size, *((room - 1) // step + 1 for step in steps if step)])


def _grouped(space: ImperfectMapspace, dim: str, bounds: Ints) -> tuple[Ints, Ints]:
    """The first and the last chain of each group of chains that the bounds cannot tell apart.

    If the two outermost loops are temporal, tiles between them of several sizes make the outer loop
    run equally often, and all counts further in are the same. Chains whose inner loop runs once in
    its last round are groups of their own, as words can be saved there.
    """
    size = space.problem.bounds[dim]
    temporal = np.array([not axis for _, axis in space.loop_slots])
    most = np.array([_most_rounds(space, dim, level) for level, _ in space.loop_slots])
    widest = np.array([most_extent(space, dim, level) for level, _ in space.loop_slots])
    number = np.arange(len(bounds))
    outer = (bounds > 1).argmax(axis=1)
    inside = bounds.copy()
    inside[number, outer] = 1
    inner = (inside > 1).argmax(axis=1)
    times, rounds = bounds[number, outer], inside[number, inner]
    unit = np.multiply.reduce(inside, axis=1) // rounds
    paired = (rounds > 1) & temporal[outer] & temporal[inner] & (most[inner] > 0)
    last = -(-(size - (times - 1) * unit * rounds) // unit)
    dropped = paired & (last > 1) & (rounds > -(-size // (unit * times)))
    most_alike = (size - 1) // (unit * np.maximum(times - 1, 1))
    ends = size - (times - 1) * unit * most_alike <= unit
    most_alike = np.minimum.reduce([most_alike - ends, most[inner], widest[inner] // unit])
    tops = bounds.copy()
    tops[number[paired], inner[paired]] = np.maximum(most_alike, rounds)[paired]
    return bounds[~dropped], tops[~dropped]


def _most_rounds(space: ImperfectMapspace, dim: str, level: int) -> int:
    """The largest bound of a temporal loop, any below which constraints allow; 0 if there are
    constraints of another kind.
    """
    name = space.architecture.levels[level].name
    for each in space.constraints:
        if isinstance(each, ProductConstraint) and dim in each.dims:
            return 0
        if isinstance(each, FactorConstraint) and each.dim == dim:
            if each.last is not None:
                return 0
            if (each.level, each.kind) == (name, "temporal") and each.comparison not in ("<", "<="):
                return 0
    return most_bound(space, dim, (level, ""))


def _rules(space: ImperfectMapspace, dim: str, site: LoopSlot) -> list[FactorConstraint]:
    kind = "spatial" if site[1] else "temporal"
    name = space.architecture.levels[site[0]].name
    return [
        each
        for each in space.constraints
        if isinstance(each, FactorConstraint)
        and (each.level, each.kind, each.dim) == (name, kind, dim)
    ]


def _value(rule: FactorConstraint, size: int) -> int:
    return size if (rule.comparison, rule.value) == ("==", 0) else rule.value


def most_bound(space: ImperfectMapspace, dim: str, site: LoopSlot) -> int:
    """The largest bound that constraints allow at a site."""
    size, (level, axis) = space.problem.bounds[dim], site
    if axis and axis not in space.axes(level, dim):
        return 1
    upper = [
        _value(rule, size) - (rule.comparison == "<")
        for rule in _rules(space, dim, site)
        if rule.comparison in ("==", "<=", "<")
    ]
    return min([size, *upper])


def _passes(
    space: ImperfectMapspace, dim: str, size: int, site: LoopSlot, bound: Ints
) -> NDArray[np.bool_]:
    """Which bounds constraints allow at a site; a spatial bound of 1 may have a partner on the
    other axis.
    """
    keep = np.ones(len(bound), dtype=bool)
    for rule in _rules(space, dim, site):
        good = _compare(rule, size)(bound)
        keep &= good | (bound == 1) if site[1] else good
    return keep


def _compare(rule: FactorConstraint, size: int) -> Callable[[Ints], NDArray[np.bool_]]:
    value = _value(rule, size)
    return lambda found: np.asarray(HOLDS[rule.comparison](found, value))  # type: ignore[arg-type]


def _allowed(space: ImperfectMapspace, dim: str, size: int, bounds: Ints) -> NDArray[np.bool_]:
    """Chains that lie along one axis of each level only and obey all constraints on factors."""
    keep = np.ones(len(bounds), dtype=bool)
    column = {site: bounds[:, number] for number, site in enumerate(space.loop_slots)}
    strides = np.cumprod(bounds[:, ::-1], axis=1)[:, ::-1] // bounds
    lasts = (size - 1) // strides % bounds + 1
    last = {site: lasts[:, number] for number, site in enumerate(space.loop_slots)}
    ones = np.ones(len(bounds), dtype=np.int64)
    for level, buffer in enumerate(space.architecture.levels):
        x, y = column.get((level, "X"), ones), column.get((level, "Y"), ones)
        keep &= (x == 1) | (y == 1)
        for rule in space.constraints:
            if isinstance(rule, FactorConstraint) and (rule.level, rule.dim) == (buffer.name, dim):
                temporal = rule.kind == "temporal"
                keep &= _compare(rule, size)(column[level, ""] if temporal else x * y)
                if rule.last is not None:
                    final = (
                        last[level, ""]
                        if temporal
                        else np.maximum(last.get((level, "X"), ones), last.get((level, "Y"), ones))
                    )
                    keep &= final == rule.last
    return keep


def _keys(space: ImperfectMapspace, bounds: Ints) -> Ints:
    """What chains are sorted by, the most important first: spatial bounds, coarse then fine, and
    the bits of the logarithms of all strides in turn, so that similar tiles stand together.
    """
    spatial = [number for number, (_, axis) in enumerate(space.loop_slots) if axis]
    strides = np.cumprod(bounds[:, ::-1], axis=1)[:, ::-1]
    fine = np.round(np.log2(np.maximum(strides, 1)) * 2).astype(np.int64)
    keys = [np.floor(np.log2(bounds[:, number])).astype(np.int64) for number in spatial]
    keys += [bounds[:, number] for number in spatial]
    keys += [fine[:, site] >> bit & 1 for bit in range(5, -1, -1) for site in range(len(fine[0]))]
    keys += [strides[:, site] for site in range(strides.shape[1])]
    return np.stack([key for key in keys if (key != key[0]).any()] or keys[:1] or [strides[:, 0]])


def _tree(keys: Ints) -> tuple[Ints, Ints, Depths]:
    """A binary tree over rows sorted by `keys`: the first row and the two children of each node,
    and the nodes with children of each depth (see `ChainTable`). A node is split near its middle,
    where its most important key that varies changes.
    """
    rows = keys.shape[1]
    number = np.arange(rows)
    starts, ends = [], []
    new = np.zeros(rows, dtype=bool)
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
        new[0] = True
        starts.append(np.maximum.accumulate(np.where(new, number, 0)))
        end = np.where(np.append(new[1:], True), number + 1, rows)
        ends.append(np.minimum.accumulate(end[::-1])[::-1])
    start, end = np.stack(starts), np.stack(ends)
    first, last = np.array([0]), np.array([rows])
    firsts, parts, depths, count = [first], [], Depths(), 1
    while len(first):
        split = last - first > 1
        a, b = first[split], last[split]
        key = (start[:, b - 1] > a).argmax(axis=0)
        middle = (a + b) // 2
        low, high = start[key, middle], end[key, middle]
        left = (low > a) & ((middle - low <= high - middle) | (high >= b))
        at = np.where(left, low, high)
        children = np.zeros((2, len(first)), dtype=np.int64)
        children[0, split] = count + 2 * np.arange(len(a))
        children[1, split] = children[0, split] + 1
        parts.append(children)
        inner = np.flatnonzero(split) + count - len(first)
        first = np.stack([a, at], axis=1).ravel()
        last = np.stack([at, b], axis=1).ravel()
        if len(first):
            firsts.append(first)
            depths.append((inner, count, count + len(first)))
            count += len(first)
    return np.concatenate(firsts), np.concatenate(parts, axis=1), depths


def _joined(
    values: Floats,
    first: Ints,
    depths: Depths,
    join: Callable[[Floats, Floats], Floats],
) -> Floats:
    """A feature of all nodes, from those of single chains."""
    nodes = values[first]
    for inner, begin, end in reversed(depths):
        nodes[inner] = join(nodes[begin:end:2], nodes[begin + 1 : end : 2])
    return nodes


def _features(space: ImperfectMapspace, size: int, bounds: Ints) -> Floats:
    """Features of all chains: shape (features, chains)."""
    chains, depth = len(bounds), space.depth
    numbers = Features(depth).number
    values = np.empty((len(numbers), chains))
    ones = np.ones(chains, dtype=np.int64)
    column = {site: bounds[:, number] for number, site in enumerate(space.loop_slots)}
    stride = np.multiply.reduce(bounds, axis=1)
    outside = np.zeros(chains, dtype=np.int64)  # full regions
    extent, rest = np.full(chains, size), np.full(chains, size)
    instances, share = ones.astype(float), ones.astype(float)

    def put(name: str, value: Ints | Floats) -> None:
        values[numbers[name]] = value

    active, fewest, moved, spanned = ones, ones, extent, ones
    for level in range(depth + 1):
        whole = outside + (rest == extent)
        put(f"tile{level}", np.where(outside + (rest == extent) > 0, extent, rest))
        put(f"visits{level}", outside + 1)
        put(f"full{level}", np.maximum(whole, 1))
        put(f"points{level}", outside * extent + rest)
        put(f"active{level}", active)
        put(f"fewest{level}", fewest)
        put(f"moved{level}", moved)
        put(f"beyond{level}", moved - active)
        put(f"spanned{level}", np.maximum(spanned, 1))
        if level == depth:
            break
        temporal = column[level, ""]
        x, y = column.get((level, "X"), ones), column.get((level, "Y"), ones)
        inner = np.minimum(stride // temporal, size)
        rounds = -(-rest // inner)
        lone = (temporal > 1) & (rounds == 1) & (outside > 0)
        put(f"lone{level}", np.where(lone, 1 - 1 / (1.0 * outside * temporal + 1), 1.0))
        put(f"temporal{level}", temporal)
        put(f"X{level}", x)
        put(f"Y{level}", y)
        put(f"spread{level}", x * y)
        put(f"outer{level}", instances)
        outside = outside * temporal + rounds - 1
        rest = rest - (rounds - 1) * inner
        extent = inner
        put(f"union{level}", np.where(outside + (rest == extent) > 0, extent, rest))
        put(f"share{level}", share)
        union = values[numbers[f"union{level}"]]
        stride = stride // temporal // (x * y)
        below = np.minimum(stride, size)
        many, few = -(-extent // below), -(-rest // below)
        last = np.minimum(rest, below)
        active = outside * many + few
        fewest = np.where(outside > 0, np.minimum(many, few), few)
        moved = outside * many * below + few * last
        spanned = outside * many + np.where(last == below, few, 0)
        extent, rest = below, last
        instances = instances * (x * y)
        share = share * (x * y) * np.where(outside + (rest == extent) > 0, extent, rest) / union
    put(f"lone{depth}", ones)
    return values


def _spread(least: Floats, greatest: Floats) -> Floats:
    """The logarithm of the greatest over the least feature."""
    ratio: Floats = np.log2(np.maximum(greatest, 1e-9)) - np.log2(np.maximum(least, 1e-9))
    return ratio
