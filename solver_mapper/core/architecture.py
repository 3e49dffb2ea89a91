"""The accelerator: a chain of storage levels above an array of compute units, whatever notation
described it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from solver_mapper.errors import NOWHERE, SourceLocation


@dataclass(frozen=True)
class AccessEnergy:
    """Energy in pJ of one vector access (one block) of each kind, and leakage in pJ per cycle and
    instance.

    `fill` and `update` are both writes; ERTs that know an `update` action price it apart. `origin`
    says where the figures come from, for the report: "ERT", "vector-access-energy", "PAT formula
    (SRAM)".
    """

    read: Fraction
    fill: Fraction
    update: Fraction
    leak: Fraction = Fraction(0)
    origin: str = "ERT"


@dataclass(frozen=True)
class Network:
    """The wires between a level and the next inner one.

    `kind` is "Legacy" (Timeloop's inferred network and its declared form), "ReductionTree" or
    "SimpleMulticast". Energies in pJ: `wire_energy` per bit and mm (`None`: from the PAT),
    `router_energy` per word and hop, `energy_per_hop` per word (overrides wire energy times tile
    width), `ingress_energy` per word. `tile_width` in um.
    """

    name: str
    kind: str = "Legacy"
    word_bits: int | None = None
    wire_energy: Fraction | None = None
    router_energy: Fraction = Fraction(0)
    energy_per_hop: Fraction | None = None
    ingress_energy: Fraction = Fraction(0)
    tile_width: Fraction | None = None
    adder_energy: Fraction = Fraction(0)
    multicast_energies: tuple[tuple[int, Fraction], ...] = ()
    fill_latency: int = 0
    drain_latency: int = 0
    """Cycles added to the total once, for filling and for draining."""
    declared: bool = False
    """Whether the architecture names this network; several levels may then share it."""
    location: SourceLocation = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Buffer:
    """One storage level.

    Sizes are in words of `word_bits` bits; `entries` is None where no size was given (unlimited)
    and 0 for a dummy level that must be bypassed. `instances = mesh_x * mesh_y`. Bandwidths are in
    words per cycle and instance, None for unlimited. `fanout` (X, Y) counts instances of the next
    inner level below one instance of this one.
    """

    name: str
    entries: int | None = None
    instances: int = 1
    mesh_x: int = 1
    mesh_y: int = 1
    word_bits: int = 16
    block_size: int = 1
    cluster_size: int = 1
    multiple_buffering: Fraction = Fraction(1)
    min_utilization: Fraction = Fraction(0)
    read_bandwidth: Fraction | None = None
    write_bandwidth: Fraction | None = None
    shared_bandwidth: Fraction | None = None
    technology: str = "SRAM"
    reduction_supported: bool = True
    address_energy: Fraction = Fraction(0)
    energy: AccessEnergy = AccessEnergy(Fraction(0), Fraction(0), Fraction(0), origin="none")
    area: Fraction = Fraction(0)
    network: Network | None = None
    update_network: Network | None = None
    """The wires on which updates and drains come back; None: `network` carries both directions."""
    location: SourceLocation = field(default=NOWHERE, compare=False)
    entries_location: SourceLocation = field(default=NOWHERE, compare=False)
    bandwidth_locations: Mapping[str, SourceLocation] = field(default_factory=dict, compare=False)
    """Where the "read", "write" and "shared" bandwidth is given."""

    @cached_property
    def capacity(self) -> int | None:
        """Words that a mapping may occupy: `floor(entries / multiple_buffering)`, None for
        unlimited.
        """
        return None if self.entries is None else int(self.entries / self.multiple_buffering)

    @property
    def clusters(self) -> int:
        """How many clusters pay for accesses, at most."""
        return self.instances // self.cluster_size

    @property
    def least_share(self) -> Fraction:
        """The part of an access that an instance in use pays at least: where all are in use, these
        share what their clusters pay.
        """
        return Fraction(self.clusters, self.instances)

    @property
    def address_price(self) -> Fraction:
        """The energy in pJ of each address: a negative `address_energy` asks for Timeloop's
        built-in adder, which is free.
        """
        return max(self.address_energy, Fraction(0))


@dataclass(frozen=True)
class Arithmetic:
    """The array of multiply-accumulate units. `energy` is pJ per operation, `leak` pJ per cycle and
    unit.
    """

    name: str
    instances: int = 1
    mesh_x: int = 1
    mesh_y: int = 1
    word_bits: int = 16
    energy: Fraction = Fraction(0)
    energy_origin: str = "none"
    leak: Fraction = Fraction(0)
    area: Fraction = Fraction(0)
    location: SourceLocation = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Architecture:
    """`levels` are ordered outer to inner: `levels[0]` is the backing store, `arithmetic` lies
    below `levels[-1]`.
    """

    name: str
    levels: tuple[Buffer, ...]
    arithmetic: Arithmetic
    location: SourceLocation = field(default=NOWHERE, compare=False)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    """Names that stand for several levels (subtrees, containers), with those levels outer to inner.
    """
    fanouts: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Names whose spatial directives are about the level given (in v0.4 the node that has the
    fanout is named).
    """

    @property
    def level_names(self) -> tuple[str, ...]:
        """Names of the storage levels, outer to inner."""
        return tuple(level.name for level in self.levels)

    def index(self, name: str) -> int:
        """Position of the level called `name`, counted from the outermost. Raises ValueError if
        there is none.
        """
        return self.level_names.index(name)

    def fanout(self, index: int) -> tuple[int, int]:
        """(X, Y): instances of the next inner level (or of the arithmetic) below one instance of
        level `index`.
        """
        outer = self.levels[index]
        inner = self.levels[index + 1] if index + 1 < len(self.levels) else self.arithmetic
        return inner.mesh_x // outer.mesh_x, inner.mesh_y // outer.mesh_y
