"""How a tensor's dimensions combine into its footprint: plain dimensions multiply, others go
together in components.

A dimension is *plain* for a tensor if it indexes one rank, alone, with coefficient 1: then the
footprint is proportional to its tile. Every other relevant dimension (the P and R of a sliding
window, a strided or repeated index) belongs to a `RankComponent`, whose footprint is a joint
function of its dimensions. The footprint of the tensor is the product over all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations, product

from solver_mapper.core.primes import divisors
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

    @property
    def orderly(self) -> bool:
        """Whether the closed forms of `windows.py` hold: two dimensions, and no index that runs
        backwards.
        """
        return len(self.dims) == 2 and all(
            term.coefficient > 0 for rank in self.ranks for term in rank
        )

    @cached_property
    def coefficients(self) -> tuple[tuple[int, ...], ...]:
        """For each rank the coefficient of each dimension, in their order."""
        return tuple(
            tuple(sum(t.coefficient for t in rank if t.dim == dim) for dim in self.dims)
            for rank in self.ranks
        )

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
        return len(self._holders(below, spatial))

    def _holders(
        self, below: Mapping[str, int], spatial: Mapping[str, int]
    ) -> Counter[tuple[int, ...]]:
        """How many of the units hold each tile, by its offset."""
        held = Counter({(0,) * len(self.ranks): 1})
        for dim in self.dims:
            steps = [
                sum(t.coefficient for t in rank if t.dim == dim) * below[dim] for rank in self.ranks
            ]
            more = Counter[tuple[int, ...]]()
            for offset, units in held.items():
                for k in range(spatial[dim]):
                    more[tuple(o + k * s for o, s in zip(offset, steps, strict=True))] += units
            held = more
        return held

    def fewest_groups(self, spatial: Mapping[str, int]) -> int:
        """A lower bound on `groups` whatever the tiles: a sumset in one rank has at least `sum(n -
        1) + 1` elements.
        """
        return max(
            1 + sum(spatial[term.dim] - 1 for term in rank if term.coefficient)
            for rank in self.ranks
        )

    def fewest_sent(
        self,
        inside: Mapping[str, int],
        rest: Mapping[str, int],
        spatial: Mapping[str, int],
        beyond: Mapping[str, int],
        *,
        in_a_row: bool,
    ) -> Fraction:
        """The least share of the words of `spatial` units that are sent to them, where each tile
        has `inside` points of a dimension, times a divisor of its `rest`; the other loops over it,
        and `beyond` as many units further out, are outside. Of an orderly component.

        Args: `in_a_row`, whether only units that follow each other in the order of the loops over
        the two dimensions, whichever is innermost, are neighbours; otherwise any two may be.

        Words are sent once to all units that hold the same window, but for those that neighbours
        serve, which took what they pass on a step before.
        """
        if sum(units > 1 for units in spatial.values()) < 2:
            return Fraction(1)
        found = []
        for more in product(*(divisors(rest[dim]) for dim in self.dims)):
            tile = {dim: inside[dim] * m for dim, m in zip(self.dims, more, strict=True)}
            rounds = {
                dim: rest[dim] // m * beyond[dim] for dim, m in zip(self.dims, more, strict=True)
            }
            holders = self._holders(tile, spatial)
            found.append(Fraction(len(holders), holders.total()))
            shifts = self._shifts(tile, spatial, rounds)
            if in_a_row:
                beside = self._beside(tile, spatial)
                shifts = (shift for shift in shifts if shift in beside)
            found += [_unserved(holders, shift) for shift in shifts]
        return min(found)

    def _beside(
        self, tile: Mapping[str, int], spatial: Mapping[str, int]
    ) -> frozenset[tuple[int, ...]]:
        """How far apart the windows of neighbours in a row are: a step of the innermost loop, or,
        where that starts over, a step of the other loop less all of its own.
        """
        found = set[tuple[int, ...]]()
        for inner, outer in permutations(self.dims):
            over = {outer: tile[outer], inner: -tile[inner] * (spatial[inner] - 1)}
            found |= {self.offset({inner: tile[inner]}), self.offset(over)}
        return frozenset(found | {tuple(-each for each in offset) for offset in found})

    def _shifts(
        self, tile: Mapping[str, int], spatial: Mapping[str, int], rounds: Mapping[str, int]
    ) -> Iterator[tuple[int, ...]]:
        """How far loops outside the units may move all windows, one of each two directions, as long
        as some unit may then be where another one was.
        """
        one, other = self.dims
        steps = [self.offset({dim: tile[dim]}) for dim in self.dims]
        leaps = [self.offset({dim: tile[dim] * spatial[dim]}) for dim in self.dims]
        span = self.offset({dim: tile[dim] * (spatial[dim] - 1) for dim in self.dims})
        rank = next(n for n, step in enumerate(steps[1]) if step)
        for k in range(rounds[one]):
            start = k * leaps[0][rank]
            if start > span[rank] + (rounds[other] - 1) * leaps[1][rank]:
                return
            fewest = max(-((span[rank] + start) // leaps[1][rank]), 1 - rounds[other])
            most = min((span[rank] - start) // leaps[1][rank], rounds[other] - 1)
            for m in range(fewest if k else 1, most + 1):
                shift = tuple(k * a + m * b for a, b in zip(*leaps, strict=True))
                if any(shift) and all(abs(s) <= most for s, most in zip(shift, span, strict=True)):
                    yield shift


def _unserved(holders: Mapping[tuple[int, ...], int], shift: tuple[int, ...]) -> Fraction:
    """The least share of the words sent, of those of units that neighbours do not serve, where all
    windows move by `shift`. Only units that come to where others were may be served; those of them
    are not that share their words most.
    """
    moved = {
        offset: tuple(o + s for o, s in zip(offset, shift, strict=True)) in holders
        for offset in holders
    }
    alone = [holders[offset] for offset, served in moved.items() if not served]
    groups, units = len(alone), sum(alone)
    for size in sorted((holders[offset] for offset, served in moved.items() if served))[::-1]:
        if groups and groups * size <= units:
            break
        groups, units = groups + 1, units + size
    return Fraction(groups, units)


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
