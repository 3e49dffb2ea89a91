"""A mapping as the loop nest that it is."""

from __future__ import annotations

from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.results.statistics import Statistics

_INDENT = "  "


def loop_nest_text(mapping: Mapping, statistics: Statistics) -> str:
    """The loop nest, outer to inner: each level with the tiles it holds (words per instance), then
    its loops.

    DRAM [Weights: 36,864  Inputs: 215,296  Outputs: 200,704]
      for P in 28
    """
    lines: list[str] = []
    depth = 0
    for level in mapping.levels:
        lines.append(_INDENT * depth + _header(level, statistics))
        loops = [*level.temporal, *level.spatial]
        for each in loops:
            depth += 1
            lines.append(_INDENT * depth + _loop(each))
        depth += 1
    arithmetic = list(statistics.levels)[-1]
    lines.append(_INDENT * depth + arithmetic)
    return "\n".join(lines)


def _header(level: LevelMapping, statistics: Statistics) -> str:
    rows = statistics.levels[level.level].tensors
    tiles = "  ".join(f"{name}: {row.tile:,}" for name, row in rows.items())
    return f"{level.level} [{tiles or 'nothing stored'}]"


def _loop(each: Loop) -> str:
    size = f"{each.bound}" if each.perfect else f"{each.bound}, at last {each.last}"
    return (
        f"parallel-for {each.dim} in {size} along {each.axis}"
        if each.axis
        else f"for {each.dim} in {size}"
    )
