"""Work beside a run of CP-SAT: nothing that it finds is lost, and it ends with the search."""

from __future__ import annotations

import threading
import time

import pytest

from solver_mapper.core.clock import Clock
from solver_mapper.deadline import check_time
from solver_mapper.solve.beside import Beside

LONG = 20.0


def all_news(beside):
    """Everything until it is over."""
    found, until = [], time.monotonic() + LONG
    while not beside.over and time.monotonic() < until:
        found += beside.news()
        time.sleep(0.01)
    return found


def endless(started):
    started.set()
    while True:
        check_time()
        time.sleep(0.001)
        yield 1


def test_all_that_is_found_arrives_in_order():
    assert all_news(Beside(iter(range(1000)), Clock())) == list(range(1000))


def test_the_run_that_is_under_way_ends_when_there_is_nothing_more():
    clock, stopped = Clock(), threading.Event()
    clock.end_run = stopped.set
    beside = Beside(iter([1]), clock)
    assert stopped.wait(LONG)
    assert all_news(beside) == [1]


def test_a_failure_is_raised_where_the_news_is_read():
    def failing():
        yield 1
        raise ArithmeticError("seven")

    with pytest.raises(ArithmeticError, match="seven"):
        all_news(Beside(failing(), Clock()))


def test_it_ends_when_nobody_waits_for_it():
    started = threading.Event()
    beside = Beside(endless(started), Clock())
    assert started.wait(LONG)
    beside.end()
    assert beside.over
    assert "beside" not in {thread.name for thread in threading.enumerate()}


def test_it_ends_with_the_clock():
    clock, started = Clock(), threading.Event()
    beside = Beside(endless(started), clock)
    assert started.wait(LONG)
    clock.stop()
    assert set(all_news(beside)) <= {1}
    assert beside.over
