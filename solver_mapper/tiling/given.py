"""A tiling that a user gives: whether it fits and computes the operator, its schedule, and what it
moves.

tiling: tile: {inputs: [1, 4, 28, 512], weights: [32, 1, 1, 512], outputs: [1, 4, 28, 32]} dims:
  {inputs: DimNH, weights: DimN, outputs: DimNCH}   # optional: along which ranks the tiles are cut
  order: [N, H, K, W, C]                                  # optional: the loops, outer to inner
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from solver_mapper.core.results.verdict import Verdict, Violation
from solver_mapper.errors import InfeasibleError, InputError, SourceLocation, unknown_name
from solver_mapper.io.yaml.fields import Fields, integer_of, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Table
from solver_mapper.tiling.backend import UNTILED, Backend
from solver_mapper.tiling.configurations import all_configurations
from solver_mapper.tiling.cutting import cut_tensor
from solver_mapper.tiling.dims import POSITIONS, dims_of, tiles_along
from solver_mapper.tiling.nest import BadNest, TilingNest, nest_of
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.result import Tiling
from solver_mapper.tiling.strategy import Reloading, Strategy
from solver_mapper.tiling.tensors import Tensor, TiledTensor, storage

OBJECTIVE = "given"


@dataclass(frozen=True)
class GivenTiling:
    """`tiles[tensor]` is the size of its tiles, `dims[tensor]` the ranks that they are cut along,
    for the tensors where they were given; `order` the loops, outer to inner, or None for the
    strategy's. `locations[tensor]` says where its tile was written.
    """

    tiles: Mapping[str, tuple[int, ...]]
    dims: Mapping[str, str]
    order: tuple[str, ...] | None
    locations: Mapping[str, SourceLocation]


def read_given(table: Table, operator: Operator) -> GivenTiling:
    """The tiling under `tiling:` in an operator's file.

    Raises: InputError for names that the operator does not have, and for tensors without a tile or
    with one of other ranks.
    """
    fields = Fields(table, "the tiling")
    tile = Fields(table_of(fields.require("tile"), "'tile'"), "'tile'", exact=True)
    tiles, locations = {}, {}
    for tensor in operator.tensors:
        node = tile.require(tensor.name)
        sizes = tuple(
            integer_of(item, f"a size of the tile of {tensor.name}", 1)
            for item in sequence_of(node, f"the tile of {tensor.name}").items
        )
        if len(sizes) != len(tensor.shape):
            raise InputError(
                f"the tile of {tensor.name} must list {len(tensor.shape)} sizes, not {len(sizes)}",
                node.location,
            )
        tiles[tensor.name], locations[tensor.name] = sizes, node.location
    tile.close()
    dims = _dims(fields, operator)
    order = _order(fields, operator)
    fields.close()
    return GivenTiling(tiles, dims, order, locations)


def _dims(fields: Fields, operator: Operator) -> dict[str, str]:
    table = fields.table_at("dims")
    found = {}
    for name, node in {} if table is None else table.entries.items():
        known = {tensor.name: tensor for tensor in operator.tensors}
        if name not in known:
            raise unknown_name("tensor", name, known, node.location)
        word = text_of(node, f"the dims of {name}")
        letters = POSITIONS.get(len(known[name].shape), {})
        if word != UNTILED and not (
            word.startswith("Dim") and word[3:] and all(letter in letters for letter in word[3:])
        ):
            raise InputError(
                f"'{word}' are no tiling dims of {name}",
                node.location,
                f"write None, or Dim and letters of {''.join(letters)}, as in"
                f" DimN{list(letters)[-1]}",
            )
        found[name] = word
    return found


def _order(fields: Fields, operator: Operator) -> tuple[str, ...] | None:
    node = fields.node("order")
    if node is None:
        return None
    words = tuple(text_of(item, "a loop in 'order'") for item in sequence_of(node, "'order'").items)
    for word in words:
        if word not in operator.loops:
            raise unknown_name("loop", word, operator.loops, node.location)
    if sorted(words) != sorted(operator.loops):
        raise InputError(
            f"'order' must list each of {', '.join(operator.loops)} once", node.location
        )
    return words


def check(
    operator: Operator, backend: Backend, given: GivenTiling, stale_padding: bool = True
) -> Tiling:
    """The given tiling with its schedule and its verdict: everything that keeps it from computing
    the operator.

    Raises: InfeasibleError where tiles cannot be cut at all: they are too small for the windows
    that slide along them.
    """
    tiles = {
        name: tuple(
            min(extent, size)
            for extent, size in zip(sizes, operator.tensor(name).shape, strict=True)
        )
        for name, sizes in given.tiles.items()
    }
    dims = {
        tensor.name: given.dims.get(tensor.name) or _dims_of(tensor, tiles[tensor.name])
        for tensor in operator.tensors
    }
    strategy = (
        None
        if operator.strategy is None
        else replace(operator.strategy, stale_padding=stale_padding)
    )
    try:
        if strategy is None:
            tiled = {
                tensor.name: cut_tensor(tensor, tiles[tensor.name], backend.alignment)
                for tensor in operator.tensors
            }
        else:
            tiled = strategy.tiled(operator, backend, dims, tiles)
    except InputError as error:
        raise InfeasibleError(
            f"{operator.name}: the given tiling cannot be cut: {error.message}"
        ) from None
    total = sum(storage(sizes, backend.alignment) for sizes in tiles.values())
    nest = _nest(operator, tiled, given.order, strategy)
    verdict = Verdict(
        (*_shapes(operator, given, tiled), *_fit(backend, tiled, given), *_schedule(nest))
    )
    notes = (_standing(operator, backend, tiles, stale_padding),)
    return Tiling(
        operator, backend, OBJECTIVE, dims, tiles, total, tiled, nest, None, notes, verdict
    )


def _dims_of(tensor: Tensor, tile: tuple[int, ...]) -> str:
    return dims_of(
        tuple(-(-size // extent) for size, extent in zip(tensor.shape, tile, strict=True))
    )


def _nest(
    operator: Operator,
    tiled: Mapping[str, TiledTensor],
    order: tuple[str, ...] | None,
    strategy: Strategy | None,
) -> TilingNest:
    """The loop nest that loads and stores tiles again where the strategy's kernels do."""
    reloading = Reloading() if strategy is None else strategy.reloading(operator)
    loops = tuple(operator.loops) if order is None else order
    return nest_of(operator, tiled, loops, reloading.reloads, reloading.stores_first)


