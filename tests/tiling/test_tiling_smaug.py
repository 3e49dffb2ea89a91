"""The utilization objective is SMAUG's optimizer: its choices, tiles, schedules and refusals, as
recorded from it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import solver_mapper as sm
from solver_mapper.tiling.read import TilingJob, read_operator
from solver_mapper.tiling.search.best import best_choice
from solver_mapper.tiling.search.candidates import Candidates, DoesNotFit, TileShapes
from solver_mapper.tiling.search.solver import Limits
from tests.tiling.tiling_cases import KINDS, Case

RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data/smaug/vectors.json").read_text(encoding="utf-8")
)
SOLVED = [vector for vector in RECORDED if "error" not in vector["expected"]]
REFUSED = [vector for vector in RECORDED if "error" in vector["expected"]]
MISALIGNED = {"conv-079", "conv-153", "conv-495"}
"""Recorded tilings whose second row tile does not begin where a window does: SMAUG runs them and
computes something else.
"""


def described(vector: dict[str, Any]) -> Case:
    return {key: value for key, value in vector.items() if key != "expected"}


def named(vectors: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(vector, id=vector["id"]) for vector in vectors]


@pytest.mark.parametrize("vector", named(SOLVED))
def test_choices_tiles_and_schedules_are_those_recorded(vector: dict[str, Any]) -> None:
    want = dict(vector["expected"])
    schedule = want.pop("schedule", {})
    got = sm.tile(described(vector)).to_dict()
    assert {key: got[key] for key in want} == want
    if "error" not in schedule:
        assert {key: got["schedule"][key] for key in schedule} == schedule


@pytest.mark.parametrize("vector", named(REFUSED))
def test_refusals_name_the_tensor_its_least_tile_and_the_scratchpad(vector: dict[str, Any]) -> None:
    with pytest.raises(DoesNotFit) as caught:
        sm.tile(described(vector))
    error = caught.value
    assert error.needed > error.capacity
    assert (
        error.scratchpad
        == {"inputs": "spad0", "weights": "spad1", "outputs": "spad2"}[error.tensors[0]]
    )
    for name, sizes in error.tiles.items():
        assert f"{name} {' x '.join(map(str, sizes))}" in str(error)
    assert error.scratchpad in str(error)


@pytest.mark.parametrize("vector", named(REFUSED))
def test_the_traffic_objective_tiles_what_smaug_refuses(vector: dict[str, Any]) -> None:
    tiling = sm.tile(described(vector), objective="traffic")
    assert tiling.certificate.optimal
    assert tiling.defect is None
    for name, tiled in tiling.tiled.items():
        assert tiled.largest <= tiling.backend.capacity(name)


@pytest.mark.parametrize(
    "vector",
    named([vector for vector in SOLVED if "invocations" in vector["expected"].get("schedule", {})]),
)
def test_the_traffic_objective_never_moves_more(vector: dict[str, Any]) -> None:
    schedule = vector["expected"]["schedule"]
    recorded = sum(
        schedule[key]
        for key in ("input_elems_loaded", "weight_elems_loaded", "output_elems_stored")
    )
    assert sm.tile(described(vector), objective="traffic").traffic <= recorded


def test_misaligned_tiles_are_reported_and_not_run() -> None:
    found = {
        vector["id"]
        for vector in SOLVED
        if "error" not in vector["expected"].get("schedule", {})
        and sm.tile(described(vector)).defect is not None
    }
    assert found == MISALIGNED
    vector = next(vector for vector in SOLVED if vector["id"] == "conv-079")
    tiling = sm.tile(described(vector))
    assert tiling.defect == "inputs: iteration 1 needs H 1 to 3, its tile holds 2 to 4"
    assert "but this schedule computes something else" in str(tiling)
    with pytest.raises(sm.InfeasibleError, match="the traffic objective finds tiles that do"):
        next(tiling.schedule())


def test_tiles_that_no_schedule_iterates_over_say_so_instead_of_figures() -> None:
    vector = next(vector for vector in SOLVED if vector["id"] == "pool-245")
    tiling = sm.tile(described(vector))
    assert (
        "inputs has 4 tiles along H for 1 iterations of H" in tiling.to_dict()["schedule"]["error"]
    )
    assert "no schedule" in str(tiling)


def candidates(job: TilingJob, stale_padding: bool = True) -> Candidates:
    strategy = type(job.operator.strategy)(stale_padding)
    return strategy.candidates(job.operator, job.backend, strategy.dims(job.operator, job.backend))


def enumerate_best(candidates: Candidates) -> TileShapes:
    """The fullest tiles, the first of them in order of enumeration."""
    candidates.require_one()
    return max(
        (candidates.choice(values) for values in candidates.enumerate()),
        key=lambda choice: choice.total,
    )


@pytest.mark.parametrize("vector", named(SOLVED))
def test_the_solver_chooses_what_enumeration_does_on_recorded_operators(
    vector: dict[str, Any],
) -> None:
    constraint = candidates(read_operator(described(vector)))
    assert best_choice(constraint, Limits()) == enumerate_best(constraint)


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(st.one_of(*KINDS.values()), st.booleans())
def test_the_solver_chooses_what_enumeration_does(case: Case, stale_padding: bool) -> None:
    try:
        constraint = candidates(read_operator(case), stale_padding)
        expected = enumerate_best(constraint)
    except sm.InfeasibleError:
        return
    assert best_choice(constraint, Limits()) == expected


def test_the_stale_padding_of_copied_shapes_can_be_switched_off() -> None:
    """50 output channels are padded by 6; a tile of 32 copied from that shape is counted as 38
    wide.
    """
    case = {
        "operator": "convolution",
        "input_shape": [1, 16, 16, 96],
        "kernel": {"num": 50, "rows": 3, "cols": 3},
        "stride": 1,
        "padding": "same",
        "spad_bytes": 32768,
    }
    stale, exact = sm.tile(case), sm.tile(case, stale_padding=False)
    assert stale.basic["outputs"][3] % 8 == 0
    assert stale.total - exact.total == 16 * 16 * 6
    assert exact.total == sum(tiled.largest for tiled in exact.tiled.values())


def test_a_tile_without_elements_is_refused() -> None:
    """A window much taller than the image makes the reference's output rows negative."""
    case = {
        "operator": "convolution",
        "input_shape": [1, 3, 2000, 1],
        "kernel": {"num": 8, "rows": 9, "cols": 1},
        "stride": 1,
        "padding": "same",
        "alignment": 1,
    }
    with pytest.raises(sm.InfeasibleError, match=r"outputs.* is empty"):
        sm.tile(case)
