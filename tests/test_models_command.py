"""`solver-mapper models` shows what comes with the package, to people and to programs."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from typer.testing import CliRunner, Result

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.io import bundled


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["models", *words])


def test_the_list_names_every_architecture_and_every_network() -> None:
    shown = run()
    assert shown.exit_code == 0
    for each in (*bundled.architectures(), *bundled.networks()):
        assert f"\n{each.name} " in shown.output


def test_the_json_list_gives_levels_and_layers() -> None:
    data = json.loads(run("--json").output)
    eyeriss = next(each for each in data["architectures"] if each["name"] == "eyeriss")
    assert [level["name"] for level in eyeriss["levels"]] == [
        "DRAM",
        "shared_glb",
        "DummyBuffer",
        "ifmap_spad",
        "weights_spad",
        "psum_spad",
    ]
    assert eyeriss["arithmetic"]["mesh"] == [14, 12]
    resnet = next(each for each in data["networks"] if each["name"] == "resnet50")
    assert resnet["layers"][0]["macs"] == 118013952


def test_a_network_lists_its_layers() -> None:
    shown = run("MobileNet-v2")
    network = bundled.network("mobilenet_v2")
    assert network is not None
    assert all(f"\n{layer.name} " in shown.output for layer in network.layers)


def test_an_architecture_shows_its_levels_and_where_its_files_are() -> None:
    shown = run("three-level")
    assert (
        "\nGLB       65,536    16          1    1 x 1          6       6          6\n"
        in shown.output
    )
    assert str(bundled.path("architectures", "three_level")) in shown.output.replace("\n", "")


def test_a_layer_is_printed_as_a_problem_that_can_be_saved_and_read_again(tmp_path: Path) -> None:
    shown = run("resnet50/layer2.0.conv2")
    file = tmp_path / "layer.yaml"
    file.write_text(shown.output, encoding="utf-8")
    assert sm.load(file).problem == sm.load(*bundled.resolve("resnet50/layer2.0.conv2")).problem
    assert (
        yaml.safe_load(shown.output)["problem"]
        == json.loads(run("resnet50/layer2.0.conv2", "--json").output)["problem"]
    )


def test_an_unknown_name_ends_with_exit_code_2_and_a_hint() -> None:
    shown = run("resnet51")
    assert shown.exit_code == 2
    assert "resnet51: no model has that name; did you mean 'resnet50'?" in shown.output
