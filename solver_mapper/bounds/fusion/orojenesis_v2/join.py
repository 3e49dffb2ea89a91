"""Orojenesis v2: joining families of Einsums by its rules, exactly.

Two Einsums are compatible if they fuse the same of the tensors they share and either one has no
fused loop that concerns the other (case A, untiled) or their fused loops match in order (case B,
tiled). Footprints of tiled-fused Einsums add, transitively; those of different components are
maxed. The published code keeps approximate fronts and, where one family mixes tiled and untiled
members, picks the rule by accident of hashing; here every combination is checked by its own
components and every front is exact.
"""

from __future__ import annotations

from collections.abc import Collection

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.digits import digit_of
from solver_mapper.bounds.fusion.orojenesis_v2.families import Family
from solver_mapper.bounds.fusion.special import SpecialRanks


def overlap(net: DataflowGraph, one: int, mine: str, other: int, yours: str) -> bool:
    """Do a variable of one Einsum and one of another run over a common rank: of a tensor both use,
    or by name and bound? Digits of a rank (see `digits`) are ranks of their own.
    """
    bounds = net.problems[one].bounds, net.problems[other].bounds
    if mine == yours and bounds[0][mine] == bounds[1][yours]:
        return True
    for name in set(net.problems[one].tensor_names) & set(net.problems[other].tensor_names):
        for here, there in zip(net.use(one, name).ranks, net.use(other, name).ranks, strict=True):
            if any(term.dim == mine for term in here) and any(term.dim == yours for term in there):
                ours, theirs = digit_of(mine, here, bounds[0]), digit_of(yours, there, bounds[1])
                if ours is None or theirs is None or ours.meets(theirs):
                    return True
    return False


def relevant_loops(
    net: DataflowGraph, family: Family, other: int, rule: SpecialRanks
) -> tuple[str, ...]:
    """Fused loops of `family` from the first that concerns Einsum `other` inwards; none if they
    fuse no common tensor.
    """
    if not family.fused & set(net.problems[other].tensor_names):
        return ()
    loops = _counted(net, family, rule)
    for at, variable in enumerate(loops):
        if any(
            overlap(net, family.einsum, variable, other, theirs)
            for theirs in net.problems[other].dims
        ):
            return loops[at:]
    return ()


def compatible(
    net: DataflowGraph, one: Family, other: Family, rule: SpecialRanks, uneven: bool = False
) -> bool:
    """The compatibility rule. `uneven`: the reader's fused loops may also be a part of the writer's
    (see `waits_for`).
    """
    shared = set(net.problems[one.einsum].tensor_names) & set(
        net.problems[other.einsum].tensor_names
    )
    if one.fused & shared != other.fused & shared:
        return False
    mine, yours = (
        relevant_loops(net, one, other.einsum, rule),
        relevant_loops(net, other, one.einsum, rule),
    )
    if not mine or not yours:
        return True
    return _match(net, one.einsum, list(mine), other.einsum, list(yours)) or (
        uneven and waits_for(net, one, other, rule)
    )


def _match(net: DataflowGraph, one: int, mine: list[str], other: int, yours: list[str]) -> bool:
    """Do two lists of loops name the same ranks in the same order? A rank that the other side has
    split in several may slip.
    """
    while mine and yours:
        m, y = mine.pop(0), yours.pop(0)
        if not overlap(net, one, m, other, y):
            return False
        while mine and overlap(net, one, mine[0], other, y):
            mine.pop(0)
        while yours and overlap(net, one, m, other, yours[0]):
            yours.pop(0)
    return not mine and not yours


def waits_for(net: DataflowGraph, one: Family, other: Family, rule: SpecialRanks) -> bool:
    """May the reader wait and buffer while the writer iterates over loops that it has not?

    Every fused loop of the reader must be among the writer's, in the same order and outermost
    there, with a bound that divides the writer's; all but the innermost with the same bound, or the
    reader would need words from beyond what it buffers.
    """
    shared = one.fused & other.fused
    first, second = (
        (one, other) if any(net.producer[name] == one.einsum for name in shared) else (other, one)
    )
    if (
        not all(net.producer[name] == first.einsum for name in shared)
        or first.trips is None
        or second.trips is None
    ):
        return False
    writer = dict(zip(first.loops, first.trips, strict=True))
    reader = dict(zip(second.loops, second.trips, strict=True))
    ahead = relevant_loops(net, first, second.einsum, rule)
    behind = relevant_loops(net, second, first.einsum, rule)
    if len(behind) > len(ahead):
        return False
    pairs = list(zip(ahead, behind, strict=False))
    same = all(writer[a] == reader[b] for a, b in pairs[:-1])
    return same and all(
        overlap(net, first.einsum, a, second.einsum, b) and writer[a] % reader[b] == 0
        for a, b in pairs
    )


def neighbours(net: DataflowGraph, fusable: Collection[str], one: int, other: int) -> bool:
    """Do two Einsums share a tensor that can be fused?"""
    return bool(
        frozenset(fusable)
        & set(net.problems[one].tensor_names)
        & set(net.problems[other].tensor_names)
    )


def closing_order(net: DataflowGraph, fusable: Collection[str]) -> tuple[int, ...]:
    """All Einsums, each time the one after which the fewest have neighbours to come; of equals, a
    neighbour of one done.
    """
    done: list[int] = []
    rest = list(range(len(net.problems)))
    while rest:

        def open_after(i: int) -> tuple[int, bool, int]:
            left = [other for other in rest if other != i]
            waiting = sum(
                any(neighbours(net, fusable, one, other) for other in left) for one in (*done, i)
            )
            return waiting, not any(neighbours(net, fusable, one, i) for one in done), i

        best = min(rest, key=open_after)
        done.append(best)
        rest.remove(best)
    return tuple(done)


def tiled_together(net: DataflowGraph, one: Family, other: Family, rule: SpecialRanks) -> bool:
    """Do both have a fused loop that cuts a tensor both fuse?"""
    return bool(_co_tiled(net, one, rule) & _co_tiled(net, other, rule))


def _co_tiled(net: DataflowGraph, family: Family, rule: SpecialRanks) -> set[str]:
    loops = set(_counted(net, family, rule))
    return {name for name in family.fused if loops & net.use(family.einsum, name).dims}


def _counted(net: DataflowGraph, family: Family, rule: SpecialRanks) -> tuple[str, ...]:
    """The fused loops that tile a tensor. Loops over heads, and over a batch that acts like heads,
    do not: each of their iterations is a kernel of its own, whose working sets are freed at its
    end.
    """
    if rule.tiled:
        return family.loops
    apart = rule.first(net.problems[family.einsum], family.loops)
    return tuple(loop for loop in family.loops if loop not in apart)
