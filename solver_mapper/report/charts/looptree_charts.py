"""Charts of LoopTree mappings."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.core.results.chart import Axis, BarChart, Chart, Picture, PlaneChart, Series
from solver_mapper.core.results.rendering import chart_of, svg_of
from solver_mapper.cost.looptree.front import TreeFront
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.report.charts.choice import chosen
from solver_mapper.report.charts.statistics_charts import COMPUTE, OTHER
from solver_mapper.report.lifetimes_svg import lifetimes_svg
from solver_mapper.report.tables import energy_unit, points_in_words

_PICO = 10**12


def energy_chart(statistics: TreeStatistics) -> BarChart:
    """Energy by component and tensor; a compute's energy is that of its Einsums."""
    totals = {name: energy for name, energy in statistics.energy_by_component.items() if energy}
    parts: dict[str, dict[str, Fraction]] = {name: {} for name in totals}
    for einsum in statistics.einsums:
        for each in einsum.actions:
            if each.energy:
                subject = COMPUTE if each.action == "compute" else each.subject
                row = parts[each.component]
                row[subject] = row.get(subject, Fraction(0)) + each.energy
    for name, row in parts.items():
        rest = totals[name] - sum(row.values())
        if rest > 0:
            row[OTHER] = rest
    tensors = [each.tensor for each in statistics.lifetimes]  # as in the chart of lifetimes
    found = dict.fromkeys(subject for row in parts.values() for subject in row)
    others = [each for each in found if each not in (COMPUTE, OTHER)]
    names = [each for each in dict.fromkeys((*tensors, *others, COMPUTE, OTHER)) if each in found]
    unit, scale = energy_unit(statistics.energy * _PICO)
    return BarChart(
        "Energy by component and tensor",
        unit,
        tuple(parts) or ("none",),
        {
            name: tuple(float(row.get(name, Fraction(0)) * _PICO / scale) for row in parts.values())
            for name in names
        }
        or {"energy": (0.0,)},
        f"{float(statistics.energy * _PICO / scale):.6g} {unit} in all.",
    )


def latency_chart(statistics: TreeStatistics) -> BarChart:
    """Time that each component needs for each Einsum by itself; the longest counts."""
    names = dict.fromkeys(name for each in statistics.einsums for name in each.latency_by_component)
    return BarChart(
        "Time that each component needs for an Einsum by itself",
        "seconds",
        tuple(each.name for each in statistics.einsums),
        {
            name: tuple(
                float(each.latency_by_component.get(name, Fraction(0)))
                for each in statistics.einsums
            )
            for name in names
        },
        "; ".join(f"{each.name} is bound by {each.bottleneck}" for each in statistics.einsums)
        + ".",
        grouped=True,
    )


def tree_picture(statistics: TreeStatistics) -> Picture:
    """The mapping tree. Raises: InputError for figures without one."""
    if statistics.tree is None:
        raise InputError("there is no tree to draw", SourceLocation("plot"))
    return Picture("Mapping tree", svg_of(statistics.tree))


def lifetimes_picture(statistics: TreeStatistics) -> Picture:
    """Which tensor is in which memory during each Einsum.

    Raises: InputError for a mapping without storage.
    """
    if not statistics.lifetimes:
        raise InputError("no memory stores a tensor", SourceLocation("plot"))
    names = [each.name for each in statistics.einsums]
    return Picture("Lifetimes of tensors", lifetimes_svg(statistics.lifetimes, names))


CHARTS = {
    "energy": energy_chart,
    "latency": latency_chart,
    "tree": tree_picture,
    "lifetimes": lifetimes_picture,
}


@chart_of.register
def tree_chart(statistics: TreeStatistics, what: str = "energy") -> Chart:
    """One of `CHARTS`."""
    return chosen(CHARTS, what, statistics)


@chart_of.register
def tree_solution_chart(solution: TreeSolution, what: str = "energy") -> Chart:
    """A chart of the mapping. Raises: InputError without one."""
    if solution.evaluation is None:
        raise InputError("there is no mapping to draw", SourceLocation("plot"))
    return tree_chart(solution.evaluation, what)


def _axis(metric: str) -> Axis:
    units = {"energy": "pJ", "delay": "s", "edp": "J s"}
    name = metric.replace("usage:", "peak in ")
    return Axis(f"{name} ({units.get(metric, 'bits')})")


def _scaled(metric: str, value: Fraction) -> float:
    return float(value * _PICO if metric == "energy" else value)


@chart_of.register
def tree_front_chart(front: TreeFront, what: str = "front") -> PlaneChart:
    """The points of a front, joined by steps. Raises: InputError if there are none."""
    if not front.points:
        raise InputError("the front has no points to draw", SourceLocation("plot"))
    if what != "front":
        raise InputError(
            f"there is no chart '{what}' of a front", SourceLocation("plot"), "choose front"
        )
    xs, ys = (
        tuple(_scaled(metric, point.values[index]) for point in front.points)
        for index, metric in enumerate(front.metrics)
    )
    return PlaneChart(
        f"Front of {front.metrics[0]} and {front.metrics[1]}",
        _axis(front.metrics[0]),
        _axis(front.metrics[1]),
        (
            Series(
                "no mapping lies below",
                xs,
                ys,
                "steps",
                tuple(f"point {number}" for number in range(1, len(xs) + 1)),
            ),
        ),
        summary=points_in_words([f"{x:.4g} and {y:.4g}" for x, y in zip(xs, ys, strict=True)]),
    )
