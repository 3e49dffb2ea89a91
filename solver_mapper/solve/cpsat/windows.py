"""Factors of counts that come from components: dimensions that do not simply multiply, most of them
of sliding windows.

How many words a window moves depends on the order and size of all loops over it
(docs/explanation/model.md "Words into a level"). The model knows the tile, the units of each mesh,
hence the *rounds*: how often an instance comes to a new iteration, and whether the innermost loop
outside slides the window. Of the rest it grants whatever spares words; the exact cost model and
walks outwards tell how it is.

- Where the innermost loop slides the window, the tiles that come by its shift bring what is new. So
  they do in runs of loops over that dimension with no other loop of the tensor in between. Where a
  loop over another dimension may go on with the same shift, all tiles are taken to come by it.
- Elsewhere each tile comes in full unless it stays: where the innermost loop leaves the tensor
  alone, a loop may take back what loops over another dimension inside it have moved, which takes at
  least one move before each time. All loops of the tensor inside it are of one component.
- A unit may take from its neighbour what that one held a round before. One window at least has to
  come from the parent: the first one in the direction of the shift, where no unit was before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.deadline import check_time
from solver_mapper.mapspace.components import RankComponent
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.reuse import Reuse
from solver_mapper.solve.cpsat.selection import LookupTable, Mode, ProductFactor, Selection, Tuple
from solver_mapper.solve.cpsat.table_axes import Layout
from solver_mapper.solve.cpsat.variables import Variables, highest, slots_where


@dataclass(frozen=True)
class Windows:
    """Tiles of `tile[d]` points in so many `rounds[d]` outside, for units side by side.

    above: how many units of each dimension are on the mesh right above, which neighbours share.
    further: how many there are further out; loops outside these skip them.
    skips: dimensions whose loops all do.
    stays: whether a tile may stay while the tensor is idle.
    passes: whether neighbours may pass words on.
    slides: the dimension of the innermost loop, if that slides the window, in runs of so many
            `steps`.
    """

    component: RankComponent
    tile: Mapping[str, int]
    above: Mapping[str, int]
    further: Mapping[str, int]
    rounds: Mapping[str, int]
    skips: frozenset[str]
    stays: bool
    passes: bool
    slides: str | None = None
    steps: int = 1

    @property
    def full(self) -> int:
        """Words of one tile."""
        return self.component.footprint(self.tile)

    def words(self, windows: int) -> int:
        """Words of all tiles at so many different places, at least."""
        rounds, lone = math.prod(self.rounds.values()), windows
        if self.passed_on:
            lone = 1
        if self.slides is None:
            return lone * (self._fewest(rounds) if self.stays else rounds) * self.full
        # Whole tiles are passed on where all are whole; what is new, from a run's third tile on.
        runs = 1 if self._goes_on(self.slides) else rounds // self.steps
        passing = max(0, rounds - 2 * runs)
        new = windows * (rounds - runs - passing) + lone * passing
        return windows * runs * self.full + new * self.fresh(self.slides)

    def fresh(self, dim: str) -> int:
        """Words of a tile that the one before lacks, after the shortest step along `dim`."""
        overlap = 1
        for rank in self.component.ranks:
            extent = 1 + sum(abs(t.coefficient) * (self.tile[t.dim] - 1) for t in rank)
            moved = sum(abs(t.coefficient) for t in rank if t.dim == dim) * self._step(dim)
            overlap *= max(0, extent - moved)
        return self.full - overlap

    @property
    def some_stay(self) -> bool:
        """Whether some tiles may stay."""
        rounds = math.prod(self.rounds.values())
        return self.stays and self._fewest(rounds) < rounds

    def _fewest(self, rounds: int) -> int:
        """In how many rounds tiles come, at least: not where they stay. A loop over one dimension
        takes back what the other has moved if its step is as long as `back` of the other's.
        """
        moving, back = self._moving, [1]
        if len(moving) < 2:
            return rounds
        if not self._skipping and len(self.component.dims) == 2:
            steps = [(one, self._steps(other, one)) for one, other in (moving, moving[::-1])]
            back = [times for one, times in steps if 1 <= times < self.rounds[one]]
        return rounds - max(((rounds - 1) // (times + 1) for times in back), default=0)

    def _goes_on(self, dim: str) -> bool:
        """Whether another loop may go on with the same shift as those over `dim`."""
        others = [each for each in self._moving if each != dim]
        if not others:
            return False
        if self._skipping or len(self.component.dims) > 2:
            return True
        return any(2 <= self._steps(other, dim) <= self.rounds[dim] for other in others)

    def _steps(self, one: str, other: str) -> int:
        """How many steps along `other` move the window as far as one along `one`; 0 if none do."""
        far, near = (self.component.offset({dim: self._step(dim)}) for dim in (one, other))
        times = next((a // b for a, b in zip(far, near, strict=True) if b), 0)
        return times if all(a == times * b for a, b in zip(far, near, strict=True)) else 0

    @property
    def _skipping(self) -> bool:
        """Whether it is open how many units loops skip."""
        return any(units > 1 for dim, units in self.further.items() if dim not in self.skips)

    @property
    def _moving(self) -> list[str]:
        return [dim for dim, rounds in self.rounds.items() if rounds > 1]

    @property
    def passed_on(self) -> bool:
        """Whether neighbours may pass words on, as a unit may come to where another one was: not if
        loops over one dimension alone move all of them past that.
        """
        moving = self._moving
        if not self.passes or not moving or math.prod(self.above.values()) == 1:
            return False
        if len(moving) > 1:
            return True
        spread = [
            sum(
                abs(term.coefficient) * self.tile[term.dim] * (self.above[term.dim] - 1)
                for term in rank
            )
            for rank in self.component.ranks
        ]
        shift = self.component.offset({moving[0]: self._step(moving[0])})
        return all(abs(a) <= b for a, b in zip(shift, spread, strict=True))

    def _step(self, dim: str) -> int:
        """By how many points a loop over the dimension advances, at least."""
        skipped = self.further[dim] if dim in self.skips else 1
        return self.tile[dim] * self.above[dim] * skipped


@dataclass(frozen=True)
class Slide:
    """The innermost loop outside a child slides a window along `dim`, in runs from level `outer`
    inwards.
    """

    dim: str
    outer: int


@dataclass(frozen=True)
class Way:
    """How windows come: by a `slide` or as whole tiles, of which some may stay if `staying`, and
    which neighbours may pass on if `passing`; and at which points. `on`: the literal that says so.
    """

    layout: Layout
    points: tuple[Tuple, ...]
    on: cp_model.IntVar | None = None
    slide: Slide | None = None
    passing: bool = False
    staying: bool = False


@dataclass(frozen=True)
class ChildWindows:
    """Where a component's windows are. On the `meshes` units may have the same windows, which are
    sent once.
    """

    tensor: Tensor
    component: RankComponent
    child: int
    meshes: tuple[int, ...]
    skips: frozenset[str]
    keeps: bool
    linked: bool

    @property
    def stays_anyway(self) -> bool:
        """Whether tiles may stay whatever the innermost loop is, or along with those of other
        components: what neighbours hold may be where it was, and indices that run backwards may
        come back by themselves.
        """
        backwards = any(term.coefficient < 0 for rank in self.tensor.ranks for term in rank)
        return self.linked or (self.keeps and backwards)

    def filled(self, way: Way, point: Tuple) -> int:
        """Words that enter all instances of the child, at least. What neighbours pass on is counted
        elsewhere in part; where they do, each instance gets a whole number, rounded down.
        """
        windows, units = self.windows(way, point), self._units(way.layout, self.child - 1, point)
        words = windows.words(units)
        if windows.passed_on:
            words = max(1, words - (units - 1))
        return words * math.prod(windows.further.values())

    def sent(self, levels: range, way: Way, point: Tuple) -> int:
        """Words that a parent sends through the networks below `levels`, at least."""
        windows, below = self.windows(way, point), self.child - 1
        different = self._units(way.layout, below, point)
        if below in self.meshes:
            different = windows.component.groups(windows.tile, windows.above)
        words = windows.words(different) * math.prod(windows.further.values())
        for level in self.meshes:
            if level in levels and level != below:
                # A window is held by no more units than differ in all dimensions but one.
                units = way.layout.read(f"mesh{level}", point)
                words = words * max(units.values()) // math.prod(units.values())
        return words

    def windows(self, way: Way, point: Tuple) -> Windows:
        """The windows at a point of the table."""
        layout, right_above = way.layout, f"mesh{self.child - 1}"
        tile, above = layout.read("tile", point), layout.read(right_above, point)
        outside = layout.groups.keys() - {"tile", right_above, "steps"}
        meshes = [layout.read(group, point) for group in sorted(outside)]
        further = {dim: math.prod(mesh[dim] for mesh in meshes) for dim in self.component.dims}
        found = Windows(
            *(self.component, tile, above, further, layout.rest(tile, above, further)),
            skips=self.skips,
            stays=way.staying,
            passes=self.linked and (way.passing or way.slide is not None),
        )
        if way.slide is None:
            return found
        dim = way.slide.dim
        return replace(found, slides=dim, steps=layout.read("steps", point)[dim])

    def _units(self, layout: Layout, level: int, point: Tuple) -> int:
        return math.prod(layout.read(f"mesh{level}", point).values())


@dataclass(frozen=True)
class WindowTable:
    """All ways in which windows come at a child, as one table: its points belong to the ways in
    order.
    """

    where: ChildWindows
    ways: tuple[Way, ...]
    selections: tuple[Selection, ...]

    def lookup(self, cost: Callable[[Way, Tuple], int]) -> LookupTable:
        """The table with `cost` of each way and point as values."""
        points = tuple(point for each in self.selections for point in each.points)
        literals = tuple(literal for each in self.selections for literal in each.literals)
        values = list[int]()
        for way, each in zip(self.ways, self.selections, strict=True):
            for point in each.points:
                check_time()
                values.append(cost(way, point))
        return LookupTable(Selection(points, literals), tuple(values))


@dataclass
class ComponentCounts:
    """Builds tables of components, and what is read off them, when first needed."""

    variables: Variables
    reuse: Reuse
    _tables: dict[tuple[str, int, RankComponent], WindowTable] = field(default_factory=dict)
    _factors: dict[tuple[object, ...], ProductFactor] = field(default_factory=dict)
    _moving: dict[tuple[str, int], list[cp_model.IntVar]] = field(default_factory=dict)

    def footprint(self, component: RankComponent, level: int) -> ProductFactor:
        """The component's factor of the tile that `level` holds."""
        key = ("footprint", component, level)
        if key not in self._factors:
            layout = Layout(self.variables, component)
            layout.add("tile", slots_where(self.variables.space, below=level))
            selection = self.variables.tables.select(
                layout.axes, None, None, ("component", component), layout.points()
            )
            values = tuple(
                component.footprint(layout.read("tile", point)) for point in selection.points
            )
            self._factors[key] = self.variables.tables.factor(LookupTable(selection, values))
        return self._factors[key]

    def filled(self, tensor: Tensor, component: RankComponent, child: int) -> ProductFactor:
        """The component's factor of the words that parents send into all instances of `child`."""
        table = self._table(tensor, component, child)
        return self._factor(("filled", tensor.name, component, child), table, table.where.filled)

    def sent(
        self, tensor: Tensor, component: RankComponent, parent: int, child: int
    ) -> ProductFactor:
        """The component's factor of the words that all instances of `parent` send towards `child`
        (which may be the arithmetic).
        """
        table, levels = self._table(tensor, component, child), range(parent, child)
        crossed = tuple(level for level in table.where.meshes if level in levels)
        key = ("sent", tensor.name, component, child, crossed)
        return self._factor(key, table, partial(table.where.sent, levels))

    def held(self, component: RankComponent, level: int) -> ProductFactor:
        """The component's factor of the distinct words that all instances of `level` together ever
        hold, at most: all words in each of the units that it tells apart.
        """
        key = ("held", component, level)
        if key not in self._factors:
            space = self.variables.space
            layout = Layout(self.variables, component)
            layout.add("units", slots_where(space, temporal=False, above=level))
            selection = self.variables.tables.select(layout.axes, None, None, key, layout.points())
            whole = component.footprint(space.problem.bounds)
            values = tuple(
                whole * math.prod(layout.read("units", point).values())
                for point in selection.points
            )
            self._factors[key] = self.variables.tables.factor(LookupTable(selection, values))
        return self._factors[key]

    def _factor(
        self, key: tuple[object, ...], table: WindowTable, cost: Callable[[Way, Tuple], int]
    ) -> ProductFactor:
        if key not in self._factors:
            self._factors[key] = self.variables.tables.factor(table.lookup(cost))
        return self._factors[key]

    def _table(self, tensor: Tensor, component: RankComponent, child: int) -> WindowTable:
        key = (tensor.name, child, component)
        if key not in self._tables:
            self._tables[key] = self._build(tensor, component, child)
        return self._tables[key]

    def _build(self, tensor: Tensor, component: RankComponent, child: int) -> WindowTable:
        space = self.variables.space
        meshes = tuple(
            level for level in range(child) if self._may_coincide(tensor, component, level)
        )
        keeps = child < space.depth and not space.has_flag("no_temporal_reuse", tensor.name, child)
        mesh = slots_where(space, temporal=False, below=child - 1, above=child)
        linked = bool(mesh) and not space.has_flag("no_link_transfer", tensor.name, child - 1)
        skips = frozenset(dim for dim in component.dims if self._skips(dim, child))
        where = ChildWindows(tensor, component, child, meshes, skips, keeps, linked)
        rest = self._layout(where)
        points = tuple(rest.points())
        moving = [
            *self._slides(where),
            *self._staying(where, rest, points),
            *self._passed_on(where, rest, points),
        ]
        still = Way(rest, points, self._still(where, moving), staying=where.stays_anyway)
        ways = [still, *moving]
        selections = self.variables.tables.select_modes(
            [Mode(tuple(way.layout.axes), way.on, way.points) for way in ways],
            ("component", component),
        )
        return WindowTable(where, tuple(ways), tuple(selections))

    def _slides(self, where: ChildWindows) -> Iterator[Way]:
        """All slides that may spare words, where the space leaves their loops a choice."""
        component = where.component
        dims = component.dims if component.sliding and where.keeps else ()
        for dim, outer in product(dims, range(where.child)):
            if not self._loops(dim, outer):
                continue
            layout, slide = self._layout(where), Slide(dim, outer)
            layout.add("steps", self._run(slide, where.child), (dim,))
            way = Way(layout, tuple(layout.points()), None, slide)
            found = [(point, where.windows(way, point)) for point in way.points]
            points = tuple(
                point
                for point, windows in found
                if windows.steps > 1 and windows.fresh(dim) < windows.full
            )
            if points:
                yield replace(way, points=points, on=self._literal(where, slide))

    def _staying(
        self, where: ChildWindows, layout: Layout, points: tuple[Tuple, ...]
    ) -> Iterator[Way]:
        """The way in which some tiles stay, if the innermost loop may leave the tensor alone."""
        if where.stays_anyway or not where.keeps:
            return
        spared = [*chain.from_iterable(self.reuse.spared(where.tensor, where.child).values())]
        way = Way(layout, (), None, staying=True)
        some = tuple(point for point in points if where.windows(way, point).some_stay)
        if some and spared:
            name = f"staying[{where.tensor.name},{where.child},{where.component.dims}]"
            literal = self.variables.model.new_bool_var(name)
            self.variables.model.add(literal <= cp_model.LinearExpr.sum(spared))
            yield replace(way, points=some, on=literal)

    def _passed_on(
        self, where: ChildWindows, layout: Layout, points: tuple[Tuple, ...]
    ) -> Iterator[Way]:
        """The way in which neighbours pass whole tiles on, if they may."""
        if where.component.sliding and where.linked:
            way = Way(layout, (), None, passing=True, staying=True)
            some = tuple(point for point in points if where.windows(way, point).passed_on)
            if some:
                name = f"passed_on[{where.tensor.name},{where.child},{where.component.dims}]"
                yield replace(way, points=some, on=self.variables.model.new_bool_var(name))

    def _still(self, where: ChildWindows, moving: list[Way]) -> cp_model.IntVar | None:
        """The literal that whole tiles come, and from parents; None if nothing else may be. Only
        one component of a tensor slides, stays, or is passed on. (Where neighbours pass on two by
        turns, in no round fewer are left than the smaller number of different windows of one.)
        """
        literals = [way.on for way in moving if way.on is not None]
        if not literals:
            return None
        model = self.variables.model
        literal = model.new_bool_var("still")
        model.add_exactly_one([literal, *literals])
        together = self._moving.setdefault((where.tensor.name, where.child), [])
        together += literals
        model.add_at_most_one(together)
        return literal

    def _literal(self, where: ChildWindows, slide: Slide) -> cp_model.IntVar:
        """Implies that there may be such a run: its dimension has the innermost loop, and no other
        loop of the tensor stands between its levels.
        """
        model, dims = self.variables.model, frozenset(self.variables.space.dims)
        literal = model.new_bool_var(f"slide[{where.tensor.name},{where.child},{slide}]")
        model.add(literal <= self.reuse.slides(where.child, slide.dim))
        others = where.tensor.dims & dims - {slide.dim}
        through = self.reuse.through(others, slide.outer, where.child)
        if through is not None:
            model.add_implication(literal, through)
        powers = self.variables.powers(slide.dim, Slot(slide.outer))
        model.add(literal <= cp_model.LinearExpr.sum(powers))
        return literal

    def _skips(self, dim: str, child: int) -> bool:
        """Whether all temporal loops over a dimension stand outside the units further out."""
        meshes = [level for level in range(child - 1) if spreads(self.variables, dim, level)]
        inside = range(min(meshes, default=child) + 1, child)
        return not any(self._loops(dim, level) for level in inside)

    def _run(self, slide: Slide, child: int) -> list[Slot]:
        return slots_where(self.variables.space, temporal=True, below=slide.outer, above=child)

    def _loops(self, dim: str, level: int) -> bool:
        """Whether temporal loops of the level may run over the dimension."""
        space = self.variables.space
        return any(highest(space, dim, prime, Slot(level)) for prime, _ in space.primes[dim])

    def _layout(self, where: ChildWindows) -> Layout:
        space, child = self.variables.space, where.child
        layout = Layout(self.variables, where.component)
        layout.add("tile", slots_where(space, below=child))
        apart = sorted({*where.meshes, child - 1}) if where.component.sliding else []
        for level in apart:
            mesh = slots_where(space, temporal=False, below=level, above=level + 1)
            layout.add(f"mesh{level}", mesh)
        spatial = slots_where(space, temporal=False, above=child)
        layout.add("further", [slot for slot in spatial if slot.level not in apart])
        return layout

    def _may_coincide(self, tensor: Tensor, component: RankComponent, level: int) -> bool:
        """Whether a mesh may have units with the same windows, to which these are sent once: if it
        can be spread over two dimensions.
        """
        if self.variables.space.has_flag("no_multicast", tensor.name, level):
            return False
        return sum(spreads(self.variables, dim, level) for dim in component.dims) > 1


def spreads(variables: Variables, dim: str, level: int) -> bool:
    """Whether spatial loops below the level may run over `dim`."""
    space = variables.space
    return any(
        highest(space, dim, prime, slot)
        for slot in slots_where(space, temporal=False, below=level, above=level + 1)
        for prime, _ in space.primes[dim]
    )
