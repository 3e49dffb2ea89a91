"""The answer of `sweep`: totals at each point, and which points nothing beats."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.errors import InputError
from solver_mapper.io.yaml.warnings import InputWarning
from solver_mapper.study.network_result import Totals
from solver_mapper.study.sizes import Sizes

if TYPE_CHECKING:
    from pandas import DataFrame

FIGURES = ("energy_pj", "cycles", "edp", "proven", "status")


@dataclass(frozen=True)
class SweepPoint:
    """One design. `workloads` has the totals of each workload; `sizes` is None where the design
    could not be read.

    `pareto`: no other point is as small and as good for every workload and better in one of these.
    `error` says why a workload has no totals.
    """

    parameters: dict[str, Any]
    objective: tuple[str, ...]
    workloads: dict[str, Totals]
    sizes: Sizes | None
    pareto: bool = False
    error: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every workload has totals."""
        return self.error is None and all(
            each.energy_pj is not None for each in self.workloads.values()
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        sizes = {} if self.sizes is None else self.sizes.to_dict()
        told = {
            "parameters": self.parameters,
            "objective": list(self.objective),
            "workloads": {name: totals.to_dict() for name, totals in self.workloads.items()},
            **sizes,
            "pareto": self.pareto,
        }
        return told if self.error is None else told | {"error": self.error}


@dataclass(frozen=True)
class SweepResult(Shown):
    """All points, in the order of the sweep.

    "complete": every point has an answer that is proven, be it that no mapping exists. "partial":
    the sweep ended early, or a search reached its limit. `notes` name energies that do not follow
    the sizes that were swept. `front` names the sizes of the architecture front.
    """

    status: Literal["complete", "partial"]
    points: tuple[SweepPoint, ...]
    front: tuple[str, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    solved: int = field(default=0, compare=False)
    """How many searches were run; the others were equal to one of these, or stored."""
    warnings: tuple[InputWarning, ...] = ()
    """What was accepted of the files although it may not mean what its writer thinks."""
    unstored: InputError | None = field(default=None, compare=False)
    """Why not all answers could be stored; None if they were."""
    unreadable: InputError | None = field(default=None, compare=False)
    """Why points could not be read, all reasons in one error; None if every point was read."""

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "points": [point.to_dict() for point in self.points],
            "status": self.status,
            "front": list(self.front),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 4),
            "solved": self.solved,
        }

    def rows(self) -> list[dict[str, Any]]:
        """One row a point and workload: parameters, workload, energy, cycles, edp, sizes."""
        return [
            {
                **point.parameters,
                "workload": name,
                **{key: totals.to_dict()[key] for key in FIGURES},
                **({} if point.sizes is None else point.sizes.to_dict()),
                "pareto": point.pareto,
                "error": point.error,
            }
            for point in self.points
            for name, totals in point.workloads.items()
        ]

    def columns(self) -> list[str]:
        """The columns of `rows`."""
        named = dict.fromkeys(label for point in self.points for label in point.parameters)
        return [
            *named,
            "workload",
            *FIGURES,
            "capacity_bits",
            "compute_units",
            "area_um2",
            "pareto",
            "error",
        ]

    def to_csv(self) -> str:
        """One line a point and workload."""
        out = io.StringIO()
        writer = csv.DictWriter(out, self.columns(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return out.getvalue()

    def to_pandas(self) -> DataFrame:
        """One row a point and workload. Raises: InputError where pandas is not installed."""
        from solver_mapper.study.frames import data_frame

        return data_frame(self.rows(), self.columns())

    def plot(self, x: str = "capacity_bits", y: str = "edp") -> Chart:
        """A chart of one figure against another, a series a workload, the points of the front
        filled.

        Args: `x` and `y`, columns of `rows` that hold numbers.
        Raises: InputError for other columns.
        """
        return cast(Chart, chart_of(self, x, y))
