"""Tensor cores: units that take a block of a product at once, the smallest possible tile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem


@dataclass(frozen=True)
class TensorCore:
    """A unit that multiplies an m x k block by a k x n block. It may be flipped: either operand can
    take either side.
    """

    m: int
    n: int
    k: int


BlockSizes = Mapping[str, int]
"""For each dimension, the number that every tile size is a multiple of."""


def blocks_of(problem: Problem, core: TensorCore) -> tuple[BlockSizes, ...]:
    """The blocks of an Einsum on `core`: as it is and, if that differs, flipped.

    Reduction ranks (of all inputs, not of the output) take k; ranks of the first input and the
    output, but not of the second, m; the other way round, n. Where several ranks have one part, the
    first takes as much of the core as divides it, the next what is left. A core that does not
    divide a rank is used in part.
    """
    inputs = [tensor.dims for tensor in problem.tensors if not tensor.read_write]
    out = frozenset().union(*(tensor.dims for tensor in problem.tensors if tensor.read_write))
    reduced = frozenset.intersection(*inputs) - out if inputs else frozenset()
    left = (inputs[0] & out) - inputs[1] if len(inputs) > 1 else frozenset()
    right = (inputs[1] & out) - inputs[0] if len(inputs) > 1 else frozenset()
    found: list[BlockSizes] = []
    for first, second in ((core.m, core.n), (core.n, core.m)):
        block = (
            _shared(problem, reduced, core.k)
            | _shared(problem, left, first)
            | _shared(problem, right, second)
        )
        if block not in found:
            found.append(block)
    return tuple(found)


def _shared(problem: Problem, ranks: Iterable[str], size: int) -> dict[str, int]:
    block = {}
    for dim in problem.dims:
        if dim in frozenset(ranks):
            block[dim] = math.gcd(problem.bounds[dim], size)
            size //= block[dim]
    return block


def block_tiles(bounds: Mapping[str, int], block: BlockSizes) -> dict[str, tuple[int, ...]] | None:
    """Tile sizes that are whole blocks, for the dimensions that have one; None if some bound is
    not.
    """
    if any(bounds[dim] % size for dim, size in block.items() if dim in bounds):
        return None
    return {
        dim: tuple(tile for tile in divisors(bounds[dim]) if tile % size == 0)
        for dim, size in block.items()
        if size > 1 and dim in bounds
    }
