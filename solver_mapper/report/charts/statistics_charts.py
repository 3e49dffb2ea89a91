"""Charts of one mapping: where the energy and the cycles go, and the roofline."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from solver_mapper.core.results.chart import Axis, BarChart, Chart, Picture, PlaneChart, Series
from solver_mapper.core.results.rendering import chart_of, svg_of
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.report.bandwidths import Port, bottleneck, compute_steps, ports
from solver_mapper.report.charts.choice import chosen
from solver_mapper.report.tables import energy_unit, percent, short

OTHER = "leakage and other"
COMPUTE = "compute"


def energy_parts(statistics: Statistics) -> list[tuple[str, dict[str, Fraction]]]:
    """Energy in pJ of each level, of the compute units and of each network that needs any, by
    tensor; what no tensor accounts for goes under `OTHER` or `COMPUTE`.
    """
    units = statistics.architecture.arithmetic.name
    parts = []
    for name, level in statistics.levels.items():
        rest = COMPUTE if name == units else OTHER
        by_tensor = {tensor: row.energy_pj for tensor, row in level.tensors.items()}
        parts.append((name, _with_rest(by_tensor, level.energy_pj, rest)))
    for network in statistics.networks.values():
        by_tensor = {tensor: row.energy_pj for tensor, row in network.tensors.items()}
        if network.energy_pj:
            parts.append((network.name, _with_rest(by_tensor, network.energy_pj, OTHER)))
    return [(name, each) for name, each in parts if any(each.values())]


def _with_rest(parts: dict[str, Fraction], total: Fraction, name: str) -> dict[str, Fraction]:
    rest = total - sum(parts.values())
    return parts | {name: rest} if rest > 0 else parts


def energy_chart(statistics: Statistics) -> BarChart:
    """Energy by level and tensor."""
    unit, scale = energy_unit(statistics.energy_pj)
    parts = energy_parts(statistics)
    names = [*statistics.problem.tensor_names, COMPUTE, OTHER]
    found = [name for name in names if any(each.get(name) for _, each in parts)]
    largest = max(parts, key=lambda each: sum(each[1].values()), default=None)
    summary = ""
    if largest is not None:
        share = sum(largest[1].values()) / statistics.energy_pj
        summary = f"{largest[0]} takes most of the energy, {percent(share)} of it."
    return BarChart(
        "Energy by level and tensor",
        unit,
        tuple(name for name, _ in parts) or ("none",),
        {
            name: tuple(float(each.get(name, Fraction(0)) / scale) for _, each in parts)
            for name in found
        }
        or {"energy": (0.0,)},
        summary,
    )


def cycles_chart(statistics: Statistics) -> BarChart:
    """Cycles that computing and each limited bandwidth need, each by itself."""
    units = statistics.architecture.arithmetic.name
    rows = [
        (f"{units}: {COMPUTE}", float(compute_steps(statistics))),
        *((f"{port.level}: {port.description}", float(port.cycles)) for port in ports(statistics)),
    ]
    names, cycles = zip(*rows, strict=True)
    return BarChart(
        "Cycles that each resource needs by itself",
        "cycles",
        names,
        {"cycles": cycles},
        f"The mapping takes {statistics.cycles:,} cycles: {bottleneck(statistics)}.",
    )


def roofline_chart(statistics: Statistics) -> PlaneChart:
    """MACs per cycle against MACs per word: the roof of the compute units, the slope of each
    limited bandwidth, and where the mapping stands below them.
    """
    limits = [port for port in ports(statistics) if port.words]
    reached = float(Fraction(statistics.macs, statistics.cycles))
    spots = [(_intensity(statistics, port), port.level, port.what) for port in limits]
    backing = statistics.architecture.levels[0].name
    if statistics.last_level_accesses and not any(level == backing for _, level, _ in spots):
        share = float(Fraction(statistics.macs, statistics.last_level_accesses))
        spots.append((share, backing, "all words"))
    low, high = _span([x for x, _, _ in spots] or [1.0], statistics, limits)
    peak = float(statistics.compute_units)
    roof = Series("compute units", (low, high), (peak, peak), "line", dashed=True)
    here = Series(
        "this mapping",
        tuple(x for x, _, _ in spots),
        tuple(reached for _ in spots),
        labels=tuple(f"{level}, {what}" for _, level, what in spots),
    )
    return PlaneChart(
        "Roofline",
        Axis("MACs per word that the level moves", log=True),
        Axis("MACs per cycle", log=True),
        (here, roof, *_slopes(limits, low, high, peak)),
        summary=(
            f"The mapping does {short(Fraction(statistics.macs, statistics.cycles))} of at most"
            f" {statistics.compute_units:,} MACs per cycle: {bottleneck(statistics)}."
        ),
    )


def _intensity(statistics: Statistics, port: Port) -> float:
    return float(Fraction(statistics.macs, port.words * port.instances))


def _span(found: list[float], statistics: Statistics, limits: list[Port]) -> tuple[float, float]:
    """The range of intensities that shows all points, and where each slope meets the roof."""
    knees = [float(statistics.compute_units / (port.bandwidth * port.instances)) for port in limits]
    return min([*found, *knees]) / 10, max([*found, *knees]) * 4


def _slopes(limits: list[Port], low: float, high: float, peak: float) -> Iterator[Series]:
    """A line for each bandwidth; equal ones of one level share it."""
    shared: dict[tuple[str, Fraction], list[Port]] = {}
    for port in limits:
        shared.setdefault((port.level, port.bandwidth * port.instances), []).append(port)
    for (level, rate), equal in shared.items():
        knee = min(max(peak / float(rate), low), high)
        what = " or ".join(port.what for port in equal)
        name = f"{level}, {what}: {short(rate)} words a cycle"
        yield Series(name, (low, knee), (float(rate) * low, float(rate) * knee), "line")


def nest_picture(statistics: Statistics) -> Picture:
    """The loop nest over the memory hierarchy."""
    return Picture("Loop nest over the memory hierarchy", svg_of(statistics))


CHARTS = {
    "energy": energy_chart,
    "cycles": cycles_chart,
    "roofline": roofline_chart,
    "nest": nest_picture,
}


@chart_of.register
def statistics_chart(statistics: Statistics, what: str = "energy") -> Chart:
    """One of `CHARTS`."""
    return chosen(CHARTS, what, statistics)
