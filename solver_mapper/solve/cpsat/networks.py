"""What networks charge for the words that enter them.

Wherever a word goes, it pays its entry and the router that it comes to first
(`cost/timeloop/network_energy.py`). What hops, routers further on, multicast and trees of adders
cost is left out: a lower bound, and exact where plain tensors pay entries only.
"""

from __future__ import annotations

from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.core.architecture import Architecture
from solver_mapper.cost.timeloop.network_energy import UP, NetworkBelow, networks_below
from solver_mapper.solve.cpsat.counts import Counts
from solver_mapper.solve.cpsat.linear_form import LinearForm


class NetworkEntries:
    """The price of a word that enters, network by network. `complete` says that nothing else costs
    anything.
    """

    def __init__(self, architecture: Architecture):
        below = networks_below(architecture)
        self._below = [
            [each for each in networks if each.network.kind != "ReductionTree" and not each.free]
            for networks in below
        ]
        self.complete = not beyond_entries(architecture)

    def energy(
        self, counts: Counts, parent: int, child: int, on: cp_model.IntVar | None
    ) -> LinearForm:
        """pJ for what `parent` and `child` exchange of a tensor where `on` holds, on the networks
        between them.

        A level in between passes on what the child takes. Where windows slide, only what leaves the
        parent is bounded.
        """
        found = LinearForm()
        for level in range(parent, child if counts.plain else parent + 1):
            for below in self._below[level]:
                returns = _returns(counts, below)
                entry = _entry(below)
                if entry:
                    words = self._words(counts, returns, level, child, on, level == parent)
                    found += words * entry
        return found

    def _words(
        self,
        counts: Counts,
        returns: bool,
        level: int,
        child: int,
        on: cp_model.IntVar | None,
        held: bool,
    ) -> LinearForm:
        """Words that enter. Of old partial sums that travel down, the first of each held word is
        none.
        """
        sent = counts.sent(level, child, on)
        if not returns:
            return sent
        return sent + counts.again(level, on, sent) if held else sent * 2


def _returns(counts: Counts, below: NetworkBelow) -> bool:
    """Whether old partial sums travel down: the level above cannot add."""
    return (
        below.network.kind == "Legacy"
        and counts.tensor.read_write
        and counts.plain
        and UP in below.ways
        and not below.reduces
    )


def _entry(below: NetworkBelow) -> Fraction:
    network = below.network
    return (
        network.ingress_energy + network.router_energy if network.kind == "Legacy" else Fraction(0)
    )


def beyond_entries(architecture: Architecture) -> bool:
    """Whether a network charges for more than entries."""
    return any(_beyond(each) for networks in networks_below(architecture) for each in networks)


def _beyond(below: NetworkBelow) -> bool:
    network = below.network
    if network.kind == "Legacy":
        return bool(below.per_hop or network.router_energy)
    return bool(below.per_hop or network.adder_energy or network.multicast_energies)
