"""Step 3: the tiles along each rank, given the basic tile shape."""

from __future__ import annotations

from collections.abc import Mapping

from solver_mapper.errors import InputError
from solver_mapper.tiling.search.candidates import Extent
from solver_mapper.tiling.tensors import Span, Tensor, TiledTensor, Window

MOST_SPANS = 1 << 20
"""Ranks that would be cut into more tiles are refused."""


def cut(size: int, tile: int, window: Window | None = None) -> tuple[Span, ...]:
    """Spans of at most `tile` indices that walk along a rank of `size`
    (`generateTiledTensorWithStrideAndPadding`).

    Under a window, neighbours overlap by `field - stride` (or leave a gap if that is negative), and
    the first of several spans is shortened to end where a window does, allowing for the padding
    before it.

    Raises: InputError for too many tiles, or tiles too small to hold a window.
    """
    halo = window.field - window.stride if window else 0
    if size > MOST_SPANS * max(tile - halo, 1):
        raise InputError(f"a rank of {size} would be cut into more than {MOST_SPANS} tiles")
    spans: list[Span] = []
    start, remaining = 0, size
    while remaining > 0:
        extent = min(tile, remaining)
        if window and not spans and remaining > tile:
            extent = _end_with_window(extent, window)
        if extent < remaining and extent <= halo:
            raise InputError(
                f"tiles of {extent} are too small under a window of"
                f" {window.field if window else 0}",
                hint="check the backend's least tiles",
            )
        spans.append(Span(start, extent))
        start += extent - halo
        remaining -= extent
        if remaining > 0:
            remaining += halo
    return tuple(spans)


def _end_with_window(extent: int, window: Window) -> int:
    steps = Extent("x", window.before - window.field, window.stride).at({"x": extent})
    return window.field + window.stride * steps - window.before if steps > 0 else extent


def cut_tensor(
    tensor: Tensor, tile: tuple[int, ...], alignment: int, windows: dict[str, Window] | None = None
) -> TiledTensor:
    """The tensor in tiles of at most `tile`; `windows` maps a rank's name to the window that slides
    along it.
    """
    known = windows or {}
    axes = tuple(
        cut(rank.size, extent, known.get(rank.name))
        for rank, extent in zip(tensor.ranks, tile, strict=True)
    )
    return TiledTensor(tensor, axes, alignment)


def cut_by_loops(
    tensor: Tensor, pieces: Mapping[str, tuple[Span, ...]], alignment: int
) -> TiledTensor:
    """The tiles that hold what pieces of the loops touch; ranks whose loop has no pieces are whole.

    Args: `pieces[loop]`, spans that follow each other.
    """
    axes = tuple(
        (
            (Span(0, rank.size),)
            if rank.loop is None or rank.loop not in pieces
            else tuple(rank.span(piece) for piece in pieces[rank.loop])
        )
        for rank in tensor.ranks
    )
    return TiledTensor(tensor, axes, alignment)


def follow(spans: tuple[Span, ...], window: Window, after: int, alone: int = 0) -> tuple[Span, ...]:
    """Output spans that the input spans along a windowed rank produce
    (`generateRowwiseOutputTiledTensor`).

    `after` is the padding behind the rank. A last input span too short for any window produces
    nothing. The first span has the padding before it, the last the padding behind it. A span that
    is both has `alone` behind it: the reference forgets the padding below a single row tile, but
    not the one to the right of a single column tile.
    """
    count = len(spans)
    if spans[-1].size + after < window.field:
        count -= 1
    outputs, start = [], 0
    for position, span in enumerate(spans[:count]):
        padding = window.before if position == 0 else after if position == count - 1 else 0
        padding += alone if count == 1 else 0
        extent = Extent("x", padding - window.field, window.stride, 1).at({"x": span.size})
        outputs.append(Span(start, extent))
        start += extent
    return tuple(outputs)
