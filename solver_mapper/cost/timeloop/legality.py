"""Whether a mapping fits its architecture and its problem. Every violation is listed, with the
arithmetic that shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.core.results.verdict import Violation
from solver_mapper.cost.timeloop.projection import project
from solver_mapper.cost.timeloop.tiles import Nest, build_nest
from solver_mapper.errors import NOWHERE


def violations(
    architecture: Architecture, problem: Problem, mapping: Mapping
) -> tuple[Violation, ...]:
    """Everything that makes `mapping` illegal. Capacity and fanout are checked once the loops make
    up the problem.
    """
    found = structural_violations(architecture, problem, mapping)
    if all(each.rule == "bypass" for each in found):
        nest = build_nest(problem, mapping)
        found += _fanouts(architecture, mapping)
        found += _meshes(architecture, mapping)
        found += _capacities(architecture, problem, mapping, nest)
    return tuple(found)


def structural_violations(
    architecture: Architecture, problem: Problem, mapping: Mapping
) -> list[Violation]:
    """What leaves `mapping` without a meaning: wrong levels, names or factors, a tensor that no
    level holds.
    """
    return [
        *_levels(architecture, mapping),
        *_names(problem, mapping),
        *_residues(mapping),
        *_factor_products(problem, mapping),
        *_kept_somewhere(architecture, problem, mapping),
    ]


def _levels(architecture: Architecture, mapping: Mapping) -> Iterator[Violation]:
    found = tuple(level.level for level in mapping.levels)
    wanted = architecture.level_names
    for name in found:
        if name not in wanted:
            yield Violation("unknown-name", f"the architecture has no level '{name}'", level=name)
    for name in wanted:
        if name not in found:
            yield Violation(
                "missing-level", f"the mapping has no directive for level {name}", level=name
            )
    if sorted(found) == sorted(wanted) and found != wanted:
        order = ", ".join(wanted)
        yield Violation(
            "missing-level",
            f"the mapping lists the levels as {', '.join(found)}; outer to inner they are {order}",
        )


def _names(problem: Problem, mapping: Mapping) -> Iterator[Violation]:
    for level in mapping.levels:
        for kind, loops in (("temporal", level.temporal), ("spatial", level.spatial)):
            for loop in loops:
                if loop.dim not in problem.bounds:
                    yield Violation(
                        "unknown-name",
                        f"{level.level} {kind}: the problem has no dimension '{loop.dim}'",
                        level=level.level,
                        dimension=loop.dim,
                        location=level.location(f"{kind} {loop.dim}", kind),
                    )
        for tensor in sorted(level.keep - set(problem.tensor_names)):
            yield Violation(
                "unknown-name",
                f"{level.level}: the problem has no tensor '{tensor}'",
                level=level.level,
                tensor=tensor,
                location=level.location(f"bypass {tensor}", "bypass"),
            )


def _residues(mapping: Mapping) -> Iterator[Violation]:
    for level in mapping.levels:
        for loop in (*level.temporal, *level.spatial):
            if not 1 <= loop.last <= loop.bound:
                kind = "spatial" if loop.axis else "temporal"
                yield Violation(
                    "factor",
                    f"{level.level} {kind}: {loop.dim}={loop.bound},{loop.last}: "
                    f"the last round must have 1 to {loop.bound} iterations, not {loop.last}",
                    level=level.level,
                    dimension=loop.dim,
                    found=loop.last,
                    limit=loop.bound,
                    location=level.location(kind),
                )


def _factor_products(problem: Problem, mapping: Mapping) -> Iterator[Violation]:
    for dim in problem.dims:
        loops = [
            (level, loop)
            for level in mapping.levels
            for loop in (*level.temporal, *level.spatial)
            if loop.dim == dim
        ]
        covered = 0
        for _, loop in loops:
            covered = covered * loop.bound + loop.last - 1
        covered += 1
        if covered == problem.bounds[dim]:
            continue
        factors = (
            " x ".join(
                str(loop.bound) if loop.perfect else f"{loop.bound},{loop.last}"
                for _, loop in loops
            )
            or "1"
        )
        locations = [
            level.location(f"{kind} {dim}", kind)
            for level, loop in loops
            for kind in ("spatial" if loop.axis else "temporal",)
        ]
        yield Violation(
            "factor-product",
            f"the factors of {dim} ({factors}) cover {covered} iterations; "
            f"the problem has {problem.bounds[dim]}",
            dimension=dim,
            found=covered,
            limit=problem.bounds[dim],
            location=locations[0] if locations else NOWHERE,
        )


def _kept_somewhere(
    architecture: Architecture, problem: Problem, mapping: Mapping
) -> Iterator[Violation]:
    names = ", ".join(architecture.level_names)
    for tensor in problem.tensor_names:
        if not any(tensor in level.keep for level in mapping.levels):
            location = mapping.levels[0].location("bypass") if mapping.levels else NOWHERE
            message = (
                f"{tensor} is bypassed at every level ({names}): no level stores it for"
                f" {architecture.arithmetic.name}"
            )
            yield Violation("bypass", message, tensor=tensor, location=location)


def _fanouts(architecture: Architecture, mapping: Mapping) -> Iterator[Violation]:
    """Each level's own spatial loops against the mesh of the next inner level below one instance of
    it.
    """
    names = (*architecture.level_names, architecture.arithmetic.name)
    for index, level in enumerate(mapping.levels):
        for axis, limit in zip("XY", architecture.fanout(index), strict=True):
            loops = [loop for loop in level.spatial if loop.axis == axis]
            used = _product(loops)
            if used > limit:
                factors = " x ".join(f"{loop.dim}={loop.bound}" for loop in loops if loop.bound > 1)
                yield Violation(
                    "fanout",
                    f"{level.level}: its spatial loops along {axis} ({factors}) need {used} "
                    f"instances of {names[index + 1]}; {limit} lie below each {level.level}",
                    level=level.level,
                    found=used,
                    limit=limit,
                    location=level.location("spatial"),
                )


def _meshes(architecture: Architecture, mapping: Mapping) -> Iterator[Violation]:
    """The product of all spatial loops down to a level against that level's whole mesh."""
    used = {"X": 1, "Y": 1}
    inner: tuple[Buffer | Arithmetic, ...] = (*architecture.levels[1:], architecture.arithmetic)
    for level, below in zip(mapping.levels, inner, strict=True):
        for axis, limit in (("X", below.mesh_x), ("Y", below.mesh_y)):
            used[axis] *= _product(loop for loop in level.spatial if loop.axis == axis)
            if used[axis] > limit:
                yield Violation(
                    "fanout",
                    f"{below.name}: the spatial loops along {axis} down to it need {used[axis]} "
                    f"instances; {limit} exist",
                    level=below.name,
                    found=used[axis],
                    limit=limit,
                    location=level.location("spatial"),
                )


