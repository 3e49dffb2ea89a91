"""A tiled operator, run tile by tile in numpy as its schedule says, computes what the untiled one
does, bit for bit.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import solver_mapper as sm
from tests.tiling.tiling_cases import KINDS, Case, arrays, untiled

OBJECTIVES = ("utilization", "traffic")
RELAXED = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def outcome(case: Case, objective: str) -> str:
    """Tile and run; "equal", "refused" (nothing fits) or "defect" (SMAUG's own tiles do not compute
    the operator).
    """
    given_arrays = arrays(case)
    try:
        tiling = sm.tile(case, objective=objective)
    except sm.InfeasibleError:
        return "refused"
    if tiling.defect is not None:
        with pytest.raises(sm.InfeasibleError):
            tiling.run(**given_arrays)
        return "defect"
    result = tiling.run(**given_arrays)
    expected = untiled(case, **given_arrays)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    assert tiling.traffic >= tiling.algorithmic_minimum
    return "equal"


def check_kind(kind: str, examples: int) -> dict[str, Counter[str]]:
    """Both objectives on random operators of one kind; what came out."""
    seen: dict[str, Counter[str]] = {objective: Counter() for objective in OBJECTIVES}

    @settings(max_examples=examples, **RELAXED)
    @given(KINDS[kind])
    def check(case: Case) -> None:
        for objective in OBJECTIVES:
            seen[objective][outcome(case, objective)] += 1

    check()
    assert seen["traffic"]["defect"] == 0
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_tiled_operators_compute_what_untiled_ones_do(kind: str) -> None:
    seen = check_kind(kind, 60)
    assert seen["traffic"]["equal"] >= 30


@pytest.mark.campaign
@pytest.mark.parametrize("kind", KINDS)
def test_five_hundred_tiled_operators_of_each_kind(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = check_kind(kind, 1100)
    with capsys.disabled():
        print(
            f"\n{kind}: "
            + "; ".join(f"{objective} {dict(counts)}" for objective, counts in seen.items())
        )
    assert all(counts["equal"] >= 500 for counts in seen.values())


def conv(
    shape: list[int],
    num: int,
    kernel: tuple[int, int],
    stride: list[int],
    padding: str,
    **sizes: int,
) -> Case:
    return {
        "operator": "convolution",
        "input_shape": shape,
        "kernel": {"num": num, "rows": kernel[0], "cols": kernel[1]},
        "stride": stride,
        "padding": padding,
        **sizes,
    }


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            conv([1, 32, 16, 32], 16, (3, 3), [1, 1], "same", spad_bytes=8192), id="halo rows"
        ),
        pytest.param(
            conv([1, 30, 8, 64], 16, (5, 5), [2, 1], "same", spad_bytes=16384),
            id="large halo, stride 2",
        ),
        pytest.param(
            conv([1, 33, 9, 64], 16, (1, 1), [3, 3], "valid", spad_bytes=2048),
            id="stride larger than the kernel",
        ),
        pytest.param(
            conv([1, 20, 9, 37], 13, (3, 2), [1, 2], "same", spad_bytes=4096), id="odd channels"
        ),
        pytest.param(
            conv([1, 12, 60, 32], 8, (1, 1), [1, 1], "same", spad_bytes=4096), id="single-row tiles"
        ),
        pytest.param(
            conv([1, 16, 8, 128], 512, (1, 1), [1, 1], "same", spad_bytes=16384),
            id="outputs cut, weights whole or not",
        ),
        pytest.param(
            conv([1, 8, 8, 256], 64, (3, 3), [1, 1], "same", spad_bytes=32768),
            id="inputs stay, weights cut by channel",
        ),
    ],
)
def test_corner_cases_of_convolution(case: Case, objective: str) -> None:
    assert outcome(case, objective) == "equal"


def test_single_row_tiles_are_chosen_where_rows_are_skipped() -> None:
    """With a stride of 2 and a kernel of 1, tiles of one output row load no row in vain."""
    tiling = sm.tile(
        conv([1, 28, 28, 64], 32, (1, 1), [2, 2], "same", spad_bytes=8192), objective="traffic"
    )
    assert {span.size for span in tiling.tiled["outputs"].axes[1]} == {1}
    assert tiling.traffic == tiling.algorithmic_minimum


def test_tiles_and_assemble_let_a_user_run_the_schedule() -> None:
    """The documented loop: load what the schedule says, compute, accumulate, store, assemble."""
    case = conv([1, 14, 14, 48], 40, (3, 3), [1, 1], "same", spad_bytes=4096)
    given_arrays = arrays(case)
    tiling = sm.tile(case, objective="traffic")
    cut = {name: tiling.tiles(name, array) for name, array in given_arrays.items()}
    assert {len(tiles) for tiles in cut.values()} != {1}
    moved: Counter[str] = Counter()
    resident: dict[str, tuple[int, ...]] = {}
    stored: dict[tuple[int, ...], Any] = {}
    for step in tiling.schedule():
        for name in step.loads:
            resident[name] = step.tiles[name]
            moved[name] += cut[name][step.tiles[name]].size
        assert all(resident[name] == step.tiles[name] for name in cut), (
            "an operand's tile is not in place"
        )
        for name in step.stores:
            assert step.tiles[name] not in stored, "an output tile is stored twice"
            stored[step.tiles[name]] = True
            moved[name] += np.prod(tiling.tiled[name].sizes(step.tiles[name]))
    whole = untiled(case, **given_arrays)
    outputs = {
        index: whole[
            tuple(slice(span.start, span.stop) for span in tiling.tiled["outputs"].box(index))
        ]
        for index in stored
    }
    np.testing.assert_array_equal(tiling.assemble(outputs), whole)
    assert sum(moved.values()) == tiling.traffic


def test_wrong_arrays_are_refused_by_name() -> None:
    tiling = sm.tile({"operator": "inner_product", "input_shape": [2, 40], "num_outputs": 8})
    inputs, weights = np.zeros((2, 40), int), np.zeros((8, 40), int)
    with pytest.raises(sm.InputError, match=r"weights has shape \[40, 8\], not \[8, 40\]"):
        tiling.run(inputs=inputs, weights=weights.T)
    with pytest.raises(sm.InputError, match="no array is given for 'weights'"):
        tiling.run(inputs=inputs)
    with pytest.raises(sm.InputError, match="unknown operand 'weight'; did you mean 'weights'"):
        tiling.run(inputs=inputs, weight=weights)
    with pytest.raises(sm.InputError, match="1 of 1 tiles of outputs are missing"):
        tiling.assemble({})


def test_the_list_of_invocations_moves_what_the_count_says() -> None:
    """`moved` counts with arrays, `schedule` step by step: also for the reference's habits of
    loading and storing again.
    """
    cases: list[Case] = [
        {"operator": "batch_norm", "input_shape": [2, 9, 9, 40], "spad_bytes": 2048},
        {"operator": "batch_norm", "input_shape": [3, 500], "spad_bytes": 2048},
        {
            "operator": "inner_product",
            "input_shape": [1, 300],
            "num_outputs": 30,
            "spad_bytes": 2048,
        },
        conv([1, 20, 20, 96], 48, (3, 3), [1, 1], "same", spad_bytes=16384),
    ]
    for case, objective in itertools.product(cases, OBJECTIVES):
        tiling = sm.tile(case, objective=objective)
        moved: Counter[str] = Counter()
        for step in tiling.schedule():
            for name in (*step.loads, *step.stores):
                moved[name] += tiling.backend.storage(tiling.tiled[name].sizes(step.tiles[name]))
        assert moved == {**tiling.moved.loaded, "outputs": tiling.moved.stored}, (case, objective)
