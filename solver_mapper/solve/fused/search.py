"""The best mapping of a workload of several Einsums, any of its intermediates kept on chip for all
their readers.

First each Einsum alone is bounded from below for every choice of memories for what it shares, as if
it could choose all loops above that by itself; over the graph these add up to a bound of the whole,
and tell which choices cannot matter. Then the limit on shared loops is raised step by step. For
each limit, every Einsum is searched once for each view that is left, for all mappings that could be
part of something better than the best known; these are joined from the first Einsum to the last.
The search is complete when a higher limit adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.workload import Workload
from solver_mapper.deadline import TimeUp
from solver_mapper.solve.fused.build import part_of
from solver_mapper.solve.fused.cells import Cell, CellMaker
from solver_mapper.solve.fused.collect import columns
from solver_mapper.solve.fused.compiled import EPSILON
from solver_mapper.solve.fused.cuts import (
    CLOSED,
    EinsumView,
    GraphCut,
    Places,
    Step,
    Stepper,
    loose_view,
)
from solver_mapper.solve.fused.graph import Graph
from solver_mapper.solve.fused.minimize import EnergyDelayProduct
from solver_mapper.solve.fused.single import SearchCount
from solver_mapper.solve.fused.skeleton import loops_in_time
from solver_mapper.solve.fused.states import Joiner, States, links, start, together
from solver_mapper.solve.fused.stopping import poll_of
from solver_mapper.solve.fused.terms import Floats
from solver_mapper.solve.fused.trees import EinsumNodes, tree_of

_FIRST = 2
"""Limits on shared loops for which a first mapping is looked for before the search proper."""

_LITTLE = 200_000_000
"""Effort of a view's first bounds, with which mappings are looked for before the search proper."""

Key = TypeVar("Key")


