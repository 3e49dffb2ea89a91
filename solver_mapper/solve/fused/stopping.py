"""Ending a search of several Einsums from within its longest steps."""

from __future__ import annotations

from collections.abc import Callable


class TimeUpError(Exception):
    """The time is over. Raised where a step has no answer to give yet; the search catches it."""


Poll = Callable[[], None]
"""Called often; raises TimeUpError when the time is over."""


def never() -> None:
    """A poll of a search that nothing stops."""


def poll_of(over: Callable[[], bool]) -> Poll:
    """A poll that raises TimeUpError once `over` is true."""

    def poll() -> None:
        if over():
            raise TimeUpError

    return poll
