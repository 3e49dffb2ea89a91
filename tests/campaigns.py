"""Which seeds the suite tries, and which ones it leaves to campaigns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def in_campaigns(values: Iterable[object]) -> list[Any]:
    """Values of a parameter that are tried with `-m campaign` alone."""
    return [pytest.param(value, marks=pytest.mark.campaign) for value in values]
