"""Compute units that no neighbour serves in steps that leave their operands alone.

Where units share words only because their windows coincide (`Links.everyone` does not hold), a unit
whose window no other unit below the same parent holds has no neighbour to take it from, and asks
anew at every step. Let G be the distinct windows of the units side by side, L those that one unit
alone holds, A the words asked for if every step fetched all windows, and S those of the steps that
are not spared. With n steps of which m are not spared, A = n G, S is at most m G, and the spared
steps still ask for L each:

    words = m G + (n - m) L  >=  S (G - L) / G + A L / G

That takes no slide in which neighbours help (`Windows.helped`), and no mesh further out in which
windows coincide: there, lone windows may coincide more often than others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.solve.cpsat.engine import LARGEST
from solver_mapper.solve.cpsat.linear_form import counter, highest
from solver_mapper.solve.cpsat.networks.links import Links
from solver_mapper.solve.cpsat.selection import Tuple
from solver_mapper.solve.cpsat.sliding_windows.table_axes import Layout
from solver_mapper.solve.cpsat.sliding_windows.windows import Windows
from solver_mapper.solve.cpsat.variables import Variables, slots_where


@dataclass(frozen=True)
class LoneUnits:
    """Raises the words that compute units ask for."""

    variables: Variables
    windows: Windows
    links: Links
    tensor: Tensor

    def served(
        self,
        parent: int,
        on: cp_model.IntVar,
        spared: cp_model.IntVar,
        asked: Callable[[], cp_model.IntVar],
    ) -> cp_model.IntVar:
        """At least `spared`, the words without those of steps that leave operands alone, and what
        lone units ask for in these. `asked` makes the words of all steps.
        """
        components = self._coinciding(parent)
        if not components:
            return spared
        model, everything = self.variables.model, asked()
        shares = self._shares(components)
        most = max(highest(spared), highest(everything))
        if most * max((share.denominator for share in shares), default=1) >= LARGEST // 4:
            return spared
        words = counter(model, most, "words")
        model.add(words >= spared)
        alone = self._alone(on)
        for share, literal in shares.items():
            lone, groups = share.numerator, share.denominator
            model.add(
                groups * words >= (groups - lone) * spared + lone * everything
            ).only_enforce_if(literal, alone)
        return words

    def _coinciding(self, parent: int) -> list[RankComponent]:
        """Components whose windows may coincide among units side by side; none if windows of any
        may do so further out.
        """
        depth, found = self.variables.space.depth, list[RankComponent]()
        for component in shape_of(self.tensor, self.variables.space.dims).components:
            meshes = self.windows.table(self.tensor, component, depth).meshes
            if any(parent <= mesh < depth - 1 for mesh in meshes):
                return []
            if depth - 1 in meshes:
                found.append(component)
        return found

    def _alone(self, on: cp_model.IntVar) -> cp_model.IntVar:
        """A literal that holds wherever `on` does, units share words by coinciding windows alone,
        and neighbours do not help windows that slide.
        """
        model = self.variables.model
        literal = model.new_bool_var("alone")
        others = [self.links.everyone(self.tensor)]
        for component in shape_of(self.tensor, self.variables.space.dims).components:
            others += self.windows.helped(self.tensor, component, self.variables.space.depth)
        model.add(literal >= on - cp_model.LinearExpr.sum(others))
        return literal

    def _shares(self, components: list[RankComponent]) -> dict[Fraction, cp_model.IntVar]:
        """The shares of windows that one unit alone holds, above 0, each with its literal."""
        space, tables = self.variables.space, self.variables.tables
        level = space.depth - 1
        layouts = []
        for component in components:
            layout = Layout(self.variables, component)
            layout.add(
                "mesh",
                component.dims,
                slots_where(space, temporal=False, below=level, above=level + 1),
            )
            layouts.append(layout)
        room = math.prod(space.architecture.fanout(level))
        by_point: dict[Tuple, Fraction] = {}
        for parts in product(*(list(layout.points()) for layout in layouts)):
            units = [each.read("mesh", part) for each, part in zip(layouts, parts, strict=True)]
            if math.prod(factor for each in units for factor in each.values()) <= room:
                by_point[tuple(power for part in parts for power in part)] = math.prod(
                    (_share(c, each) for c, each in zip(components, units, strict=True)),
                    start=Fraction(1),
                )
        axes = [axis for layout in layouts for axis in layout.axes]
        selection = tables.select(axes, None, None, ("lone", self.tensor.name), list(by_point))
        found: dict[Fraction, list[cp_model.IntVar]] = {}
        for literal, point in zip(selection.literals, selection.points, strict=True):
            if by_point[point]:
                found.setdefault(by_point[point], []).append(literal)
        shares = {}
        for share, literals in found.items():
            shares[share] = self.variables.model.new_bool_var(f"lone[{self.tensor.name},{share}]")
            self.variables.model.add(shares[share] == cp_model.LinearExpr.sum(literals))
        return shares


def _share(component: RankComponent, units: dict[str, int]) -> Fraction:
    return Fraction(component.lone(units), component.groups(dict.fromkeys(units, 1), units))
