"""How a tensor's dimensions combine into its footprint: plain dimensions multiply, others go
together in components.

A dimension is *plain* for a tensor if it indexes one rank, alone, with coefficient 1: then the
footprint is proportional to its tile. Every other relevant dimension (the P and R of a sliding
window, a strided or repeated index) belongs to a `RankComponent`, whose footprint is a joint
function of its dimensions. The footprint of the tensor is the product over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from solver_mapper.core.problem import Tensor, Term


@dataclass(frozen=True)
class RankComponent:
    """Ranks that share dimensions. `dims` have bound above 1."""

    dims: tuple[str, ...]
    ranks: tuple[tuple[Term, ...], ...]

    @property
    def sliding(self) -> bool:
        """Whether windows can overlap: some rank sums two dimensions."""
        return any(len(rank) > 1 for rank in self.ranks)

    def offset(self, points: Mapping[str, int]) -> tuple[int, ...]:
        """Words along each rank for so many points of each dimension (0 where missing)."""
        return tuple(sum(t.coefficient * points.get(t.dim, 0) for t in rank) for rank in self.ranks)

    def footprint(self, tile: Mapping[str, int]) -> int:
        """Words that a tile touches along the ranks of the component."""
        words = 1
        for rank in self.ranks:
            words *= 1 + sum(abs(term.coefficient) * (tile[term.dim] - 1) for term in rank)
        return words

    def groups(self, below: Mapping[str, int], spatial: Mapping[str, int]) -> int:
        """Distinct tiles among the `spatial` units, each holding a tile of `below` points per
        dimension (docs/explanation/model.md "Words out of a level").
        """
        offsets = {(0,) * len(self.ranks)}
        for dim in self.dims:
            step = self.offset({dim: below[dim]})
            offsets = {
                tuple(o + k * s for o, s in zip(offset, step, strict=True))
                for offset in offsets
                for k in range(spatial[dim])
            }
        return len(offsets)


@dataclass(frozen=True)
class Shape:
    """A tensor's `plain` dimensions and its `components`, both without dimensions of bound 1."""

    plain: tuple[str, ...]
    components: tuple[RankComponent, ...]


def shape_of(tensor: Tensor, dims: tuple[str, ...]) -> Shape:
    """Split the relevant dimensions among `dims` (those with bound above 1)."""
    ranks = [tuple(t for t in rank if t.dim in dims and t.coefficient) for rank in tensor.ranks]
    ranks = [rank for rank in ranks if rank]
    groups: list[tuple[set[str], list[tuple[Term, ...]]]] = []
    for rank in ranks:
        names, members = {term.dim for term in rank}, [rank]
        for other in [g for g in groups if g[0] & names]:
            groups.remove(other)
            names, members = names | other[0], other[1] + members
        groups.append((names, members))
    plain = {
        members[0][0].dim
        for _, members in groups
        if len(members) == 1 and len(members[0]) == 1 and abs(members[0][0].coefficient) == 1
    }
    components = tuple(
        RankComponent(tuple(d for d in dims if d in names), tuple(members))
        for names, members in groups
        if not names & plain
    )
    return Shape(tuple(d for d in dims if d in plain), components)
