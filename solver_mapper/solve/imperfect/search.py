"""Branch and bound over the chains of all dimensions, best bound first.

The search keeps a *pool* of open cells for each plan. It takes the cells of least bounds of the
pool with the least bound and splits them, each at a dimension whose chains differ, or the plan, at
the level whose decision raises the bounds more. Cells of single chains under a decided plan are
settled by evaluating their mappings with the exact cost model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal, Limit
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.bounds import Bounds
from solver_mapper.solve.imperfect.chains import Floats, chain_tables
from solver_mapper.solve.imperfect.mappings import level_bounds, mappings
from solver_mapper.solve.imperfect.shapes import Kind, Nodes, Plan
from solver_mapper.solve.imperfect.words import NOISE
from solver_mapper.verify.imperfect import ImperfectMapspace

BATCH = 6144
"""Cells that are split at once."""
SAMPLE = 32
"""Cells by which the next decision is chosen."""
BEAM, ENDS, DIVES = 48, 2, 3
"""Cells that a dive keeps at each step, those that it evaluates at its end, and plans that begin
with a dive.
"""
MOST_GAIN = 100.0
"""What counts as the gain where no part is left."""
EVERY = 100
"""Batches between two dives."""
PATIENCE = 100_000
"""Cells before another search for a better mapping."""
MOST_OPEN = 8_000_000
"""Cells that wait at once; where there would be more, the search ends without a proof."""


@dataclass(frozen=True)
class EvaluatedMapping:
    """A legal mapping with its figures."""

    mapping: Mapping
    statistics: Statistics

    def target(self, goal: Goal, gap: float) -> Fraction:
        """A bound that reaches it proves the mapping within the gap."""
        return goal.rank(self.statistics) * (1 - Fraction(gap))


def proves(bound: Fraction | None, best: EvaluatedMapping | None, goal: Goal, gap: float) -> bool:
    """Whether no mapping is better than the best one by more than the gap."""
    return bound is not None and best is not None and bound >= best.target(goal, gap)


@dataclass
class Tree:
    """The decisions about one mapspace: chain trees, kinds of innermost loops, plans."""

    spec: Spec
    space: ImperfectMapspace

    def __post_init__(self) -> None:
        tables = chain_tables(self.space)
        self.empty, self.tables = tables is None, tables or []
        if not self.empty:
            self.bounds = Bounds(self.space, self.tables)
            self.kinds = [self._kinds(level) for level in range(self.space.depth)]

    def _kinds(self, level: int) -> list[frozenset[int]]:
        """What the innermost temporal loop of a level may be over: dimensions that the same tensors
        are free of stand for each other, unless they slide windows.
        """
        low = [self._extreme(dim, level, least=True) for dim in range(len(self.tables))]
        high = [self._extreme(dim, level, least=False) for dim in range(len(self.tables))]
        groups: dict[object, set[int]] = {}
        for dim in range(len(self.tables)):
            if high[dim] > 1:
                free = frozenset(n for n, s in enumerate(self.bounds.shapes) if dim in s.free)
                slides = any(dim in shape.sliding for shape in self.bounds.shapes)
                groups.setdefault((free, dim if slides else None), set()).add(dim)
        none = [frozenset[int]()] if max(low, default=1) <= 1 else []
        return [*none, *(frozenset(group) for group in groups.values())]

    def _extreme(self, dim: int, level: int, *, least: bool) -> float:
        table = self.tables[dim]
        return float((table.least if least else table.greatest)(f"temporal{level}")[0])

    def plans(self) -> list[Plan]:
        """One for each choice of stores, with undecided loops where there is a choice."""
        innermost: tuple[Kind, ...] = tuple(
            kinds[0] if len(kinds) == 1 else None for kinds in self.kinds
        )
        if not all(self.kinds):
            return []
        keeps = [self.space.keeps(name) for name in self.space.problem.tensor_names]
        return [Plan(stores, innermost) for stores in product(*keeps)]

    def root(self) -> Nodes:
        """The node of all chains."""
        return np.zeros((1, len(self.tables)), dtype=np.int64)

    def spread(self, nodes: Nodes) -> Floats:
        """How much the chains of each dimension of each cell differ."""
        return np.stack(
            [table.spread[nodes[:, dim]] for dim, table in enumerate(self.tables)], axis=1
        )

    def halves(self, nodes: Nodes, weights: Floats) -> tuple[Nodes, NDArray[np.bool_]]:
        """Cells split in two where they differ most by `weights`, and which of `nodes` are
        single.
        """
        spread = self.spread(nodes)
        single = (spread == 0).all(axis=1)
        wanted = np.where(spread > 0, spread * weights, -1.0)
        split, at = nodes[~single], wanted[~single].argmax(axis=1)
        left, right = split.copy(), split.copy()
        for dim, table in enumerate(self.tables):
            rows = at == dim
            left[rows, dim], right[rows, dim] = table.parts[:, split[rows, dim]]
        return np.concatenate([left, right]), single

    def chains(self, nodes: NDArray[np.int64]) -> list[int]:
        """The single chains of a cell."""
        return [int(table.chain[n]) for n, table in zip(nodes, self.tables, strict=True)]


class _Pool:
    """Open cells of one plan."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.least = np.inf
        self._parts: list[tuple[Nodes, Floats]] = []

    def add(self, nodes: Nodes, values: Floats) -> None:
        """Put in cells, at least one, with their bounds."""
        self._parts.append((nodes, values))
        self.least = min(self.least, float(values.min()))

    def take(self) -> tuple[Nodes, Floats]:
        """Take out `BATCH` cells of the least bounds, at most."""
        nodes = np.concatenate([part for part, _ in self._parts])
        values = np.concatenate([part for _, part in self._parts])
        self._parts, self.least = [], np.inf
        if len(values) > BATCH:
            order = np.argpartition(values, BATCH)
            rest = order[BATCH:]
            self.add(nodes[rest], values[rest])
            nodes, values = nodes[order[:BATCH]], values[order[:BATCH]]
        order = np.argsort(values, kind="stable")
        return nodes[order], values[order]


