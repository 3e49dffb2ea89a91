"""The figures of one mapping, as `evaluate` returns them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.verdict import Verdict


@dataclass(frozen=True, slots=True)
class TensorStatistics:
    """Words of one tensor per instance of a level, as Timeloop reports them; `energy_pj` is the
    total over all `instances`.
    """

    tile: int
    partition: int
    reads: int
    fills: int
    updates: int
    temporal_reductions: int
    address_generations: int
    instances: int
    energy_pj: Fraction

    @property
    def accesses(self) -> int:
        """Words over all instances."""
        return (self.reads + self.fills + self.updates) * self.instances

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "tile": self.tile,
            "instances": self.instances,
            "reads": self.reads,
            "fills": self.fills,
            "updates": self.updates,
            "temporal_reductions": self.temporal_reductions,
            "partition": self.partition,
            "address_generations": self.address_generations,
            "energy_pj": float(self.energy_pj),
        }


@dataclass(frozen=True)
class LevelStatistics:
    """One storage level (or the compute units, which hold no tensors). `throttling` is the share of
    full speed that its bandwidth allows."""

    name: str
    cycles: int
    throttling: Fraction
    energy_pj: Fraction
    leakage_pj: Fraction
    area_um2: Fraction
    energy_origin: str
    tensors: dict[str, TensorStatistics]

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "cycles": self.cycles,
            "throttling": float(self.throttling),
            "energy_pj": float(self.energy_pj),
            "leakage_pj": float(self.leakage_pj),
            "area_um2": float(self.area_um2),
            "energy_origin": self.energy_origin,
            "tensors": {name: tensor.to_dict() for name, tensor in self.tensors.items()},
        }


@dataclass(frozen=True, slots=True)
class NetworkTensorStatistics:
    """Words of one tensor on one network, per instance of the level above; `energy_pj` is the total
    over all `instances`.

    `multicast` is the largest factor, `hops` the average per word.
    """

    multicast: int
    ingresses: Fraction | int
    link_transfers: int
    spatial_reductions: Fraction | int
    hops: Fraction | int
    energy_pj: Fraction
    instances: int

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "multicast": self.multicast,
            "ingresses": _number(self.ingresses),
            "link_transfers": self.link_transfers,
            "spatial_reductions": _number(self.spatial_reductions),
            "average_hops": float(self.hops),
            "instances": self.instances,
            "energy_pj": float(self.energy_pj),
        }


@dataclass(frozen=True)
class NetworkStatistics:
    """One network: `kind` is Timeloop's class of networks; `energy_pj` is of all instances and
    tensors.
    """

    name: str
    kind: str
    energy_pj: Fraction
    tensors: dict[str, NetworkTensorStatistics]


@dataclass(frozen=True)
class Statistics(Shown):
    """Everything that `evaluate` knows. `levels` are ordered outer to inner and end with the
    multipliers.

    `cycles` counts the steps that happen. `timeloop_cycles` is Timeloop's figure: it differs where
    factors are residual (Timeloop multiplies the full bounds) or where its floating point rounds up
    by a cycle. `energy_pj` sums all levels and networks.
    """

    cycles: int
    timeloop_cycles: int
    energy_pj: Fraction
    macs: int
    computes: int
    compute_units: int
    last_level_accesses: int
    area_um2: Fraction
    levels: dict[str, LevelStatistics]
    networks: dict[str, NetworkStatistics]
    architecture: Architecture = field(compare=False, repr=False)
    problem: Problem = field(compare=False, repr=False)
    mapping: Mapping = field(compare=False, repr=False)
    """What was evaluated, for reports."""
    verdict: Verdict | None = field(default=None, compare=False, repr=False)
    """Whether the mapping is legal; None where nobody has checked it."""

    def plot(self, what: str = "energy") -> Chart:
        """A chart: "energy" by level and tensor, "cycles" that each resource needs, "roofline",
        "nest" (the loop nest over the memory hierarchy).

        Raises: InputError for another name.
        """
        return cast(Chart, chart_of(self, what))

    @property
    def edp(self) -> Fraction:
        """pJ x cycles."""
        return self.energy_pj * self.cycles

    @property
    def utilization(self) -> Fraction:
        """Operations over what all compute units could do in that time."""
        return Fraction(self.macs, self.compute_units * self.cycles)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        result: dict[str, Any] = {
            "cycles": self.cycles,
            "energy_pj": float(self.energy_pj),
            "edp": float(self.edp),
            "utilization": float(self.utilization),
            "macs": self.macs,
            "computes": self.computes,
            "last_level_accesses": self.last_level_accesses,
            "area_um2": float(self.area_um2),
            "levels": {name: level.to_dict() for name, level in self.levels.items()},
            "networks": {
                name: {
                    tensor: statistics.to_dict() for tensor, statistics in network.tensors.items()
                }
                for name, network in self.networks.items()
            },
        }
        if self.timeloop_cycles != self.cycles:
            result["timeloop_cycles"] = self.timeloop_cycles
        return result if self.verdict is None else result | self.verdict.to_dict()


def _number(value: Fraction | int) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
