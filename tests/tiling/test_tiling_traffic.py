"""The traffic objective finds the least: enumeration, the solver, and a search that knows none of
their shortcuts agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import solver_mapper as sm
from solver_mapper.tiling.movement import algorithmic_minimum
from solver_mapper.tiling.nest import BadNest, NestLoop, TilingNest
from solver_mapper.tiling.read import TilingJob, read_operator
from solver_mapper.tiling.search.enumeration import enumerate_least
from solver_mapper.tiling.search.solver import Limits
from solver_mapper.tiling.search.space import space_of
from solver_mapper.tiling.search.splits import Cutting
from solver_mapper.tiling.search.traffic_model import prove
from solver_mapper.tiling.tensors import Span, TiledTensor
from tests.tiling.tiling_cases import KINDS, Case


def column(height: int, channels: int, kernels: int, rows: int, stride: int, padding: str) -> Case:
    """A convolution one column wide."""
    return {
        "operator": "convolution",
        "input_shape": [1, height, 1, channels],
        "kernel": {"num": kernels, "rows": rows, "cols": 1},
        "stride": [stride, 1],
        "padding": padding,
    }


def every_nest(job: TilingJob) -> Iterator[TilingNest]:
    """Every order of the loops, equal pieces of every length, and every choice of which tensor is
    cut along which loop.
    """
    operator, alignment = job.operator, job.backend.alignment
    loops = {name: size for name, size in operator.loops.items() if size > 1}
    ranks = [
        (tensor, rank) for tensor in operator.tensors for rank in tensor.ranks if rank.loop in loops
    ]
    for lengths in itertools.product(*(range(1, size + 1) for size in loops.values())):
        pieces = {
            name: Cutting(size, length).pieces
            for (name, size), length in zip(loops.items(), lengths, strict=True)
        }
        pieces |= {name: (Span(0, size),) for name, size in operator.loops.items() if size == 1}
        for cuts in itertools.product((False, True), repeat=len(ranks)):
            cut = {
                (tensor.name, rank.name)
                for (tensor, rank), chosen in zip(ranks, cuts, strict=True)
                if chosen
            }
            tiled = {
                tensor.name: TiledTensor(
                    tensor,
                    tuple(
                        (
                            (Span(0, rank.size),)
                            if rank.loop is None
                            else (
                                tuple(rank.span(piece) for piece in pieces[rank.loop])
                                if (tensor.name, rank.name) in cut
                                else (rank.span(Span(0, operator.loops[rank.loop])),)
                            )
                        )
                        for rank in tensor.ranks
                    ),
                    alignment,
                )
                for tensor in operator.tensors
            }
            if all(each.largest <= job.backend.capacity(name) for name, each in tiled.items()):
                ones = tuple(
                    NestLoop(name, pieces[name]) for name in operator.loops if name not in loops
                )
                for order in itertools.permutations(loops):
                    yield TilingNest(
                        operator, (*ones, *(NestLoop(name, pieces[name]) for name in order)), tiled
                    )


def least_of_all(job: TilingJob) -> int | None:
    least = None
    for nest in every_nest(job):
        try:
            nest.check()
        except BadNest:
            continue
        moved = nest.moved().total
        least = moved if least is None else min(least, moved)
    return least


@pytest.mark.parametrize(
    ("case", "elements"),
    [
        pytest.param(
            {"operator": "inner_product", "input_shape": [3, 4], "num_outputs": 4},
            room,
            id=f"inner product in {room}",
        )
        for room in (2, 4, 6, 8, 12)
    ]
    + [
        pytest.param(column(5, 2, 3, 3, 1, "same"), 6, id="same padding"),
        pytest.param(column(5, 3, 2, 2, 1, "valid"), 8, id="valid padding"),
        pytest.param(column(6, 2, 3, 1, 2, "valid"), 4, id="skipped rows"),
        pytest.param(column(6, 2, 3, 3, 2, "same"), 8, id="same padding, stride 2"),
        pytest.param(
            {"operator": "pooling", "input_shape": [1, 5, 4, 2], "pool": [3, 2], "stride": 1},
            12,
            id="pooling",
        ),
        pytest.param({"operator": "batch_norm", "input_shape": [3, 5]}, 8, id="batch norm"),
    ],
)
@pytest.mark.parametrize("alignment", [1, 2])
def test_no_nest_at_all_moves_less(case: Case, elements: int, alignment: int) -> None:
    job = read_operator({**case, "spad_bytes": 2 * elements, "alignment": alignment})
    least = least_of_all(job)
    if least is None:
        with pytest.raises(sm.InfeasibleError):
            sm.tile(job_source(case, elements, alignment), objective="traffic")
        return
    tiling = sm.tile(job_source(case, elements, alignment), objective="traffic")
    assert tiling.certificate.optimal
    assert tiling.traffic <= least, "the search finds a nest that moves less"
    if all(
        split.way.custom is None
        for ways in space_of(job.operator, job.backend).ways.values()
        for split in ways
    ):
        assert tiling.traffic == least


def job_source(case: Case, elements: int, alignment: int) -> Case:
    return {**case, "spad_bytes": 2 * elements, "alignment": alignment}


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(*(KINDS[kind] for kind in ("convolution", "pooling", "inner_product", "batch_norm")))
)
def test_the_solver_alone_finds_what_enumeration_does(case: Case) -> None:
    job = read_operator(case)
    space = space_of(job.operator, job.backend)
    try:
        space.require_one()
    except sm.InfeasibleError:
        assert enumerate_least(space) is None
        return
    known = enumerate_least(space)
    assert known is not None
    proof = prove(space, 0, space.finest(), Limits())
    assert space.traffic(proof.point) == proof.bound == space.traffic(known)
    assert proof.bound >= algorithmic_minimum(job.operator, job.backend.alignment)
    part = space.thinned(1000)
    start = enumerate_least(part)
    assert start is not None
    assert space.fits(space.relocated(start, part))
    assert space.traffic(space.relocated(start, part)) == part.traffic(start) >= proof.bound


def test_what_does_not_fit_is_named() -> None:
    case = {
        "operator": "convolution",
        "input_shape": [1, 8, 8, 16],
        "kernel": {"num": 4, "rows": 5, "cols": 5},
        "stride": 1,
        "padding": "same",
        "spad_bytes": 256,
    }
    with pytest.raises(sm.InfeasibleError) as caught:
        sm.tile(case, objective="traffic")
    assert (
        str(caught.value)
        == "convolution: no tiling fits: the least tile of inputs 1 x 5 x 5 x 8 takes 200"
        " elements, "
        "scratchpad 'spad0' (256 bytes) holds 128"
    )


def test_a_shared_scratchpad_is_shared() -> None:
    """With one scratchpad for everything the tiles fit together, and more traffic is needed than
    with one such for each.
    """
    case = {"operator": "inner_product", "input_shape": [8, 64], "num_outputs": 64}
    one = {
        "backend": {
            "name": "one",
            "element_bytes": 2,
            "alignment": 8,
            "preference": ["None", "DimN", "DimNC"],
            "scratchpads": [
                {"name": "all", "bytes": 512, "holds": ["inputs", "weights", "outputs"]}
            ],
            "tiles": {
                "inner_product": {
                    tensor: {"least": [1, 8], "step": [1, 8]}
                    for tensor in ("inputs", "weights", "outputs")
                }
            },
        }
    }
    for objective in ("utilization", "traffic"):
        shared = sm.tile(case, objective=objective, backend=one)
        assert sum(tiled.largest for tiled in shared.tiled.values()) <= 256
    separate = sm.tile({**case, "spad_bytes": 512}, objective="traffic")
    assert separate.traffic < sm.tile(case, objective="traffic", backend=one).traffic
    with pytest.raises(
        sm.InfeasibleError,
        match=r"inputs 1 x 8 and weights 1 x 8 and outputs 1 x 1 takes 24 elements, .*'all'",
    ):
        sm.tile({**case, "spad_bytes": 40}, backend=one, objective="traffic")
    with pytest.raises(sm.InfeasibleError, match="one part in 3 of the scratchpad"):
        sm.tile({**case, "spad_bytes": 40}, backend=one)


def test_extents_off_the_grid_of_steps_are_found() -> None:
    """50 of 100 kernels fit, not 56: in steps of 8 that makes three tiles of weights, off the grid
    two.
    """
    case = {
        "operator": "convolution",
        "input_shape": [1, 28, 28, 100],
        "kernel": {"num": 100, "rows": 1, "cols": 1},
        "stride": 1,
        "padding": "same",
        "spad_bytes": 2 * 5300,
    }
    smaug, least = sm.tile(case), sm.tile(case, objective="traffic")
    assert (smaug.basic["weights"][0], least.basic["weights"][0]) == (48, 50)
    assert least.traffic < smaug.traffic


def test_a_time_limit_leaves_a_tiling_and_a_bound() -> None:
    case = {
        "operator": "convolution",
        "input_shape": [4, 56, 56, 250],
        "kernel": {"num": 250, "rows": 3, "cols": 3},
        "stride": 1,
        "padding": "same",
    }
    tiling = sm.tile(case, objective="traffic", time_limit=1e-3)
    assert tiling.algorithmic_minimum <= tiling.certificate.bound <= tiling.traffic
