"""Joining the mappings of a chain's Einsums, first to last, to the best mapping of all.

What an Einsum holds above a shared loop stays while its neighbours run below that loop; the rest is
gone. So a chain joined as far as one Einsum is described by its cost, by what it holds above each
loop shared with the next, and by the most that any Einsum so far has in use, apart by how many
loops it shares with the next: those will see more held when more is joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver_mapper.solve.fused.collect import Points
from solver_mapper.solve.fused.compiled import EPSILON
from solver_mapper.solve.fused.edges import Option
from solver_mapper.solve.fused.pareto import front
from solver_mapper.solve.fused.terms import Floats

_BLOCK = 500_000


@dataclass(frozen=True)
class States:
    """Chains joined so far, one a row, all with the same edge to the next Einsum.

    `trips` of the loops shared with the next; `held[row, memory, d]` bits above the d-th of them;
    `peak[row, memory, d]` the most in use by Einsums that share d of them. `before` and `point`
    lead back: the row of the states joined, and of the points.
    """

    cost: Floats
    trips: NDArray[np.int64]
    held: Floats
    peak: Floats
    before: NDArray[np.int64]
    point: NDArray[np.int64]
    option: Option
    previous: States | None

    def __len__(self) -> int:
        return len(self.cost)

    def kept(self, keep: NDArray[np.int64] | NDArray[np.bool_]) -> States:
        return States(
            self.cost[keep],
            self.trips[keep],
            self.held[keep],
            self.peak[keep],
            self.before[keep],
            self.point[keep],
            self.option,
            self.previous,
        )


@dataclass(frozen=True)
class Link:
    """One Einsum of the joined chain: its option and the row of its points."""

    option: Option
    point: int


def start(columns: int, memories: int, option: Option) -> States:
    """The chain of no Einsum."""
    one = np.zeros(1, dtype=np.int64)
    return States(
        np.zeros((1, columns)),
        np.empty((1, 0), dtype=np.int64),
        np.zeros((1, memories, 0)),
        np.zeros((1, memories, 1)),
        one,
        one,
        option,
        None,
    )


@dataclass(frozen=True)
class Keep:
    """Chains can be part of something better only if their cost and the least of what is to come
    stay below the cutoff.
    """

    value: Callable[[Floats], Floats]
    rest: Floats
    cutoff: float

    def __call__(self, cost: Floats) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = self.value(cost + self.rest) <= self.cutoff * (1 + EPSILON)
        return result


def extend(
    states: States, option: Option, points: Points, sizes: Floats, keep: Keep
) -> Iterator[States]:
    """Every pair of a chain and a mapping of the next Einsum that agree on the loops that they
    share and fit the memories.
    """
    shared, kept = option.depth(option.left), option.depth(option.right)
    order = np.lexsort(points.trips[:, :shared].T[::-1]) if shared else np.arange(len(points))
    groups = _groups(points.trips[order, :shared])
    lists = {key: order[rows] for key, rows in groups.items()}
    for key, rows in _groups(states.trips).items():
        if key in lists:
            right = lists[key]
            step = max(1, _BLOCK // len(right))
            for first in range(0, len(rows), step):
                left = np.repeat(rows[first : first + step], len(right))
                yield _paired(
                    states,
                    left,
                    option,
                    points,
                    np.tile(right, len(rows[first : first + step])),
                    shared,
                    kept,
                    sizes,
                    keep,
                )


def _groups(keys: NDArray[np.int64]) -> Mapping[tuple[int, ...], NDArray[np.int64]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for position, key in enumerate(map(tuple, keys.tolist())):
        found.setdefault(key, []).append(position)
    return {key: np.array(rows) for key, rows in found.items()}


def _paired(
    states: States,
    left: NDArray[np.int64],
    option: Option,
    points: Points,
    right: NDArray[np.int64],
    shared: int,
    kept: int,
    sizes: Floats,
    keep: Keep,
) -> States:
    cost = states.cost[left] + points.cost[right]
    good = keep(cost)
    left, right, cost = left[good], right[good], cost[good]
    usage = points.usage[right]
    depth = usage.shape[2] - 1
    held, old = states.held[left], states.peak[left]
    peak = np.zeros((len(left), usage.shape[1], kept + 1))
    for level in range(old.shape[2]):
        more = old[:, :, level] + usage[:, :, :level].sum(axis=2)
        peak[:, :, min(level, kept)] = np.maximum(
            peak[:, :, min(level, kept)], np.where(old[:, :, level] > 0, more, 0)
        )
    own = usage[:, :, depth] + held.sum(axis=2)
    peak[:, :, kept] = np.maximum(peak[:, :, kept], own)
    over = np.zeros((len(left), usage.shape[1], kept))
    over[:, :, : min(kept, depth)] = usage[:, :, : min(kept, depth)]
    over[:, :, : min(kept, shared)] += held[:, :, : min(kept, shared)]
    fits = np.flatnonzero((peak <= sizes[None, :, None] * (1 + EPSILON)).all(axis=(1, 2)))
    result = States(cost, points.trips[right][:, :kept], over, peak, left, right, option, states)
    return result.kept(fits)


def merged(parts: Sequence[States]) -> States | None:
    """States of one option and one origin in one, without those that another equals or beats."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return None

    def together(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    both = States(
        together("cost"),
        together("trips"),
        together("held"),
        together("peak"),
        together("before"),
        together("point"),
        parts[0].option,
        parts[0].previous,
    )
    return both.kept(
        front(
            both.trips,
            np.hstack(
                [both.cost, both.held.reshape(len(both), -1), both.peak.reshape(len(both), -1)]
            ),
        )
    )


def links(states: States, row: int) -> list[Link]:
    """The Einsums of one joined chain, first to last."""
    found: list[Link] = []
    current: States | None = states
    while current is not None and current.previous is not None:
        found.append(Link(current.option, int(current.point[row])))
        row, current = int(current.before[row]), current.previous
    return found[::-1]
