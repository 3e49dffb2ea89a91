"""Tilings that a user gives: judged, scheduled and compared; and the list of all that SMAUG's
enumeration finds to fit.
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.tiling.configurations import all_configurations
from solver_mapper.tiling.read import read_operator

LAYER: dict[str, Any] = {
    "operator": "convolution",
    "name": "layer",
    "input_shape": [1, 28, 28, 512],
    "kernel": {"num": 128, "rows": 1, "cols": 1},
    "stride": 1,
    "padding": "same",
}
TILE = {"inputs": [1, 4, 28, 128], "weights": [64, 1, 1, 128], "outputs": [1, 4, 28, 64]}
SMALL: dict[str, Any] = {
    **LAYER,
    "input_shape": [1, 8, 6, 16],
    "kernel": {"num": 16, "rows": 3, "cols": 3},
}


def run(*words: str, operator: dict[str, Any] | None = None) -> Result:
    return CliRunner().invoke(app, ["tile", "-", *words], input=json.dumps(operator or LAYER))


def given(tile: dict[str, list[int]] | None = None, **more: Any) -> dict[str, Any]:
    return {**LAYER, "tiling": {"tile": tile or TILE, **more}}


def rules_of(operator: dict[str, Any]) -> list[str]:
    tiling = sm.tile(operator)
    assert tiling.verdict is not None
    return [each.rule for each in tiling.verdict.violations]


def test_all_lists_every_tile_shape_that_fits_in_the_order_of_smaugs_loops() -> None:
    """One row of inputs fits (28 x 512 of 16,384); kernels grow in steps of 8 up to 32 x 512."""
    found = json.loads(run("--all", "--json").stdout)
    assert found["tiling_dims"] == {"inputs": "DimNH", "weights": "DimN", "outputs": "DimNCH"}
    assert [each["basic_tile"] for each in found["configurations"]] == [
        {"inputs": [1, 1, 28, 512], "weights": [kernels, 1, 1, 512], "outputs": [1, 1, 28, kernels]}
        for kernels in (8, 16, 24, 32)
    ]
    assert [each["total_tile_elems"] for each in found["configurations"]] == [
        28 * 512 + kernels * 512 + 28 * kernels for kernels in (8, 16, 24, 32)
    ]
    assert found["chosen"] == 3


@pytest.mark.parametrize(
    "operator",
    [
        LAYER,
        {**LAYER, "kernel": {"num": 512, "rows": 3, "cols": 3}, "input_shape": [1, 14, 14, 512]},
        {"operator": "pooling", "input_shape": [1, 56, 56, 64], "pool": [2, 2], "mode": "max"},
        {"operator": "inner_product", "input_shape": [2, 1024], "num_outputs": 256},
        {"operator": "batch_norm", "input_shape": [1, 64, 64, 32]},
    ],
)
def test_all_holds_what_tile_chooses(operator: dict[str, Any]) -> None:
    job = read_operator(operator)
    found = all_configurations(job.operator, job.backend)
    tiling = sm.tile(operator, objective="utilization")
    chosen = found.choices[found.chosen]
    assert (chosen.tiles, chosen.total) == (tiling.basic, tiling.total)
    assert found.position_of(tiling.basic) == found.chosen
    assert all(choice.total <= tiling.total for choice in found.choices)
    assert len({tuple(choice.tiles.values()) for choice in found.choices}) == len(found.choices)


def test_all_as_a_table_marks_the_choice() -> None:
    lines = run("--all").stdout.splitlines()
    assert lines[0] == "layer (convolution) on smv: 4 configurations fit"
    assert [line.split()[:2] for line in lines[5:]] == [
        ["1", "1"],
        ["2", "1"],
        ["3", "1"],
        ["4", "*"],
    ]


@pytest.mark.parametrize(
    ("words", "operator", "message"),
    [
        (("--objective", "traffic"), LAYER, "--objective does not go with --all"),
        (("--timeloop", "x.yaml"), LAYER, "--timeloop does not go with --all"),
        (("--time-limit", "1"), LAYER, "--time-limit does not go with --all"),
        ((), {"layers": [LAYER]}, "a network does not go with --all"),
        ((), {**LAYER, "spad_bytes": 64}, "no tiling fits"),
    ],
)
def test_all_is_refused_where_it_has_no_meaning(
    words: tuple[str, ...], operator: dict[str, Any], message: str
) -> None:
    result = run("--all", *words, operator=operator)
    assert result.exit_code in (1, 2) and message in result.stderr


def test_a_given_tiling_is_scheduled_and_compared() -> None:
    result = run(operator=given())
    assert (
        result.exit_code == 0
        and "given objective" in result.stdout
        and "\nlegal\n" in result.stdout
    )
    assert "note: none of the 4 configurations that SMAUG considers" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()[-4:]]
    assert [row[0] for row in rows] == ["given", "utilization", "traffic", "algorithmic"]
    assert rows[0][1:] == ["1,361,920", "60.4", "%", "56"]
    data = json.loads(run("--json", operator=given()).stdout)
    assert (data["objective"], data["legal"], data["violations"], "certificate" in data) == (
        "given",
        True,
        [],
        False,
    )
    assert data["modes"]["given"] == {
        "elems_moved": 1361920,
        "utilization": data["utilization"],
        "invocations": 56,
    }
    assert data["modes"]["traffic"]["elems_moved"] == 960512


def test_what_smaug_chooses_is_the_same_when_given() -> None:
    own = sm.tile(LAYER)
    again = sm.tile(
        given({name: list(sizes) for name, sizes in own.basic.items()}, dims=dict(own.dims))
    )
    assert (again.tiled, again.nest, again.moved) == (own.tiled, own.nest, own.moved)
    assert again.notes == ("configuration 4 of the 4 that SMAUG considers; the one that it takes",)
    other = sm.tile(
        given({"inputs": [1, 1, 28, 512], "weights": [8, 1, 1, 512], "outputs": [1, 1, 28, 8]})
    )
    assert other.notes == ("configuration 1 of the 4 that SMAUG considers; it takes number 4",)


def test_the_order_of_the_loops_may_be_given() -> None:
    """With rows innermost, the four weight tiles of a kernel stay while rows change; sums would be
    left, which is refused.
    """
    inner = sm.tile(given(order=["N", "K", "H", "W", "C"]))
    assert (
        [loop.name for loop in inner.nest.loops] == ["N", "K", "H", "W", "C"]
        and inner.verdict is not None
        and inner.verdict.legal
    )
    assert rules_of(given(order=["N", "K", "C", "H", "W"])) == ["schedule"]


@pytest.mark.parametrize(
    ("change", "rules", "message"),
    [
        (
            {"tile": {**TILE, "weights": [64, 1, 1, 512]}, "dims": {"inputs": "DimNCH"}},
            ["capacity"],
            "the tile of weights takes 32768 elements, scratchpad 'spad1' holds 16384",
        ),
        (
            {"dims": {"inputs": "DimNH"}},
            ["dims"],
            "the tile of inputs has 128 along C of 512, but DimNH does not cut along it",
        ),
        (
            {"tile": {**TILE, "outputs": [1, 3, 28, 64]}},
            ["tile"],
            "the tile of outputs has 3 along H; the tiles of the others make 4",
        ),
        (
            {"tile": {**TILE, "outputs": [1, 4, 28, 640]}},
            ["tile"],
            "the tile of outputs has 640 along C; the tensor has 128",
        ),
        (
            {"tile": {**TILE, "weights": [64, 1, 1, 96]}},
            ["schedule"],
            "do not compute the operator: inputs: iteration 1 needs C 96",
        ),
    ],
    ids=["capacity", "dims", "too small", "too large", "schedule"],
)
def test_a_given_tiling_is_judged(change: dict[str, Any], rules: list[str], message: str) -> None:
    operator = {**LAYER, "tiling": {"tile": TILE, **change}}
    result = run(operator=operator)
    assert result.exit_code == 1, result.stdout
    assert rules[0] in rules_of(operator) and message in result.stdout
    assert f"layer: {sm.tile(operator).fault} (objective given)" in result.stdout.splitlines()
    assert json.loads(run("--json", operator=operator).stdout)["legal"] is False


@pytest.mark.parametrize(
    ("tiling", "message"),
    [
        ({}, "the tiling lacks 'tile'"),
        ({"tile": {"inputs": [1, 4, 28, 128]}}, "'tile' lacks 'weights'"),
        ({"tile": {**TILE, "weights": [64, 1]}}, "the tile of weights must list 4 sizes, not 2"),
        (
            {"tile": {**TILE, "weights": [0, 1, 1, 1]}},
            "a size of the tile of weights must be a whole number of at least 1",
        ),
        ({"tile": {**TILE, "bias": [1]}}, "has no field 'bias'"),
        (
            {"tile": TILE, "dims": {"input": "DimNH"}},
            "unknown tensor 'input'; did you mean 'inputs'?",
        ),
        (
            {"tile": TILE, "dims": {"inputs": "DimQ"}},
            "'DimQ' are no tiling dims of inputs; write None, or Dim and letters of NHWC",
        ),
        ({"tile": TILE, "order": ["N", "H"]}, "'order' must list each of N, H, W, K, C once"),
        ({"tile": TILE, "order": ["N", "Q"]}, "unknown loop 'Q'"),
        ({"tile": TILE, "shape": 1}, "the tiling has no field 'shape'"),
    ],
)
def test_a_tiling_that_cannot_be_read_is_an_input_error(
    tiling: dict[str, Any], message: str
) -> None:
    result = run(operator={**LAYER, "tiling": tiling})
    assert result.exit_code == 2 and message in result.stderr


def test_tiles_too_small_for_their_windows_cannot_be_cut() -> None:
    tile = {"inputs": [1, 2, 6, 16], "weights": [16, 3, 3, 16], "outputs": [1, 1, 6, 16]}
    result = run(operator={**SMALL, "tiling": {"tile": tile}})
    assert result.exit_code == 1
    assert (
        "layer: the given tiling cannot be cut: tiles of 2 are too small under a window of 3"
        in result.stderr
    )


def test_given_without_a_tiling_and_networks_with_one_are_refused() -> None:
    result = run("--objective", "given")
    assert (
        result.exit_code == 2 and "no tiling was given; add 'tiling: {tile: ...}'" in result.stderr
    )
    result = run(operator={"layers": [given()]})
    assert result.exit_code == 2 and "layers of a network cannot give tilings" in result.stderr


def test_another_objective_may_be_asked_for_next_to_a_given_tiling() -> None:
    assert sm.tile(given(), objective="traffic").traffic == 960512
    assert (
        "layer (convolution) on smv, traffic objective"
        in run("--objective", "traffic", operator=given()).stdout
    )


def test_legal_tilings_compute_the_operator() -> None:
    """Every combination of a few tile sizes: what is called legal gives the operator's result, bit
    for bit.
    """
    generator = np.random.default_rng(1)
    inputs, weights = (
        generator.integers(-9, 9, (1, 8, 6, 16)),
        generator.integers(-9, 9, (16, 3, 3, 16)),
    )
    whole = sm.tile(SMALL, objective="traffic").run(inputs=inputs, weights=weights)
    legal = 0
    for rows, kernels, channels in product((4, 5, 8), (8, 16), (8, 16)):
        tile = {
            "inputs": [1, rows, 6, channels],
            "weights": [kernels, 3, 3, channels],
            "outputs": [1, min(rows, 8), 6, kernels],
        }
        tiling = sm.tile({**SMALL, "tiling": {"tile": tile}})
        assert tiling.verdict is not None
        if tiling.verdict.legal:
            legal += 1
            assert (tiling.run(inputs=inputs, weights=weights) == whole).all()
    assert legal >= 8


def test_tiles_are_views_or_copies() -> None:
    tiling = sm.tile(
        {
            **SMALL,
            "tiling": {
                "tile": {"inputs": [1, 8, 6, 8], "weights": [8, 3, 3, 8], "outputs": [1, 8, 6, 8]}
            },
        }
    )
    array = np.zeros((1, 8, 6, 16))
    views, copies = tiling.tiles("inputs", array), tiling.tiles("inputs", array, copy=True)
    array[:] = 1
    assert all((tile == 1).all() for tile in views.values()) and all(
        (tile == 0).all() for tile in copies.values()
    )
    assert [tile.shape for tile in copies.values()] == [tile.shape for tile in views.values()]


@pytest.mark.parametrize("operator", [LAYER, {"layers": [LAYER]}])
@pytest.mark.parametrize("command", ["solve", "evaluate", "validate", "explain", "space", "bound"])
def test_other_commands_point_to_tile(command: str, operator: dict[str, Any]) -> None:
    result = CliRunner().invoke(app, [command, "-"], input=json.dumps(operator))
    assert result.exit_code == 2
    assert (
        "this is an operator for tiling, not an architecture and a problem; use 'solver-mapper"
        " tile'" in result.stderr
    )
