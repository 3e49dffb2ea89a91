"""Tables and bars as plain text: the same bytes on a terminal, in a file and in a test."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from textwrap import wrap

from rich.bar import Bar
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

WIDTH = 100
"""Columns of text, unless the numbers of a table need more."""

NARROWEST = 80
"""Columns that are taken for granted of every terminal."""

_terminal: ContextVar[int | None] = ContextVar("terminal", default=None)


@contextmanager
def on_terminal(columns: int | None) -> Iterator[None]:
    """Within, text is laid out for a terminal of so many columns (None: a file or a pipe): tables
    leave out columns that have no room.
    """
    token = _terminal.set(None if columns is None else max(columns, NARROWEST))
    try:
        yield
    finally:
        _terminal.reset(token)


def text_width() -> int:
    """Columns of running text."""
    return min(_terminal.get() or WIDTH, WIDTH)


def titled(rows: Sequence[tuple[str, str]]) -> str:
    """Rows of a title and a text, which go on below the first letter of the text. What is to be
    typed, such as `--relax keep`, is not broken at its hyphens.
    """
    indent = 2 + max((len(title) for title, _ in rows), default=0)
    return "\n".join(
        line
        for title, text in rows
        for line in wrap(
            text,
            text_width(),
            initial_indent=title.ljust(indent),
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )
    )


def in_lines(title: str) -> str:
    """A title such as `GLB.entries`, on a terminal in a line for each part."""
    return title if _terminal.get() is None else title.replace(".", ".\n")


class SizedTable(Table):
    """A table with columns that a narrow terminal does without, and columns of words, which it
    breaks into lines: their positions, the first to go first.
    """

    expendable: tuple[int, ...] = ()
    words: tuple[int, ...] = ()


_PREFIXES = ("pJ", "nJ", "uJ", "mJ", "J")


def table(
    *titles: str, expendable: tuple[int, ...] = (), words: tuple[int, ...] = ()
) -> SizedTable:
    """An empty table with these columns; those whose title begins with `>` hold numbers.
    `expendable`: positions of columns that a narrow terminal does without, the first to go first;
    `words`: of columns whose words it puts below each other.
    """
    made = SizedTable(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    made.expendable, made.words = expendable, words
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


def render(*parts: Table | str) -> str:
    """Parts below each other, without trailing blanks. A table whose columns need more than the
    width is wider: numbers are never cut.
    """
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out += part.split("\n")
            continue
        left_out = _fit(part, _terminal.get()) if isinstance(part, SizedTable) else []
        console = _console(_table_width(part))
        with console.capture() as captured:
            console.print(part, markup=False)
        out += [line.rstrip() for line in captured.get().split("\n") if line.strip()]
        if left_out:
            out.append(f"(no room for {', '.join(left_out)})")
    return "\n".join(out)


def _table_width(part: Table) -> int:
    """Columns for a table. On a terminal that is too narrow, columns of words are broken."""
    needed, there = _measured(part), _terminal.get()
    if there is None or needed <= there or not isinstance(part, SizedTable) or not part.words:
        return max(text_width(), needed)
    for position in part.words:
        part.columns[position].no_wrap = False
        part.columns[position].overflow = "fold"
    return there


def _console(width: int) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        color_system=None,
        force_terminal=False,
        highlight=False,
        emoji=False,
    )


def _measured(part: Table) -> int:
    """Columns of text that a table needs."""
    console = _console(WIDTH)
    return Measurement.get(console, console.options.update(width=10**4), part).maximum


def _fit(part: SizedTable, columns: int | None) -> list[str]:
    """Take away expendable columns until a table fits; the titles of those that are gone."""
    gone: list[Column] = []
    expendable = [part.columns[position] for position in part.expendable]
    while columns is not None and expendable and _measured(part) > columns:
        gone.append(expendable.pop(0))
        part.columns.remove(gone[-1])
        for position, column in enumerate(part.columns):
            column._index = position
    return [str(column.header) for column in gone if column.header]


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


def sentence(text: str) -> str:
    """Words as a sentence by themselves begin: with a capital letter."""
    return text[:1].upper() + text[1:]


def points_in_words(points: Sequence[str]) -> str:
    """The points of a front as a sentence: how many, the first and the last."""
    if len(points) == 1:
        return f"1 point, {points[0]}."
    return f"{len(points)} points, from {points[0]} to {points[-1]}."


def energy_unit(total_pj: Fraction) -> tuple[str, Fraction]:
    """The unit in which `total_pj` has at most six digits before the point, and that unit in pJ."""
    unit = Fraction(1)
    for name in _PREFIXES[:-1]:
        if total_pj < 10**6 * unit:
            return name, unit
        unit *= 1000
    return _PREFIXES[-1], unit
