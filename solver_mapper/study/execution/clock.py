"""The clock of a whole study: stopping it stops every search under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from solver_mapper.core.clock import Clock


@dataclass
class StudyClock(Clock):
    """A clock that others follow."""

    _followers: list[Callable[[], None]] = field(default_factory=list)

    def stop(self) -> None:
        """Stop this clock and all that follow it."""
        super().stop()
        for follower in tuple(self._followers):
            follower()

    @contextmanager
    def followed_by(self, follower: Callable[[], None]) -> Iterator[None]:
        """Call `follower` when the study is stopped while the block runs."""
        self._followers.append(follower)
        try:
            yield
        finally:
            self._followers.remove(follower)
