"""What bounds need to know of a problem and of the decisions that are not chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.problem import Tensor

Nodes = NDArray[np.int64]
"""One row for each cell, one column for each dimension: nodes of the chain trees."""
Kind = frozenset[int] | None
"""Dimensions of which one has the innermost temporal loop of a level; empty: the level has no
temporal loop; None: undecided."""


@dataclass(frozen=True)
class Plan:
    """`stores[t][l]`: whether level l stores tensor t; `innermost[l]`: see `Kind`."""

    stores: tuple[tuple[bool, ...], ...]
    innermost: tuple[Kind, ...]


@dataclass(frozen=True)
class TensorShape:
    """How dimensions index a tensor: ranks of (dimension, absolute coefficient)."""

    name: str
    written: bool
    ranks: tuple[tuple[tuple[int, int], ...], ...]
    free: tuple[int, ...]
    """Dimensions that do not index it."""

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """Dimensions that index the tensor."""
        return tuple(sorted({dim for rank in self.ranks for dim, _ in rank}))

    @cached_property
    def windows(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Ranks of several dimensions."""
        return tuple(rank for rank in self.ranks if len(rank) > 1)

    @cached_property
    def sliding(self) -> tuple[int, ...]:
        """Dimensions of its sliding windows."""
        return tuple(sorted({dim for rank in self.windows for dim, _ in rank}))

    @cached_property
    def single(self) -> tuple[tuple[int, int], ...]:
        """Dimensions that are a rank of their own, each once."""
        return tuple(dict(rank[0] for rank in self.ranks if len(rank) == 1).items())

    @cached_property
    def entangled(self) -> bool:
        """Whether a dimension of a window is also in another rank."""
        counted = [dim for rank in self.windows for dim, _ in rank] + [d for d, _ in self.single]
        return bool(self.windows) and len(counted) != len(set(counted))


def tensor_shape(tensor: Tensor, sizes: Mapping[str, int]) -> TensorShape:
    """What bounds need to know of a tensor, with dimensions as numbers. Those of one point move
    nothing.
    """
    dims = list(sizes)
    ranks = [
        tuple((dims.index(term.dim), abs(term.coefficient)) for term in rank if sizes[term.dim] > 1)
        for rank in tensor.ranks
    ]
    used = {dim for rank in ranks for dim, _ in rank}
    return TensorShape(
        tensor.name,
        tensor.read_write,
        tuple(rank for rank in ranks if rank),
        tuple(number for number in range(len(dims)) if number not in used),
    )
