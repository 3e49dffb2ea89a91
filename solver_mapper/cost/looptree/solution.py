"""The answer of `solve` on LoopTree input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from textwrap import wrap
from typing import Any

from solver_mapper.core.objective import Objective
from solver_mapper.core.solution import Certificate, Status
from solver_mapper.cost.looptree.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.io.accelforge.mapping_file import plain_nodes
from solver_mapper.report.tables import WIDTH


@dataclass(frozen=True)
class TreeSolution:
    """`value` and `bound` of the objective are in J and s (or their product); `seconds` are
    wall-clock per phase.

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

    def to_dict(self) -> dict[str, Any]:
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

    def __str__(self) -> str:
        """The tree with its figures, and what was proven. Only the last line depends on the
        machine's speed.
        """
        rows = list(self._rows())
        indent = 2 + max(len(title) for title, _ in rows)
        proof = [
            line
            for title, text in rows
            for line in wrap(
                text, WIDTH, initial_indent=title.ljust(indent), subsequent_indent=" " * indent
            )
        ]
        statistics = [] if self.evaluation is None else [str(self.evaluation), ""]
        return "\n".join([*statistics, self._verdict(), *proof])

    def _verdict(self) -> str:
        names = ", then ".join(self.objective.names)
        return {
            "optimal": f"Proven optimal for {names}: no mapping in this mapspace is better",
            "feasible": f"Not proven optimal for {names}: the search ended before",
            "infeasible": "Proven infeasible: no mapping exists that obeys hardware and rules",
            "unknown": (
                "No mapping was found before the search ended, and it is not proven that none"
                " exists"
            ),
        }[self.status]

    def _rows(self) -> Iterator[tuple[str, str]]:
        if self.value is not None:
            yield self.objective.names[0], f"{float(self.value):.9g}"
            yield "lower bound", "none" if self.bound is None else f"{float(self.bound):.9g}"
            yield "gap", "unknown" if self.gap is None else f"{100 * self.gap:.4g} %"
        yield (
            "mapspace",
            "; ".join(f"{key}: {value}" for key, value in self.certificate.mapspace.items()),
        )
        yield from (
            ("proof", f"{proof['claim']} (within {proof['tolerance']:.0e} of the value)")
            for proof in self.certificate.proofs
        )
        yield from (("conflict", each["text"]) for each in self.conflict)
        if self.certificate.checks:
            yield "checked", "; ".join(self.certificate.checks)
        yield from (("note", note) for note in self.notes)
        yield (
            "seconds",
            ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in self.seconds.items()),
        )
