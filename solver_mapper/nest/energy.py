"""Energy of a level: whole blocks are paid for, and a fully used cluster shares one access."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.nest.accesses import Accesses
from solver_mapper.spec.architecture import Buffer


def blocks(words: int, block_size: int) -> int:
    """Vector accesses for so many words of one tensor and kind: rounded up once, not per tile."""
    return -(-words // block_size)


def paying_instances(buffer: Buffer, used: int) -> int:
    """Instances that pay for an access: `used` of them, but at most one per cluster."""
    return min(used, buffer.instances // buffer.cluster_size)


def access_energy(buffer: Buffer, accesses: Accesses, used: int) -> Fraction:
    """pJ for the accesses of one tensor, over all `used` instances."""
    price = buffer.energy
    size = buffer.block_size
    each = (
        blocks(accesses.reads, size) * price.read
        + blocks(accesses.fills, size) * price.fill
        + blocks(accesses.updates, size) * price.update
    )
    return each * paying_instances(buffer, used)


def address_generations(accesses: Accesses, read_write: bool) -> int:
    """Addresses per cluster: a partial sum's read comes at the address of its update."""
    return accesses.fills + (accesses.updates if read_write else accesses.reads)


def address_energy(buffer: Buffer, accesses: Accesses, read_write: bool, used: int) -> Fraction:
    """pJ for generating the addresses of one tensor, over all clusters."""
    return address_generations(accesses, read_write) * buffer.address_energy * paying_instances(buffer, used)
