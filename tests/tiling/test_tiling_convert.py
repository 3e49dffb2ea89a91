"""`convert` of an operator's file: the nest of its tiling, as Timeloop reads it."""

from __future__ import annotations

import yaml
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app

OPERATOR = {
    "operator": "inner_product",
    "spad_bytes": 16384,
    "input_shape": [1, 784],
    "layout": "NC",
    "weight_shape": [256, 784],
    "num_outputs": 256,
}


def test_a_tiled_operator_is_evaluated_as_timeloop(tmp_path):
    """What `convert` prints is a whole specification whose mapping is legal and moves what the
    schedule moves.
    """
    file = tmp_path / "operator.yaml"
    file.write_text(yaml.safe_dump(OPERATOR), encoding="utf-8")
    printed = CliRunner().invoke(app, ["convert", str(file), "--to", "timeloop"])
    assert printed.exit_code == 0
    converted = tmp_path / "timeloop.yaml"
    converted.write_text(printed.output, encoding="utf-8")
    spec = sm.load(converted)
    assert sm.validate(spec).legal
    moved = sm.tile(OPERATOR).to_dict()["schedule"]
    memory = sm.evaluate(spec).to_dict()["last_level_accesses"]
    assert (
        memory
        == moved["input_elems_loaded"] + moved["weight_elems_loaded"] + moved["output_elems_stored"]
    )


def test_a_tiled_operator_is_not_a_looptree(tmp_path):
    """Only Timeloop's notation is offered, and the message says so."""
    file = tmp_path / "operator.yaml"
    file.write_text(yaml.safe_dump(OPERATOR), encoding="utf-8")
    assert CliRunner().invoke(app, ["convert", str(file), "--to", "looptree"]).exit_code == 2
