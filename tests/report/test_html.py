"""Reports are one file each that needs nothing else, and text from the input is text in them."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.core.results.rendering import document_of
from solver_mapper.report.html.page import (
    Code,
    InputFile,
    Page,
    Provenance,
    Section,
    Words,
    table,
    with_run,
)
from tests.documents import ROOT

GEMM = str(ROOT / "examples" / "gemm_64.yaml")
DESIGN = (
    str(ROOT / "examples" / "first_accelerator.yaml"),
    str(ROOT / "examples" / "first_layer.yaml"),
)
TREE = str(ROOT / "examples" / "fused_matmuls.yaml")
LAYER = ("eyeriss", "resnet50/layer3.x.conv2_3x3", str(ROOT / "examples" / "eyeriss_layer.yaml"))
NASTY = "<script>alert(1)</script>&\"'"
VOID = {"meta", "link", "br", "input", "hr"}


class Reader(HTMLParser):
    """Ids, links and tags of a page whose elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.anchors: list[str] = []
        self.outside: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        if "id" in found:
            self.ids.append(found["id"] or "")
        for name in ("href", "src"):
            value = found.get(name) or ""
            if value.startswith("#"):
                self.anchors.append(value[1:])
            elif value and not value.startswith("data:"):
                self.outside.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(autouse=True)
