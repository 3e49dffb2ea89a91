"""`tile`: from an operator file to a tiling, by whichever objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from solver_mapper.core.arguments import refuse_given, require_number
from solver_mapper.errors import ArgumentError, InputError, did_you_mean
from solver_mapper.io.yaml.source import Source
from solver_mapper.solve.cpsat.engine import MOST_SEED
from solver_mapper.tiling import compatible, given
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.read import TilingJob, read_operator
from solver_mapper.tiling.result import Tiling
from solver_mapper.tiling.search import traffic
from solver_mapper.tiling.search.solver import Limits


@dataclass(frozen=True)
class Options:
    """`stale_padding`: tile shapes copied from a whole tensor keep its padding, as SMAUG's do
    (utilization objective only).
    """

    stale_padding: bool = True
    limits: Limits = field(default_factory=Limits)


Optimizer = Callable[[Operator, Backend, Options], Tiling]
_OBJECTIVES: dict[str, Optimizer] = {}


def objective(name: str) -> Callable[[Optimizer], Optimizer]:
    """Decorator: make a function known as `tile(.., objective=name)`. It may follow SMAUG's steps
    or do something else.
    """

    def register(optimizer: Optimizer) -> Optimizer:
        _OBJECTIVES[name] = optimizer
        return optimizer

    return register


@objective(compatible.OBJECTIVE)
def _utilization(operator: Operator, backend: Backend, options: Options) -> Tiling:
    return compatible.fullest(operator, backend, options.limits, options.stale_padding)


@objective(traffic.OBJECTIVE)
def _traffic(operator: Operator, backend: Backend, options: Options) -> Tiling:
    return traffic.least_traffic(operator, backend, options.limits)


def tile(
    operator: Source,
    objective: str | None = None,
    backend: Source | Backend | None = None,
    stale_padding: bool = True,
    time_limit: float | None = None,
    seed: int = 0,
) -> Tiling:
    """Tile an operator for a scratchpad accelerator.

    Args: `operator`, a path, open file or mapping that describes one operator
    (docs/reference/tiling.md). `objective`: "utilization", SMAUG's choice; "traffic", provably the
    fewest elements moved; "given", the tiling in the operator's file, checked; or one added with
    `solver_mapper.tiling.objective`. None: "given" if the file has a tiling, else "utilization".
    `backend`: a bundled backend's name, a path, a mapping, or None for what the operator's file
    says (by default "smv"). `stale_padding`: as SMAUG, keep the padding of the whole tensor in tile
    shapes copied from it; utilization only. `time_limit`: seconds of solving.

    Raises: InputError with its location; InfeasibleError, naming tensor, least tile and scratchpad,
    if nothing fits; LimitReached.
    """
    refuse_given(
        {"stale_padding=False": objective == traffic.OBJECTIVE and not stale_padding},
        f"is not supported for the objective {traffic.OBJECTIVE}, which copies no tile shapes",
    )
    time_limit = require_number("time_limit", time_limit, 0)
    seed = require_number("seed", seed, 0, MOST_SEED, whole=True, needed=True)
    options = Options(stale_padding, Limits(time_limit, seed))
    job = read_operator(operator, backend)
    return tile_job(job, objective or default_objective(job), options)


def default_objective(job: TilingJob) -> str:
    """The objective where none is named: the tiling that is given, else SMAUG's choice."""
    return compatible.OBJECTIVE if job.given is None else given.OBJECTIVE


def tile_job(job: TilingJob, objective: str, options: Options) -> Tiling:
    """Tile an operator that has been read; a tiling that was given with it is checked if that is
    the objective.
    """
    if objective == given.OBJECTIVE:
        if job.given is None:
            raise InputError(
                "no tiling was given", hint="add 'tiling: {tile: ...}' to the operator's file"
            )
        return given.check(job.operator, job.backend, job.given, options.stale_padding)
    if objective not in _OBJECTIVES:
        hint = did_you_mean(objective, _OBJECTIVES)
        raise ArgumentError("objective", f"unknown objective '{objective}'", hint=hint)
    return _OBJECTIVES[objective](job.operator, job.backend, options)
