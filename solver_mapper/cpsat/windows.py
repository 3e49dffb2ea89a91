"""Factors of a count that come from sliding windows: components whose dimensions do not simply multiply.

Without overlap a component's part of a count is its footprint times the number of tiles. Three things lower it: units whose windows
coincide share a multicast; a window that slides by the same step keeps its halo; a neighbour may pass on what it just had. The first
is exact here for the network next to the child. The other two are bounded from below, under a `slide` literal that says when they
can happen at all; the search re-prices what it finds there against the exact model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from solver_mapper.cpsat.reuse import Reuse
from solver_mapper.cpsat.selection import Axis, Looked, Tuple
from solver_mapper.cpsat.variables import Variables, slots_where
from solver_mapper.space.shapes import Component
from solver_mapper.space.space import Slot
from solver_mapper.spec.problem import Tensor


@dataclass
class _Layout:
    """Which axes of a selection hold what: named groups of (dimension, prime, position of the axis)."""

    variables: Variables
    axes: list[Axis] = field(default_factory=list)
    groups: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)

    def add(self, group: str, dim: str, slots: list[Slot]) -> None:
        for axis in self.variables.axes(self.variables.places([dim], slots)):
            assert isinstance(axis.key, tuple)
            self.groups.setdefault(group, []).append((dim, int(axis.key[0]), len(self.axes)))
            self.axes.append(axis)

    def read(self, group: str, dims: tuple[str, ...], point: Tuple) -> dict[str, int]:
        """The product of bounds of each dimension that a point gives the group."""
        values = dict.fromkeys(dims, 1)
        for dim, prime, position in self.groups.get(group, []):
            values[dim] *= prime ** point[position]
        return values


@dataclass
class Windows:
    """Builds the looked-up factors of components."""

    variables: Variables
    reuse: Reuse
    _slides: dict[tuple[str, int], dict[str, cp_model.IntVar]] = field(default_factory=dict)

    def slides(self, tensor: Tensor, component: Component, child: int) -> dict[str, cp_model.IntVar]:
        """Per dimension of the component, a literal that its loop is the innermost one outside `child`.

        Only then can consecutive steps move the window: the loop's level starts its order with it, and no temporal loop at all
        stands between that level and the child.
        """
        key = (tensor.name, child)
        if key in self._slides:
            return {dim: literal for dim, literal in self._slides[key].items() if dim in component.dims}
        variables, space = self.variables, self.variables.space
        model = variables.model
        literals: dict[str, cp_model.IntVar] = {}
        for dim in [d for d in space.dims if d in space.sliding and d in tensor.dims]:
            options = []
            for outer in range(child):
                starts = [variables.pattern[outer][k] for k, p in enumerate(space.patterns[outer]) if p.order[:1] == (dim,)]
                if not starts:
                    continue
                option = model.new_bool_var(f"slide[{tensor.name},{child},{outer},{dim}]")
                model.add(option <= cp_model.LinearExpr.sum(starts))
                powers = [variables.power[dim, prime, Slot(outer)] for prime, _ in space.primes[dim]]
                model.add(option <= cp_model.LinearExpr.sum(powers))
                through = self.reuse.through(frozenset(space.dims), outer, child)
                if through is not None:
                    model.add_implication(option, through)
                options.append(option)
            if options:
                literal = model.new_bool_var(f"slide[{tensor.name},{child},{dim}]")
                model.add(literal == cp_model.LinearExpr.sum(options))
                literals[dim] = literal
        if literals:
            model.add_at_most_one(literals.values())
        self._slides[key] = literals
        return {dim: literal for dim, literal in literals.items() if dim in component.dims}

    def fills(self, tensor: Tensor, component: Component, child: int) -> Looked:
        """The component's factor of the words that enter all instances of `child`."""
        layout = _Layout(self.variables)
        for dim in component.dims:
            layout.add("tile", dim, slots_where(self.variables.space, below=child))
        return self._looked(tensor, component, child, layout, _Fill(component, self._bounds(component)))

    def reads(self, tensor: Tensor, component: Component, parent: int, child: int, no_multicast: bool) -> Looked:
        """The component's factor of the words that all instances of `parent` send towards `child` (which may be the arithmetic)."""
        variables, space = self.variables, self.variables.space
        layout = _Layout(variables)
        bounds = self._bounds(component)
        arithmetic = child == space.depth
        for dim in component.dims:
            if not arithmetic:
                layout.add("tile", dim, slots_where(space, below=child))
            if component.sliding and not arithmetic:
                layout.add("below", dim, [s for s in space.slots if parent <= s.level < child and s.axis])
        meshes = [] if no_multicast or not component.sliding else [
            level for level in range(parent, child) if any(s.level == level and s.axis for s in space.slots)
        ]
        for level in meshes:
            if len(meshes) > 1 or arithmetic:
                for dim in component.dims:
                    layout.add(f"mesh{level}", dim, [s for s in space.slots if s.level == level and s.axis])
        nearest = "below" if len(meshes) == 1 and not arithmetic else f"mesh{child - 1}"
        names = ["below"] if nearest == "below" and meshes else [f"mesh{level}" for level in meshes]
        return self._looked(tensor, component, child if not arithmetic else -1, layout,
                            _Read(component, bounds, arithmetic, tuple(names),
                                  nearest if meshes and meshes[-1] == child - 1 else ""))

    def footprint(self, component: Component, level: int) -> Looked:
        """The component's factor of the tile that `level` holds."""
        layout = _Layout(self.variables)
        for dim in component.dims:
            layout.add("tile", dim, slots_where(self.variables.space, below=level))
        selection = self.variables.tables.select(layout.axes, None, lambda p: _divides(layout, component, p, self._bounds(component)),
                                                 name=("component", component))
        return Looked(selection, tuple(component.footprint(layout.read("tile", component.dims, p)) for p in selection.points))

    def _bounds(self, component: Component) -> dict[str, int]:
        return {dim: self.variables.space.problem.bounds[dim] for dim in component.dims}

    def _looked(self, tensor: Tensor, component: Component, child: int, layout: _Layout, value: _Fill | _Read) -> Looked:
        bounds = self._bounds(component)
        slides: dict[str, cp_model.IntVar] = {}
        if component.sliding and child > 0 and not self.variables.space.has_flag("no_temporal_reuse", tensor.name, child):
            slides = self.slides(tensor, component, child)
        first = len(layout.axes)
        modes = list(slides)
        axes = layout.axes + [Axis(("slide", tensor.name, child, dim), slides[dim], 1) for dim in modes]

        def possible(point: Tuple) -> bool:
            return sum(point[first:]) <= 1 and _divides(layout, component, point, bounds)

        selection = self.variables.tables.select(axes, None, possible, name=("component", component))
        values = []
        for point in selection.points:
            sliding = next((dim for i, dim in enumerate(modes) if point[first + i]), None)
            values.append(value(layout, point, sliding))
        return Looked(selection, tuple(values))


