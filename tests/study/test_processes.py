"""Searches in other processes: the same answers, and a process that dies loses nothing but its own
search.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

import solver_mapper as sm
from solver_mapper.study.execution import processes
from solver_mapper.study.execution.events import Died, Started
from tests.study.test_networks import ARCHITECTURE, LAYERS, MM8, problem


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The ids of the processes that are started."""
    ids: list[int] = []
    make = processes._Process

    class Watched(make):  # type: ignore[misc, valid-type]
        def __init__(self, *args: object) -> None:
            super().__init__(*args)
            ids.append(self.pid)

    monkeypatch.setattr(processes, "_Process", Watched)
    yield ids
    for process in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_processes_give_the_same_answers(started: list[int]) -> None:
    alone, together = (
        sm.solve_network(ARCHITECTURE, LAYERS),
        sm.solve_network(ARCHITECTURE, LAYERS, jobs=2),
    )
    assert together.totals == alone.totals
    assert [each.mapping for each in together.layers] == [each.mapping for each in alone.layers]
    assert 1 <= len(started) <= 2


def test_a_process_that_dies_is_told_and_its_layer_begun_again(started: list[int]) -> None:
    deaths: list[Died] = []

    def watch(progress: sm.StudyProgress) -> None:
        if isinstance(progress.event, Started) and len(started) == 1:
            os.kill(started[0], signal.SIGKILL)
        if isinstance(progress.event, Died):
            deaths.append(progress.event)

    result = sm.solve_network(ARCHITECTURE, LAYERS, jobs=1, on_progress=watch)
    assert [(each.job.name, each.reason, each.retried) for each in deaths] == [
        ("a", "it was ended by SIGKILL", True)
    ]
    assert result.totals == sm.solve_network(ARCHITECTURE, LAYERS).totals


def test_a_layer_whose_process_dies_twice_is_left_and_the_others_go_on(started: list[int]) -> None:
    deaths: list[bool] = []

    def watch(progress: sm.StudyProgress) -> None:
        if isinstance(progress.event, Started) and progress.event.job.name == "a":
            os.kill(started[-1], signal.SIGKILL)
        if isinstance(progress.event, Died):
            deaths.append(progress.event.retried)

    result = sm.solve_network(ARCHITECTURE, LAYERS, jobs=1, on_progress=watch)
    assert deaths == [True, False]
    assert [each.status for each in result.layers] == ["unknown", "optimal", "unknown"]
    assert (
        result.layers[0].to_dict()["error"]
        == "the process that mapped it died: it was ended by SIGKILL"
    )


def test_memory_is_limited(started: list[int]) -> None:
    """A process that may not have enough dies, and says why; one that may have enough answers."""
    reasons: list[str] = []

    def watch(progress: sm.StudyProgress) -> None:
        if isinstance(progress.event, Died):
            reasons.append(progress.event.reason)

    few = sm.solve_network(ARCHITECTURE, LAYERS[:1], jobs=1, memory=2**20, on_progress=watch)
    assert few.layers[0].status == "unknown"
    assert len(reasons) == 2 and all("memory" in reason for reason in reasons)
    assert sm.solve_network(ARCHITECTURE, LAYERS[:1], jobs=1, memory=2**31).status == "optimal"


@pytest.mark.parametrize("little", [True, False])
def test_any_error_beside_no_memory_is_lack_of_memory(little: bool) -> None:
    """A library that could not read a file for want of memory raises an error of its own."""
    code = (
        "import resource, sys; from importlib.metadata import PackageNotFoundError;"
        "from solver_mapper.startup import is_out_of_memory;"
        "resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]),) * 2);"
        "print(is_out_of_memory(PackageNotFoundError('ortools')))"
    )
    limit = 2**20 if little else 2**34
    told = subprocess.run(
        [sys.executable, "-c", code, str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == str(little)


def test_a_stop_ends_searches_in_other_processes(started: list[int]) -> None:
    """The best mapping so far comes back, as from a search in this process."""
    from solver_mapper.study.execution.clock import StudyClock
    from solver_mapper.study.execution.events import Advanced

    clock = StudyClock()

    def watch(progress: sm.StudyProgress) -> None:
        if isinstance(progress.event, Advanced):
            clock.stop()

    layers = [("conv", 1, problem("resnet50/layer2.x.conv2_3x3")), ("later", 1, MM8)]
    result = sm.solve_network("simba", layers, jobs=1, clock=clock, on_progress=watch)
    assert result.layers[0].status == "feasible"
    assert result.layers[0].mapping is not None
    assert result.layers[1].to_dict()["error"] == "the study ended before this search began"
