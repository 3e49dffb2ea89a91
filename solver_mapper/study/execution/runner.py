"""A study: jobs through the store and an executor. Equal jobs are solved once; what is stored is
not solved again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from solver_mapper.errors import ExactnessError, InputError
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.events import Listener
from solver_mapper.study.execution.executors import Executor
from solver_mapper.study.execution.job import Job, Outcome
from solver_mapper.study.execution.record import Record
from solver_mapper.study.execution.store import Store

NOT_STARTED = "the study ended before this search began"


@dataclass
class Study:
    """Runs jobs. `total` is the number of jobs to come, by which the time that is left is shared
    out among them.

    A job that reaches its share ends with the best mapping so far; what it does not use goes to
    those after it.
    """

    executor: Executor
    store: Store
    clock: StudyClock
    total: int
    listen: Listener
    unstored: InputError | None = None
    """Why an answer could not be stored, such as a full disk; the study goes on without."""
    _pulled: int = 0
    _waiting: dict[str, list[Job]] = field(default_factory=dict)
    """Jobs equal to one under way, by their digest."""

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """The outcome of each job, in the order in which they are known. What is solved is stored
        before it is yielded.
        """
        for outcome in self.executor.run(self._work(iter(jobs)), self.clock, self.listen):
            yield from self._recorded(outcome)

    def _work(self, jobs: Iterator[Job]) -> Iterator[Job | Outcome]:
        """What the executor has to do: jobs that are neither stored nor under way, and the outcomes
        of those that are stored.
        """
        for job in jobs:
            self._pulled += 1
            if job.digest in self._waiting:
                self._waiting[job.digest].append(job)
                continue
            job = replace(job, time_limit=self._limit(job))
            found = self._stored(job)
            if found is not None and (self.clock.over or found.satisfies(job.time_limit)):
                yield Outcome(job, found, stored=True)
            elif self.clock.over:
                yield Outcome(job, Record.failed(NOT_STARTED))
            else:
                self._waiting[job.digest] = []
                mapping = None if found is None else found.mapping(job.spec)
                yield job if mapping is None else job.starting_from(mapping)

    def _limit(self, job: Job) -> float | None:
        """The job's own limit, or its share of the time that is left if that is less."""
        left = self.clock.left
        if left is None:
            return job.time_limit
        share = left * self.executor.slots / max(self.executor.slots, self.total - self._pulled + 1)
        return share if job.time_limit is None else min(share, job.time_limit)

    def _stored(self, job: Job) -> Record | None:
        """The record in the store, if it describes a legal mapping with its true figures. Any other
        is forgotten.
        """
        record = self.store.get(job.digest)
        try:
            if record is not None:
                record.verified(job.spec)
        except ExactnessError:
            self.store.remove(job.digest)
            return None
        return record

    def _kept(self, job: Job, record: Record) -> Record:
        try:
            return self.store.put(job.digest, job.name, record)
        except InputError as error:
            self.unstored = self.unstored or error
            return record

    def _recorded(self, outcome: Outcome) -> Iterator[Outcome]:
        """`outcome`, stored, and the outcomes of the jobs that waited for it."""
        job, record = outcome.job, outcome.record
        waiting: deque[Job] = deque()
        if not outcome.stored and record.error != NOT_STARTED:
            waiting.extend(self._waiting.pop(job.digest, ()))
            if record.error is None:
                record = self._kept(job, record)
            outcome = Outcome(job, record)
        self.listen(outcome)
        yield outcome
        for other in waiting:
            yield Outcome(other, record, stored=True)