def _shapes(
    operator: Operator, given: GivenTiling, tiled: Mapping[str, TiledTensor]
) -> Iterator[Violation]:
    """Tiles larger than their tensor, cut along ranks that their dims do not name, or smaller than
    what the others produce.
    """
    for tensor in operator.tensors:
        location, dims = given.locations[tensor.name], given.dims.get(tensor.name)
        letters = {
            position: letter for letter, position in POSITIONS.get(len(tensor.shape), {}).items()
        }
        for position, (rank, extent) in enumerate(
            zip(tensor.ranks, given.tiles[tensor.name], strict=True)
        ):
            where = f"the tile of {tensor.name} has {extent} along {rank.name}"
            if extent > rank.size:
                yield _violation(
                    "tile",
                    f"{where}; the tensor has {rank.size}",
                    tensor,
                    extent,
                    rank.size,
                    location,
                )
            elif (
                extent < rank.size
                and dims is not None
                and not tiles_along(dims, letters.get(position, rank.name))
            ):
                yield _violation(
                    "dims",
                    f"{where} of {rank.size}, but {dims} does not cut along it",
                    tensor,
                    extent,
                    rank.size,
                    location,
                )
            largest = max((span.size for span in tiled[tensor.name].axes[position]), default=0)
            if largest > min(extent, rank.size):
                yield _violation(
                    "tile",
                    f"{where}; the tiles of the others make {largest}",
                    tensor,
                    extent,
                    largest,
                    location,
                )


def _fit(
    backend: Backend, tiled: Mapping[str, TiledTensor], given: GivenTiling
) -> Iterator[Violation]:
    for pad, held in backend.groups(tuple(tiled)):
        needed, room = sum(tiled[name].largest for name in held), backend.elements(pad)
        if needed > room:
            subject = (
                f"the tile of {held[0]} takes"
                if len(held) == 1
                else f"the tiles of {' and '.join(held)} take"
            )
            yield Violation(
                "capacity",
                f"{subject} {needed} elements, scratchpad '{pad.name}' holds {room}",
                level=pad.name,
                found=needed,
                limit=room,
                location=given.locations[held[0]],
            )


def _schedule(nest: TilingNest) -> Iterator[Violation]:
    try:
        nest.check()
    except BadNest as error:
        yield Violation("schedule", f"these tiles do not compute the operator: {error}")


def _violation(
    rule: str, message: str, tensor: Tensor, found: int, limit: int, location: SourceLocation
) -> Violation:
    return Violation(rule, message, tensor=tensor.name, found=found, limit=limit, location=location)


def _standing(
    operator: Operator, backend: Backend, tiles: Mapping[str, tuple[int, ...]], stale_padding: bool
) -> str:
    """What SMAUG's enumeration makes of these tile shapes."""
    if operator.strategy is None:
        return "SMAUG does not tile this operator"
    try:
        found = all_configurations(operator, backend, stale_padding)
    except InfeasibleError:
        return "SMAUG finds no tiling of this operator"
    position = found.position_of(tiles)
    if position is None:
        return f"none of the {len(found.choices):,} configurations that SMAUG considers"
    what = (
        "the one that it takes"
        if position == found.chosen
        else f"it takes number {found.chosen + 1:,}"
    )
    return (
        f"configuration {position + 1:,} of the {len(found.choices):,} that SMAUG considers; {what}"
    )
