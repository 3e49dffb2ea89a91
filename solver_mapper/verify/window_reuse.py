"""Which words the innermost loops outside a tile may spare.

They are spared by loops that do not move the tile, windows that slide, and neighbours that pass
words on.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import NamedTuple

from solver_mapper.verify.box_facts import BoxFacts
from solver_mapper.verify.loop_tables import Access, Rank, members


class Slide(NamedTuple):
    """The innermost temporal loop outside a tile moves its window: over `dim`, at `level`, at most
    `bound` times in a row.
    """

    dim: int
    level: int
    bound: int


class Reuse(BoxFacts):
    """What may be reused in some mapping of a box.

    Reuse that depends on fine conditions is granted while these can hold.
    """

    def _run(self, access: Access, inner: int) -> tuple[int, int, list[Slide]]:
        """Iterations of the loops innermost of all outside a tile that do not move it, at most; the
        level where they end; and the loops that may slide a window instead."""
        space, spared, end, slides, empty = self.space, 1, inner, [], True
        for level in range(inner - 1, -1, -1):
            slot, mask = space.temporal[level], self.innermost[level]
            if empty and not access.plain:
                slides += [
                    Slide(dim, level, self._turns(access, dim, level))
                    for dim in members(mask)
                    if dim in access.own
                ]
            if not mask & (1 << space.dims | sum(1 << dim for dim in access.free)):
                break
            empty = empty and bool(mask >> space.dims)
            end, spared = level, spared * prod(self.bounds[dim][slot][-1] for dim in access.free)
            if any(self.bounds[dim][slot][0] > 1 for dim in access.own):
                break
        return spared, end, slides

    def _turns(self, access: Access, dim: int, level: int) -> int:
        """Iterations in a row by which a window slides along `dim`: loops of outer levels go on if
        no other loop moves the tile.
        """
        turns = self.bounds[dim][self.space.temporal[level]][-1]
        while level > 0 and all(
            self.bounds[each][self.space.temporal[level]][0] == 1
            for each in access.own
            if each != dim
        ):
            level -= 1
            turns *= self.bounds[dim][self.space.temporal[level]][-1]
        return turns

    def _tile(self, access: Access, inner: int, slide: Slide | None) -> tuple[int, int]:
        """Least words fetched for so many points, both apart from the free dimensions. Along each
        rank the ratio of words to points is monotone in each extent, so the least is at a corner of
        the box."""
        words = points = 1
        counted: set[int] = set()
        for rank in access.ranks:
            own = [dim for dim in rank.dims if dim in access.own and dim not in counted]
            counted |= set(own)
            if rank.spans == (1,) and own and (slide is None or slide.dim not in own):
                continue
            corners = product(
                *(
                    {self.low[dim][self.space.tile[inner]], self.high[dim][self.space.tile[inner]]}
                    for dim in own
                )
            )
            each, per = min(
                (
                    self._corner(rank, inner, dict(zip(own, corner, strict=True)), slide)
                    for corner in corners
                ),
                key=lambda pair: Fraction(*pair),
            )
            words, points = words * each, points * per
        return words, points

    def _corner(
        self, rank: Rank, inner: int, extents: dict[int, int], slide: Slide | None
    ) -> tuple[int, int]:
        position = self.space.tile[inner]
        words = 1 + sum(
            span * (extents.get(dim, self.low[dim][position]) - 1)
            for dim, span in zip(rank.dims, rank.spans, strict=True)
        )
        points = prod(extents.values())
        if slide is None or slide.dim not in extents:
            return words, points
        slots = [slot for slot in self.space.spatial[slide.level : inner] if slot is not None]
        step = extents[slide.dim] * prod(self.bounds[slide.dim][slot][0] for slot in slots)
        new = min(words, step * abs(rank.shifts[rank.dims.index(slide.dim)]))
        return new * (slide.bound - 1) + words, points * slide.bound

    def _moving(self, rank: Rank, inner: int) -> list[int]:
        """Dimensions of a rank with temporal loops outside the tiles of a level."""
        return [
            dim
            for dim in rank.dims
            if any(self.bounds[dim][self.space.temporal[level]][-1] > 1 for level in range(inner))
        ]

    def _returns(self, access: Access, inner: int, slide: Slide | None) -> bool:
        """Whether a loop over one dimension of a rank, while others of it start over, may move the
        tile as the innermost loop does.
        """
        for rank in access.ranks:
            if len(self._moving(rank, inner)) < 2 or (
                slide is not None and slide.dim not in rank.dims
            ):
                continue
            steps = self._steps(rank, inner, slide)
            if steps is None:
                if self._may_return(rank, inner):
                    return True
            else:
                wanted = 0 if slide is None else steps[0]
                if wanted in steps[1:]:
                    return True
        return False

    def _may_return(self, rank: Rank, inner: int) -> bool:
        """The same where bounds are open: by sizes alone."""
        position, sizes = self.space.tile[inner], self.space.sizes
        if min(rank.shifts) < 0 < max(rank.shifts):
            return True
        move = {dim: abs(shift) for dim, shift in zip(rank.dims, rank.shifts, strict=True)}
        return any(
            move[one] * self.low[one][position] <= move[two] * sizes[two]
            and move[two] * self.low[two][position] <= move[one] * (sizes[one] // 2)
            for one in self._moving(rank, inner)
            for two in self._moving(rank, inner)
            if one != two
        )

    def _steps(self, rank: Rank, inner: int, slide: Slide | None) -> list[int] | None:
        """By how much steps can move the tile along a rank, the sliding loop's own first; None
        while bounds are open.
        """
        loops: list[tuple[int, int, int, int]] = []  # level, dimension, bound, move
        for dim, shift in zip(rank.dims, rank.shifts, strict=True):
            for level in range(inner):
                slot = self.space.temporal[level]
                if (
                    len(self.bounds[dim][slot]) > 1
                    or self.low[dim][slot + 1] != self.high[dim][slot + 1]
                ):
                    return None
                if self.bounds[dim][slot] != (1,):
                    loops.append(
                        (level, dim, self.bounds[dim][slot][0], shift * self.low[dim][slot + 1])
                    )
        first = [
            each for each in loops if slide is not None and each[:2] == (slide.level, slide.dim)
        ]
        steps, back = [each[3] for each in first], sum((each[2] - 1) * each[3] for each in first)
        others = [each for each in loops if each not in first]
        for mover in (None, *others):
            sure = [each for each in others if mover is not None and each[0] > mover[0]]
            open_ = [
                each
                for each in others
                if each != mover and each not in sure and (mover is None or each[0] == mover[0])
            ]
            for count in range(len(open_) + 1):
                for inside in combinations(open_, count):
                    if (
                        first
                        and mover is not None
                        and not sure
                        and not inside
                        and mover[1] == first[0][1]
                    ):
                        continue  # the same window slides on: `_turns`
                    if mover is None and not first and not inside:
                        continue  # nothing of this rank moves
                    taken = sum((each[2] - 1) * each[3] for each in (*sure, *inside)) + back
                    steps.append((0 if mover is None else mover[3]) - taken)
        return steps

    def _linked(self, access: Access, inner: int, slide: Slide | None) -> bool:
        """Whether an instance may take words over from a neighbour: some step moves the tile by the
        distance of two neighbours.
        """
        return any(
            self._rank_linked(access, number, inner, slide)
            for number, rank in enumerate(access.ranks)
            if len(rank.dims) > 1 and (slide is None or slide.dim in rank.dims)
        )

    def _rank_linked(self, access: Access, number: int, inner: int, slide: Slide | None) -> bool:
        rank = access.ranks[number]
        slot, position = self.space.spatial[inner - 1], self.space.tile[inner]
        assert slot is not None
        if all(self.bounds[dim][slot][-1] == 1 for dim in rank.dims):
            return False
        if slide is None:
            return True
        shift = abs(rank.shifts[rank.dims.index(slide.dim)])
        words = 1 + sum(
            span * (self.low[dim][position] - 1)
            for dim, span in zip(rank.dims, rank.spans, strict=True)
        )
        overlap = shift * self.high[slide.dim][self.space.union[slide.level]] < words
        steps, apart = self._steps(rank, inner, slide), self._apart(access, inner, slot)
        if steps is not None and apart is not None:
            slides = any(
                all(
                    abs(each[at]) == (abs(steps[0]) if at == number else 0)
                    for at in range(len(each))
                    if at == number or slide.dim not in access.ranks[at].dims
                )
                for each in apart
            )
            return slides or (
                not overlap
                and any(abs(step) == abs(each[number]) for step in steps[1:] for each in apart)
            )
        # Slides alone can be passed on where tiles overlap: other dimensions must reach as far as
        # the window moves.
        return not overlap or any(
            abs(other) * (self.high[dim][self.space.union[inner - 1]] - self.low[dim][position])
            >= shift * self.low[slide.dim][position]
            for dim, other in zip(rank.dims, rank.shifts, strict=True)
            if dim != slide.dim
        )

    def _apart(self, access: Access, inner: int, slot: int) -> frozenset[tuple[int, ...]] | None:
        """How far tiles of neighbours can differ along each rank; None while bounds are open."""
        position, loops = self.space.tile[inner], []
        for dim in range(self.space.dims):
            if len(self.bounds[dim][slot]) > 1 or (
                self.bounds[dim][slot] != (1,)
                and self.low[dim][position] != self.high[dim][position]
            ):
                return None
            moves = tuple(
                sum(
                    shift for each, shift in zip(rank.dims, rank.shifts, strict=True) if each == dim
                )
                * self.low[dim][position]
                for rank in access.ranks
            )
            loops.append((self.bounds[dim][slot][0], moves))
        return self.space.neighbours(
            inner - 1, tuple(sorted(each for each in loops if each[0] > 1))
        )

    def _sharing(self, access: Access, outer: int, inner: int) -> tuple[int, int]:
        """Besides multicasts to free dimensions: so `many` instances share so `few` different
        tiles, where windows of several spatial loops meet."""
        many = few = 1
        for level in range(outer, inner):
            slot, position = self.space.spatial[level], self.space.tile[level + 1]
            if slot is None or self.space.off("no_multicast", level, access.name):
                continue
            for rank in access.ranks:
                bounds = [self.bounds[dim][slot][-1] for dim in rank.dims]
                if sum(bound > 1 for bound in bounds) < 2:
                    continue
                tiles = max(bounds)
                if level == inner - 1:
                    tiles = 1 + sum(bounds) - len(bounds)  # |A + B| >= |A| + |B| - 1
                    if all(
                        len(self.bounds[dim][slot]) == 1
                        and self.low[dim][position] == self.high[dim][position]
                        for dim in rank.dims
                    ):
                        sums = {0}
                        for dim, shift, bound in zip(rank.dims, rank.shifts, bounds, strict=True):
                            sums = {
                                each + shift * self.low[dim][position] * index
                                for each in sums
                                for index in range(bound)
                            }
                        tiles = len(sums)
                many, few = many * prod(bounds), few * tiles
        return many, few

    def _group(self, access: Access, level: int) -> int:
        """Instances along a rank: of a row of neighbours that pass words on, one is served by the
        level.
        """
        slot = self.space.spatial[level]
        assert slot is not None
        return max(
            prod(self.bounds[dim][slot][-1] for dim in rank.dims)
            for rank in access.ranks
            if len(rank.dims) > 1
        )
