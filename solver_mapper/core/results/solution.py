"""The answer of `solve`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Mapped
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, cast

import yaml

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Objective
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.perfect_limit import PerfectLimit
from solver_mapper.core.results.rendering import chart_of, svg_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.statistics import Statistics

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True)
class Certificate:
    """What was proven, and how: everything needed to repeat it. The same input, seed and version
    give the same certificate.
    """

    mapspace: dict[str, Any]
    solver: str
    seed: int
    parameters: dict[str, Any]
    proofs: tuple[dict[str, Any], ...] = ()
    checks: tuple[str, ...] = ()
    verification: tuple[dict[str, Any], ...] = ()
    """What other routes found, if they were asked: see `verify.route.Route`."""

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        result = {
            "mapspace": self.mapspace,
            "solver": self.solver,
            "seed": self.seed,
            "parameters": self.parameters,
            "proofs": list(self.proofs),
            "checks": list(self.checks),
        }
        return result | {"verification": list(self.verification)} if self.verification else result


@dataclass(frozen=True)
class Solution(Shown):
    """`rank` and `bound_rank` are exact, of the first goal of `objective`; `value` and `bound` are
    the same as printed, the bound rounded down. Seconds are wall-clock per phase.
    """

    status: Status
    objective: Objective
    mapping: Mapping | None
    evaluation: Statistics | None
    rank: Fraction | None
    bound_rank: Fraction | None
    certificate: Certificate
    seconds: dict[str, float] = field(default_factory=dict)
    conflict: tuple[dict[str, Any], ...] = ()
    history: tuple[Progress, ...] = field(default=(), compare=False, repr=False)
    """Where the search stood, at each change."""
    limit: PerfectLimit | None = None
    """What perfect factors leave on the table, if it is much."""

    @property
    def value(self) -> int | float | None:
        """The first goal's value in the user's units (pJ, cycles, words, or their product)."""
        return None if self.rank is None else self.objective.goals[0].shown(self.rank)

    @property
    def bound(self) -> int | float | None:
        """The proven lower bound of the first goal, rounded down; None if nothing is known."""
        if self.bound_rank is None or self.bound_rank == self.rank:
            return self.value if self.bound_rank is not None else None
        return self.objective.goals[0].shown_below(self.bound_rank)

    @property
    def gap(self) -> float | None:
        """Relative optimality gap: the share of the value that is not proven."""
        if self.rank is None or self.bound_rank is None:
            return None
        if not self.rank or self.objective.goals[0].root == 1:
            return float((self.rank - self.bound_rank) / abs(self.rank)) if self.rank else 0.0
        return 1 - math.pow(self.bound_rank / self.rank, self.objective.goals[0].root)

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
                "value": self.value,
                "bound": self.bound,
                "gap": self.gap,
                **(
                    {"tie_break": [tie.name for tie in self.objective.ties]}
                    if self.objective.ties
                    else {}
                ),
            },
            "mapping": None if self.mapping is None else directives(self.mapping),
            "evaluation": None if self.evaluation is None else self.evaluation.to_dict(),
            "certificate": self.certificate.to_dict(),
            "seconds": self.seconds,
        }
        if self.status == "infeasible":
            result["conflict"] = list(self.conflict)
        if self.limit is not None:
            result["perfect_limit"] = self.limit.to_dict()
        return result

    def plot(self, what: str = "energy") -> Chart:
        """A chart: "energy" by level and tensor, "cycles" that each resource needs, "roofline",
        "nest" (the loop nest over the memory hierarchy), "progress" (value and bound over time).

        Raises: InputError for another name, and where there is nothing to draw.
        """
        return cast(Chart, chart_of(self, what))

    def _repr_svg_(self) -> str | None:
        return None if self.evaluation is None else svg_of(self.evaluation)


def gap_of_proofs(
    gap: float | None, goals: Sequence[str], proofs: Iterable[Mapped[str, Any]]
) -> float:
    """The largest gap that proofs leave open. `gap`: that of the first of the `goals`."""
    others = [float(step["tolerance"]) for step in proofs if step["goal"] in goals[1:]]
    return max(gap or 0.0, *others, 0.0)


def directives(mapping: Mapping) -> list[dict[str, Any]]:
    """The mapping as Timeloop's list of directives, in plain Python values."""
    listed: list[dict[str, Any]] = yaml.load(mapping.to_yaml(), Loader=yaml.BaseLoader)["mapping"]
    return [
        {key: int(value) if key == "split" else value for key, value in each.items()}
        for each in listed
    ]
