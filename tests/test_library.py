"""The models that come with the package: found by name, complete, and refused with a hint when
misspelt.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from solver_mapper.errors import InputError
from solver_mapper.io import bundled
from solver_mapper.io.timeloop.specification import load
from solver_mapper.io.yaml.documents import read_documents, read_one
from solver_mapper.io.yaml.source import Table, to_python

# Multiply-accumulates of whole networks as their papers and model zoos state them, in 10^6.
PUBLISHED_MACS = {"resnet50": 4089, "mobilenet_v2": 301, "vgg16": 15470, "alexnet": 714}


def layer_of(name: str) -> Table:
    """The `problem` table that a layer's name stands for."""
    (source,) = bundled.resolve(name)
    assert isinstance(source, Table)
    problem = source.entries["problem"]
    assert isinstance(problem, Table)
    return problem


@pytest.mark.parametrize(("network", "millions"), PUBLISHED_MACS.items())
def test_networks_have_the_published_number_of_operations(network: str, millions: int) -> None:
    found = bundled.network(network)
    assert found is not None
    assert round(found.macs / 10**6) == millions


def test_a_layer_is_a_timeloop_problem_that_remembers_where_its_bounds_stand() -> None:
    problem = layer_of("resnet50/conv1")
    instance = problem.entries["instance"]
    assert isinstance(instance, Table)
    place = instance.entries["K"].location
    assert Path(place.file).name == "resnet50.yaml"
    assert place.line is not None
    assert "K: 64" in Path(place.file).read_text(encoding="utf-8").splitlines()[place.line - 1]
    assert set(problem.entries) == {"shape", "instance"}


def test_the_shipped_convolution_is_the_one_that_timeloop_knows_by_name() -> None:
    shipped = layer_of("resnet50/conv1")
    named = {"problem": {"shape": "cnn-layer", "instance": to_python(shipped.entries["instance"])}}
    assert (
        load(named).need_problem().tensors
        == load({"problem": to_python(shipped)}).need_problem().tensors
    )


def test_layers_are_unique_and_give_every_dimension_of_their_shape() -> None:
    for network in bundled.networks():
        assert len({layer.name for layer in network.layers}) == len(network.layers)
        for layer in network.layers:
            assert layer.macs > 0, layer.full_name


@pytest.mark.parametrize(
    "name",
    ["ResNet-50/layer3.x.conv2_3x3", "resnet50/LAYER3.X.CONV2-3x3", "resnet50/layer3.x.conv2"],
)
def test_case_hyphens_and_omitted_endings_do_not_matter(name: str) -> None:
    assert layer_of(name) == layer_of("resnet50/layer3.x.conv2_3x3")


def test_aliases_of_networks_lead_to_the_same_layers() -> None:
    assert layer_of("bert_base_seq512/ffn_up") == layer_of("bert-base/ffn_up")


def test_the_dataflow_follows_the_shape_of_the_layer_beside_it() -> None:
    def files(*names: str) -> list[str]:
        return [source.name for source in bundled.resolve(*names) if isinstance(source, Path)]

    assert files("eyeriss") == ["arch.yaml", "cnn-layer.yaml"]
    assert files("eyeriss", "resnet50/fc") == ["arch.yaml", "cnn-layer.yaml"]
    assert files("bert-base/ffn_up", "eyeriss") == ["arch.yaml", "gemm.yaml"]
    assert files("eyeriss", "mobilenet_v2/dw_32_112_s1") == ["arch.yaml", "depthwise.yaml"]
    assert files("eyeriss/gemm", "resnet50/fc") == ["arch.yaml", "gemm.yaml"]
    assert files("eyeriss/arch", "resnet50/fc") == ["arch.yaml"]
    assert files("three-level", "resnet50/fc") == ["arch.yaml"]


@pytest.mark.parametrize(
    ("layer", "dataflow"),
    [
        ("resnet50/conv1", "cnn-layer"),
        ("mobilenet_v2/dw_32_112_s1", "depthwise"),
        ("gpt2/ffn_up", "gemm"),
        ("gpt2/attn_scores", "batched-gemm"),
    ],
)
def test_the_dataflow_follows_the_problem_in_a_file(
    layer: str, dataflow: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"problem": to_python(layer_of(layer))}), encoding="utf-8")
    with file.open(encoding="utf-8") as stream:
        for source in (file, str(file), stream):
            hardware, constraints, problem = bundled.resolve("tpu", source)
            assert (Path(str(hardware)).name, Path(str(constraints)).name) == (
                "arch.yaml",
                f"{dataflow}.yaml",
            )
            assert isinstance(problem, Table)
            assert "problem" in problem.entries


