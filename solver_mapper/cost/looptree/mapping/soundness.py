"""Soundness of branches: tiles nest, tensors have a home, Einsums agree on what they share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Set

from solver_mapper.core.results.verdict import Violation
from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath, StorageStep, shared_loops
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Fork,
    Pipeline,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    Toll,
    TreeMapping,
)
from solver_mapper.cost.looptree.workload import Access, Relevance, Workload


def branch_problems(branch: EinsumPath, unknown: Set[int] = frozenset()) -> Iterator[Violation]:
    """Whether the loops of a branch cut its Einsum to single points, and every tensor is stored
    somewhere.

    Args: `unknown`, nodes (by identity) whose names neither architecture nor workload has; what is
    missing because of them is not reported.
    """
    einsum = branch.einsum
    yield from _foreign(branch, unknown)
    yield from _nesting(
        branch,
        check_ends=not any(
            id(node) in unknown and isinstance(node, (Temporal, Spatial)) for node in branch.nodes
        ),
    )
    check_homes = not any(
        id(node) in unknown and isinstance(node, (Storage, Toll)) for node in branch.nodes
    )
    for tensor in einsum.tensors:
        if branch.holders(tensor) or check_homes:
            yield from _held(branch, tensor)
    for hold in branch.holds:
        yield from _in_pieces(branch, hold)


def common_problems(
    workload: Workload,
    mapping: TreeMapping,
    branches: Sequence[EinsumPath],
    unknown: Set[int] = frozenset(),
) -> Iterator[Violation]:
    """Whether every Einsum is computed once, and whether Einsums agree on what they share.

    Args: `branches` in execution order; `unknown` as for `branch_problems`.
    """
    seen: set[str] = set()
    for branch in branches:
        name = branch.einsum.name
        if name in seen:
            yield Violation(
                "einsum", f"Einsum '{name}' is computed twice", location=branch.nodes[-1].location
            )
        seen.add(name)
    if not any(isinstance(node, Compute) and id(node) in unknown for node in mapping.walk()):
        for name in workload.by_name:
            if name not in seen:
                yield Violation(
                    "einsum", f"Einsum '{name}' is computed nowhere", location=mapping.location
                )
    if len(seen) == len(branches) == len(workload.einsums):
        yield from _trips(branches)
        yield from _handed_over(workload, mapping, branches)


def _nesting(branch: EinsumPath, check_ends: bool) -> Iterator[Violation]:
    """Tiles larger than what is around them, and (if these are to be checked) loops that end above
    tiles of 1.
    """
    einsum = branch.einsum
    extents = dict(einsum.bounds)
    for loop in branch.loops:
        enclosing, shape = extents[loop.variable], loop.node.tile_shape
        biggest = max(shape, loop.first or 0)
        if biggest > enclosing:
            bound = einsum.bounds[loop.variable]
            of = (
                f"the {bound} of its rank"
                if biggest > bound
                else f"the tile of {enclosing} around it"
            )
            text = (
                f"'{loop.node}': the tile of {biggest} is larger than {of} in Einsum"
                f" '{einsum.name}'"
            )
            yield Violation(
                "tile-not-nested",
                text,
                dimension=loop.variable,
                found=biggest,
                limit=enclosing,
                location=loop.node.location,
            )
        else:
            extents[loop.variable] = loop.tiles(enclosing)[0][0]
    for variable, extent in extents.items():
        if extent > 1 and check_ends:
            yield Violation(
                "missing-loop",
                f"Einsum '{einsum.name}' has no loop that cuts '{variable}' from {extent} to 1",
                dimension=variable,
                found=extent,
                limit=1,
                location=branch.nodes[-1].location,
            )


def doubtful(branch: EinsumPath) -> frozenset[str]:
    """Variables whose tiles are not known, because their loops do not nest or do not end at 1."""
    return frozenset(
        problem.dimension
        for problem in _nesting(branch, check_ends=True)
        if problem.dimension is not None
    )


def _foreign(branch: EinsumPath, unknown: Set[int]) -> Iterator[Violation]:
    """Nodes above an Einsum that it cannot follow: loops over variables it lacks, components off
    its path.
    """
    for node in (node for node in branch.nodes if id(node) not in unknown):
        if isinstance(node, (Temporal, Spatial)):
            own = [variable for variable in node.variables if variable in branch.einsum.bounds]
            if len(own) != 1:
                what = (
                    f"which has no rank variable '{node.variable}'"
                    if not own
                    else f"which has {' and '.join(own)}"
                )
                yield Violation(
                    "foreign-loop",
                    f"'{node}' stands above Einsum '{branch.einsum.name}', {what}",
                    dimension=node.variable,
                    location=node.location,
                )
        name = getattr(node, "component", None)
        if name is not None and name not in branch.chain.by_name:
            mine = isinstance(node, Spatial) or any(
                tensor in branch.einsum.by_tensor for tensor in getattr(node, "tensors", ())
            )
            if mine:
                yield Violation(
                    "unknown-name",
                    f"'{name}' is not on the way to '{branch.chain.compute.name}'",
                    level=name,
                    location=node.location,
                )


def _held(branch: EinsumPath, tensor: str) -> Iterator[Violation]:
    holders = branch.holders(tensor)
    if not holders:
        yield Violation(
            "not-stored",
            f"tensor '{tensor}' of Einsum '{branch.einsum.name}' is stored nowhere above it",
            tensor=tensor,
            location=branch.nodes[-1].location,
        )
        return
    if holders[0].toll:
        yield Violation(
            "not-stored",
            f"tensor '{tensor}' must be stored above the toll '{holders[0].unit.name}'",
            tensor=tensor,
            level=holders[0].unit.name,
            location=holders[0].node.location,
        )
    for outer, inner in itertools.pairwise(holders):
        if inner.level <= outer.level:
            what = (
                "twice"
                if inner.level == outer.level
                else f"below '{outer.unit.name}', which lies further in"
            )
            text = (
                f"tensor '{tensor}' of Einsum '{branch.einsum.name}' stands in '{inner.unit.name}'"
                f" {what}"
            )
            yield Violation(
                "hierarchy",
                text,
                level=inner.unit.name,
                tensor=tensor,
                location=inner.node.location,
            )


def _in_pieces(branch: EinsumPath, hold: StorageStep) -> Iterator[Violation]:
    """A tile is one piece only if the loops that divide it stand above those over the same variable
    that do not.
    """
    mine = branch.loops_above(hold.index, hold.level)
    for variable in sorted(hold.access.variables):
        loops = [loop for loop in branch.loops if loop.variable == variable]
        for outer, inner in itertools.pairwise(loops):
            if outer not in mine and inner in mine:
                text = (
                    f"'{outer.node}' does not divide what '{hold.unit.name}' keeps of"
                    f" '{hold.access.name}', but '{inner.node}' below it does: the tile would be in"
                    " pieces"
                )
                yield Violation(
                    "spatial-order",
                    text,
                    level=hold.unit.name,
                    tensor=hold.access.name,
                    dimension=variable,
                    location=inner.node.location,
                )


def _handed_over(
    workload: Workload, mapping: TreeMapping, branches: Sequence[EinsumPath]
) -> Iterator[Violation]:
    """Whether each tensor is read where and when it has been written."""
    order = {branch.einsum.name: position for position, branch in enumerate(branches)}
    by_name = {branch.einsum.name: branch for branch in branches}
    for tensor in sorted(workload.intermediates):
        writers = [workload.einsums[index].name for index in workload.producers(tensor)]
        readers = [workload.einsums[index].name for index in workload.consumers(tensor)]
        first = by_name[min(writers, key=order.__getitem__)]
        for name in readers:
            if order[name] < order[first.einsum.name]:
                text = (
                    f"Einsum '{name}' reads '{tensor}' before '{first.einsum.name}' has written it"
                )
                yield Violation(
                    "order", text, tensor=tensor, location=by_name[name].nodes[-1].location
                )
            if first.holders(tensor) and by_name[name].holders(tensor):
                yield from _same_home(tensor, mapping, first, by_name[name])
                yield from _same_part(tensor, first, by_name[name])


def _same_home(
    tensor: str, mapping: TreeMapping, writer: EinsumPath, reader: EinsumPath
) -> Iterator[Violation]:
    mine, theirs = writer.holders(tensor)[0], reader.holders(tensor)[0]
    if mine.node is not theirs.node:
        fork = _fork_of(mapping, writer, reader)
        where = " and in ".join(dict.fromkeys(f"'{hold.unit.name}'" for hold in (mine, theirs)))
        text = (
            f"no Storage node of '{tensor}' stands above the !{type(fork).__name__}"
            f" ({fork.location}) that parts '{writer.einsum.name}' and '{reader.einsum.name}': each"
            f" has one of its own, in {where}, so '{reader.einsum.name}' does not read what"
            f" '{writer.einsum.name}' writes; give '{tensor}' one Storage node above the fork"
        )
        yield Violation("not-stored", text, tensor=tensor, location=theirs.node.location)
        return
    for loop in writer.loops_above(mine.index, mine.level):
        if mine.access.relevance(loop.variable) is Relevance.IRRELEVANT:
            yield Violation(
                "partial-results",
                f"'{loop.node}' stands above '{mine.node}': '{reader.einsum.name}' would read "
                f"'{tensor}' before all of '{loop.variable}' is summed up",
                tensor=tensor,
                dimension=loop.variable,
                location=loop.node.location,
            )


def _fork_of(mapping: TreeMapping, first: EinsumPath, second: EinsumPath) -> Fork:
    """The innermost fork above both Einsums."""
    return [
        node
        for node in mapping.walk()
        if isinstance(node, (Sequential, Pipeline))
        and all(
            any(inner is branch.nodes[-1] for inner in TreeMapping(node.nodes).walk())
            for branch in (first, second)
        )
    ][-1]


def _same_part(tensor: str, writer: EinsumPath, reader: EinsumPath) -> Iterator[Violation]:
    """Whether each iteration of a loop that two Einsums share writes what it reads: it must cut the
    same rank of the tensor for both.

    (Loops above the tensor's home that cut no rank are found by `_same_home`.)
    """
    count = shared_loops(writer, reader)
    for mine, theirs in zip(writer.loops[:count], reader.loops[:count], strict=True):
        written, read = (
            _rank(branch.einsum.by_tensor[tensor], loop.variable)
            for branch, loop in ((writer, mine), (reader, theirs))
        )
        if written is not None and written != read:
            text = (
                f"'{mine.node}' stands above '{writer.einsum.name}' and '{reader.einsum.name}', but"
                f" cuts rank {written} of '{tensor}' for the one and {read or 'none'} for the"
                " other, which would read what is not yet written"
            )
            yield Violation(
                "shared-loop",
                text,
                tensor=tensor,
                dimension=theirs.variable,
                location=mine.node.location,
            )
        elif written is None and not mine.index < min(
            (hold.index for hold in writer.holders(tensor)), default=0
        ):
            text = (
                f"'{mine.node}' stands above '{writer.einsum.name}' and '{reader.einsum.name}':"
                f" '{reader.einsum.name}' would read '{tensor}' before all of '{mine.variable}' is"
                " summed up"
            )
            yield Violation(
                "partial-results",
                text,
                tensor=tensor,
                dimension=mine.variable,
                location=mine.node.location,
            )


def _rank(access: Access, variable: str) -> str | None:
    """The first rank that a variable indexes."""
    return next(
        (
            name
            for name, rank in zip(access.rank_names, access.tensor.ranks, strict=True)
            if any(term.dim == variable for term in rank)
        ),
        None,
    )


def _trips(branches: Sequence[EinsumPath]) -> Iterator[Violation]:
    seen: dict[int, tuple[EinsumPath, int]] = {}
    for branch in branches:
        extents = dict(branch.einsum.bounds)
        for loop in branch.loops:
            tiles = loop.tiles(extents[loop.variable])
            extents[loop.variable] = tiles[0][0]
            trips = sum(count for _, count in tiles)
            other, before = seen.setdefault(id(loop.node), (branch, trips))
            if trips != before:
                text = (
                    f"'{loop.node}' has {before} iterations in Einsum '{other.einsum.name}' but"
                    f" {trips} in '{branch.einsum.name}'"
                )
                yield Violation(
                    "shared-loop",
                    text,
                    dimension=loop.variable,
                    found=trips,
                    limit=before,
                    location=loop.node.location,
                )
