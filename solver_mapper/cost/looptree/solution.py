"""The answer of `solve` on LoopTree input."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from solver_mapper.core.objective import Objective
from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.solution import Certificate, Status, gap_of_proofs
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping, plain_nodes
from solver_mapper.cost.looptree.statistics import TreeStatistics


@dataclass(frozen=True)
class TreeSolution(Shown):
    """`value` and `bound` of the objective are in J and s (or their product); `value` is exact, and
    so is a bound that equals it; another one is a float. `seconds` are wall-clock per phase.

    `notes` say what the user may want to know of the mapping ("A starts in Sram").
    """

    status: Status
    objective: Objective
    mapping: TreeMapping | None
    evaluation: TreeStatistics | None
    value: Fraction | None
    bound: float | Fraction | None
    certificate: Certificate
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    conflict: tuple[dict[str, Any], ...] = ()

    @property
    def gap(self) -> float | None:
        """Share of the value that is not proven; 0 for a proven optimum."""
        if self.value is None or self.bound is None:
            return None
        return (
            max(0.0, float((self.value - Fraction(self.bound)) / self.value)) if self.value else 0.0
        )

    @property
    def proven_gap(self) -> float:
        """The largest gap that the proofs of its goals leave open."""
        return gap_of_proofs(self.gap, self.objective.names, self.certificate.proofs)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        result: dict[str, Any] = {
            "status": self.status,
            "objective": {
                "metrics": list(self.objective.names),
                "value": None if self.value is None else float(self.value),
                "bound": None if self.bound is None else float(self.bound),
                "gap": self.gap,
            },
            "mapping": None if self.mapping is None else {"nodes": plain_nodes(self.mapping.nodes)},
            "evaluation": None if self.evaluation is None else self.evaluation.to_dict(),
            "certificate": self.certificate.to_dict(),
            "seconds": self.seconds,
            "notes": list(self.notes),
        }
        if self.status == "infeasible":
            result["conflict"] = list(self.conflict)
        return result

    def plot(self, what: str = "energy") -> Chart:
        """A chart: "energy" by component and tensor, "latency" by Einsum and component, "tree",
        "lifetimes".

        Raises: InputError for another name, and without a mapping.
        """
        return cast(Chart, chart_of(self, what))
