"""Charts of what `solve` and `pareto` found."""

from __future__ import annotations

from solver_mapper.core.progress import Progress
from solver_mapper.core.results.chart import Axis, Chart, PlaneChart, Series
from solver_mapper.core.results.pareto_front import Front
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.core.results.solution import Solution
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.report.charts.statistics_charts import statistics_chart
from solver_mapper.report.tables import points_in_words, short

UNITS = {
    "energy": "energy (pJ)",
    "delay": "cycles",
    "edp": "edp (pJ x cycles)",
    "last-level-accesses": "words of the backing store",
}


@chart_of.register
def solution_chart(solution: Solution, what: str = "energy") -> Chart:
    """A chart of the mapping, or "progress": value and bound over time."""
    if what == "progress":
        return progress_chart(solution)
    if solution.evaluation is None:
        raise InputError("there is no mapping to draw", SourceLocation("plot"))
    return statistics_chart(solution.evaluation, what)


def recorded(solution: Solution) -> list[Progress]:
    """What was recorded of the search for the first goal."""
    name = solution.objective.names[0]
    return [each for each in solution.history if each.where == name]


def progress_chart(solution: Solution) -> PlaneChart:
    """Value and bound of the first goal over time. Raises: InputError if nothing was recorded."""
    history, name = recorded(solution), solution.objective.names[0]
    values = [(each.seconds, float(each.value)) for each in history if each.value is not None]
    bounds = [(each.seconds, each.bound) for each in history if each.bound is not None]
    if not values:
        raise InputError("nothing was recorded of this search", SourceLocation("plot"))
    end = max(history[-1].seconds, sum(solution.seconds.values()))
    if solution.value is not None:
        values.append((end, float(solution.value)))
    if solution.bound is not None:
        bounds.append((end, float(solution.bound)))
    lines = [("best mapping", values, False), ("lower bound", bounds, True)]
    return PlaneChart(
        "Value and bound over time",
        Axis("seconds"),
        Axis(UNITS.get(name, name)),
        tuple(
            Series(
                title,
                tuple(at for at, _ in steps),
                tuple(value for _, value in steps),
                "steps",
                tuple(f"after {at:.2f} s" for at, _ in steps),
                dashed=dashed,
            )
            for title, steps, dashed in lines
            if steps
        ),
        summary=f"{name} of the best mapping and its proven lower bound while the search ran.",
    )


@chart_of.register
def front_chart(front: Front, what: str = "front") -> PlaneChart:
    """The points of a front, joined by steps."""
    if not front.points:
        raise InputError("the front has no points to draw", SourceLocation("plot"))
    if what != "front":
        raise InputError(
            f"there is no chart '{what}' of a front", SourceLocation("plot"), "choose front"
        )
    first, second = front.metrics
    xs, ys = (
        tuple(float(point.value(metric)) for point in front.points) for metric in (first, second)
    )
    labels = tuple(f"point {number}" for number in range(1, len(xs) + 1))
    shown = [
        f"{short(point.value(first))} and {short(point.value(second))}" for point in front.points
    ]
    return PlaneChart(
        f"Front of {first} and {second}",
        Axis(UNITS[first]),
        Axis(UNITS[second]),
        (Series("no mapping lies below", xs, ys, "steps", labels),),
        summary=points_in_words(shown),
    )
