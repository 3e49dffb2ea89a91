"""Step 1: along which dimensions each tensor is tiled.

"None" is not at all, "DimN" along the first rank, "DimNCH" along the first rank, channels and rows,
and so on. The first choice in the backend's order of preference wins under which the tensor's least
tile fits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from solver_mapper.tiling.backend import UNTILED, Backend
from solver_mapper.tiling.search.candidates import DoesNotFit

POSITIONS: Mapping[int, Mapping[str, int]] = {
    4: {"N": 0, "H": 1, "W": 2, "C": 3},
    2: {"N": 0, "C": 1},
    1: {"N": 0},
}
"""Which rank each letter means, for tensors of four, two and one ranks (NHWC, NC, N)."""


def dims_of(grid: tuple[int, ...]) -> str:
    """Tiling dims of a grid of tiles: the letters along which there is more than one. N is named
    only if it is cut.
    """
    letters = POSITIONS.get(len(grid), {})
    cut = "".join(letter for letter in "NCHW" if letter in letters and grid[letters[letter]] > 1)
    return f"Dim{cut}" if cut else UNTILED


def tiles_along(dims: str, letter: str) -> bool:
    """Whether tiling dims cut along N, C, H or W."""
    return dims != UNTILED and letter in dims[3:]


def merged(dims: str, letter: str) -> str:
    """Tiling dims that also cut along `letter`, written as the reference writes them."""
    letters = {*dims[3:], letter} if dims != UNTILED else {"N", letter}
    return "Dim" + "".join(each for each in "NCHW" if each in letters)


def estimate(dims: str, shape: tuple[int, ...], least: tuple[int, ...], backend: Backend) -> float:
    """Elements of the least tile under these dims, as SMAUG estimates them.

    The estimate scales the padded size of one batch by unpadded fractions, in double precision:
    where it is almost equal to the capacity the rounding decides, so the arithmetic here is
    SMAUG's, operation by operation.
    """
    size = backend.storage(shape)
    if dims == UNTILED:
        return size
    per_batch = size // shape[0]
    if dims == "DimN":
        return per_batch * least[0]
    scaled = float(per_batch)
    for letter in dims[4:]:
        position = POSITIONS[len(shape)][letter]
        scaled *= least[position] * 1.0 / shape[position]
    return scaled


def best_dims(
    operator: str,
    tensor: str,
    shape: tuple[int, ...],
    least: tuple[int, ...],
    backend: Backend,
    sharing: int,
) -> str:
    """The most preferred dims under which the least tile of `tensor` fits (`findBestTilingDims`).

    Args: `least`, the least extents, none larger than the shape's; `sharing`, how many tensors
    share the scratchpad: this choice, made for each tensor alone, counts on an equal part of it.
    Raises: DoesNotFit.
    """
    capacity = backend.capacity(tensor) // sharing
    letters = POSITIONS[len(shape)]
    usable = [
        dims
        for dims in backend.preference
        if dims == UNTILED or all(letter in letters for letter in dims[3:])
    ]
    needs = {dims: estimate(dims, shape, least, backend) for dims in usable}
    for dims, needed in needs.items():
        if needed <= capacity:
            return dims
    smallest = min(needs, key=lambda dims: needs[dims], default=UNTILED)
    tile = _least_tile(smallest, shape, least)
    needed = math.ceil(needs.get(smallest, backend.storage(shape)))
    why = f"{tensor} may be tiled along {', '.join(usable) or 'nothing'}"
    if sharing > 1:
        why += f", and counts on one part in {sharing} of the scratchpad"
    raise DoesNotFit(operator, {tensor: tile}, needed, backend.scratchpad(tensor), capacity, why)


def _least_tile(dims: str, shape: tuple[int, ...], least: tuple[int, ...]) -> tuple[int, ...]:
    cut = {POSITIONS[len(shape)][letter] for letter in dims[3:]} if dims != UNTILED else set()
    return tuple(least[rank] if rank in cut else size for rank, size in enumerate(shape))
