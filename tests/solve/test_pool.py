"""Work shared with other processes: the answer is the one that a search alone gives, whatever
happens to these, and the same again each time.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import solver_mapper as sm
from solver_mapper.core import child_process
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import TimeUp, check_time, running
from solver_mapper.solve import session
from solver_mapper.solve.numbering import Numbering
from solver_mapper.solve.outward import outer_levels, parts, sliding
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.solve.pool import pool
from solver_mapper.solve.pool.messages import Part
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.strategies import tensor


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


@dataclass
class Words:
    """Tables of one numbering."""

    numbering: Numbering[str] = field(default_factory=lambda: Numbering(["one"]))

    @property
    def numberings(self) -> Sequence[Numbering[Any]]:
        return [self.numbering]

    def mentioned(self, part: Part) -> list[np.ndarray]:
        return [np.array(part.numbers)]  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Joined:
    """The words with some numbers; `seconds` later."""

    numbers: tuple[int, ...]
    seconds: float = 0.0

    def __call__(self, words: Words) -> tuple[str, int]:
        time.sleep(self.seconds)
        return " ".join(words.numbering[number] for number in self.numbers), os.getpid()


class SecondLook:
    """A clock that is over when it is looked at for the second time."""

    looks = 0

    def check(self) -> None:
        """Raises: TimeUp if it is."""
        self.looks += 1
        if self.looks > 1:
            raise TimeUp


class Interrupted(Joined):
    """The same, if there is time."""

    def __call__(self, words: Words) -> tuple[str, int]:
        check_time()
        return super().__call__(words)


@dataclass(frozen=True)
class Fails:
    """A part that nobody can do."""

    numbers: tuple[int, ...] = ()

    def __call__(self, words: Words) -> None:
        raise ValueError("no")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The ids of the processes that are started; none is left at the end. What there is to do is
    cut into small parts, and nothing is enumerated instead.
    """
    monkeypatch.setattr(session, "FEW_NESTS", 0)
    monkeypatch.setattr(session, "MANY_NESTS", 0)
    monkeypatch.setattr(parts, "SMALLEST", 4)
    monkeypatch.setattr(parts, "LARGEST", 16)
    monkeypatch.setattr(pool, "cores", lambda: 3)
    ids: list[int] = []

    class Watched(pool.ChildProcess):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            ids.append(self.pid)

    monkeypatch.setattr(pool, "ChildProcess", Watched)
    yield ids
    for process in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.fixture
def shared(started: list[int]) -> Iterator[pool.Shared[Words]]:
    """Tables of a pool with two processes that are ready."""
    made = pool.Pool(3)
    made.start()
    shared = made.shared(Words(), Words)
    wait_until(lambda: idle(made) == 2)
    assert len(shared.results([Joined((0,))] * 2)) == 2
    wait_until(lambda: idle(made) == 2)
    yield shared
    made.close()


def idle(made: pool.Pool) -> int:
    """How many processes have nothing to do."""
    return sum(helper.idle for helper in made._helpers or ())


def idle_or_busy(shared: pool.Shared[Words]) -> int:
    """How many processes may yet do something."""
    return sum(not helper._lost for helper in shared._pool._helpers or ())


def wait_until(ready: Callable[[], bool]) -> None:
    """Wait until processes have got somewhere."""
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.01)


def after_each_task(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object]) -> list[int]:
    """Do something to a process whenever it got a message; to which ones that was done."""
    send, ids = pool._Helper._send, list[int]()

    def acted(self: Any, message: object) -> None:
        send(self, message)
        act(self._process.pid)
        ids.append(self._process.pid)

    monkeypatch.setattr(pool._Helper, "_send", acted)
    return ids


def test_results_come_in_order_from_several_processes(shared: pool.Shared[Words]) -> None:
    numbers = [shared.tables.numbering.number(word) for word in ["one", "two", "three", "four"]]
    found = shared.results([Joined((number,), seconds=0.05) for number in numbers * 6])
    assert [word for word, _ in found] == ["one", "two", "three", "four"] * 6
    assert len({process for _, process in found}) == 3


