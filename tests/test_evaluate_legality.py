"""`evaluate` says whether the mapping that it counts is legal: in its text, its JSON and its exit
code.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli.app import app
from tests.constraints.designs import ARCHITECTURE, DESIGN, MAPPING, spatial, temporal

TREE = Path(__file__).parents[1] / "examples" / "fused_matmuls.yaml"
SMALL = {
    "arch": {
        **ARCHITECTURE["arch"],
        "storage": [
            {**each, "entries": 4} if each["name"] == "RF" else each
            for each in ARCHITECTURE["arch"]["storage"]
        ],
    }
}
"""The mapping needs 5 words of each RF; here 4 fit."""
CROWDED = TREE.read_text().replace("KiB / 2", "KiB / 8")


def run(*words: str | Path, text: str | None = None) -> tuple[int, str, str]:
    """(exit code, standard output, standard error)"""
    done = CliRunner().invoke(app, ["evaluate", *map(str, words)], input=text)
    return done.exit_code, done.stdout, done.stderr


def as_text(**more: Any) -> str:
    return yaml.safe_dump({**DESIGN, "mapping": MAPPING, **more})


@pytest.mark.parametrize(
    ("files", "constraint", "message"),
    [
        (
            as_text(**SMALL),
            "capacity",
            "RF: the tiles of W (2), I (2) and O (1) need 5 words; 4 fit",
        ),
        (
            as_text(architecture_constraints=[temporal("GLB", factors="C=4")]),
            "factor",
            "GLB temporal: the factor of C is 2",
        ),
        (
            as_text(mapspace=[spatial("GLB", factors="K=2")]),
            "factor",
            "GLB spatial: the factor of K is 4",
        ),
        (as_text(mapspace=[{"metrics": {"cycles": "<= 5"}}]), "metric", "cycles is 96"),
        (CROWDED, "capacity", "need 1280 bits while C runs; 1024 fit"),
    ],
    ids=["capacity", "architecture constraint", "mapspace constraint", "cap", "LoopTree"],
)
def test_an_illegal_mapping_has_statistics_violations_and_exit_code_1(
    files: str, constraint: str, message: str
) -> None:
    code, out, err = run("-", text=files)
    assert code == 1 and "energy" in out
    assert "illegal: 1 violation" in out and f"[{constraint}] " in out and message in out
    assert err.endswith("solver-mapper: the mapping is illegal (1 violation)\n")
    code, out, err = run("-", "--json", text=files)
    found = json.loads(out)
    assert code == 1 and found["legal"] is False and "is illegal" in err
    assert [(each["rule"], message in each["message"]) for each in found["violations"]] == [
        (constraint, True)
    ]
    assert {"energy", "energy_pj"} & set(found), "the statistics are there all the same"


def test_force_makes_the_statistics_of_an_illegal_mapping_a_success(tmp_path: Path) -> None:
    code, out, err = run("-", "--force", "-o", tmp_path, text=as_text(**SMALL))
    assert code == 0 and "illegal: 1 violation" in out and "is illegal" in err
    written = json.loads((tmp_path / "evaluation.json").read_text())
    assert written["legal"] is False and len(written["violations"]) == 1


@pytest.mark.parametrize("files", [as_text(), TREE.read_text()], ids=["levels", "LoopTree"])
def test_a_legal_mapping_is_said_to_be_legal_in_json_only(files: str) -> None:
    code, out, err = run("-", "--json", text=files)
    found = json.loads(out)
    assert (code, found["legal"], found["violations"]) == (0, True, [])
    assert "illegal" not in err
    assert "legal" not in run("-", text=files)[1]


def test_evaluate_and_validate_agree() -> None:
    for text in (as_text(**SMALL), CROWDED, as_text()):
        spec = sm.load(io.StringIO(text))
        assert sm.evaluate(spec).verdict == sm.validate(spec)


def test_the_evaluation_of_a_solution_is_legal() -> None:
    found = sm.solve(sm.load(DESIGN), "delay", time_limit=20).to_dict()["evaluation"]
    assert (found["legal"], found["violations"]) == (True, [])
    spec = sm.load(TREE)
    assert sm.solve(spec, "energy").to_dict()["evaluation"]["legal"] is True


def test_a_mapping_without_figures_is_an_input_error() -> None:
    """Loops that do not make up the problem, or tensors stored nowhere, have no statistics at all:
    exit code 2.
    """
    code, out, err = run("-", text=as_text(mapping=MAPPING[:2]))
    assert (code, out) == (2, "") and "statistics need a complete mapping" in err
