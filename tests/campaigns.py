"""Which seeds the suite tries, which ones it leaves to campaigns, and parts of these."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest


def in_campaigns(values: Iterable[object]) -> list[Any]:
    """Values of a parameter, or tuples of those of several, that are tried with `-m campaign`."""
    several = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*each, marks=pytest.mark.campaign) for each in several]


T = TypeVar("T")


def part_of(tests: Sequence[T], part: str) -> list[T]:
    """The tests of one of several parts, "3/16" of the third one: every sixteenth test, so that
    each part has some seeds of every test with many. All parts together are all tests.

    Raises: pytest.UsageError if there is no such part.
    """
    named = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", part)
    if not named or int(named[1]) > int(named[2]):
        raise pytest.UsageError(f"--part: {part!r} is no part; --part 3/16 is the third one of 16")
    number, parts = int(named[1]), int(named[2])
    return list(tests[number - 1 :: parts])