def test_processes_learn_what_was_numbered_since(shared: pool.Shared[Words]) -> None:
    for word in ("two", "three", "four"):
        number = shared.tables.numbering.number(word)
        found = shared.results([Joined((0, number), seconds=0.02)] * 12)
        assert {words for words, _ in found} == {f"one {word}"}
        assert len({process for _, process in found}) > 1


def test_what_is_begun_is_done_meanwhile(shared: pool.Shared[Words]) -> None:
    later = shared.later(Joined((0,), seconds=0.1))
    word, process = later.result()
    assert word == "one" and process != os.getpid()
    assert later.result() == (word, process)


def test_what_nobody_has_begun_with_the_search_does_itself() -> None:
    alone = pool.Pool(1)
    later = alone.shared(Words(), Words).later(Joined((0,)))
    assert later.result() == ("one", os.getpid())


def test_what_is_interrupted_can_be_done_later(started: list[int]) -> None:
    later = pool.Pool(1).shared(Words(), Words).later(Interrupted((0,)))
    with running(SecondLook()), pytest.raises(TimeUp):
        later.result()
    assert later.result() == ("one", os.getpid())


def test_what_goes_wrong_in_a_process_goes_wrong_in_the_search(
    shared: pool.Shared[Words],
) -> None:
    with pytest.raises(ValueError, match="no"):
        shared.results([Fails()] * 6)
    assert shared.results([Joined((0,))] * 6) == [("one", os.getpid())] * 6


def test_results_of_what_was_given_up_are_no_results_of_what_follows(
    shared: pool.Shared[Words],
) -> None:
    with running(Clock(0.2)), pytest.raises(TimeUp):
        shared.results([Joined((0,), seconds=0.15)] * 12)
    number = shared.tables.numbering.number("two")
    assert [word for word, _ in shared.results([Joined((number,))] * 12)] == ["two"] * 12


def test_a_number_stands_for_one_thing() -> None:
    numbering = Numbering(["a"])
    assert [numbering.number(thing) for thing in "bab"] == [1, 0, 1]
    other = Numbering(["a"])
    other.learn(3, "d")
    assert len(other) == 4 and other[3] == "d" and other.number("d") == 3
    with pytest.raises(KeyError):
        other[2]
    with pytest.raises(ValueError, match="3 is the number of something else"):
        other.learn(3, "e")


