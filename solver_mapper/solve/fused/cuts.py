"""What is open between an Einsum and the next: tensors kept for later, and loops that both stand
below.

A cut says all that the Einsums after it need to know of those before it. For a shared loop that is:
which rank of each live tensor it cuts. An Einsum below the loop that uses such a tensor must cut
the same rank of it, for in each iteration only that part is there. A tensor that is written below
the loop but that the loop does not cut (`None`) is complete only after its last iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from solver_mapper.solve.fused.graph import Graph, Occurrence
from solver_mapper.solve.fused.skeleton import SharedLoop, loops_in_time


@dataclass(frozen=True, order=True)
class Home:
    """A memory on chip in which a tensor is handed over, below `depth` shared loops."""

    memory: str
    depth: int


Places = tuple[tuple[str, str | None], ...]
"""Live tensors with their memories; None for the outermost."""


@dataclass(frozen=True)
class OpenLoop:
    """A loop over ranks of one family with `bound` values. `names` are the variables by which
    Einsums below it call it, `others` variables of the family that they have besides: the loop is
    written with all its names, so each Einsum may know only one. `across`: see `SharedLoop`.
    """

    family: Occurrence
    bound: int
    ties: frozenset[tuple[str, str | None]]
    names: frozenset[str]
    others: frozenset[str]
    across: tuple[str, str] | None


@dataclass(frozen=True)
class GraphCut:
    """Live tensors, each with its home (None: the outermost memory), and the loops that stay open,
    outer to inner.
    """

    homes: tuple[tuple[str, Home | None], ...]
    loops: tuple[OpenLoop, ...]

    @cached_property
    def home(self) -> Mapping[str, Home | None]:
        """By live tensor, where it is held; None for the outermost memory."""
        return dict(self.homes)

    @cached_property
    def digest(self) -> int:
        """The hash, computed once."""
        return hash((self.homes, self.loops))

    def __hash__(self) -> int:
        return self.digest

    @cached_property
    def memories(self) -> Places:
        """The live tensors with their memories, whatever the loops."""
        return tuple((tensor, home.memory if home else None) for tensor, home in self.homes)


CLOSED = GraphCut((), ())
"""Before the first Einsum and after the last."""


@dataclass(frozen=True)
class EinsumView:
    """One Einsum's part: the shared loops above it as it calls them, its tensors handed over on
    chip, and for each other tensor that further Einsums use too how many shared loops must at least
    stand above any place on chip that holds it. Only shared loops run over the fan-outs in
    `closed`.
    """

    position: int
    prefix: tuple[SharedLoop, ...]
    fused: tuple[tuple[str, Home], ...]
    floors: tuple[tuple[str, int], ...]
    closed: frozenset[tuple[str, str]] = frozenset()

    @property
    def shares(self) -> bool:
        """Whether other Einsums use any of its tensors."""
        return bool(self.fused or self.floors)

    @cached_property
    def digest(self) -> int:
        """The hash, computed once."""
        return hash((self.position, self.prefix, self.fused, self.floors, self.closed))

    def __hash__(self) -> int:
        return self.digest


def loose_view(graph: Graph, position: int, left: Places, right: Places) -> EinsumView:
    """The view of an Einsum that stands for all with the same memories, whatever loops are shared:
    to be searched for a lower bound, with any loops above what is handed over (see
    `Neighbours.loose`).
    """
    einsum = graph.workload.einsums[position]
    memories = {**dict(left), **dict(right)}
    fused = tuple(
        (tensor, Home(memory, 0))
        for tensor in einsum.tensors
        if (memory := memories.get(tensor)) is not None
    )
    floors = tuple(
        (tensor, 0)
        for tensor in einsum.tensors
        if graph.spans[tensor][0] < graph.spans[tensor][1] and memories.get(tensor) is None
    )
    return EinsumView(position, (), fused, floors)


@dataclass(frozen=True)
class Step:
    """One Einsum between two cuts."""

    left: GraphCut
    right: GraphCut
    view: EinsumView


@dataclass(frozen=True)
class Stepper:
    """Lists the steps of a graph with at most `limit` shared loops in time above any Einsum.
    `wanted`: whether an Einsum's tensors that come to life may be in these memories, after a cut.
    """

    graph: Graph
    limit: int
    wanted: Callable[[int, GraphCut, Mapping[str, str | None]], bool] = lambda *_: True

    def steps(self, position: int, left: GraphCut) -> Iterator[Step]:
        """Every way to go on from a cut with the Einsum at `position`."""
        for loops in self._continued(position, left):
            for opened, homes in self._opened(position, left, loops):
                right = self._right(position, left, (*loops, *opened), homes)
                yield Step(left, right, self._view(position, left, right, (*loops, *opened)))

    def _continued(self, position: int, left: GraphCut) -> Iterator[tuple[SharedLoop, ...]]:
        """The open loops as the Einsum may call them."""
        choices = [
            tuple(SharedLoop(name, loop.across) for name in self._callings(position, loop))
            for loop in left.loops
        ]
        for chosen in itertools.product(*choices):
            if len(set(chosen)) == len(chosen):
                yield chosen

    def _callings(self, position: int, loop: OpenLoop) -> Iterator[str]:
        einsum = self.graph.workload.einsums[position]
        tied = [(tensor, rank) for tensor, rank in loop.ties if tensor in einsum.by_tensor]
        if any(rank is None for _, rank in tied):
            return
        wanted = {
            self.graph.variable_of(position, tensor, rank)
            for tensor, rank in tied
            if rank is not None
        }
        if len(wanted) > 1:
            return
        for variable in wanted or einsum.variables:
            if (
                variable is not None
                and self.graph.families[position, variable] == loop.family
                and variable not in loop.others
                and einsum.bounds[variable] == loop.bound
                and not loop.names & (set(einsum.variables) - {variable})
            ):
                yield variable

    def _opened(
        self, position: int, left: GraphCut, continued: tuple[SharedLoop, ...]
    ) -> Iterator[tuple[tuple[SharedLoop, ...], dict[str, Home | None]]]:
        """New shared loops below those that are open, with homes of the tensors that come to life:
        some tensor needs each loop.
        """
        graph, einsum = self.graph, self.graph.workload.einsums[position]
        born = graph.born(position)
        for memories in itertools.product(*((None, *graph.homes(tensor)) for tensor in born)):
            chosen = dict(zip(born, memories, strict=True))
            if not self.wanted(position, left, chosen):
                continue
            handed = [tensor for tensor, memory in chosen.items() if memory]
            cutting = [
                name
                for name in einsum.variables
                if einsum.bounds[name] > 1
                and any(graph.rank_of(position, tensor, name) is not None for tensor in handed)
            ]
            free = [name for name in cutting if SharedLoop(name) not in continued]
            most = min(len(free), self.limit - loops_in_time(continued))
            for opened in self._orders(self._blocks(left, memories, cutting), free, most):
                for homes in self._homes_of(position, chosen, (*continued, *opened)):
                    depths = [home.depth for home in homes.values() if home]
                    if not opened or len(continued) + len(opened) in depths:
                        yield opened, homes

    def _orders(
        self, blocks: Iterable[tuple[SharedLoop, ...]], free: Sequence[str], most: int
    ) -> Iterator[tuple[SharedLoop, ...]]:
        """New shared loops: at most so many in time, with a block of loops in space anywhere
        between them.
        """
        for block in blocks:
            for count in range(most + 1):
                for names in itertools.permutations(free, count):
                    timed = tuple(SharedLoop(name) for name in names)
                    for where in range(count + 1 if block else 1):
                        yield (*timed[:where], *block, *timed[where:])

    def _blocks(
        self, left: GraphCut, memories: Sequence[str | None], names: Sequence[str]
    ) -> Iterator[tuple[SharedLoop, ...]]:
        """New shared loops in space: over the fan-outs of one of the memories, as far as no loops
        over these are shared already, each cut over some variables.
        """
        graph = self.graph
        done = graph.closed(home.memory for home in left.home.values() if home)
        found: dict[tuple[SharedLoop, ...], None] = {(): None}
        for memory in dict.fromkeys(memory for memory in memories if memory):
            ways = [way for way in graph.across(memory) if way not in done]
            choices = [
                [
                    tuple(SharedLoop(name, way) for name in chosen)
                    for count in range(len(names) + 1)
                    for chosen in itertools.combinations(names, count)
                    if 2**count <= graph.fanout(way)
                ]
                for way in ways
            ]
            for parts in itertools.product(*choices):
                found[tuple(itertools.chain.from_iterable(parts))] = None
        yield from found

    def _homes_of(
        self, position: int, chosen: Mapping[str, str | None], loops: tuple[SharedLoop, ...]
    ) -> Iterator[dict[str, Home | None]]:
        """Homes of tensors in the memories chosen, each below some of these loops."""
        options = [
            tuple(self._homes(position, tensor, memory, loops)) if memory else (None,)
            for tensor, memory in chosen.items()
        ]
        for homes in itertools.product(*options):
            yield dict(zip(chosen, homes, strict=True))

    def _homes(
        self, position: int, tensor: str, memory: str, loops: tuple[SharedLoop, ...]
    ) -> Iterator[Home]:
        ways = set(self.graph.across(memory))
        for depth in range(len(loops) + 1):
            if depth and self.graph.rank_of(position, tensor, loops[depth - 1].variable) is None:
                return
            above = {loop.across for loop in loops[:depth]} - {None}
            below = {loop.across for loop in loops[depth:]} - {None}
            if above <= ways and not below & ways:
                yield Home(memory, depth)

    def _right(
        self,
        position: int,
        left: GraphCut,
        shared: tuple[SharedLoop, ...],
        born: Mapping[str, Home | None],
    ) -> GraphCut:
        """The cut after the Einsum: only loops above a tensor that stays alive are left open."""
        graph = self.graph
        einsum, live = graph.workload.einsums[position], frozenset(graph.live(position))
        homes = {**{tensor: home for tensor, home in left.homes if tensor in live}, **born}
        depth = max((home.depth for home in homes.values() if home), default=0)
        loops = []
        for index, loop in enumerate(shared[:depth]):
            variable = loop.variable
            family = graph.families[position, variable]
            old = left.loops[index] if index < len(left.loops) else None
            ties = {tensor: rank for tensor, rank in old.ties if tensor in live} if old else {}
            ties |= {tensor: graph.rank_of(position, tensor, variable) for tensor in born}
            later = graph.variables_after(position, family)
            others = frozenset(name for name in einsum.variables if name != variable) | (
                old.others if old else frozenset()
            )
            names = frozenset((variable,)) | (old.names if old else frozenset())
            loops.append(
                OpenLoop(
                    family,
                    einsum.bounds[variable],
                    frozenset(ties.items()),
                    names & later,
                    others & later,
                    loop.across,
                )
            )
        return GraphCut(tuple(sorted(homes.items())), tuple(loops))

    def _view(
        self, position: int, left: GraphCut, right: GraphCut, shared: tuple[SharedLoop, ...]
    ) -> EinsumView:
        graph = self.graph
        einsum = graph.workload.einsums[position]
        homes = {**left.home, **right.home}
        fused = tuple(
            (tensor, home) for tensor in einsum.tensors if (home := homes.get(tensor)) is not None
        )
        floors = []
        for tensor in einsum.tensors:
            first, last = graph.spans[tensor]
            if first < last and homes.get(tensor) is None:
                floors.append(
                    (
                        tensor,
                        max(
                            0 if first == position else len(left.loops),
                            0 if last == position else len(right.loops),
                        ),
                    )
                )
        prefix = shared[: max(len(left.loops), len(right.loops))]
        closed = graph.closed(home.memory for home in homes.values() if home)
        return EinsumView(position, prefix, fused, tuple(floors), closed)
