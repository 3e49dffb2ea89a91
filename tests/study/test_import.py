"""ONNX models as layers: each operation has the multiply-accumulates that it performs, and nothing
is left out silently.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.io.onnx.layers import matmul
from tests.study.commands import run

onnx = pytest.importorskip("onnx")
FLOAT = onnx.TensorProto.FLOAT
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
PUBLISHED = {
    "resnet50": "4.09",
    "vgg19": "19.63",
    "squeezenet": "0.35",
    "densenet121": "2.83",
    "inception_v2": "2.0",
}
"""Billions of multiply-accumulates: torchvision's documentation of its weights (squeezenet1_1), and
table 3 of "Rethinking the Inception Architecture for Computer Vision" for BN-Inception.
"""


def model(
    path: Path, inputs: dict[str, tuple[object, ...]], nodes: list[object], output: str = "y"
) -> Path:
    """A model file; sizes that are words are left open."""
    values = [
        onnx.helper.make_tensor_value_info(name, FLOAT, list(shape))
        for name, shape in inputs.items()
    ]
    graph = onnx.helper.make_graph(
        nodes, "net", values, [onnx.helper.make_tensor_value_info(output, FLOAT, None)]
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)]), path)
    return path


def node(kind: str, *inputs: str, **attributes: object) -> object:
    return onnx.helper.make_node(kind, list(inputs), ["y"], name="layer", **attributes)


def imported(path: Path, inputs: dict[str, tuple[object, ...]], one: object) -> sm.ImportedModel:
    return sm.import_model(model(path / "m.onnx", inputs, [one]))


def test_a_convolution_has_its_sizes_strides_and_dilations(tmp_path: Path) -> None:
    """Rows of a picture are the letters P and R, columns Q and S."""
    found = imported(
        tmp_path,
        {"x": (2, 6, 20, 30), "w": (8, 6, 3, 5)},
        node("Conv", "x", "w", strides=[1, 2], dilations=[3, 1], pads=[0, 2, 0, 2]),
    )
    assert [each.to_dict() for each in found.layers] == [
        {
            "name": "layer",
            "count": 1,
            "shape": "cnn-layer",
            "instance": {
                "N": 2,
                "K": 8,
                "C": 6,
                "P": 15,
                "Q": 14,
                "R": 5,
                "S": 3,
                "Wstride": 2,
                "Hdilation": 3,
            },
        }
    ]
    assert found.macs == 2 * 8 * 6 * 15 * 14 * 5 * 3


@pytest.mark.parametrize(
    ("groups", "channels", "kernels", "shape", "count"),
    [
        (1, 6, 4, "cnn-layer", 1),
        (2, 6, 4, "cnn-layer", 2),
        (6, 6, 6, "depthwise", 1),
        (6, 6, 12, "cnn-layer", 6),
    ],
)
def test_groups(
    tmp_path: Path, groups: int, channels: int, kernels: int, shape: str, count: int
) -> None:
    found = imported(
        tmp_path,
        {"x": (1, channels, 8, 8), "w": (kernels, channels // groups, 3, 3)},
        node("Conv", "x", "w", group=groups),
    )
    assert [(each.shape, each.count) for each in found.layers] == [(shape, count)]
    assert found.macs == kernels * channels // groups * 36 * 9


def test_one_dimension_is_a_height_of_one_and_three_are_left_out(tmp_path: Path) -> None:
    found = imported(tmp_path, {"x": (1, 3, 10), "w": (4, 3, 5)}, node("Conv", "x", "w"))
    assert dict(found.layers[0].instance) == {
        "N": 1,
        "K": 4,
        "C": 3,
        "P": 6,
        "Q": 1,
        "R": 5,
        "S": 1,
    }
    nodes = [
        node("Conv", "x", "w"),
        onnx.helper.make_node("MatMul", ["a", "b"], ["z"], name="product"),
    ]
    path = model(
        tmp_path / "3d.onnx",
        {"x": (1, 2, 5, 5, 5), "w": (4, 2, 3, 3, 3), "a": (2, 3), "b": (3, 4)},
        nodes,
        "z",
    )
    left_out = sm.import_model(path)
    assert [(each.kind, each.macs) for each in left_out.skipped] == [("Conv", 4 * 27 * 2 * 27)]
    assert left_out.notes == ("left out: 1 x Conv, 5,832 MACs (99.6 %); 3-dimensional convolution",)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "pad", "dilation", "group"),
    [
        (5, 4, 2, 1, 1, 1),
        (4, 3, 2, 0, 1, 2),
        (3, 2, 3, 0, 1, 1),
        (4, 3, 2, 1, 2, 1),
        (4, 3, 2, 2, 3, 1),
        (6, 5, 1, 2, 1, 1),
    ],
)
def test_a_transposed_convolution_is_one_for_each_phase(
    tmp_path: Path, size: int, kernel: int, stride: int, pad: int, dilation: int, group: int
) -> None:
    """The pairs of outputs and taps that meet an input, or a border, are those of the phases."""
    found = imported(
        tmp_path,
        {"x": (1, 4, size, size), "w": (4, 3, kernel, kernel)},
        node(
            "ConvTranspose",
            "x",
            "w",
            strides=[stride] * 2,
            pads=[pad] * 4,
            dilations=[dilation] * 2,
            group=group,
        ),
    )
    outputs = (size - 1) * stride - 2 * pad + dilation * (kernel - 1) + 1
    pairs = sum(
        (o + pad - tap * dilation) % stride == 0
        for o, tap in itertools.product(range(outputs), range(kernel))
    )
    assert found.macs == 4 // group * 3 * group * pairs**2


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 6, 3, 4), (6, 4, 5)),
        ((2, 1, 3, 4), (1, 6, 4, 5)),
        ((2, 6, 3, 4), (2, 1, 4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
    ],
)
def test_a_product_reads_and_writes_what_numpy_does(
    tmp_path: Path, a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    """As many multiplications, and tensors of the same sizes: a batch of one factor alone is more
    of its rows or columns.
    """
    numpy = pytest.importorskip("numpy")
    layer = imported(tmp_path, {"a": a, "b": b}, node("MatMul", "a", "b")).layers[0]
    size, outputs = layer.instance, numpy.matmul(numpy.zeros(a), numpy.zeros(b)).size
    batch = size.get("H", 1)
    assert (layer.macs, batch * size["M"] * size["N"]) == (outputs * a[-1], outputs)
    assert (batch * size["M"] * size["K"], batch * size["K"] * size["N"]) == (
        math.prod(a),
        math.prod(b),
    )


def test_a_gemm_may_have_either_factor_transposed(tmp_path: Path) -> None:
    found = imported(
        tmp_path, {"a": (4, 3), "b": (5, 4)}, node("Gemm", "a", "b", transA=1, transB=1)
    )
    assert dict(found.layers[0].instance) == {"M": 3, "N": 5, "K": 4}


def test_attention_is_two_products_and_shared_heads_are_rows(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {"q": (2, 8, 10, 16), "k": (2, 4, 20, 16), "v": (2, 4, 20, 32)},
        node("Attention", "q", "k", "v"),
    )
    assert found.layers == (
        matmul("layer/scores", (8, 20, 16), (8, 16, 20)),
        matmul("layer/context", (8, 20, 20), (8, 20, 32)),
    )
    assert found.macs == 2 * 8 * 10 * 20 * (16 + 32)
    flat = imported(
        tmp_path,
        {"q": (2, 10, 128), "k": (2, 20, 64), "v": (2, 20, 128)},
        node("Attention", "q", "k", "v", q_num_heads=8, kv_num_heads=4),
    )
    assert flat.layers == found.layers


def test_equal_layers_become_one_with_a_count(tmp_path: Path) -> None:
    nodes = [
        onnx.helper.make_node("MatMul", [one, "w"], [other], name=other)
        for one, other in ("xa", "ab", "by")
    ]
    found = sm.import_model(model(tmp_path / "m.onnx", {"x": (2, 8), "w": (8, 8)}, nodes))
    assert [(each.name, each.count) for each in found.layers] == [("a", 3)]


def test_sizes_that_are_left_open_must_be_given(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", {"x": ("batch", 8), "w": (8, 4)}, [node("MatMul", "x", "w")])
    with pytest.raises(
        sm.InputError,
        match=(
            r"the shape of 'x' is \[batch, 8\]: not all sizes are known; import it with --dim"
            r" batch="
        ),
    ):
        sm.import_model(path)
    assert sm.import_model(path, {"batch": 3}).macs == 3 * 8 * 4
    with pytest.raises(sm.InputError, match="no open size 'N'; open sizes are batch"):
        sm.import_model(path, {"N": 3})


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("problem: {}\n")
    (tmp_path / "empty.onnx").write_bytes(b"")
    relu = model(tmp_path / "relu.onnx", {"x": (2, 2)}, [node("Relu", "x")])
    for name, message in (
        ("text", "not an ONNX model"),
        ("empty", "not an ONNX model"),
        ("none", "cannot be read"),
    ):
        with pytest.raises(sm.InputError, match=message):
            sm.import_model(tmp_path / f"{name}.onnx")
    with pytest.raises(sm.InputError, match="no convolutions or matrix products"):
        sm.import_model(relu)


def direct_count(path: Path) -> int:
    """MACs from the tensors of the file alone: outputs times weights of one output."""
    loaded = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True).graph
    shapes = {
        each.name: [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        for each in (*loaded.value_info, *loaded.input, *loaded.output)
    }
    total = 0
    for each in loaded.node:
        if each.op_type in ("Conv", "Gemm"):
            weights = shapes[each.input[1]]
            total += (
                math.prod(shapes[each.output[0]])
                * math.prod(weights)
                // (
                    weights[0]
                    if each.op_type == "Conv"
                    or any(a.name == "transB" and a.i for a in each.attribute)
                    else weights[1]
                )
            )
    return total


@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_the_models_that_come_with_onnx(path: Path) -> None:
    found = sm.import_model(path)
    assert found.macs == direct_count(path)
    assert all(each.macs == 0 for each in found.skipped)
    published = PUBLISHED.get(path.stem.removeprefix("light_"))
    if published is not None:
        digits = len(published.partition(".")[2])
        assert f"{found.macs / 1e9:.{digits}f}" == published


def test_the_command_writes_a_file_that_solve_reads(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", {"x": ("batch", 8), "w": (8, 8)}, [node("MatMul", "x", "w")])
    code, out, _err = run("import", path, "--dim", "batch=8", "-o", tmp_path / "net.yaml")
    assert (code, out) == (0, "")
    written = sm.solve_network("eyeriss", tmp_path / "net.yaml")
    assert [(each.name, each.macs, each.status) for each in written.layers] == [
        ("layer", 512, "optimal")
    ]
    fixed = model(tmp_path / "fixed.onnx", {"x": (8, 8), "w": (8, 8)}, [node("MatMul", "x", "w")])
    assert sm.solve_network("eyeriss", fixed).totals == written.totals
    assert run("import", path)[0] == 2
    assert run("import", path, "--dim", "batch")[0] == 2
    code, out, _ = run("import", fixed)
    assert code == 0 and out.endswith(
        "- {name: layer, count: 1, shape: gemm, instance: {M: 8, N: 8, K: 8}}\n"
    )


def test_names_of_models_load_as_on_the_command_line() -> None:
    spec = sm.load("eyeriss", "resnet50/conv1")
    assert isinstance(spec, sm.Spec)
    assert spec.need_problem().bounds["K"] == 64
    with pytest.raises(sm.InputError, match="did you mean 'eyeriss'"):
        sm.load("eyeris", "resnet50/conv1")


def test_a_name_that_no_file_can_have_is_an_input_error() -> None:
    """The system's reason is given instead of an internal error."""
    with pytest.raises(sm.InputError, match="cannot be read"):
        sm.import_model("x" * 300)
