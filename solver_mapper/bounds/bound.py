"""The bound of one Einsum: buffer size against least data movement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solver_mapper.bounds.curve import Curve, Mark
from solver_mapper.bounds.dataflow import restriction
from solver_mapper.bounds.reuse import window_dims
from solver_mapper.bounds.search import Found, Restriction, least_traffic
from solver_mapper.bounds.size import touched_words
from solver_mapper.bounds.traffic import Movement, movements
from solver_mapper.errors import ExactnessError, InfeasibleError, InputError, unknown_name
from solver_mapper.mapping import LevelMapping, loop
from solver_mapper.mapping import Mapping as LoopMapping
from solver_mapper.spec.problem import Problem

STORE, BUFFER = "MainMemory", "Buffer"

ASSUMED = (
    "one backing store without limit, one buffer, one unit (the Snowcat model); every tensor has a tile in the buffer",
    "perfect factors: tile sizes divide; all tiles, all orders of the loops over tiles",
    "outputs start at zero and are not read on the first visit",
)
WINDOWS = "a sliding window fetches only what is new, but only from one step of its innermost relevant loop to the next"
REGULAR = "a sliding window fetches only what is new, but only along the innermost loop of all, as the nest model counts"


@dataclass(frozen=True)
class TilePoint:
    """One step of a bound and a mapping that attains it.

    `tile[dim]` points per dimension are held at a time; `order` lists the loops over tiles, outermost first. `moved[tensor]` is
    in words; `buffer` and `accesses` are in the curve's units.
    """

    buffer: int
    accesses: int
    tile: Mapping[str, int]
    order: tuple[str, ...]
    moved: Mapping[str, Movement]
    problem: Problem

    @property
    def mapping(self) -> LoopMapping:
        """The witness as a mapping of an architecture with the levels "MainMemory" and "Buffer"."""
        outer = tuple(loop(dim, self.problem.bounds[dim] // self.tile[dim]) for dim in self.order)
        inner = tuple(loop(dim, self.tile[dim]) for dim in self.problem.dims if self.tile[dim] > 1)
        keep = frozenset(self.problem.tensor_names)
        return LoopMapping((LevelMapping(STORE, outer, keep=keep), LevelMapping(BUFFER, inner, keep=keep)))

    @property
    def stationary(self) -> tuple[str, ...]:
        """Tensors that move no word more often than they must: read once, or written once and never read back."""
        return tuple(name for name, move in self.moved.items()
                     if move.accesses <= touched_words(self.problem.tensor(name), self.problem.bounds))

    def to_dict(self) -> dict[str, Any]:
        tensors = {name: {"tile": move.tile, "reads": move.reads, "writes": move.writes} for name, move in self.moved.items()}
        return {"buffer": self.buffer, "accesses": self.accesses, "tile": dict(self.tile), "order": list(self.order),
                "tensors": tensors}

    def summary(self) -> Mapping[str, str]:
        tile = " ".join(f"{dim}={size}" for dim, size in self.tile.items() if size > 1) or "1 each"
        return {"tile": tile, "order": " ".join(self.order), "moved once": " ".join(self.stationary)}


def bound(problem: Problem, *, word_bits: Mapping[str, int] | None = None, stationary: str | None = None,
          order: Sequence[str] | None = None, tiles: Mapping[str, int] | None = None, within: Restriction | None = None,
          marks: Sequence[Mark] = (), regular_shifts: bool = False) -> Curve[TilePoint]:
    """Least traffic between the backing store and a buffer, for every buffer size, proven by exhaustion.

    Args: `word_bits[tensor]`, the size of a word; with it the figures are in bytes (bits, if some size is no multiple of 8),
    without in words. `stationary`, `order`, `tiles`: the curve of a dataflow (see `dataflow.restriction`); `within`, the same as
    a record. `regular_shifts`: windows keep their overlap only where the nest model (and so `solve`) says they do, not also behind
    loops that leave them where they are; the curve is then that of `solve`, else it lies on or below.
    Raises: InputError for names or sizes that do not fit the problem; InfeasibleError if a dataflow leaves no mapping.
    """
    space = restriction(problem, stationary, order, tiles) if within is None else within
    weights, units = unit_weights(problem, word_bits)
    found = least_traffic(problem, weights, space, regular=regular_shifts)
    if not found:
        raise InfeasibleError(f"no mapping of '{problem.name}' obeys the dataflow asked for")
    points = tuple(_checked(problem, each, weights, regular_shifts) for each in found)
    sizes = {tensor.name: touched_words(tensor, problem.bounds) for tensor in problem.tensors}
    written = sum(sizes[tensor.name] for tensor in problem.tensors if tensor.read_write)
    total = sum(weights[name] * size for name, size in sizes.items())
    return Curve(problem.name, units, points, total, max(1, 2 * problem.macs - written), total,
                 (*ASSUMED, *_window_text(problem, regular_shifts), *_dataflow_text(stationary, order, tiles)), tuple(marks))


def unit_weights(problem: Problem, word_bits: Mapping[str, int] | None) -> tuple[dict[str, int], str]:
    """What a word of each tensor weighs, and in which units."""
    if word_bits is None:
        return dict.fromkeys(problem.tensor_names, 1), "words"
    for name, bits in word_bits.items():
        if name not in problem.tensor_names:
            raise unknown_name("tensor", name, problem.tensor_names, problem.place)
        if bits < 1:
            raise InputError(f"a word of {name} must have at least one bit, not {bits}", problem.place)
    missing = [name for name in problem.tensor_names if name not in word_bits]
    if missing:
        raise InputError(f"word sizes are given, but not for {', '.join(missing)}", problem.place)
    if any(bits % 8 for bits in word_bits.values()):
        return {name: word_bits[name] for name in problem.tensor_names}, "bits"
    return {name: word_bits[name] // 8 for name in problem.tensor_names}, "bytes"


def _checked(problem: Problem, found: Found, weights: Mapping[str, int], regular: bool) -> TilePoint:
    moved = movements(problem, found.tile, found.order, regular)
    buffer = sum(weights[name] * move.tile for name, move in moved.items())
    accesses = sum(weights[name] * move.accesses for name, move in moved.items())
    if (buffer, accesses) != (found.buffer, found.accesses):
        raise ExactnessError(f"'{problem.name}', tile {dict(found.tile)}, order {found.order}: the search counted "
                             f"({found.buffer}, {found.accesses}), the model counts ({buffer}, {accesses})")
    return TilePoint(buffer, accesses, found.tile, found.order, moved, problem)


def _window_text(problem: Problem, regular: bool) -> tuple[str, ...]:
    slides = any(window_dims(tensor) for tensor in problem.tensors)
    return (REGULAR if regular else WINDOWS,) if slides else ()


def _dataflow_text(stationary: str | None, order: Sequence[str] | None, tiles: Mapping[str, int] | None) -> tuple[str, ...]:
    said = [f"{stationary} stationary"] if stationary else []
    said += [f"loops over tiles in the order {' '.join(order)}, outermost first"] if order else []
    said += ["tile sizes " + " ".join(f"{dim}={size}" for dim, size in tiles.items())] if tiles else []
    return (f"only this dataflow: {'; '.join(said)}",) if said else ()
