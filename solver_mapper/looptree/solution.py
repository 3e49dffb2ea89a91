"""The answer of `solve` on LoopTree input."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from solver_mapper.looptree.figures import TreeFigures
from solver_mapper.looptree.mapping_file import plain_nodes
from solver_mapper.looptree.tree import TreeMapping
from solver_mapper.objective import Objective
from solver_mapper.solution import Certificate, Status


@dataclass(frozen=True)
class TreeSolution:
    """`value` and `bound` of the objective are in J and s (or their product); `seconds` are wall-clock per phase.

    `notes` say what the user may want to know of the mapping ("A starts in Sram").
    """

    status: Status
    objective: Objective
    mapping: TreeMapping | None
    evaluation: TreeFigures | None
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
        return max(0.0, float((self.value - Fraction(self.bound)) / self.value)) if self.value else 0.0

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "status": self.status,
            "objective": {"metrics": list(self.objective.names), "value": None if self.value is None else float(self.value),
                          "bound": None if self.bound is None else float(self.bound), "gap": self.gap},
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
        names = ", then ".join(self.objective.names)
        if self.mapping is None or self.evaluation is None or self.value is None:
            word = "proven: no mapping exists" if self.status == "infeasible" else "no mapping was found before the limit"
            return "\n".join([word, *(f"  {note}" for note in self.notes), *(f"  {each['text']}" for each in self.conflict)])
        lines = [str(self.evaluation), ""]
        if self.status == "optimal":
            lines.append(f"proven optimal for {names}: {float(self.value):.9g}")
        else:
            bound = "none" if self.bound is None else f"{float(self.bound):.9g}"
            gap = "unknown" if self.gap is None else f"{100 * self.gap:.2f} %"
            lines.append(f"best found for {names}: {float(self.value):.9g}; proven bound {bound}; gap {gap}")
        space = self.certificate.mapspace
        lines.append(f"  mapspace: {'; '.join(f'{key}: {value}' for key, value in space.items())}")
        lines += [f"  proof: {proof['claim']}" for proof in self.certificate.proofs]
        lines += [f"  check: {check}" for check in self.certificate.checks]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)
