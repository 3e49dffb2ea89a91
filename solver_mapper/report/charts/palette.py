"""Colours that colour-blind readers can tell apart (Okabe and Ito, 2008), and marks beside them."""

from __future__ import annotations

from collections.abc import Sequence

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
"""In the order of use; each has enough contrast on white and on black."""

NEUTRAL = "#8a8a8a"
"""What no series owns: parts without a tensor, gridlines of a mesh."""

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
"""Plotly's names of the marks that tell series apart without colour."""


_SHADES = ((0, 0.0), (255, 0.6), (0, 0.5))
"""Towards which brightness each turn through the colours is mixed, and by how much."""


def colour(number: int) -> str:
    """The colour of the series with this number: after the last, the same ones lighter, then
    darker.
    """
    turn, place = divmod(number, len(COLOURS))
    towards, share = _SHADES[turn % len(_SHADES)]
    parts = (int(COLOURS[place][start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * share):02X}" for part in parts)


def symbol(number: int) -> str:
    """The mark of the series with this number."""
    return SYMBOLS[number % len(SYMBOLS)]


def colours_of(names: Sequence[str], neutral: Sequence[str] = ()) -> dict[str, str]:
    """A colour for each name, grey for those in `neutral`."""
    coloured = [name for name in names if name not in neutral]
    return {
        name: NEUTRAL if name in neutral else colour(coloured.index(name))
        for name in dict.fromkeys(names)
    }
