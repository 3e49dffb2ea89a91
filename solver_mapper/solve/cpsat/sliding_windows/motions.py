"""How windows move from tile to tile outside a child, as far as that spares words: what has to hold
for it, and in which tables.

With `base(d)` the move of a window by one iteration of d right outside the child, and F iterations
of f inside a loop over e of the same component, the window moves by `base(e) - (F - 1) base(f)`
when e advances and f starts over; how the other loops over e are split does not matter. (Units
further out are skipped by loops outside them, whose iterations then count several times.) Hence the
cases in which words are spared (docs/explanation/model.md "Words into a level"; nothing else that
indexes the tensor may run inside):

- *slide*: the innermost loop runs over d, and each tile overlaps the last. Where base(e) = F
  base(d), a loop over e outside goes on with the same steps.
- *return*: loops that leave the tensor alone are innermost, and e and f cancel: base(e) = (F - 1)
  base(f). The tile stays. Compute units keep nothing, but neighbours that share a tile pass it on
  (`links.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from ortools.sat.python import cp_model

from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.mapspace.space import Slot, Space
from solver_mapper.solve.cpsat.networks.links import Links
from solver_mapper.solve.cpsat.reuse import Reuse
from solver_mapper.solve.cpsat.selection import Tuple
from solver_mapper.solve.cpsat.sequences import Sequences
from solver_mapper.solve.cpsat.sliding_windows.runs import Run
from solver_mapper.solve.cpsat.sliding_windows.table_axes import Layout
from solver_mapper.solve.cpsat.variables import Variables, highest, slots_where


@dataclass(frozen=True)
class Motion:
    """Loops over `dim` from level `level` inwards, and then over `other` from level `outer`
    inwards.

    `returns` tells the two cases apart; `swapped` says that the loop over `other` at `level` stands
    inside that over `dim`. `beyond` says whether the window also returns when a loop over `dim`
    further out advances; None if that is not told.
    """

    dim: str
    level: int
    other: str | None = None
    outer: int = 0
    returns: bool = False
    swapped: bool = False
    beyond: bool | None = None


@dataclass(frozen=True)
class WindowPosition:
    """A component of a tensor at one child; `keeps` says whether the child keeps a tile until the
    next.
    """

    tensor: Tensor
    component: RankComponent
    child: int
    keeps: bool


def motions(position: WindowPosition, space: Space) -> Iterator[Motion]:
    """All motions that may spare words at the site, where the space leaves their loops a choice."""

    def free(dim: str, level: int) -> bool:
        return any(highest(space, dim, prime, Slot(level)) for prime, _ in space.primes[dim])

    loops = {
        dim: [level for level in range(position.child) if free(dim, level)]
        for dim in position.component.dims
    }
    for dim, levels in loops.items():
        for level in levels:
            yield Motion(dim, level)
            if position.keeps:
                yield from (Motion(dim, level, dim, outer) for outer in levels if outer < level)
            if position.component.orderly:
                other = next(each for each in loops if each != dim)
                yield from _pairs(
                    position,
                    Motion(dim, level, other),
                    [outer for outer in loops[other] if outer <= level],
                    bool(_plain(position, space)) and min(levels) < level,
                )


def _plain(position: WindowPosition, space: Space) -> frozenset[str]:
    """Dimensions that index the tensor and slide no window."""
    return frozenset(shape_of(position.tensor, space.dims).plain)


def _pairs(
    position: WindowPosition, motion: Motion, outers: list[int], told: bool
) -> Iterator[Motion]:
    """`told`: whether loops at the motion's level decide if the window returns beyond it."""
    for outer in outers:
        if position.keeps:
            yield replace(motion, outer=outer)
        for beyond in (False, True) if told and outer == motion.level else (None,):
            yield replace(motion, outer=outer, returns=True, beyond=beyond)
        if outer < motion.level:
            yield replace(motion, outer=outer, returns=True, swapped=True)


def lay_out(layout: Layout, motion: Motion, child: int) -> None:
    """Add the motion's loops: "steps" over its dimension, "turns" and "inside" over the other."""

    def loops(first: int, end: int) -> list[Slot]:
        return slots_where(layout.variables.space, temporal=True, below=first, above=end)

    layout.add("steps", (motion.dim,), loops(motion.level, child))
    if motion.other is not None:
        layout.add(
            "turns",
            (motion.other,),
            loops(motion.outer, motion.level + (not motion.swapped and motion.other != motion.dim)),
        )
        if motion.returns:
            layout.add("inside", (motion.other,), loops(motion.level + (not motion.swapped), child))


def layout_of(
    variables: Variables, position: WindowPosition, meshes: Collection[int], motion: Motion | None
) -> Layout:
    """What the counts at a site depend on: its tile, its units over `meshes` and further out, and a
    motion's loops, if one is given.
    """
    space, layout = variables.space, Layout(variables, position.component)
    layout.add("tile", position.component.dims, slots_where(space, below=position.child))
    for level in sorted(meshes):
        layout.add(
            f"mesh{level}",
            position.component.dims,
            slots_where(space, temporal=False, below=level, above=level + 1),
        )
    further = [
        slot
        for slot in slots_where(space, temporal=False, above=position.child - 1)
        if slot.level not in meshes
    ]
    layout.add("between", position.component.dims, further)
    if motion is not None:
        lay_out(layout, motion, position.child)
    return layout


