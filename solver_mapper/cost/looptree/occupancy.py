"""What lives where while each Einsum runs, and which reservations make the peak."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from solver_mapper.cost.looptree.counting import profile
from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath, StorageStep, shared_loops
from solver_mapper.cost.looptree.mapping.mapping_tree import Holder
from solver_mapper.deadline import check_time


@dataclass(frozen=True)
class Reservation:
    """`bits` of one instance of `component` that a node keeps for `tensor` while `einsum` runs,
    below `loops` loops.
    """

    component: str
    tensor: str
    einsum: str
    values: int
    bits: Fraction
    loops: int
    backing: bool
    node: Holder

    def __str__(self) -> str:
        return f"{self.tensor} ({self.einsum}): {self.values} values, {float(self.bits):g} bits"


@dataclass(frozen=True)
class Occupancy:
    """The most bits that one instance of a finite memory holds, while `einsum` runs, and what they
    are.
    """

    component: str
    bits: Fraction
    size: Fraction
    einsum: str
    reservations: tuple[Reservation, ...]

    @property
    def fraction(self) -> Fraction:
        """Share of the size in use; above 1 if it does not fit. Of a memory without room, 1 if
        anything is held.
        """
        return self.bits / self.size if self.size else Fraction(int(self.bits > 0))

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "bits": float(self.bits),
            "fraction": float(self.fraction),
            "einsum": self.einsum,
            "reservations": [
                {
                    "tensor": each.tensor,
                    "einsum": each.einsum,
                    "values": each.values,
                    "bits": float(each.bits),
                }
                for each in self.reservations
            ],
        }


def reservations(branch: EinsumPath, instances: int = 1) -> tuple[Reservation, ...]:
    """What one Einsum reserves, tolls aside. Args: `instances`, how often the Einsum runs
    (persistent tiles all stay).
    """
    return tuple(_reservation(branch, hold, instances) for hold in branch.holds if not hold.toll)


def _reservation(branch: EinsumPath, hold: StorageStep, instances: int) -> Reservation:
    loops = branch.loops_above(branch.reservation_index(hold), hold.level)
    once = frozenset(loop.index for loop in loops)
    tile = {
        variable: max(profile(bound, (loop for loop in loops if loop.variable == variable), once))
        for variable, bound in branch.einsum.bounds.items()
    }
    values = hold.access.footprint(tile)
    bits = values * hold.unit.bits[hold.access.name]
    if hold.persistent:
        return Reservation(
            hold.unit.name,
            hold.access.name,
            branch.einsum.name,
            values,
            bits * instances,
            -1,
            hold.backing,
            hold.node,
        )
    return Reservation(
        hold.unit.name,
        hold.access.name,
        branch.einsum.name,
        values,
        bits,
        len(loops),
        hold.backing,
        hold.node,
    )


def alive(
    branches: Sequence[EinsumPath],
    instances: int = 1,
    unknown: Callable[[EinsumPath], Set[str]] | None = None,
) -> tuple[tuple[Reservation, ...], ...]:
    """What is reserved while each Einsum runs, in execution order.

    While Einsum x runs, a reservation of Einsum e is alive if e is x; if x and e share more loops
    than stand above it; or if it backs a tensor of several Einsums and x lies between the first and
    the last of them.

    Args: `unknown`, the variables of a branch whose tiles are not known; tensors that they index
    are left out.
    """
    owned = [reservations(branch, instances * branch.einsum.instances) for branch in branches]
    if unknown is not None:
        owned = [
            tuple(
                each
                for each in reserved
                if not branch.einsum.by_tensor[each.tensor].variables & unknown(branch)
            )
            for branch, reserved in zip(branches, owned, strict=True)
        ]
    spans = _spans(branches)
    after = [shared_loops(one, other) for one, other in pairwise(branches)]
    return tuple(
        _alive_at(position, _shared_with(position, after), owned, spans)
        for position in range(len(branches))
    )


def _shared_with(position: int, after: Sequence[int]) -> list[int]:
    """How many loops one Einsum shares with each, in execution order: no more than any two
    neighbours between them share. `after[k]`: shared by the Einsums k and k + 1.
    """
    earlier = list(accumulate(reversed(after[:position]), min))[::-1]
    return [*earlier, 0, *accumulate(after[position:], min)]


def _alive_at(
    position: int,
    shared: Sequence[int],
    owned: Sequence[tuple[Reservation, ...]],
    spans: Mapping[str, tuple[int, int]],
) -> tuple[Reservation, ...]:
    """Of each node and tensor the largest reservation that is alive while one Einsum runs.
    `shared`: how many loops it shares with each Einsum. Raises: TimeUp.
    """
    check_time()
    found: dict[tuple[str, int, str], Reservation] = {}
    for other, (common, reserved) in enumerate(zip(shared, owned, strict=True)):
        for each in reserved:
            first, last = spans[each.tensor]
            backs = each.backing and first < last and first <= position <= last
            if other == position or common > each.loops or backs:
                key = each.component, id(each.node), each.tensor
                if key not in found or found[key].bits < each.bits:
                    found[key] = each
    return tuple(found.values())


def peaks(
    branches: Sequence[EinsumPath], during: Sequence[tuple[Reservation, ...]]
) -> dict[str, Occupancy]:
    """The peak of every finite memory that is used, over all Einsums. `during`: see `alive`."""
    best: dict[str, Occupancy] = {}
    sizes = {unit.name: unit.size for branch in branches for unit in branch.chain.memories}
    for branch, reserved in zip(branches, during, strict=True):
        own = {unit.name: unit.size for unit in branch.chain.memories}
        _raise(best, branch.einsum.name, reserved, {**sizes, **own})
    return best


def _raise(
    best: dict[str, Occupancy],
    einsum: str,
    during: Sequence[Reservation],
    sizes: Mapping[str, Fraction | None],
) -> None:
    """Note what is alive during one Einsum wherever it is more than ever before."""
    for name, size in sizes.items():
        here = tuple(each for each in during if each.component == name)
        bits = sum((each.bits for each in here), Fraction(0))
        if here and size is not None and (name not in best or best[name].bits < bits):
            best[name] = Occupancy(name, bits, size, einsum, here)


def _spans(branches: Sequence[EinsumPath]) -> dict[str, tuple[int, int]]:
    """Positions of the first and the last Einsum that uses each tensor."""
    spans: dict[str, tuple[int, int]] = {}
    for position, branch in enumerate(branches):
        for tensor in branch.einsum.tensors:
            spans[tensor] = spans.get(tensor, (position, position))[0], position
    return spans
