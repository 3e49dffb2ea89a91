"""What happens during a study, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from solver_mapper.core.progress import Progress
from solver_mapper.study.execution.job import Job, Outcome


@dataclass(frozen=True)
class Started:
    """A search began."""

    job: Job


@dataclass(frozen=True)
class Advanced:
    """A search found something."""

    job: Job
    progress: Progress


@dataclass(frozen=True)
class Died:
    """The process of a search ended without an answer; `retried` says whether the search begins
    once more.
    """

    job: Job
    reason: str
    retried: bool


Event = Started | Advanced | Died | Outcome
Listener = Callable[[Event], None]
