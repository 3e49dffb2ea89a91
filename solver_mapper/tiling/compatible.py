"""SMAUG's choice: the strategy's four steps, with tiles that fill the scratchpads best."""

from __future__ import annotations

from solver_mapper.solve.cpsat.engine import solver_name
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.configurations import candidates_of
from solver_mapper.tiling.nest import nest_of
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.result import Tiling, TilingCertificate
from solver_mapper.tiling.search.best import best_choice
from solver_mapper.tiling.search.solver import Limits

OBJECTIVE = "utilization"


def fullest(
    operator: Operator, backend: Backend, limits: Limits, stale_padding: bool = True
) -> Tiling:
    """The tiling whose basic tiles occupy most elements, as SMAUG's optimizer chooses it.

    Args: `stale_padding`, whether tile shapes copied from a whole tensor keep its padding, as
    SMAUG's do.
    Raises: DoesNotFit, LimitReached, ExactnessError; InputError for an operator without a strategy.
    """
    strategy, dims, candidates = candidates_of(operator, backend, stale_padding)
    choice = best_choice(candidates, limits)
    tiled = strategy.tiled(operator, backend, dims, choice.tiles)
    certificate = TilingCertificate(
        OBJECTIVE,
        f"the tile shapes of SMAUG's strategy for {operator.kind}",
        choice.total,
        choice.total,
        solver_name(),
        limits.seed,
        ("tile sizes again by plain arithmetic",),
        limits.parameters,
    )
    reloading = strategy.reloading(operator)
    nest = nest_of(
        operator, tiled, tuple(operator.loops), reloading.reloads, reloading.stores_first
    )
    return Tiling(
        operator, backend, OBJECTIVE, dims, choice.tiles, choice.total, tiled, nest, certificate
    )
