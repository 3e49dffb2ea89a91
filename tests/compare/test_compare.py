"""Mappings beside each other: differences are shown, and the explanation follows the figures."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from tests.documents import ROOT

GIVEN = str(ROOT / "examples" / "eyeriss_layer.yaml")
FILES = ("eyeriss", "resnet50/layer3.x.conv2_3x3")
SMALL = (
    str(ROOT / "examples" / "first_accelerator.yaml"),
    str(ROOT / "examples" / "first_layer.yaml"),
)


@pytest.fixture
def other(tmp_path: Path) -> str:
    """The example's mapping with a loop over K moved outwards."""
    text = Path(GIVEN).read_text(encoding="utf-8")
    moved = text.replace("factors: C=2 K=2,", "factors: C=2 K=4,").replace("C=8 K=8,", "C=8 K=4,")
    assert moved != text
    file = tmp_path / "other.yaml"
    file.write_text(moved, encoding="utf-8")
    return str(file)


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["compare", *words])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def compared(other: str) -> sm.Comparison:
    spec = sm.load(*FILES)
    found = {name: sm.load(*FILES, name).need_mapping() for name in (GIVEN, other)}
    return sm.compare(spec, found)  # type: ignore[arg-type]


def test_the_terms_add_up_to_the_energies(compared: sm.Comparison) -> None:
    for number, each in enumerate(compared.mappings):
        total = sum((term.energies[number] for term in compared.terms), Fraction(0))
        assert total == each.statistics.energy_pj


def test_terms_that_differ_most_come_first(compared: sm.Comparison) -> None:
    changes = [abs(term.energies[0] - term.energies[1]) for term in compared.terms]
    assert changes == sorted(changes, reverse=True) and changes[0] > 0


def test_every_loop_is_in_the_nest_and_differences_are_marked(compared: sm.Comparison) -> None:
    for number, each in enumerate(compared.mappings):
        shown = [row.cells[number] for row in compared.nest if row.cells[number].startswith("for")]
        assert len(shown) == sum(loop.bound > 1 for loop in each.statistics.mapping.loops())
    marked = {row.cells for row in compared.nest if row.differs}
    assert ("for K in 2", "for K in 4") in marked and ("for K in 8", "for K in 4") in marked


def test_the_better_mapping_is_the_one_of_least_value(compared: sm.Comparison) -> None:
    values = [each.statistics.edp for each in compared.mappings]
    assert compared.best == values.index(min(values)) == 0
    assert compared.ratio(1) == pytest.approx(float(values[1] / values[0]))
    assert "DRAM Inputs (+26,214,400 pJ)" in str(compared).replace("\n", " ")


def test_the_command_compares_the_files_mapping_with_others(other: str) -> None:
    code, shown, _ = run(*FILES, GIVEN, "--mapping", other)
    assert code == 0
    assert "eyeriss_layer.yaml is better: " in shown and "bound by compute" in shown
    assert max(map(len, shown.split("\n\n")[0].splitlines())) <= 100


def test_variables_of_a_mapping_that_is_a_template_are_used(other: str) -> None:
    file = Path(other)
    file.write_text(file.read_text().replace("C=8 K=4,", "C=8 K={{ k }},"), encoding="utf-8")
    code, _, told = run(*FILES, GIVEN, "--mapping", other, "-D", "k=4", "-D", "unknown=1")
    assert code == 0
    assert "'k'" not in told and "no template uses the variable 'unknown'" in told


def test_the_optimum_is_never_worse(other: str) -> None:
    words = ("--optimum", "--objective", "energy", "--json")
    code, shown, _ = run(*SMALL, *words, "--mapping", _first_mapping(Path(other).parent))
    assert code == 0
    told: dict[str, Any] = json.loads(shown)
    assert told["mappings"][1]["name"] == "optimum" and told["mappings"][1]["status"] == "optimal"
    assert told["mappings"][0]["ratio"] >= told["mappings"][1]["ratio"] == 1.0
    assert {"level", "tensor", "energy_pj"} == set(told["terms"][0])


def _first_mapping(folder: Path) -> str:
    spec = sm.load(*SMALL)
    mapping = next(sm.enumerate(spec, 1))
    file = folder / "first.yaml"
    file.write_text(mapping.to_yaml(), encoding="utf-8")
    return str(file)


def test_equal_mappings_are_said_to_be_equal() -> None:
    spec = sm.load(*FILES, GIVEN)
    assert isinstance(spec, sm.Spec)
    same = sm.compare(spec, {"a": spec.need_mapping(), "b": spec.need_mapping()})
    assert "b has the same edp as a." in str(same)
    assert not [row for row in same.nest if row.differs]


def test_an_illegal_mapping_is_compared_and_named_as_such(other: str) -> None:
    spec = sm.load(*FILES)
    assert isinstance(spec, sm.Spec)
    small = spec.with_attributes({"shared_glb.entries": 50_000})
    found = {name: sm.load(*FILES, name).need_mapping() for name in (GIVEN, other)}
    assert f"{GIVEN} is illegal: " in str(sm.compare(small, found)).replace("\n", " ")  # type: ignore[arg-type]


def test_results_of_a_comparison_are_written(other: str, tmp_path: Path) -> None:
    chart = tmp_path / "cycles.svg"
    code, _, _ = run(
        *FILES, GIVEN, "--mapping", other, "-o", str(tmp_path), "--plot", f"cycles={chart}"
    )
    assert code == 0
    assert {"comparison.json", "comparison.txt", "report.html"} <= {
        file.name for file in tmp_path.iterdir()
    }
    assert "other.yaml" in chart.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*FILES, GIVEN), "a comparison needs at least two mappings"),
        ((*FILES, "--mapping", GIVEN, "--mapping", GIVEN), "is given twice"),
        ((*FILES, "--mapping", SMALL[0]), "there is no 'mapping:' in this file"),
        ((*FILES, GIVEN, "--time-limit", "1"), "needs --optimum"),
        ((*FILES, GIVEN, "--optimum", "--objective", "delay,energy"), "has 2 goals"),
        ((str(ROOT / "examples" / "fused_matmuls.yaml"), "--optimum"), "does not take LoopTree"),
    ],
)
def test_what_cannot_be_compared_is_bad_input(words: tuple[str, ...], message: str) -> None:
    code, _, shown = run(*words)
    assert code == 2 and message in shown


def test_python_refuses_looptrees() -> None:
    with pytest.raises(sm.InputError, match="comparing LoopTree mappings is not supported"):
        sm.compare(sm.load(str(ROOT / "examples" / "fused_matmuls.yaml")), {})


def test_an_optimum_that_does_not_exist_ends_with_exit_code_one(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "small_glb.yaml").read_text(encoding="utf-8")
    mapping = tmp_path / "map.yaml"
    mapping.write_text(
        "mapping:\n- {target: DRAM, type: temporal, factors: M=8 K=8 N=8}\n", encoding="utf-8"
    )
    file = tmp_path / "design.yaml"
    file.write_text(text, encoding="utf-8")
    code, _, shown = run(str(file), "--mapping", str(mapping), "--optimum")
    assert code == 1 and "no mapping is legal" in shown


def test_an_optimum_that_is_not_found_in_time_ends_with_exit_code_three(other: str) -> None:
    code, _, shown = run(*FILES, "--mapping", other, "--optimum", "--time-limit", "0")
    assert code == 3 and ("in time" in shown or "the time limit was reached" in shown)