@dataclass
class GraphSearch:
    """The search for one workload. `powers` of energy and latency in the goal; `over` says when to
    stop; `confirm` evaluates each mapping that is better than the ones before, given with its
    value, and raises TimeUp if there is no time for that; `most` shared loops at most above any
    Einsum (None: no limit). What is better by a share of at most `gap` may be passed over, what
    takes more than `latency_limit` (s) is not wanted. `apart`: what each Einsum costs at least,
    whatever it shares.
    """

    architecture: Architecture
    workload: Workload
    powers: tuple[int, int]
    over: Callable[[], bool]
    report: Callable[[float, float], None]
    confirm: Callable[[TreeMapping, float], None]
    most: int | None = None
    gap: float = 0.0
    latency_limit: float = float("inf")
    count: SearchCount = field(default_factory=SearchCount)
    best: float = float("inf")
    bound: float = 0.0
    apart: list[Floats] = field(default_factory=list)
    cells: dict[EinsumView, Cell | None] = field(default_factory=dict)

    def run(self) -> None:
        """Find the best mapping, which is the last that is confirmed. `count` says whether that is
        proven.
        """
        try:
            self.count.complete = self.searched()
        except TimeUp:
            self.count.complete = False
        self.count.bound = self.bound
        self.count.skeletons = sum(len(cell.searches) for cell in self.cells.values() if cell)
        self.count.searched = sum(len(cell.seen) for cell in self.cells.values() if cell)

    def searched(self) -> bool:
        """Search. Returns whether the best is proven. Raises: TimeUp."""
        self.graph = Graph(self.architecture, self.workload)
        goal = EnergyDelayProduct(*self.powers, latency_limit=self.latency_limit)
        self.maker = CellMaker(self.graph, goal, self.over)
        self.never = np.full(sum(columns(self.maker.goal)), np.inf)
        self.apart = [self.maker.computing(each) for each in range(len(self.graph))]
        self.bound = self.least_value([np.sum(self.apart, axis=0)])
        self.report(self.best, self.bound)
        self.unfused()
        if not self.relax(_LITTLE):
            return False
        return self.deepen() if np.isfinite(self.bound) else True

    @property
    def cutoff(self) -> float:
        """What costs more cannot matter. A little below what the gap allows, for rounding."""
        return self.best * (1 - max(self.gap - 2 * EPSILON, 0.0))

    @property
    def proven(self) -> bool:
        """Whether nothing can be better than the best mapping by more than the gap."""
        return self.cutoff <= self.bound * (1 + EPSILON)

    def deepen(self) -> bool:
        """Raise the limit on shared loops until it cuts off nothing that could be better. Returns
        whether the best is proven.
        """
        for limit in range(_FIRST if self.most is None else min(_FIRST, self.most + 1)):
            if not self.first(limit):
                return False
            if self.proven:
                return True
        if not self.relax(float("inf")):
            return False
        limit = 0
        while True:
            done, capped = self.stage(limit)
            if not done:
                return False
            if not capped or limit == self.most:
                self.bound = max(self.bound, self.cutoff)
            if self.proven:
                return True
            limit += 1
            self.report(self.best, self.bound)

    def unfused(self) -> None:
        """Mappings that hand nothing over on chip, as the first of all: one from a few skeletons of
        each Einsum, of which there may be thousands, and one from all. Einsums that share nothing
        raise the bound meanwhile.
        """
        self.unfused_of(self.maker.sample)
        self.cells.clear()  # samples bound nothing
        self.unfused_of(self.maker.cell)

    def unfused_of(self, make: Callable[[EinsumView], Cell | None]) -> None:
        """A mapping that hands nothing over on chip, from the cells of one kind."""
        stepper, left, steps = Stepper(self.graph, 0), CLOSED, []
        for position in range(len(self.graph)):
            if self.over():
                return
            step = next(each for each in stepper.steps(position, left) if not each.view.fused)
            cell = self.cells[step.view] = make(step.view)
            if cell is None:
                return
            if not step.view.shares and make == self.maker.cell:
                self.apart[position] = np.maximum(self.apart[position], cell.floor)
                self.bound = self.least_value([np.sum(self.apart, axis=0)])
                self.report(self.best, min(self.bound, self.best))
            self.maker.quick(cell)
            steps.append([step])
            left = step.right
        self.join(steps, exact=False)

    def relax(self, effort: float) -> bool:
        """Bound each Einsum for every choice of memories for what it shares, and the whole; of
        Einsums not bounded yet, `apart` is known. With little effort bounds are lower. Returns
        False if time ran out.
        """
        graph, self.relaxing, rest = self.graph, effort, _sums(self.apart)
        self.floor: dict[EinsumView, Floats | None] = {}
        cuts: list[set[Places]] = [{()}]
        edges: list[list[tuple[Places, Places, Floats]]] = []
        layer: dict[Places, Floats] = {(): np.zeros(len(self.never))}
        for position in range(len(graph)):
            found, after = [], set()
            for left in sorted(cuts[-1], key=str):
                for right in self._positions(position, left):
                    if self.over():
                        return False
                    least = self.lowest(loose_view(self.graph, position, left, right))
                    if least is not None:
                        found.append((left, right, least))
                        after.add(right)
            edges.append(found)
            cuts.append(after)
            layer = _next(layer, found)
            least_so_far = self.least_value(layer.values(), rest[position + 1])
            self.bound = max(self.bound, least_so_far)
            self.report(self.best, min(self.bound, self.best))
        self.loose_before = _sweep(edges, self.never)
        self.loose_after = _sweep(
            [[(right, left, least) for left, right, least in found] for found in reversed(edges)],
            self.never,
        )[::-1]
        return True

    def least_value(self, costs: Iterable[Floats], rest: Floats | float = 0.0) -> float:
        """The least value that any of the costs has if `rest` is added; infinite without any."""
        values = [float(self.maker.value((cost + rest)[None])[0]) for cost in costs]
        return min((value for value in values if np.isfinite(value)), default=float("inf"))

    def _positions(self, position: int, left: Places) -> Iterator[Places]:
        graph = self.graph
        live = frozenset(graph.live(position))
        kept = [(tensor, memory) for tensor, memory in left if tensor in live]
        options: list[Places] = [tuple(kept)]
        for tensor in graph.born(position):
            options = [
                (*option, (tensor, memory))
                for option in options
                for memory in (None, *graph.homes(tensor))
            ]
        yield from (tuple(sorted(option)) for option in options)

    def lowest(self, view: EinsumView) -> Floats | None:
        """The least cost of a view, by column, if any loops may be shared; None if it has no
        mapping.
        """
        if view not in self.floor:
            self.floor[view] = self.maker.relaxed(view, self.relaxing)
        return self.floor[view]

    def stage(self, limit: int) -> tuple[bool, bool]:
        """Search with a limit on shared loops. Returns whether it was completed, and whether the
        limit cut off what could matter.
        """
        prepared, capped = self.prepared(limit)
        if prepared is None:
            return False, True
        steps = prepared
        effort = [self.effort(listed) for listed in steps]
        for position in sorted(range(len(self.graph)), key=effort.__getitem__):
            rests = self.rests(steps)
            for view in _views(steps[position]):
                cell = self.cells[view]
                if cell is not None:
                    rest = rests[id(cell.searches)]
                    if not cell.covers(rest) and not self.maker.exact(cell, rest, self.cutoff):
                        return False, True
                    cell.least = self.never if cell.points is None else cell.points.cost.min(axis=0)
            steps = self.useful(steps)
            if not capped or limit == self.most:
                self.raise_bound(steps)
        self.join(steps, exact=True)
        return True, capped

    def raise_bound(self, steps: list[list[Step]]) -> None:
        """Raise the bound to the least that any of these steps, which are all that could be part of
        something better, add up to.
        """
        least = self.sweeps(steps)[0][-1].get(CLOSED)
        value = self.cutoff if least is None else self.least_value([least])
        self.bound = max(self.bound, min(self.cutoff, value))
        self.report(self.best, min(self.bound, self.best))

    def prepared(self, limit: int) -> tuple[list[list[Step]] | None, bool]:
        """The steps that the bounds of their cells leave, and whether there are more with a higher
        limit. None: out of time.
        """
        listed, capped = self.listed(limit)
        if listed is None:
            return None, True
        for cell in self.cells.values():
            if cell is not None:
                cell.least = cell.floor  # what was found below a lower limit is no bound here
        steps = self.useful(_connected(listed))
        views = [len(_views(each)) for each in steps]
        for position in sorted(range(len(steps)), key=views.__getitem__):
            for view in _views(steps[position]):
                if self.over():
                    return None, True
                if view not in self.cells:
                    self.cells[view] = self.maker.cell(view)
            steps = self.useful(steps)
        return steps, capped

    def effort(self, steps: list[Step]) -> float:
        """An estimate of how long it takes to search all views of an Einsum."""
        return sum(
            cell.effort
            for cell in (self.cells[view] for view in {step.view for step in steps})
            if cell is not None
        )

    def listed(self, limit: int) -> tuple[list[list[Step]] | None, bool]:
        """The steps of every Einsum that its bounds leave, and whether there are more with a higher
        limit. None: out of time.
        """
        stepper = Stepper(self.graph, limit, self.hopeful)
        cuts: dict[GraphCut, None] = {CLOSED: None}
        result: list[list[Step]] = []
        capped = False
        for position in range(len(self.graph)):
            found: list[Step] = []
            for left in cuts:
                if self.over():
                    return None, True
                found += stepper.steps(position, left)
            capped = capped or any(loops_in_time(step.view.prefix) == limit for step in found)
            result.append(found)
            cuts = dict.fromkeys(step.right for step in found)
        return result, capped

    def hopeful(self, position: int, cut: GraphCut, born: Mapping[str, str | None]) -> bool:
        """Whether it may be part of a better mapping to go on from a cut with these memories for
        the tensors that come to life, by bounds that ignore loops and room.
        """
        live = frozenset(self.graph.live(position))
        left = cut.memories
        kept = tuple((tensor, memory) for tensor, memory in left if tensor in live)
        right: Places = tuple(sorted((*kept, *born.items())))
        least = self.lowest(loose_view(self.graph, position, left, right))
        before, after = (
            self.loose_before[position].get(left),
            self.loose_after[position + 1].get(right),
        )
        if least is None or before is None or after is None:
            return False
        return self.within(before + least + after)

    def within(self, cost: Floats) -> bool:
        """Whether a cost, by column, may belong to something better than the best mapping."""
        return bool(
            np.isfinite(cost).all()
            and np.isfinite(value := self.maker.value(cost[None])[0])
            and value <= self.cutoff * (1 + EPSILON)
        )

    def useful(self, steps: list[list[Step]]) -> list[list[Step]]:
        """The steps whose cells, with the least that all others cost, may be part of something
        better.
        """
        before, after = self.sweeps(steps)
        kept = [
            [
                step
                for step in listed
                if self.within(
                    before[position].get(step.left, self.never)
                    + self.least(step)
                    + after[position + 1].get(step.right, self.never)
                )
            ]
            for position, listed in enumerate(steps)
        ]
        return _connected(kept)

    def least(self, step: Step) -> Floats:
        """The least known cost of a step's view, by column; infinite if it has no mapping."""
        view = step.view
        if view not in self.cells:
            places = step.left.memories, step.right.memories
            least = self.lowest(loose_view(self.graph, view.position, *places))
        else:
            cell = self.cells[view]
            least = None if cell is None else cell.least
        return self.never if least is None else least

    def sweeps(
        self, steps: list[list[Step]]
    ) -> tuple[list[dict[GraphCut, Floats]], list[dict[GraphCut, Floats]]]:
        """Least costs of all Einsums before and after each cut."""
        edges = [[(step.left, step.right, self.least(step)) for step in listed] for listed in steps]
        back = [[(right, left, cost) for left, right, cost in listed] for listed in reversed(edges)]
        return _sweep(edges, self.never), _sweep(back, self.never)[::-1]

    def rests(self, steps: list[list[Step]]) -> dict[int, Floats]:
        """For each list of searches (by its id), which cells of several Einsums may share, the
        least that all other Einsums cost.
        """
        before, after = self.sweeps(steps)
        found: dict[int, Floats] = {}
        for position, listed in enumerate(steps):
            for step in listed:
                cell = self.cells[step.view]
                if cell is not None:
                    rest = before[position].get(step.left, self.never) + after[position + 1].get(
                        step.right, self.never
                    )
                    key = id(cell.searches)
                    found[key] = np.minimum(found.get(key, self.never), rest)
        return found

    def first(self, limit: int) -> bool:
        """A first mapping, from a few searches of each cell that keep only the most promising.
        Returns False if time ran out.
        """
        steps, _ = self.prepared(limit)
        if steps is None:
            return False
        for listed in steps:
            for view in _views(listed):
                cell = self.cells[view]
                if cell is not None and cell.points is None and cell.searched is None:
                    if self.over():
                        return False
                    self.maker.quick(cell)
        self.join(steps, exact=False)
        return True

    def join(self, steps: list[list[Step]], exact: bool) -> None:
        """Join what the cells have found, and note the best. Unless `exact`, bounds of what was not
        searched are not used.
        """
        after = self.sweeps(steps)[1]
        joiner = Joiner(self.graph, self.maker.value, self.cutoff, poll_of(self.over))
        states: dict[GraphCut, States] = {CLOSED: start(len(self.never), len(self.graph.crowded))}
        for position, listed in enumerate(steps):
            parts: dict[GraphCut, list[States]] = {}
            for step in listed:
                cell, before = self.cells[step.view], states.get(step.left)
                if before is not None and cell is not None and cell.points is not None:
                    rest = (
                        after[position + 1].get(step.right, self.never)
                        if exact
                        else np.zeros(len(self.never))
                    )
                    part = joiner.joined(before, step, cell.points, rest)
                    if part is not None and len(part):
                        parts.setdefault(step.right, []).append(part)
            states = {
                cut: together(listed_parts).pruned(joiner.poll)
                for cut, listed_parts in parts.items()
            }
        if CLOSED in states:
            self.note(states[CLOSED])

    def note(self, final: States) -> None:
        """Confirm the best of the joined graphs. Raises: TimeUp."""
        values = self.maker.value(final.cost)
        if not len(values):
            return
        row = int(np.lexsort((*final.cost.T, values))[0])
        if values[row] < self.best * (1 - 1e-12):
            self.confirm(tree_of(list(self.einsums(final, row))), float(values[row]))
            self.best = float(values[row])
            self.report(self.best, min(self.bound, self.best))

    def einsums(self, final: States, row: int) -> Iterator[EinsumNodes]:
        """The nodes of each Einsum, first to last, of the joined mapping in `row`."""
        for link in links(final, row):
            cell = self.cells[link.step.view]
            assert cell is not None and cell.points is not None and cell.collector is not None
            compiled = cell.collector.compiled[int(cell.points.origin[link.point])]
            rows = [int(each) for each in cell.points.rows[link.point]]
            part = part_of(
                compiled.skeleton,
                compiled.dimensions,
                [group.table for group in compiled.groups],
                rows,
            )
            einsum = self.workload.einsums[link.step.view.position].name
            yield EinsumNodes(link.step, part.renamed(cell.names, einsum))


