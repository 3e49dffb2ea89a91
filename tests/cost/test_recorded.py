"""The model against figures recorded from Timeloop v3.0.3 (see
tests/data/timeloop_model/README.md).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop import evaluate
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.io.timeloop.specification import load

CASES = sorted((Path(__file__).parents[1] / "data" / "timeloop_model").glob("*/case.yaml"))
WORDS = (
    "partition",
    "tile",
    "instances",
    "reads",
    "fills",
    "updates",
    "temporal_reductions",
    "address_generations",
)


def read(case: Path) -> tuple[Spec, dict[str, Any]]:
    return load(case), json.loads((case.parent / "expected.json").read_text())


def recorded(legal: bool) -> Any:
    chosen = [
        case
        for case in CASES
        if ("error" not in json.loads((case.parent / "expected.json").read_text())) == legal
    ]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.parent.name)


@recorded(legal=True)
def test_every_word_and_cycle_is_what_timeloop_printed(case: Path) -> None:
    spec, expected = read(case)
    statistics = evaluate(spec.need_architecture(), spec.need_problem(), spec.need_mapping())
    assert not violations(spec.need_architecture(), spec.need_problem(), spec.need_mapping())
    assert statistics.timeloop_cycles == expected["cycles"]
    assert statistics.computes == expected["computes"]
    for level, rows in expected["levels"].items():
        for name, row in rows["tensors"].items():
            found = statistics.levels[level].tensors[name]
            assert {key: getattr(found, key) for key in WORDS if key in row} == {
                key: row[key] for key in WORDS if key in row
            }
    for network, tensors in expected["networks"].items():
        for name, row in tensors.items():
            here = statistics.networks[network].tensors[name]
            assert {key: float(getattr(here, key)) for key in row} == pytest.approx(
                row, abs=0.0051
            ), (network, name)


@recorded(legal=True)
def test_energies_are_what_timeloop_printed(case: Path) -> None:
    """Timeloop prints two decimals of each level's energy and of the femtojoules per operation."""
    spec, expected = read(case)
    statistics = evaluate(spec.need_architecture(), spec.need_problem(), spec.need_mapping())
    assert float(statistics.energy_pj) == pytest.approx(
        expected["energy_pj"], abs=expected["computes"] * 6e-6
    )
    for level, rows in expected["levels"].items():
        for name, row in rows["tensors"].items():
            address = (
                spec.need_architecture()
                .levels[spec.need_architecture().index(level)]
                .address_energy
            )
            if not address:
                assert float(statistics.levels[level].tensors[name].energy_pj) == pytest.approx(
                    row["energy_pj"], abs=0.0051
                )


@recorded(legal=False)
def test_a_refused_mapping_is_illegal_at_the_level_that_timeloop_names(case: Path) -> None:
    spec, expected = read(case)
    (message,) = expected["error"]
    match = re.fullmatch(
        r"ERROR: couldn't map level (\w+): mapped tile size (\d+) exceeds buffer capacity (\d+)",
        message,
    )
    assert match
    found = violations(spec.need_architecture(), spec.need_problem(), spec.need_mapping())
    assert (match[1], int(match[2]), int(match[3])) in [
        (each.level, each.found, each.limit) for each in found
    ]
