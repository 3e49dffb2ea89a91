"""The figures of one LoopTree mapping, as `evaluate` returns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.verdict import Verdict
from solver_mapper.cost.looptree.lifetimes import Lifetime
from solver_mapper.cost.looptree.mapping.labels import LabelledTree
from solver_mapper.cost.looptree.occupancy import Occupancy


@dataclass(frozen=True)
class ActionStatistics:
    """One kind of action of one component for one tensor (or, of a compute, for one Einsum).

    `actions` are what energy and time are paid for, over all instances; `unit_actions` those of the
    busiest instance. `values` and `bits` are the data behind them.
    """

    component: str
    subject: str
    action: str
    actions: Fraction
    unit_actions: Fraction
    energy: Fraction
    values: Fraction | None = None
    bits: Fraction | None = None


@dataclass(frozen=True)
class EinsumStatistics:
    """One Einsum, all its instances together. Energy in J, time in s; `leak` is the part of the
    energy that leaks.
    """

    name: str
    latency: Fraction
    latency_by_component: Mapping[str, Fraction]
    dynamic: Mapping[str, Fraction]
    leak: Mapping[str, Fraction]
    actions: tuple[ActionStatistics, ...]

    @property
    def energy(self) -> Fraction:
        """Dynamic energy and leakage of all components, in J."""
        return sum([*self.dynamic.values(), *self.leak.values()], Fraction(0))

    @property
    def bottleneck(self) -> str | None:
        """The component that determines the latency."""
        return max(
            self.latency_by_component, key=self.latency_by_component.__getitem__, default=None
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "latency": float(self.latency),
            "energy": float(self.energy),
            "bottleneck": self.bottleneck,
            "latency_by_component": {
                name: float(value) for name, value in self.latency_by_component.items()
            },
            "actions": _nested(self.actions),
        }


@dataclass(frozen=True)
class TreeStatistics(Shown):
    """Everything that `evaluate` knows of a LoopTree mapping. Energy in J, time in s, sizes in
    bits.

    `occupancy` has the peak of every finite memory that is used, `lifetimes` which tensor is in
    which memory while each Einsum runs. `drawing` is the tree with the
    tiles and occupancies of its nodes, `tree` the same for pictures.
    """

    einsums: tuple[EinsumStatistics, ...]
    occupancy: Mapping[str, Occupancy]
    lifetimes: tuple[Lifetime, ...] = field(default=(), compare=False, repr=False)
    drawing: str = field(default="", compare=False)
    tree: LabelledTree | None = field(default=None, compare=False, repr=False)
    verdict: Verdict | None = field(default=None, compare=False, repr=False)
    """Whether the mapping is legal; None where nobody has checked it."""

    @property
    def energy(self) -> Fraction:
        """Energy of all Einsums, in J."""
        return sum((einsum.energy for einsum in self.einsums), Fraction(0))

    @property
    def latency(self) -> Fraction:
        """Time of all Einsums, one after the other, in s."""
        return sum((einsum.latency for einsum in self.einsums), Fraction(0))

    @property
    def edp(self) -> Fraction:
        """J x s."""
        return self.energy * self.latency

    @property
    def energy_by_component(self) -> dict[str, Fraction]:
        """Dynamic energy and leakage of each component, in J."""
        total: dict[str, Fraction] = {}
        for einsum in self.einsums:
            for part in (einsum.dynamic, einsum.leak):
                for name, value in part.items():
                    total[name] = total.get(name, Fraction(0)) + value
        return total

    def action(self, component: str, subject: str, action: str) -> Fraction:
        """Actions of one kind over all Einsums; `subject`: a tensor, or an Einsum of a compute."""
        return sum(
            (
                each.actions
                for einsum in self.einsums
                for each in einsum.actions
                if (each.component, each.subject, each.action) == (component, subject, action)
            ),
            Fraction(0),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            **({} if self.verdict is None else self.verdict.to_dict()),
            "energy": float(self.energy),
            "latency": float(self.latency),
            "edp": float(self.edp),
            "energy_by_component": {
                name: float(value) for name, value in self.energy_by_component.items()
            },
            "per_einsum": {einsum.name: einsum.to_dict() for einsum in self.einsums},
            "actions": _nested(each for einsum in self.einsums for each in einsum.actions),
            "occupancy": {name: peak.to_dict() for name, peak in self.occupancy.items()},
        }

    def plot(self, what: str = "energy") -> Chart:
        """A chart: "energy" by component and tensor, "latency" by Einsum and component, "tree",
        "lifetimes" of tensors in memories.

        Raises: InputError for another name.
        """
        return cast(Chart, chart_of(self, what))


def _nested(actions: Iterable[ActionStatistics]) -> dict[str, Any]:
    """component -> tensor or Einsum -> action -> figures, summed."""
    result: dict[str, Any] = {}
    for each in actions:
        row = (
            result.setdefault(each.component, {})
            .setdefault(each.subject, {})
            .setdefault(each.action, {})
        )
        amounts = {"actions": each.actions, "values": each.values, "bits": each.bits}
        for key, amount in amounts.items():
            if amount is not None:
                row[key] = row.get(key, 0.0) + float(amount)
    return result
