"""The fusion-friendly mapping template of Orojenesis (ISCA 2024) for chains of matrix products.

One backing-store loop over the rows of all activations; everything else below it. Activations have
whole rows on chip, a weight is either resident (loaded once, additive) or streamed word by word in
every iteration of the loop. All Einsums are fused. Capacity: resident weights, plus the largest of
what one Einsum needs besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from solver_mapper.bounds.bound_curve import EMPTY
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.candidates import FusionGroup
from solver_mapper.bounds.fusion.groups.group import GroupPlan, MemberCombinations, live_tiles
from solver_mapper.bounds.fusion.groups.leaf import MemberChoice, choice_of, inner_nest
from solver_mapper.bounds.fusion.groups.links import SharedRank, common_ranks
from solver_mapper.bounds.fusion.groups.trunk import Trunk, TrunkLoop, parts_of
from solver_mapper.bounds.fusion.plan import FusionPlan, FusionStep
from solver_mapper.bounds.search import least_traffic
from solver_mapper.errors import InputError


@dataclass(frozen=True)
class EinsumChain:
    """A workload in the form that the template needs. `activations[i]` goes into Einsum i, the last
    one comes out of the last.
    """

    group: FusionGroup
    activations: tuple[str, ...]

    def weights(self, net: DataflowGraph, einsum: int) -> tuple[str, ...]:
        """Tensors of an Einsum that are no activations."""
        return tuple(
            name for name in net.problems[einsum].tensor_names if name not in self.activations
        )


def chain_of(net: DataflowGraph) -> EinsumChain:
    """`net` as a chain.

    Raises: InputError if an Einsum does not feed just the next one, or if no rank runs through all
    activations and no weight.
    """
    count = len(net.problems)
    links = [_link(net, i) for i in range(count - 1)]
    outputs = [tensor.name for tensor in net.problems[-1].tensors if tensor.read_write]
    if len(outputs) != 1:
        raise _unfit(net, f"Einsum '{net.problems[-1].name}' writes {len(outputs)} tensors")
    for first in (tensor.name for tensor in net.problems[0].tensors if not tensor.read_write):
        activations = (first, *links, outputs[0])
        rows = _rows(net, activations)
        if rows:
            members = tuple(range(count))
            return EinsumChain(
                FusionGroup(members, tuple(links), tuple(rows), (), frozenset(links)), activations
            )
    raise _unfit(net, "no rank indexes all activations and no weight")


def _link(net: DataflowGraph, i: int) -> str:
    """The tensor that Einsum `i` hands to the next one, and to no other."""
    written = [tensor.name for tensor in net.problems[i].tensors if tensor.read_write]
    if len(written) != 1 or net.users[written[0]] != {i, i + 1}:
        raise _unfit(
            net, f"Einsum '{net.problems[i].name}' does not feed the next one and no other"
        )
    return written[0]


def _rows(net: DataflowGraph, activations: tuple[str, ...]) -> list[SharedRank]:
    """Ranks of every activation that index no weight."""
    members = range(len(net.problems))
    if len(net.problems) > 1:
        ranks: tuple[SharedRank, ...] = common_ranks(
            net, members, activations[1:-1], activations[1:-1]
        )
    else:
        ranks = tuple(
            SharedRank({0: dim}, bound)
            for dim, bound in net.problems[0].bounds.items()
            if bound > 1
        )
    return [
        rank
        for rank in ranks
        if all(
            (rank.variables[i] in tensor.dims) == (tensor.name in activations)
            for i in members
            for tensor in net.problems[i].tensors
        )
    ]


def _unfit(net: DataflowGraph, why: str) -> InputError:
    return InputError(
        f"the template FFMT is for chains of matrix products: {why}",
        net.workload.location,
        "use template 'ffmr'",
    )


def ffmt_plans(net: DataflowGraph) -> tuple[FusionPlan, ...]:
    """The bound curve of the template. Raises: InputError if the workload is no chain."""
    chain = chain_of(net)
    stairs, plans = EMPTY, list[GroupPlan]()
    for parts in parts_of(chain.group.ranks):
        trunk: Trunk = (TrunkLoop(chain.group.ranks, parts),) if max(parts) > 1 else ()
        live = live_tiles(net, chain.group, trunk)
        fold = MemberCombinations.starting(net, 0)
        tables = [list(_choices(net, chain, i, trunk)) for i in chain.group.members]
        for i, table in zip(chain.group.members, tables, strict=True):
            fold = fold.joined(table, live[i], net)
        codes = np.arange(len(plans), len(plans) + len(fold.accesses))
        stairs = stairs.merged(fold.additive + fold.maximal, fold.accesses, codes)
        for picks in fold.picks:
            chosen = tuple(table[int(pick)] for table, pick in zip(tables, picks, strict=True))
            plans.append(GroupPlan(chain.group.members, chain.group.tiled, trunk, chosen))
    return tuple(
        FusionPlan(int(buffer), int(accesses), (FusionStep(plans[int(code)], frozenset()),))
        for buffer, accesses, code in zip(
            stairs.buffers, stairs.accesses, stairs.codes, strict=True
        )
    )


def _choices(
    net: DataflowGraph, chain: EinsumChain, i: int, trunk: Trunk
) -> Iterator[MemberChoice]:
    """Each weight resident or streamed. The first activation and the last are on chip row by row
    like all others.
    """
    weights = chain.weights(net, i)
    ends = {
        name: len(trunk)
        for name in (chain.activations[0], chain.activations[-1])
        if name in net.problems[i].tensor_names
    }
    for stay in product((False, True) if trunk else (False,), repeat=len(weights)):
        kept = ends | {name: 0 for name, stays in zip(weights, stay, strict=True) if stays}
        flowing = tuple(
            net.use(i, name) for name, stays in zip(weights, stay, strict=True) if not stays
        )
        nests = (
            least_traffic(inner_nest(net.problems[i], trunk, i, flowing), net.weights)
            if flowing
            else (None,)
        )
        for found in nests:
            yield choice_of(net, i, trunk, kept, flowing, found)
