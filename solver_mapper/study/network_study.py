"""Mapping every layer of a network."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from solver_mapper.study.design import ArchitectureLike, Design, Reading
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.cluster import Cluster
from solver_mapper.study.execution.events import Event, Listener
from solver_mapper.study.execution.executors import Executor, InProcess
from solver_mapper.study.execution.job import Job, SearchOptions
from solver_mapper.study.execution.processes import Processes
from solver_mapper.study.execution.progress import StudyProgress
from solver_mapper.study.execution.record import Record
from solver_mapper.study.execution.runner import Study
from solver_mapper.study.execution.store import Store, opened
from solver_mapper.study.network_edp import NETWORK_EDP, LayerPoint, least_product
from solver_mapper.study.network_result import LayerResult, NetworkResult
from solver_mapper.study.networks import NetworkLike, as_network


@dataclass(frozen=True)
class StudyOptions:
    """How a study is run; nothing here changes a proven answer.

    `jobs`: that many processes, None for none beside this one. `memory`: bytes of data that a
            process may have.
    `layer_time_limit`: seconds for each search. `scheduler`: the address of a Dask scheduler whose
                        workers run the searches.
    """

    jobs: int | None = None
    memory: int | None = None
    layer_time_limit: float | None = None
    scheduler: str | None = None

    def executor(self) -> Executor:
        """What runs the searches. Raises: InputError if the cluster cannot be used."""
        if self.scheduler is not None:
            return Cluster(self.scheduler)
        return InProcess() if self.jobs is None else Processes(self.jobs, self.memory)


def solve_network(
    architecture: ArchitectureLike,
    network: NetworkLike,
    search: SearchOptions,
    options: StudyOptions,
    store: Store | str | Path | None = None,
    *,
    clock: StudyClock | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    reading: Reading | None = None,
) -> NetworkResult:
    """See `api.solve_network`."""
    started = time.perf_counter()
    reading = reading or Reading()
    design, net = Design(architecture, reading), as_network(network, reading.templates)
    jobs = [
        Job.of(layer.name, design.spec(layer), search, options.layer_time_limit)
        for layer in net.layers
    ]
    first: dict[str, Job] = {}
    for job in jobs:
        first.setdefault(job.digest, job)
    distinct = list(first.values())
    with opened(store) as kept:
        listen = listener(StudyProgress(len(distinct)), on_progress)
        study = Study(options.executor(), kept, clock or StudyClock(), len(distinct), listen)
        found = {outcome.job.digest: outcome for outcome in study.run(distinct)}
    records = {key: outcome.record for key, outcome in found.items()}
    if search.objective == (NETWORK_EDP,):
        runs = Counter[str]()
        for layer, job in zip(net.layers, jobs, strict=True):
            runs[job.digest] += layer.count
        records = least_edp_records(records, runs)
    layers = tuple(
        LayerResult(
            layer.name,
            layer.count,
            layer.macs,
            records[job.digest],
            job.spec,
            job.digest,
            found[job.digest].stored,
        )
        for layer, job in zip(net.layers, jobs, strict=True)
    )
    return NetworkResult(
        design.name,
        net.name,
        layers,
        time.perf_counter() - started,
        search.objective,
        study.unstored,
    )


def least_edp_records(fronts: dict[str, Record], runs: dict[str, int]) -> dict[str, Record]:
    """For each layer the point of its front with which the network's edp is least, by digest.

    Args: `fronts` and `runs`, the front of each layer and how often it runs, by digest. Layers
    without a point stay as they are; then there are no totals.
    """
    keys = [key for key, front in fronts.items() if front.points]
    choices = least_product(
        [
            (
                runs[key],
                [
                    LayerPoint(point.energy, point.cycles, number)
                    for number, point in enumerate(fronts[key].points)
                    if point.energy is not None and point.cycles is not None
                ],
            )
            for key in keys
        ]
    )
    chosen = {
        key: fronts[key].points[choice.number] for key, choice in zip(keys, choices, strict=True)
    }
    return {**fronts, **chosen}


def listener(
    progress: StudyProgress, on_progress: Callable[[StudyProgress], None] | None
) -> Listener:
    """What counts events and tells `on_progress` of each."""

    def listen(event: Event) -> None:
        progress.take(event)
        if on_progress is not None:
            on_progress(progress)

    return listen