@dataclass
class ImperfectSearch:
    """Minimizes one goal. `limits` hold for all mappings; `better` is called with each better one.
    `bound` is proven for the goal's rank as far as the search came; `floor` was known before.
    `improved` looks for a better mapping in another way once the search has met `PATIENCE` cells.
    """

    tree: Tree
    goal: Goal
    gap: float
    over: Callable[[], bool]
    best: EvaluatedMapping | None = None
    limits: tuple[Limit, ...] = ()
    ties: tuple[Goal, ...] = ()
    better: Callable[[EvaluatedMapping], None] = lambda found: None
    improved: Callable[[EvaluatedMapping | None], EvaluatedMapping | None] = lambda found: found
    floor: Fraction = Fraction(0)
    cells: int = 0
    evaluated: int = 0
    begun: bool = False
    complete: bool = False
    pruned: float = np.inf
    waiting: int = 0

    def __post_init__(self) -> None:
        space = self.tree.space
        self._evaluate = Evaluator(space.architecture, space.problem).evaluate
        caps = [c for c in space.constraints if isinstance(c, MetricConstraint)]
        self._limits = (*self.limits, *(cap.limit for cap in caps))
        bare = tuple(c for c in space.constraints if not isinstance(c, MetricConstraint))
        self._bare = replace(self.tree.spec, constraints=bare)
        self._pools: dict[Plan, _Pool] = {}
        self._weights: dict[Plan, tuple[int, NDArray[np.float64]]] = {}

    @property
    def bound(self) -> Fraction | None:
        """No mapping has a smaller rank; None where nothing is known."""
        if not self.begun and not self.floor:
            return None
        least = min(self.pruned, self._least_open()) * (1 - NOISE) if self.begun else 0.0
        rank = None if self.best is None else self.goal.rank(self.best.statistics)
        if rank is not None and least >= float(rank):
            return rank
        if not np.isfinite(least):
            return None
        known = max(self.floor, Fraction(least))
        return known if rank is None else min(known, rank)

    def run(self) -> None:
        """Search until nothing is left, or `over` says that the time is."""
        if self._reached():
            self.begun = self.complete = True
            self.pruned = 0.0
            return
        if not self.tree.empty:
            for plan in self.tree.plans():
                if self.over():
                    return
                self._push(plan, self.tree.root())
        self.begun = True
        self._loop()
        settled = self._least_open() * (1 - NOISE) >= self._threshold()
        self.complete = settled or self._reached()

    def _reached(self) -> bool:
        """Whether `floor` proves the best mapping."""
        return proves(self.floor, self.best, self.goal, self.gap)

    def _least_open(self) -> float:
        return min((pool.least for pool in self._pools.values()), default=np.inf)

    def _loop(self) -> None:
        for pool in sorted(self._pools.values(), key=lambda pool: pool.least)[:DIVES]:
            nodes, values = pool.take()
            pool.add(nodes, values)
            self._dive(pool.plan, nodes[:BEAM])
        done, improved = 0, False
        while self._pools and not self._ended():
            pool = min(self._pools.values(), key=lambda pool: pool.least)
            nodes, values = pool.take()
            if not np.isfinite(pool.least):
                del self._pools[pool.plan]
            self.waiting -= len(nodes)
            done += 1
            if not improved and self.cells > PATIENCE:
                self.best, improved = self.improved(self.best), True
            if done % EVERY == 0:
                self._dive(pool.plan, nodes[:BEAM])
            keep = self._open(values)
            if keep.any():
                self._expand(pool.plan, nodes[keep], values[keep])

    def _ended(self) -> bool:
        return self._reached() or self.over() or self.waiting > MOST_OPEN

    def _dive(self, plan: Plan, nodes: Nodes) -> None:
        """Look for a better mapping: follow the cells of least bound down to single chains."""
        weights = np.ones(len(self.tree.tables))
        while len(nodes) and not self.over():
            halves, single = self.tree.halves(nodes, weights)
            undecided = [level for level, kind in enumerate(plan.innermost) if kind is None]
            if single.all() and not undecided:
                for row, value in zip(nodes[:ENDS], self._values(plan, nodes[:ENDS]), strict=True):
                    self._settle(plan, row, float(value))
                return
            parts = [(plan, np.concatenate([halves, nodes[single]]))]
            if single.all():
                parts = [(part, nodes) for part in self._decided(plan, undecided[-1])]
            ranked = [(part, cells, self._values(part, cells)) for part, cells in parts]
            plan, nodes, values = min(ranked, key=lambda each: float(each[2].min()))
            order = np.argsort(values, kind="stable")[:BEAM]
            nodes = nodes[order[values[order] < self._threshold()]]

    def _threshold(self) -> float:
        if self.best is None:
            return np.inf
        return float(self.goal.rank(self.best.statistics)) * (1 - self.gap)

    def _open(self, values: Floats) -> NDArray[np.bool_]:
        """Which cells may hold something better; the others count for the bound."""
        keep = values * (1 - NOISE) < self._threshold()
        closed = values[~keep]
        if len(closed):
            self.pruned = min(self.pruned, float(closed.min()))
        return keep

    def _values(self, plan: Plan, nodes: Nodes) -> Floats:
        """Bounds of the goal; infinite where a limit excludes all mappings."""
        energy, cycles, last = self.tree.bounds.least(plan, nodes)
        figures = {"energy": energy, "delay": cycles, "last-level-accesses": last}
        value = self._rank(self.goal, figures)
        for limit in self._limits:
            value[self._rank(limit.goal, figures) * (1 - NOISE) > float(limit.rank)] = np.inf
        return value

    @staticmethod
    def _rank(goal: Goal, figures: dict[str, Floats]) -> Floats:
        value = np.ones(len(figures["energy"]))
        with np.errstate(invalid="ignore"):
            for metric, power in goal.powers:
                value = value * figures[metric] ** power
        return np.where(np.isnan(value), np.inf, value)

    def _push(self, plan: Plan, nodes: Nodes, known: Floats | None = None) -> None:
        if not len(nodes):
            return
        self.cells += len(nodes)
        values = self._values(plan, nodes)
        if known is not None:
            values = np.maximum(values, known)
        keep = np.isfinite(values)
        self._wait(plan, nodes[keep], values[keep])

    def _wait(self, plan: Plan, nodes: Nodes, values: Floats) -> None:
        """Put cells of these bounds into the pool of their plan."""
        keep = self._open(values)
        nodes, values = nodes[keep], values[keep]
        self.waiting += len(nodes)
        if len(nodes):
            self._pools.setdefault(plan, _Pool(plan)).add(nodes, values)

    def _expand(self, plan: Plan, nodes: Nodes, values: Floats) -> None:
        weights, level = self._choice(plan, nodes, values)
        halves, single = self.tree.halves(nodes, weights)
        undecided = [level for level, kind in enumerate(plan.innermost) if kind is None]
        if level is not None:
            for part in self._decided(plan, level):
                self._push(part, nodes, values)
            return
        self._push(plan, halves)
        if undecided:
            for part in self._decided(plan, undecided[-1]):
                self._push(part, nodes[single], values[single])
        else:
            self._settle_all(plan, nodes[single], values[single])

    def _settle_all(self, plan: Plan, nodes: Nodes, values: Floats) -> None:
        """Settle single cells while no open cell has a smaller bound; the others wait."""
        for at, value in enumerate(values):
            if value > self._least_open() or not self._settle(plan, nodes[at], float(value)):
                self._wait(plan, nodes[at:], values[at:])
                return

    def _decided(self, plan: Plan, level: int) -> list[Plan]:
        kinds = plan.innermost
        return [
            replace(plan, innermost=(*kinds[:level], kind, *kinds[level + 1 :]))
            for kind in self.tree.kinds[level]
        ]

    def _choice(self, plan: Plan, nodes: Nodes, values: Floats) -> tuple[Floats, int | None]:
        """How much a split of each dimension raises bounds, and the level to decide upon instead,
        if that raises them more. Looked at anew whenever the plan was met twice as often.
        """
        times, weights = self._weights.get(plan, (0, np.ones(len(self.tree.tables))))
        looked, level = times & (times - 1) == 0, None
        if looked:
            rows = np.linspace(0, len(nodes) - 1, min(SAMPLE, len(nodes))).astype(np.int64)
            nodes, values = nodes[rows], values[rows]
            weights, best = self._split_gains(plan, nodes, values)
            for number, kind in enumerate(plan.innermost):
                if kind is None:
                    parts = [self._values(part, nodes) for part in self._decided(plan, number)]
                    gain = _gain(values, np.concatenate(parts))
                    if gain > best:
                        best, level = gain, number
        self._weights[plan] = (times + 1, weights)
        return weights, level

    def _split_gains(self, plan: Plan, nodes: Nodes, values: Floats) -> tuple[Floats, float]:
        """The gain of splitting at each dimension per unit of spread, and the greatest gain."""
        spread = self.tree.spread(nodes)
        weights, best = np.full(len(self.tree.tables), 1e-6), 0.0
        differ = [dim for dim in range(len(weights)) if spread[:, dim].any()]
        parts = [
            self.tree.halves(nodes[spread[:, dim] > 0], np.eye(len(weights))[dim])[0]
            for dim in differ
        ]
        if not parts:
            return weights, best
        ends = np.cumsum([len(part) for part in parts])[:-1]
        found = np.split(self._values(plan, np.concatenate(parts)), ends)
        for dim, each in zip(differ, found, strict=True):
            rows = spread[:, dim] > 0
            gain = _gain(values[rows], each)
            weights[dim] = max(gain, 1e-6) / spread[rows, dim].mean()
            best = max(best, gain)
        return weights, best

    def _settle(self, plan: Plan, nodes: NDArray[np.int64], value: float) -> bool:
        """Evaluate the mappings of a single cell, whose bound is `value`, until none can be better.
        False if the time ended before.
        """
        for mapping in self._mappings(plan, nodes):
            if value * (1 - NOISE) >= self._threshold():
                self.pruned = min(self.pruned, value)
                return True
            if self.over():
                return False
            self.evaluated += 1
            self._offer(EvaluatedMapping(mapping, self._evaluate(mapping)))
        return True

    def _mappings(self, plan: Plan, nodes: NDArray[np.int64]) -> Iterator[Mapping]:
        """The legal mappings of a single cell."""
        space, tables = self.tree.space, self.tree.tables
        groups = [
            table.group(chain) for table, chain in zip(tables, self.tree.chains(nodes), strict=True)
        ]
        for chains in product(*groups):
            names = (table.dim for table in tables)
            bounds = level_bounds(space, dict(zip(names, chains, strict=True)))
            found = mappings(space, plan, bounds)
            first = next(found, None)
            if first is not None and is_legal(self._bare, first):
                yield first
                yield from found

    def _offer(self, found: EvaluatedMapping) -> None:
        statistics = found.statistics
        if not all(limit.admits(statistics) for limit in self._limits):
            return
        if self.best is None or self._key(statistics) < self._key(self.best.statistics):
            self.best = found
            self.better(found)

    def _key(self, statistics: Statistics) -> tuple[Fraction, ...]:
        return tuple(goal.rank(statistics) for goal in (self.goal, *self.ties))


def _gain(values: Floats, parts: Floats) -> float:
    """By how much bounds rise on average, in logarithms, per doubling of the number of cells."""
    found = parts[np.isfinite(parts)]
    if not len(found):
        return MOST_GAIN
    logs = np.log(np.maximum(found, 1e-300)).mean() - np.log(np.maximum(values, 1e-300)).mean()
    doublings = np.log2(len(found) / len(values))
    return float(logs / max(doublings, 0.25))
