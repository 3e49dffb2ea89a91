"""Ending a search of several Einsums from within its longest steps."""

from __future__ import annotations

from collections.abc import Callable

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
