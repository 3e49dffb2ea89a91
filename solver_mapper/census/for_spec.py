"""From a specification to the census of its mappings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import factorial, prod

from solver_mapper.census.census import Census, Choices, Count, Cut, LevelCount
from solver_mapper.census.holdings import keep_sets, uncertain
from solver_mapper.census.lattice import Lattice
from solver_mapper.census.level import Level
from solver_mapper.census.tally import Tally, countable
from solver_mapper.space.asks import is_changeable
from solver_mapper.space.primes import divisors
from solver_mapper.space.space import Space, build_space
from solver_mapper.spec.constraints import Constraints, FlagRule, MetricRule, ProductRule, Rule, UtilizationRule
from solver_mapper.spec.spec import Spec


def count_spec(spec: Spec) -> Census:
    """See `api.space`."""
    rules = tuple(dict.fromkeys(spec.constraints.rules))
    free = _space(spec, ())
    alone = _space(spec, tuple(rule for rule in rules if not isinstance(rule, ProductRule | UtilizationRule)))
    chains = {dim: Choices(_chains(alone, dim), _chains(free, dim)) for dim in free.dims}
    tiles = Lattice(free.problem.bounds).size
    choices = tuple(_choices(alone, free, level) for level in range(free.depth))
    if not countable(free):
        return Census(tiles, chains, choices, uncounted=tuple(rule.text for rule in rules if isinstance(rule, MetricRule)))
    rules, uncounted = _counted(spec, rules)
    tally = Tally(_space(spec, rules))
    levels = tuple(_reached(tally, each, number) for number, each in enumerate(choices))
    cuts = (*_rule_cuts(spec, rules, tally), *_capacity_cuts(tally))
    return Census(tiles, chains, levels, _count(free, False), _count(tally.space, False), _count(tally.space, True), cuts, uncounted)


def _counted(spec: Spec, rules: tuple[Rule, ...]) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules that can be counted, and the texts of the others: caps on figures, and limits on products of too many values."""
    counted = [rule for rule in rules if not isinstance(rule, MetricRule | ProductRule | UtilizationRule)]
    for rule in rules:
        if isinstance(rule, ProductRule | UtilizationRule) and countable(_space(spec, (*counted, rule))):
            counted.append(rule)
    kept = frozenset(counted)
    return tuple(rule for rule in rules if rule in kept), tuple(rule.text for rule in rules if rule not in kept)


def _space(spec: Spec, rules: tuple[Rule, ...]) -> Space:
    return build_space(spec.need_architecture(), spec.need_problem(), Constraints(rules))


def _count(space: Space, sized: bool) -> Count:
    ways = ((False, False), (True, False), (True, True))
    return Count(*(Tally(space, orders=orders, bypass=bypass, sized=sized).total for orders, bypass in ways))


def _chains(space: Space, dim: str) -> int:
    """Factorizations of `dim` over all temporal and spatial loops, other dimensions apart: it lies along one axis of a level."""
    left = {space.problem.bounds[dim]: 1}
    for level in range(space.depth):
        after: dict[int, int] = {}
        fanout = space.architecture.fanout(level)
        for rest, ways in left.items():
            for spatial in space.allowed(level, "spatial", dim).intersection(divisors(rest)):
                axes = sum(spatial <= size for size in fanout) if spatial > 1 else 1
                for temporal in space.allowed(level, "temporal", dim).intersection(divisors(rest // spatial)):
                    inner = rest // spatial // temporal
                    after[inner] = after.get(inner, 0) + ways * axes
        left = after
    return left.get(1, 0)


def _choices(space: Space, free: Space, number: int) -> LevelCount:
    """Each choice of one level by itself; `space` has no rules about several loops."""
    lattice = Lattice({dim: space.problem.bounds[dim] for dim in space.dims})
    here, without = (Level(each, lattice, number) for each in (space, free))
    dims = frozenset(space.dims)
    return LevelCount(
        space.architecture.levels[number].name,
        temporal=Choices(*(prod(len(level.allowed("temporal", dim)) for dim in dims) for level in (here, without))),
        orders=Choices(here.temporal_orders.count(dims), factorial(len(dims))),
        spatial=Choices(_spatial(here), _spatial(without)),
        bypass=Choices(len(keep_sets(space, number)), 2 ** len(space.problem.tensors)),
    )  # fmt: skip


def _spatial(level: Level) -> int:
    """Spatial loops that fit the mesh, orders apart."""
    across, along = (Counter(vector.dims for vector in level.vectors[axis]) for axis in "XY")
    return sum(one * other for inner, one in across.items() for outer, other in along.items() if level.ways(inner, outer))


def _reached(tally: Tally, level: LevelCount, number: int) -> LevelCount:
    """With the tiles of the level, and the ways down to it."""
    if not tally.total:
        return replace(level, tiles=0, down=0)
    return replace(level, tiles=int(sum(tally.reached(number).astype(bool).flat)), down=int(tally.reached(number + 1).sum()))


def _rule_cuts(spec: Spec, rules: tuple[Rule, ...], tally: Tally) -> tuple[Cut, ...]:
    """What each rule cuts that somebody wrote. Rules about reuse cut nothing: they say what mappings do, not which there are."""
    judged = [rule for rule in rules if is_changeable(rule) and not isinstance(rule, FlagRule | MetricRule)]
    cuts = [Cut(rule.text, _without(spec, rule, rules, tally), tally.total, place=rule.place) for rule in judged]
    redundant = [rule for rule, cut in zip(judged, cuts, strict=True) if cut.redundant]
    spare = _spare(spec, rules, redundant, tally.total)
    return tuple(replace(cut, spare=rule in spare) for rule, cut in zip(judged, cuts, strict=True))


def _without(spec: Spec, rule: Rule, rules: tuple[Rule, ...], tally: Tally) -> int:
    """How many mappings are legal without `rule`. Where it is about one level, the counts for all the others are known."""
    space = _space(spec, tuple(each for each in rules if each != rule))
    joint = isinstance(rule, ProductRule | UtilizationRule) or uncertain(space) != uncertain(tally.space)
    if joint or not tally.possible or tally.space.empty:
        return Tally(space).total
    number = space.architecture.index(rule.level)
    return tally.with_level(tally.level(number, space))


def _spare(spec: Spec, rules: tuple[Rule, ...], redundant: list[Rule], legal: int) -> list[Rule]:
    """Rules that can be left out together: all that are redundant if that works, else as many of them as do one after the other."""

    def same(dropped: list[Rule]) -> bool:
        return Tally(_space(spec, tuple(each for each in rules if each not in dropped))).total == legal

    if len(redundant) < 2 or same(redundant):
        return redundant
    spare: list[Rule] = []
    for rule in redundant:
        if same([*spare, rule]):
            spare.append(rule)
    return spare


def _capacity_cuts(tally: Tally) -> list[Cut]:
    cuts = []
    for number, buffer in enumerate(tally.space.architecture.levels):
        if buffer.entries:
            without = tally.with_level(replace(tally.level(number, tally.space), sized=False))
            place = buffer.entries_place if buffer.entries_place.line is not None else buffer.place
            fill = f", at least {100 * float(buffer.min_utilization):g} % full" if buffer.min_utilization else ""
            text = f"{buffer.name} has room for {buffer.capacity} words{fill}"
            cuts.append(Cut(text, without if tally.possible else 0, tally.total, is_rule=False, place=place))
    return cuts
