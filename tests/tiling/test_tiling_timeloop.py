"""A tiling written as Timeloop files is legal there, and the cost model counts exactly the
schedule's loads and stores.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import solver_mapper as sm
from tests.tiling.tiling_cases import KINDS, Case


def evaluated(text: str) -> tuple[Any, dict[str, Any]]:
    spec = sm.load(io.StringIO(text))
    statistics = sm.evaluate(spec).to_dict()
    return sm.validate(spec), statistics["levels"]["Memory"]["tensors"]


def test_random_tilings_have_the_same_traffic_in_the_nest_model() -> None:
    """Without alignment, zero padding and rows that no window reaches, which Timeloop does not
    have, every figure is equal.
    """
    agreed = []

    @settings(
        max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(
        st.one_of(KINDS["convolution"], KINDS["inner_product"]),
        st.sampled_from(["utilization", "traffic"]),
    )
    def check(case: Case, objective: str) -> None:
        case = {**case, "alignment": 1}
        if case["operator"] == "convolution":
            (batch, height, width, channels), kernel, stride = (
                case["input_shape"],
                case["kernel"],
                case["stride"],
            )
            shape = [
                batch,
                (height - 1) * stride[0] + kernel["rows"],
                (width - 1) * stride[1] + kernel["cols"],
                channels,
            ]
            case |= {"padding": "valid", "input_shape": shape}
        try:
            tiling = sm.tile(case, objective=objective)
            text = tiling.to_timeloop()
        except (sm.InfeasibleError, sm.InputError):
            return
        verdict, store = evaluated(text)
        assert verdict.legal, str(verdict)
        assert {
            name.lower(): tensor["reads"] for name, tensor in store.items() if name != "Outputs"
        } == tiling.moved.loaded
        assert (store["Outputs"]["updates"], store["Outputs"]["reads"]) == (tiling.moved.stored, 0)
        agreed.append(objective)

    check()
    assert min(agreed.count("utilization"), agreed.count("traffic")) >= 10


def test_operators_that_are_no_sums_of_products_are_refused() -> None:
    tiling = sm.tile({"operator": "pooling", "input_shape": [1, 8, 8, 8], "pool": 2})
    with pytest.raises(sm.InputError, match="pooling is not a sum of products"):
        tiling.to_timeloop()


def test_pieces_of_several_lengths_are_refused_by_name() -> None:
    """The first row tile of a padded convolution does more output rows than the others."""
    tiling = sm.tile(
        {
            "operator": "convolution",
            "input_shape": [1, 32, 16, 32],
            "kernel": {"num": 16, "rows": 3, "cols": 3},
            "stride": 1,
            "padding": "same",
            "spad_bytes": 8192,
        }
    )
    with pytest.raises(sm.InputError, match="the pieces of loop H have several lengths"):
        tiling.to_timeloop()
