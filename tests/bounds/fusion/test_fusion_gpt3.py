"""GPT-3 6.7B in prefill, batch 16, 2048 tokens: bounds of the layers, the fused FFN pair, the fused
block.
"""

import io
import time
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.bounds.fusion import FusionOptions
from solver_mapper.cost.snowcat.machine_files import AS_TREE

EXAMPLES = Path(__file__).parents[3] / "examples" / "fusion"
ROWS, HIDDEN, FFN, HEADS, TOKENS = 16 * 2048, 4096, 16384, 32, 2048
ACTIVATION, SCORES = ROWS * HIDDEN, ROWS * HEADS * TOKENS
LEAST = {
    **dict.fromkeys(["Q", "K", "V", "Z"], 2 * ACTIVATION + HIDDEN**2),
    **dict.fromkeys(["QK", "AV"], 2 * ACTIVATION + SCORES),
    "S": SCORES + ROWS * HEADS,
    "P": 2 * SCORES + ROWS * HEADS,
    **dict.fromkeys(["FFA", "FFB"], ACTIVATION + HIDDEN * FFN + ROWS * FFN),
}


def test_every_layer_has_a_bound_that_ends_at_its_compulsory_traffic():
    spec = sm.load(EXAMPLES / "gpt3_6.7b_block.yaml")
    assert [einsum.name for einsum in spec.need_workload().einsums] == [
        "Q",
        "K",
        "V",
        "QK",
        "S",
        "P",
        "AV",
        "Z",
        "FFA",
        "FFB",
    ]
    for name, least in LEAST.items():
        curve = sm.bound(spec, einsum=name)
        assert curve.least == curve.algorithmic_minimum == least, name


def test_the_ffn_pair_saves_its_intermediate():
    """Unfused each layer moves the 32768 x 16384 words between them, fused neither does."""
    curve = sm.fuse(sm.load(EXAMPLES / "gpt3_6.7b_ffn.yaml"))
    assert (
        curve.least == curve.algorithmic_minimum == 402_653_184 == 2 * ACTIVATION + 2 * HIDDEN * FFN
    )
    assert curve.beside["unfused"][-1][1] == 1_476_395_008 == LEAST["FFA"] + LEAST["FFB"]
    assert curve.enough == 2 * HIDDEN * FFN + HIDDEN + 1 + HIDDEN


def test_uneven_fusion_saves_both_intermediates_of_output_projection_and_ffn():
    """The projection waits for all of a row while the FFN layers also run over its 16384 channels:
    with all three weights resident (144 Mi words) everything moves once. Even fusion cannot fuse
    all three over rows and channels at once.
    """
    curve = sm.fuse(
        sm.load(EXAMPLES / "gpt3_6.7b_output_ffn.yaml"), options=FusionOptions(uneven=True)
    )
    weights = HIDDEN**2 + 2 * HIDDEN * FFN
    assert curve.least == curve.algorithmic_minimum == 2 * ACTIVATION + weights
    assert weights < curve.enough < weights + 2 * FFN
    assert (
        min(moved for buffer, moved in curve.beside["even fusion"] if buffer <= curve.enough)
        == 687_865_856
    )


@pytest.mark.campaign
def test_the_fused_curve_of_the_whole_block():
    """Proven in under ten minutes of one core, and the LoopTree model counts what every witness
    claims.
    """
    start = time.process_time()
    spec = sm.load(EXAMPLES / "gpt3_6.7b_block.yaml")
    curve = sm.fuse(spec)
    assert time.process_time() - start < 600
    assert curve.least == curve.algorithmic_minimum + 2 * ACTIVATION, (
        "Q, K and V each fetch X, which is compulsory once"
    )
    assert curve.points[0].buffer == 3
    assert all(curve.accesses(buffer) <= moved for buffer, moved in curve.beside["untiled fusion"])
    sized = sm.load(EXAMPLES / "gpt3_6.7b_block.yaml", io.StringIO(AS_TREE))
    for point in curve.points:
        statistics = sm.evaluate(sized, point.mapping)
        assert statistics.energy == 16 * point.accesses
        assert statistics.occupancy["Buffer"].bits <= 16 * point.buffer
