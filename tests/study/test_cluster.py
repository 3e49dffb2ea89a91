"""Searches on a Dask cluster: the same answers, also when a worker is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

import solver_mapper as sm
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.events import Started
from tests.study.test_networks import ARCHITECTURE, LAYERS, problem

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_gives_the_same_answers(address: str) -> None:
    alone, there = (
        sm.solve_network(ARCHITECTURE, LAYERS),
        sm.solve_network(ARCHITECTURE, LAYERS, scheduler=address),
    )
    assert there.totals == alone.totals
    assert [each.mapping for each in there.layers] == [each.mapping for each in alone.layers]


def test_a_stop_ends_searches_on_the_cluster(address: str) -> None:
    clock = StudyClock()

    def watch(progress: sm.StudyProgress) -> None:
        if (
            isinstance(progress.event, Started)
            and len(progress.event.job.spec.need_problem().dims) == 7
        ):
            clock.stop()

    layers = [("conv", 1, problem("resnet50/layer1.x.conv2_3x3"))]
    result = sm.solve_network("simba", layers, scheduler=address, clock=clock, on_progress=watch)
    assert result.layers[0].status in ("feasible", "unknown")


def test_a_worker_that_is_killed_loses_nothing(address: str) -> None:
    client = distributed.Client(address, set_as_default=False)
    killed: list[int] = []

    def watch(progress: sm.StudyProgress) -> None:
        if isinstance(progress.event, Started) and not killed:
            killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    result = sm.solve_network("eyeriss", "tiny", scheduler=address, on_progress=watch)
    client.close()
    assert killed and result.totals == sm.solve_network("eyeriss", "tiny").totals


def test_what_is_no_scheduler_is_refused() -> None:
    with pytest.raises(sm.InputError, match="no Dask scheduler answers here"):
        sm.solve_network(ARCHITECTURE, LAYERS, scheduler="nowhere")
    with pytest.raises(sm.InputError, match="either processes or a cluster"):
        sm.solve_network(ARCHITECTURE, LAYERS, scheduler="nowhere", jobs=2)
