"""The staircase of a group by whichever search is less work; both are exact."""

from __future__ import annotations

from collections.abc import Sequence

from solver_mapper.bounds.fusion.grid import by_grids
from solver_mapper.bounds.fusion.group import Fuser, Plans
from solver_mapper.bounds.fusion.groups import Group
from solver_mapper.bounds.fusion.trunk import trunks_of


def group_plans(
    fuser: Fuser, group: Group, held: frozenset[str], forced: Sequence[frozenset[str]] = ()
) -> Plans:
    """All trunks and choices of `group`. Tensors in `held` are on chip as a whole; `forced`: see
    `trunks_of`.

    Grids know neither forced loops nor blocks.
    """
    blocked = any(block for i in group.members for block in fuser.net.blocks[i])
    fast = None if forced or blocked else by_grids(fuser.net, group, held, fuser.leaves.uneven)
    return fast or fuser.group(group, held, trunks_of(fuser.net, group, forced))
