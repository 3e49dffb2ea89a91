"""The answer of `pareto` on LoopTree input."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.pareto_front import FrontStatus, front_verdict
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.solution import Certificate
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping, plain_nodes
from solver_mapper.cost.looptree.statistics import TreeStatistics


@dataclass(frozen=True)
class TreeFrontPoint:
    """A mapping of which none is as good in both metrics and better in one; `values` of the two
    metrics, in J, s (or their product) and bits.
    """

    values: tuple[Fraction, Fraction]
    mapping: TreeMapping
    evaluation: TreeStatistics


@dataclass(frozen=True)
class TreeFront(Shown):
    """The proven front of two metrics, by rising first and falling second metric (see
    `core.results.pareto_front.Front` for `status`). Values that differ by less than a part in 10^8
    count as equal.
    """

    status: FrontStatus
    metrics: tuple[str, str]
    points: tuple[TreeFrontPoint, ...]
    certificate: Certificate
    seconds: dict[str, float] = field(default_factory=dict)
    limited: int = 1
    """The metric, by its position, whose smaller values are missing in a partial front."""

    @property
    def verdict(self) -> str:
        """What is proven, in one sentence."""
        return front_verdict(self.status, self.metrics, limited=self.limited)

    def turned(self) -> TreeFront:
        """The same front with the metrics in the other order."""
        points = tuple(replace(each, values=each.values[::-1]) for each in reversed(self.points))
        metrics, limited = self.metrics[::-1], 1 - self.limited
        return replace(self, metrics=metrics, points=points, limited=limited)

    def to_dict(self) -> dict[str, Any]:
        """Status, mappings with their statistics, certificate and seconds, as JSON."""
        return {
            "status": self.status,
            "metrics": list(self.metrics),
            "points": [
                {
                    "values": dict(zip(self.metrics, map(float, point.values), strict=True)),
                    "mapping": {"nodes": plain_nodes(point.mapping.nodes)},
                    "evaluation": point.evaluation.to_dict(),
                }
                for point in self.points
            ],
            "certificate": self.certificate.to_dict(),
            "seconds": self.seconds,
        }

    def plot(self) -> Chart:
        """The points of the front, joined by steps. Raises: InputError if there are none."""
        return cast(Chart, chart_of(self))