def _sweep(
    edges: Iterable[list[tuple[Key, Key, Floats]]], never: Floats
) -> list[dict[Key, Floats]]:
    """Least sums of the costs of edges from the start to each node, layer by layer. All start at
    the empty cut.
    """
    layers: list[dict[Key, Floats]] = []
    for listed in edges:
        if not layers:
            layers.append({first: np.zeros(len(never)) for first, _, _ in listed})
        layers.append(_next(layers[-1], listed))
    return layers


def _next(layer: dict[Key, Floats], edges: list[tuple[Key, Key, Floats]]) -> dict[Key, Floats]:
    """Least sums of costs to the ends of edges that begin in a layer."""
    found: dict[Key, Floats] = {}
    for begin, end, cost in edges:
        if begin in layer:
            total = layer[begin] + cost
            found[end] = np.minimum(found[end], total) if end in found else total
    return found


def _views(steps: list[Step]) -> dict[EinsumView, None]:
    """The views of steps, each once."""
    return dict.fromkeys(step.view for step in steps)


def _sums(costs: list[Floats]) -> list[Floats]:
    """Of each cost and all after it; of none at last."""
    sums = [np.zeros(len(costs[0]))]
    for cost in reversed(costs):
        sums.insert(0, sums[0] + cost)
    return sums


def _connected(steps: list[list[Step]]) -> list[list[Step]]:
    """The steps that lie on some way from the start to the end."""
    reached = {CLOSED}
    forward = []
    for listed in steps:
        kept = [step for step in listed if step.left in reached]
        reached = {step.right for step in kept}
        forward.append(kept)
    wanted = {CLOSED}
    result: list[list[Step]] = []
    for listed in reversed(forward):
        kept = [step for step in listed if step.right in wanted]
        wanted = {step.left for step in kept}
        result.append(kept)
    return result[::-1]
