"""The JSON schema of the input: what readers accept fits it, and misspelt fields do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from solver_mapper.cli import app
from solver_mapper.io import bundled
from tests.io.test_planted_mistakes import DESIGN

DATA = Path(__file__).parents[1] / "data" / "timeloop"


class Plain(yaml.SafeLoader):
    """Tags of nodes say nothing to a schema."""


def _untagged(loader: yaml.SafeLoader, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    return (
        loader.construct_sequence(node, deep=True) if isinstance(node, yaml.SequenceNode) else None
    )


Plain.add_multi_constructor("!", _untagged)


def read(text: str) -> Any:
    return yaml.load(text, Loader=Plain)


@pytest.fixture(scope="module")
def validator() -> Any:
    result = CliRunner().invoke(app, ["schema"])
    assert result.exit_code == 0
    return jsonschema.Draft202012Validator(json.loads(result.stdout))


@pytest.mark.parametrize(
    "file",
    [
        *sorted(DATA.glob("*.yaml")),
        *(bundled.path("start", f"{name}.yaml") for name in bundled.names("start")),
    ],
    ids=lambda file: file.stem,
)
def test_files_that_load_fit(validator: Any, file: Path) -> None:
    assert [
        f"{list(error.path)}: {error.message}"
        for error in validator.iter_errors(read(file.read_text()))
    ] == []


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (
            "constraints:\n      dataspace",
            "constriants:\n      dataspace",
            ["architecture", "nodes", 2],
        ),
        (
            "permutation: [Q, P]",
            "permutaton: [Q, P]",
            ["architecture", "nodes", 4, "constraints", "temporal"],
        ),
        ("meshY: 3", "meshZ: 3", ["architecture", "nodes", 3, "spatial"]),
        (
            "{name: read, energy: 512}",
            "{name: read, enrgy: 512}",
            ["ERT", "tables", 0, "actions", 0],
        ),
        (
            "name: Inputs, projection",
            "name: Inputs, projecton",
            ["problem", "shape", "data_spaces", 1],
        ),
        ("depth: 64", "depth: [64]", ["architecture", "nodes", 4, "attributes", "depth"]),
        ("\nERT:", "\nETR:", []),
    ],
)
def test_misspelt_fields_do_not(validator: Any, old: str, new: str, path: list[str | int]) -> None:
    assert list(validator.iter_errors(read(DESIGN))) == []
    assert [
        list(error.path) for error in validator.iter_errors(read(DESIGN.replace(old, new)))
    ] == [path]


def test_the_schema_can_be_written_to_a_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["schema", "-o", str(tmp_path / "schema.json")])
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads((tmp_path / "schema.json").read_text())["type"] == "object"
