"""Data in tiles: cutting arrays, putting outputs together, and running a schedule in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from solver_mapper.errors import InputError, SourceLocation, unknown_name
from solver_mapper.tiling.nest import TilingNest
from solver_mapper.tiling.operator import Array, InvocationWork
from solver_mapper.tiling.schedule import Invocation, invocations
from solver_mapper.tiling.tensors import TiledTensor

_HERE = SourceLocation("<arrays>")
Tiles = Mapping[tuple[int, ...], Array]


def cut_array(tiled: TiledTensor, array: Array) -> dict[tuple[int, ...], Array]:
    """Tiles of an array by grid index, as views.

    Raises: InputError if the array has another shape than the tensor.
    """
    _check_shape(tiled.name, array, tiled.tensor.shape)
    return {
        index: array[tuple(slice(span.start, span.stop) for span in tiled.box(index))]
        for index in tiled
    }


def assemble_array(tiled: TiledTensor, tiles: Tiles) -> Array:
    """The array of which these are the tiles.

    Raises: InputError if a tile is missing, unknown, or of another size.
    """
    missing = [index for index in tiled if index not in tiles]
    if missing:
        raise InputError(
            f"{len(missing)} of {tiled.count} tiles of {tiled.name} are missing, first"
            f" {missing[0]}",
            _HERE,
        )
    first = next(iter(tiles.values()))
    whole = np.empty(tiled.tensor.shape, dtype=np.result_type(first))
    for index in tiled:
        _check_shape(f"tile {index} of {tiled.name}", tiles[index], tiled.sizes(index))
        whole[tuple(slice(span.start, span.stop) for span in tiled.box(index))] = tiles[index]
    return whole


def run(nest: TilingNest, arrays: Mapping[str, Array]) -> Array:
    """The operator's output, one kernel invocation after the other on tiles alone.

    Args: `arrays`, by operand, in the ranks of the operator's tensors.
    Raises: InputError for arrays that are missing, unknown or of another shape.
    """
    names = [tensor.name for tensor in nest.operator.operands]
    for name in arrays:
        if name not in names:
            raise unknown_name("operand", name, names, _HERE)
    for name in names:
        if name not in arrays:
            raise InputError(f"no array is given for '{name}'", _HERE)
    cut = {name: cut_array(nest.tiled[name], arrays[name]) for name in names}
    output = nest.operator.output.name
    results: dict[tuple[int, ...], Array] = {}
    for step in invocations(nest):
        contribution = nest.operator.compute(block_of(nest, step, cut))
        index = step.tiles[output]
        if index not in results:
            results[index] = np.zeros(nest.tiled[output].sizes(index), dtype=contribution.dtype)
        position = tuple(
            slice(start, start + size)
            for start, size in zip(step.offsets[output], contribution.shape, strict=True)
        )
        if step.accumulate:
            results[index][position] += contribution
        else:
            results[index][position] = contribution
    return assemble_array(nest.tiled[output], results)


def block_of(nest: TilingNest, step: Invocation, cut: Mapping[str, Tiles]) -> InvocationWork:
    """What one invocation works on, taken from the tiles that are in place."""
    operands = {}
    for tensor in nest.operator.operands:
        spans = [rank.span(step.iterations.get(rank.loop or "")) for rank in tensor.ranks]
        tile = cut[tensor.name][step.tiles[tensor.name]]
        position = tuple(
            slice(start, start + span.size)
            for start, span in zip(step.offsets[tensor.name], spans, strict=True)
        )
        operands[tensor.name] = tile[position]
    return InvocationWork(step.iterations, operands)


def _check_shape(what: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{what} has shape {list(array.shape)}, not {list(shape)}", _HERE)
