"""Every probe, those that take long as campaigns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import (  # noqa: F401  (each registers its probes)
    input_probes,
    limit_probes,
    number_probes,
    output_probes,
    python_probes,
)
from tests.faults.registry import PROBES, Probe


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(each, id=name, marks=[pytest.mark.campaign] if each.slow else [])
        for name, each in PROBES.items()
    ],
)
def test_fault(case: Probe, tmp_path: Path) -> None:
    """The program holds under the fault: an answer or a message, in bounded time and memory."""
    case.run(tmp_path)
