"""Numbers for things, so that arrays can refer to them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Numbering(Generic[K]):
    """Equal things have the same number. They are numbered as they are met, from the `first` on; or
    as another numbering has them, of which this one learns a part.
    """

    def __init__(self, first: Iterable[K] = ()):
        self._things: list[K | None] = []
        self._numbers: dict[K, int] = {}
        for thing in first:
            self.number(thing)

    def __len__(self) -> int:
        return len(self._things)

    def __getitem__(self, number: int) -> K:
        thing = self._things[number]
        if thing is None:
            raise KeyError(number)
        return thing

    def number(self, thing: K) -> int:
        """The number of a thing."""
        if thing not in self._numbers:
            self.learn(len(self), thing)
        return self._numbers[thing]

    def learn(self, number: int, thing: K) -> None:
        """Take the number of a thing from another numbering.

        Raises: ValueError if it is that of something else.
        """
        self._things += [None] * (number + 1 - len(self))
        if self._things[number] not in (None, thing):
            raise ValueError(f"{number} is the number of something else")
        self._things[number] = thing
        self._numbers[thing] = number
