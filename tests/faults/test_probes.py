"""Every probe; by default a sample of the quick ones, the others as campaigns."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.faults import (  # noqa: F401  (each registers its probes)
    input_probes,
    limit_probes,
    number_probes,
    output_probes,
    python_probes,
    surroundings_probes,
)
from tests.faults.registry import PROBES, Probe

EVERY = 6
"""One in so many of the quick probes runs by default."""


def _cases() -> list[ParameterSet]:
    quick = [name for name, each in PROBES.items() if not each.slow][::EVERY]
    return [
        pytest.param(each, id=name, marks=[] if name in quick else [pytest.mark.campaign])
        for name, each in PROBES.items()
    ]


@pytest.mark.parametrize("case", _cases())
def test_fault(case: Probe, tmp_path: Path) -> None:
    """The program holds under the fault: an answer or a message, in bounded time and memory."""
    case.run(tmp_path)
