"""Which words enter a level when all factors are perfect: closed form.

A level remembers by which shift its tile came, and reuses words only if the next tile comes by the
same shift (`shift_automaton.py` has the rule). With perfect factors the innermost loop outside the
tile runs at least twice in each round, so the remembered shift is always that loop's. Every other
shift costs a whole tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from solver_mapper.cost.timeloop.projection import Projection
from solver_mapper.cost.timeloop.tiles import Extents, PlacedLoop


class Fetch(NamedTuple):
    """`steps` steps that fetch `words` each.

    `link` is the code of the shift from the previous step's words to these where both have the same
    shape, else None.
    """

    words: int
    steps: int
    link: int | None


def fetched_words(
    loops: Sequence[PlacedLoop], projection: Projection, extents: Extents, reuse: bool
) -> int:
    """Words fetched in the whole run; `loops` are the temporal loops outside the tile of `extents`,
    outer to inner.
    """
    if projection.sliding and reuse:
        return sum(
            fetch.words * fetch.steps for fetch in fetches(loops, projection, extents, reuse)
        )
    changes = total = 1
    codes = projection.codes
    for loop in loops:
        total *= loop.bound
        if codes[loop.dim]:
            changes = total
    return projection.words(extents) * (changes if reuse else total)


def fetches(
    loops: Sequence[PlacedLoop], projection: Projection, extents: Extents, reuse: bool
) -> list[Fetch]:
    """All fetches, by kind."""
    tile = projection.words(extents)
    if not loops:
        return [Fetch(tile, 1, None)]
    moves = shifts(loops, projection.codes)
    innermost = loops[-1]
    sliding = moves[-1][0]
    delta = new_words(projection, extents, innermost) if reuse else tile
    if delta == tile:
        return [Fetch(tile, 1, None), *(Fetch(tile, steps, shift) for shift, steps in moves)]
    jumps = 1 + sum(steps for shift, steps in moves if shift != sliding)
    slides = sum(steps for shift, steps in moves if shift == sliding)
    return [
        Fetch(tile, jumps, None),
        Fetch(delta, jumps, None),
        Fetch(delta, slides - jumps, sliding),
    ]


def shifts(loops: Sequence[PlacedLoop], codes: Sequence[int]) -> list[tuple[int, int]]:
    """For each loop, outer to inner: the code of the shift when it advances and the loops inside
    start over, and how often.
    """
    moves = []
    back = 0
    for loop in reversed(loops):
        step = codes[loop.dim] * loop.stride
        moves.append((step - back, loop.bound - 1))
        back += (loop.bound - 1) * step
    rounds = 1
    counted = []
    for shift, advances in reversed(moves):
        counted.append((shift, rounds * advances))
        rounds *= advances + 1
    return counted


def new_words(projection: Projection, extents: Extents, loop: PlacedLoop) -> int:
    """Words of a tile that the tile one iteration of `loop` earlier did not hold."""
    held = kept = 1
    for rank in projection.ranks:
        span, step = 1, 0
        for dim, coefficient in rank:
            span += abs(coefficient) * (extents[dim] - 1)
            if dim == loop.dim:
                step += coefficient * loop.stride
        held *= span
        kept *= max(0, span - abs(step))
    return held - kept
