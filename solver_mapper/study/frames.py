"""Results as pandas data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from solver_mapper.errors import InputError, SourceLocation

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> DataFrame:
    """Raises: InputError where pandas is not installed."""
    try:
        from pandas import DataFrame
    except ImportError:
        raise InputError(
            "pandas is not installed",
            SourceLocation("to_pandas"),
            "install solver-mapper with the extra 'study'",
        ) from None
    return DataFrame(list(rows), columns=list(columns))