def _capacities(
    architecture: Architecture, problem: Problem, mapping: Mapping, nest: Nest
) -> Iterator[Violation]:
    projections = [project(problem, tensor) for tensor in problem.tensors]
    for index, (buffer, level) in enumerate(zip(architecture.levels, mapping.levels, strict=True)):
        tiles = {
            each.name: nest.tile_words(each, index)
            for each in projections
            if each.name in level.keep
        }
        if buffer.capacity is not None:
            yield from _capacity(buffer, buffer.capacity, level, tiles)


def _capacity(
    buffer: Buffer, capacity: int, level: LevelMapping, tiles: dict[str, int]
) -> Iterator[Violation]:
    needed = sum(tiles.values())
    listed = _listed([f"{name} ({words})" for name, words in tiles.items()])
    subject = f"{buffer.name}: the tile{'s' if len(tiles) > 1 else ''} of {listed}"
    if needed > capacity:
        verb = "need" if len(tiles) > 1 else "needs"
        yield Violation(
            "capacity",
            f"{subject} {verb} {needed} words; {capacity} fit{_buffering(buffer)}",
            level=buffer.name,
            found=needed,
            limit=capacity,
            location=level.location("temporal"),
        )
    elif needed < capacity * buffer.min_utilization:
        least = -(
            -(capacity * buffer.min_utilization).numerator
            // (capacity * buffer.min_utilization).denominator
        )
        what = subject if tiles else f"{buffer.name}: no tensor is kept and so the tiles"
        yield Violation(
            "utilization",
            f"{what} fill {needed} of {capacity} words; min-utilization requires at least {least}",
            level=buffer.name,
            found=needed,
            limit=least,
            location=level.location("temporal"),
        )


def _buffering(buffer: Buffer) -> str:
    if buffer.multiple_buffering == 1:
        return ""
    return f" ({buffer.entries} entries shared by {buffer.multiple_buffering} buffers)"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _product(loops: Iterable[Loop]) -> int:
    total = 1
    for loop in loops:
        total *= loop.bound
    return total
