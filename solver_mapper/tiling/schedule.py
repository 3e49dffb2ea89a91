"""The loop nest as a list of kernel invocations, and as text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from solver_mapper.tiling.nest import TilingNest
from solver_mapper.tiling.strategy import EVERY_TIME
from solver_mapper.tiling.tensors import Span


@dataclass(frozen=True)
class Invocation:
    """One call of the kernel.

    `iterations[loop]` is the piece of each loop that it does, `tiles[tensor]` the grid index of the
    tile in place and `offsets[tensor]` where the work begins in that tile (the reference's
    ifmap_start, kern_start and ofmap_start). `loads` and `stores` name the tensors moved before and
    after it. `accumulate`: it adds to what is in the output tile.
    """

    number: int
    iterations: Mapping[str, Span]
    tiles: Mapping[str, tuple[int, ...]]
    offsets: Mapping[str, tuple[int, ...]]
    loads: tuple[str, ...]
    stores: tuple[str, ...]
    accumulate: bool


def invocations(nest: TilingNest) -> Iterator[Invocation]:
    """All invocations in order, made as they are asked for."""
    every = itertools.product(*(range(trips) for trips in nest.trips))
    output = nest.operator.output.name
    last: dict[str, tuple[int, ...]] = {}
    ahead = itertools.chain(
        itertools.islice(itertools.product(*(range(trips) for trips in nest.trips)), 1, None),
        [None],
    )
    for number, (indices, following) in enumerate(zip(every, ahead, strict=True)):
        at = {loop.name: index for loop, index in zip(nest.loops, indices, strict=False)}
        iterations = {loop.name: loop.pieces[at[loop.name]] for loop in nest.loops}
        tiles = {name: nest.tile_at(name, indices) for name in nest.tiled}
        loads = tuple(
            each.name
            for each in nest.operator.operands
            if last.get(each.name) != tiles[each.name] or _reloads(nest, each.name, at)
        )
        left = following is None or nest.tile_at(output, following) != tiles[output]
        yield Invocation(
            number,
            iterations,
            tiles,
            {name: _offset(nest, name, tiles[name], iterations) for name in nest.tiled},
            loads,
            (output,) if left or (nest.stores_first and _begins(nest, indices)) else (),
            any(at[name] for name in at if name in nest.operator.reductions),
        )
        last = tiles


def _reloads(nest: TilingNest, tensor: str, at: Mapping[str, int]) -> bool:
    habit = nest.reloads.get(tensor)
    return habit is not None and (habit == EVERY_TIME or at.get(habit, 0) == 0)


def _begins(nest: TilingNest, indices: tuple[int, ...]) -> bool:
    selecting = {depth for _, depth in nest.drivers[nest.operator.output.name]}
    return all(index == 0 for depth, index in enumerate(indices) if depth not in selecting)


def _offset(
    nest: TilingNest, tensor: str, tile: tuple[int, ...], iterations: Mapping[str, Span]
) -> tuple[int, ...]:
    tiled = nest.tiled[tensor]
    return tuple(
        rank.span(iterations.get(rank.loop or "")).start - held.start
        for rank, held in zip(tiled.tensor.ranks, tiled.box(tile), strict=True)
    )


def loop_nest_text(nest: TilingNest) -> str:
    """The nest as indented pseudocode: where tiles are loaded and stored, and so across which loops
    they stay in place.

    Loops of one iteration are left out.
    """
    shown = [depth for depth, loop in enumerate(nest.loops) if loop.trips > 1]
    indents = {name: sum(1 for each in shown if each < depth_of(nest, name)) for name in nest.tiled}
    operands = [tensor.name for tensor in nest.operator.operands]
    output = nest.operator.output.name
    lines = []
    for indent in range(len(shown) + 1):
        lines += [
            f"{'  ' * indent}load {_tile_text(nest, name)}"
            for name in operands
            if indents[name] == indent
        ]
        if indent < len(shown):
            loop = nest.loops[shown[indent]]
            pieces = _pieces_text(loop.name, loop.pieces)
            lines.append(
                f"{'  ' * indent}for {loop.name.lower()} in 0..{loop.trips - 1}:  {pieces}"
            )
    reducing = [
        loop.name.lower()
        for loop in nest.loops
        if loop.name in nest.operator.reductions and loop.trips > 1
    ]
    lines.append(
        "  " * len(shown)
        + "compute"
        + (f", accumulating where {' + '.join(reducing)} > 0" if reducing else "")
    )
    lines.append("  " * indents[output] + f"store {_tile_text(nest, output)}")
    return "\n".join(lines)


def depth_of(nest: TilingNest, tensor: str) -> int:
    """How many loops stand outside the load or store of a tensor."""
    habit = nest.reloads.get(tensor)
    if habit == EVERY_TIME:
        return len(nest.loops)
    selecting = [depth + 1 for _, depth in nest.drivers[tensor] if nest.loops[depth].trips > 1]
    reloading = [depth for depth, loop in enumerate(nest.loops) if habit == loop.name]
    return max([0, *selecting, *reloading])


def _tile_text(nest: TilingNest, tensor: str) -> str:
    driven = {rank: depth for rank, depth in nest.drivers[tensor] if nest.loops[depth].trips > 1}
    index = (
        nest.loops[driven[rank]].name.lower() if rank in driven else ":"
        for rank in range(len(nest.tiled[tensor].grid))
    )
    return f"{tensor}[{', '.join(index)}]"


def _pieces_text(name: str, pieces: tuple[Span, ...]) -> str:
    runs = [
        (size, len(list(same))) for size, same in itertools.groupby(piece.size for piece in pieces)
    ]
    return f"# {name}: " + " + ".join(
        f"{size}" if count == 1 else f"{count} x {size}" for size, count in runs
    )
