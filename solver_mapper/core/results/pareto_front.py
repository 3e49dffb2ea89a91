"""The answer of `pareto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, cast

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import figure, left_open
from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.solution import Certificate, directives
from solver_mapper.core.results.statistics import Statistics

FrontStatus = Literal["complete", "partial", "infeasible", "unknown"]


@dataclass(frozen=True)
class FrontPoint:
    """A mapping of which none is as good in both metrics and better in one. `proofs` are the steps
    that show it.
    """

    mapping: Mapping
    evaluation: Statistics
    proofs: tuple[dict[str, Any], ...]

    def value(self, metric: str) -> Fraction:
        """pJ, cycles, or words."""
        return figure(self.evaluation, metric)

    @property
    def gap(self) -> float:
        """By which share its figures may be above the least ones."""
        return max(float(proof["tolerance"]) for proof in self.proofs)


@dataclass(frozen=True)
class Front(Shown):
    """The proven front of two metrics: `points` by rising first and falling second metric, one for
    each pair of values.

    "complete": there are no others. "partial": the search ended early; each point is proven,
    further ones have a smaller second metric than the last. "infeasible": proven that no mapping
    exists. "unknown": the search ended before the first point.
    """

    status: FrontStatus
    metrics: tuple[str, str]
    points: tuple[FrontPoint, ...]
    certificate: Certificate
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """The largest one of its points."""
        return max((point.gap for point in self.points), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "status": self.status,
            "metrics": list(self.metrics),
            "points": [
                {
                    "values": {metric: _plain(point.value(metric)) for metric in self.metrics},
                    "mapping": directives(point.mapping),
                    "evaluation": point.evaluation.to_dict(),
                    "proofs": list(point.proofs),
                }
                for point in self.points
            ],
            "certificate": self.certificate.to_dict(),
            "seconds": self.seconds,
        }

    def plot(self) -> Chart:
        """The points of the front, joined by steps. Raises: InputError if there are none."""
        return cast(Chart, chart_of(self))


def front_verdict(
    status: FrontStatus, metrics: tuple[str, str], gap: float = 0.0, limited: int = 1
) -> str:
    """What is proven of a front, in one sentence. `gap`: the largest one of its points; `limited`:
    the position of the metric whose smaller values are missing if it is partial.
    """
    first, second = metrics
    return {
        "complete": (
            f"Complete Pareto front of {first} and {second}: no mapping in this mapspace dominates"
            f" a point or adds one{left_open(gap, 'by more than')}"
        ),
        "partial": (
            f"Partial Pareto front of {first} and {second}: each point is proven; points with a"
            f" smaller {metrics[limited]} are missing"
        ),
        "infeasible": "Proven infeasible: no mapping satisfies the hardware and the constraints",
        "unknown": "The search stopped before it proved a point",
    }[status]


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