@pytest.mark.parametrize("objective", ["energy", *in_campaigns(["edp"])])
def test_answers_do_not_depend_on_the_number_of_workers(objective: str, started: list[int]) -> None:
    alone = sm.solve(windowed(), objective)
    assert not started
    for workers in (2, 3):
        found = sm.solve(windowed(), objective, workers=workers)
        assert len(started) == workers - 1
        assert (found.status, found.rank, found.bound_rank) == (
            "optimal",
            alone.rank,
            alone.bound_rank,
        )
        assert (found.mapping, found.certificate) == (alone.mapping, alone.certificate)
        started.clear()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_dies_changes_nothing(
    number: int, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = sm.solve(windowed())
    killed = after_each_task(monkeypatch, lambda pid: os.kill(pid, number))
    found = sm.solve(windowed(), workers=3)
    assert started and killed
    assert (found.mapping, found.certificate) == (alone.mapping, alone.certificate)


@pytest.mark.parametrize("word", ["two", "a" * 1_000_000])
def test_a_process_that_stands_still_changes_nothing(
    word: str,
    shared: pool.Shared[Words],
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor if it does not take a message."""
    for process in started:
        os.kill(process, signal.SIGSTOP)
    monkeypatch.setattr(pool, "PATIENCE", 0.3)
    number = shared.tables.numbering.number(word)
    assert shared.results([Joined((number,))] * 6) == [(word, os.getpid())] * 6
    monkeypatch.setattr(pool, "PATIENCE", 60.0)
    assert shared.results([Joined((number,))] * 6) == [(word, os.getpid())] * 6


def test_time_ends_while_the_search_waits(
    shared: pool.Shared[Words], started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for process in started:
        os.kill(process, signal.SIGSTOP)
    monkeypatch.setattr(pool, "PATIENCE", 60.0)
    with running(Clock(0.3)), pytest.raises(TimeUp):
        shared.results([Joined((0,))] * 6)


def test_want_of_memory_for_a_result_changes_nothing(
    shared: pool.Shared[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(child_process.pickle, "load", load)
    for _ in range(2):
        found = shared.results([Joined((0,), seconds=0.02)] * 12)
        assert [word for word, _ in found] == ["one"] * 12
    wait_until(lambda: not idle_or_busy(shared))


def test_processes_take_part_where_many_files_are_open(started: list[int]) -> None:
    """`select` takes no numbers of files above 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2_000:
        pytest.skip("so many files may not be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_000), hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        made = pool.Pool(2)
        made.start()
        wait_until(lambda: idle(made) == 1)
        later = made.shared(Words(), Words).later(Joined((0,)))
        assert later.result()[1] == started[0]
        made.close()
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_process_makes_tables_that_are_too_large(
    started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(outer_levels, "MOST_FIGURES", 40)
    monkeypatch.setattr(pool.Pool, "begin", lambda _, job: begun.append(job.parts[0]))
    made = pool.Pool(2)
    architecture, problem = windowed().need_architecture(), windowed().need_problem()
    mapspace = EnumeratedMapspace(architecture, problem, windowed().constraints)
    Walk(mapspace, parse_objective("energy").goals[0], made)
    assert not begun
    with pytest.raises(ValueError, match="too many tiles"):
        parts.tables(architecture, problem, mapspace.constraints)


@pytest.mark.parametrize("error", [OSError, MemoryError])
def test_without_room_for_a_process_the_search_is_alone(
    error: type[Exception], started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    alone = sm.solve(windowed())
    monkeypatch.setattr(pool, "ChildProcess", refuse)
    assert sm.solve(windowed(), workers=2).mapping == alone.mapping
    assert not started


def test_no_process_goes_without_a_core(
    started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "cores", lambda: 1)
    made = pool.Pool(4)
    made.start()
    assert not started
    assert made.shared(Words(), Words).results([Joined((0,))] * 2) == [("one", os.getpid())] * 2


ELSEWHERE = """
import multiprocessing, os
from solver_mapper.solve import session
from solver_mapper.solve.outward import outer_levels, parts
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.solve.pool import pool
from tests.solve.test_pool import windowed
import solver_mapper as sm

session.FEW_NESTS = session.MANY_NESTS = 0
parts.SMALLEST, parts.LARGEST = 4, 16
pool.cores = lambda: 2
make, started = pool.ChildProcess, []
pool.ChildProcess = lambda *args, **named: started.append(1) or make(*args, **named)

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
@pytest.mark.parametrize(("case", "objective"), [(20, "energy"), (41, "energy"), (8, "edp")])
def test_long_proofs_are_the_same_for_any_number_of_workers(case: int, objective: str) -> None:
    """Of a depthwise layer and of convolutions, which walks prove."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    from random_architectures import drawn

    solve = partial(sm.solve, drawn(case).specification, objective)
    alone = solve()
    for workers in (2, 2, 3):
        found = solve(workers=workers)
        assert (found.status, found.rank) == ("optimal", alone.rank)
        assert (found.mapping, found.certificate) == (alone.mapping, alone.certificate)


def test_figures_keep_fractions_that_come_after_whole_numbers() -> None:
    states = Numbering([4, 3])
    figures = sliding._Figures(lambda state: 2 if state == 4 else state / 2, states)  # type: ignore[arg-type]
    assert figures.of(np.array([0, 0])).tolist() == [2, 2]
    states.number(1)
    assert figures.of(np.array([2, 0, 1])).tolist() == [0.5, 2, 1.5]
