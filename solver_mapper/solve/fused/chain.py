"""The best mapping of a chain of Einsums, each intermediate fused or not.

Every Einsum is searched once for each way to share loops with its neighbours, for all mappings that
could be part of something better than what is known; these are joined from the first Einsum to the
last. Lower bounds of the other Einsums, for ways that agree, tell what cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.workload import Workload
from solver_mapper.solve.fused.assemble import Branch, tree_of
from solver_mapper.solve.fused.build import part_of
from solver_mapper.solve.fused.collect import Collector, Points, columns
from solver_mapper.solve.fused.compiled import compile_skeleton
from solver_mapper.solve.fused.edges import Edge, Option, chainable
from solver_mapper.solve.fused.join import Keep, States, extend, links, merged, start
from solver_mapper.solve.fused.minimize import Goal, Minimizer
from solver_mapper.solve.fused.single import SearchCount, all_skeletons, leak_of
from solver_mapper.solve.fused.skeleton import Neighbours
from solver_mapper.solve.fused.terms import Floats

_BEAM = 60
_QUICK = 2
"""Skeletons of each option, the most promising first, from which a first mapping is made."""


@dataclass
class Cell:
    """One Einsum with one option: its searches by increasing bound, the least cost known to be
    needed, and what was found.
    """

    einsum: int
    option: Option
    searches: list[tuple[tuple[float, ...], Minimizer]] = field(default_factory=list)
    least: Floats = field(default_factory=lambda: np.zeros(0))
    collector: Collector | None = None
    points: Points | None = None


@dataclass
class ChainSearch:
    """The search for one workload. `powers` of energy and latency in the goal; `over` says when to
    stop.
    """

    architecture: Architecture
    workload: Workload
    powers: tuple[int, int]
    over: Callable[[], bool]
    report: Callable[[float, float], None]
    tally: SearchCount = field(default_factory=SearchCount)
    best: float = float("inf")
    mapping: TreeMapping | None = None

    def run(self) -> None:
        """Find the best mapping. Afterwards `mapping` is it (None: there is none), and `tally` says
        whether that is proven.
        """
        self.goal = Goal(*self.powers)
        self.links = chainable(self.architecture, self.workload)
        self.memories = self.crowded()
        self.cells = [list(self.prepared(index)) for index in range(len(self.workload.einsums))]
        self.report(self.best, self.bound())
        self.quick()
        self.report(self.best, self.bound())
        if self.exact():
            self.join(keep_all=False)
        else:
            self.tally.complete, self.tally.bound = False, self.bound()

    def prepared(self, index: int) -> Iterator[Cell]:
        """The cells of one Einsum that have any mapping at all."""
        einsum = self.workload.einsums[index]
        for option in self.links.options(index):
            edges = [edge for edge in (option.left, option.right) if edge is not None]
            fused = {edge.tensor: edge.memory for edge in edges}
            common = frozenset(einsum.tensors) & self.links.common() - frozenset(fused)
            neighbours = Neighbours(
                option.prefix, {edge.tensor: len(edge.loops) for edge in edges}, common
            )
            cell = Cell(index, option)
            for skeleton in all_skeletons(self.architecture, einsum, neighbours, fused):
                self.tally.skeletons += 1
                compiled = compile_skeleton(skeleton)
                if not compiled.empty:
                    goal = replace(
                        self.goal,
                        leak=leak_of(skeleton),
                        repeats=self.workload.instances * einsum.instances,
                    )
                    search = Minimizer(
                        compiled, goal, Collector(float("inf"), self.memories, len(option.prefix))
                    )
                    search.prepare()
                    cost = self.cost(*search.least())
                    if np.isfinite(cost).all():
                        cell.searches.append((tuple(cost), search))
            if cell.searches:
                cell.searches.sort(key=lambda item: (self.value(np.array([item[0]]))[0], item[0]))
                cell.least = np.min([cost for cost, _ in cell.searches], axis=0)
                yield cell

    def cost(self, energy: float, latency: float) -> Floats:
        """The columns that the goal adds up."""
        return np.array(
            [
                value
                for value, wanted in zip((energy, latency), columns(self.goal), strict=True)
                if wanted
            ]
        )

    def value(self, cost: Floats) -> Floats:
        """The goal for rows of cost columns."""
        energy, latency = (cost[:, 0], cost[:, -1])
        return self.goal.combined(energy, latency)

    def crowded(self) -> tuple[str, ...]:
        """Memories that may hold something for several Einsums at once and are too small to hold
        everything.
        """
        found = []
        for name in sorted({edge.memory for edges in self.links.edges for edge in edges}):
            total, size = Fraction(0), None
            for einsum in self.workload.einsums:
                unit = next(
                    self.architecture.chain(einsum, compute).by_name[name]
                    for compute in self.architecture.enabled_computes(einsum)
                )
                size = unit.size
                total += sum(
                    access.footprint(einsum.bounds) * unit.bits[access.name]
                    for access in einsum.accesses
                )
            if size is not None and total > size:
                found.append(name)
        return tuple(found)

    def rest(self, cell: Cell) -> Floats:
        """The least that the other Einsums cost, with options that agree with this one's."""
        return self.before[cell.einsum].get(cell.option.left, self.never) + self.after[
            cell.einsum
        ].get(cell.option.right, self.never)

    def sweep(self) -> None:
        """Least costs of all Einsums before and after each, by the edge that leads there."""
        self.never = np.full(sum(columns(self.goal)), np.inf)
        nothing: dict[Edge | None, Floats] = {None: np.zeros(len(self.never))}
        self.before, self.after = [nothing], [nothing]
        for cells in self.cells[:-1]:
            self.before.append(
                _least(
                    (
                        cell.option.right,
                        self.before[-1].get(cell.option.left, self.never) + cell.least,
                    )
                    for cell in cells
                )
            )
        for cells in self.cells[:0:-1]:
            self.after.insert(
                0,
                _least(
                    (
                        cell.option.left,
                        self.after[0].get(cell.option.right, self.never) + cell.least,
                    )
                    for cell in cells
                ),
            )

    def bound(self) -> float:
        """A lower bound of the goal from what is known of every cell."""
        if not all(self.cells):
            return float("inf")
        self.sweep()
        costs = [self.rest(cell) + cell.least for cell in self.cells[0]]
        return float(self.value(np.array(costs)).min())

    def quick(self) -> None:
        """A first mapping, from a few searches of each cell that keep only the most promising."""
        if not all(self.cells):
            return
        for cells in self.cells:
            for cell in cells:
                collector = Collector(float("inf"), self.memories, len(cell.option.prefix))
                for _, search in cell.searches[:_QUICK]:
                    search.best = collector
                    search.run(beam=_BEAM)
                cell.collector, cell.points = collector, collector.points()
        self.join(keep_all=True)

    def exact(self) -> bool:
        """Everything that could be part of something better, for every cell. Returns False if there
        was no time.
        """
        if not all(self.cells):
            return True
        for cells in self.cells:
            for cell in cells:
                self.sweep()
                rest = self.rest(cell)
                collector = Collector(self.best, self.memories, len(cell.option.prefix))
                for cost, search in cell.searches:
                    if self.over():
                        return False
                    if self.value(np.array([rest + np.array(cost)]))[0] <= collector.cutoff:
                        self.tally.searched += 1
                        search.best = collector
                        energy, latency = self.split(rest)
                        search.goal = replace(
                            search.goal, other_energy=energy, other_latency=latency
                        )
                        search.run()
                cell.collector, cell.points = collector, collector.points()
                cell.least = self.never if cell.points is None else cell.points.cost.min(axis=0)
            self.report(self.best, self.bound())
        return True

    def split(self, cost: Floats) -> tuple[float, float]:
        with_energy, with_latency = columns(self.goal)
        return float(cost[0]) if with_energy else 0.0, float(cost[-1]) if with_latency else 0.0

    def join(self, keep_all: bool) -> None:
        """Join what the cells have found, and note the best. With `keep_all`, bounds of what was
        not searched are not used.
        """
        if not all(self.cells):
            return
        self.sweep()
        sizes = np.array([self.size(name) for name in self.memories])
        nothing = Option(None, None, ())
        states: dict[Edge | None, list[States]] = {
            None: [start(len(self.never), len(self.memories), nothing)]
        }
        for index, cells in enumerate(self.cells):
            parts: dict[tuple[Edge | None, int, int], list[States]] = {}
            for cell in cells:
                if cell.points is None or not len(cell.points):
                    continue
                rest = (
                    np.zeros(len(self.never))
                    if keep_all
                    else self.after[index].get(cell.option.right, self.never)
                )
                keep = Keep(self.value, rest, self.best)
                for before in states.get(cell.option.left, []):
                    for part in extend(before, cell.option, cell.points, sizes, keep):
                        parts.setdefault((cell.option.right, id(before), id(cell)), []).append(part)
            states = {}
            for (edge, _, _), listed in parts.items():
                both = merged(listed)
                if both is not None:
                    states.setdefault(edge, []).append(both)
        self.note(states.get(None, []))

    def size(self, name: str) -> float:
        einsum = self.workload.einsums[0]
        compute = self.architecture.enabled_computes(einsum)[0]
        size = self.architecture.chain(einsum, compute).by_name[name].size
        return float("inf") if size is None else float(size)

    def note(self, finals: list[States]) -> None:
        """Remember the best of the joined chains."""
        for states in finals:
            values = self.value(states.cost)
            row = int(np.lexsort((*states.cost.T, values))[0])
            if self.mapping is None or values[row] < self.best * (1 - 1e-12):
                self.best = float(values[row])
                self.mapping = tree_of(list(self.branches(states, row)))

    def branches(self, states: States, row: int) -> Iterator[Branch]:
        for cells, link in zip(self.cells, links(states, row), strict=True):
            cell = next(cell for cell in cells if cell.option == link.option)
            assert cell.points is not None and cell.collector is not None
            compiled = cell.collector.compiled[int(cell.points.origin[link.point])]
            rows = [int(each) for each in cell.points.rows[link.point]]
            yield Branch(
                link.option,
                part_of(
                    compiled.skeleton,
                    compiled.dimensions,
                    [group.table for group in compiled.groups],
                    rows,
                ),
            )


def _least(items: Iterator[tuple[Edge | None, Floats]]) -> dict[Edge | None, Floats]:
    found: dict[Edge | None, Floats] = {}
    for edge, cost in items:
        found[edge] = np.minimum(found[edge], cost) if edge in found else cost
    return found
