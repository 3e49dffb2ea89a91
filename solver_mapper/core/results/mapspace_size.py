"""The answer of `space`: how many mappings there are, level by level, and what each constraint
cuts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from solver_mapper.core.results.rendering import text_of
from solver_mapper.errors import NOWHERE, SourceLocation


@dataclass(frozen=True)
class Count:
    """`factorizations` differ in loop bounds or the axis of a spatial loop, `nests` also in the
    order of loops above 1, and `mappings` also in what levels keep. Of those that some bypass
    choice makes legal, the first two count each once.
    """

    factorizations: int
    nests: int
    mappings: int

    def to_dict(self) -> dict[str, int]:
        """JSON data, as `--json` prints it."""
        return {
            "factorizations": self.factorizations,
            "nests": self.nests,
            "mappings": self.mappings,
        }


@dataclass(frozen=True)
class Choices:
    """`left` of `all` ways to choose one thing."""

    left: int
    all: int

    def to_dict(self) -> dict[str, int]:
        """JSON data, as `--json` prints it."""
        return {"left": self.left, "all": self.all}


@dataclass(frozen=True)
class LevelCount:
    """What constraints leave to one level, each choice by itself; `orders` are those of a nest of
    all dimensions.

    `tiles` are the different tiles it has in legal mappings; `down` are the different ways to
    choose everything from the outermost level to this one that some legal mapping continues. Both
    are None where the problem has too many tiles to count.
    """

    level: str
    temporal: Choices
    orders: Choices
    spatial: Choices
    bypass: Choices
    tiles: int | None = None
    down: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        choices = {
            "temporal": self.temporal,
            "orders": self.orders,
            "spatial": self.spatial,
            "bypass": self.bypass,
        }
        return {
            "level": self.level,
            **{name: each.to_dict() for name, each in choices.items()},
            "tiles": self.tiles,
            "down": self.down,
        }


@dataclass(frozen=True)
class Cut:
    """How many mappings would be legal without one constraint or capacity, everything else kept.
    `spare` constraints can be left out together: the legal mappings stay the same.
    """

    text: str
    without: int
    legal: int
    is_constraint: bool = True
    spare: bool = False
    location: SourceLocation = field(default=NOWHERE, compare=False)

    @property
    def redundant(self) -> bool:
        """Whether every mapping that obeys all the others obeys this one."""
        return self.legal > 0 and self.without == self.legal

    @property
    def times(self) -> Fraction | None:
        """How many times more mappings there would be; None if there is none now."""
        return Fraction(self.without, self.legal) if self.legal else None

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "text": self.text,
            "file": self.location.file,
            "line": self.location.line,
            "mappings_without": self.without,
            "times": None if self.times is None else float(self.times),
            "redundant": self.redundant,
            "spare": self.spare,
        }


@dataclass(frozen=True)
class MapspaceSize:
    """Exact numbers of mappings of perfect factors.

    `unconstrained` counts what hardware and problem leave (capacities apart), `constrained` what
    the constraints leave of it, `legal` what fits the buffers as well; None where the problem has
    too many tiles (`tiles`) to count. `chains[dim]` are the factorizations of a dimension by
    itself. `uncounted` are caps on figures, and limits on products of too many values: mappings
    that break these are in the numbers.
    """

    tiles: int
    chains: dict[str, Choices]
    levels: tuple[LevelCount, ...]
    unconstrained: Count | None = None
    constrained: Count | None = None
    legal: Count | None = None
    cuts: tuple[Cut, ...] = ()
    uncounted: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it is certain that no mapping is legal."""
        return self.legal is not None and not self.legal.mappings

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        counts = {"unruled": self.unconstrained, "ruled": self.constrained, "legal": self.legal}
        return {
            **{name: None if count is None else count.to_dict() for name, count in counts.items()},
            "tiles": self.tiles,
            "dimensions": {dim: each.to_dict() for dim, each in self.chains.items()},
            "levels": [level.to_dict() for level in self.levels],
            "rules": [cut.to_dict() for cut in self.cuts if cut.is_constraint],
            "capacities": [cut.to_dict() for cut in self.cuts if not cut.is_constraint],
            "not_counted": list(self.uncounted),
        }

    def __str__(self) -> str:
        return text_of(self)
