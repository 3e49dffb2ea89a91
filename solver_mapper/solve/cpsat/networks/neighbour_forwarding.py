"""Help from neighbours while windows move: who may stand beside whom, at which sizes that helps,
and what has to hold for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.deadline import check_time
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.mapspace.space import Slot
from solver_mapper.mapspace.windows import Chains, Run, RunTransition, send_runs
from solver_mapper.solve.cpsat.networks.neighbours import NeighbourLiterals
from solver_mapper.solve.cpsat.reuse import Reuse
from solver_mapper.solve.cpsat.selection import Tuple
from solver_mapper.solve.cpsat.sliding_windows.motions import (
    Motion,
    WindowPosition,
    goes_on,
    layout_of,
    meets,
    motions,
)
from solver_mapper.solve.cpsat.variables import Variables


@dataclass(frozen=True)
class NeighbourPosition:
    """How units stand beside each other, and whether that helps from run to run: what
    `send_runs` (`mapspace/windows.py`) asks.
    """

    chains: Chains | None = ()
    transition: RunTransition = RunTransition.NEVER


ALONE = NeighbourPosition()


def _sent(run: Run, neighbour: NeighbourPosition) -> int:
    """Words that parents send; of large meshes working that out takes time."""
    check_time()
    return send_runs(run, neighbour.chains, neighbour.transition).sent


class ClaimedRun(NamedTuple):
    """A run that a claim of help is made for where `literal` holds, and the words that parents
    would send."""

    literal: cp_model.IntVar
    run: Run
    sent: int


@dataclass(frozen=True)
class ForwardingClaim:
    """A literal that claims help from neighbours for a run into `child`, or also from run to run
    (`between_runs`); on partly filled rows alone (`rows`), where any two units may be neighbours,
    or anywhere. `run` is its dimension, if windows slide along one. `points` are the sizes at which
    it does, each with its literal and the words that are claimed.
    """

    tensor: Tensor
    child: int
    run: str | None
    between_runs: bool
    rows: bool
    literal: cp_model.IntVar
    points: tuple[ClaimedRun, ...]


@dataclass
class NeighbourForwarding:
    """How units stand beside each other at a level."""

    variables: Variables
    reuse: Reuse
    neighbours: NeighbourLiterals
    position: WindowPosition

    def helpful(self, runs: dict[Tuple, Run]) -> list[tuple[NeighbourPosition, list[Tuple]]]:
        """Neighbour positions with the points at which they relieve the parent of more than those
        that they include.
        """
        sent = {ALONE: {point: _sent(run, ALONE) for point, run in runs.items()}}
        found: list[tuple[NeighbourPosition, list[Tuple]]] = []
        for neighbour, included in self._neighbour_positions():
            words = {point: _sent(run, neighbour) for point, run in runs.items()}
            sent[neighbour] = words
            points = [
                point
                for point in runs
                if all(words[point] < sent[each][point] for each in included)
            ]
            if points:
                found.append((neighbour, points))
        return found

    def _neighbour_positions(self) -> Iterator[tuple[NeighbourPosition, list[NeighbourPosition]]]:
        """Neighbour positions, each after those that it includes: whenever it holds, they may be
        claimed as well.
        """
        dims = [
            dim
            for dim in self.position.component.dims
            if self.neighbours.spreads(dim, self.position.child - 1)
        ]
        chains: list[tuple[Chains | None, list[Chains]]] = []
        if self.position.component.orderly:
            chains += [(((dim,),), [()]) for dim in dims]
            chains += [(((a,), (b,)), [((a,),), ((b,),)]) for a in dims for b in dims if a < b]
            chains += [(((a, b),), [((a,),)]) for a, b in permutations(dims, 2)]
        if self._rows() or not self.position.component.orderly:
            chains.append((None, [()]))
        for chain, included in chains:
            yield NeighbourPosition(chain), [NeighbourPosition(each) for each in included]
        for chain, included in chains:
            less = [
                NeighbourPosition(each, RunTransition.ONWARD) for each in included if each != ()
            ]
            yield NeighbourPosition(chain, RunTransition.ONWARD), [NeighbourPosition(chain), *less]
        for chain, included in chains:
            less = [NeighbourPosition(each, RunTransition.AGAIN) for each in included if each != ()]
            yield (
                NeighbourPosition(chain, RunTransition.AGAIN),
                [NeighbourPosition(chain, RunTransition.ONWARD), *less],
            )
        if self._others():
            for chain, _ in chains:
                if chain is None or len(chain) == 1 == len(chain[0]):
                    yield NeighbourPosition(chain, RunTransition.CROSSED), [ALONE]
            yield NeighbourPosition((), RunTransition.SWEPT), [ALONE]
            for chain, included in chains:
                yield (
                    NeighbourPosition(chain, RunTransition.SWEPT),
                    [
                        NeighbourPosition(chain),
                        *(NeighbourPosition(each, RunTransition.SWEPT) for each in included),
                    ],
                )

    def _rows(self) -> bool:
        return Slot(self.position.child - 1, "Y") in self.variables.space.slots

    def _components(self) -> list[RankComponent]:
        """The tensor's other sliding components."""
        components = shape_of(self.position.tensor, self.variables.space.dims).components
        return [each for each in components if each.sliding and each != self.position.component]

    def _others(self) -> list[str]:
        """Their dimensions that can be spread here."""
        return [
            dim
            for each in self._components()
            for dim in each.dims
            if self.neighbours.spreads(dim, self.position.child - 1)
        ]

    def stand(self, neighbour: NeighbourPosition, motion: Motion) -> cp_model.IntVar:
        """A literal that implies that units stand so, as far as that can be told."""
        model, level = self.variables.model, self.position.child - 1
        literal = model.new_bool_var("stands")
        if neighbour.transition is RunTransition.SWEPT:
            self._sweep(literal)
        if neighbour.transition in (RunTransition.SWEPT, RunTransition.CROSSED):
            model.add(
                literal
                <= self._outside(
                    frozenset(dim for each in self._components() for dim in each.dims), motion
                )
            )
        if neighbour.transition is RunTransition.AGAIN:
            model.add(literal <= cp_model.LinearExpr.sum(self._unmoved(motion)))
        if neighbour.chains == ():
            return literal
        if neighbour.chains is None:
            if self.position.component.orderly:
                self._forward_between_rows(neighbour, literal)
        elif neighbour.transition is RunTransition.CROSSED:
            self._cross(neighbour.chains[0][0], literal)
        else:
            for chain in neighbour.chains:
                ways = (
                    self.neighbours.inner(level, *chain)
                    if len(chain) == 1
                    else self.neighbours.next(level, *chain)
                )
                model.add(literal <= cp_model.LinearExpr.sum(ways))
        if neighbour.transition in (RunTransition.ONWARD, RunTransition.AGAIN):
            self._transition(motion, literal, neighbour.transition is RunTransition.AGAIN)
        return literal

    def _forward_between_rows(self, neighbour: NeighbourPosition, literal: cp_model.IntVar) -> None:
        """Rows are partly filled, and units one above the other can hold windows of the same tensor
        that differ as they should.

        Between these, some loop along Y advances, and if the loops along X do not divide a row,
        these do as well: over the component, or over dimensions that leave the tensor alone.
        Neighbours within a row are those of full rows.
        """
        model, level, space = self.variables.model, self.position.child - 1, self.variables.space
        moving = [
            *self.position.component.dims,
            *(self._others() if neighbour.transition is RunTransition.CROSSED else []),
        ]

        def used(axis: str, dims: Iterable[str]) -> cp_model.LinearExprT:
            slots = [slot for slot in self.neighbours.slots(level) if slot.axis == axis]
            return cp_model.LinearExpr.sum(
                [self.neighbours.used(slot, dim) for slot in slots for dim in dims]
            )

        model.add_implication(literal, self.neighbours.partial(level))
        even, uneven = model.new_bool_var("even"), model.new_bool_var("uneven")
        model.add(literal <= even + uneven)
        model.add_implication(even, ~self.neighbours.uneven(level))
        model.add(even <= used("Y", self.position.component.dims))
        model.add_implication(uneven, self.neighbours.uneven(level))
        for axis in "XY":
            model.add(uneven <= used(axis, [*moving, *space.irrelevant(self.position.tensor)]))
        if neighbour.transition is RunTransition.CROSSED:
            model.add(even <= used("Y", self._others()))

    def _cross(self, dim: str, literal: cp_model.IntVar) -> None:
        """A loop of another component is innermost on an axis that `dim` shares."""
        model, level = self.variables.model, self.position.child - 1
        ways = []
        for slot in self.neighbours.slots(level):
            way = model.new_bool_var("crossed")
            model.add(way <= self.neighbours.used(slot, dim))
            model.add(
                way
                <= cp_model.LinearExpr.sum(
                    [self.neighbours.innermost(slot)[other] for other in self._others()]
                )
            )
            ways.append(way)
        model.add(literal <= cp_model.LinearExpr.sum(ways))

    def _sweep(self, literal: cp_model.IntVar) -> None:
        """A loop of another component is innermost on an axis, or any units may be neighbours that
        differ in it.
        """
        level, others = self.position.child - 1, self._others()
        ways = [
            way for dim in others for way in self.neighbours.inner(level, dim)
        ] + self.neighbours.anyone(level, others)
        self.variables.model.add(literal <= cp_model.LinearExpr.sum(ways))

    def _outside(self, dims: Collection[str], motion: Motion) -> cp_model.LinearExprT:
        """At least 1 if some loop over one of `dims` stands at the run's level or further out."""
        return cp_model.LinearExpr.sum(
            [
                power
                for (dim, _, slot), power in self.variables.power.items()
                if dim in dims and not slot.axis and slot.level <= motion.level
            ]
        )

    def _unmoved(self, motion: Motion) -> list[cp_model.IntVar]:
        """Literals of which one holds if the component's loops may start over while the rest of the
        tensor's tile stays: a loop outside leaves the tensor alone, or loops over two dimensions of
        another component cancel.
        """
        way = self.variables.model.new_bool_var("unmoved")
        self.variables.model.add(
            way <= self._outside(self.variables.space.irrelevant(self.position.tensor), motion)
        )
        return [
            way,
            *(literal for other, literal in self._cancelling if other.level <= motion.level),
        ]

    @cached_property
    def _cancelling(self) -> list[tuple[Motion, cp_model.IntVar]]:
        """Motions of other components that bring their windows back, with literals that imply sizes
        at which they do.
        """
        found = []
        for component in self._components():
            position = replace(self.position, component=component)
            for motion in motions(position, self.variables.space):
                if motion.returns and not motion.beyond:
                    layout = layout_of(self.variables, position, [position.child - 1], motion)
                    points = [
                        p
                        for p in layout.points()
                        if goes_on(motion, layout, p) and meets(position, motion, layout, p)
                    ]
                    literal = self.variables.model.new_bool_var("cancels")
                    self.variables.tables.select(
                        layout.axes, literal, None, ("cancels", component, motion), points
                    )
                    found.append((motion, literal))
        return found

    def _transition(self, motion: Motion, literal: cp_model.IntVar, again: bool) -> None:
        """A jump between runs stays within reach only if the next loop outwards is over a dimension
        of the component or one that leaves the tensor alone, or (`again`) over another component,
        whose loops must then come to nothing. That loop stands at the run's level, or all else
        there is absent.
        """
        variables, space = self.variables, self.variables.space
        others = {dim for each in self._components() for dim in each.dims} if again else set()
        near = {*self.position.component.dims, *others, *space.irrelevant(self.position.tensor)} - {
            motion.dim
        }
        outside = variables.model.new_bool_var("outside")
        beside = [
            variables.power[dim, prime, Slot(motion.level)]
            for dim in sorted(near)
            for prime, _ in space.primes[dim]
        ]
        variables.model.add(literal <= cp_model.LinearExpr.sum([*beside, outside]))
        variables.model.add_implication(
            outside, self.reuse.idle(frozenset(space.dims) - near - {motion.dim}, motion.level)
        )
