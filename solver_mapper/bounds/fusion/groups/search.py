"""The bound curve of a group by whichever search is less work; both are exact."""

from __future__ import annotations

from solver_mapper.bounds.fusion.groups.candidates import FusionGroup
from solver_mapper.bounds.fusion.groups.grid import by_grids
from solver_mapper.bounds.fusion.groups.group import Fuser, Plans
from solver_mapper.bounds.fusion.groups.trunk import trunks_of
from solver_mapper.bounds.fusion.special import NONE_SPECIAL, SpecialRanks


def group_plans(
    fuser: Fuser, group: FusionGroup, held: frozenset[str], special: SpecialRanks = NONE_SPECIAL
) -> Plans:
    """All trunks and choices of `group`. Tensors in `held` are on chip as a whole; `special`: see
    `trunks_of`.

    Grids know neither special ranks, nor blocks, nor ranks that must stand above others.
    """
    blocked = any(block for i in group.members for block in fuser.net.blocks[i])
    ordered = any(rank.above for rank in group.ranks)
    fast = (
        None
        if special.any or ordered or blocked
        else by_grids(fuser.net, group, held, fuser.leaves.uneven)
    )
    return fast or fuser.group(group, held, trunks_of(fuser.net, group, special))
