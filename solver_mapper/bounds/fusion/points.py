"""Points of fused curves, each with what attains it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.evaluate import MovedWords, PlanCost
from solver_mapper.bounds.fusion.example_mapping import tree_of, trunk_text
from solver_mapper.bounds.fusion.orojenesis_v2.families import Family, Row
from solver_mapper.bounds.fusion.plan import FusionPlan, FusionStep
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.errors import InputError


@dataclass(frozen=True)
class FusedPoint:
    """One step of a fused curve: groups of Einsums in order of execution. Figures are in the
    curve's units.
    """

    plan: FusionPlan
    account: PlanCost
    net: DataflowGraph

    @property
    def buffer(self) -> int:
        """Space, in the curve's units."""
        return self.plan.buffer

    @property
    def accesses(self) -> int:
        """Traffic, in the curve's units."""
        return self.plan.accesses

    @property
    def fused(self) -> tuple[str, ...]:
        """Tensors that stay on chip between Einsums, tile by tile or whole."""
        names = {name for step in self.plan.steps for name in (*step.plan.tiled, *step.whole)}
        return tuple(name for name in self.net.workload.tensors if name in names)

    @property
    def mapping(self) -> TreeMapping:
        """The example mapping as a LoopTree with the components MainMemory, Buffer and MAC.

        Raises: InputError where a shared loop has tiles of different sizes in the Einsums below it.
        """
        return tree_of(self.net, self.plan)

    @property
    def has_mapping(self) -> bool:
        """Whether a LoopTree expresses it."""
        try:
            return bool(self.mapping)
        except InputError:
            return False

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "buffer": self.buffer,
            "accesses": self.accesses,
            "fused": list(self.fused),
            "groups": [self._group(step) for step in self.plan.steps],
            "tensors": [_flow(self.net, flow) for flow in self.account.flows],
            "mapping": self.mapping.to_yaml() if self.has_mapping else None,
        }

    def _group(self, step: FusionStep) -> dict[str, Any]:
        plan = step.plan
        resident = {
            name: trunk_text(plan.path(i)[:at])
            for i, choice in zip(plan.members, plan.choices, strict=True)
            for name, at in choice.resident.items()
        }
        return {
            "einsums": [self.net.problems[i].name for i in plan.members],
            "loops": trunk_text(plan.trunk),
            "parts": [
                {
                    "einsums": [self.net.problems[i].name for i in part.members],
                    "loops": trunk_text(part.trunk),
                    "tiled": list(part.tiled),
                }
                for part in step.plan.parts
            ],
            "tiled": list(plan.tiled),
            "whole": sorted(step.whole),
            "resident": resident,
        }

    def summary(self) -> Mapping[str, str]:
        """One column of a table: the groups in order of execution."""
        return {"": "; ".join(self._words(step) for step in self.plan.steps)}

    def _words(self, step: FusionStep) -> str:
        """`{A B} over m:4, resident W`: a group in a few words."""
        names = " ".join(self.net.problems[i].name for i in step.plan.members)
        text = (
            f"{{{names}}} over {trunk_text(step.plan.trunk)}"
            if len(step.plan.members) > 1
            else names
        )
        for part in step.plan.parts:
            text += (
                f", {{{' '.join(self.net.problems[i].name for i in part.members)}}} also over"
                f" {trunk_text(part.trunk)}"
            )
        resident = sorted(
            {
                name
                for i, choice in zip(step.plan.members, step.plan.choices, strict=True)
                for name, at in choice.resident.items()
                if at < len(step.plan.path(i))
            }
        )
        text += f", resident {' '.join(resident)}" if resident else ""
        return text + (f", whole {' '.join(sorted(step.whole))}" if step.whole else "")


def _flow(net: DataflowGraph, flow: MovedWords) -> dict[str, Any]:
    return {
        "einsum": net.problems[flow.einsum].name,
        "tensor": flow.tensor,
        "tile": flow.move.tile,
        "reads": flow.move.reads,
        "writes": flow.move.writes,
    }


@dataclass(frozen=True)
class FamilyPoint:
    """One step of a curve by the rules of Orojenesis v2, where each Einsum has a mapping of its
    own.
    """

    buffer: int
    accesses: int
    chosen: tuple[tuple[Family, Row], ...]
    net: DataflowGraph

    @property
    def fused(self) -> tuple[str, ...]:
        """Tensors that stay on chip between Einsums, in the workload's order."""
        names = {name for family, _ in self.chosen for name in family.fused}
        return tuple(name for name in self.net.workload.tensors if name in names)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "buffer": self.buffer,
            "accesses": self.accesses,
            "fused": list(self.fused),
            "mapping": list(self._mappings()),
        }

    def _mappings(self) -> Iterator[dict[str, Any]]:
        for family, row in self.chosen:
            inner = [dim for dim in row.order if dim not in family.loops]
            yield {
                "einsum": self.net.problems[family.einsum].name,
                "fused": sorted(family.fused),
                "fused_loops": list(family.loops),
                "unfused_loops": inner,
                "tile": dict(row.tile),
                "whole": list(row.whole),
                "buffer": row.buffer,
                "accesses": row.accesses,
            }

    def summary(self) -> Mapping[str, str]:
        """One column of a table: the mapping of each Einsum."""
        return {"": "; ".join(self._words(family, row) for family, row in self.chosen)}

    def _words(self, family: Family, row: Row) -> str:
        name = self.net.problems[family.einsum].name
        loops = f" over {' '.join(family.loops)}" if family.loops else ""
        held = f", whole {' '.join(row.whole)}" if row.whole else ""
        return (
            f"{name} fuses {' '.join(sorted(family.fused))}{loops}{held}"
            if family.fused
            else f"{name}{held}"
        )
