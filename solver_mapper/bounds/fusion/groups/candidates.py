"""Which Einsums can be fused tile by tile: candidate groups, and the tensors that stay on chip
inside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.links import SharedRank, common_ranks
from solver_mapper.deadline import check_time


@dataclass(frozen=True, eq=False)
class FusionGroup:
    """`members` co-iterate over some of `ranks`, with tiles of the tensors `tiled` on chip between
    them. `common` are all the tensors that several members use.

    `above` are ranks of the last member alone that index no tiled tensor: loops over one of them
    may stand above the common loops, at the price of running the other members again.
    """

    members: tuple[int, ...]
    tiled: tuple[str, ...]
    ranks: tuple[SharedRank, ...]
    above: tuple[SharedRank, ...]
    common: frozenset[str]


def reachable(net: DataflowGraph) -> tuple[frozenset[int], ...]:
    """Per Einsum, all Einsums that its results depend on."""
    above: list[frozenset[int]] = []
    for direct in net.needs:
        above.append(direct.union(*(above[i] for i in direct)))
    return tuple(above)


def connected_sets(net: DataflowGraph, most: int, inputs: bool) -> Iterator[tuple[int, ...]]:
    """Sets of 2 to `most` Einsums that are connected by intermediates (with `inputs`, by any shared
    tensor) and convex: no path between two leaves the set.
    """
    above = reachable(net)
    links = [name for name in net.shared if inputs or net.producer[name] is not None]
    neighbours = [
        frozenset().union(*(net.users[name] for name in links if i in net.users[name])) - {i}
        for i in range(len(net.problems))
    ]
    layer = {frozenset([i]) for i in net.everything}
    for _ in range(2, min(most, len(net.problems)) + 1):
        layer = {
            chosen | {other} for chosen in layer for i in chosen for other in neighbours[i] - chosen
        }
        for chosen in sorted(layer, key=sorted):
            outside = net.everything - chosen
            if not any(above[x] & chosen and any(x in above[i] for i in chosen) for x in outside):
                yield tuple(sorted(chosen))


def groups_of(
    net: DataflowGraph, most: int, inputs: bool, recompute: bool
) -> Iterator[FusionGroup]:
    """Every group of up to `most` Einsums with every choice of tiled tensors that holds it
    together.

    An intermediate can be tiled only if all its users are in the group; with `inputs`, a workload
    input too if at least two users are (each further one fetches it for itself). `recompute`: also
    offer loops above the common ones.
    """
    for members in connected_sets(net, most, inputs):
        inside = frozenset(members)
        candidates = [name for name in net.shared if _can_be_tiled(net, name, inside, inputs)]
        common = frozenset(name for name in net.shared if len(net.users[name] & inside) > 1)
        made = {name for name in common if net.producer[name] in inside}
        for count in range(1, len(candidates) + 1):
            for tiled in combinations(candidates, count):
                if not holds_together(net, inside, tiled):
                    continue
                ranks = common_ranks(net, members, tiled, sorted(made.union(tiled)))
                if ranks:
                    yield FusionGroup(
                        members,
                        tiled,
                        ranks,
                        _ranks_above(net, inside, tiled) if recompute else (),
                        common,
                    )


def _can_be_tiled(net: DataflowGraph, tensor: str, inside: frozenset[int], inputs: bool) -> bool:
    users = net.users[tensor]
    if len({net.repeats[i] for i in users & inside}) > 1:
        return False
    return (
        users <= inside if net.producer[tensor] is not None else inputs and len(users & inside) > 1
    )


def holds_together(net: DataflowGraph, inside: frozenset[int], tiled: tuple[str, ...]) -> bool:
    """Do the tensors `tiled` connect all Einsums of `inside`?"""
    check_time()
    reached = {min(inside)}
    grown = True
    while grown:
        more = {i for name in tiled if net.users[name] & reached for i in net.users[name] & inside}
        grown = not more <= reached
        reached |= more
    return reached == inside


def _ranks_above(
    net: DataflowGraph, inside: frozenset[int], tiled: tuple[str, ...]
) -> tuple[SharedRank, ...]:
    """Ranks of the one member that writes something for outside, if they index no tiled tensor."""
    writers = [
        i
        for i in inside
        if any(tensor.read_write and tensor.name not in tiled for tensor in net.problems[i].tensors)
    ]
    if len(writers) != 1 or any(net.producer[name] == writers[0] for name in tiled):
        return ()
    last = writers[0]
    fixed = {
        variable
        for name in tiled
        if last in net.users[name]
        for variable in net.use(last, name).dims
    }
    bounds = net.problems[last].bounds
    return tuple(
        SharedRank({last: variable}, bound)
        for variable, bound in bounds.items()
        if variable not in fixed and bound > 1
    )
