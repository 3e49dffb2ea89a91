"""Searches on a Dask cluster: the same answers, also when a worker is killed."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest

import solver_mapper as sm
from solver_mapper.study.execution import cluster
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.events import Started
from tests.study.test_networks import ARCHITECTURE, LAYERS, problem

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as local:
        yield local.scheduler_address


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


@pytest.mark.parametrize(
    "address",
    (
        *("", "nonsense", "1.2.3", "tcp://[::1", "tcp://localhost", "file:/etc/passwd"),
        *("nope://h:1", "inproc://x", "tcp://localhost:65536", "tcp://a b:3"),
    ),
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(sm.InputError, match="this is not the address of a Dask scheduler; for ex"):
        sm.solve_network(ARCHITECTURE, LAYERS, scheduler=address)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://localhost:3", "Timed out trying to connect"),
        ("tls://localhost:3", "TLS expects"),
        ("ucx://localhost:1", "UCX"),
        ("inproc://127.0.0.1/1/1", "does not match host"),
    ],
)
def test_a_scheduler_that_cannot_be_reached_is_refused_with_the_reason_only(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "CONNECT", 1)
    with pytest.raises(sm.InputError, match=rf"no Dask scheduler answers here \(.*{reason}"):
        sm.solve_network(ARCHITECTURE, LAYERS, scheduler=address)
    gc.collect()
    assert "Traceback" not in capfd.readouterr().err


def test_processes_and_a_cluster_exclude_each_other() -> None:
    with pytest.raises(sm.InputError, match="either processes or a cluster"):
        sm.solve_network(ARCHITECTURE, LAYERS, scheduler="nowhere", jobs=2)
