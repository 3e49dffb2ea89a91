"""The least that a word pays on its way through a network, by how many groups of units receive
words and how many units each group has.

Timeloop lays the units below a level row by row on the grid, whatever loops they belong to. A word
enters at the middle of the left edge, goes along X to the last column of its receivers, and up and
down in each of their columns (`cost/timeloop/multicast_groups.py`). Two arguments bound the hops of
a group from below, wherever its units are:

- it spans its `receivers` units, which takes a hop from each to the next;
- it reaches the farthest of them. The sum over groups is least if the nearest units make up the
  first group, the next ones the second, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import floor

import numpy as np
from numpy.typing import NDArray

from solver_mapper.cost.timeloop.network_energy import NetworkBelow, multicast_energy

Price = Callable[[int, int], Fraction]
"""pJ of one word, at least, by the numbers of groups and of receivers in each."""


def multicast_price(links: NetworkBelow) -> Price | None:
    """What a word pays by the number of its receivers; None if that is nothing."""
    if links.network.kind != "SimpleMulticast":
        return None
    return lambda groups, receivers: multicast_energy(links.network, receivers)


def hop_price(links: NetworkBelow, fanout: tuple[int, int], *, routers: bool) -> Price | None:
    """What a word pays for hops, and if `routers` for those that they lead to besides the first;
    None if that is nothing. `fanout`: the units along X and Y.
    """
    if links.network.kind != "Legacy" or not (links.per_hop or links.network.router_energy):
        return None

    def price(groups: int, receivers: int) -> Fraction:
        hops = Fraction(least_double_hops(groups, receivers, *fanout), 2 * groups)
        passed = floor(hops) if routers else 0
        return hops * links.per_hop + passed * links.network.router_energy

    return price


def least_double_hops(groups: int, receivers: int, width: int, height: int) -> int:
    """Twice the hops, at least, of one word to each of `groups` groups of `receivers` units each,
    on a grid of `width` times `height` units. A single unit takes none.
    """
    units = groups * receivers
    if units == 1:
        return 0
    farthest = int(_distances(units, width, height)[receivers - 1 :: receivers].sum())
    return max(farthest, 2 * groups * (receivers - 1))


@lru_cache(maxsize=512)
def _distances(units: int, width: int, height: int) -> NDArray[np.int64]:
    """Twice the hops to each of the first `units` of a grid, the nearest first."""
    rows, columns = np.divmod(np.arange(units, dtype=np.int64), width)
    return np.sort(2 * columns + np.abs(height - 1 - 2 * rows))
