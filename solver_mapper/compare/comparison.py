"""Two or more mappings of one problem on one architecture, with the terms in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

from solver_mapper.core.mapping import LevelMapping, Loop
from solver_mapper.core.objective import Goal
from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.solution import directives
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.cost.timeloop.latency import port_demands

COMPUTE = "compute"
LEAKAGE = "leakage"


@dataclass(frozen=True)
class ComparedMapping:
    """A mapping under its name. `status` is that of the search which found it, None for a mapping
    that was given.
    """

    name: str
    statistics: Statistics
    status: str | None = None

    @property
    def legal(self) -> bool:
        """Whether the mapping violates nothing."""
        return self.statistics.verdict is None or self.statistics.verdict.legal


@dataclass(frozen=True)
class EnergyTerm:
    """Energy in pJ of one tensor (or computing, or leakage) at one level or network, mapping by
    mapping.
    """

    level: str
    tensor: str
    energies: tuple[Fraction, ...]

    @property
    def name(self) -> str:
        """Level and tensor of the term."""
        return f"{self.level} {self.tensor}"


@dataclass(frozen=True)
class NestRow:
    """One line of the loop nests, mapping by mapping; "" where a mapping has none."""

    level: str
    cells: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the mappings have different entries here."""
        return len(set(self.cells)) > 1


@dataclass(frozen=True)
class Comparison(Shown):
    """At least two mappings; `goal` says which is better."""

    goal: Goal
    mappings: tuple[ComparedMapping, ...]

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The exact value of each mapping, for comparisons (see `Goal.rank`)."""
        return tuple(self.goal.rank(each.statistics) for each in self.mappings)

    @property
    def best(self) -> int:
        """The position of the best mapping; of equal ones the first."""
        return self.values.index(min(self.values))

    @cached_property
    def terms(self) -> tuple[EnergyTerm, ...]:
        """All terms of the energy, those first that differ most from the best mapping's."""
        tables = [_energies(each.statistics) for each in self.mappings]
        keys = dict.fromkeys(key for each in tables for key in each)
        made = [
            EnergyTerm(*key, tuple(each.get(key, Fraction(0)) for each in tables)) for key in keys
        ]
        return tuple(sorted(made, key=self._difference, reverse=True))

    def _difference(self, term: EnergyTerm) -> Fraction:
        own = term.energies[self.best]
        return max(abs(energy - own) for energy in term.energies)

    @cached_property
    def nest(self) -> tuple[NestRow, ...]:
        """The loop nests line by line: of each level its tiles, loops in time, loops in space."""
        rows: list[NestRow] = []
        levels = zip(*(each.statistics.mapping.levels for each in self.mappings), strict=True)
        for mapped in levels:
            name = mapped[0].level
            tiles = tuple(
                _tiles(each.statistics, level)
                for each, level in zip(self.mappings, mapped, strict=True)
            )
            rows.append(NestRow(name, tiles))
            for kind in ("temporal", "spatial"):
                rows += _loops(name, [getattr(level, kind) for level in mapped])
        return tuple(rows)

    def bottleneck(self, number: int) -> tuple[str, Fraction]:
        """What determines the cycles of a mapping: a level's bandwidth or computing, and the cycles
        that it needs by itself.
        """
        return bottleneck_of(self.mappings[number].statistics)

    def ratio(self, number: int) -> float:
        """The value of a mapping over that of the best; infinite where the best is 0."""
        best = float(self.goal.shown(self.values[self.best]))
        own = float(self.goal.shown(self.values[number]))
        return own / best if best else 1.0 if own == best else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "objective": self.goal.name,
            "best": self.mappings[self.best].name,
            "mappings": [
                {
                    "name": each.name,
                    "status": each.status,
                    "value": self.goal.shown(self.values[number]),
                    "ratio": self.ratio(number),
                    "bottleneck": self.bottleneck(number)[0],
                    "mapping": directives(each.statistics.mapping),
                    "evaluation": each.statistics.to_dict(),
                }
                for number, each in enumerate(self.mappings)
            ],
            "terms": [
                {
                    "level": term.level,
                    "tensor": term.tensor,
                    "energy_pj": [float(energy) for energy in term.energies],
                }
                for term in self.terms
            ],
            "differences": [
                {"level": row.level, "lines": list(row.cells)} for row in self.nest if row.differs
            ],
        }

    def plot(self, what: str = "energy") -> Chart:
        """A chart: "energy" by level, or "cycles", of the mappings beside each other.

        Raises: InputError for another name.
        """
        return cast(Chart, chart_of(self, what))


def bottleneck_of(statistics: Statistics) -> tuple[str, Fraction]:
    """See `Comparison.bottleneck`."""
    found = [(COMPUTE, Fraction(statistics.levels[statistics.architecture.arithmetic.name].cycles))]
    for buffer in statistics.architecture.levels:
        rows = statistics.levels[buffer.name].tensors.values()
        reads, writes = sum(row.reads for row in rows), sum(row.fills + row.updates for row in rows)
        found += [
            (f"the {port} bandwidth of {buffer.name}", words / bandwidth)
            for port, words, bandwidth in port_demands(buffer, reads, writes)
        ]
    return max(found, key=lambda each: each[1])


def _energies(statistics: Statistics) -> dict[tuple[str, str], Fraction]:
    """Energy by level or network and tensor; all of them add up to the energy of the mapping."""
    units = statistics.architecture.arithmetic.name
    found: dict[tuple[str, str], Fraction] = {}
    parts = [
        (name, part.energy_pj, part.tensors.items(), COMPUTE if name == units else LEAKAGE)
        for name, part in statistics.levels.items()
    ]
    for name, total, rows, rest in parts:
        found |= {(name, tensor): row.energy_pj for tensor, row in rows}
        found[name, rest] = total - sum(row.energy_pj for _, row in rows)
    for name, network in statistics.networks.items():
        rows_of = network.tensors.items()
        found |= {(name, tensor): row.energy_pj for tensor, row in rows_of}
        found[name, LEAKAGE] = network.energy_pj - sum(row.energy_pj for _, row in rows_of)
    return {key: energy for key, energy in found.items() if energy}


def _tiles(statistics: Statistics, level: LevelMapping) -> str:
    rows = statistics.levels[level.level].tensors
    return ", ".join(f"{name} {row.tile:,}" for name, row in rows.items()) or "stores nothing"


def _loops(level: str, listed: Sequence[tuple[Loop, ...]]) -> list[NestRow]:
    shown = [[_loop(each) for each in loops if each.bound > 1] for loops in listed]
    rows = max(len(loops) for loops in shown)
    return [
        NestRow(level, tuple(loops[row] if row < len(loops) else "" for loops in shown))
        for row in range(rows)
    ]


def _loop(loop: Loop) -> str:
    last = "" if loop.perfect else f", last {loop.last}"
    return f"for {loop.dim} in {loop.bound}{last}" + (f" along {loop.axis}" if loop.axis else "")
