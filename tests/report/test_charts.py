"""Charts hold the figures that they show, and each way of drawing them shows all of them."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

import solver_mapper as sm
from solver_mapper.core.results.chart import Axis, BarChart, Chart, Picture, PlaneChart, Series
from solver_mapper.core.results.rendering import svg_of
from solver_mapper.report.charts.palette import COLOURS, colour
from solver_mapper.report.charts.plotly import plotly_of
from solver_mapper.report.charts.scale import Scale, scale_of, short
from solver_mapper.report.charts.statistics_charts import energy_parts
from solver_mapper.report.charts.steps import prolonged
from tests.report.test_figures_text import CASES, figures_of

BARS = BarChart("a < b", "pJ", ("x & y", "z"), {"<A>": (1.0, 2.0), "B": (0.0, 3.5)}, "one & all")
PLANE = PlaneChart(
    "a < b",
    Axis("x", log=True),
    Axis("<y>"),
    (
        Series("points", (1.0, 10.0), (2.0, 3.0), labels=("<one>", "two"), filled=(True, False)),
        Series("steps", (1.0, 5.0), (3.0, 1.0), "steps", dashed=True),
        Series("$line$", (1.0, 5.0), (3.0, 1.0), "line"),
    ),
    {"GLB & co": 4.0},
)


@pytest.fixture(scope="module", params=CASES)
def statistics(request: pytest.FixtureRequest) -> sm.Statistics:
    return figures_of(*CASES[request.param])


def texts(chart: Chart) -> str:
    return " ".join(ElementTree.fromstring(chart.svg).itertext())


@pytest.mark.parametrize("chart", [BARS, PLANE], ids=["bars", "plane"])
def test_svg_is_well_formed_and_shows_every_name(chart: BarChart | PlaneChart) -> None:
    """Names from input are text, never markup."""
    shown = texts(chart)
    parts = chart.parts if isinstance(chart, BarChart) else [each.name for each in chart.series]
    for name in parts:
        assert name in shown
    assert "a < b" in shown


def test_every_bar_and_point_has_its_value_as_a_title() -> None:
    assert "x & y, <A>: 1 pJ" in texts(BARS) and "z, B: 3.5 pJ" in texts(BARS)
    assert "points: <one>; 1, 2" in texts(PLANE)


def test_plotly_gets_all_values_and_no_markup_of_ours() -> None:
    bars, plane = plotly_of(BARS), plotly_of(PLANE)
    assert [trace["x"] for trace in bars["data"]] == [[1.0, 2.0], [0.0, 3.5]]
    assert bars["data"][0]["name"] == "&lt;A&gt;"
    assert plane["data"][0]["text"] == ["&lt;one&gt;", "two"]
    assert plane["data"][0]["marker"]["symbol"] == ["circle", "circle-open"]
    assert plane["data"][1]["line"]["shape"] == "hv"
    assert plane["layout"]["xaxis"]["type"] == "log"
    assert plane["layout"]["annotations"][0]["x"] == pytest.approx(0.60206)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_a_chart_is_saved_in_the_format_of_its_suffix(suffix: str, tmp_path: Path) -> None:
    """Equal charts give equal bytes."""
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    contents = []
    for number, chart in enumerate((BARS, BARS, PLANE)):
        chart.save(tmp_path / f"{number}{suffix}")
        contents.append((tmp_path / f"{number}{suffix}").read_bytes())
    assert all(content.startswith(starts[suffix]) for content in contents)
    assert contents[0] == contents[1] != contents[2]


def test_curves_go_on_beyond_their_last_step_and_marked_points_do_not() -> None:
    """Beyond the last point of all and the last mark, on both kinds of axes."""
    steps = Series("curve", (1.0, 4.0), (9.0, 2.0), "steps")
    marked = Series("front", (1.0, 2.0), (9.0, 2.0), "steps", ("a", "b"))
    for log in (False, True):
        chart = PlaneChart("c", Axis("x", log), Axis("y"), (steps, marked), {"GLB": 10.0})
        curve, front = prolonged(chart).series
        assert curve.x[:2] == steps.x and 10 < curve.x[2] < 12 and curve.y == (9.0, 2.0, 2.0)
        assert front == marked
        assert plotly_of(chart)["data"][0]["x"] == list(curve.x)


def test_eighteen_series_have_colours_of_their_own() -> None:
    colours = [colour(number) for number in range(18)]
    assert len(set(colours)) == 18 and tuple(colours[:6]) == COLOURS


def test_a_chart_can_be_styled_further_with_matplotlib() -> None:
    axes = BARS.figure().axes[0]
    assert [bar.get_width() for bar in axes.patches] == [1.0, 2.0, 0.0, 3.5]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["x & y", "z"]
    assert PLANE.figure().axes[0].get_xscale() == "log"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("chart.jpeg", r"'\.jpeg' is not a format of pictures.*\.svg, \.png, \.pdf"),
        ("chart", "'chart' is not a format of pictures"),
        ("missing/chart.svg", "cannot be written"),
    ],
)
def test_what_cannot_be_saved_is_an_input_error(file: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(sm.InputError, match=message):
        BARS.save(tmp_path / file)


def test_drawings_are_saved_as_svg_alone(tmp_path: Path) -> None:
    picture = Picture("nest", "<svg xmlns='http://www.w3.org/2000/svg'/>")
    picture.save(tmp_path / "nest.svg")
    with pytest.raises(sm.InputError, match=r"drawn as SVG only.*end the name in \.svg"):
        picture.save(tmp_path / "nest.png")


def test_without_matplotlib_png_and_pdf_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(sm.InputError, match=r"matplotlib is not installed.*with the extra 'plot'"):
        BARS.save(tmp_path / "chart.png")
    BARS.save(tmp_path / "chart.svg")


def test_the_energy_chart_adds_up_to_the_energy(statistics: sm.Statistics) -> None:
    """Every part is there once: tensors, leakage, compute units, networks."""
    total = sum((sum(parts.values()) for _, parts in energy_parts(statistics)), Fraction(0))
    assert total == statistics.energy_pj


def test_the_longest_cycles_bar_is_the_figure_of_the_mapping(statistics: sm.Statistics) -> None:
    """But for latencies of networks, which are added once."""
    chart = statistics.plot("cycles")
    assert isinstance(chart, BarChart)
    slowest = max(level.cycles for level in statistics.levels.values())
    assert slowest - 1 < max(chart.parts["cycles"]) <= slowest


def test_no_mapping_stands_above_a_roof(statistics: sm.Statistics) -> None:
    """At each bandwidth, its slope at the mapping's intensity is at least what is reached."""
    chart = statistics.plot("roofline")
    assert isinstance(chart, PlaneChart)
    here, roof, *slopes = chart.series
    assert max(here.y) <= roof.y[0] * (1 + 1e-9)
    rates = {}
    for each in slopes:
        level, _, limit = each.name.partition(", ")
        for what in limit.partition(":")[0].split(" or "):
            rates[f"{level}, {what}"] = each.y[0] / each.x[0]
    for x, y, label in zip(here.x, here.y, here.labels, strict=True):
        assert y <= rates.get(label, float("inf")) * x * (1 + 1e-9)
    assert set(here.labels) >= set(rates)


