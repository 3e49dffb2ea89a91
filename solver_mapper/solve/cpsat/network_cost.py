"""What networks charge for the words that enter them, as far as it depends on nothing but how many
there are.

Wherever a word goes, it pays its entry and the router that it comes to first
(`cost/timeloop/network_energy.py`). Hops, and the routers that they lead to, are left out, and so
is what trees of adders and priced multicast cost: a lower bound, and exact where plain tensors pay
entries only.
"""

from __future__ import annotations

from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.core.architecture import Architecture
from solver_mapper.cost.timeloop.network_energy import UP, NetworkLinks, all_network_links
from solver_mapper.solve.cpsat.counts import Counts
from solver_mapper.solve.cpsat.linear_form import LinearForm


class NetworkEntries:
    """The price of a word that enters, network by network. `complete` says that nothing else costs
    anything.
    """

    def __init__(self, architecture: Architecture):
        below = all_network_links(architecture)
        self._below = [
            [each for each in networks if each.network.kind == "Legacy" and _entry(each)]
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
            for network_links in self._below[level]:
                found += self._words(
                    counts, network_links, level, child, on, level == parent
                ) * _entry(network_links)
        return found

    def _words(
        self,
        counts: Counts,
        network_links: NetworkLinks,
        level: int,
        child: int,
        on: cp_model.IntVar | None,
        held: bool,
    ) -> LinearForm:
        """Words that enter. Where the level above cannot add, partial sums also travel down, all
        but the first of each held word.
        """
        sent = counts.sent(level, child, on)
        if (
            not counts.tensor.read_write
            or not counts.plain
            or UP not in network_links.ways
            or network_links.reduces
        ):
            return sent
        return sent + counts.again(level, on, sent) if held else sent * 2


def _entry(network_links: NetworkLinks) -> Fraction:
    return network_links.network.ingress_energy + network_links.network.router_energy


def beyond_entries(architecture: Architecture) -> bool:
    """Whether a network charges for more than entries."""
    return any(_beyond(each) for networks in all_network_links(architecture) for each in networks)


def _beyond(network_links: NetworkLinks) -> bool:
    network = network_links.network
    if network.kind == "Legacy":
        return bool(network_links.per_hop or network.router_energy)
    return bool(network_links.per_hop or network.adder_energy or network.multicast_energies)
