"""Walks where the time that words take at a port counts as well; see `bandwidth.py`."""

from __future__ import annotations

from solver_mapper.solve.imperfect.joint.bandwidth import CycleRange, Price, divided, tilted
from solver_mapper.solve.imperfect.joint.spatial_choice import SpatialChoice
from solver_mapper.solve.imperfect.joint.walks import EXACT, Refined, Walks


def by_bandwidth(walks: Walks, choice: SpatialChoice, known: Refined, stage: int) -> Refined:
    """What walks show for all numbers of cycles that may lead below the target."""
    limit = walks.state.limit
    if walks.costs.port is None or known.rank >= limit:
        return known
    cycles = CycleRange(choice.cycles, choice.most_cycles(limit, known.entering))
    if cycles.most <= cycles.fewest:
        return known._replace(rank=limit)
    found = _within(walks, choice, known.entering, cycles, stage)
    return known._replace(rank=max(known.rank, found))


def _within(
    walks: Walks,
    choice: SpatialChoice,
    entering: float,
    cycles: CycleRange,
    stage: int,
    tilt: int = 1,
) -> float:
    """The least rank for a range of cycles, where so much enters levels at least."""
    costs, limit = walks.costs, walks.state.limit
    assert costs.port is not None
    line = tilted(cycles, [choice.budget(limit, each) for each in cycles], tilt)
    walk = walks.walk(
        choice,
        walks.fetches(choice, Price(costs.port[0], line.slope)),
        choice.most_iterations(entering, limit),
        line.energy + line.slope * (line.cycles - costs.latency),
        stage,
        cycles=cycles,
        entering=entering,
        price=line.slope,
    )
    rank = min(walk.least().rank, limit)
    taken = walks.offer(choice, walk) if rank < limit else 0
    if stage < EXACT or not taken:
        return rank
    parts = divided(cycles, taken, tilt)
    found = [_within(walks, choice, entering, part, stage, more) for part, more in parts]
    return max(rank, min(found, default=rank))
