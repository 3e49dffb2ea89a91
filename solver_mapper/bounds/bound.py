"""The bound of one Einsum: buffer size against least data movement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from solver_mapper.bounds.curve import Curve, Mark
from solver_mapper.bounds.dataflow import restriction
from solver_mapper.bounds.example_mapping import tree_of_tile
from solver_mapper.bounds.halo_reuse import regular_movements, regular_traffic
from solver_mapper.bounds.listing import corners_of, loop_orders, strict_curve, tiles_within
from solver_mapper.bounds.search import FREE, FoundTile, Restriction, least_traffic
from solver_mapper.core.mapping import LevelMapping, loop
from solver_mapper.core.mapping import Mapping as LoopMapping
from solver_mapper.core.problem import Problem
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.snowcat.accesses import Movement, movements, unkept
from solver_mapper.cost.snowcat.machine_files import BUFFER, STORE
from solver_mapper.cost.snowcat.reuse_classes import has_windows
from solver_mapper.cost.snowcat.tensor_size import touched_words
from solver_mapper.errors import (
    ExactnessError,
    InfeasibleError,
    InputError,
    about_argument,
    unknown_name,
)

ASSUMED = (
    "one backing store without limit, one buffer, one unit (the Snowcat model)",
    "perfect factors: tile sizes divide; all tiles, all orders of the loops over tiles",
    "outputs start at zero and are not read on the first visit",
)
ALL_KEPT = "every tensor has a tile in the buffer"
SOME_KEPT = "a tensor without a tile in the buffer is fetched, or updated, by every operation"
WINDOWS = (
    "a sliding window fetches only what is new, but only from one step of its innermost relevant"
    " loop to the next"
)
REGULAR = (
    "a sliding window fetches only what is new while it moves by one and the same shift, as the"
    " cost model counts"
)


@dataclass(frozen=True)
class Counting:
    """What a bound admits, and how it counts.

    `regular_shifts`: sliding windows keep their overlap where the cost model (and so `solve`) says
    that they do (see `regular`), not where Orojenesis does (see `traffic`). `bypass`: tensors may
    do without a tile in the buffer (at least one has one); each operation then moves its own word
    of them.
    """

    regular_shifts: bool = False
    bypass: bool = False


USUAL = Counting()


@dataclass(frozen=True)
class TilePoint:
    """One step of a bound and a mapping that attains it.

    `tile[dim]` points per dimension are held at a time; `order` lists the loops over tiles,
    outermost first. `moved[tensor]` is in words; `buffer` and `accesses` are in the curve's units.
    Tensors not in `kept` have no tile.
    """

    buffer: int
    accesses: int
    tile: Mapping[str, int]
    order: tuple[str, ...]
    moved: Mapping[str, Movement]
    problem: Problem
    kept: frozenset[str]

    @property
    def mapping(self) -> LoopMapping:
        """The example mapping as a mapping of an architecture with the levels "MainMemory" and
        "Buffer".
        """
        outer = tuple(loop(dim, self.problem.bounds[dim] // self.tile[dim]) for dim in self.order)
        inner = tuple(loop(dim, self.tile[dim]) for dim in self.problem.dims if self.tile[dim] > 1)
        everything = frozenset(self.problem.tensor_names)
        levels = (
            LevelMapping(STORE, outer, keep=everything),
            LevelMapping(BUFFER, inner, keep=self.kept),
        )
        return LoopMapping(levels, self.problem.dims, self.problem.tensor_names)

    @property
    def tree(self) -> TreeMapping:
        """The example mapping as a LoopTree with the components MainMemory, Buffer and MAC."""
        return tree_of_tile(self.problem, self.tile, self.order, self.kept)

    @property
    def stationary(self) -> tuple[str, ...]:
        """Tensors that move no word more often than they must: read once, or written once and never
        read back.
        """
        return tuple(
            name
            for name, move in self.moved.items()
            if move.accesses <= touched_words(self.problem.tensor(name), self.problem.bounds)
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        tensors = {
            name: {"tile": move.tile, "reads": move.reads, "writes": move.writes}
            for name, move in self.moved.items()
        }
        return {
            "buffer": self.buffer,
            "accesses": self.accesses,
            "tile": dict(self.tile),
            "order": list(self.order),
            "tensors": tensors,
            **({"bypassed": self._bypassed} if self._bypassed else {}),
        }

    def summary(self) -> Mapping[str, str]:
        """Columns of a table: tile sizes above 1, loop order, tensors that move once, tensors that
        bypass the buffer.
        """
        tile = " ".join(f"{dim}={size}" for dim, size in self.tile.items() if size > 1) or "1 each"
        return {
            "tile": tile,
            "order": " ".join(self.order),
            "moved once": " ".join(self.stationary),
            "bypassed": " ".join(self._bypassed),
        }

    @property
    def _bypassed(self) -> list[str]:
        return [name for name in self.problem.tensor_names if name not in self.kept]


def bound(
    problem: Problem,
    *,
    word_bits: Mapping[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Mapping[str, int] | None = None,
    within: Restriction | None = None,
    marks: Sequence[Mark] = (),
    counting: Counting = USUAL,
) -> Curve[TilePoint]:
    """Least traffic between the backing store and a buffer, for every buffer size, proven by
    exhaustion.

    Args: `word_bits[tensor]`, the size of a word; with it the figures are in bytes (bits, if some
    size is no multiple of 8), without in words. `stationary`, `order`, `tiles`: the curve of a
    dataflow (`restriction` in `bounds/dataflow.py`); `within`, the same as a record; a stationary
    tensor is never bypassed.
    Raises: InputError for names or sizes that do not fit the problem; InfeasibleError if a dataflow
    leaves no mapping.
    """
    space = restriction(problem, stationary, order, tiles) if within is None else within
    weights, units = unit_weights(problem, word_bits)
    points = strict_curve(
        point
        for kept in _kept_sets(problem, counting.bypass, stationary)
        for point in _points(
            problem, kept, weights, space, counting.regular_shifts and has_windows(problem)
        )
    )
    if not points:
        raise InfeasibleError(f"no mapping of '{problem.name}' obeys the dataflow asked for")
    sizes = {tensor.name: touched_words(tensor, problem.bounds) for tensor in problem.tensors}
    written = sum(sizes[tensor.name] for tensor in problem.tensors if tensor.read_write)
    total = sum(weights[name] * size for name, size in sizes.items())
    return Curve(
        problem.name,
        units,
        points,
        total,
        max(1, 2 * problem.macs - written),
        total,
        (*_said(problem, counting), *_dataflow_text(stationary, order, tiles)),
        tuple(marks),
        macs=problem.macs,
        proof="every tile and every order of the loops over tiles was counted",
    )


def bound_mappings(
    problem: Problem,
    *,
    word_bits: Mapping[str, int] | None = None,
    within: Restriction = FREE,
    stationary: str | None = None,
    counting: Counting = USUAL,
    pareto: bool = False,
) -> Iterator[TilePoint]:
    """Every mapping of the mapspace of `bound`, one by one: each tile with each order of the loops
    over tiles of more than one iteration.

    Args: as for `bound`; `pareto`, only the mappings that no other improves upon in buffer and
    accesses (mappings of equal figures are all given).
    Raises: as `bound`.
    """
    corners = None
    if pareto:
        curve = bound(
            problem, word_bits=word_bits, within=within, counting=counting, stationary=stationary
        )
        corners = corners_of(curve.points)
    weights, _ = unit_weights(problem, word_bits)
    regular = counting.regular_shifts and has_windows(problem)
    for kept in _kept_sets(problem, counting.bypass, stationary):
        for tile in tiles_within(problem, within):
            buffer = sum(
                weights[tensor.name] * tensor.footprint(tile)
                for tensor in problem.tensors
                if tensor.name in kept
            )
            if corners is not None and buffer not in corners:
                continue
            for order in loop_orders(problem, tile, within.stages):
                point = _point(problem, kept, weights, tile, order, regular)
                if corners is None or point.accesses == corners[point.buffer]:
                    yield point


def _check_word_bits(problem: Problem, word_bits: Mapping[str, int]) -> None:
    for name, bits in word_bits.items():
        if name not in problem.tensor_names:
            raise unknown_name("tensor", name, problem.tensor_names, problem.location)
        if bits < 1:
            raise InputError(
                f"a word of {name} must have at least one bit, not {bits}", problem.location
            )
    missing = [name for name in problem.tensor_names if name not in word_bits]
    if missing:
        raise InputError(
            f"word sizes are given, but not for {', '.join(missing)}", problem.location
        )


def unit_weights(
    problem: Problem, word_bits: Mapping[str, int] | None
) -> tuple[dict[str, int], str]:
    """What a word of each tensor weighs, and in which units."""
    if word_bits is None:
        return dict.fromkeys(problem.tensor_names, 1), "words"
    with about_argument("word_bits"):
        _check_word_bits(problem, word_bits)
    if any(bits % 8 for bits in word_bits.values()):
        return {name: word_bits[name] for name in problem.tensor_names}, "bits"
    return {name: word_bits[name] // 8 for name in problem.tensor_names}, "bytes"


def _kept_sets(problem: Problem, bypass: bool, stationary: str | None) -> Iterator[frozenset[str]]:
    """Which tensors may have a tile, most first."""
    least = 1 if bypass else len(problem.tensors)
    for count in range(len(problem.tensors), least - 1, -1):
        yield from (
            kept
            for kept in map(frozenset, combinations(problem.tensor_names, count))
            if stationary in (None, *kept)
        )


def _points(
    problem: Problem,
    kept: frozenset[str],
    weights: Mapping[str, int],
    space: Restriction,
    regular: bool,
) -> Iterator[TilePoint]:
    """The bound curve of the mappings that keep exactly `kept`, each step counted a second time."""
    seen = replace(
        problem, tensors=tuple(tensor for tensor in problem.tensors if tensor.name in kept)
    )
    search = regular_traffic if regular else least_traffic
    for found in search(seen, weights, space):
        yield _point(problem, kept, weights, found.tile, found.order, regular, found)


def _point(
    problem: Problem,
    kept: frozenset[str],
    weights: Mapping[str, int],
    tile: Mapping[str, int],
    order: tuple[str, ...],
    regular: bool,
    claim: FoundTile | None = None,
) -> TilePoint:
    """A mapping with its figures. `claim`: what a search counted for the tensors in `kept`."""
    seen = replace(
        problem, tensors=tuple(tensor for tensor in problem.tensors if tensor.name in kept)
    )
    moved = (regular_movements if regular else movements)(seen, tile, order)
    buffer = sum(weights[name] * move.tile for name, move in moved.items())
    accesses = sum(weights[name] * move.accesses for name, move in moved.items())
    if claim is not None and (buffer, accesses) != (claim.buffer, claim.accesses):
        raise ExactnessError(
            f"'{problem.name}', tile {dict(tile)}, order {order}: the search"
            f" counted ({claim.buffer}, {claim.accesses}), the model counts ({buffer},"
            f" {accesses})"
        )
    everything = {
        tensor.name: moved.get(tensor.name) or unkept(tensor, problem) for tensor in problem.tensors
    }
    total = sum(weights[name] * move.accesses for name, move in everything.items())
    return TilePoint(buffer, total, tile, order, everything, problem, kept)


def _said(problem: Problem, counting: Counting) -> tuple[str, ...]:
    windows = (REGULAR if counting.regular_shifts else WINDOWS,) if has_windows(problem) else ()
    return (*ASSUMED, SOME_KEPT if counting.bypass else ALL_KEPT, *windows)


def _dataflow_text(
    stationary: str | None, order: Sequence[str] | None, tiles: Mapping[str, int] | None
) -> tuple[str, ...]:
    said = [f"{stationary} stationary"] if stationary else []
    said += [f"loops over tiles in the order {' '.join(order)}, outermost first"] if order else []
    said += (
        ["tile sizes " + " ".join(f"{dim}={size}" for dim, size in tiles.items())] if tiles else []
    )
    return (f"only this dataflow: {'; '.join(said)}",) if said else ()
