"""Tiling all operators of a network by both objectives, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.deadline import TimeUp, running
from solver_mapper.errors import InfeasibleError, InputError
from solver_mapper.io.yaml.documents import read_documents
from solver_mapper.io.yaml.fields import Fields, sequence_of, table_of
from solver_mapper.io.yaml.source import Source, Table
from solver_mapper.tiling import compatible, given
from solver_mapper.tiling.api import Options, tile_job
from solver_mapper.tiling.backend import Backend, backend_of, load_backend
from solver_mapper.tiling.movement import algorithmic_minimum
from solver_mapper.tiling.read import TilingJob, job_of, sized
from solver_mapper.tiling.result import Tiling
from solver_mapper.tiling.search import traffic

OBJECTIVES = (compatible.OBJECTIVE, traffic.OBJECTIVE)
OnLayer = Callable[[int, int, str], None]


@dataclass(frozen=True)
class OperatorNetwork:
    """The operators of a network, in order."""

    name: str
    jobs: tuple[TilingJob, ...]


@dataclass(frozen=True)
class ObjectiveComparison:
    """One operator under both objectives. `results[objective]`: a tiling, or why there is none."""

    job: TilingJob
    results: dict[str, Tiling | InfeasibleError]

    @property
    def algorithmic_minimum(self) -> int:
        """Elements that any tiling moves."""
        return algorithmic_minimum(self.job.operator, self.job.backend.alignment)

    def moved(self, objective: str) -> int | None:
        """Elements that a schedule computing the operator moves; None if there is none."""
        found = self.results[objective]
        return found.traffic if isinstance(found, Tiling) and found.fault is None else None

    def trouble(self, objective: str) -> str | None:
        """Why there is no such schedule."""
        found = self.results[objective]
        if isinstance(found, InfeasibleError):
            return str(found)
        return None if found.fault is None else f"{self.job.operator.name}: {found.fault}"

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        modes: dict[str, Any] = {}
        for objective, found in self.results.items():
            if isinstance(found, Tiling) and found.fault is None:
                modes[objective] = {
                    "elems_moved": found.traffic,
                    "utilization": float(found.utilization),
                    "invocations": found.nest.invocations,
                } | _proven(found)
            else:
                modes[objective] = {"error": self.trouble(objective)}
        return {
            "name": self.job.operator.name,
            "operator": self.job.operator.kind,
            "count": self.job.count,
            "compulsory_elems": self.algorithmic_minimum,
            "modes": modes,
        }


def _proven(tiling: Tiling) -> dict[str, bool]:
    return {} if tiling.certificate is None else {"optimal": tiling.certificate.optimal}


@dataclass(frozen=True)
class NetworkTiling(Shown):
    """All layers of a network under both objectives; those finished before an interrupt, if there
    was one.
    """

    name: str
    layers: tuple[ObjectiveComparison, ...]
    interrupted: bool = False

    def total(self, objective: str, runs: bool = False) -> int | None:
        """Elements that all layers move, each once, or as often as the network runs it; None if one
        has no schedule.
        """
        moved = [layer.moved(objective) for layer in self.layers]
        known = [each for each in moved if each is not None]
        if len(known) < len(moved):
            return None
        return sum(
            each * (layer.job.count if runs else 1)
            for each, layer in zip(known, self.layers, strict=True)
        )

    def algorithmic_minimum(self, runs: bool = False) -> int:
        """Elements that all layers move under any tiling."""
        return sum(
            layer.algorithmic_minimum * (layer.job.count if runs else 1) for layer in self.layers
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""

        def totals(runs: bool) -> dict[str, Any]:
            return {
                **{objective: self.total(objective, runs) for objective in OBJECTIVES},
                "compulsory": self.algorithmic_minimum(runs),
            }

        return {
            "network": self.name,
            "layers": [layer.to_dict() for layer in self.layers],
            "elems_moved": totals(False),
            "elems_moved_all_runs": totals(True),
            "interrupted": self.interrupted,
        }

    def plot(self) -> Chart:
        """A chart of the elements that each layer moves under both objectives.

        Raises: InputError if no layer has a schedule under both.
        """
        return cast(Chart, chart_of(self))


def read_network(source: Source, backend: Source | Backend | None = None) -> OperatorNetwork:
    """The operators under `layers:`. `backend`, `spad_bytes`, `elem_bytes` and `alignment` beside
    it hold for all of them.

    Raises: InputError with its location.
    """
    fields = Fields(read_documents(source), "the network")
    items = sequence_of(fields.require("layers"), "'layers'").items
    named = fields.node("backend")
    chosen = (
        load_backend(backend)
        if backend is not None
        else backend_of(named)
        if named is not None
        else load_backend()
    )
    common = sized(fields, chosen)
    name = fields.text("network") or "network"
    fields.close()
    if not items:
        raise InputError("the network has no layers", fields.location_of("layers"))
    jobs = tuple(job_of(table_of(item, "a layer"), common) for item in items)
    if any(job.given is not None for job in jobs):
        raise InputError(
            "layers of a network cannot give tilings",
            fields.location_of("layers"),
            "tile each operator by itself",
        )
    return OperatorNetwork(name, jobs)


def is_network(table: Table) -> bool:
    """Whether a file describes a network rather than one operator."""
    return "layers" in table.entries


def compare(job: TilingJob, options: Options) -> ObjectiveComparison:
    """One operator under both objectives, next to the tiling that was given with it."""
    results: dict[str, Tiling | InfeasibleError] = {}
    for objective in (*(() if job.given is None else (given.OBJECTIVE,)), *OBJECTIVES):
        try:
            results[objective] = tile_job(job, objective, options)
        except InfeasibleError as error:
            results[objective] = error
    return ObjectiveComparison(job, results)


def tile_network(
    network: OperatorNetwork, options: Options | None = None, on_layer: OnLayer | None = None
) -> NetworkTiling:
    """Tile every layer by both objectives.

    Args: `on_layer` is called with the layer's number from 0, how many there are, and its name,
    before each is tiled.
    """
    layers: list[ObjectiveComparison] = []
    try:
        for number, job in enumerate(network.jobs):
            if on_layer is not None:
                on_layer(number, len(network.jobs), job.operator.name)
            with running((options or Options()).limits.clock):
                layers.append(compare(job, options or Options()))
    except (KeyboardInterrupt, TimeUp):
        return NetworkTiling(network.name, tuple(layers), interrupted=True)
    return NetworkTiling(network.name, tuple(layers))
