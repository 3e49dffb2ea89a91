"""Tables and bars as plain text: the same bytes on a terminal, in a file and in a test."""

from __future__ import annotations

import io
from fractions import Fraction

from rich.bar import Bar
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDTH = 100
"""Columns of text, unless the numbers of a table need more."""

_PREFIXES = ("pJ", "nJ", "uJ", "mJ", "J")


def table(*titles: str) -> Table:
    """An empty table with these columns; those whose title begins with `>` hold numbers."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for title in titles:
        made.add_column(
            title.removeprefix(">"),
            justify="right" if title.startswith(">") else "left",
            no_wrap=True,
        )
    return made


def bar(share: Fraction, width: int) -> Bar:
    """A bar of `width` columns, filled to `share` (0 to 1) in steps of an eighth of a column."""
    return Bar(size=1.0, begin=0.0, end=float(share), width=width)


def render(*parts: Table | str, width: int = WIDTH) -> str:
    """Parts below each other, without trailing blanks. A table that cannot do with `width` is
    wider: numbers are never cut.
    """
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out += part.split("\n")
            continue
        console = Console(
            file=io.StringIO(),
            width=width,
            color_system=None,
            force_terminal=False,
            highlight=False,
            emoji=False,
        )
        console.width = max(
            width, Measurement.get(console, console.options.update(width=10**4), part).maximum
        )
        with console.capture() as captured:
            console.print(part, markup=False)
        out += [line.rstrip() for line in captured.get().split("\n") if line.strip()]
    return "\n".join(out)


def number(value: Fraction | int) -> str:
    """A whole number as it is, anything else rounded to two decimals; thousands are separated."""
    return f"{int(value):,}" if value.denominator == 1 else two_decimals(value)


def two_decimals(value: Fraction | int) -> str:
    """Always two decimals, so that a column of them lines up. `value` is not negative."""
    hundredths = round(Fraction(value) * 100)
    return f"{hundredths // 100:,}.{hundredths % 100:02d}"


def short(value: Fraction | int) -> str:
    """Four significant digits below a thousand, whole numbers with their thousands separated from
    there on.
    """
    shown = float(value)
    return f"{round(value):,}" if abs(shown) >= 1000 else f"{shown:.4g}"


def percent(share: Fraction | int, decimals: int = 1) -> str:
    """A share of 1 in percent."""
    return f"{float(100 * share):.{decimals}f} %"


def energy_unit(total_pj: Fraction) -> tuple[str, Fraction]:
    """The unit in which `total_pj` has at most six digits before the point, and that unit in pJ."""
    unit = Fraction(1)
    for name in _PREFIXES[:-1]:
        if total_pj < 10**6 * unit:
            return name, unit
        unit *= 1000
    return _PREFIXES[-1], unit
