"""docs/reference/constraints.md: every example is read as it stands, and the Python runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper import constraints
from solver_mapper.io.timeloop.constraints.constraint_file import _TYPES
from solver_mapper.io.timeloop.constraints.extended_constraints import METRIC_NAMES
from tests.constraints.designs import DESIGN, spec_with

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "reference" / "constraints.md").read_text(
    encoding="utf-8"
)
FORMS = re.findall(r"`(\{.*?\})` \|$", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_and_has_an_effect(form: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"mapspace_constraints:\n- {form}\n")
    spec = sm.load(DESIGN, file)
    assert isinstance(spec, sm.Spec)
    assert spec.constraints


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_is_read_and_can_be_obeyed(block: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(block)
    assert sm.explain(sm.load(DESIGN, file)).feasible


def test_the_python_runs() -> None:
    names: dict[str, Any] = {"spec": spec_with(mapping=[])}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "<constraints.md>", "exec", dont_inherit=True), names)
        assert names["solution"].status == "optimal"
    assert names["verdict"].legal
    assert names["reason"].feasible


def test_nothing_is_left_out() -> None:
    """All types, all metrics, and every public name of the constraint objects are on the page."""
    words = set(re.findall(r"\w+", PAGE))
    assert {
        *_TYPES,
        *METRIC_NAMES.values(),
        *constraints.__all__,
        *(name for name in vars(sm.Model) if not name.startswith("_")),
    } - words <= {"Quantity", "ConstraintSet", "architecture", "problem"}
