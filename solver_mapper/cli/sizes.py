"""Sizes of memory on the command line."""

from __future__ import annotations

import re
import sys

from solver_mapper.errors import InputError, SourceLocation


def memory_size(text: str | None, option: str) -> int | None:
    """`4G`, `500M` or plain bytes as a number. Raises: InputError for anything else."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    value = int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ")) if match else 0
    if value < 1:
        raise InputError(
            f"'{text}' is not a size of memory", SourceLocation(option), "for example 4G or 500M"
        )
    if sys.platform == "win32":
        raise InputError("memory cannot be limited on this system", SourceLocation(option))
    return value
