"""Ending a search of several Einsums from within its longest steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from solver_mapper.deadline import TimeUp

Poll = Callable[[], None]
"""Called often; raises TimeUp when the time is over."""


def never() -> None:
    """A poll of a search that nothing stops."""


def poll_of(over: Callable[[], bool]) -> Poll:
    """A poll that raises TimeUp once `over` is true."""

    def poll() -> None:
        if over():
            raise TimeUp("the search was stopped")

    return poll


@dataclass
class Limited:
    """Says when to stop: when `over` does, or once it was asked `left` times, which measures the
    effort of a search.
    """

    over: Callable[[], bool]
    left: float

    def __call__(self) -> bool:
        """Whether to stop."""
        self.left -= 1
        return self.left < 0 or self.over()
