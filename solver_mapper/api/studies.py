"""Networks and design spaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from solver_mapper.api.arguments import checked, refuse_two_clocks
from solver_mapper.core.arguments import require_kind
from solver_mapper.core.factors import PERFECT
from solver_mapper.core.objective import GAP, parse_objective
from solver_mapper.errors import ArgumentError, SourceLocation
from solver_mapper.study.design import ArchitectureLike, Reading
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.job import SearchOptions
from solver_mapper.study.execution.progress import StudyProgress
from solver_mapper.study.execution.store import Store
from solver_mapper.study.network_edp import NETWORK_EDP
from solver_mapper.study.network_result import NetworkResult
from solver_mapper.study.network_study import StudyOptions
from solver_mapper.study.network_study import solve_network as map_network
from solver_mapper.study.networks import NetworkLike
from solver_mapper.study.sweep_plan import SweepLike, read_sweep
from solver_mapper.study.sweep_result import SweepResult
from solver_mapper.study.sweep_study import sweep as run_sweep


@checked
def solve_network(
    architecture: ArchitectureLike,
    network: NetworkLike,
    objective: str | Sequence[str] = "edp",
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    store: Store | str | Path | None = None,
    time_limit: float | None = None,
    layer_time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    gap: float = GAP,
    verify: bool = False,
    tie_break: bool = True,
    factors: str = PERFECT,
    memory: int | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    clock: StudyClock | None = None,
    reading: Reading | None = None,
) -> NetworkResult:
    """Map every layer of a network; equal layers are solved once. Totals weigh each layer by its
    count.

    Args: `architecture`, a bundled name, a path, the content of a file, or a list of these;
    `network`, a bundled name, a file with layers, or a list of (name, count, problem); `objective`,
    `workers`, `seed`, `gap`, `verify`, `tie_break` and `factors` as for `solve`, for each layer;
    the objective "network-edp" is the product of the totals, least over all choices of mappings;
    `jobs`, the number of processes (None: this one), each with at most `memory` bytes of data;
    `scheduler`, the address of a Dask scheduler whose workers run the searches; `store`, an
    SQLite file: layers that it knows are not solved again; `time_limit`, seconds for the network,
    shared out evenly among the layers that are left; `layer_time_limit`, seconds for each layer;
    `on_progress`, called at each event; `clock`, to stop from outside; `reading`, variables of
    templates and which warnings count.
    Raises: InputError for input that cannot be used, before any layer is solved.
    """
    clock = _study_clock(clock, time_limit)
    options = _study_options(jobs, memory, layer_time_limit, scheduler)
    names = (NETWORK_EDP,) if objective == NETWORK_EDP else parse_objective(objective).names
    search = SearchOptions(names, gap, workers or 1, seed, verify, tie_break, factors)
    search.check(names)
    return map_network(
        architecture,
        network,
        search,
        options,
        store,
        clock=clock,
        on_progress=on_progress,
        reading=reading,
    )


@checked
def sweep(
    source: SweepLike,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    store: Store | str | Path | None = None,
    time_limit: float | None = None,
    layer_time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    gap: float = GAP,
    verify: bool = False,
    tie_break: bool = True,
    factors: str = PERFECT,
    memory: int | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    clock: StudyClock | None = None,
    reading: Reading | None = None,
) -> SweepResult:
    """Map workloads at every point of a design space; the points that nothing beats are marked.

    Args: `source`, a file with `sweep:` or its content (see `solver_mapper.study.sweep_plan`), in
    which `energies` may be a function from a specification to energies by path; the others as for
    `solve_network`.
    Raises: InputError for paths and files that do not exist, before any search, and for a sweep of
    which no point can be read; where some points can, the others have an `error`, and the result's
    `unreadable` is an InputError with all reasons.
    """
    clock = _study_clock(clock, time_limit)
    options = _study_options(jobs, memory, layer_time_limit, scheduler)
    search = SearchOptions(("edp",), gap, workers or 1, seed, verify, tie_break, factors)
    search.check(search.objective)
    return run_sweep(
        read_sweep(source, None if reading is None else reading.templates),
        search,
        options,
        store,
        clock=clock,
        on_progress=on_progress,
        reading=reading,
    )


def _study_clock(clock: StudyClock | None, time_limit: float | None) -> StudyClock:
    """Raises: InputError for another clock, and for a time limit beside one."""
    refuse_two_clocks(clock, time_limit)
    if clock is None:
        return StudyClock(time_limit)
    require_kind("clock", clock, StudyClock, "a StudyClock")
    return clock


def _study_options(
    jobs: int | None, memory: int | None, layer_time_limit: float | None, scheduler: str | None
) -> StudyOptions:
    """Raises: InputError for options that make no sense."""
    if memory is not None and jobs is None:
        raise ArgumentError(
            "memory",
            "the memory of processes is limited, but there are none",
            SourceLocation("memory"),
            "give 'jobs' (--jobs) as well",
        )
    if jobs is not None and scheduler is not None:
        raise ArgumentError(
            "scheduler",
            "either processes or a cluster run the searches",
            SourceLocation("scheduler"),
            "leave 'jobs' (--jobs) out",
        )
    return StudyOptions(jobs, memory, layer_time_limit, scheduler)
