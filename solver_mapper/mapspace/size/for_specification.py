"""From a specification to the size of its mapspace."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import factorial, prod

from solver_mapper.core.constraints import (
    Constraint,
    Constraints,
    MetricConstraint,
    ProductConstraint,
    ReuseConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.primes import divisors
from solver_mapper.core.results.mapspace_size import (
    Choices,
    Count,
    Cut,
    LevelCount,
    MapspaceSize,
)
from solver_mapper.core.spec import Spec
from solver_mapper.mapspace.requirements import is_changeable
from solver_mapper.mapspace.size.counter import MappingCounter, countable
from solver_mapper.mapspace.size.lattice import Lattice
from solver_mapper.mapspace.size.level_choices import Level
from solver_mapper.mapspace.size.storage_choices import keep_sets, uncertain
from solver_mapper.mapspace.space import Space, build_space


def mapspace_size_of(spec: Spec) -> MapspaceSize:
    """See `api.space`."""
    constraints = tuple(dict.fromkeys(spec.constraints))
    free = _space(spec, ())
    alone = _space(
        spec,
        tuple(
            constraint
            for constraint in constraints
            if not isinstance(constraint, ProductConstraint | UtilizationConstraint)
        ),
    )
    chains = {dim: Choices(_chains(alone, dim), _chains(free, dim)) for dim in free.dims}
    tiles = Lattice(free.problem.bounds).size
    choices = tuple(_choices(alone, free, level) for level in range(free.depth))
    if not countable(free):
        return MapspaceSize(
            tiles,
            chains,
            choices,
            uncounted=tuple(
                constraint.text
                for constraint in constraints
                if isinstance(constraint, MetricConstraint)
            ),
        )
    constraints, uncounted = _counted(spec, constraints)
    counter = MappingCounter(_space(spec, constraints))
    levels = tuple(_reached(counter, each, number) for number, each in enumerate(choices))
    cuts = (*_constraint_cuts(spec, constraints, counter), *_capacity_cuts(counter))
    return MapspaceSize(
        tiles,
        chains,
        levels,
        _count(free, False),
        _count(counter.space, False),
        _count(counter.space, True),
        cuts,
        uncounted,
    )


def _counted(
    spec: Spec, constraints: tuple[Constraint, ...]
) -> tuple[tuple[Constraint, ...], tuple[str, ...]]:
    """The constraints that can be counted, and the texts of the others: caps on figures, and limits
    on products of too many values.
    """
    counted = [
        constraint
        for constraint in constraints
        if not isinstance(constraint, MetricConstraint | ProductConstraint | UtilizationConstraint)
    ]
    for constraint in constraints:
        if isinstance(constraint, ProductConstraint | UtilizationConstraint) and countable(
            _space(spec, (*counted, constraint))
        ):
            counted.append(constraint)
    kept = frozenset(counted)
    return tuple(constraint for constraint in constraints if constraint in kept), tuple(
        constraint.text for constraint in constraints if constraint not in kept
    )


def _space(spec: Spec, constraints: tuple[Constraint, ...]) -> Space:
    return build_space(spec.need_architecture(), spec.need_problem(), Constraints(constraints))


def _count(space: Space, sized: bool) -> Count:
    ways = ((False, False), (True, False), (True, True))
    return Count(
        *(
            MappingCounter(space, orders=orders, bypass=bypass, sized=sized).total
            for orders, bypass in ways
        )
    )


def _chains(space: Space, dim: str) -> int:
    """Factorizations of `dim` over all temporal and spatial loops, other dimensions apart: it lies
    along one axis of a level.
    """
    left = {space.problem.bounds[dim]: 1}
    for level in range(space.depth):
        after: dict[int, int] = {}
        fanout = space.architecture.fanout(level)
        for rest, ways in left.items():
            for spatial in space.allowed(level, "spatial", dim).intersection(divisors(rest)):
                axes = sum(spatial <= size for size in fanout) if spatial > 1 else 1
                for temporal in space.allowed(level, "temporal", dim).intersection(
                    divisors(rest // spatial)
                ):
                    inner = rest // spatial // temporal
                    after[inner] = after.get(inner, 0) + ways * axes
        left = after
    return left.get(1, 0)


def _choices(space: Space, free: Space, number: int) -> LevelCount:
    """Each choice of one level by itself; `space` has no constraints about several loops."""
    lattice = Lattice({dim: space.problem.bounds[dim] for dim in space.dims})
    here, without = (Level(each, lattice, number) for each in (space, free))
    dims = frozenset(space.dims)
    return LevelCount(
        space.architecture.levels[number].name,
        temporal=Choices(
            *(
                prod(len(level.allowed("temporal", dim)) for dim in dims)
                for level in (here, without)
            )
        ),
        orders=Choices(here.temporal_orders.count(dims), factorial(len(dims))),
        spatial=Choices(_spatial(here), _spatial(without)),
        bypass=Choices(len(keep_sets(space, number)), 2 ** len(space.problem.tensors)),
    )


def _spatial(level: Level) -> int:
    """Spatial loops that fit the mesh, orders apart."""
    across, along = (Counter(vector.dims for vector in level.vectors[axis]) for axis in "XY")
    return sum(
        one * other
        for inner, one in across.items()
        for outer, other in along.items()
        if level.ways(inner, outer)
    )


def _reached(counter: MappingCounter, level: LevelCount, number: int) -> LevelCount:
    """With the tiles of the level, and the ways down to it."""
    if not counter.total:
        return replace(level, tiles=0, down=0)
    return replace(
        level,
        tiles=int(sum(counter.reached(number).astype(bool).flat)),
        down=int(counter.reached(number + 1).sum()),
    )


def _constraint_cuts(
    spec: Spec, constraints: tuple[Constraint, ...], counter: MappingCounter
) -> tuple[Cut, ...]:
    """What each constraint cuts that somebody wrote. Constraints about reuse cut nothing: they say
    what mappings do, not which there are.
    """
    examined = [
        constraint
        for constraint in constraints
        if is_changeable(constraint)
        and not isinstance(constraint, ReuseConstraint | MetricConstraint)
    ]
    cuts = [
        Cut(
            constraint.text,
            _without(spec, constraint, constraints, counter),
            counter.total,
            location=constraint.location,
        )
        for constraint in examined
    ]
    redundant = [
        constraint for constraint, cut in zip(examined, cuts, strict=True) if cut.redundant
    ]
    spare = _spare(spec, constraints, redundant, counter.total)
    return tuple(
        replace(cut, spare=constraint in spare)
        for constraint, cut in zip(examined, cuts, strict=True)
    )


def _without(
    spec: Spec, constraint: Constraint, constraints: tuple[Constraint, ...], counter: MappingCounter
) -> int:
    """How many mappings are legal without `constraint`. Where it is about one level, the counts for
    all the others are known.
    """
    space = _space(spec, tuple(each for each in constraints if each != constraint))
    joint = isinstance(constraint, ProductConstraint | UtilizationConstraint) or uncertain(
        space
    ) != uncertain(counter.space)
    if joint or not counter.possible or counter.space.empty:
        return MappingCounter(space).total
    number = space.architecture.index(constraint.level)
    return counter.with_level(counter.level(number, space))


def _spare(
    spec: Spec, constraints: tuple[Constraint, ...], redundant: list[Constraint], legal: int
) -> list[Constraint]:
    """Constraints that can be left out together: all that are redundant if that works, else as many
    of them as do one after the other.
    """

    def same(dropped: list[Constraint]) -> bool:
        return (
            MappingCounter(
                _space(spec, tuple(each for each in constraints if each not in dropped))
            ).total
            == legal
        )

    if len(redundant) < 2 or same(redundant):
        return redundant
    spare: list[Constraint] = []
    for constraint in redundant:
        if same([*spare, constraint]):
            spare.append(constraint)
    return spare


def _capacity_cuts(counter: MappingCounter) -> list[Cut]:
    cuts = []
    for number, buffer in enumerate(counter.space.architecture.levels):
        if buffer.entries:
            without = counter.with_level(replace(counter.level(number, counter.space), sized=False))
            location = (
                buffer.entries_location
                if buffer.entries_location.line is not None
                else buffer.location
            )
            fill = (
                f", at least {100 * float(buffer.min_utilization):g} % full"
                if buffer.min_utilization
                else ""
            )
            text = f"{buffer.name} capacity: {buffer.capacity} words{fill}"
            cuts.append(
                Cut(
                    text,
                    without if counter.possible else 0,
                    counter.total,
                    is_constraint=False,
                    location=location,
                )
            )
    return cuts
