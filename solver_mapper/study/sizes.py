"""How large an architecture is, and which of its energies follow its sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from solver_mapper.core.architecture import Architecture, Buffer


@dataclass(frozen=True)
class Sizes:
    """`capacity`, bits of all levels of limited size; `units`, compute units; `area` in um2, None
    where nothing is known of it.
    """

    capacity: int
    units: int
    area: Fraction | None

    def to_dict(self) -> dict[str, float | int | None]:
        """JSON data, as `--json` prints it."""
        return {
            "capacity_bits": self.capacity,
            "compute_units": self.units,
            "area_um2": None if self.area is None else float(self.area),
        }


def sizes_of(architecture: Architecture) -> Sizes:
    """The sizes of all instances together."""
    levels, unit = architecture.levels, architecture.arithmetic
    capacity = sum(
        level.entries * level.word_bits * level.instances
        for level in levels
        if level.entries is not None
    )
    area = sum((level.area * level.instances for level in levels), unit.area * unit.instances)
    return Sizes(capacity, unit.instances, area or None)


@dataclass
class EnergyWatch:
    """Which levels had several sizes, and which of them always the same energy of an access."""

    _sizes: dict[str, set[tuple[int | None, int, int]]] = field(default_factory=dict)
    _energies: dict[str, set[tuple[Fraction, Fraction, Fraction]]] = field(default_factory=dict)
    _origins: dict[str, str] = field(default_factory=dict)

    def see(self, architecture: Architecture) -> None:
        """Take note of an architecture."""
        for level in architecture.levels:
            self._sizes.setdefault(level.name, set()).add(
                (level.entries, level.word_bits, level.block_size)
            )
            self._energies.setdefault(level.name, set()).add(_energies(level))
            self._origins[level.name] = level.energy.origin

    def notes(self) -> tuple[str, ...]:
        """One line for each level whose size changed and whose energies did not."""
        return tuple(
            f"{name}: its size differs between points, its energies are the same at all of them"
            f" ({self._origins[name]})"
            for name, sizes in self._sizes.items()
            if len(sizes) > 1
            and len(self._energies[name]) == 1
            and any(next(iter(self._energies[name])))
        )


def _energies(level: Buffer) -> tuple[Fraction, Fraction, Fraction]:
    return level.energy.read, level.energy.fill, level.energy.update
