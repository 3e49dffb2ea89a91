"""The partial mappings of one Einsum for one view: lower bounds at first, then all that could be
part of something better.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from solver_mapper.cost.looptree.hardware import Unit
from solver_mapper.cost.looptree.storage_choices import placements
from solver_mapper.cost.looptree.workload import Einsum
from solver_mapper.deadline import check_time
from solver_mapper.solve.fused.alike import Form, form_of
from solver_mapper.solve.fused.collect import Collector, Points, columns
from solver_mapper.solve.fused.compiled import compile_skeleton
from solver_mapper.solve.fused.computing import least_time, operations
from solver_mapper.solve.fused.cuts import EinsumView
from solver_mapper.solve.fused.graph import Graph
from solver_mapper.solve.fused.minimize import Best, EnergyDelayProduct, Least, Minimizer
from solver_mapper.solve.fused.single import all_skeletons, leak_of
from solver_mapper.solve.fused.skeleton import Neighbours
from solver_mapper.solve.fused.stopping import poll_of
from solver_mapper.solve.fused.terms import Floats

_QUICK = 2
"""Skeletons of a view, the most promising first, from which a first mapping is made."""
_BEAM = 60
_SAMPLE = 40
"""Skeletons of a view that are looked at before all others."""
_HASTE = 4
"""By how much the power of latency rises in the search for mappings below a limit of it."""

BoundedSearch = tuple[Floats, Minimizer]
"""The least cost that a search may find, and the search."""


@dataclass
class Cell:
    """One view: its searches by increasing bound, the least cost known to be needed, and what was
    found.

    `least` and the rows of `points.cost` have a column for energy and one for latency, as far as
    the goal needs them. `searched` is the least that all other Einsums were taken to cost when
    `points` was collected. `names` leads from the names in the searches to those of this Einsum:
    the searches may be those of another Einsum that is alike.
    """

    view: EinsumView
    searches: list[BoundedSearch]
    floor: Floats
    least: Floats
    names: Mapping[str, str]
    collector: Collector | None = None
    points: Points | None = None
    searched: Floats | None = None
    seen: set[int] = field(default_factory=set)

    @property
    def effort(self) -> float:
        """An estimate of how long the searches take: pairs of rows of the two largest groups."""
        total = 0.0
        for _, search in self.searches:
            sizes = sorted(len(group) for group in search.compiled.groups)
            total += float(np.prod(sizes[-2:]))
        return total

    def covers(self, rest: Floats) -> bool:
        """Whether what was collected contains all that matters if the other Einsums cost at least
        `rest`.
        """
        return self.searched is not None and bool((self.searched <= rest).all())


@dataclass(frozen=True)
class Relaxed:
    """The `least` that is known of a view if any loops may be shared, by column, after so much
    `effort`; None if it has no mapping. `searches` are those that more effort could go on with.
    """

    searches: list[Minimizer]
    least: Floats | None = None
    effort: float = -1.0


@dataclass(frozen=True)
class CellMaker:
    """Makes cells of a graph, for one goal. `over` says when to stop.

    `made`, `sampled`, `bounded`, `glimpses` and `found` remember the cells, those of few skeletons,
    bounds, first mappings and all mappings of forms, `begun` the skeletons that come after a few,
    `sights` what the search sees of each Einsum.
    The limit of a later search is never higher than that of an earlier one.
    """

    graph: Graph
    goal: EnergyDelayProduct
    over: Callable[[], bool]
    made: dict[Hashable, tuple[Form, Cell | None]] = field(default_factory=dict)
    sampled: dict[Hashable, tuple[Form, Cell | None]] = field(default_factory=dict)
    begun: dict[Hashable, tuple[Form, Iterator[BoundedSearch], list[BoundedSearch]]] = field(
        default_factory=dict
    )
    bounded: dict[Hashable, Relaxed] = field(default_factory=dict)
    glimpses: dict[int, tuple[Collector, Points | None]] = field(default_factory=dict)
    found: dict[int, tuple[Collector, Points | None, Floats]] = field(default_factory=dict)
    sights: dict[int, tuple[object, ...]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Number of cost columns: energy, latency or both."""
        return sum(columns(self.goal))

    def value(self, cost: Floats) -> Floats:
        """The goal for rows of cost columns."""
        return self.goal.combined(cost[:, 0], cost[:, -1])

    def cost(self, energy: float, latency: float) -> Floats:
        """The columns that the goal adds up."""
        return np.array(
            [
                value
                for value, wanted in zip((energy, latency), columns(self.goal), strict=True)
                if wanted
            ]
        )

    def computing(self, position: int) -> Floats:
        """The least that the operations of an Einsum cost by themselves. Raises: TimeUp."""
        check_time()
        einsum = self.graph.workload.einsums[position]
        costs = [self._computing(einsum, chain.compute) for chain in self.graph.chains(position)]
        return np.min(costs, axis=0) if costs else np.zeros(self.width)

    def _computing(self, einsum: Einsum, compute: Unit) -> Floats:
        repeats = self.graph.workload.instances * einsum.instances
        calls = operations(einsum, compute)
        energy = repeats * calls * compute.actions["compute"].energy
        return self.cost(float(energy), float(repeats) * least_time(einsum, compute))

    def searches(self, view: EinsumView, loose: bool = False) -> Iterator[BoundedSearch]:
        """A search for each skeleton that has mappings. Args: `loose`, see `Neighbours`."""
        graph, poll = self.graph, poll_of(self.over)
        einsum = graph.workload.einsums[view.position]
        neighbours = Neighbours(
            view.prefix,
            {tensor: home.depth for tensor, home in view.fused},
            dict(view.floors),
            view.closed,
            loose,
        )
        for skeleton in all_skeletons(
            graph.architecture,
            einsum,
            neighbours,
            {tensor: home.memory for tensor, home in view.fused},
        ):
            poll()
            compiled = compile_skeleton(skeleton)
            if not compiled.empty:
                goal = replace(
                    self.goal,
                    leak=leak_of(skeleton),
                    repeats=graph.workload.instances * einsum.instances,
                )
                search = Minimizer(compiled, goal, Best(), self.over)
                search.prepare()
                cost = self.cost(*search.least())
                if np.isfinite(cost).all():
                    yield cost, search

    def by_bound(self, searches: Iterable[BoundedSearch]) -> list[BoundedSearch]:
        """Searches by increasing bound."""
        return sorted(searches, key=lambda item: (self.value(item[0][None])[0], tuple(item[0])))

    def form(self, view: EinsumView) -> Form:
        """The view but for the names of its Einsum."""
        einsum = self.graph.workload.einsums[view.position]
        if view.position not in self.sights:
            architecture = self.graph.architecture
            self.sights[view.position] = tuple(
                (chain, tuple(placements(architecture, einsum, chain)))
                for chain in self.graph.chains(view.position)
            )
        return form_of(
            einsum,
            self.sights[view.position],
            view.prefix,
            view.fused,
            view.floors,
            view.closed,
        )

    def cell(self, view: EinsumView) -> Cell | None:
        """The cell of a view; None if it has no mapping. Views that differ in names only share
        their searches.
        """
        form = self.form(view)
        if form.shape not in self.made:
            self.made[form.shape], _ = self._new(view, form, None)
        return _renamed(self.made[form.shape], view, form)

    def sample(self, view: EinsumView) -> Cell | None:
        """The same with a few skeletons only, if there are more."""
        form = self.form(view)
        if form.shape not in self.made and form.shape not in self.sampled:
            few, more = self._new(view, form, _SAMPLE)
            known = self.sampled if more else self.made
            known[form.shape] = few
        return _renamed(self.made.get(form.shape) or self.sampled[form.shape], view, form)

    def _new(
        self, view: EinsumView, form: Form, most: int | None
    ) -> tuple[tuple[Form, Cell | None], bool]:
        """A cell with at most so many skeletons and the form whose names it has, and whether there
        may be more. It goes on from where a sample ended, perhaps that of another Einsum.
        """
        fresh = form, self.searches(view), list[BoundedSearch]()
        origin, rest, found = self.begun.pop(form.shape, fresh)
        more = False
        for each in rest:
            found.append(each)
            if len(found) == most:
                self.begun[form.shape], more = (origin, rest, found), True
                break
        if not found:
            return (origin, None), more
        searches = self.by_bound(found)
        floor = np.min([cost for cost, _ in searches], axis=0)
        return (origin, Cell(view, searches, floor, floor, {})), more

    def relaxed(self, view: EinsumView, effort: float = float("inf")) -> Floats | None:
        """The least that the Einsum costs if any loops may be shared; None if it has no mapping.
        Energy and latency are each the least by themselves, or less, if that takes more than so
        much effort.
        """
        shape = self.form(view).shape
        known = self.bounded.get(shape)
        if known is None:
            known = Relaxed([search for _, search in self._loose(view)])
        if known.effort < effort:
            known = self.bounded[shape] = self.lowest(known.searches, effort)
        return known.least

    def _loose(self, view: EinsumView) -> list[BoundedSearch]:
        """The searches of a view if any loops may be shared; those of its cell if it shares
        nothing.
        """
        if view.shares:
            return self.by_bound(self.searches(view, loose=True))
        cell = self.cell(view)
        return [] if cell is None else cell.searches

    def lowest(self, searches: list[Minimizer], effort: float = float("inf")) -> Relaxed:
        """The least cost of all searches, as far as so much effort shows it."""
        wanted = [column for column, used in enumerate(columns(self.goal)) if used]
        found = [self._of_column(searches, column, effort) for column in wanted]
        result = np.array([least for least, _ in found])
        known = result if np.isfinite(result).all() else None
        if all(whole for _, whole in found):
            return Relaxed([], known, float("inf"))
        return Relaxed(searches, known, effort)

    def _of_column(
        self, searches: list[Minimizer], column: int, effort: float
    ) -> tuple[float, bool]:
        """The least energy (column 0) or latency (1) of all searches; a lower bound if time or
        effort ran out. And whether these sufficed.
        """
        best, open_bounds = Least(), [float("inf")]
        bounded = [(search.least()[column], search) for search in searches]
        for least, search in sorted(bounded, key=lambda each: each[0]):
            if least >= best.cutoff:
                break
            if effort < 0 or self.over():
                open_bounds.append(least)
                break
            goal = replace(search.goal, energy=1 - column, latency=column)
            attempt = search.again(goal, best)
            attempt.most = effort
            attempt.run()
            effort -= attempt.spent
            if attempt.stopped:
                open_bounds.append(least)
        return min(best.value, *open_bounds), len(open_bounds) == 1

    def quick(self, cell: Cell) -> None:
        """The most promising mappings of a cell: no proof."""
        key = id(cell.searches)
        if key not in self.glimpses:
            collector = self._collector(cell, float("inf"))
            for _, search in cell.searches[:_QUICK]:
                search.again(search.goal, collector).run(beam=_BEAM)
                if search.goal.latency_limit < float("inf"):
                    faster = replace(search.goal, latency=search.goal.latency + _HASTE)
                    search.again(faster, collector).run(beam=_BEAM)
            self.glimpses[key] = collector, collector.points()
        cell.collector, cell.points = self.glimpses[key]

    def _collector(self, cell: Cell, limit: float) -> Collector:
        return Collector(
            limit, tuple(self.graph.crowded), len(cell.view.prefix), columns(self.goal)
        )

    def exact(self, cell: Cell, rest: Floats, limit: float) -> bool:
        """Everything that could be part of something better than `limit`, if all others cost at
        least `rest`. Cells that share their searches share what was found. False: out of time.
        """
        key = id(cell.searches)
        if key in self.found and (self.found[key][2] <= rest).all():
            cell.collector, cell.points, cell.searched = self.found[key]
            return True
        collector = self._collector(cell, limit)
        with_energy, with_latency = columns(self.goal)
        energy = float(rest[0]) if with_energy else 0.0
        latency = float(rest[-1]) if with_latency else 0.0
        for index, (cost, search) in enumerate(cell.searches):
            if self.over():
                return False
            if self.value((rest + cost)[None])[0] <= collector.cutoff:
                cell.seen.add(index)
                goal = replace(search.goal, other_energy=energy, other_latency=latency)
                attempt = search.again(goal, collector)
                attempt.run()
                if attempt.stopped:
                    return False
        self.found[key] = collector, collector.points(), rest
        cell.collector, cell.points, cell.searched = self.found[key]
        return True


def _renamed(known: tuple[Form, Cell | None], view: EinsumView, form: Form) -> Cell | None:
    """The cell of a view that has a form, of one that differs in names only."""
    origin, cell = known
    if cell is None:
        return None
    return replace(cell, view=view, names=dict(zip(origin.names, form.names, strict=True)))
