"""Orders of storage nodes, with the places between them where loops may stand: mappings but for
their tile shapes.

Only skeletons and loop places are listed that can be better than all others. Moving a loop above a
storage node whose tensor it indexes changes no count and can only shrink what is reserved; moving a
node above a loop that does not index its tensor fetches less often and reserves as much. So below a
node stand only loops that do not (plainly) index its tensor, and above a node only loops that do.
Loops between two nodes may stand in any order, with one exception: the first loop that shares a
rank with another decides how far the reservation of the node above is lowered. (The same arguments
as in AccelForge's mapper.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from solver_mapper.cost.looptree.hardware import Chain, Kind
from solver_mapper.cost.looptree.storage_choices import Placement
from solver_mapper.cost.looptree.workload import Einsum, Relevance, indexes_alone


@dataclass(frozen=True)
class StorageNode:
    """A storage node. `parent` is the position of the tensor's next holder above; None for the
    outermost, which backs it.
    """

    tensor: str
    level: int
    parent: int | None


@dataclass(frozen=True)
class SharedLoop:
    """A loop shared with other Einsums, as one of them calls it. `across`: the component and the
    fan-out over whose copies it runs; None for a loop in time.
    """

    variable: str
    across: tuple[str, str] | None = None


def loops_in_time(prefix: Sequence[SharedLoop]) -> int:
    """How many of the shared loops are no loops in space."""
    return sum(loop.across is None for loop in prefix)


@dataclass(frozen=True)
class LoopSlot:
    """Where temporal loops may stand: `above` nodes stand above it. `shared` is its number among
    the loops shared with others.
    """

    above: int
    variables: frozenset[str]
    shared: int | None = None


@dataclass(frozen=True)
class Skeleton:
    """`nodes` outer to inner. The first `roots` of them stand in the outermost memory, above all
    loops.

    `first[node]` is the variable whose loop stands first below a node, where that matters.
    `tolls[tensor]` are the levels of the tolls that a tensor pays. `handed` are the tensors whose
    outermost holder on chip other Einsums share. Above the shared loop `prefix[i]` stand
    `prefix_above[i]` nodes. Only shared loops run over the fan-outs in `closed`.
    """

    einsum: Einsum
    chain: Chain
    placement: Placement
    nodes: tuple[StorageNode, ...]
    roots: int
    slots: tuple[LoopSlot, ...]
    first: Mapping[int, str]
    tolls: Mapping[str, tuple[int, ...]]
    handed: frozenset[str] = frozenset()
    prefix: tuple[SharedLoop, ...] = ()
    prefix_above: tuple[int, ...] = ()
    closed: frozenset[tuple[str, str]] = frozenset()

    def holders(self, tensor: str) -> tuple[int, ...]:
        """Positions of the nodes of `tensor`, outer to inner."""
        return tuple(index for index, node in enumerate(self.nodes) if node.tensor == tensor)

    def slot_below(self, node: int) -> int | None:
        """The site directly below a node, if no other node and no shared loop in space stands in
        between.
        """
        found = next(
            (index for index, slot in enumerate(self.slots) if slot.above == node + 1), None
        )
        if found is None:
            return None
        shared = self.slots[found].shared
        before = self.prefix if shared is None else self.prefix[:shared]
        between = any(
            loop.across is not None and above == node + 1
            for loop, above in zip(before, self.prefix_above, strict=False)
        )
        return None if between else found


@dataclass(frozen=True)
class Neighbours:
    """What other Einsums have to do with one: `prefix`, the loops shared with them, outer to inner;
    `depths[tensor]`, how many of these stand above the outermost holder of a tensor that is handed
    over; `floors[tensor]`, for other tensors that they use too, how many must at least stand above
    each holder on chip; `closed`, the fan-outs (component, name) over which only shared loops may
    run. `loose`: the shared loops are not known, any loops may stand above what is handed over, as
    above any other node. Each Einsum then has the best of all mappings that its neighbours might
    ask for, so nothing that it is part of costs less (a relaxation).
    """

    prefix: tuple[SharedLoop, ...] = ()
    depths: Mapping[str, int] = field(default_factory=dict)
    floors: Mapping[str, int] = field(default_factory=dict)
    closed: frozenset[tuple[str, str]] = frozenset()
    loose: bool = False


ALONE = Neighbours()


def skeletons(
    einsum: Einsum, chain: Chain, placement: Placement, neighbours: Neighbours = ALONE
) -> Iterator[Skeleton]:
    """All skeletons of one placement that can be optimal."""
    depths = neighbours.depths
    tolls = {
        tensor: tuple(
            level for level in placement.levels(tensor) if chain.units[level].kind is Kind.TOLL
        )
        for tensor in einsum.tensors
    }
    memories = [
        level
        for level, unit in enumerate(chain.units)
        if unit.kind is Kind.MEMORY and level in placement.kept
    ]
    if not memories:
        return
    roots = tuple(
        StorageNode(tensor, memories[0], None)
        for tensor in sorted(placement.kept[memories[0]])
        if tensor not in depths
    )
    inner = [
        (level, tensor)
        for level in memories
        for tensor in sorted(placement.kept[level])
        if level != memories[0] or tensor in depths
    ]
    for order, cut in _orders(einsum, chain, placement, inner, neighbours):
        nodes = list(roots)
        for level, tensor in order:
            above = [index for index, node in enumerate(nodes) if node.tensor == tensor]
            nodes.append(StorageNode(tensor, level, above[-1] if above else None))
        slots = tuple(_slots(einsum, placement, tuple(nodes), len(roots), neighbours, cut))
        if _backed_in_time(einsum, nodes, slots):
            for first in _firsts(einsum, nodes, slots):
                yield Skeleton(
                    einsum,
                    chain,
                    placement,
                    tuple(nodes),
                    len(roots),
                    slots,
                    first,
                    tolls,
                    frozenset(depths),
                    neighbours.prefix,
                    tuple(len(roots) + number for number in cut),
                    neighbours.closed,
                )


def _orders(
    einsum: Einsum,
    chain: Chain,
    placement: Placement,
    inner: list[tuple[int, str]],
    neighbours: Neighbours,
) -> Iterator[tuple[tuple[tuple[int, str], ...], tuple[int, ...]]]:
    """Orders of the nodes below the roots, outer memories first, with the number of nodes above
    each shared loop.
    """
    by_level = [list(group) for _, group in itertools.groupby(inner, key=lambda node: node[0])]
    for parts in itertools.product(*(itertools.permutations(group) for group in by_level)):
        order = tuple(itertools.chain.from_iterable(parts))
        if not _in_allowed_order(placement, order):
            continue
        for cut in itertools.combinations_with_replacement(
            range(len(order) + 1), len(neighbours.prefix)
        ):
            if _prefix_fits(einsum, chain, order, cut, neighbours) and not _redundant(
                einsum, chain, placement, order, cut
            ):
                yield order, cut


def _prefix_fits(
    einsum: Einsum,
    chain: Chain,
    order: tuple[tuple[int, str], ...],
    cut: tuple[int, ...],
    neighbours: Neighbours,
) -> bool:
    """Whether fused tensors stand where they must, and no node stands where it could stand better.

    Nodes between two shared loops have a fixed order, for it does not matter. `cut[i]` nodes stand
    above the i-th shared loop. What stands above a shared loop is seen by all Einsums below, so no
    other tensor that these use may stand there, and nothing that exists in several copies unless
    all of them share the loops over these.
    """
    prefix, depths = neighbours.prefix, neighbours.depths
    seen: set[str] = set()
    together = open_level(chain, neighbours.closed)
    for loop, number in zip(prefix, cut, strict=True):
        if loop.across is not None and number != sum(
            level < chain.position[loop.across[0]] for level, _ in order
        ):
            return False
    for index, (level, tensor) in enumerate(order):
        above = sum(number <= index for number in cut)
        backing = tensor in depths and tensor not in seen
        seen.add(tensor)
        if backing and above != depths[tensor]:
            return False
        if above < len(prefix):
            loop = prefix[above]
            overlapping = any(
                access.relevance(loop.variable) is Relevance.PARTIAL for access in einsum.accesses
            )
            last = index + 1 == len(order) or sum(number <= index + 1 for number in cut) != above
            if not last and not overlapping and order[index + 1] < (level, tensor):
                return False
            if (
                above < neighbours.floors.get(tensor, 0)
                or level >= together
                or (
                    not backing
                    and loop.across is None
                    and indexes_alone(einsum.by_tensor[tensor], loop.variable)
                )
            ):
                return False
    return True


def _redundant(
    einsum: Einsum,
    chain: Chain,
    placement: Placement,
    order: tuple[tuple[int, str], ...],
    cut: tuple[int, ...],
) -> bool:
    """Whether a tensor stands in two memories in a row without any need: the outer one could be
    left out.
    """
    for index, ((outer, tensor), (inner, other)) in enumerate(itertools.pairwise(order)):
        if (
            tensor != other
            or index + 1 in cut
            or tensor in placement.constraints[outer].keep | placement.constraints[outer].back
        ):
            continue
        access = einsum.by_tensor[tensor]
        spread = any(chain.units[level].fanouts for level in range(outer + 1, inner + 1))
        if (
            placement.levels(tensor)[0] != outer
            and not spread
            and all(indexes_alone(access, name) for name in access.variables)
        ):
            return True
    return False


def open_level(chain: Chain, closed: frozenset[tuple[str, str]] = frozenset()) -> int:
    """The first level with a fan-out over which not only shared loops run."""
    return next(
        (
            level
            for level, unit in enumerate(chain.units)
            if any(
                fanout.size > 1 and (unit.name, fanout.name) not in closed
                for fanout in unit.fanouts
            )
        ),
        len(chain.units),
    )


def _in_allowed_order(placement: Placement, order: tuple[tuple[int, str], ...]) -> bool:
    for level, group in itertools.groupby(order, key=lambda node: node[0]):
        tensors, options = (
            [tensor for _, tensor in group],
            placement.constraints[level].order_options,
        )
        if options and not any(_follows(tensors, option) for option in options):
            return False
    return True


def _follows(tensors: list[str], option: tuple[frozenset[str], ...]) -> bool:
    ranks = [
        next((index for index, names in enumerate(option) if tensor in names), None)
        for tensor in tensors
    ]
    known = [rank for rank in ranks if rank is not None]
    return known == sorted(known)


def _slots(
    einsum: Einsum,
    placement: Placement,
    nodes: tuple[StorageNode, ...],
    roots: int,
    neighbours: Neighbours,
    cut: tuple[int, ...],
) -> Iterator[LoopSlot]:
    shared, prefix = 0, neighbours.prefix
    fused = frozenset() if neighbours.loose else frozenset(neighbours.depths)
    for above in range(roots, len(nodes) + 1):
        upper = nodes[above - 1] if above else None
        while shared < len(prefix) and cut[shared] + roots == above:
            if prefix[shared].across is None:
                yield LoopSlot(above, frozenset((prefix[shared].variable,)), shared)
            shared, upper = shared + 1, None
        if shared < len(prefix):
            continue
        if not fused <= {node.tensor for node in nodes[:above]}:
            continue
        if upper is not None and upper.parent is None and (above == roots or upper.tensor in fused):
            upper = None
        allowed = frozenset(
            variable
            for variable in einsum.variables
            if einsum.bounds[variable] > 1
            and _useful(einsum, placement, nodes, above, upper, variable)
        )
        if allowed:
            yield LoopSlot(above, allowed)


def _useful(
    einsum: Einsum,
    placement: Placement,
    nodes: tuple[StorageNode, ...],
    above: int,
    upper: StorageNode | None,
    variable: str,
) -> bool:
    """Whether a loop over `variable` may stand below `above` nodes, and is not better placed
    elsewhere.

    Args: `upper`, the node directly above, if the loop could be moved above it.
    """
    seen = {node.tensor for node in nodes[:above]}
    if any(
        not indexes_alone(access, variable) for access in einsum.accesses if access.name not in seen
    ):
        return False
    if (
        upper is not None
        and indexes_alone(einsum.by_tensor[upper.tensor], variable)
        and not placement.constraints[upper.level].tile_shape
    ):
        return False
    if above < len(nodes) and not placement.constraints[nodes[above].level].tile_shape:
        return einsum.by_tensor[nodes[above].tensor].relevance(variable) is not Relevance.IRRELEVANT
    return True


def _backed_in_time(einsum: Einsum, nodes: list[StorageNode], slots: tuple[LoopSlot, ...]) -> bool:
    """Whether every loop shared with others, which may repeat no Einsum, indexes all tensors that
    are only kept below it.
    """
    for slot in slots:
        if slot.shared is not None:
            seen = {node.tensor for node in nodes[: slot.above]}
            (variable,) = slot.variables
            if any(
                not indexes_alone(access, variable)
                for access in einsum.accesses
                if access.name not in seen
            ):
                return False
    return True


def _firsts(
    einsum: Einsum, nodes: list[StorageNode], slots: tuple[LoopSlot, ...]
) -> Iterator[dict[int, str]]:
    """For each node whose reservation can be lowered past one overlapping loop: which loop comes
    first.
    """
    choices: list[list[tuple[int, str]]] = []
    for slot in slots:
        index = slot.above - 1
        if slot.shared is None and index >= 0 and nodes[index].parent is not None:
            access = einsum.by_tensor[nodes[index].tensor]
            partial = [
                variable
                for variable in sorted(slot.variables)
                if access.relevance(variable) is Relevance.PARTIAL
            ]
            if partial:
                choices.append([(index, variable) for variable in partial])
    for picked in itertools.product(*choices):
        yield dict(picked)
