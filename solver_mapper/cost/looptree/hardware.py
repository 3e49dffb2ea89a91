"""The accelerator as one Einsum sees it: a chain of units from the outermost memory down to one
compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property

from solver_mapper.cost.looptree.latency import Latency
from solver_mapper.errors import NOWHERE, SourceLocation

NO_TIME = Latency()


class Kind(Enum):
    """The kinds of components, as AccelForge names them."""

    MEMORY = "Memory"
    TOLL = "Toll"
    COMPUTE = "Compute"
    CONTAINER = "Container"


@dataclass(frozen=True)
class LoopBoundRule:
    """`operator` holds between the trip count (or the tile) of each rank variable, or their
    product, and `value`.
    """

    variables: frozenset[str]
    operator: str
    value: int
    product: bool = False
    text: str = ""
    location: SourceLocation = field(default=NOWHERE, compare=False)

    def holds(self, numbers: Mapping[str, int]) -> bool:
        """Whether the comparison holds for these numbers of the variables that it names."""
        named = [numbers[variable] for variable in sorted(self.variables) if variable in numbers]
        if not self.product:
            return all(_COMPARE[self.operator](number, self.value) for number in named)
        total = 1
        for number in named:
            total *= number
        return _COMPARE[self.operator](total, self.value)


_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}


@dataclass(frozen=True)
class Fanout:
    """`size` copies of a unit and of all below it, side by side along `name`.

    The wires serve all copies with one access for tensors in `may_reuse`. Rules for loops: every
    tensor in `reuse` must be irrelevant to them, `loop_bounds` hold for them, and at least
    `min_usage` of the copies is used.
    """

    name: str
    size: int
    may_reuse: frozenset[str] = frozenset()
    reuse: frozenset[str] = frozenset()
    loop_bounds: tuple[LoopBoundRule, ...] = ()
    min_usage: Fraction = Fraction(0)
    usage_scale: Fraction = Fraction(1)
    power_gateable: bool = False
    location: SourceLocation = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Action:
    """Energy in J of one action; `actions_per_value[tensor]`: how many one value needs."""

    energy: Fraction
    actions_per_value: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """One component. `size` in bits (None: unlimited); `leak` in W of one instance; `instances`
    counts all copies.

    `bits[tensor]` is what a value occupies here. `direction[tensor]` of a toll is "up", "down" or
    "up_and_down".
    `skip_first`: outputs start at zero here, so the first fetch of each does not happen.
                  `count_scale` multiplies all counts.
    """

    name: str
    kind: Kind
    fanouts: tuple[Fanout, ...] = ()
    size: Fraction | None = None
    actions: Mapping[str, Action] = field(default_factory=dict)
    latency: Latency = NO_TIME
    leak: Fraction = Fraction(0)
    instances: int = 1
    bits: Mapping[str, Fraction] = field(default_factory=dict)
    direction: Mapping[str, str] = field(default_factory=dict)
    skip_first: bool = True
    count_scale: Fraction = Fraction(1)
    location: SourceLocation = field(default=NOWHERE, compare=False)
    size_location: SourceLocation = field(default=NOWHERE, compare=False)

    def fanout(self, name: str) -> Fanout | None:
        """The fanout called `name`, if the unit has one."""
        return next((fanout for fanout in self.fanouts if fanout.name == name), None)


@dataclass(frozen=True)
class Aside:
    """A component off the path, which only leaks. `below`: the innermost component on the path that
    stands above it, whose copies that are switched off take it with them; None if there is none.
    """

    unit: Unit
    below: str | None = None


@dataclass(frozen=True)
class Chain:
    """`units` outer to inner, the last one a compute. `aside` are components off this path that are
    not switched off.
    """

    units: tuple[Unit, ...]
    aside: tuple[Aside, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, Unit]:
        """Units of the path by name."""
        return {unit.name: unit for unit in self.units}

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Position of each unit on the path, 0 the outermost."""
        return {unit.name: index for index, unit in enumerate(self.units)}

    @property
    def compute(self) -> Unit:
        """The innermost unit."""
        return self.units[-1]

    @cached_property
    def holders(self) -> tuple[Unit, ...]:
        """The memories and tolls, outer to inner."""
        return tuple(unit for unit in self.units if unit.kind in (Kind.MEMORY, Kind.TOLL))

    @cached_property
    def memories(self) -> tuple[Unit, ...]:
        """Units that store, outer to inner."""
        return tuple(unit for unit in self.units if unit.kind is Kind.MEMORY)
