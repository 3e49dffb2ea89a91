"""A walk in a process of its own beside the search: the answer is the one that a search alone
gives, whatever happens to that process, and the same again each time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import TimeUp, running
from solver_mapper.solve import session
from solver_mapper.solve.beside import helper, race
from solver_mapper.solve.beside.messages import Told
from solver_mapper.solve.beside.race import Race, RacedWalks
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.solve.session import Session
from tests.campaigns import in_campaigns
from tests.strategies import tensor

ENERGY = parse_objective("energy").goals[0]


def windowed() -> Spec:
    """Four levels that hold what they like, and a window that slides: walks come first."""
    levels = [
        Buffer(f"L{number}", 64 >> number if number else None, 1, 1, 1, energy=cost)
        for number, cost in enumerate(
            AccessEnergy(*[Fraction(price)] * 3) for price in (100, 20, 5, 1)
        )
    ]
    window = tensor("I", "C", [("P", 1), ("R", 1)])
    tensors = (tensor("W", "C", "R"), window, tensor("O", "P", read_write=True))
    problem = Problem("window", ("C", "P", "R"), {"C": 2, "P": 4, "R": 3}, tensors)
    units = Arithmetic("MAC", 1, 1, 1, energy=Fraction(1))
    return Spec(architecture=Architecture("deep", tuple(levels), units), problem=problem)


@pytest.fixture(scope="module")
def alone() -> sm.Solution:
    """What a search finds that has no process beside it, and enumerates nothing either."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(session, "FEW_NESTS", 0)
        patched.setattr(session, "MANY_NESTS", 0)
        return sm.solve(windowed())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The ids of the processes that are started, each at once; none is left at the end."""
    monkeypatch.setattr(race, "SOME", 0)
    monkeypatch.setattr(helper, "cores", lambda: 2)
    ids: list[int] = []

    class Watched(helper.ChildProcess):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            ids.append(self.pid)

    monkeypatch.setattr(helper, "ChildProcess", Watched)
    yield ids
    for process in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def after_each_task(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object]) -> list[int]:
    """Do something to the process whenever it got a task; the tasks' numbers."""
    walk, tasks = helper.Helper.walk, list[int]()

    def acted(self: helper.Helper, *args: Any) -> int:
        serial = walk(self, *args)
        assert self._process is not None
        act(self._process.pid)
        tasks.append(serial)
        return serial

    monkeypatch.setattr(helper.Helper, "walk", acted)
    return tasks


