"""The options `--html` and `--plot`, and the report that `-o` writes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
import yaml

from solver_mapper.bounds import Curve
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.compare.comparison import Comparison
from solver_mapper.core.files import write_whole
from solver_mapper.core.results.chart import Chart, image_format, write_image
from solver_mapper.core.results.pareto_front import Front
from solver_mapper.core.results.rendering import chart_of, document_of, page_of
from solver_mapper.core.results.solution import Solution
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.cost.looptree.front import TreeFront
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.errors import InputError, SolverMapperError, did_you_mean, unknown_name
from solver_mapper.io import bundled
from solver_mapper.io.yaml.source import to_python
from solver_mapper.io.yaml.warnings import InputWarning
from solver_mapper.report.charts import (
    comparison_charts,
    curve_charts,
    looptree_charts,
    statistics_charts,
)
from solver_mapper.report.charts.matplotlib import require_matplotlib
from solver_mapper.report.charts.plotly import packed_library
from solver_mapper.report.charts.study_charts import NUMBERS
from solver_mapper.report.html.page import InputFile, Provenance, with_run
from solver_mapper.study.network_result import NetworkResult

REPORT = "report.html"
NAMES: Mapping[type, tuple[str, ...]] = {
    Solution: (*statistics_charts.CHARTS, "progress"),
    Statistics: tuple(statistics_charts.CHARTS),
    TreeSolution: tuple(looptree_charts.CHARTS),
    TreeStatistics: tuple(looptree_charts.CHARTS),
    Front: ("front",),
    TreeFront: ("front",),
    Comparison: tuple(comparison_charts.CHARTS),
    Curve: tuple(curve_charts.CHARTS),
}
"""The charts of results by name."""
DRAWINGS = ("nest", "tree", "lifetimes")
"""Charts that are drawn as SVG only."""
_MOST_TEXT = 200_000
"""Characters of an input file that a report shows."""

Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write a report for a browser: one HTML file."),
]
Plots = Annotated[
    list[str] | None,
    typer.Option(
        "--plot",
        metavar="[CHART=]FILE",
        help="Draw a chart as .svg, .png or .pdf; CHART is for example roofline (repeatable).",
    ),
]


class Warned(Protocol):
    """A specification or a result, of which only the warnings matter here."""

    @property
    def warnings(self) -> Sequence[InputWarning]:
        """Warnings of the input."""


@dataclass(frozen=True)
class Pictures:
    """Where a report and charts are to be written. `charts` are (name, file); the name is empty
    for the chart that a result has by default.
    """

    html: Path | None = None
    charts: tuple[tuple[str, Path], ...] = ()

    def files(self) -> list[tuple[str, Path | None]]:
        """Each file with its option."""
        return [("--html", self.html), *(("--plot", file) for _, file in self.charts)]

    def check(self, kind: type) -> None:
        """Check, before a search, that a result of this kind has the charts.

        Raises: InputError.
        """
        for name, file in self.charts:
            words = name.split(",") if name else []
            if len(words) >= len(signature(chart_of.dispatch(kind)).parameters):
                raise _no_chart(name)
            known = NAMES.get(kind)
            if name and known is not None and name not in known:
                raise _no_chart(name, did_you_mean(name, known))
            if name in DRAWINGS and image_format(file) != "svg":
                raise InputError(
                    f"--plot: '{name}' is drawn as SVG only", COMMAND_LINE, "end the name in .svg"
                )
            if kind is NetworkResult and name != "layers":
                for word in words:
                    if word not in NUMBERS:
                        raise unknown_name("column", word, NUMBERS, COMMAND_LINE)

    def write(
        self, result: object, folder: Path | None, files: Sequence[str], spec: Warned | None = None
    ) -> None:
        """Write what was asked for; with a `folder`, a report in it too.

        Raises: InputError for a file that cannot be written and a chart that does not exist.
        """
        reports = [each for each in (self.html, folder and folder / REPORT) if each is not None]
        if reports:
            text = document_of(with_run(page_of(result), run_of(files, spec)))
            for report in reports:
                _write(report, text)
        for name, file in self.charts:
            write_image(_chart(result, name), file)


def pictures(html: Path | None, plots: Iterable[str] | None) -> Pictures:
    """What the options ask for, checked before a search begins.

    Raises: InputError for the suffix of a picture, and for missing packages.
    """
    charts = tuple(_plot(each) for each in plots or ())
    for _, file in charts:
        if image_format(file) != "svg":
            require_matplotlib()
    if html is not None and packed_library() is None:
        print(
            "note: plotly is not installed, so the charts of the report are pictures; install"
            " solver-mapper with the extra 'report' for charts that can be examined",
            file=sys.stderr,
        )
    return Pictures(html, charts)


def _plot(text: str) -> tuple[str, Path]:
    name, sign, file = text.rpartition("=")
    if sign and not (name and file):
        raise InputError(
            f"--plot: '{text}' is not of the form CHART=FILE",
            COMMAND_LINE,
            "for example --plot roofline=roofline.svg",
        )
    return name, Path(file)


def _chart(result: object, name: str) -> Chart:
    """The chart that `name` asks for: nothing, a chart's name, or two columns, `X,Y`.

    Raises: InputError if there is no such chart.
    """
    words = name.split(",") if name else []
    draw: Any = chart_of.dispatch(type(result))
    if len(words) >= len(signature(draw).parameters):
        raise _no_chart(name)
    chart: Chart = draw(result, *words)
    return chart


def _no_chart(name: str, hint: str | None = None) -> InputError:
    return InputError(f"--plot: there is no chart '{name}' of this result", COMMAND_LINE, hint)


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"--html: '{file}' cannot be written ({reason})", COMMAND_LINE) from None


def run_of(files: Sequence[str], spec: Warned | None) -> Provenance:
    """The command that runs, the text of what it reads, and its warnings."""
    warnings = () if spec is None else tuple(f"{each} [{each.code}]" for each in spec.warnings)
    return Provenance(shlex.join(["solver-mapper", *sys.argv[1:]]), tuple(_inputs(files)), warnings)


def _inputs(files: Sequence[str]) -> Iterable[InputFile]:
    """The text of each source; bundled names are followed to their files and layers."""
    for word in files:
        if word == "-":
            yield InputFile("standard input")
        elif bundled.is_file(word):
            path = Path(word)
            yield (
                _bundled(path)
                if path.is_relative_to(bundled.root())
                else InputFile(word, _text(path))
            )
    words = [word for word in files if word != "-"]
    names = [word for word in words if not bundled.is_file(word)]
    networks = {word: bundled.network(word) for word in names}
    for network in networks.values():
        if network is not None:
            yield _bundled(bundled.path("workloads", f"{network.name}.yaml"))
    yield from _models([word for word in words if networks.get(word) is None])


def _models(words: Sequence[str]) -> Iterable[InputFile]:
    """The files and layers that bundled names among `words` stand for."""
    try:
        found = bundled.resolve(*words)
        layers = [bundled.layer(word) for word in words if not bundled.is_file(word)]
    except SolverMapperError:
        return
    for path in found:
        if isinstance(path, Path):
            yield _bundled(path)
    for layer in layers:
        if layer is not None:
            plain = {"problem": to_python(layer.problem)}
            yield InputFile(layer.full_name, yaml.safe_dump(plain, sort_keys=False))


def _bundled(path: Path) -> InputFile:
    return InputFile(f"models/{path.relative_to(bundled.root()).as_posix()}", _text(path))


def _text(path: Path) -> str | None:
    """The text of a file; None for one that is binary or gone."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return None
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}\n(and so on)"
