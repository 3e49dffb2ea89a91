"""What the networks between levels charge for words, by the loops of the mesh that they serve.

A word that enters pays by the cost model's own rules (`cost/timeloop/network_energy.py`), of which
hops, and routers with them, depend on the order of the mesh's loops. What is charged for words that
neighbours pass on is part of what these spare (`sliding.py`), or settled as soon as it is clear how
often compute units pass on words that stay (`linking` in `moves/network_charges.py`). Left out are
old partial sums on their way down where words take hops: routers charge for no fewer words than
enter then, nor than hops.

Where the next level inwards does not hold a tensor, the model counts hops of the words that it
would take if it did (`bypass` in `cost/timeloop/accesses.py`), which may be fewer than those that
enter. Of `w` words that enter and `h` hops of these others together, routers charge for `w` and for
`w` times the whole part of `h / w`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from solver_mapper.core.architecture import Architecture
from solver_mapper.cost.timeloop.movement import Flow, collect
from solver_mapper.cost.timeloop.multicast_groups import (
    MulticastGroup,
    even_groups,
    multicast_groups,
)
from solver_mapper.cost.timeloop.network_energy import (
    UP,
    NetworkBelow,
    network_use,
    networks_below,
)
from solver_mapper.cost.timeloop.projection import Projection, vector_of
from solver_mapper.cost.timeloop.spatial_elements import Grid, lay_out, links
from solver_mapper.cost.timeloop.tiles import PlacedLoop
from solver_mapper.solve.outward.inner import Flags, Floats
from solver_mapper.solve.outward.spreads import Spreads, orders

MOST_HOPS, TINY = 1e12, 1e-13
"""Below so many hops, what is nearer than that to a whole number of them for each word is one."""
MANY = 2_000
"""Elements of a mesh that are looked at one by one, at most."""


class Price(NamedTuple):
    """What a tensor pays networks in pJ, at least: for each `word` that enters them; and `asked`
    for each word that would enter them if no elements took any from those beside them. `certain`:
    whether that is so exactly, but for old partial sums that come back.
    """

    word: float
    asked: float = 0.0
    certain: bool = False

    def at_most(self, other: Price) -> bool:
        """Whether this is no more than another price, however many words enter."""
        asked = self.word + self.asked, other.word + other.asked
        return self.asked <= other.asked and asked[0] <= asked[1]


class Arrangement(NamedTuple):
    """Loops of a mesh, outer to inner, as dimension and axis.

    prices: what each tensor pays, if the next level inwards takes all its words from the networks
            there; or else, as `word`, the hops that a word takes.
    """

    order: tuple[tuple[int, int], ...]
    prices: tuple[Price, ...]

    def at_most(self, other: Arrangement) -> bool:
        """Whether no tensor has a higher price than with another one."""
        pairs = zip(self.prices, other.prices, strict=True)
        return all(mine.at_most(theirs) for mine, theirs in pairs)


class Passing(NamedTuple):
    """What networks together charge in pJ for a word, by the model of Timeloop's that has hops: to
    enter, with the router that it comes to first; for a hop; and for each further router.
    """

    entry: float
    hop: float
    router: float

    def of_hops(self, entered: Floats, hops: Floats) -> Floats:
        """What they charge for at least so many `hops` of all words together, of which at most so
        many `entered`, beyond what these paid.
        """
        return np.asarray(self.hop * hops + self.router * np.maximum(hops - entered, 0.0))

    def onwards(self, entered: Floats, hops: Floats, exact: Flags | bool) -> Floats:
        """What they charge for `hops` of all words together, beyond what those that `entered` paid;
        at least, unless these are known to be `exact`.
        """
        times = np.divide(hops, entered, out=np.zeros_like(hops), where=entered > 0)
        whole = entered * np.floor(times * (1 + TINY))
        known = exact & (hops < MOST_HOPS)
        whole_hops = np.asarray(self.hop * hops + self.router * whole)
        return np.where(known, whole_hops, self.of_hops(entered, hops))


class Carried(NamedTuple):
    """A tensor, and the window ranks of its projection, by number."""

    projection: Projection
    windows: frozenset[int]

    def reach(self, tile: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
        """In words along each rank, of what temporal loops outside a tile move windows by
        multiples; 0 if they do not.
        """
        return tuple(
            gcd(*(step * tile[dim] for dim, step in rank if tile[dim] < sizes[dim]))
            if number in self.windows
            else 0
            for number, rank in enumerate(self.projection.ranks)
        )


class Networks:
    """The networks of one architecture, for these tensors.

    Args:
        sizes: of all dimensions.
        rooms: how many instances of each level loops can use.
        spreads: the loops of meshes, by number.
    """

    def __init__(
        self,
        architecture: Architecture,
        tensors: Sequence[Carried],
        sizes: Sequence[int],
        rooms: Sequence[int],
        spreads: Spreads,
    ):
        self._tensors, self._sizes, self._rooms = tensors, sizes, rooms
        self._spreads = spreads
        self._below = [
            [each for each in below if not each.free] for below in networks_below(architecture)
        ]
        self._fanouts = [architecture.fanout(level) for level in range(len(self._below))]
        self.charge = any(self._below)
        self.arrangements = cache(self._arrangements)
        self._price = cache(self._price_of)

    def charge_below(self, level: int) -> bool:
        """Whether networks below a level charge for anything."""
        return bool(self._below[level])

    def returns(self, level: int) -> bool:
        """Whether old partial sums come down networks below a level: more words enter these than
        are counted, so that the whole part of the hops for each may be smaller.
        """
        return any(map(_returns, self._below[level]))

    def returning(self, level: int) -> float:
        """What these networks charge in pJ for an old partial sum that comes down without hops."""
        found = (each.network for each in self._below[level] if _returns(each))
        return float(sum(each.ingress_energy + each.router_energy for each in found))

    def entries(self, outer: int, inner: int) -> float:
        """The least in pJ that a word pays on its way from the level `outer` to `inner`, to be
        multiplied by the words that the former sends: each of these enters every network in between
        at least once.
        """
        return sum(self.passing(level).entry for level in range(outer, inner))

    def passing(self, level: int) -> Passing:
        """What networks below a level charge, but for what depends on the number of receivers."""
        below = [each for each in self._below[level] if each.network.kind == "Legacy"]
        router = float(sum(each.network.router_energy for each in below))
        return Passing(
            float(sum(each.network.ingress_energy for each in below)) + router,
            float(sum(each.per_hop for each in below)),
            router,
        )

    def passed_on(self, level: int) -> float:
        """What networks below a level charge in pJ for a word that one of the elements there gets
        from another one beside it (`_legacy_energy` in `cost/timeloop/network_energy.py`).
        """
        below = (each for each in self._below[level] if each.network.kind == "Legacy")
        return float(sum(each.per_hop + 2 * each.network.router_energy for each in below))

    def _arrangements(
        self, level: int, mesh: int, direct: int, once: int, tile: tuple[int, ...]
    ) -> tuple[Arrangement, ...]:
        """The orders of the loops of a mesh below `level` of which none is better than another one
        for all tensors.

        Args:
            mesh: the number of its loops.
            direct: one bit for each tensor of which the next level inwards takes all its words from
                the network; `once`: of which no old partial sums come back.
            tile: the iterations along each dimension of windows of all elements together.
        """
        units = level == len(self._below) - 1
        found: dict[tuple[Price, ...], Arrangement] = {}
        for loops in orders(self._spreads[mesh], first_known=units):
            placed = tuple(
                PlacedLoop(
                    loop.dim,
                    loop.bound,
                    loop.bound,
                    max(tile[loop.dim] // loop.bound, 1),
                    "XY"[loop.axis],
                )
                for loop in loops
            )
            prices = tuple(
                self._price(
                    level,
                    number,
                    _seen(placed, tensor),
                    tensor.reach(tile, self._sizes),
                    bool(direct >> number & 1),
                    bool(once >> number & 1),
                )
                for number, tensor in enumerate(self._tensors)
            )
            order = tuple((loop.dim, loop.axis) for loop in loops)
            found.setdefault(prices, Arrangement(order, prices))
        return tuple(each for each in found.values() if not _beaten(each, found.values()))

    def _price_of(
        self,
        level: int,
        number: int,
        loops: tuple[PlacedLoop, ...],
        reach: tuple[int, ...],
        direct: bool,
        once: bool,
    ) -> Price:
        """`Arrangement.prices` of one tensor; less, if there are too many elements to look at."""
        below, tensor = self._below[level], self._tensors[number]
        passing = self.passing(level)
        # What other networks charge for multicast and adders is left out in part.
        legacy = all(each.network.kind == "Legacy" for each in below)
        entries_alone = legacy and not (passing.hop or passing.router)
        if prod(loop.bound for loop in loops) > MANY:
            return Price(passing.entry if direct else 0.0, certain=entries_alone)
        grid = Grid(*self._fanouts[level])
        alone = [MulticastGroup(1, 1, 0)]
        served = even_groups(loops, tensor.projection, True, grid) if loops else alone
        stays = level == len(self._below) - 1
        helped = list(_helped(loops, tensor, grid, reach, stays=stays))
        every = [served, *helped]
        if not direct:
            hops = [_hops(groups) for groups in every if groups]
            known = entries_alone or not (tensor.windows and any(hops))
            return Price(min(hops), certain=legacy and known)
        if len(every) > 1:
            price = _of_windows(passing, served, helped, all_new=stays)
            return price._replace(certain=entries_alone)
        charged = (self._charged(each, level, tensor.projection, served, once) for each in below)
        # With one hop a word, routers charge as much for old partial sums as for hops.
        back = tensor.projection.read_write and not once and any(map(_returns, below))
        return Price(sum(charged), certain=legacy and (not back or _hops(served) < 1))

    def _charged(
        self,
        below: NetworkBelow,
        level: int,
        projection: Projection,
        groups: list[MulticastGroup],
        once: bool,
    ) -> float:
        """What a network charges on average for a word of those that go to these groups; at least,
        if old partial sums come back. A tree of adders charges for those of one instance alone.
        """
        traffic = collect([Flow(1, 1, groups, 0)], 1)
        words = sum(group.scatter for group in groups)
        if projection.read_write and _returns(below) and not once:
            hops = _hops(groups)
            router, ingress = below.network.router_energy, below.network.ingress_energy
            return float(ingress) + hops * float(below.per_hop) + max(1.0, hops) * float(router)
        energy = network_use(below, traffic, projection.read_write, words, 1).energy
        each = float(energy) / words
        return each / self._rooms[level] if below.network.kind == "ReductionTree" else each


def _hops(groups: list[MulticastGroup]) -> float:
    """How many hops a word takes on average that goes to one of these groups."""
    return sum(group.double_hops for group in groups) / 2 / _words(groups)


def _of_windows(
    passing: Passing,
    served: list[MulticastGroup],
    helped: list[list[MulticastGroup]],
    *,
    all_new: bool,
) -> Price:
    """What a tensor with windows pays, if steps are `served` or `helped` in these ways. Each word
    less spares at most what it does in the way in which that is the most; if not all words of a
    tile are `all_new` at each step, also as much as any other.

    Routers count the whole hops of an average word of those for groups of one size, over all steps;
    networks that charge by the number of receivers count words for the largest groups alone.
    """
    whole: dict[tuple[int, int], int] = {}
    for group in (group for groups in (served, *helped) for group in groups):
        hops = group.double_hops // (2 * group.scatter)
        whole[group[:2]] = min(hops, whole.get(group[:2], hops))

    def charged(groups: list[MulticastGroup]) -> float:
        return sum(
            (passing.entry + passing.router * whole[group[:2]]) * group.scatter
            + passing.hop * group.double_hops / 2
            for group in groups
        )

    words = _words(served)
    each = [(words - _words(groups), charged(groups)) for groups in helped]
    asked = min([charged(served), *(energy for less, energy in each if not less)])
    spared = [0.0 if all_new else asked / words]
    spared += [(asked - energy) / less for less, energy in each if less]
    return Price(max(spared), asked / words - max(spared))


def _words(groups: list[MulticastGroup]) -> int:
    """How many words go to these groups."""
    return sum(group.scatter for group in groups)


def _returns(below: NetworkBelow) -> bool:
    """See `arriving` in `cost/timeloop/network_energy.py`."""
    return below.network.kind == "Legacy" and UP in below.ways and not below.reduces


def _seen(loops: tuple[PlacedLoop, ...], tensor: Carried) -> tuple[PlacedLoop, ...]:
    """The loops as far as they matter for a tensor: of one without windows, whether it is fixed
    along them.
    """
    if tensor.windows:
        return loops
    codes = tensor.projection.codes
    fixed = next((dim for dim, code in enumerate(codes) if code), 0)
    idle = next((dim for dim, code in enumerate(codes) if not code), 0)
    found, stride = [], 1
    for loop in reversed(loops):
        moves = bool(codes[loop.dim])
        found.append(loop._replace(dim=fixed if moves else idle, stride=stride))
        stride *= loop.bound if moves else 1
    return tuple(reversed(found))


def _helped(
    loops: tuple[PlacedLoop, ...],
    tensor: Carried,
    grid: Grid,
    reach: tuple[int, ...],
    *,
    stays: bool,
) -> Iterator[list[MulticastGroup]]:
    """Whom the level serves when neighbours help, for each shift between these by which tiles may
    come, as windows slide; or if tiles stay, where these are asked for anew.
    """
    if not tensor.windows or not loops:
        return
    elements = lay_out(loops, tensor.projection.codes)
    for code, near in links(elements, elements, grid).items():
        shift = vector_of(code, len(reach))
        possible = all(
            step % unit == 0 if unit else not step for step, unit in zip(shift, reach, strict=True)
        )
        rest = sorted(set(range(len(elements.offsets))) - set(near))
        if possible and (any(shift) or stays):
            yield multicast_groups(elements, rest, True, grid)


def _beaten(one: Arrangement, others: Iterable[Arrangement]) -> bool:
    """Whether another order is better for some tensors, and worse for none."""
    return any(each.at_most(one) and not one.at_most(each) for each in others)
