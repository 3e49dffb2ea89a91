"""Where searches run: the interface, and the executor that needs no other process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from solver_mapper.core.clock import Clock
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.events import Advanced, Listener, Started
from solver_mapper.study.execution.job import Job, Outcome, solve_job


class Executor(Protocol):
    """Runs searches; every executor gives the same answers."""

    @property
    def slots(self) -> int:
        """How many searches run at once."""
        ...

    def run(
        self, work: Iterator[Job | Outcome], clock: StudyClock, listen: Listener
    ) -> Iterator[Outcome]:
        """The outcome of each job of `work`, in the order in which they end.

        An item of `work` is taken only when a slot is free for it; outcomes among them are passed
        on. Searches under way end early when `clock` is stopped.
        """
        ...


class InProcess:
    """One search after another, in this process."""

    slots = 1

    def run(
        self, work: Iterator[Job | Outcome], clock: StudyClock, listen: Listener
    ) -> Iterator[Outcome]:
        """See `Executor.run`."""
        for item in work:
            yield item if isinstance(item, Outcome) else _solve(item, clock, listen)


def _solve(job: Job, clock: StudyClock, listen: Listener) -> Outcome:
    listen(Started(job))
    own = Clock(job.time_limit)
    with clock.followed_by(own.stop):
        record = solve_job(job, own, lambda progress: listen(Advanced(job, progress)))
    if own.stopped and not clock.stopped:  # Ctrl-C reached the search first
        clock.stop()
    return Outcome(job, record)