@pytest.mark.parametrize("objective", ["energy", *in_campaigns(["edp"])])
def test_answers_do_not_depend_on_the_number_of_workers(
    objective: str, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = after_each_task(monkeypatch, lambda _: None)
    alone = sm.solve(windowed(), objective)
    assert not tasks and not started
    first, second = (sm.solve(windowed(), objective, workers=2) for _ in range(2))
    assert len(started) == len(tasks) == 2
    assert first.status == alone.status == "optimal"
    assert (first.rank, first.bound_rank) == (alone.rank, alone.bound_rank)
    assert (second.mapping, second.bound_rank) == (first.mapping, first.bound_rank)
    assert second.certificate == first.certificate


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_dies_changes_nothing(
    number: int, alone: sm.Solution, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = after_each_task(monkeypatch, lambda pid: os.kill(pid, number))
    found = sm.solve(windowed(), workers=2)
    assert started and tasks
    assert (found.status, found.rank) == (alone.status, alone.rank)
    assert found.mapping == alone.mapping


def test_a_process_that_stands_still_does_not_hold_up_the_end_of_the_time(
    started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    after_each_task(monkeypatch, lambda pid: os.kill(pid, signal.SIGSTOP))
    begun = time.monotonic()
    found = sm.solve(windowed(), workers=2, time_limit=3.0)
    assert started and time.monotonic() - begun < 8.0
    assert found.status == "feasible" and found.bound_rank is not None


@pytest.mark.parametrize("error", [OSError, MemoryError])
def test_without_room_for_a_process_the_search_is_alone(
    error: type[Exception],
    alone: sm.Solution,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(helper, "ChildProcess", refuse)
    assert sm.solve(windowed(), workers=2).mapping == alone.mapping
    assert not started


class FakeHelper:
    """Walks take the work that is given by their targets; `asked`: how much the search had done
    whenever it waited.
    """

    wanted = True

    def __init__(self, works: dict[float, tuple[int, Ends]]):
        self.works, self.begun, self.asked = works, list[float](), list[int]()

    def walk(self, _goal: object, _limits: object, target: float) -> int:
        self.begun.append(target)
        return len(self.begun)

    def told(self, serial: int, work: int) -> Told | None:
        self.asked.append(work)
        whole, ends = self.works[self.begun[serial - 1]]
        return Told(serial, whole, ends) if whole <= work else Told(serial, work + 1)


FOUND = Ends((), 5.0)
TOO_MANY = Ends((), None, whole=False)


def test_who_has_done_less_work_comes_first() -> None:
    made = FakeHelper({8.0: (100, FOUND)})
    raced = Race(made, ENERGY, (), 30)  # type: ignore[arg-type]
    raced.begin(8.0)
    assert not made.begun, "it begins when the search has done some work"
    raced.advance(race.SOME)
    raced.begin(8.0)
    raced.advance(30 + 99)
    assert raced.ends is None
    raced.advance(1)
    assert raced.ends == FOUND._replace(target=8.0)
    raced.begin(1.0)
    assert made.begun == [8.0], "one that has ended as a whole is the last one"
    assert min(made.asked) >= 0, "what it does before its first walk is not waited for"


def test_another_walk_begins_where_it_has_much_less_to_do() -> None:
    made = FakeHelper({8.0: (100, TOO_MANY), 7.99: (100, TOO_MANY), 6.0: (50, FOUND)})
    raced = Race(made, ENERGY, (), 0)  # type: ignore[arg-type]
    raced.advance(race.SOME)
    for target in (8.0, 7.99):
        raced.begin(target)
    assert made.begun == [8.0]
    raced.advance(100)
    raced.begin(8.0)
    raced.begin(7.99)
    assert made.begun == [8.0, 7.99], "the first one came to nothing"
    raced.begin(6.0)
    raced.advance(50)
    assert made.begun[-1] == 6.0 and raced.ends is not None


def test_a_walk_ends_when_the_one_beside_it_has_ended() -> None:
    """The search's first walk would find nothing below its target; the one beside has found it."""
    mapspace = Session(windowed()).all_mappings
    made = FakeHelper({1e9: (1, FOUND)})
    walks = RacedWalks(Walk(mapspace, ENERGY), made)  # type: ignore[arg-type]
    walks._race.advance(race.SOME)
    found = list(walks.ends(lambda: (1.0, 1e9), 1.0))
    assert [each.target for each in found] == [1e9]
    assert not list(walks.ends(lambda: (1.0, 1e9), 1.0))


def test_time_ends_while_the_search_waits(started: list[int]) -> None:
    made = helper.Helper(windowed(), wanted=True)
    with running(Clock(0.2)), pytest.raises(TimeUp):
        made.told(1, 0)
    made.close()


ELSEWHERE = """
import multiprocessing, os
from solver_mapper.solve import session
from solver_mapper.solve.beside import helper, race
from tests.solve.test_beside import windowed
import solver_mapper as sm

session.FEW_NESTS = session.MANY_NESTS = race.SOME = 0
helper.cores = lambda: 2
make, started = helper.ChildProcess, []
helper.ChildProcess = lambda *args, **named: started.append(1) or make(*args, **named)

def answer(queue=None):
    print(sm.solve(windowed(), "energy", workers=2).status, len(started), flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "answer()",
        "process = multiprocessing.get_context('fork').Process(target=answer, daemon=True)\n"
        "process.start(); process.join()",
        "import threading; thread = threading.Thread(target=answer)\nthread.start(); thread.join()",
    ],
)
def test_programs_without_a_main_module_may_have_two_workers(call: str) -> None:
    """Also in processes that may have no children of `multiprocessing`, and in threads."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE + call],
        capture_output=True,
        text=True,
        cwd=root,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("optimal 1\n", "", 0)


@pytest.mark.campaign
def test_long_proofs_give_equal_answers_again_and_again() -> None:
    """Of a depthwise layer, in which the walk beside the search ends the proof."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    from random_architectures import drawn

    solve = partial(sm.solve, drawn(20).specification, "energy")
    alone, *others = solve(), *(solve(workers=2) for _ in range(3))
    for each in others:
        assert (each.status, each.rank, each.bound_rank) == (
            "optimal",
            alone.rank,
            alone.bound_rank,
        )
        assert (each.mapping, each.certificate) == (others[0].mapping, others[0].certificate)
