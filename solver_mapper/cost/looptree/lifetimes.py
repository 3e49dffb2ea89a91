"""How long each tensor stays in each memory, Einsum by Einsum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath
from solver_mapper.cost.looptree.occupancy import Reservation


@dataclass(frozen=True)
class Lifetime:
    """What one instance of `component` holds of `tensor` while each Einsum runs, in the order of
    execution: `bits`, 0 where the tensor is not there. `used` says which Einsums read or write the
    tensor; during the others it is kept for later.

    `size` is that of one instance in bits, None for a memory without limit.
    """

    component: str
    tensor: str
    size: Fraction | None
    bits: tuple[Fraction, ...]
    used: tuple[bool, ...]

    @property
    def most(self) -> Fraction:
        """The most bits at any time."""
        return max(self.bits)

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the Einsums during which the tensor is there."""
        return tuple(position for position, bits in enumerate(self.bits) if bits)


def lifetimes(
    branches: Sequence[EinsumPath], during: Sequence[tuple[Reservation, ...]]
) -> tuple[Lifetime, ...]:
    """The lifetimes of all tensors: memories outermost first, in each memory those that come first.

    Args: `during`, what is reserved while each Einsum runs, see `occupancy.alive`.
    """
    units = {unit.name: unit for branch in branches for unit in branch.chain.memories}
    bits: dict[tuple[str, str], list[Fraction]] = {}
    for position, reserved in enumerate(during):
        for each in reserved:
            row = bits.setdefault((each.component, each.tensor), [Fraction(0)] * len(branches))
            row[position] += each.bits
    found = [
        Lifetime(
            component,
            tensor,
            units[component].size,
            tuple(row),
            tuple(tensor in branch.einsum.by_tensor for branch in branches),
        )
        for (component, tensor), row in bits.items()
        if any(row)
    ]
    order = list(units)
    return tuple(sorted(found, key=lambda each: (order.index(each.component), each.positions[0])))
