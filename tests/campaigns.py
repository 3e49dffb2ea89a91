"""Which seeds the suite tries, and which ones it leaves to campaigns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def in_campaigns(values: Iterable[object]) -> list[Any]:
    """Values of a parameter, or tuples of those of several, that are tried with `-m campaign`."""
    several = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*each, marks=pytest.mark.campaign) for each in several]
