"""Which points of a sweep no other point beats: as small, as good for every workload, and better in
one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from solver_mapper.core.dominance import undominated_rows
from solver_mapper.core.objective import parse_objective
from solver_mapper.study.network_edp import NETWORK_EDP
from solver_mapper.study.sweep_result import SweepPoint


def on_front(
    points: Sequence[SweepPoint], axes: tuple[str, ...] | None
) -> tuple[list[bool], tuple[str, ...]]:
    """Whether each point is on the front, and the sizes against which it is drawn.

    Points are compared by exact values, each with those of the same objective. Without `axes`: the
    area where it is known at every point, else capacity and compute units. Points without totals
    are on no front.
    """
    usable = [
        number for number, point in enumerate(points) if point.complete and point.sizes is not None
    ]
    known = bool(usable) and all(
        sizes.area for number in usable if (sizes := points[number].sizes) is not None
    )
    axes = axes or (("area",) if known else ("capacity", "units"))
    marked = [False] * len(points)
    for objective in {points[number].objective for number in usable}:
        alike = [number for number in usable if points[number].objective == objective]
        ranks = _ranks([_values(points[number], axes) for number in alike])
        kept = undominated_rows(ranks)
        best = {tuple(ranks[each]) for each in kept}
        for number, row in zip(alike, ranks, strict=True):
            marked[number] = tuple(row) in best
    return marked, axes


def _values(point: SweepPoint, axes: tuple[str, ...]) -> list[Fraction]:
    """The sizes, and the value of the objective for each workload: that of its totals."""
    names = ("edp",) if point.objective == (NETWORK_EDP,) else point.objective
    sizes, goal = point.sizes, parse_objective(names).goals[0]
    assert sizes is not None
    values = {
        "capacity": Fraction(sizes.capacity),
        "units": Fraction(sizes.units),
        "area": sizes.area or Fraction(0),
    }
    statistics = [totals.statistics for totals in point.workloads.values()]
    return [
        *(values[axis] for axis in axes),
        *(goal.rank(each) for each in statistics if each is not None),
    ]


def _ranks(rows: list[list[Fraction]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Each value replaced by its position among the different values of its column, which a double
    holds exactly.
    """
    columns = []
    for column in zip(*rows, strict=True):
        position = {value: number for number, value in enumerate(sorted(set(column)))}
        columns.append([position[value] for value in column])
    return np.array(columns, dtype=np.float64).T
