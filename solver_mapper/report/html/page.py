"""What a page consists of, whatever its result: sections of facts, tables, charts and text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from solver_mapper.core.results.chart import BarChart, PlaneChart
from solver_mapper.report.tables import number, short

LONG = 60
"""Characters of a cell that is shown in one line."""
MOST_DATA = 200
"""Values of a chart that are listed below it."""


@dataclass(frozen=True)
class TableCell:
    """What a table shows, and by what it sorts: `key` is None where there is nothing."""

    text: str
    key: float | str | None = None

    @property
    def numeric(self) -> bool:
        """Whether the cell sorts as a number."""
        return isinstance(self.key, float)

    @property
    def long(self) -> bool:
        """Whether the text may need several lines."""
        return len(self.text) > LONG


def cell(value: object, text: str | None = None) -> TableCell:
    """A cell for a number or a word; `text` is what it reads, if not the value itself."""
    if value is None or value == "":
        return TableCell(text or "")
    if isinstance(value, bool):
        return TableCell(text or ("yes" if value else "no"), "yes" if value else "no")
    if isinstance(value, (int, Fraction)):
        return TableCell(number(value) if text is None else text, float(value))
    if isinstance(value, float):
        return TableCell(short(Fraction(value)) if text is None else text, value)
    return TableCell(str(value) if text is None else text, str(value))


@dataclass(frozen=True)
class Facts:
    """Names, values, and what the values mean."""

    rows: tuple[tuple[str, str, str], ...]
    kind: str = "facts"


@dataclass(frozen=True)
class Definitions:
    """Titles and what is to be said of each."""

    rows: tuple[tuple[str, str], ...]
    kind: str = "terms"


@dataclass(frozen=True)
class DataTable:
    """A table that can be sorted by each column. `marked` rows stand out."""

    caption: str
    titles: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    marked: frozenset[int] = frozenset()
    kind: str = "table"

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(
            any(row[column].numeric for row in self.rows) for column in range(len(self.titles))
        )


def table(
    caption: str,
    titles: Sequence[str],
    rows: Iterable[Sequence[object]],
    marked: Iterable[int] = (),
) -> DataTable:
    """A table of plain values; `TableCell`s are taken as they are. `marked`: positions of rows."""
    made = tuple(
        tuple(value if isinstance(value, TableCell) else cell(value) for value in row)
        for row in rows
    )
    return DataTable(caption, tuple(titles), made, frozenset(marked))


@dataclass(frozen=True)
class SvgPicture:
    """A picture that is complete as it is: trusted SVG text."""

    title: str
    svg: str
    kind: str = "drawing"


@dataclass(frozen=True)
class Plot:
    """A chart, with its data as a table for readers who do not see it."""

    chart: BarChart | PlaneChart
    kind: str = "plot"

    @property
    def data(self) -> DataTable | None:
        """The values of the chart; None where they are too many to be read."""
        rows = (
            list(_bar_rows(self.chart))
            if isinstance(self.chart, BarChart)
            else list(_plane_rows(self.chart))
        )
        if len(rows) > MOST_DATA:
            return None
        if isinstance(self.chart, BarChart):
            return table(self.chart.title, ("", *self.chart.parts), rows)
        return table(self.chart.title, ("", self.chart.x.title, self.chart.y.title), rows)


def _bar_rows(chart: BarChart) -> Iterable[Sequence[object]]:
    for number_, category in enumerate(chart.categories):
        yield (category, *(values[number_] for values in chart.parts.values()))


def _plane_rows(chart: PlaneChart) -> Iterable[Sequence[object]]:
    for series in chart.series:
        labels = series.labels or ("",) * len(series.x)
        for x, y, label in zip(series.x, series.y, labels, strict=True):
            yield (f"{series.name}, {label}" if label else series.name, x, y)


@dataclass(frozen=True)
class Code:
    """Text as it was written. `title` is shown where the text is folded away."""

    text: str
    title: str = ""
    kind: str = "code"


@dataclass(frozen=True)
class Words:
    """Paragraphs."""

    paragraphs: tuple[str, ...]
    kind: str = "words"


@dataclass(frozen=True)
class Fold:
    """Blocks that are shown on demand."""

    title: str
    blocks: tuple[Any, ...]
    kind: str = "fold"


@dataclass(frozen=True)
class Section:
    """Blocks under a heading. A `brief` section is shown in notebooks too."""

    title: str
    blocks: tuple[Any, ...]
    brief: bool = False


@dataclass(frozen=True)
class Page:
    """A result as a page. `standing` is "good", "open" or "bad" for a result that is proven, one
    that is not, and a refusal; `verdict` says so in words.
    """

    title: str
    subtitle: str = ""
    verdict: str = ""
    standing: str = "open"
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True)
class InputFile:
    """A file that was read: its name, and its text if that is known."""

    name: str
    text: str | None = None


@dataclass(frozen=True)
class Provenance:
    """How a result came about: the command, what was read, and what was warned of."""

    command: str = ""
    inputs: tuple[InputFile, ...] = ()
    warnings: tuple[str, ...] = ()


def with_run(page: Page, run: Provenance) -> Page:
    """The page with sections for warnings and input."""
    sections = list(page.sections)
    if run.warnings:
        sections.insert(1, Section("Warnings", (Words(run.warnings),)))
    blocks: list[Any] = [Code(run.command)] if run.command else []
    blocks += [
        Words((f"{each.name}: its text was not kept.",))
        if each.text is None
        else Code(each.text, each.name)
        for each in run.inputs
    ]
    if blocks:
        sections.append(Section("Command and input files", tuple(blocks)))
    return Page(page.title, page.subtitle, page.verdict, page.standing, tuple(sections))
