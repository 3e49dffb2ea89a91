"""Energy of a level: each access reads or writes a whole block, and a fully used cluster shares one
access.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import NamedTuple

from solver_mapper.core.architecture import Architecture, Buffer
from solver_mapper.cost.timeloop.accesses import Accesses


class Prices(NamedTuple):
    """What one level charges. `read`, `fill`, `update` (a block each) and `address` are in units of
    `1/unit` pJ.

    Whole numbers over one denominator keep sums exact and quick.
    """

    read: int
    fill: int
    update: int
    address: int
    unit: int
    block: int
    clusters: int

    def energy(self, accesses: Accesses, addresses: int, used: int) -> int:
        """Energy of one tensor over all `used` instances, in units of `1/unit` pJ.

        Vector accesses are rounded up once for each kind, not per tile. A cluster pays once for
        what all its instances do.
        """
        block = self.block
        each = (
            -(-accesses.reads // block) * self.read
            - (-accesses.fills // block) * self.fill
            - (-accesses.updates // block) * self.update
            + addresses * self.address
        )
        return each * min(used, self.clusters)


def prices(buffer: Buffer) -> Prices:
    """The energies of `buffer`."""
    amounts = (
        buffer.energy.read,
        buffer.energy.fill,
        buffer.energy.update,
        buffer.address_price,
    )
    unit = lcm(*(Fraction(amount).denominator for amount in amounts))
    read, fill, update, address = (int(amount * unit) for amount in amounts)
    return Prices(
        read,
        fill,
        update,
        address,
        unit,
        buffer.block_size,
        buffer.clusters,
    )


def leakage(architecture: Architecture) -> Fraction:
    """What all instances leak in a cycle, in pJ."""
    units = architecture.arithmetic
    levels = (each.energy.leak * each.instances for each in architecture.levels)
    return units.leak * units.instances + sum(levels, Fraction(0))


def energy_unit(architecture: Architecture, operations: int) -> int:
    """The energy of each mapping is a whole multiple of one over this, in pJ, apart from what
    networks charge: levels are accessed so many times, and all instances leak for so many cycles.
    """
    fixed = Fraction(operations * architecture.arithmetic.energy)
    units = (prices(buffer).unit for buffer in architecture.levels)
    return lcm(leakage(architecture).denominator, fixed.denominator, *units)


def address_generations(accesses: Accesses, read_write: bool) -> int:
    """Addresses per cluster: a partial sum's read comes at the address of its update."""
    return accesses.fills + (accesses.updates if read_write else accesses.reads)
