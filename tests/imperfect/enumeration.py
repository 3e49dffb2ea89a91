"""Every mapping of imperfect factors, by their definition: the judge of the search over them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from math import ceil, prod

from solver_mapper.check.mapping import all_violations
from solver_mapper.core.constraints import KeepConstraint
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.reuse_flags import with_reuse_flags
from solver_mapper.core.spec import Spec

Place = tuple[int, str]
"""A level and "" (temporal), "X" or "Y"."""


def places(spec: Spec) -> list[Place]:
    """Where loops can stand, outer to inner."""
    architecture = spec.need_architecture()
    return [
        (level, axis)
        for level in range(len(architecture.levels))
        for axis in ("", "Y", "X")
        if not axis or architecture.fanout(level)[axis == "Y"] > 1
    ]


def chains(size: int, count: int) -> Iterator[tuple[int, ...]]:
    """Bounds of `count` loops, outer to inner, that cover `size` points and are all reached."""
    if count == 0:
        if size == 1:
            yield ()
        return
    for bound in range(1, size + 1):
        for outer in chains(ceil(size / bound), count - 1):
            if bound < size or set(outer) <= {1}:
                yield (*outer, bound)


def nests(spec: Spec) -> Iterator[dict[Place, dict[str, tuple[int, int]]]]:
    """For each place the loops above 1: (bound, last) of each dimension."""
    problem, sites = spec.need_problem(), places(spec)
    for chosen in product(*(list(chains(problem.bounds[d], len(sites))) for d in problem.dims)):
        nest: dict[Place, dict[str, tuple[int, int]]] = {site: {} for site in sites}
        for dim, bounds in zip(problem.dims, chosen, strict=True):
            left = problem.bounds[dim] - 1
            for site, bound in reversed(list(zip(sites, bounds, strict=True))):
                left, digit = divmod(left, bound)
                if bound > 1:
                    nest[site][dim] = bound, digit + 1
        yield nest


def orders(loops: dict[str, tuple[int, int]], axis: str) -> Iterator[tuple[Loop, ...]]:
    for order in permutations(loops):
        yield tuple(Loop(dim, *loops[dim], axis) for dim in order)


def arranged(spec: Spec, nest: dict[Place, dict[str, tuple[int, int]]]) -> Iterator[Mapping]:
    """All orders of the loops of a nest. A dimension lies along one axis of a level."""
    architecture, problem = spec.need_architecture(), spec.need_problem()
    levels: list[list[tuple[tuple[Loop, ...], tuple[Loop, ...]]]] = []
    for level in range(len(architecture.levels)):
        y, x = nest.get((level, "Y"), {}), nest.get((level, "X"), {})
        if set(y) & set(x):
            return
        levels.append(
            [
                (temporal, outer + inner)
                for temporal in orders(nest[level, ""], "")
                for outer in orders(y, "Y")
                for inner in orders(x, "X")
            ]
        )
    for loops in product(*levels):
        yield Mapping(
            tuple(
                LevelMapping(name, temporal, spatial)
                for name, (temporal, spatial) in zip(architecture.level_names, loops, strict=True)
            ),
            problem.dims,
            problem.tensor_names,
        )


def stored(spec: Spec, mapping: Mapping) -> Iterator[Mapping]:
    """All choices of the levels that store each tensor."""
    names = spec.need_problem().tensor_names
    for kept in stores(spec):
        yield Mapping(
            tuple(
                LevelMapping(
                    level.level,
                    level.temporal,
                    level.spatial,
                    frozenset(name for name in names if (number, name) in kept),
                )
                for number, level in enumerate(mapping.levels)
            ),
            mapping.dims,
            mapping.tensors,
        )


def stores(spec: Spec) -> list[set[tuple[int, str]]]:
    """Which tensors the levels may store. The outermost level stores all of them and a level of no
    entries none, unless a constraint says otherwise.
    """
    architecture = spec.need_architecture()
    told = {
        (architecture.index(each.level), each.tensor): each.keep
        for each in spec.constraints
        if isinstance(each, KeepConstraint)
    }
    places = [
        (level, name)
        for level in range(len(architecture.levels))
        for name in spec.need_problem().tensor_names
    ]
    choices = [
        (told[place],)
        if place in told
        else (True,)
        if place[0] == 0
        else (False,)
        if architecture.levels[place[0]].entries == 0
        else (False, True)
        for place in places
    ]
    return [
        {place for place, keep in zip(places, chosen, strict=True) if keep}
        for chosen in product(*choices)
    ]


def legal_mappings(spec: Spec) -> Iterator[Mapping]:
    """Every legal mapping of imperfect factors."""
    for nest in nests(spec):
        for mapping in arranged(spec, nest):
            for each in stored(spec, mapping):
                flagged = with_reuse_flags(each, spec.constraints)
                if not all_violations(spec, flagged):
                    yield flagged


def few(spec: Spec, most: int) -> bool:
    """Whether there are at most so many mappings to check."""
    kinds, sites = len(stores(spec)), len(places(spec))
    sizes = [sum(1 for _ in chains(size, sites)) for size in spec.need_problem().bounds.values()]
    if prod(sizes) * kinds > most:
        return False
    count = 0
    for nest in nests(spec):
        count += kinds * sum(1 for _ in arranged(spec, nest))
        if count > most:
            return False
    return True
