"""The tiling that moves the fewest elements: loop order, extents, and what stays resident are all
free.
"""

from __future__ import annotations

from dataclasses import replace

from solver_mapper.errors import ExactnessError
from solver_mapper.solve.cpsat.engine import solver_name
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.compatible import fullest
from solver_mapper.tiling.cutting import cut_by_loops
from solver_mapper.tiling.movement import algorithmic_minimum
from solver_mapper.tiling.nest import NestLoop, TilingNest
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.result import Tiling, TilingCertificate, tiling_of
from solver_mapper.tiling.search.enumeration import enumerate_least
from solver_mapper.tiling.search.solver import Limits
from solver_mapper.tiling.search.space import TilingPoint, TilingSpace, space_of
from solver_mapper.tiling.search.traffic_model import prove
from solver_mapper.tiling.tensors import SAME, Span

OBJECTIVE = "traffic"
ENUMERABLE = 20_000_000
"""Spaces of up to as many choices are enumerated as well; of larger ones a part, as a start."""
MAPSPACE = (
    "every loop cut into equal pieces, the last one shorter, or along windows into pieces as long"
    " as a limit on their reach allows; each tensor's tile cut or held whole along each of its"
    " loops; every loop order that completes the sums of an output tile before leaving it"
)


def least_traffic(operator: Operator, backend: Backend, limits: Limits) -> Tiling:
    """The tiling that moves the fewest elements, proven by CP-SAT; among equals one of fewest
    invocations where the space was enumerated too.

    Raises: DoesNotFit, LimitReached, ExactnessError if two ways of computing a figure disagree.
    """
    if streams(operator) and operator.strategy is not None:
        return _streamed(fullest(operator, backend, limits), limits)
    space = space_of(operator, backend)
    space.require_one()
    floor = algorithmic_minimum(operator, backend.alignment)
    checks = [
        "elements moved, counted invocation by invocation",
        "every tile inside its scratchpad",
        "every iteration done once, with all that it needs in place",
    ]
    part = space.thinned(ENUMERABLE)
    found = enumerate_least(part)
    if found is None:
        raise ExactnessError(
            f"{operator.name}: the least tiles fit, but the enumeration finds no tiling"
        )
    start = space.relocated(found, part)
    proof = prove(space, floor, start, limits)
    point = proof.point
    if part.volume == space.volume:
        checks.append(f"the least of all {space.volume} choices, by enumeration")
        if space.traffic(point) < space.traffic(start):
            raise ExactnessError(
                f"{operator.name}: of all choices none moves fewer than {space.traffic(start)}"
                f" elements, the solver has one that moves {space.traffic(point)}"
            )
        point = start
    certificate = TilingCertificate(
        OBJECTIVE,
        MAPSPACE,
        space.traffic(point),
        proof.bound,
        solver_name(),
        limits.seed,
        tuple(checks),
        limits.parameters,
    )
    return _checked(build(space, point, certificate))


def _streamed(tiling: Tiling, limits: Limits) -> Tiling:
    certificate = TilingCertificate(
        OBJECTIVE,
        "all tilings: each moves every element once",
        tiling.traffic,
        tiling.algorithmic_minimum,
        "the algorithmic minimum",
        limits.seed,
        ("tile sizes again by plain arithmetic",),
    )
    return _checked(replace(tiling, objective=OBJECTIVE, certificate=certificate))


def build(space: TilingSpace, point: TilingPoint, certificate: TilingCertificate) -> Tiling:
    """Tiles and nest of a choice."""
    operator, backend = space.operator, space.backend
    pieces = {loop: ways[point.chosen[loop]].pieces for loop, ways in space.ways.items()}
    tiled = {}
    for tensor, use in zip(operator.tensors, point.plan.uses, strict=True):
        held = {
            loop: (Span(0, size),) for loop, size in operator.loops.items() if loop not in use.cut
        }
        tiled[tensor.name] = cut_by_loops(tensor, {**pieces, **held}, backend.alignment)
    order = (*(loop for loop in operator.loops if loop not in point.plan.order), *point.plan.order)
    nest = TilingNest(operator, tuple(NestLoop(loop, pieces[loop]) for loop in order), tiled)
    return tiling_of(nest, backend, OBJECTIVE, certificate)


def streams(operator: Operator) -> bool:
    """Whether every tensor follows every loop one to one: then all tilings move the same, and none
    is better than another.
    """
    return all(
        set(tensor.loops) == set(operator.loops)
        and all(rank.projection == SAME for rank in tensor.ranks)
        for tensor in operator.tensors
    )


def _checked(tiling: Tiling) -> Tiling:
    """The tiling, if plain arithmetic on its tiles and its nest agrees with the model.

    Raises: ExactnessError.
    """
    if tiling.defect is not None:
        raise ExactnessError(
            f"{tiling.operator.name}: the chosen nest does not compute the operator:"
            f" {tiling.defect}"
        )
    if tiling.certificate is not None and tiling.traffic != tiling.certificate.value:
        raise ExactnessError(
            f"{tiling.operator.name}: the model says that {tiling.certificate.value} elements move,"
            f" the nest moves {tiling.traffic}"
        )
    return tiling
