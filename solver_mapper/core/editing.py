"""Specifications with changes, dispatched on the type of the specification.

The reader of a notation registers how its specifications are changed and read again, so that
specifications import nothing of `io`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any


@singledispatch
def edited(spec: object, values: Mapping[str, object]) -> Any:
    """`spec` with other attributes, by path, as its notation understands them.

    Raises: TypeError for a notation without paths; InputError for a path that leads nowhere.
    """
    raise TypeError(f"attributes of {type(spec).__name__} cannot be changed by path")
