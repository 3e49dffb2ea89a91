"""A good choice quickly: where the solver starts in spaces too large to enumerate."""

from __future__ import annotations

from collections.abc import Iterator

from solver_mapper.tiling.space import Point, Space


def descend(space: Space) -> Point:
    """A choice that fits and that no change of one loop's split, or of the plan alone, improves.

    Starts from the finest choice, which fits if any does.
    """
    point = space.finest()
    least = space.traffic(point)
    improved = True
    while improved:
        improved = False
        for neighbour in _neighbours(space, point):
            moved = space.traffic(neighbour)
            if moved < least and space.fits(neighbour):
                point, least, improved = neighbour, moved, True
    return point


def _neighbours(space: Space, point: Point) -> Iterator[Point]:
    for loop, ways in space.ways.items():
        if loop in point.plan.order:
            for position in range(len(ways)):
                yield Point(point.plan, {**point.chosen, loop: position})
    for plan in space.plans:
        yield Point(plan, {loop: chosen if loop in plan.order else space.whole(loop) for loop, chosen in point.chosen.items()})