def test_a_problem_that_only_looks_like_a_known_shape_is_not_given_its_dataflow() -> None:
    transposed = to_python(layer_of("tiny/mm8"))
    transposed["shape"]["data-spaces"][0]["projection"] = [[["M"]], [["N"]]]
    with pytest.raises(InputError) as caught:
        bundled.resolve({"problem": transposed}, "eyeriss")
    assert (
        "eyeriss has no dataflow constraints for Weights[M N], Inputs[K M], Outputs[M N]; it has"
        " some for" in str(caught.value)
    )
    assert bundled.resolve({"problem": transposed}, "eyeriss/arch")[1] == bundled.path(
        "architectures", "eyeriss", "arch.yaml"
    )


def test_every_dataflow_is_written_for_a_known_shape_and_every_architecture_has_all_or_none() -> (
    None
):
    shapes = {file.stem for file in bundled.path("shapes").glob("*.yaml")}
    for each in bundled.architectures():
        assert set(each.dataflows) in (set(), shapes), each.name


def test_files_of_one_architecture_merge() -> None:
    for each in bundled.architectures():
        for shape in each.dataflows or ("gemm",):
            merged = read_documents(*each.files(shape))
            assert {"architecture", "ERT"} <= set(merged.entries), (each.name, shape)


def test_existing_files_win_over_models_and_the_rest_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("eyeriss").write_text("problem: {}\n", encoding="utf-8")
    given = ("eyeriss", "-", "mine.yaml", "./tiny/mm8", Path("x"), {"problem": {}})
    assert bundled.resolve(*given) == given


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("eyeris", "eyeris: neither a file nor the name of a model; did you mean 'eyeriss'?"),
        (
            "resnet50/convv1",
            "resnet50/convv1: unknown layer of resnet50 'convv1'; did you mean 'conv1'?",
        ),
        (
            "resnet5O/conv1",
            (
                "resnet5O/conv1: neither a file nor the name of a model; did you mean"
                " 'resnet50/conv1'?"
            ),
        ),
        ("tiny", "tiny: tiny is a network of 6 layers; name one, such as tiny/mm8"),
        (
            "bert_base/attn",
            "bert_base/attn: 2 layers of bert_base begin so; which of attn_scores, attn_context?",
        ),
        ("eyeriss/gem", "eyeriss/gem: unknown dataflow of eyeriss 'gem'; did you mean 'gemm'?"),
        ("", ": neither a file nor the name of a model; 'solver-mapper models' lists them"),
        ("\0", "\0: neither a file nor the name of a model; 'solver-mapper models' lists them"),
    ],
)
def test_unknown_names_say_what_was_probably_meant(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        bundled.resolve(name)
    assert str(caught.value) == message


def test_models_are_found_in_a_checkout() -> None:
    assert bundled.root().is_dir()
    assert bundled.path("a", "b.yaml") == bundled.root() / "a" / "b.yaml"


def test_models_of_a_wheel_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_models" / "kind").mkdir(parents=True)
    (tmp_path / "_models" / "kind" / "one.yaml").write_text("x: 1\n", encoding="utf-8")
    monkeypatch.setattr(bundled, "_PACKAGE", tmp_path)
    assert bundled.path("kind", "one.yaml") == tmp_path / "_models" / "kind" / "one.yaml"
    assert bundled.names("kind") == ("one",)
    assert bundled.names("nothing") == ()


@pytest.mark.parametrize("name", [each.name for each in bundled.architectures()])
def test_timeloop_can_be_given_hardware_and_dataflow_as_two_files(name: str) -> None:
    """It puts the text of one file after the other, and of a key that is there twice it silently
    reads the first.
    """
    known = bundled.architecture(name)
    assert known is not None
    for dataflow in known.dataflows:
        keys = [key for file in known.files(dataflow) for key in read_one(file).entries]
        assert len(keys) == len(set(keys)), dataflow
