"""Interrupts while the solver runs in its thread."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest
from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.solve.cpsat.engine import _Running, _wait, left_behind


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_solver_that_runs_on_is_not_taken_for_ended() -> None:
    """An exception of a signal handler leaves the wait; the thread runs on, and is known to."""

    class InterruptedWait(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise InterruptedWait

    go_on = threading.Event()
    thread = _Running(lambda: bool(go_on.wait(30)))
    thread.start()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(5):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(InterruptedWait):
                _wait(thread, Clock())
            assert left_behind()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        go_on.set()
    _wait(thread, Clock())
    assert not left_behind()


GIVEN_UP = """
import time
from solver_mapper.core.clock import Clock
from solver_mapper.deadline import TimeUp, running
from solver_mapper.solve.cpsat.engine import solved

class Slow:
    def solve(self, model, watch):
        time.sleep(2)
        print("ended")

    def stop_search(self):
        pass

clock = Clock(0.1)
try:
    with running(clock):
        solved(Slow(), None, clock)
except TimeUp:
    print("given up")
"""


def test_a_program_waits_at_its_end_for_a_run_that_was_given_up() -> None:
    """Python would abort it: the solver's thread must not outlive the interpreter."""
    done = subprocess.run([sys.executable, "-c", GIVEN_UP], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split("\n")) == (0, ["given up", "ended", ""])


def test_a_clock_that_is_stopped_ends_the_wait() -> None:
    """A model without end is given up once its clock is stopped."""
    from solver_mapper.solve.cpsat.engine import solved

    model = cp_model.CpModel()
    cells = [[model.new_bool_var("") for _ in range(40)] for _ in range(41)]
    for row in cells:
        model.add_exactly_one(row)
    for column in zip(*cells, strict=True):
        model.add_at_most_one(column)
    clock = Clock()
    threading.Timer(0.2, clock.stop).start()
    started = time.process_time()
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solved(solver, model, clock)
    assert time.process_time() - started < 5
