"""What perfect factors cannot use of the compute units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PerfectLimit:
    """`perfect` and `imperfect`: steps that no mapping of such factors falls below, by meshes and
    constraints on spatial factors. `padded`: sizes with which perfect factors reach `imperfect`.
    """

    perfect: int
    imperfect: int
    padded: Mapping[str, int]

    def __str__(self) -> str:
        sizes = ", ".join(f"{dim} to {size}" for dim, size in self.padded.items())
        times = self.perfect / self.imperfect
        return (
            f"take at least {self.perfect:,} cycles; the bound of imperfect factors is"
            f" {self.imperfect:,}, {times:,.3g} times fewer (--factors imperfect, or pad {sizes})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Steps in cycles and padded sizes, as JSON."""
        return {
            "perfect_cycles": self.perfect,
            "imperfect_cycles": self.imperfect,
            "padding": dict(self.padded),
        }
