"""How an operator is tiled in SMAUG's four steps: tiling dims, tile shapes, tiles, loop nest.
Strategies override what they do differently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.cutting import cut_tensor
from solver_mapper.tiling.dims import POSITIONS, best_dims, tiles_along
from solver_mapper.tiling.search.candidates import Candidates, Extent, ExtentGrid, TileForm, fixed
from solver_mapper.tiling.tensors import TiledTensor, padded

Dims = Mapping[str, str]
Tiles = Mapping[str, tuple[int, ...]]
EVERY_TIME = ""
"""In place of a loop: every invocation loads the tile again."""
ENUMERATION = "NCHW"
"""The order in which the reference's loops enumerate extents, outer to inner."""


@dataclass(frozen=True)
class Reloading:
    """`reloads[tensor]`: the loop whose first piece loads a tile again even where it did not
    change, or `EVERY_TIME`. `stores_first`: output tiles that several invocations fill are sent
    back after the first of them too.
    """

    reloads: Mapping[str, str] = field(default_factory=dict)
    stores_first: bool = False


@dataclass(frozen=True)
class Strategy(ABC):
    """The four steps. `stale_padding`: tile shapes copied from a whole tensor keep its padding, as
    in the reference.
    """

    stale_padding: bool = True

    def dims(self, operator: Any, backend: Backend) -> dict[str, str]:
        """Step 1: tiling dims of each tensor. Here: the most preferred ones under which its least
        tile fits.

        Raises: DoesNotFit.
        """
        names = tuple(tensor.name for tensor in operator.tensors)
        sharing = {name: len(held) for _, held in backend.groups(names) for name in held}
        return {
            tensor.name: best_dims(
                operator.name,
                tensor.name,
                tensor.shape,
                operator.least(backend, tensor.name),
                backend,
                sharing[tensor.name],
            )
            for tensor in operator.tensors
        }

    @abstractmethod
    def candidates(self, operator: Any, backend: Backend, dims: Dims) -> Candidates:
        """Step 2: the tile shapes to choose from.

        Raises: DoesNotFit where a choice of dims is not supported.
        """

    def tiled(
        self, operator: Any, backend: Backend, dims: Dims, basic: Tiles
    ) -> dict[str, TiledTensor]:
        """Step 3: the tiles. Here: every tensor cut into tiles of the basic shape."""
        return {
            tensor.name: cut_tensor(tensor, basic[tensor.name], backend.alignment)
            for tensor in operator.tensors
        }

    def reloading(self, operator: Any) -> Reloading:
        """Step 4: when the loop nest loads and stores tiles again. Here: only when they change."""
        return Reloading()

    def padding(self, operator: Any, backend: Backend, tensor: str) -> int | None:
        """The padding that a copied tile shape keeps, None if it is worked out afresh."""
        last: int = operator.tensor(tensor).shape[-1]
        return padded(last, backend.alignment) - last if self.stale_padding else None


def axis_name(tensor: str, letter: str) -> str:
    """The name of an axis of candidates, such as `inputs C`."""
    return f"{tensor} {letter}"


def own_axis(operator: Any, backend: Backend, tensor: str, letter: str) -> ExtentGrid:
    """The axis of one tensor's extents along one dimension, from the least tile in the backend's
    steps.
    """
    shape = operator.tensor(tensor).shape
    rank = POSITIONS[len(shape)][letter]
    least, step = operator.least(backend, tensor)[rank], operator.step(backend, tensor)[rank]
    return ExtentGrid(axis_name(tensor, letter), least, step, shape[rank])


def own_axes(
    operator: Any, backend: Backend, tensor: str, dims: str
) -> tuple[tuple[ExtentGrid, ...], tuple[Extent, ...]]:
    """Axes for every dimension that `dims` cuts, in the reference's order, and the tile's extents
    in terms of them.
    """
    shape = operator.tensor(tensor).shape
    letters = [
        letter
        for letter in ENUMERATION
        if letter in POSITIONS[len(shape)] and tiles_along(dims, letter)
    ]
    extents = [fixed(size) for size in shape]
    for letter in letters:
        extents[POSITIONS[len(shape)][letter]] = Extent(axis_name(tensor, letter))
    return tuple(own_axis(operator, backend, tensor, letter) for letter in letters), tuple(extents)


def own_form(
    operator: Any, backend: Backend, tensor: str, dims: str
) -> tuple[tuple[ExtentGrid, ...], TileForm]:
    """A tensor whose tile varies by itself, freshly padded."""
    axes, extents = own_axes(operator, backend, tensor, dims)
    return axes, TileForm(tensor, extents)
