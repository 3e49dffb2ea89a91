"""Factors of a count that come from sliding windows: components whose dimensions do not simply
multiply.

At rest, a component's part of a count is its footprint times the number of tiles, less what
coinciding windows share in a multicast. Motions (`motions.py`) spare words, and neighbours may
help each other during them (`runs.py`). Each such way is a mode with a literal and a table of its
own, which lists only the points at which it spares anything; exactly one mode holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.solve.cpsat.networks.links import Links
from solver_mapper.solve.cpsat.networks.neighbours import NeighbourLiterals
from solver_mapper.solve.cpsat.reuse import Reuse
from solver_mapper.solve.cpsat.selection import LookupTable, Mode, ProductFactor, Selection, Tuple
from solver_mapper.solve.cpsat.sequences import Sequences
from solver_mapper.solve.cpsat.sliding_windows.motions import (
    Claims,
    Motion,
    WindowPosition,
    comes_back,
    goes_on,
    happens,
    layout_of,
    motions,
    run_of,
)
from solver_mapper.solve.cpsat.sliding_windows.table_axes import Layout
from solver_mapper.solve.cpsat.variables import Variables, slots_where


@dataclass(frozen=True)
class Way:
    """One mode of a window table: a motion, or rest (`motion` None), the points where it applies,
    and its literal.

    `helped` says whether neighbours pass on all that they may (`Run.sent_at_least`). `least`
    replaces all counts where they are not worked out.
    """

    layout: Layout
    points: tuple[Tuple, ...]
    on: cp_model.IntVar | None
    motion: Motion | None = None
    helped: bool = False
    least: int | None = None


@dataclass(frozen=True)
class WindowTable:
    """All that a component's windows at one child can do, as one table: its points belong to the
    ways in order. `rows`: those of the `meshes` that are a row whose units only differ in the
    component.
    """

    position: WindowPosition
    ways: tuple[Way, ...]
    selections: tuple[Selection, ...]
    meshes: tuple[int, ...]
    rows: frozenset[int]
    _runs: dict[tuple[int, Tuple], int] = field(default_factory=dict, compare=False)
    _shares: dict[Tuple, Fraction] = field(default_factory=dict, compare=False)

    def lookup(self, cost: Callable[[Way, Tuple], int]) -> LookupTable:
        """The table with `cost` of each way and point as values."""
        points = tuple(point for each in self.selections for point in each.points)
        literals = tuple(literal for each in self.selections for literal in each.literals)
        values = tuple(
            cost(way, point)
            for way, each in zip(self.ways, self.selections, strict=True)
            for point in each.points
        )
        return LookupTable(Selection(points, literals), values)

    def filled(self, way: Way, point: Tuple) -> int:
        """Words that enter all instances of the child."""
        if way.least is not None:
            return way.least
        layout, motion = way.layout, way.motion
        tile = layout.read("tile", point)
        if motion is None:
            return self.position.component.footprint(tile) * layout.tiles(tile)
        steps, turns = layout.read("steps", point), layout.read("turns", point)
        if not motion.returns:
            return run_of(self.position, motion, layout, point).filled * layout.tiles(
                tile, steps, turns
            )
        inside = layout.read("inside", point)
        again = turns[motion.other or ""]
        stays = again - 1 + comes_back(self.position, motion, layout, point)
        fetched = again * math.prod(steps.values()) * math.prod(inside.values()) - stays
        return (
            self.position.component.footprint(tile)
            * fetched
            * layout.tiles(tile, steps, turns, inside)
        )

    def sent(self, levels: range, way: Way, point: Tuple) -> int:
        """Words that a parent sends through the networks below `levels`."""
        if way.least is not None:
            return way.least
        layout, below = way.layout, self.position.child - 1
        sliding = way.motion is not None and not way.motion.returns
        words = self._run_sends(way, point) if sliding else self.filled(way, point)
        tile = layout.read("tile", point)
        for level in self.meshes:
            if level not in levels or (sliding and level == below):
                continue
            units = layout.read(f"mesh{level}", point)
            if level == below:
                groups = self.position.component.groups(tile, units)
                words = words * groups // math.prod(units.values())
            else:
                words = math.floor(words * self._fewest_sent(level, way, point))
        return words

    def _fewest_sent(self, level: int, way: Way, point: Tuple) -> Fraction:
        """The least share of the words of the units side by side below `level`, further out than
        the child's, that are sent to them.

        Two units hold the same window if their offsets, in points of their tiles, come to the same
        index. Their tiles are made of all loops further in: those of the child's tile and of the
        meshes further in are known, and the others divide what no known loop takes of a dimension.
        """
        component, layout = self.position.component, way.layout
        units = layout.read(f"mesh{level}", point)
        if way.motion is not None or not component.orderly:
            # A window is held by no more units than differ in all dimensions but one; those that
            # neighbours serve may leave only such ones.
            return Fraction(max(units.values()), math.prod(units.values()))
        meshes = {mesh: layout.read(f"mesh{mesh}", point) for mesh in self.meshes}
        further_out = [meshes[mesh] for mesh in self.meshes if mesh < level]
        known = [layout.read("tile", point)] + [meshes[m] for m in self.meshes if m > level]
        inside = {dim: math.prod(group[dim] for group in known) for dim in component.dims}
        beyond = {dim: math.prod(group[dim] for group in further_out) for dim in component.dims}
        rest = layout.rest(*known, units, *further_out)
        key = (level, *inside.values(), *units.values(), *rest.values(), *beyond.values())
        if key not in self._shares:
            self._shares[key] = component.fewest_sent(
                inside, rest, units, beyond, in_a_row=level in self.rows
            )
        return self._shares[key]

    def given(self, way: Way, point: Tuple) -> int:
        """Those of them that a parent sends, at least: each word that it sends enters somewhere."""
        return self._run_sends(way, point) if way.helped else self.filled(way, point)

    def _run_sends(self, way: Way, point: Tuple) -> int:
        """Words that parents send to all instances of the child while windows slide."""
        key = (id(way), point)
        if key not in self._runs:
            assert way.motion is not None
            run = run_of(self.position, way.motion, way.layout, point)
            self._runs[key] = run.sent_at_least if way.helped else run.sent
        return self._runs[key]


@dataclass
class Windows:
    """Builds window tables and what is read off them."""

    variables: Variables
    reuse: Reuse
    neighbours: NeighbourLiterals
    sequences: Sequences
    links: Links
    _tables: dict[tuple[str, int, RankComponent], WindowTable] = field(default_factory=dict)
    _factors: dict[tuple[object, ...], ProductFactor] = field(default_factory=dict)
    _moving: dict[tuple[str, int], list[cp_model.IntVar]] = field(default_factory=dict)

    def footprint(self, component: RankComponent, level: int) -> ProductFactor:
        """The component's factor of the tile that `level` holds."""
        key = ("footprint", component, level)
        if key not in self._factors:
            layout = self._tile(component, level)
            selection = self.variables.tables.select(
                layout.axes, None, None, ("component", component), layout.points()
            )
            values = tuple(
                component.footprint(layout.read("tile", point)) for point in selection.points
            )
            self._factors[key] = self.variables.tables.factor(LookupTable(selection, values))
        return self._factors[key]

    def given(self, tensor: Tensor, component: RankComponent, child: int) -> ProductFactor:
        """The component's factor of the words that parents send into all instances of `child`."""
        table = self.table(tensor, component, child)
        return self._factor(("given", tensor.name, component, child), table, table.given)

    def reads(
        self, tensor: Tensor, component: RankComponent, parent: int, child: int
    ) -> ProductFactor:
        """The component's factor of the words that all instances of `parent` send towards `child`
        (which may be the arithmetic).
        """
        table = self.table(tensor, component, child)
        levels = range(parent, child)
        crossed = tuple(level for level in table.meshes if level in levels)
        return self._factor(
            ("reads", tensor.name, component, child, crossed), table, partial(table.sent, levels)
        )

    def _factor(
        self, key: tuple[object, ...], table: WindowTable, cost: Callable[[Way, Tuple], int]
    ) -> ProductFactor:
        if key not in self._factors:
            self._factors[key] = self.variables.tables.factor(table.lookup(cost))
        return self._factors[key]

    def table(self, tensor: Tensor, component: RankComponent, child: int) -> WindowTable:
        """The table of a component's windows at `child`, made when first needed."""
        key = (tensor.name, child, component)
        if key not in self._tables:
            space = self.variables.space
            keeps = child < space.depth and not space.has_flag(
                "no_temporal_reuse", tensor.name, child
            )
            self._tables[key] = self._build(WindowPosition(tensor, component, child, keeps))
        return self._tables[key]

    def _build(self, position: WindowPosition) -> WindowTable:
        meshes = tuple(level for level in range(position.child) if self._overlaps(position, level))
        moving = [*self._moving_ways(position, meshes), *self._floor(position, meshes)]
        rest = self._layout(position, meshes, None)
        literals = [way.on for way in moving if way.on is not None]
        ways = [Way(rest, tuple(rest.points()), self._still(position, literals)), *moving]
        selections = self.variables.tables.select_modes(
            [Mode(tuple(w.layout.axes), w.on, w.points) for w in ways],
            ("component", position.component),
        )
        rows = frozenset(level for level in meshes if self._in_a_row(position.component, level))
        return WindowTable(position, tuple(ways), tuple(selections), meshes, rows)

    def _still(
        self, position: WindowPosition, moving: list[cp_model.IntVar]
    ) -> cp_model.IntVar | None:
        """The literal that no motion happens; None if none can. Of all components of a tensor, only
        one moves first.
        """
        if not moving:
            return None
        model = self.variables.model
        literal = model.new_bool_var("still")
        model.add_exactly_one([literal, *moving])
        together = self._moving.setdefault((position.tensor.name, position.child), [])
        together += moving
        model.add_at_most_one(together)
        return literal

    def _moving_ways(self, position: WindowPosition, meshes: tuple[int, ...]) -> list[Way]:
        linkable = self._linkable(position)
        if not position.component.sliding:
            return []
        claims, ways = Claims(self.variables, self.reuse, self.sequences, self.links), []
        for motion in motions(position, self.variables.space):
            if motion.returns and not claims.may_stay(position):
                continue
            layout = self._layout(position, meshes, motion)
            found = [
                (helped, points)
                for helped in ((False, True) if linkable and not motion.returns else (False,))
                if (points := list(_points(position, motion, layout, helped=helped)))
            ]
            if not found:
                continue
            literal, model = claims.claim(position, motion), self.variables.model
            shares = [model.new_bool_var(f"helped[{helped}]") for helped, _ in found]
            model.add(cp_model.LinearExpr.sum(shares) == literal)
            for (helped, points), share in zip(found, shares, strict=True):
                ways.append(Way(layout, tuple(points), share, motion, helped))
        return ways

    def _floor(self, position: WindowPosition, meshes: tuple[int, ...]) -> list[Way]:
        """Where two loops run over dimensions of a component that has no closed form, no more is
        claimed than that each distinct word is fetched once."""
        variables, component = self.variables, position.component
        if not component.sliding or component.orderly:
            return []
        model = variables.model
        literal, used = model.new_bool_var("floor"), []
        for dim in component.dims:
            runs = model.new_bool_var(f"runs[{dim},{position.child}]")
            slots = slots_where(variables.space, temporal=True, above=position.child)
            primes = [prime for prime, _ in variables.space.primes[dim]]
            model.add(
                runs
                <= cp_model.LinearExpr.sum(
                    [variables.power[dim, prime, slot] for prime in primes for slot in slots]
                )
            )
            used.append(runs)
        model.add(2 * literal <= cp_model.LinearExpr.sum(used))
        forwards = all(term.coefficient > 0 for rank in component.ranks for term in rank)
        least = component.fewest_groups(variables.space.problem.bounds) if forwards else 1
        layout = self._layout(position, meshes, None)
        return [Way(layout, tuple(layout.points()), literal, least=least)]

    def _linkable(self, position: WindowPosition) -> bool:
        """Whether units side by side may pass the tensor on."""
        sliding = [
            dim
            for each in shape_of(position.tensor, self.variables.space.dims).components
            if each.sliding
            for dim in each.dims
        ]
        return (
            position.child > 0
            and not self.variables.space.has_flag(
                "no_link_transfer", position.tensor.name, position.child - 1
            )
            and any(self.neighbours.spreads(dim, position.child - 1) for dim in sliding)
        )

    def _overlaps(self, position: WindowPosition, level: int) -> bool:
        """Whether two dimensions of the component can be spatial there, so that windows may
        coincide in a multicast.
        """
        if not position.component.sliding or self.variables.space.has_flag(
            "no_multicast", position.tensor.name, level
        ):
            return False
        return sum(self.neighbours.spreads(d, level) for d in position.component.dims) > 1

    def _in_a_row(self, component: RankComponent, level: int) -> bool:
        """Whether units of the level stand in one row and only differ in the component."""
        space = self.variables.space
        others = set(space.dims) - set(component.dims)
        return len(self.neighbours.slots(level)) == 1 and not any(
            self.neighbours.spreads(dim, level) for dim in others
        )

    def _tile(self, component: RankComponent, child: int) -> Layout:
        layout = Layout(self.variables, component)
        layout.add("tile", component.dims, slots_where(self.variables.space, below=child))
        return layout

    def _layout(
        self, position: WindowPosition, meshes: tuple[int, ...], motion: Motion | None
    ) -> Layout:
        above = (
            {position.child - 1} if motion is not None or self._linkable(position) else set[int]()
        )
        return layout_of(self.variables, position, {*meshes} | above, motion)


def _points(
    position: WindowPosition, motion: Motion, layout: Layout, *, helped: bool
) -> Iterator[Tuple]:
    """The points at which a motion spares words: of those that neighbours do not pass on, or of
    these.
    """
    for point in layout.points():
        if not goes_on(motion, layout, point):
            continue
        spares = happens(position, motion, layout, point)
        if not helped:
            if spares and (position.keeps or motion.returns):
                yield point
        elif spares or motion.other is None:
            run = run_of(position, motion, layout, point)
            if run.sent_at_least < run.sent:
                yield point
