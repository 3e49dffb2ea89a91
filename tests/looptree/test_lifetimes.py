"""Lifetimes of tensors: they fill the memories exactly, and terminal, pictures and reports show
them.
"""

from __future__ import annotations

import io
from fractions import Fraction
from itertools import groupby
from xml.etree import ElementTree

import pytest

import solver_mapper as sm
from solver_mapper.cost.looptree.lifetimes import Lifetime
from solver_mapper.report.lifetimes_svg import span
from solver_mapper.report.lifetimes_text import lifetimes_text
from solver_mapper.report.tables import on_terminal
from tests.documents import ROOT
from tests.looptree.random_trees import random_case
from tests.looptree.test_front import CHAIN, PRODUCT, loaded
from tests.looptree.test_picture import LEGAL

EXAMPLE = str(ROOT / "examples" / "fused_matmuls.yaml")
EXPECTED = """\
Lifetimes of tensors over the Einsums (█ in use, ░ kept)
        C      D       most bits  of memory
DRAM
  A     ██████░░░░░░░      2,048
  V     ██████░░░░░░░      3,072
  W     ░░░░░░░██████      1,536
  D     ░░░░░░░██████      1,024
Buffer
  C     █████████████        768     18.8 %
  A     ██████               512     12.5 %
  W            ██████         64      1.6 %"""


def evaluated(text: str) -> sm.TreeStatistics:
    statistics = sm.evaluate(sm.load(io.StringIO(text)))
    assert isinstance(statistics, sm.TreeStatistics)
    return statistics


@pytest.mark.parametrize("seed", LEGAL[::3])
def test_lifetimes_add_up_to_the_peak_of_each_memory(seed: int) -> None:
    """The fullest Einsum of a memory is its peak; a tensor is in use while its Einsum runs."""
    statistics = evaluated(random_case(seed))
    names = [each.name for each in statistics.einsums]
    for component, group in groupby(statistics.lifetimes, key=lambda each: each.component):
        rows = list(group)
        totals = [sum((each.bits[i] for each in rows), Fraction(0)) for i in range(len(names))]
        if component in statistics.occupancy:
            peak = statistics.occupancy[component]
            assert max(totals) == peak.bits == totals[names.index(peak.einsum)]
    assert {each.component for each in statistics.lifetimes} >= set(statistics.occupancy)
    moved = {
        (each.component, each.subject, einsum.name)
        for einsum in statistics.einsums
        for each in einsum.actions
        if each.action != "compute" and each.actions
    }
    there = {
        (each.component, each.tensor, names[position])
        for each in statistics.lifetimes
        for position in each.positions
        if each.used[position]
    }
    assert {each for each in moved if each[0] != "Link"} <= there


def test_the_terminal_shows_a_bar_for_each_tensor() -> None:
    assert EXPECTED in str(sm.evaluate(sm.load(EXAMPLE)))


def test_a_single_einsum_has_no_lifetimes_to_show() -> None:
    assert "Lifetimes" not in str(sm.solve(loaded(PRODUCT)))


@pytest.mark.parametrize("count", [3, 12, 30, 60])
@pytest.mark.parametrize("columns", [80, 140])
def test_many_einsums_fit_the_terminal(count: int, columns: int) -> None:
    """Names give way to numbers, numbers to their last digits; no row is longer than needed."""
    some = (Fraction(8),) * 2 + (Fraction(0),) * (count - 2)
    lifetimes = [Lifetime("Buffer", "T", Fraction(64), some, (True,) + (False,) * (count - 1))]
    names = [f"Einsum_{number}" for number in range(count)]
    with on_terminal(columns):
        lines = lifetimes_text(lifetimes, names)
    assert max(map(len, lines)) <= max(80, count + 32)
    assert ("Einsum_1" in lines[1]) is (count == 3)
    assert ("numbered" in lines[0]) is (count > 3)
    assert lines[-1].count("█") and lines[-1].count("░")


def test_pictures_and_reports_show_memories_tensors_and_spans() -> None:
    statistics = sm.evaluate(sm.load(EXAMPLE))
    assert isinstance(statistics, sm.TreeStatistics)
    shown = " ".join(ElementTree.fromstring(statistics.plot("lifetimes").svg).itertext())
    for words in ("Buffer has C from C to D, at most 768 bits (18.8 % of it)", "peak 31.2 %"):
        assert words in shown
    assert "W in DRAM during C: 1,536 bits, kept" in shown
    page = statistics.to_html()
    assert "Lifetimes of tensors" in page and "from C to D" in page
    gap = Lifetime("B", "T", None, (Fraction(1), Fraction(0), Fraction(1)), (True, False, True))
    assert span(gap, "abc") == "during a and c"


def test_fronts_have_charts_and_reports() -> None:
    front = sm.pareto(loaded(CHAIN), ("energy", "usage:Sram"))
    chart = front.plot()
    assert len(front.points) > 1
    shown = " ".join(ElementTree.fromstring(chart.svg).itertext())
    assert "energy (pJ)" in shown and "peak in Sram (bits)" in shown
    for number, point in enumerate(front.points, start=1):
        x, y = float(point.values[0] * 10**12), float(point.values[1])
        assert f"point {number}; {x:,.6g}, {y:,.6g}" in shown
    page = front.to_html()
    assert page.count("<details><summary>Point") == len(front.points)
    assert "Complete Pareto front of energy and usage:Sram" in page
    assert "Lifetimes of tensors" in page
    assert "Complete Pareto front" in front._repr_html_()
