"""The answer of `suggest`: a mapping, and what it changes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from solver_mapper.core.constraints import Kind
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.results.solution import directives
from solver_mapper.errors import NOWHERE, SourceLocation
from solver_mapper.explain.nearest.directives import KINDS, MappingDirectives, Nest

Part = Literal["factor", "axis", "order", "storage", "reuse"]


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was given: a loop's factor or axis, the order of a nest, a tensor
    kept or bypassed, or a kind of reuse switched off, with the `location` where the mapping says
    it.
    """

    part: Part
    level: str
    what: str
    before: str
    after: str
    location: SourceLocation = field(default=NOWHERE, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "part": self.part,
            "level": self.level,
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "file": self.location.file,
            "line": self.location.line,
        }

    def __str__(self) -> str:
        where = "" if self.location.line is None else f"{self.location}: "
        return f"{where}{self.level} {self.what}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class Suggestion:
    """The legal mapping nearest to the `given` one; `mapping` is None if none is legal, or none was
    found within the limits.

    Nearest is: fewest factors changed (a dimension's factor among the temporal or the spatial loops
    of a level); of those, fewest tensors newly kept or bypassed; of those, fewest loops turned to
    the other axis of a mesh. Where bypass is held, the first two change places. `proven` says that
    no legal mapping of perfect factors is nearer. The order given is kept as far as constraints
    allow.
    """

    given: Mapping
    mapping: Mapping | None
    differences: tuple[Difference, ...] = ()
    diff: str = ""
    """From the given mapping to the suggested one, both in Timeloop's notation, as `diff -u` prints
    it.
    """
    proven: bool = True

    @classmethod
    def between(
        cls, given: MappingDirectives, found: Mapping, mapping: Mapping, proven: bool
    ) -> Suggestion:
        """What lies between `mapping`, read as `given`, and the legal mapping `found`."""
        differences = tuple(
            each
            for index in range(len(found.levels))
            for each in _differences(given, index, found.levels[index])
        )
        return cls(mapping, found, differences, _unified(given, found), proven)

    def count(self, part: Part) -> int:
        """How many differences of one kind there are."""
        return sum(each.part == part for each in self.differences)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "mapping": None if self.mapping is None else directives(self.mapping),
            "proven": self.proven,
            "factors_changed": self.count("factor"),
            "differences": [each.to_dict() for each in self.differences],
            "diff": self.diff,
        }

    def __str__(self) -> str:
        if self.mapping is None:
            return (
                "no legal mapping exists; run 'solver-mapper explain'"
                if self.proven
                else "no legal mapping was found within the limits"
            )
        if not self.differences:
            return "the mapping is legal; nothing to change"
        title = (
            "the nearest legal mapping"
            if self.proven
            else "a legal mapping, not proven to be the nearest"
        )
        lines = [f"{title}: {self._counted()}", *(f"  {each}" for each in self.differences)]
        return "\n".join([*lines, *self.diff.splitlines()])

    def _counted(self) -> str:
        factors = self.count("factor")
        others = len(self.differences) - factors
        text = f"{factors} factor{'' if factors == 1 else 's'} changed"
        return f"{text}, and {others} other change{'' if others == 1 else 's'}" if others else text


def _differences(given: MappingDirectives, index: int, found: LevelMapping) -> Iterator[Difference]:
    before = given.levels[index]
    name = found.level
    for kind in KINDS:
        yield from _loops(given, index, kind, found)
    for tensor in sorted(before.keep ^ found.keep):
        words = ("keep", "bypass") if tensor in before.keep else ("bypass", "keep")
        yield Difference(
            "storage", name, tensor, *words, location=before.location(f"bypass {tensor}", "bypass")
        )
    for flag, kind in (
        ("no_temporal_reuse", "temporal"),
        ("no_multicast", "spatial"),
        ("no_link_transfer", "spatial"),
    ):
        for tensor in sorted(getattr(found, flag) - getattr(before, flag)):
            yield Difference(
                "reuse",
                name,
                f"{kind} {flag} of {tensor}",
                "not listed",
                "listed",
                before.location(kind),
            )


def _loops(
    given: MappingDirectives, index: int, kind: Kind, found: LevelMapping
) -> Iterator[Difference]:
    before, name = given.levels[index], found.level
    nest = given.nests[index, kind]
    after = {
        each.dim: each for each in reversed(found.temporal if kind == "temporal" else found.spatial)
    }
    for dim in dict.fromkeys((*nest, *after)):
        old, new = given.loop(index, kind, dim), after.get(dim, Loop(dim, 1, 1))
        location = before.location(f"{kind} {dim}", kind)
        if (old.bound, old.last) != (new.bound, new.last):
            yield Difference("factor", name, kind, _factor(old), _factor(new), location)
        if old.bound > 1 < new.bound and old.axis != new.axis:
            axes = (f"along {old.axis}", f"along {new.axis}")
            yield Difference(
                "axis", name, f"{kind} {dim}", *axes, before.location("spatial split", kind)
            )
    was = [dim for dim, each in nest.items() if each.bound > 1 and dim in after]
    now = [dim for dim in after if dim in was]
    if was != now and all(nest[dim].axis == after[dim].axis for dim in was):
        location = before.location(f"{kind} permutation", kind)
        yield Difference(
            "order", name, f"{kind} innermost first", " ".join(was), " ".join(now), location
        )


def _factor(loop: Loop) -> str:
    return f"{loop.dim}={loop.bound}" if loop.perfect else f"{loop.dim}={loop.bound},{loop.last}"


def _unified(given: MappingDirectives, found: Mapping) -> str:
    before = replace(
        found, levels=tuple(_written(given, index, each) for index, each in enumerate(given.levels))
    )
    after = replace(
        found, levels=tuple(_padded(given, index, each) for index, each in enumerate(found.levels))
    )
    texts = (before.to_yaml().splitlines(), after.to_yaml().splitlines())
    return "\n".join(
        difflib.unified_diff(*texts, "given", "nearest legal mapping", n=2, lineterm="")
    )


def _written(given: MappingDirectives, index: int, level: LevelMapping) -> LevelMapping:
    """The level as Timeloop's notation has it: one loop for a dimension in each nest, those along Y
    outermost.
    """
    spatial = list(reversed(given.nests[index, "spatial"].values()))
    across = [each for axis in "YX" for each in spatial if each.axis == axis]
    return replace(
        level,
        temporal=tuple(reversed(given.nests[index, "temporal"].values())),
        spatial=tuple(across),
    )


def _padded(given: MappingDirectives, index: int, level: LevelMapping) -> LevelMapping:
    """With a loop of bound 1 where a loop was given that is gone, so that lines of a diff show
    factors and nothing else.
    """
    spatial = _with_units(level.spatial, given.nests[index, "spatial"])
    return replace(
        level,
        temporal=_with_units(level.temporal, given.nests[index, "temporal"]),
        spatial=tuple(each for axis in "YX" for each in spatial if each.axis == axis),
    )


def _with_units(loops: tuple[Loop, ...], nest: Nest) -> tuple[Loop, ...]:
    inward = list(reversed(loops))
    names = [each.dim for each in inward]
    for position, (dim, before) in enumerate(nest.items()):
        if dim not in names:
            inward.insert(position, Loop(dim, 1, 1, before.axis))
            names.insert(position, dim)
    return tuple(reversed(inward))
