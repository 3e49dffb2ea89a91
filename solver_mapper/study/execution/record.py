"""What is kept of a solved layer: plain data that goes through processes and into the store."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.results.pareto_front import Front
from solver_mapper.core.results.solution import Solution, Status, gap_of_proofs
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.errors import ExactnessError, InputError, SourceLocation
from solver_mapper.io.timeloop.mapping_reader import read_mapping
from solver_mapper.io.yaml.source import from_python
from solver_mapper.io.yaml.warnings import Notes
from solver_mapper.solve.session import checked


@dataclass(frozen=True)
class Record:
    """The answer for one layer. `solution` is what `Solution.to_dict` gives; the fractions are
    exact.

    `rank` and `bound_rank` are those of the first goal; `energy` is in pJ. `allowance` is the time
    in seconds that the search was given, None for no limit. `error` says why there is no answer
    where a search failed; such records are not stored.
    """

    status: Status
    solution: dict[str, Any]
    energy: Fraction | None = None
    cycles: int | None = None
    rank: Fraction | None = None
    bound_rank: Fraction | None = None
    allowance: float | None = None
    error: str | None = None
    points: tuple[Record, ...] = ()
    """Of a front of energy and delay: its points, by rising energy."""

    @classmethod
    def of_front(cls, front: Front, allowance: float | None) -> Record:
        """The record of a front of energy and delay; "optimal" if it is complete."""
        statuses: dict[str, Status] = {"complete": "optimal", "partial": "feasible"}
        status = statuses.get(
            front.status, "infeasible" if front.status == "infeasible" else "unknown"
        )
        told = front.to_dict()
        shared = {"status": status, "certificate": told["certificate"], "seconds": told["seconds"]}
        points = tuple(
            cls(
                status,
                {
                    **shared,
                    "objective": {
                        "metrics": ["edp"],
                        "value": float(point.evaluation.edp),
                        "bound": None,
                        "gap": None,
                    },
                    "mapping": listed["mapping"],
                    "evaluation": listed["evaluation"],
                },
                point.evaluation.energy_pj,
                point.evaluation.cycles,
                point.evaluation.edp,
            )
            for point, listed in zip(front.points, told["points"], strict=True)
        )
        return cls(status, shared, allowance=allowance, points=points)

    @classmethod
    def of(cls, solution: Solution, allowance: float | None) -> Record:
        """The record of an answer found within `allowance` seconds."""
        statistics = solution.evaluation
        return cls(
            solution.status,
            solution.to_dict(),
            None if statistics is None else statistics.energy_pj,
            None if statistics is None else statistics.cycles,
            solution.rank,
            solution.bound_rank,
            allowance,
        )

    @classmethod
    def failed(cls, reason: str) -> Record:
        """No answer, and why."""
        return cls("unknown", {}, error=reason)

    @property
    def proven(self) -> bool:
        """Whether nothing is left to search."""
        return self.status in ("optimal", "infeasible")

    @property
    def proven_gap(self) -> float:
        """The largest gap that the proofs of its goals leave open."""
        told = self.solution.get("objective") or {"metrics": [], "gap": None}
        proofs = self.solution.get("certificate", {}).get("proofs", ())
        return gap_of_proofs(told["gap"], told["metrics"], proofs)

    @property
    def seconds(self) -> float:
        """Wall-clock seconds of all phases."""
        return float(sum(self.solution.get("seconds", {}).values()))

    def satisfies(self, limit: float | None) -> bool:
        """Whether a search of `limit` seconds (None: no limit) has nothing to add."""
        return (
            self.proven or self.allowance is None or (limit is not None and limit <= self.allowance)
        )

    def merged(self, other: Record) -> Record:
        """The better of two answers to one question, with the higher of their bounds."""
        if self.proven or other.proven:
            return self if self.proven else other
        if self.points or other.points:
            return max(other, self, key=lambda each: len(each.points))
        mapped = [each for each in (self, other) if each.rank is not None]
        best = min(mapped, key=lambda each: each.rank or 0, default=self)
        bounds = [each.bound_rank for each in (self, other) if each.bound_rank is not None]
        none = self.allowance is None or other.allowance is None
        allowance = None if none else max(self.allowance or 0.0, other.allowance or 0.0)
        return replace(best, allowance=allowance)._with_bound(max(bounds, default=None))

    def _with_bound(self, bound: Fraction | None) -> Record:
        if bound is None or self.rank is None or bound == self.bound_rank:
            return self
        goal = parse_objective(self.solution["objective"]["metrics"]).goals[0]
        gap = float((self.rank - bound) / self.rank) if self.rank else 0.0
        told = self.solution["objective"] | {"bound": goal.shown(bound), "gap": gap}
        return replace(self, bound_rank=bound, solution=self.solution | {"objective": told})

    def mapping(self, spec: Spec) -> Mapping | None:
        """The mapping of `spec` that this record describes, if any.

        Raises: InputError if it is not one of that specification.
        """
        listed = self.solution.get("mapping")
        if listed is None:
            return None
        node = from_python(listed, SourceLocation("<store>"))
        return read_mapping(node, spec.need_architecture(), spec.need_problem(), Notes())[0]

    def verified(self, spec: Spec) -> Statistics | None:
        """The figures of the mapping, computed again; None without a mapping.

        Raises: ExactnessError if the record does not describe a legal mapping of `spec` with the
        figures that it states.
        """
        for point in self.points:
            point.verified(spec)
        try:
            mapping = self.mapping(spec)
            if mapping is None:
                return None
            statistics = evaluate(spec.need_architecture(), spec.need_problem(), mapping)
            goals = parse_objective(self.solution["objective"]["metrics"])
        except (InputError, LookupError, TypeError) as error:
            raise ExactnessError(f"a stored mapping cannot be read: {error}") from None
        if (statistics.energy_pj, statistics.cycles) != (self.energy, self.cycles):
            raise ExactnessError(
                "a stored mapping does not have the figures that are stored with it"
            )
        if goals.goals[0].rank(statistics) != self.rank:
            raise ExactnessError("a stored mapping does not have the value that is stored with it")
        return checked(spec, mapping, statistics, self.bound_rank, goals)

    def to_json(self) -> str:
        """The record as text; `from_json` gives an equal one."""
        exact = {
            name: None if value is None else str(value)
            for name, value in (
                ("energy", self.energy),
                ("rank", self.rank),
                ("bound_rank", self.bound_rank),
            )
        }
        rest = {"status": self.status, "cycles": self.cycles, "allowance": self.allowance}
        points = [json.loads(point.to_json()) for point in self.points]
        return json.dumps(
            {**rest, **exact, "solution": self.solution, "points": points}, separators=(",", ":")
        )

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Raises: ValueError, LookupError, TypeError or ArithmeticError for text that `to_json` did
        not write.
        """
        return cls._from_data(json.loads(text))

    @classmethod
    def _from_data(cls, data: dict[str, Any]) -> Record:
        energy, rank, bound = (
            None if data[name] is None else Fraction(data[name])
            for name in ("energy", "rank", "bound_rank")
        )
        return cls(
            data["status"],
            dict(data["solution"]),
            energy,
            data["cycles"],
            rank,
            bound,
            data["allowance"],
            points=tuple(cls._from_data(point) for point in data.get("points", ())),
        )
