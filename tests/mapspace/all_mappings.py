"""All legal mappings of small designs, by trying every one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

import solver_mapper as sm
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.spec import Spec
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.constraints.random_designs import random_spec

Group = list[Mapping]
"""Mappings that differ only in the order of loops."""


def small_specs(seeds: range, most: int) -> Iterator[tuple[int, Spec]]:
    """Random designs with few loop nests, with their seeds."""
    for seed in seeds:
        spec = random_spec(Random(seed), 4)
        if mapspace_of(spec).count(most) is not None:
            yield seed, spec


def mapspace_of(spec: Spec) -> EnumeratedMapspace:
    return EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)


def every_legal(spec: Spec) -> Iterator[list[Group]]:
    """For each choice of factors the legal choices of bypass, and of each all orders."""
    mapspace = mapspace_of(spec)
    keeps = [mapspace.keeps(name) for name in spec.need_problem().tensor_names]
    for bounds in mapspace.factorizations():
        skeletons = list(mapspace.arrangements(bounds))
        groups = []
        for chosen in product(*keeps) if skeletons else ():
            if sm.validate(spec, mapspace.mapping(skeletons[0], chosen)).legal:
                groups.append([mapspace.mapping(skeleton, chosen) for skeleton in skeletons])
        if groups:
            yield groups
