"""Reports in a browser: no error, no request, charts drawn, tables sorted, narrow and wide, light
and dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.tiling.api import Options
from solver_mapper.tiling.network import read_network, tile_network
from tests.browser.chromium import Tab, open_tab, program
from tests.documents import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(program() is None, reason="chromium is not installed"),
]

DESIGN = tuple(
    str(ROOT / "examples" / name) for name in ("first_accelerator.yaml", "first_layer.yaml")
)
SWEEP = {
    "architecture": "eyeriss",
    "workloads": ["tiny/conv_small"],
    "parameters": {"psum_spad.entries": [0, 16, 32], "shared_glb.entries": [4096, 65536]},
}
OPERATOR = {
    "operator": "convolution",
    "name": "layer",
    "input_shape": [1, 28, 28, 512],
    "kernel": {"num": 128, "rows": 1, "cols": 1},
    "stride": 1,
    "padding": "same",
}
KINDS = (
    "layer",
    "evaluate",
    "pareto",
    "network",
    "sweep",
    "tree",
    "tree-evaluate",
    "tree-pareto",
    "bound",
    "fuse",
    "tile",
    "tile-network",
    "compare",
)


VGG16 = ROOT / "models" / "operators" / "vgg16.yaml"
LAYER = str(ROOT / "examples" / "eyeriss_layer.yaml")


def result_of(kind: str) -> sm.Solution | sm.NetworkResult:
    """A small result of each kind; all have `to_html`."""
    spec = sm.load(*DESIGN)
    tree = str(ROOT / "examples" / "fused_matmuls.yaml")
    hand = sm.load("eyeriss", "resnet50/layer3.x.conv2_3x3", LAYER).need_mapping()
    made = {
        "evaluate": lambda: sm.evaluate(sm.load("eyeriss", "resnet50/layer3.x.conv2_3x3"), hand),
        "pareto": lambda: sm.pareto(spec),
        "tree-evaluate": lambda: sm.evaluate(sm.load(tree)),
        "tree-pareto": lambda: sm.pareto(sm.load(tree)),
        "fuse": lambda: sm.fuse(sm.load(str(ROOT / "examples" / "fusion" / "pair.yaml"))),
        "tile": lambda: sm.tile(OPERATOR),
        "tile-network": lambda: tile_network(read_network(VGG16), Options()),
        "layer": lambda: sm.solve(spec),
        "network": lambda: sm.solve_network("eyeriss", "tiny"),
        "sweep": lambda: sm.sweep(SWEEP),
        "tree": lambda: sm.solve(sm.load(str(ROOT / "examples" / "fused_matmuls.yaml"))),
        "bound": lambda: sm.bound(spec),
        "compare": lambda: sm.compare(spec, {"one": next(sm.enumerate(spec, 1))}, optimum=True),
    }
    return made[kind]()  # type: ignore[no-any-return, no-untyped-call]


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with open_tab() as opened:
        yield opened


class Reports(dict[str, Path]):
    """The report of each kind, written when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, kind: str) -> Path:
        file = self.folder / f"{kind}.html"
        result_of(kind).to_html(file)
        self[kind] = file
        return file


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return Reports(tmp_path_factory.mktemp("reports"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("kind", KINDS)
def test_a_report_opens_without_errors_and_fits(
    kind: str, width: int, dark: bool, tab: Tab, reports: dict[str, Path]
) -> None:
    """Every chart is drawn by Plotly; the page itself never scrolls sideways."""
    tab.show(reports[kind], width, dark)
    charts = tab.value("document.querySelectorAll('script[data-chart]').length")
    drawn = tab.value(
        "[...document.querySelectorAll('.js-plotly-plot')].map("
        "(each) => each.querySelectorAll('.main-svg .trace path').length)"
    )
    assert charts and len(drawn) == charts and all(drawn)
    assert tab.value("document.documentElement.scrollWidth") <= width
    shade = tab.value("getComputedStyle(document.body).backgroundColor")
    assert shade == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
    assert not tab.errors
    assert all(url.startswith(("file:", "data:", "blob:")) for url in tab.requests)


def column(tab: Tab, number: int) -> list[str]:
    rows = "document.querySelector('#access-counts table').tBodies[0].rows"
    found = tab.value(f"[...{rows}].map((row) => row.cells[{number}].textContent)")
    return list(found)


def test_tables_are_sorted_by_pointer_and_keyboard(tab: Tab, reports: dict[str, Path]) -> None:
    """Numbers as numbers; the header says in which order."""
    tab.show(reports["layer"], 1440, False)
    heads = "document.querySelectorAll('#access-counts table th')"
    titles = tab.value(f"[...{heads}].map((each) => each.textContent)")
    reads = titles.index("reads")
    tab.value(f"{heads}[{reads}].querySelector('button').click()")
    numbers = [int(each.replace(",", "")) for each in column(tab, reads)]
    assert numbers == sorted(numbers) and len(set(numbers)) > 2
    assert tab.value(f"{heads}[{reads}].getAttribute('aria-sort')") == "ascending"
    tab.value(f"{heads}[{reads}].querySelector('button').focus()")
    tab.press("Enter")
    assert column(tab, reads) == [f"{each:,}" for each in sorted(numbers, reverse=True)]
    assert tab.value(f"{heads}[{reads}].getAttribute('aria-sort')") == "descending"
    tab.value(f"{heads}[1].querySelector('button').click()")
    assert column(tab, 1) == sorted(column(tab, 1))
    assert tab.value(f"{heads}[{reads}].getAttribute('aria-sort')") is None


def test_the_reader_switches_between_light_and_dark(tab: Tab, reports: dict[str, Path]) -> None:
    """Charts follow."""
    tab.show(reports["layer"], 1440, False)
    tab.value("document.getElementById('theme').click()")
    ink = "getComputedStyle(document.querySelector('.xtick text')).fill"
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    assert tab.value(ink) == "rgb(230, 233, 236)"
    tab.value("document.getElementById('theme').click()")
    assert tab.value(ink) == "rgb(27, 31, 36)"
    tab.value("localStorage.clear()")


def test_everything_is_reached_by_keyboard(tab: Tab, reports: dict[str, Path]) -> None:
    """The first key leads past the header, and regions that scroll can be focused."""
    tab.show(reports["layer"], 390, False)
    tab.press("Tab")
    assert tab.value("document.activeElement.textContent") == "Skip to the content"
    assert tab.value(
        "[...document.querySelectorAll('.scroll, pre')].every((each) => each.tabIndex === 0)"
    )
    assert tab.value(
        "[...document.querySelectorAll('.picture')].every((each) => each.ariaLabel.length > 10)"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_screen_reader_finds_its_way(kind: str, tab: Tab, reports: dict[str, Path]) -> None:
    """One first heading, no level left out, names for what can be used, captions for tables, and
    words for each chart.
    """
    tab.show(reports[kind], 1440, False)
    levels = tab.value("[...document.querySelectorAll('h1,h2,h3')].map((each) => each.tagName)")
    assert levels.count("H1") == 1 and levels[0] == "H1" and "H2" in levels
    assert tab.value("document.documentElement.lang") == "en" and tab.value("document.title")
    nameless = (
        "[...document.querySelectorAll('button, a, summary, [role=region], [role=img], .drawing')]"
        ".filter((each) => !(each.ariaLabel || each.textContent).trim()).length"
    )
    assert tab.value(nameless) == 0
    assert tab.value("[...document.querySelectorAll('table')].every((each) => each.caption)")
    assert tab.value("[...document.querySelectorAll('th')].every((each) => each.scope)")
    assert tab.value("[...document.querySelectorAll('svg[role=img]')].every((e) => e.textContent)")


def test_a_report_prints(tab: Tab, reports: dict[str, Path]) -> None:
    """Black on white, whatever the screen shows, without what only a screen can use."""
    tab.show(reports["layer"], 1440, True)
    assert tab.pdf().startswith(b"%PDF") and not tab.errors
    tab.ask("Emulation.setEmulatedMedia", media="print")
    assert tab.value("getComputedStyle(document.getElementById('theme')).display") == "none"
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.value("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    tab.ask("Emulation.setEmulatedMedia", media="")


def test_a_report_without_plotly_shows_pictures(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solver_mapper.report.html.render.packed_library", lambda: None)
    file = tmp_path / "plain.html"
    result_of("layer").to_html(file)
    assert file.stat().st_size < 300_000
    tab.show(file, 390, True)
    assert tab.value("document.querySelectorAll('.picture > svg').length") == 4
    assert tab.value("document.documentElement.scrollWidth") <= 390
    assert not tab.errors