def test_the_nest_shows_levels_loops_tiles_and_the_mesh() -> None:
    shown = texts(figures_of(*CASES["eyeriss_layer"]).plot("nest"))
    assert "shared_glb stores Inputs (32,768 words), Outputs (25,088 words)" in shown
    assert "for C in 2" in shown and "Weights bypasses" in shown
    assert "168 of 168 in use" in shown and "Y: C=4 x S=3 (12 of 12)" in shown


def test_the_nest_of_residual_factors_names_the_last_rounds() -> None:
    assert "at last" in texts(figures_of(*CASES["wires_leakage_residuals"]).plot("nest"))


def test_a_chart_that_does_not_exist_is_an_input_error(statistics: sm.Statistics) -> None:
    with pytest.raises(sm.InputError, match=r"no chart 'rofline'.*roofline"):
        statistics.plot("rofline")


def test_notebooks_show_charts_and_mappings(statistics: sm.Statistics) -> None:
    chart = statistics.plot()
    assert chart._repr_svg_() == chart.svg == svg_of(chart)
    assert "<svg" in statistics._repr_html_() and "<script" not in statistics._repr_html_()


@pytest.mark.parametrize(
    ("values", "log", "ticks"),
    [
        ([0.0, 9.0], False, [0.0, 2.0, 4.0, 6.0, 8.0]),
        ([1.0, 100.0], True, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]),
        ([5.0, 5.0], False, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        ([0.0], True, [0.9, 0.95, 1.0, 1.05, 1.1]),
        ([220.0, 230.0], True, [200.0, 220.0, 240.0, 260.0]),
    ],
)
def test_scales_have_round_ticks(values: list[float], log: bool, ticks: list[float]) -> None:
    scale = scale_of(values, 0, 100, log)
    assert scale.ticks() == pytest.approx(ticks)


def test_a_scale_maps_its_ends_to_pixels() -> None:
    scale = Scale(1, 100, 10, 50, True)
    assert [scale(value) for value in (1, 10, 100)] == pytest.approx([10, 30, 50])


@pytest.mark.parametrize(
    ("value", "label"), [(0.25, "0.25"), (1500, "1.5k"), (3e6, "3M"), (2e15, "2e+15"), (0, "0")]
)
def test_tick_labels_are_short(value: float, label: str) -> None:
    assert short(value) == label
