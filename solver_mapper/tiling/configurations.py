"""All tile shapes that SMAUG's enumeration finds to fit (`enum4DTensorTilingConfigs`), and the one
that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from solver_mapper.core.results.rendering import text_of
from solver_mapper.errors import InputError
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.search.candidates import Candidates, TileShapes
from solver_mapper.tiling.strategy import Strategy


@dataclass(frozen=True)
class Configurations:
    """Tiling dims of each tensor, and every choice of tile shapes under them that fits, in SMAUG's
    order.
    """

    operator: Operator
    backend: Backend
    dims: Mapping[str, str]
    choices: tuple[TileShapes, ...]

    @cached_property
    def chosen(self) -> int:
        """Position of the choice that SMAUG takes: the fullest, the first among equals."""
        return max(
            range(len(self.choices)), key=lambda position: (self.choices[position].total, -position)
        )

    def position_of(self, tiles: Mapping[str, tuple[int, ...]]) -> int | None:
        """Position of the choice of these tile shapes, None if there is none."""
        return next(
            (position for position, choice in enumerate(self.choices) if choice.tiles == tiles),
            None,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "operator": self.operator.kind,
            "name": self.operator.name,
            "backend": self.backend.name,
            "tiling_dims": dict(self.dims),
            "chosen": self.chosen,
            "configurations": [
                {
                    "basic_tile": {name: list(sizes) for name, sizes in choice.tiles.items()},
                    "total_tile_elems": choice.total,
                }
                for choice in self.choices
            ],
        }

    def __str__(self) -> str:
        return text_of(self)


def candidates_of(
    operator: Operator, backend: Backend, stale_padding: bool
) -> tuple[Strategy, dict[str, str], Candidates]:
    """SMAUG's strategy for the operator and its first two steps: tiling dims, and the tile shapes
    to choose from.

    Args: `stale_padding`, whether tile shapes copied from a whole tensor keep its padding, as
    SMAUG's do.
    Raises: DoesNotFit; InputError for an operator without a strategy.
    """
    if operator.strategy is None:
        raise InputError(
            f"operator '{operator.kind}' has no strategy for the utilization objective",
            hint="use the traffic objective",
        )
    strategy = replace(operator.strategy, stale_padding=stale_padding)
    dims = strategy.dims(operator, backend)
    return strategy, dims, strategy.candidates(operator, backend, dims)


def all_configurations(
    operator: Operator, backend: Backend, stale_padding: bool = True
) -> Configurations:
    """Raises: DoesNotFit; InputError for an operator without a strategy."""
    _, dims, candidates = candidates_of(operator, backend, stale_padding)
    candidates.require_one()
    choices = tuple(candidates.choice(values) for values in candidates.enumerate())
    return Configurations(operator, backend, dims, choices)
