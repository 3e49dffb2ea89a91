"""Factors of a count that come from sliding windows: components whose dimensions do not simply multiply.

At rest, a component's part of a count is its footprint times the number of tiles, less what coinciding windows share in a multicast.
If a dimension that slides the window has the innermost loop outside the buffer, runs of steps keep halos and feed neighbours
(`space.windows`). Each such way is a mode with a literal and a table of its own; exactly one mode holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from ortools.sat.python import cp_model

from solver_mapper.cpsat.reuse import Reuse
from solver_mapper.cpsat.selection import Axis, Factor, Looked, Mode, Selection, Tuple, value_of
from solver_mapper.cpsat.variables import Variables, highest, slots_where
from solver_mapper.space.shapes import Component
from solver_mapper.space.space import Slot
from solver_mapper.space.windows import Run, RunCost, fill_run, send_run
from solver_mapper.spec.problem import Tensor

Factors = dict[str, int]
@dataclass(frozen=True)
class Slide:
    """A run along `dim` whose outermost loop stands at level `outer`; it may continue through the levels in between."""

    dim: str
    outer: int
    literal: cp_model.IntVar


@dataclass
class Layout:
    """Which axes of a table hold what: groups of (dimension, prime, position of the axis)."""

    variables: Variables
    component: Component
    axes: list[Axis] = field(default_factory=list)
    groups: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)

    def add(self, group: str, dims: tuple[str, ...], slots: list[Slot]) -> None:
        for dim in dims:
            for axis in self.variables.axes(self.variables.places([dim], slots)):
                assert isinstance(axis.key, tuple)
                self.groups.setdefault(group, []).append((dim, int(axis.key[0]), len(self.axes)))
                self.axes.append(axis)

    def read(self, group: str, point: Tuple) -> Factors:
        """The product of bounds that a point gives each dimension in the group."""
        values = dict.fromkeys(self.component.dims, 1)
        for dim, prime, position in self.groups.get(group, []):
            values[dim] *= prime ** point[position]
        return values

    def possible(self, point: Tuple) -> bool:
        """Whether the groups together divide the problem's bounds."""
        used = dict.fromkeys(self.component.dims, 1)
        for group in self.groups:
            used = {dim: used[dim] * factor for dim, factor in self.read(group, point).items()}
        bounds = self.variables.space.problem.bounds
        return all(bounds[dim] % used[dim] == 0 for dim in self.component.dims)

    def tiles(self, *groups: Factors) -> int:
        """Iterations of the component's dimensions outside the given groups of loops."""
        return math.prod(self.rest(*groups).values())

    def rest(self, *groups: Factors) -> Factors:
        """The same for each dimension."""
        bounds = self.variables.space.problem.bounds
        return {d: bounds[d] // math.prod(group[d] for group in groups) for d in self.component.dims}


@dataclass(frozen=True)
class Way:
    """One mode of a window table: a run, or none (`slide` None), with its axes and the literal under which it holds.

    `linked` says whether neighbours stand so that they can pass words on, which costs the child reads: the order of spatial loops
    decides, and the model may choose either. `jumps` says whether they can even as one run follows another, `scrambled` whether rows
    are not full, so that anyone may be a neighbour.
    """

    layout: Layout
    slide: Slide | None
    on: cp_model.IntVar | None
    linked: bool = False
    jumps: bool = False
    scrambled: bool = False


@dataclass(frozen=True)
class WindowTable:
    """All that a component's windows at one child can do, as one table: its points belong to the ways in order."""

    component: Component
    child: int
    ways: tuple[Way, ...]
    selections: tuple[Selection, ...]
    meshes: tuple[int, ...]
    _runs: dict[tuple[int, Tuple], tuple[RunCost, int]] = field(default_factory=dict, compare=False)

    def looked(self, cost: Callable[[Way, Tuple], int]) -> Looked:
        points = tuple(point for each in self.selections for point in each.points)
        literals = tuple(literal for each in self.selections for literal in each.literals)
        values = tuple(cost(way, point) for way, each in zip(self.ways, self.selections, strict=True) for point in each.points)
        return Looked(Selection(points, literals), values)

    def filled(self, way: Way, point: Tuple) -> int:
        """Words that enter all instances of the child."""
        layout = way.layout
        tile = layout.read("tile", point)
        if way.slide is None:
            return self.component.footprint(tile) * layout.tiles(tile)
        steps, dim = layout.read("steps", point), way.slide.dim
        step = tile[dim] * layout.read(f"mesh{self.child - 1}", point)[dim]
        return fill_run(self.component, tile, dim, steps[dim], step) * layout.tiles(tile, steps)

    def sent(self, levels: range, way: Way, point: Tuple) -> int:
        """Words that a parent sends through the networks below `levels`."""
        layout = way.layout
        tile = layout.read("tile", point)
        if way.slide is None:
            words = self.component.footprint(tile) * layout.tiles(tile)
        else:
            run, around = self._run(way.slide, way, point)
            words = run.sent * around
        for level in self.meshes:
            if level not in levels or (way.slide is not None and level == self.child - 1):
                continue
            units = layout.read(f"mesh{level}", point)
            known = level == self.child - 1
            groups = self.component.groups(tile, units) if known else self.component.fewest_groups(units)
            words = words * groups // math.prod(units.values())
        return words

    def linked(self, way: Way, point: Tuple) -> int:
        """Words that instances of the child take from each other."""
        if way.slide is None:
            return 0
        run, around = self._run(way.slide, way, point)
        return run.linked * around

    def _run(self, slide: Slide, way: Way, point: Tuple) -> tuple[RunCost, int]:
        """The cost of one run for the units side by side, and how many such runs there are."""
        key = (id(way), point)
        if key not in self._runs:
            layout = way.layout
            tile, steps = layout.read("tile", point), layout.read("steps", point)
            units = layout.read(f"mesh{self.child - 1}", point)
            run = Run(self.component, tile, units, slide.dim, steps[slide.dim], layout.rest(tile, steps, units))
            self._runs[key] = send_run(run, way.linked, way.jumps, way.scrambled), layout.tiles(tile, steps, units)
        return self._runs[key]


@dataclass(frozen=True)
class Scramble:
    """A literal that claims help from neighbours on partly filled rows, for a run along `dim` into `child`: to be checked."""

    tensor: Tensor
    child: int
    dim: str
    literal: cp_model.IntVar


@dataclass
class Windows:
    """Builds window tables and what is read off them."""

    variables: Variables
    reuse: Reuse
    _slides: dict[tuple[str, int], list[Slide]] = field(default_factory=dict)
    _tables: dict[tuple[str, int, Component], WindowTable] = field(default_factory=dict)
    _factors: dict[tuple[object, ...], Factor] = field(default_factory=dict)
    _partial: dict[int, cp_model.IntVar] = field(default_factory=dict)
    scrambled: list[Scramble] = field(default_factory=list)

    def footprint(self, component: Component, level: int) -> Factor:
        """The component's factor of the tile that `level` holds."""
        key = ("footprint", component, level)
        if key not in self._factors:
            layout = self._tile(component, level)
            selection = self.variables.tables.select(layout.axes, None, layout.possible, ("component", component))
            values = tuple(component.footprint(layout.read("tile", point)) for point in selection.points)
            self._factors[key] = self.variables.tables.factor(Looked(selection, values))
        return self._factors[key]

    def fills(self, tensor: Tensor, component: Component, child: int) -> Factor:
        """The component's factor of the words that enter all instances of `child`."""
        table = self.table(tensor, component, child)
        return self._factor(("fills", tensor.name, component, child), table, table.filled)

    def reads(self, tensor: Tensor, component: Component, parent: int, child: int) -> Factor:
        """The component's factor of the words that all instances of `parent` send towards `child` (which may be the arithmetic)."""
        table = self.table(tensor, component, child)
        levels = range(parent, child)
        crossed = tuple(level for level in table.meshes if level in levels)
        return self._factor(("reads", tensor.name, component, child, crossed), table, partial(table.sent, levels))

    def links(self, tensor: Tensor, component: Component, child: int) -> Factor | None:
        """The component's factor of the words that instances of `child` take from each other; None if they never do."""
        table = self.table(tensor, component, child)
        if not any(way.linked for way in table.ways):
            return None
        factor = self._factor(("links", tensor.name, component, child), table, table.linked)
        return factor if factor.high else None

    def _factor(self, key: tuple[object, ...], table: WindowTable, cost: Callable[[Way, Tuple], int]) -> Factor:
        if key not in self._factors:
            self._factors[key] = self.variables.tables.factor(table.looked(cost))
        return self._factors[key]

    def table(self, tensor: Tensor, component: Component, child: int) -> WindowTable:
        key = (tensor.name, child, component)
        if key not in self._tables:
            space = self.variables.space
            slides = self.slides(tensor, component, child)
            meshes = tuple(level for level in range(child) if self._overlaps(tensor, component, level))
            ways = [Way(self._layout(component, child, meshes, None), None, self._still(slides))]
            linkable = (child > 0 and not space.has_flag("no_link_transfer", tensor.name, child - 1)
                        and any(self._spreads(dim, child - 1) for dim in component.dims))
            for slide in slides:
                layout = self._layout(component, child, meshes, slide)
                choices = self._link_choices(tensor, component, child, slide) if linkable else [(slide.literal, False, False, False)]
                ways += [Way(layout, slide, *choice) for choice in choices]
            modes = [Mode(tuple(way.layout.axes), way.on, way.layout.possible) for way in ways]
            selections = self.variables.tables.select_modes(modes, ("component", component))
            self._tables[key] = WindowTable(component, child, tuple(ways), tuple(selections), meshes)
        return self._tables[key]

    def _link_choices(self, tensor: Tensor, component: Component, child: int,
                      slide: Slide) -> list[tuple[cp_model.IntVar, bool, bool, bool]]:
        """(literal, linked, jumps, scrambled): how neighbours help during the run.

        A jump between runs stays within reach only if the next loop outwards is over a dimension of the component or one that
        leaves the tensor alone. That loop stands at the run's level, or all else there is absent.
        """
        variables, space = self.variables, self.variables.space
        model, slot = variables.model, Slot(slide.outer)
        apart, linked, jumping, outside = (model.new_bool_var(name) for name in ("apart", "linked", "jumping", "outside"))
        mixed = model.new_bool_var("scrambled")
        self.scrambled.append(Scramble(tensor, child, slide.dim, mixed))
        model.add(mixed <= self._partly_filled(child - 1))
        model.add(apart + linked + jumping + mixed == slide.literal)
        near = {*component.dims, *space.irrelevant(tensor)} - {slide.dim}
        beside = [variables.power[dim, prime, slot] for dim in sorted(near) for prime, _ in space.primes[dim]]
        model.add(jumping <= cp_model.LinearExpr.sum([*beside, outside]))
        model.add_implication(outside, self.reuse.idle(frozenset(space.dims) - near - {slide.dim}, slide.outer))
        return [(apart, False, False, False), (linked, True, False, False), (jumping, True, True, False), (mixed, True, True, True)]

    def _partly_filled(self, level: int) -> cp_model.IntVar:
        """Implies that the level uses several rows of its mesh and does not fill them."""
        if level not in self._partial:
            variables, space = self.variables, self.variables.space
            literal = variables.model.new_bool_var(f"partial[{level}]")
            rows = [v for (_, _, slot), v in variables.power.items() if slot == Slot(level, "Y")]
            variables.model.add(literal <= cp_model.LinearExpr.sum(rows))
            axes = variables.axes(variables.places(space.dims, [Slot(level, "X")] if Slot(level, "X") in space.slots else []))
            width = space.architecture.fanout(level)[0]
            selection = variables.tables.select(axes, None, lambda p: value_of(axes, p) <= width, name=("fanout", Slot(level, "X")))
            full = [lit for lit, p in zip(selection.literals, selection.points, strict=True) if value_of(axes, p) == width]
            variables.model.add(cp_model.LinearExpr.sum([literal, *full]) <= 1)
            self._partial[level] = literal
        return self._partial[level]

    def slides(self, tensor: Tensor, component: Component, child: int) -> list[Slide]:
        """The ways in which runs along dimensions of the component can happen at `child`."""
        space = self.variables.space
        if not component.sliding or space.has_flag("no_temporal_reuse", tensor.name, child):
            return []
        if child == space.depth and not any(self._spreads(dim, child - 1) for dim in component.dims):
            return []
        key = (tensor.name, child)
        if key not in self._slides:
            dims = [d for d in space.dims if d in space.sliding and d in tensor.dims]
            ways = [self._slide(tensor, child, outer, dim) for dim in dims for outer in range(child)]
            self._slides[key] = [way for way in ways if way is not None]
            if self._slides[key]:
                self.variables.model.add_at_most_one([way.literal for way in self._slides[key]])
        return [way for way in self._slides[key] if way.dim in component.dims]

    def _slide(self, tensor: Tensor, child: int, outer: int, dim: str) -> Slide | None:
        """The literal implies: the level's order starts with `dim`, its loop exists, and loops over nothing else are nearer."""
        variables, space = self.variables, self.variables.space
        starts = [variables.pattern[outer][k] for k, p in enumerate(space.patterns[outer]) if p.order[:1] == (dim,)]
        rooms = [highest(space, dim, prime, Slot(outer)) for prime, _ in space.primes[dim]]
        if not starts or not any(rooms):
            return None
        literal = variables.model.new_bool_var(f"slide[{tensor.name},{child},{outer},{dim}]")
        variables.model.add(literal <= cp_model.LinearExpr.sum(starts))
        variables.model.add(literal <= cp_model.LinearExpr.sum([variables.power[dim, p, Slot(outer)] for p, _ in space.primes[dim]]))
        through = self.reuse.through(frozenset(space.dims) - {dim}, outer, child)
        if through is not None:
            variables.model.add_implication(literal, through)
        return Slide(dim, outer, literal)

    def _still(self, slides: list[Slide]) -> cp_model.IntVar | None:
        """The literal that no run along these dimensions happens; None if none can."""
        if not slides:
            return None
        literal = self.variables.model.new_bool_var("still")
        self.variables.model.add(literal + cp_model.LinearExpr.sum([slide.literal for slide in slides]) == 1)
        return literal

    def _overlaps(self, tensor: Tensor, component: Component, level: int) -> bool:
        """Whether two dimensions of the component can be spatial there, so that windows may coincide in a multicast."""
        if not component.sliding or self.variables.space.has_flag("no_multicast", tensor.name, level):
            return False
        return sum(self._spreads(d, level) for d in component.dims) > 1

    def _spreads(self, dim: str, level: int) -> bool:
        space = self.variables.space
        return any(highest(space, dim, prime, s) for s in self._mesh(level) for prime, _ in space.primes[dim])

    def _mesh(self, level: int) -> list[Slot]:
        return [s for s in self.variables.space.slots if s.level == level and s.axis]

    def _tile(self, component: Component, child: int) -> Layout:
        layout = Layout(self.variables, component)
        layout.add("tile", component.dims, slots_where(self.variables.space, below=child))
        return layout

    def _layout(self, component: Component, child: int, meshes: tuple[int, ...], slide: Slide | None) -> Layout:
        layout = self._tile(component, child)
        levels = set(meshes) | ({child - 1} if slide is not None else set())
        for level in sorted(levels):
            layout.add(f"mesh{level}", component.dims, self._mesh(level))
        if slide is not None:
            layout.add("steps", (slide.dim,), slots_where(self.variables.space, temporal=True, below=slide.outer, above=child))
        return layout
