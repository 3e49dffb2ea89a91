"""Which memories keep which tensors of one Einsum: every choice that the architecture's `tensors`
rules allow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from solver_mapper.cost.looptree.architecture import Architecture, HoldingText, comparison_of
from solver_mapper.cost.looptree.hardware import Chain, Kind, LoopBoundRule
from solver_mapper.cost.looptree.sets import EinsumScope, NameSet
from solver_mapper.cost.looptree.workload import Einsum


@dataclass(frozen=True)
class Holding:
    """The rules of one memory or toll for one Einsum, given what the components above keep.

    `keep` must be kept and `may_keep` may be; `back` must have no holder above. `no_refetch`
    tensors come once from above, `no_resend` once go below. `tile_shape` holds for tiles at the
    memory's nodes, `order_options` for their order.
    """

    keep: frozenset[str]
    may_keep: frozenset[str]
    back: frozenset[str]
    no_refetch: frozenset[str]
    no_resend: frozenset[str]
    tile_shape: tuple[LoopBoundRule, ...]
    order_options: tuple[tuple[frozenset[str], ...], ...]


@dataclass(frozen=True)
class Placement:
    """`kept[level]` are the tensors that the holder at that level of the chain keeps;
    `constraints[level]` its rules.
    """

    kept: Mapping[int, frozenset[str]]
    constraints: Mapping[int, Holding]

    def levels(self, tensor: str) -> tuple[int, ...]:
        """The levels that keep `tensor`, outer to inner."""
        return tuple(level for level in sorted(self.kept) if tensor in self.kept[level])


def placements(
    architecture: Architecture,
    einsum: Einsum,
    chain: Chain,
    fused: Mapping[str, int] | None = None,
    unfused: frozenset[str] = frozenset(),
) -> Iterator[Placement]:
    """All allowed choices in which every tensor has a memory.

    Args: `fused[tensor]`, the level that must be the outermost to keep it; `unfused` tensors must
    be kept by the outermost memory.
    """
    levels = [
        level for level, unit in enumerate(chain.units) if unit.kind in (Kind.MEMORY, Kind.TOLL)
    ]
    scope = architecture.scope(einsum)
    nothing = NameSet(frozenset(), frozenset(einsum.tensors))
    yield from _choose(
        architecture,
        einsum,
        chain,
        levels,
        scope.with_names({"Above": nothing}),
        Placement({}, {}),
        fused or {},
        unfused,
    )


def _choose(
    architecture: Architecture,
    einsum: Einsum,
    chain: Chain,
    levels: list[int],
    scope: EinsumScope,
    above: Placement,
    fused: Mapping[str, int],
    unfused: frozenset[str],
) -> Iterator[Placement]:
    seen = frozenset().union(
        *(above.kept[level] for level in above.kept if chain.units[level].kind is Kind.MEMORY)
    )
    everything = frozenset(einsum.tensors)
    if not levels or (einsum.copy and seen == everything):
        if seen == everything:
            yield above
        return
    level, unit = levels[0], chain.units[levels[0]]
    constraints = holding(
        architecture.by_name[unit.name].holding, scope, f"tensors of '{unit.name}'"
    )
    keep, may = (
        constraints.keep | constraints.back,
        constraints.may_keep - constraints.keep - constraints.back,
    )
    if unit.kind is Kind.TOLL:
        keep, may = keep & seen, frozenset()
    else:
        outermost = not any(chain.units[other].kind is Kind.MEMORY for other in above.kept)
        must = frozenset(tensor for tensor, where in fused.items() if where == level) | (
            unfused if outermost else frozenset()
        )
        never = frozenset(tensor for tensor, where in fused.items() if where > level)
        if keep & never or must - keep - may or constraints.back & seen:
            return
        keep, may = keep | must, may - must - never - (seen if einsum.copy else frozenset())
    for count in range(len(may) + 1):
        for extra in itertools.combinations(sorted(may), count):
            kept = keep | frozenset(extra)
            if einsum.copy and seen | kept == everything:
                # A copy moves nothing further than to the memory of its last backing node.
                kept -= seen
            named = NameSet(kept, everything)
            inner = scope.with_names(
                {unit.name: named, "Above": replace(named, members=seen | kept)}
            )
            choice = Placement(
                {**above.kept, level: kept}, {**above.constraints, level: constraints}
            )
            yield from _choose(
                architecture, einsum, chain, levels[1:], inner, choice, fused, unfused
            )


def holding(text: HoldingText, scope: EinsumScope, what: str) -> Holding:
    """The rules evaluated. Without any, every tensor may be kept; where `keep` or `may_keep` is
    given, no others may.

    Raises: InputError for expressions that cannot be evaluated.
    """

    def tensors(name: str, default: str) -> frozenset[str]:
        given = text.values.get(name)
        return scope.tensors(
            given.text if given else default,
            given.location if given else text.location,
            f"'{name}' of {what}",
        )

    orders = tuple(
        tuple(
            scope.tensors(item.text, item.location, f"tensor_order_options of {what}")
            for item in option
        )
        for option in text.order_options
    )
    return Holding(
        tensors("keep", "Nothing"),
        tensors("may_keep", "Nothing" if "keep" in text.values else "All"),
        tensors("back", "Nothing"),
        tensors("no_refetch_from_above", "Nothing"),
        tensors("no_resend_to_below", "Nothing"),
        tuple(comparison_of(each, scope, f"tile_shape of {what}") for each in text.tile_shape),
        orders,
    )
