"""The answer of `space` for a workload: how many fused mappings there are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from solver_mapper.core.results.rendering import text_of


@dataclass(frozen=True)
class EinsumChoices:
    """Choices of one Einsum by itself; each number counts the choices before it as well.

    `fused_sets`: sets of tensors that it fuses. `loop_orders`: with ordered fused loops. `tiles`:
    with a tile size for each rank. `mappings`: with the order of the unfused loops over tiles.
    """

    einsum: str
    fused_sets: int
    loop_orders: int
    tiles: int
    mappings: int

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "einsum": self.einsum,
            "fused_sets": self.fused_sets,
            "loop_orders": self.loop_orders,
            "tiles": self.tiles,
            "mappings": self.mappings,
        }


@dataclass(frozen=True)
class FusionSpaceSize:
    """The fused design space of a workload by the rules of Orojenesis v2.

    `fusable`: tensors that may stay on chip. The four numbers are as in `EinsumChoices`, for all
    Einsums together, where their choices are compatible.
    """

    einsums: tuple[EinsumChoices, ...]
    fusable: tuple[str, ...]
    fused_sets: int
    loop_orders: int
    tiles: int
    mappings: int

    @property
    def empty(self) -> bool:
        """Whether there is no mapping at all."""
        return not self.mappings

    @property
    def factors(self) -> dict[str, Fraction]:
        """`mappings` as a product: of each kind of choice, how many there are on average for a
        choice of the kinds before it.
        """
        steps = (1, self.fused_sets, self.loop_orders, self.tiles, self.mappings)
        names = ("fuse or not", "fused loop orders", "tile sizes", "intra-layer loop orders")
        return {
            name: Fraction(after, before) if before else Fraction(0)
            for name, before, after in zip(names, steps, steps[1:], strict=False)
        }

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "fusable": list(self.fusable),
            "fused_sets": self.fused_sets,
            "loop_orders": self.loop_orders,
            "tiles": self.tiles,
            "mappings": self.mappings,
            "einsums": [each.to_dict() for each in self.einsums],
        }

    def __str__(self) -> str:
        return text_of(self)
