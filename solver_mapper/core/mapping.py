"""One picture of a level-by-level mapping: what Timeloop's notation says, stripped of notation.

A `Mapping` is a single branch, outer to inner. Each level first has the temporal loops whose tiles
it holds, then the spatial loops that spread those tiles over the instances of the next inner level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from solver_mapper.core.results.rendering import yaml_of
from solver_mapper.errors import NOWHERE, SourceLocation


@dataclass(frozen=True, slots=True)
class Loop:
    """`bound` iterations over `dim`. `last` is the number of iterations in the final round of all
    loops over `dim` outside this one; it differs from `bound` for residual (imperfect) factors
    only. `axis` is "" (temporal), "X" or "Y".
    """

    dim: str
    bound: int
    last: int
    axis: str = ""

    @property
    def perfect(self) -> bool:
        """Whether no round of a loop is shorter than the others."""
        return self.bound == self.last

    def __str__(self) -> str:
        size = f"{self.bound}" if self.perfect else f"{self.bound},{self.last}"
        return f"{self.dim}={size}" + (f" ({self.axis})" if self.axis else "")


def loop(dim: str, bound: int, axis: str = "") -> Loop:
    """A perfect loop."""
    return Loop(dim, bound, bound, axis)


@dataclass(frozen=True)
class LevelMapping:
    """What one storage level does. Loops are listed outer to inner and include loops of bound 1
    only if their writer gave them.

    `keep` names the tensors that the level holds. The flag sets name the tensors whose reuse is
    switched off: `no_temporal_reuse` into this level, `no_multicast` and `no_link_transfer` in the
    network below it.
    """

    level: str
    temporal: tuple[Loop, ...] = ()
    spatial: tuple[Loop, ...] = ()
    keep: frozenset[str] = frozenset()
    no_temporal_reuse: frozenset[str] = frozenset()
    no_multicast: frozenset[str] = frozenset()
    no_link_transfer: frozenset[str] = frozenset()
    locations: dict[str, SourceLocation] = field(default_factory=dict, compare=False, hash=False)
    """Where things were written: directives ("temporal", "spatial", "bypass"), their parts
    ("temporal permutation", "spatial split"), single factors ("temporal P") and tensors ("bypass
    W")."""

    def location(self, *keys: str) -> SourceLocation:
        """Where the first of `keys` that was written stands."""
        return next((self.locations[key] for key in keys if key in self.locations), NOWHERE)

    def __str__(self) -> str:
        parts = {
            "stores": sorted(self.keep),
            "temporal": self.temporal,
            "spatial": self.spatial,
            "no_temporal_reuse": sorted(self.no_temporal_reuse),
            "no_multicast": sorted(self.no_multicast),
            "no_link_transfer": sorted(self.no_link_transfer),
        }
        shown = [f"{name} {', '.join(map(str, each))}" for name, each in parts.items() if each]
        return f"{self.level}: {'; '.join(shown)}" if shown else self.level


@dataclass(frozen=True)
class Mapping:
    """`levels` outer to inner, one for each storage level of the architecture.

    `dims` and `tensors` are the problem's, in declaration order. They take no part in comparisons;
    `to_yaml` needs them to spell full permutations and bypass lists.
    """

    levels: tuple[LevelMapping, ...]
    dims: tuple[str, ...] = field(default=(), compare=False)
    tensors: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return "\n".join(map(str, self.levels))

    @cached_property
    def perfect(self) -> bool:
        """Whether no round of a loop is shorter than the others."""
        return all(each.perfect for each in self.loops())

    def loops(self) -> Iterator[Loop]:
        """All loops, outer to inner."""
        for level in self.levels:
            yield from level.temporal
            yield from level.spatial

    def to_yaml(self) -> str:
        """The mapping as a file that Timeloop reads.

        Raises: InputError for a mapping that Timeloop's notation cannot express.
        """
        return yaml_of(self)
