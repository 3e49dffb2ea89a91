"""A limit in seconds of processor time, for machines that do other work as well."""

from __future__ import annotations

import time

from solver_mapper.core.clock import Clock


def processor_limit(seconds: float) -> Clock:
    """A clock that is over once this process has spent `seconds` since now."""
    return Clock(seconds, time.process_time(), now=time.process_time)