def _divides(layout: _Layout, component: Component, point: Tuple, bounds: dict[str, int]) -> bool:
    used = dict.fromkeys(component.dims, 1)
    for group in layout.groups:
        if group not in ("tile", "below") and "below" in layout.groups:
            continue
        part = layout.read(group, component.dims, point)
        used = {dim: used[dim] * part[dim] for dim in component.dims}
    return all(bounds[dim] % used[dim] == 0 for dim in component.dims)


@dataclass(frozen=True)
class _Fill:
    component: Component
    bounds: dict[str, int]

    def __call__(self, layout: _Layout, point: Tuple, sliding: str | None) -> int:
        component, bounds = self.component, self.bounds
        tile = layout.read("tile", component.dims, point)
        tiles = math.prod(bounds[d] // tile[d] for d in component.dims)
        full = component.footprint(tile)
        if sliding is None:
            return full * tiles
        run = bounds[sliding] // tile[sliding]
        stepped = full + (run - 1) * _new_words(component, tile, sliding)
        return stepped * (tiles // run)


@dataclass(frozen=True)
class _Read:
    component: Component
    bounds: dict[str, int]
    arithmetic: bool
    meshes: tuple[str, ...]
    nearest: str

    def __call__(self, layout: _Layout, point: Tuple, sliding: str | None) -> int:
        component, bounds = self.component, self.bounds
        tile = layout.read("tile", component.dims, point)
        if sliding is not None:
            below = layout.read("below", component.dims, point)
            union = {d: tile[d] * below[d] for d in component.dims}
            passes = math.prod(bounds[d] // union[d] for d in component.dims if d != sliding)
            return component.footprint({**union, sliding: bounds[sliding]}) * passes
        words = component.footprint(tile) * math.prod(bounds[d] // tile[d] for d in component.dims)
        for name in self.meshes:
            spatial = layout.read(name, component.dims, point)
            units = math.prod(spatial.values())
            groups = component.groups(tile, spatial) if name == self.nearest else component.fewest_groups(spatial)
            words = words * groups // units
        return words


def _new_words(component: Component, tile: dict[str, int], dim: str) -> int:
    """Words of a tile that its predecessor lacks when the window moves by one tile along `dim`, at the least step."""
    full = overlap = 1
    for rank in component.ranks:
        extent = 1 + sum(abs(t.coefficient) * (tile[t.dim] - 1) for t in rank)
        step = sum(abs(t.coefficient) for t in rank if t.dim == dim) * tile[dim]
        full *= extent
        overlap *= max(0, extent - step)
    return full - overlap
