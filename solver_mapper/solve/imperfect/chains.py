"""All loop chains of one dimension, as arrays, with the numbers that costs are made of.

A chain gives the bounds of the dimension's loops at all sites. What the first instance of a level
sees of the dimension is a number of equal regions and one last, shorter region
(docs/explanation/imperfect.md). All numbers here are sums over these regions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.constraints import HOLDS, FactorConstraint
from solver_mapper.errors import LimitReached
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.mapspace import LoopSlot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Names = tuple[str, ...]
MOST_VALUES = 6_000_000
"""Features of all chains of one dimension that are held."""


@dataclass(frozen=True)
class ChainTable:
    """`bounds[c, s]`: the bound of chain c at site s; `values[f, c]`: its feature f. The chains are
    the leaves of a binary tree whose root is node 0. `parts[:, n]` are the two children of node n;
    `chain[n]` is the first chain of a node; `depths` has the range of nodes of each depth.
    """

    dim: str
    size: int
    bounds: Ints
    values: Floats
    spread: Floats
    """How much the chains of a node differ; 0 for a single chain."""
    parts: Ints
    chain: Ints
    depths: list[tuple[int, int]]
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
            values = np.multiply.reduce([self._feature(name) for name in names])
            self._known[key] = _joined(values[None], self.chain, self.parts, self.depths, join)[0]
        return self._known[key]

    def _feature(self, name: str) -> Floats:
        """A feature of all chains; `advances I L`: how often the loops at level L go on to a full
        region of place I.
        """
        kind, *places = name.split()
        if kind == "advances":
            inner, level = places
            full, rounds = self._feature(f"full{inner}"), self._feature(f"visits{level}")
            return np.maximum(full - rounds, 0)
        found: Floats = self.values[self.numbers[name]]
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


def chain_table(space: ImperfectMapspace, dim: str) -> ChainTable | None:
    """All chains of `dim`; None if there is none.

    Raises: LimitReached if there are too many for `MOST_VALUES`.
    """
    size = space.problem.bounds[dim]
    bounds = _listed(space, dim, size)
    bounds = bounds[_allowed(space, dim, size, bounds)]
    if not len(bounds):
        return None
    keys = _keys(space, bounds)
    order = np.lexsort(keys[::-1])
    bounds, keys = bounds[order], keys[:, order]
    first, parts, depths = _tree(keys)
    values = _features(space, size, bounds)
    spread = _spread(
        *(_joined(values, first, parts, depths, join) for join in (np.minimum, np.maximum))
    )
    numbers = Features(space.depth).number
    return ChainTable(dim, size, bounds, values, spread, parts, first, depths, numbers)


def _listed(space: ImperfectMapspace, dim: str, size: int) -> Ints:
    """Chains site by site, from the innermost."""
    limit = MOST_VALUES // len(Features(space.depth).number)
    strides = np.ones(1, dtype=np.int64)
    columns: list[Ints] = []
    for level, axis in reversed(space.loop_slots):
        room = space.architecture.fanout(level)[axis == "Y"] if axis else size
        most = min(room, most_bound(space, dim, (level, axis)))
        left = -(-size // strides)
        counts = np.minimum(left, max(most, 1))
        if counts.sum() > 4 * limit:
            raise LimitReached(f"dimension {dim} has more than {limit:,} chains of loops")
        rows = np.repeat(np.arange(len(strides)), counts)
        first = np.repeat(np.cumsum(counts) - counts, counts)
        bound = np.arange(len(rows)) - first + 1
        keep = _passes(space, dim, size, (level, axis), bound)
        if axis == "Y" and (level, "X") in space.loop_slots:
            keep &= (bound == 1) | (columns[-1][rows] == 1)
        rows, bound = rows[keep], bound[keep]
        columns = [column[rows] for column in columns] + [bound]
        strides = strides[rows] * bound
    done = strides >= size
    if done.sum() > limit:
        raise LimitReached(f"dimension {dim} has more than {limit:,} chains of loops")
    return np.stack([column[done] for column in reversed(columns)], axis=1)


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
    size = space.problem.bounds[dim]
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


def _tree(keys: Ints) -> tuple[Ints, Ints, list[tuple[int, int]]]:
    """A binary tree over rows sorted by `keys`: the first row and the two children of each node,
    and the range of nodes of each depth. A node is split near its middle, where its most important
    key that varies changes.
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
    firsts, parts, depths, count = [first], [], [(0, 1)], 1
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
        first = np.stack([a, at], axis=1).ravel()
        last = np.stack([at, b], axis=1).ravel()
        if len(first):
            firsts.append(first)
            depths.append((count, count + len(first)))
            count += len(first)
    return np.concatenate(firsts), np.concatenate(parts, axis=1), depths


def _joined(
    values: Floats,
    first: Ints,
    parts: Ints,
    depths: list[tuple[int, int]],
    join: Callable[[Floats, Floats], Floats],
) -> Floats:
    """Features of all nodes, from those of single chains."""
    nodes = values[:, first]
    for begin, end in reversed(depths):
        inner = np.flatnonzero(parts[0, begin:end]) + begin
        nodes[:, inner] = join(nodes[:, parts[0, inner]], nodes[:, parts[1, inner]])
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
    """Sums of the logarithms of greatest over least features."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.log2(np.maximum(greatest, 1e-9)) - np.log2(np.maximum(least, 1e-9))
    total: Floats = np.where(np.isfinite(ratio), ratio, 0.0).sum(axis=0)
    return total