def between(position: WindowPosition, layout: Layout, point: Tuple) -> dict[str, int]:
    """Units of each dimension further out than the mesh above the child."""
    groups = [
        group
        for group in ("between", *(f"mesh{level}" for level in range(position.child - 1)))
        if group in layout.groups
    ]
    return {
        dim: math.prod(layout.factor(group, dim, point) for group in groups)
        for dim in position.component.dims
    }


def run_of(position: WindowPosition, motion: Motion, layout: Layout, point: Tuple) -> Run:
    """The steps that a motion goes on for, as a run."""
    tile, units = layout.read("tile", point), layout.read(f"mesh{position.child - 1}", point)
    steps, turns = layout.read("steps", point), layout.read("turns", point)
    count = steps[motion.dim] * (turns[motion.other] if motion.other else 1)
    number = math.prod(layout.rest(tile, units, steps, turns).values())
    run = Run(position.component, tile, units, motion.dim, count, number, position.keeps)
    skips = _skips(position, motion, layout.variables.space)
    if skips is False:
        return run
    jumped = between(position, layout, point)[motion.dim]
    return replace(run, stride=jumped if skips else 1, strides=jumped if skips else jumped * count)


def _skips(position: WindowPosition, motion: Motion, space: Space) -> bool | None:
    """Whether the motion's loops stand outside units of its dimension further out, and skip these;
    None if that depends.
    """

    def free(slot: Slot) -> bool:
        return any(highest(space, motion.dim, prime, slot) for prime, _ in space.primes[motion.dim])

    meshes = {
        slot.level
        for slot in space.slots
        if slot.axis and slot.level < position.child - 1 and free(slot)
    }
    if not meshes or motion.level > max(meshes):
        return False
    inside = [level for level in range(max(meshes) + 1, position.child) if free(Slot(level))]
    return True if len(meshes) == 1 and not inside else None


def happens(position: WindowPosition, motion: Motion, layout: Layout, point: Tuple) -> bool:
    """Whether the sizes are such that the motion spares words, neighbours aside."""
    if motion.other is not None and not meets(position, motion, layout, point):
        return False
    if motion.returns:
        return motion.beyond is not True or comes_back(position, motion, layout, point)
    run = run_of(position, motion, layout, point)
    return run.fresh < run.full


def comes_back(position: WindowPosition, motion: Motion, layout: Layout, point: Tuple) -> bool:
    """Whether the window of a motion that returns may be back once more when a loop over its
    dimension further out advances, and both dimensions start over: that move and the turns' cancel.
    """
    assert motion.other is not None
    if motion.beyond is False:
        return False
    skipped, mesh = (
        between(position, layout, point),
        layout.read(f"mesh{position.child - 1}", point),
    )
    tile, groups = (
        layout.read("tile", point),
        [layout.read(group, point) for group in ("tile", "steps", "turns", "inside")],
    )
    if layout.rest(*groups)[motion.dim] == mesh[motion.dim] * skipped[motion.dim]:
        return False
    one, other = (
        position.component.offset({dim: tile[dim] * mesh[dim]})
        for dim in (motion.dim, motion.other)
    )
    turned = (
        layout.factor("turns", motion.other, point) * layout.factor("inside", motion.other, point)
        - 1
    )
    return any(units > 1 for units in skipped.values()) or all(
        x == turned * y for x, y in zip(one, other, strict=True)
    )


def goes_on(motion: Motion, layout: Layout, point: Tuple) -> bool:
    """Whether the motion's loops are there."""
    return layout.factor("steps", motion.dim, point) > 1 and (
        motion.other is None or layout.factor("turns", motion.other, point) > 1
    )


