"""One Einsum below a trunk: what it may store across the trunk's loops, and what it streams."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.trunk import Trunk, cut, trips_of
from solver_mapper.bounds.fusion.tensor_cores import BlockSizes, block_tiles
from solver_mapper.bounds.search import FoundTile, Restriction, least_traffic
from solver_mapper.core.dominance import undominated_rows
from solver_mapper.core.problem import Problem, Tensor


@dataclass(frozen=True)
class MemberChoice:
    """How an Einsum runs inside a trunk.

    `resident[tensor]` is the position in the trunk above which the tensor's tile is loaded (0:
    before the first loop); it stays while the loops below iterate and other Einsums run. Below all
    loops of the trunk it stays for this Einsum's run only. Tensors that other Einsums below the
    trunk use too are never resident. `streamed` is the nest of the tensors in `flowing`, repeated
    in every iteration of the trunk and dropped after it; None if there are none. In units:
    `additive` is what is resident, `own` the streamed tiles, `accesses` the traffic of all
    iterations.
    """

    resident: Mapping[str, int]
    flowing: tuple[str, ...]
    streamed: FoundTile | None
    additive: int
    own: int
    accesses: int


class Leaves:
    """All undominated choices of every Einsum of a net, remembered. `uneven`: also those that hold
    the whole tile of one tensor during an Einsum's run while others stream past it.
    """

    def __init__(self, net: DataflowGraph, uneven: bool = False):
        self.net, self.uneven = net, uneven
        self._nests: dict[object, tuple[FoundTile, ...]] = {}
        self._choices: dict[object, tuple[MemberChoice, ...]] = {}

    def choices(
        self, einsum: int, trunk: Trunk, held: frozenset[str], common: frozenset[str] = frozenset()
    ) -> tuple[MemberChoice, ...]:
        """Choices that no other beats in additive space, own space and accesses.

        Args: `held`, tensors that are on chip by other means; `common`, tensors that another Einsum
        below the same trunk uses too.
        """
        mine = frozenset(self.net.problems[einsum].tensor_names)
        key = (
            einsum,
            tuple((loop.variables(einsum), loop.trips) for loop in trunk),
            held & mine,
            common & mine,
        )
        if key not in self._choices:
            self._choices[key] = _undominated(
                list(self._all(einsum, trunk, held, common)), self.net
            )
        return self._choices[key]

    def _all(
        self, einsum: int, trunk: Trunk, held: frozenset[str], common: frozenset[str]
    ) -> Iterator[MemberChoice]:
        tensors = [
            tensor for tensor in self.net.problems[einsum].tensors if tensor.name not in held
        ]
        for chosen in product(
            *(self._positions(tensor, trunk, einsum, common) for tensor in tensors)
        ):
            kept = {
                tensor.name: at
                for tensor, at in zip(tensors, chosen, strict=True)
                if at is not None
            }
            flowing = tuple(tensor for tensor in tensors if tensor.name not in kept)
            for found in self._streams(einsum, trunk, flowing):
                yield choice_of(self.net, einsum, trunk, kept, flowing, found)

    def _positions(
        self, tensor: Tensor, trunk: Trunk, einsum: int, common: frozenset[str]
    ) -> tuple[int | None, ...]:
        """Where a tensor may be kept; None to stream."""
        lasting = () if tensor.name in common else tuple(resident_positions(tensor, trunk, einsum))
        return None, *lasting, *((len(trunk),) if self.uneven else ())

    def _streams(
        self, einsum: int, trunk: Trunk, tensors: tuple[Tensor, ...]
    ) -> tuple[FoundTile | None, ...]:
        inside = cut(self.net.problems[einsum].bounds, trunk, einsum)
        numbered = [
            (number, block)
            for number, block in enumerate(self.net.blocks[einsum])
            if block_tiles(inside, block) is not None
        ]
        if not tensors:
            return (None,) if numbered else ()
        nest = inner_nest(self.net.problems[einsum], trunk, einsum, tensors)
        key = (
            einsum,
            nest.tensors,
            tuple(nest.bounds.items()),
            tuple(number for number, _ in numbered),
        )
        if key not in self._nests:
            self._nests[key] = tuple(
                found for _, block in numbered for found in self._blocked(nest, block)
            )
        return self._nests[key]

    def _blocked(self, nest: Problem, block: BlockSizes) -> tuple[FoundTile, ...]:
        return least_traffic(
            nest, self.net.weights, Restriction(block_tiles(nest.bounds, block) or {})
        )


def choice_of(
    net: DataflowGraph,
    einsum: int,
    trunk: Trunk,
    kept: Mapping[str, int],
    flowing: tuple[Tensor, ...],
    found: FoundTile | None,
) -> MemberChoice:
    """The choice that keeps tensors at the positions `kept` and streams the others as `found` says,
    with its figures.
    """
    additive, own = 0, found.buffer if found else 0
    accesses = streaming(net, einsum, flowing, trunk, found)
    for name, at in kept.items():
        tile, moved = residence(net, einsum, net.use(einsum, name), trunk, at)
        additive, own = (additive + tile, own) if at < len(trunk) else (additive, own + tile)
        accesses += moved
    return MemberChoice(
        kept,
        tuple(tensor.name for tensor in flowing),
        found,
        additive,
        own,
        net.repeats[einsum] * accesses,
    )


def inner_nest(problem: Problem, trunk: Trunk, einsum: int, tensors: tuple[Tensor, ...]) -> Problem:
    """The nest that the tensors which stream see in one iteration of the trunk: dimensions that
    none of them has drop out.
    """
    inside = cut(problem.bounds, trunk, einsum)
    dims = tuple(dim for dim in problem.dims if any(dim in tensor.dims for tensor in tensors))
    return replace(problem, dims=dims, bounds={dim: inside[dim] for dim in dims}, tensors=tensors)


def resident_positions(tensor: Tensor, trunk: Trunk, einsum: int) -> Iterator[int]:
    """Where loading a tile pays: above a loop that does not change it, but not above another such
    loop (that saves more).
    """
    varies = [
        any(variable in tensor.dims for variable, _ in loop.variables(einsum)) for loop in trunk
    ]
    return (at for at, changes in enumerate(varies) if not changes and (at == 0 or varies[at - 1]))


def residence(
    net: DataflowGraph, einsum: int, tensor: Tensor, trunk: Trunk, at: int
) -> tuple[int, int]:
    """Units that a tile loaded above loop `at` takes, and the traffic of one run of the Einsum."""
    outer = trunk[:at]
    words = net.weights[tensor.name] * tensor.footprint(
        cut(net.problems[einsum].bounds, outer, einsum)
    )
    visits = trips_of(outer)
    return words, words * (
        2 * visits - distinct_tiles(tensor, outer, einsum) if tensor.read_write else visits
    )


def streaming(
    net: DataflowGraph,
    einsum: int,
    tensors: tuple[Tensor, ...],
    trunk: Trunk,
    found: FoundTile | None,
) -> int:
    """Traffic of a nest that every iteration of the trunk repeats.

    The nest alone counts each output word as new once; under a trunk that comes back to the same
    words, they are new only in the first of those iterations and are read back in the others.
    """
    if found is None:
        return 0
    trips = trips_of(trunk)
    total = trips * found.accesses
    for tensor in tensors:
        if tensor.read_write:
            inside = cut(net.problems[einsum].bounds, trunk, einsum)
            steps = math.prod(inside[dim] // found.tile[dim] for dim in tensor.dims)
            once = net.weights[tensor.name] * tensor.footprint(found.tile) * steps
            total += (trips - distinct_tiles(tensor, trunk, einsum)) * once
    return total


def distinct_tiles(tensor: Tensor, trunk: Trunk, einsum: int) -> int:
    """How many different tiles of `tensor` the loops of `trunk` pass through."""
    return math.prod(
        trips
        for loop in trunk
        for variable, trips in loop.variables(einsum)
        if variable in tensor.dims
    )


def _undominated(choices: list[MemberChoice], net: DataflowGraph) -> tuple[MemberChoice, ...]:
    rows = [(each.additive, each.own, each.accesses) for each in choices]
    return tuple(choices[at] for at in undominated_rows(np.array(rows, dtype=net.dtype)))
