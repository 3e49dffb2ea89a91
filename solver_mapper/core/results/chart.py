"""Charts as data: what is drawn, whatever draws it (SVG, Plotly, Matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from solver_mapper.core.arguments import require_path
from solver_mapper.core.files import file_errors, write_whole
from solver_mapper.core.results.rendering import figure_of, image_of, svg_of
from solver_mapper.errors import InputError, SourceLocation

IMAGE_FORMATS = ("svg", "png", "pdf")

Style = Literal["line", "steps", "points"]


@dataclass(frozen=True)
class Axis:
    """`log`: the scale is logarithmic and shows positive values only."""

    title: str
    log: bool = False


@dataclass(frozen=True)
class Series:
    """Points (x, y) under one name. `labels` describe the points. `filled` tells points apart that
    have a property which the chart's summary names; empty if all have it.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style = "points"
    labels: tuple[str, ...] = ()
    filled: tuple[bool, ...] = ()
    dashed: bool = False


class Chart:
    """What every chart offers. Notebooks show it as a picture."""

    title: str
    summary: str
    """What the chart shows, in words, for readers who do not see it."""

    @property
    def svg(self) -> str:
        """The chart as the text of an SVG file."""
        return svg_of(self)

    def save(self, path: str | Path) -> None:
        """Write the chart to a file whose suffix is .svg, .png or .pdf.

        Raises: InputError for another suffix, for a file that cannot be written, and where
        Matplotlib, which PNG and PDF need, is not installed (extra `plot`).
        """
        write_image(self, Path(require_path("path", path)))

    def figure(self) -> Any:
        """The chart as a Matplotlib figure, to be styled further.

        Raises: InputError where Matplotlib is not installed (extra `plot`).
        """
        return figure_of(self)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class BarChart(Chart):
    """Horizontal stacked bars: `parts[name][i]` belongs to `categories[i]`. `grouped` bars stand
    beside each other instead.
    """

    title: str
    unit: str
    categories: tuple[str, ...]
    parts: Mapping[str, tuple[float, ...]]
    summary: str = ""
    grouped: bool = False


@dataclass(frozen=True)
class PlaneChart(Chart):
    """Lines, steps and points in a plane. `marks` are vertical lines, by name."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: Mapping[str, float] = field(default_factory=dict)
    summary: str = ""


@dataclass(frozen=True)
class Picture(Chart):
    """A drawing that is complete as SVG, such as a loop nest."""

    title: str
    text: str
    summary: str = ""


def image_format(path: Path) -> str:
    """The format that the suffix of `path` names. Raises: InputError for none of them."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in IMAGE_FORMATS:
        raise InputError(
            f"'{path.suffix or path.name}' is not a format of pictures",
            SourceLocation(str(path)),
            f"the name may end in {', '.join('.' + each for each in IMAGE_FORMATS)}",
        )
    return suffix


def write_image(chart: Chart, path: Path) -> None:
    """Write `chart` in the format that the suffix of `path` names.

    Raises: InputError; see `Chart.save`.
    """
    wanted = image_format(path)
    if isinstance(chart, Picture) and wanted != "svg":
        raise InputError(
            "this picture is drawn as SVG only", SourceLocation(str(path)), "end the name in .svg"
        )
    content = chart.svg.encode() if wanted == "svg" else image_of(chart, wanted)
    with file_errors(path):
        write_whole(path, content)
