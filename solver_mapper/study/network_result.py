"""The answer of `solve` for a network: its layers and their totals."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.solution import Status
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError
from solver_mapper.io.yaml.warnings import InputWarning
from solver_mapper.study.execution.record import Record

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = (
    "name",
    "count",
    "status",
    "objective",
    "value",
    "bound",
    "gap",
    "energy_pj",
    "cycles",
    "edp",
    "macs",
    "utilization",
    "last_level_accesses",
    "seconds",
    "stored",
    "error",
)
"""The columns of `layers.csv` and of `to_pandas`. Figures are those of one run of a layer."""


@dataclass(frozen=True)
class LayerResult:
    """A layer, which the network runs `count` times, and the answer for it. `stored`: it was not
    solved in this run.
    """

    name: str
    count: int
    macs: int
    record: Record
    spec: Spec = field(repr=False, compare=False)
    digest: str = field(repr=False)
    stored: bool = False

    @property
    def status(self) -> Status:
        """The status of the search of this layer."""
        return self.record.status

    @property
    def objective(self) -> dict[str, Any]:
        """Metrics, value, bound and gap, as in `Solution.to_dict`."""
        return dict(
            self.record.solution.get("objective")
            or {"metrics": [], "value": None, "bound": None, "gap": None}
        )

    @property
    def energy_pj(self) -> Fraction | None:
        """Energy of one run in pJ, None without a mapping."""
        return self.record.energy

    @property
    def cycles(self) -> int | None:
        """Cycles of one run, None without a mapping."""
        return self.record.cycles

    @property
    def seconds(self) -> float:
        """What the search took when it was run."""
        return self.record.seconds

    @cached_property
    def mapping(self) -> Mapping | None:
        """The mapping, for `evaluate` and `validate`."""
        return self.record.mapping(self.spec)

    @cached_property
    def evaluation(self) -> Statistics | None:
        """The exact figures of the mapping, computed again."""
        return self.record.verified(self.spec)

    @property
    def proven_gap(self) -> float:
        """See `Record.proven_gap`."""
        return self.record.proven_gap

    def to_dict(self) -> dict[str, Any]:
        """The layer as JSON values; `mapping` and `certificate` as in `Solution.to_dict`."""
        rest = {
            key: self.record.solution.get(key)
            for key in ("evaluation", "mapping", "certificate", "seconds")
        }
        told: dict[str, Any] = {
            "name": self.name,
            "count": self.count,
            "macs": self.macs,
            "status": self.status,
            "objective": self.objective,
            **rest,
            "stored": self.stored,
        }
        if self.status == "infeasible":
            told["conflict"] = self.record.solution.get("conflict", [])
        return told if self.record.error is None else told | {"error": self.record.error}

    def row(self) -> dict[str, Any]:
        """One row of a table, by `COLUMNS`."""
        evaluation, objective = self.record.solution.get("evaluation") or {}, self.objective
        statistics = {
            key: evaluation.get(key)
            for key in ("energy_pj", "cycles", "edp", "utilization", "last_level_accesses")
        }
        known = {
            "name": self.name,
            "count": self.count,
            "status": self.status,
            "objective": ",".join(objective["metrics"]),
            "value": objective["value"],
            "bound": objective["bound"],
            "gap": objective["gap"],
            "macs": self.macs,
            "seconds": round(self.seconds, 4),
            "stored": self.stored,
            "error": self.record.error,
            **statistics,
        }
        return {column: known[column] for column in COLUMNS}


def worst_status(found: Collection[Status]) -> Status:
    """ "optimal" if all layers are; "infeasible" if one is proven to have no mapping; "unknown" if
    one has none so far.
    """
    worst: tuple[Status, ...] = ("infeasible", "unknown", "feasible")
    return next((status for status in worst if status in found), "optimal")


@dataclass(frozen=True)
class Totals:
    """Sums over layers, each weighed by its count. Energy, cycles and words are None while a layer
    has no mapping.

    `layers` counts runs of layers, `distinct` different ones; `proven`: every layer is proven
    optimal. `status` is that of the layers together, see `worst_status`.
    """

    energy_pj: Fraction | None
    cycles: int | None
    macs: int
    layers: int
    distinct: int
    proven: bool
    last_level_accesses: int | None = None
    status: Status = "optimal"
    gap: float = 0.0
    """The largest gap that the proof of a layer leaves open."""

    @property
    def edp(self) -> Fraction | None:
        """Total energy times total cycles, in pJ x cycles."""
        return (
            None if self.energy_pj is None or self.cycles is None else self.energy_pj * self.cycles
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        energy, edp = (
            None if value is None else float(value) for value in (self.energy_pj, self.edp)
        )
        return {
            "energy_pj": energy,
            "cycles": self.cycles,
            "edp": edp,
            "macs": self.macs,
            "layers": self.layers,
            "distinct": self.distinct,
            "proven": self.proven,
            "last_level_accesses": self.last_level_accesses,
            "status": self.status,
        }

    @property
    def statistics(self) -> TotalStatistics | None:
        """What an objective reads; None while a layer has no mapping."""
        if self.energy_pj is None or self.cycles is None or self.last_level_accesses is None:
            return None
        return TotalStatistics(self.energy_pj, self.cycles, self.last_level_accesses)


@dataclass(frozen=True)
class TotalStatistics:
    """Energy, cycles and outermost words of a whole network."""

    energy_pj: Fraction
    cycles: int
    last_level_accesses: int


@dataclass
class Sum:
    """Totals of the layers counted so far."""

    energy: Fraction = Fraction(0)
    cycles: int = 0
    words: int = 0
    macs: int = 0
    layers: int = 0
    mapped: bool = True
    statuses: set[Status] = field(default_factory=set)
    answered: bool = True
    """Whether each layer has a proven answer, be it that no mapping exists."""
    gap: float = 0.0
    digests: set[str] = field(default_factory=set)

    def add(self, digest: str, record: Record, count: int, macs: int) -> None:
        """Count a layer that runs `count` times."""
        self.macs += count * macs
        self.layers += count
        self.digests.add(digest)
        self.statuses.add(record.status)
        self.answered &= record.proven
        self.gap = max(self.gap, record.proven_gap)
        if record.energy is None or record.cycles is None:
            self.mapped = False
        else:
            self.energy += count * record.energy
            self.cycles += count * record.cycles
            self.words += count * int(record.solution["evaluation"]["last_level_accesses"])

    def totals(self) -> Totals:
        """The totals of what was counted."""
        energy, cycles, words = (
            (self.energy, self.cycles, self.words) if self.mapped else (None, None, None)
        )
        status = worst_status(self.statuses)
        return Totals(
            energy,
            cycles,
            self.macs,
            self.layers,
            len(self.digests),
            status == "optimal",
            words,
            status,
            self.gap,
        )


@dataclass(frozen=True)
class NetworkResult(Shown):
    """A network on an architecture. `seconds` is the wall-clock time of the whole run."""

    architecture: str
    network: str
    layers: tuple[LayerResult, ...]
    seconds: float
    objective: tuple[str, ...] = ("edp",)
    unstored: InputError | None = field(default=None, compare=False)
    """Why not all answers could be stored; None if they were."""

    @cached_property
    def totals(self) -> Totals:
        """Sums over the layers."""
        total = Sum()
        for each in self.layers:
            total.add(each.digest, each.record, each.count, each.macs)
        return total.totals()

    @property
    def proven_gap(self) -> float:
        """The largest gap that the proof of a layer leaves open."""
        proven = (each.proven_gap for each in self.layers if each.status == "optimal")
        return max(proven, default=0.0)

    @property
    def warnings(self) -> tuple[InputWarning, ...]:
        """What was accepted of the files although it may not mean what its writer thinks."""
        return tuple(dict.fromkeys(line for each in self.layers for line in each.spec.warnings))

    @property
    def status(self) -> Status:
        """The status of all layers together, see `worst_status`."""
        return worst_status({each.status for each in self.layers})

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "architecture": self.architecture,
            "network": self.network,
            "status": self.status,
            "objective": list(self.objective),
            "layers": [each.to_dict() for each in self.layers],
            "totals": self.totals.to_dict(),
            "seconds": round(self.seconds, 4),
        }

    def to_csv(self) -> str:
        """One line a layer, by `COLUMNS`."""
        out = io.StringIO()
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(each.row() for each in self.layers)
        return out.getvalue()

    def to_pandas(self) -> DataFrame:
        """One row a layer, by `COLUMNS`. Raises: InputError where pandas is not installed."""
        from solver_mapper.study.frames import data_frame

        return data_frame([each.row() for each in self.layers], COLUMNS)

    def plot(self, x: str = "cycles", y: str = "energy_pj") -> Chart:
        """A chart of one figure of the layers against another, one run of each; filled where a
        layer is proven optimal.

        Args: `x` and `y`, columns of `to_pandas` that hold numbers; `x` "layers" alone stands for
        the energy of all runs of each layer, by level.
        Raises: InputError for other columns.
        """
        return cast(Chart, chart_of(self, x, y))