def without_plotly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests read pages without the five megabytes of the library."""
    if "plotly" not in request.keywords:
        monkeypatch.setattr("solver_mapper.report.html.render.packed_library", lambda: None)


@pytest.fixture(scope="module")
def solution() -> sm.Solution:
    found = sm.solve(sm.load(*DESIGN))
    assert isinstance(found, sm.Solution)
    return found


def read(text: str) -> Reader:
    """The page, after what every page must be."""
    page = Reader(text)
    assert text.startswith("<!DOCTYPE html>") and '<html lang="en">' in text
    assert len(set(page.ids)) == len(page.ids)
    assert set(page.anchors) <= set(page.ids)
    assert not page.outside
    return page


def test_the_report_of_a_solution_has_every_figure(solution: sm.Solution) -> None:
    text = solution.to_html()
    page = read(text)
    statistics = solution.evaluation
    assert statistics is not None
    for name, level in statistics.levels.items():
        assert name in text
        for row in level.tensors.values():
            assert f">{row.reads:,}</td>" in text
    assert f"{statistics.cycles:,}" in text and "Proven optimal for edp" in text
    assert page.tags.count("svg") == 5 and "Value and bound over time" in text
    assert "Loop nest over the memory hierarchy" in text
    assert "mapping:" in text  # the mapping as a file


def test_equal_results_give_equal_reports() -> None:
    statistics = sm.evaluate(sm.load(*LAYER))
    assert statistics.to_html() == sm.evaluate(sm.load(*LAYER)).to_html()


def test_the_report_of_an_illegal_mapping_lists_what_is_wrong() -> None:
    spec = sm.load("eyeriss", "resnet50/conv1", LAYER[2])
    with pytest.raises(sm.InputError):
        sm.evaluate(spec)
    small = sm.load(*LAYER).with_attributes({"shared_glb.entries": 16})
    text = sm.evaluate(small).to_html()
    read(text)
    assert "Illegal mapping" in text and "capacity" in text


def test_the_report_of_an_infeasible_problem_names_the_conflict() -> None:
    none = sm.solve(sm.load(str(ROOT / "examples" / "small_glb.yaml")))
    assert none.status == "infeasible"
    text = none.to_html()
    read(text)
    assert "Proven infeasible" in text and "conflict" in text


def test_the_report_of_a_front_has_every_point(solution: sm.Solution) -> None:
    front = sm.pareto(sm.load(*DESIGN))
    text = front.to_html()
    read(text)
    assert all(f"Point {number}" in text for number in range(1, len(front.points) + 1))
    assert front._repr_html_().count("<tr>") == len(front.points) + 1


def test_the_report_of_a_tree_has_its_picture_and_actions() -> None:
    found = sm.solve(sm.load(TREE))
    text = found.to_html()
    read(text)
    assert "Mapping tree" in text and "Occupancy" in text and "Proven optimal" in text
    energy = found.plot("energy")
    total = sum(sum(values) for values in energy.parts.values())  # type: ignore[attr-defined]
    assert total == pytest.approx(float(found.evaluation.energy) * 1e12)  # type: ignore[union-attr]
    assert found.plot("latency").svg != found.plot("tree").svg


def test_the_reports_of_bounds_and_fusion_have_every_step() -> None:
    fused = sm.fuse(sm.load(str(ROOT / "examples" / "fusion" / "pair.yaml")))
    for curve in (sm.bound(sm.load(GEMM)), fused):
        text = curve.to_html()
        read(text)
        for point in curve.points:
            assert f">{point.accesses:,}</td>" in text
        assert curve.plot("intensity").svg != curve.plot().svg
    with pytest.raises(sm.InputError, match="no chart 'x'"):
        fused.plot("x")


def test_the_report_of_a_network_has_every_layer_and_its_nest() -> None:
    result = sm.solve_network("eyeriss", "tiny")
    text = result.to_html()
    read(text)
    for layer in result.layers:
        assert text.count(layer.name) >= 2
    assert str(result.totals.cycles is not None and f"{result.totals.cycles:,}") in text
    assert "Every layer is proven optimal for edp" in text
    assert result.plot("layers").svg.count("<rect") > len(result.layers)


def test_the_report_of_a_sweep_has_a_row_for_each_point() -> None:
    result = sm.sweep(
        {
            "architecture": "eyeriss",
            "workloads": ["tiny/conv_small"],
            "parameters": {"psum_spad.entries": [0, 16], "shared_glb.entries": [4096, 65536]},
        }
    )
    text = result.to_html()
    read(text)
    assert "Complete: every point has a proven answer" in text
    assert text.count("<td>optimal</td>") == 2 and text.count("<td>no mapping exists</td>") == 2
    assert "edp (pJ x cycles) against shared_glb.entries" in text


def test_text_from_the_input_is_never_markup() -> None:
    """Titles, cells, warnings, commands, files and chart data."""
    page = Page(
        NASTY,
        NASTY,
        NASTY,
        "good",
        (
            Section(
                NASTY, (table(NASTY, (NASTY,), [(NASTY,)]), Words((NASTY,)), Code(NASTY, NASTY))
            ),
        ),
    )
    text = document_of(with_run(page, Provenance(NASTY, (InputFile(NASTY, NASTY),), (NASTY,))))
    read(text)
    assert "<script>alert" not in text


def test_names_in_files_are_text_in_reports_and_pictures() -> None:
    source = Path(DESIGN[0]).read_text(encoding="utf-8")
    hostile = source.replace("name: GLB", "name: '<img src=x onerror=alert(1)>'")
    assert hostile != source
    found = sm.solve(sm.load(io.StringIO(hostile), DESIGN[1]), time_limit=5)
    text = found.to_html()
    read(text)
    assert "<img" not in text and "&lt;img src=x onerror" in text
    assert "<img" not in found._repr_html_()


def test_tables_name_the_columns_that_hold_numbers() -> None:
    made = table("t", ("a", "b"), [("x", 1), ("y", None)])
    assert made.numeric == (False, True)
    assert made.rows[1][1].text == ""


def test_chart_data_is_json_that_plotly_reads(solution: sm.Solution) -> None:
    text = solution.to_html()
    found = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert len(found) == 4
    for each in found:
        drawn = json.loads(each)
        assert drawn["data"] and drawn["layout"]["height"] > 0


def test_reports_say_how_to_get_charts_that_can_be_examined(solution: sm.Solution) -> None:
    assert "with the extra" in solution.to_html()


@pytest.mark.plotly
def test_the_library_is_embedded_once_and_packed(solution: sm.Solution, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    text = solution.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text
    (packed,) = re.findall(r'id="plotly">([^<]*)</script>', text)
    assert gzip.decompress(b64decode(packed)).lstrip().startswith(b"/**\n* plotly.js v")
    assert len(text.encode()) < 2_500_000
    assert text.count("</script>") == 4 + 2  # data of four charts, the library, the page's own


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output


def test_the_command_line_writes_reports_and_charts(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("r.html", "e.svg", "roof.png", "nest.svg")]
    code, _ = run(
        *("evaluate", *LAYER, "--html", str(files[0]), "-o", str(tmp_path / "out")),
        *("--plot", str(files[1]), "--plot", f"roofline={files[2]}", "--plot", f"nest={files[3]}"),
    )
    assert code == 0
    assert all(file.stat().st_size for file in files)
    text = files[0].read_text(encoding="utf-8")
    read(text)
    assert text == (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "models/architectures/eyeriss/arch.yaml" in text
    assert "resnet50/layer3.x.conv2_3x3" in text and "# A mapping by hand" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--plot", "x.gif"), "'.gif' is not a format of pictures"),
        (("--plot", "=x.svg"), "'=x.svg' is not of the form CHART=FILE"),
        (("--plot", "rooflines={}/x.svg"), "no chart 'rooflines'"),
        (("--plot", "a,b,c={}/x.svg"), "there is no chart 'a,b,c' of this result"),
        (("--html", "/proc/none/report.html"), "cannot be written"),
    ],
)
def test_what_cannot_be_drawn_or_written_is_bad_input(
    words: tuple[str, str], message: str, tmp_path: Path
) -> None:
    code, shown = run("evaluate", *LAYER, words[0], words[1].format(tmp_path))
    assert code == 2 and message in shown


def test_without_plotly_the_html_option_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    code, shown = run("evaluate", *LAYER, "--html", str(tmp_path / "r.html"))
    assert code == 0 and "with the extra 'report'" in shown
    assert (tmp_path / "r.html").exists()


def test_standard_input_and_networks_are_named_among_the_input(tmp_path: Path) -> None:
    file = tmp_path / "r.html"
    assert run("solve", "eyeriss", "tiny", "--html", str(file))[0] == 0
    assert "models/workloads/tiny.yaml" in file.read_text(encoding="utf-8")


def test_reports_of_networks_and_sweeps_show_warnings_with_their_codes(tmp_path: Path) -> None:
    report, sweep = tmp_path / "r.html", tmp_path / "sweep.yaml"
    sweep.write_text(
        f"sweep:\n  architecture: {DESIGN[0]}\n  workloads: [tiny/mm8]\n"
        "  parameters: {GLB.entries: [256]}\n",
        encoding="utf-8",
    )
    for words in (("solve", DESIGN[0], "tiny/mm8"), ("sweep", str(sweep))):
        assert run(*words, "--html", str(report))[0] == 0
        text = report.read_text(encoding="utf-8")
        assert 'id="warnings"' in text and "[no-energy-table]" in text


@pytest.mark.parametrize("network", [False, True])
def test_tilings_have_reports(network: bool, tmp_path: Path) -> None:
    file, chart = tmp_path / "r.html", tmp_path / "c.svg"
    operator = tmp_path / "operator.yaml"
    operator.write_text(
        "operator: convolution\nname: layer\ninput_shape: [1, 28, 28, 512]\n"
        "kernel: {num: 128, rows: 1, cols: 1}\nstride: 1\npadding: same\n",
        encoding="utf-8",
    )
    word = "vgg16" if network else str(operator)
    code, shown = run("tile", word, "--html", str(file), "--plot", str(chart))
    assert code == 0, shown
    text = file.read_text(encoding="utf-8")
    read(text)
    assert ("SMAUG&#39;s choice: conv_3_64_224: no tiling fits" in text) is network
