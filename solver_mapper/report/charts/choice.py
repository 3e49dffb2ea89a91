"""Charts of a result by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from solver_mapper.core.results.chart import Chart
from solver_mapper.errors import InputError, SourceLocation, did_you_mean

R = TypeVar("R")


def chosen(charts: Mapping[str, Callable[[R], Chart]], name: str, result: R) -> Chart:
    """The chart called `name`. Raises: InputError if there is none of that name."""
    if name not in tuple(charts):
        raise InputError(
            f"there is no chart '{name}' of this result",
            SourceLocation("plot"),
            did_you_mean(str(name), tuple(charts)) or f"choose one of {', '.join(charts)}",
        )
    return charts[name](result)
