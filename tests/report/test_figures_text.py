"""The figures of a mapping as people read them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.io import bundled
from solver_mapper.report import tables as plain
from solver_mapper.report.statistics_text import algorithmic_minimum
from tests import golden

TESTS = Path(__file__).parents[1]
CASES = {
    "eyeriss_layer": (
        "eyeriss",
        "resnet50/layer3.x.conv2_3x3",
        str(TESTS.parent / "examples" / "eyeriss_layer.yaml"),
    ),
    "matmul_bandwidth": (
        str(TESTS / "data" / "timeloop_model" / "c15_matmul_bandwidth" / "case.yaml"),
    ),
    "wires_leakage_residuals": (str(TESTS / "data" / "report" / "wires_leakage_residuals.yaml"),),
}


def figures_of(*files: str) -> sm.Statistics:
    statistics = sm.evaluate(sm.load(*bundled.resolve(*files)))
    assert isinstance(statistics, sm.Statistics)
    return statistics


@pytest.mark.parametrize("name", CASES)
def test_figures_read_as_before(name: str) -> None:
    text = str(figures_of(*CASES[name]))
    golden.check(f"figures_{name}.txt", f"{text}\n")
    assert max(map(len, text.splitlines())) <= plain.WIDTH


def test_the_energy_shares_are_of_all_there_is() -> None:
    """Every part of the energy has a line: levels, multipliers and wires add up to the total."""
    statistics = figures_of(*CASES["wires_leakage_residuals"])
    table = str(statistics).split("Energy by component\n")[1].splitlines()[2:]
    parts = [*statistics.levels.values(), *statistics.networks.values()]
    assert [line.split("  ")[0] for line in table] == [
        part.name for part in parts if part.energy_pj
    ]
    assert sum((part.energy_pj for part in parts), Fraction(0)) == statistics.energy_pj


def test_no_number_is_cut_however_large() -> None:
    """A table that needs more than the usual width is wider; rich would put an ellipsis into it."""
    problem = {
        "problem": {
            "shape": {
                "name": "gemm",
                "dimensions": ["M", "K", "N"],
                "data-spaces": [
                    {"name": "A", "projection": [[["M"]], [["K"]]]},
                    {"name": "B", "projection": [[["K"]], [["N"]]]},
                    {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
                ],
            },
            "instance": {"M": 10**9, "K": 10**9, "N": 10**9},
        }
    }
    far = "a_level_whose_name_is_longer_than_anybody_would_ever_type"
    arch = {
        "arch": {
            "arithmetic": {"name": "MAC", "instances": 1},
            "storage": [
                {"name": "RF", "entries": 8, "instances": 1},
                {"name": far, "technology": "DRAM", "instances": 1},
            ],
        }
    }
    mapping = {
        "mapping": [
            {"target": far, "type": "temporal", "factors": "M=0 K=0 N=0", "permutation": "NKM"}
        ]
    }
    text = str(sm.evaluate(sm.load(problem, arch, mapping)))
    assert "…" not in text
    assert far in text
    assert f"{10**27:,}" in text


def test_compulsory_words_are_those_that_every_mapping_moves() -> None:
    """Each word touched counts once; holes that a stride leaves in the inputs do not count."""
    problem = {
        "problem": {
            "shape": {
                "name": "conv",
                "dimensions": ["P", "R"],
                "coefficients": [{"name": "stride", "default": 5}],
                "data-spaces": [
                    {"name": "I", "projection": [[["P", "stride"], ["R"]]]},
                    {"name": "W", "projection": [[["R"]]]},
                    {"name": "O", "projection": [[["P"]]], "read-write": True},
                ],
            },
            "instance": {"P": 4, "R": 3},
        }
    }
    arch = {
        "arch": {
            "arithmetic": {"name": "MAC", "instances": 1},
            "storage": [{"name": "DRAM", "technology": "DRAM", "instances": 1}],
        }
    }
    mapping = {
        "mapping": [
            {"target": "DRAM", "type": "temporal", "factors": "P=4 R=3", "permutation": "RP"}
        ]
    }
    statistics = sm.evaluate(sm.load(problem, arch, mapping))
    assert isinstance(statistics, sm.Statistics)
    assert algorithmic_minimum(statistics) == 4 * 3 + 3 + 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(7), "7"),
        (Fraction(1234567), "1,234,567"),
        (Fraction(1, 3), "0.33"),
        (Fraction(2, 3), "0.67"),
        (Fraction(10**30), f"{10**30:,}"),
        (Fraction(10**30 + 1, 2), f"{10**30 // 2:,}.50"),
    ],
)
def test_numbers_are_exact_to_the_digits_shown(value: Fraction, text: str) -> None:
    assert plain.number(value) == text


@pytest.mark.parametrize(
    ("total", "unit"),
    [(0, "pJ"), (999_999, "pJ"), (1_000_000, "nJ"), (10**14, "mJ"), (10**24, "J")],
)
def test_the_unit_of_energy_fits_the_total(total: int, unit: str) -> None:
    assert plain.energy_unit(Fraction(total))[0] == unit


def test_text_is_the_same_on_any_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = figures_of(*CASES["matmul_bandwidth"])
    before = str(statistics)
    for name, value in (
        ("COLUMNS", "40"),
        ("FORCE_COLOR", "1"),
        ("TERM", "dumb"),
        ("JUPYTER_COLUMNS", "30"),
    ):
        monkeypatch.setenv(name, value)
    assert str(statistics) == before