def meets(position: WindowPosition, motion: Motion, layout: Layout, point: Tuple) -> bool:
    """Whether the window moves as it should when the loop over `other` advances."""
    assert motion.other is not None
    if motion.other == motion.dim:
        return True
    one, other = (
        position.component.offset(
            {
                dim: (
                    layout.factor("tile", dim, point)
                    * layout.factor(f"mesh{position.child - 1}", dim, point)
                )
            }
        )
        for dim in (motion.dim, motion.other)
    )
    inside, steps = (
        layout.factor("inside", motion.other, point),
        layout.factor("steps", motion.dim, point),
    )
    skipped = between(position, layout, point)
    loops = [inside]
    if skipped[motion.other] > 1:
        # not all loops over the other dimension skip the same units: some of the turns may start
        # over as well
        loops = [inside * part for part in divisors(layout.factor("turns", motion.other, point))]
    further = divisors(skipped[motion.other])
    ahead = {
        times * each - (each - 1) * fewer
        for each in loops
        for times in further
        for fewer in divisors(times)
    }
    back = {
        (near - 1) + near * times * (steps // near - 1)
        for near in divisors(steps)
        for times in divisors(skipped[motion.dim])
    }
    stay = 0 if motion.returns else 1
    return any(
        all(a * y - b * x == stay * x for x, y in zip(one, other, strict=True))
        for a in ahead
        for b in back
    )


@dataclass
class Claims:
    """Literals that imply what a motion asks of loop orders."""

    variables: Variables
    reuse: Reuse
    sequences: Sequences
    links: Links
    _made: dict[tuple[str, int, Motion], cp_model.IntVar] = field(default_factory=dict)

    def claim(self, position: WindowPosition, motion: Motion) -> cp_model.IntVar:
        """The literal that implies what `motion` asks of loop orders at `position`."""
        key = (position.tensor.name, position.child, motion)
        if key not in self._made:
            literal = self._made[key] = self.variables.model.new_bool_var(
                f"motion[{','.join(map(str, key))}]"
            )
            if motion.returns:
                self._stay(position, motion, literal)
                if motion.beyond:
                    # other loops at the level start over as well, and move the window elsewhere
                    plain = _plain(position, self.variables.space)
                    self._imply(literal, self.reuse.idle(plain, motion.level))
            elif position.keeps:
                self._innermost(motion, literal)
                self._imply(
                    literal,
                    self.reuse.through(
                        frozenset(self.variables.space.dims) - {motion.dim},
                        motion.level,
                        position.child,
                    ),
                )
            self._sequence(position, motion, literal)
        return self._made[key]

    def may_stay(self, position: WindowPosition) -> bool:
        """Whether a tile may stay through steps that leave the tensor alone. Compute units keep
        nothing: operands stay only where neighbours pass them on.
        """
        at_compute = position.child == self.variables.space.depth
        return not at_compute or self.links.linked(position.tensor) is not None

    def _imply(self, literal: cp_model.IntVar, *implied: cp_model.IntVar | None) -> None:
        for each in implied:
            if each is not None:
                self.variables.model.add_implication(literal, each)

    def _powers(self, dims: frozenset[str], levels: range) -> cp_model.LinearExprT:
        return cp_model.LinearExpr.sum(
            [
                v
                for (dim, _, slot), v in self.variables.power.items()
                if dim in dims and not slot.axis and slot.level in levels
            ]
        )

    def _innermost(self, motion: Motion, literal: cp_model.IntVar) -> None:
        """The level's order begins with the loop."""
        variables, level = self.variables, motion.level
        choices = zip(variables.pattern[level], variables.space.patterns[level], strict=True)
        starts = [chosen for chosen, pattern in choices if pattern.order[:1] == (motion.dim,)]
        variables.model.add(literal <= cp_model.LinearExpr.sum(starts))
        variables.model.add(
            literal <= self._powers(frozenset({motion.dim}), range(level, level + 1))
        )

    def _stay(self, position: WindowPosition, motion: Motion, literal: cp_model.IntVar) -> None:
        """Buffers keep a tile through loops inside that leave the tensor alone. Without these, and
        at compute units, neighbours that share a tile pass it on.
        """
        space, model = self.variables.space, self.variables.model
        if position.child == space.depth:
            linked = self.links.linked(position.tensor)
            assert linked is not None, "the caller asks `may_stay`"
            model.add_implication(literal, linked)
        elif position.keeps:
            idle = space.irrelevant(position.tensor)
            sliding = [
                dim
                for each in shape_of(position.tensor, space.dims).components
                if each.sliding
                for dim in each.dims
            ]
            linkable = not space.has_flag(
                "no_link_transfer", position.tensor.name, position.child - 1
            )
            meshes = [
                slot
                for slot in space.slots
                if slot.axis and slot.level == position.child - 1 and linkable
            ]
            shared = [
                self.links.neighbours.used(slot, dim)
                for slot in meshes
                for dim in sorted(idle | set(sliding))
            ]
            model.add(
                literal
                <= cp_model.LinearExpr.sum(
                    [self._powers(idle, range(motion.level, position.child)), *shared]
                )
            )

    def _sequence(self, position: WindowPosition, motion: Motion, literal: cp_model.IntVar) -> None:
        reuse, tensor, level, other = self.reuse, position.tensor, motion.level, motion.other
        relevant = tensor.dims & frozenset(self.variables.space.dims)
        if other is None:
            if not position.keeps:
                self._imply(
                    literal,
                    self.sequences.begins(tensor, level, (motion.dim,)),
                    reuse.through(relevant - {motion.dim}, level, position.child),
                )
            return
        both = (
            (other, motion.dim)
            if motion.swapped
            else (motion.dim, other)
            if other != motion.dim
            else (other,)
        )
        together = motion.outer == level
        sequence = self.sequences.complete if together else self.sequences.begins
        self._imply(
            literal,
            sequence(tensor, level, both),
            reuse.through(relevant - {*both}, level, position.child),
        )
        if not together:
            self._imply(
                literal,
                reuse.idle(relevant - {*both}, level),
                reuse.through(relevant - {other}, motion.outer, level),
                self.sequences.begins(tensor, motion.outer, (other,)),
            )
