"""`import --fused`: an ONNX graph as Einsums that share tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

import solver_mapper as sm
from tests.study.commands import run

onnx = pytest.importorskip("onnx")
FLOAT = 1


def saved(
    path: Path,
    inputs: dict[str, list[int]],
    weights: dict[str, list[int]],
    nodes: list[tuple[str, list[str], str, dict[str, object]]],
    shapes: dict[str, list[int]] | None = None,
) -> Path:
    """A model of `nodes`: kind, inputs, output, attributes. `shapes` are what Reshape takes."""
    made = [onnx.helper.make_node(kind, read, [out], **rest) for kind, read, out, rest in nodes]
    values = [onnx.helper.make_tensor_value_info(n, FLOAT, s) for n, s in inputs.items()]
    constants = [onnx.helper.make_tensor(n, FLOAT, s, [0.0] * _size(s)) for n, s in weights.items()]
    constants += [
        onnx.helper.make_tensor(n, onnx.TensorProto.INT64, [len(s)], s)
        for n, s in (shapes or {}).items()
    ]
    last = onnx.helper.make_tensor_value_info(nodes[-1][2], FLOAT, None)
    graph = onnx.helper.make_graph(made, "net", values, [last], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)]), path)
    return path


def _size(shape: list[int]) -> int:
    total = 1
    for each in shape:
        total *= each
    return total


def workload(model: sm.FusedModel) -> sm.TreeSpec:
    spec = sm.load(model.to_dict())
    assert isinstance(spec, sm.TreeSpec)
    return spec


@pytest.fixture
def block(tmp_path: Path) -> Path:
    """Attention of 3 heads of 4 values over 8 tokens, with the output projection and a residual."""
    head = {"heads": [1, 8, 3, 4], "joined": [1, 8, 12]}
    return saved(
        tmp_path / "block.onnx",
        {"x": [1, 8, 12]},
        {"wq": [12, 12], "wk": [12, 12], "wv": [12, 12], "wo": [12, 12], "scale": [1]},
        [
            ("MatMul", ["x", "wq"], "q", {}),
            ("MatMul", ["x", "wk"], "k", {}),
            ("MatMul", ["x", "wv"], "v", {}),
            ("Reshape", ["q", "heads"], "q1", {}),
            ("Reshape", ["k", "heads"], "k1", {}),
            ("Reshape", ["v", "heads"], "v1", {}),
            ("Transpose", ["q1"], "q2", {"perm": [0, 2, 1, 3]}),
            ("Transpose", ["k1"], "k2", {"perm": [0, 2, 3, 1]}),
            ("Transpose", ["v1"], "v2", {"perm": [0, 2, 1, 3]}),
            ("MatMul", ["q2", "k2"], "qk", {}),
            ("Mul", ["qk", "scale"], "qks", {}),
            ("Softmax", ["qks"], "p", {"axis": -1}),
            ("MatMul", ["p", "v2"], "av", {}),
            ("Transpose", ["av"], "av1", {"perm": [0, 2, 1, 3]}),
            ("Reshape", ["av1", "joined"], "av2", {}),
            ("MatMul", ["av2", "wo"], "z", {}),
            ("Add", ["x", "z"], "y", {}),
        ],
        head,
    )


def test_attention_shares_heads_tokens_and_their_parts(block: Path) -> None:
    """Rows of the projections are split into heads where they are written, so that no axis is
    ever joined or split between Einsums.
    """
    model = sm.import_fused(block)
    assert model.einsums == (
        "q[m, n, n1] = x[m, k] * wq[k, n, n1]",
        "k[m, n, n1] = x[m, k] * wk[k, n, n1]",
        "v[m, n, n2] = x[m, k] * wv[k, n, n2]",
        "qk[n, m, m_2] = q[m, n, n1] * k[M: m_2, n, n1]",
        "p_rows[n, m] = qk[n, m, m_2]",
        "p[n, m, m_2] = qk[n, m, m_2] * p_rows[n, m]",
        "av[n, m, n2] = p[n, m, m_2] * v[M: m_2, n, n2]",
        "z[m, k] = av[n, m, n2] * wo[n, n2, k]",
        "y[m, k] = x[m, k] * z[m, k]",
    )
    assert model.rank_sizes == {"M": 8, "K": 12, "N": 3, "N1": 4, "N2": 4, "M_2": 8}
    spec = workload(model)
    problems = {each.name: each for each in spec.need_workload().einsums}
    assert list(problems) == ["q", "k", "v", "qk", "p_rows", "p", "av", "z", "y"]
    products = sum(problems[name].operations for name in ("q", "k", "v", "qk", "av", "z"))
    assert products == sm.import_model(block).macs
    assert spec.need_workload().intermediates == {
        "q",
        "k",
        "v",
        "qk",
        "p_rows",
        "p",
        "av",
        "z",
    }
    assert model.notes == ("part of the operation before: 1 x Mul",)


def test_what_is_imported_can_be_fused_and_saves_every_intermediate(block: Path) -> None:
    """With enough buffer, the inputs and the output move once: x is read by four Einsums."""
    spec = workload(sm.import_fused(block))
    curve = sm.fuse(spec, "v2")
    assert curve.least == 4 * 96 + 4 * 144 + 96


def test_a_chain_of_convolutions_is_fused_where_no_border_is_padded(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "convs.onnx",
        {"x": [1, 3, 9, 9]},
        {"w1": [4, 3, 3, 3], "w2": [2, 4, 3, 3], "w3": [2, 2, 3, 3], "bias": [4]},
        [
            ("Conv", ["x", "w1", "bias"], "a", {}),
            ("Relu", ["a"], "b", {}),
            ("Conv", ["b", "w2"], "c", {"strides": [2, 2]}),
            ("Conv", ["c", "w3"], "d", {"pads": [1, 1, 1, 1]}),
        ],
    )
    model = sm.import_fused(path)
    spec = workload(model)
    assert spec.need_workload().intermediates == {"a"}
    assert [each.operations for each in spec.need_workload().einsums] == [
        4 * 3 * 7 * 7 * 9,
        2 * 4 * 3 * 3 * 9,
        2 * 2 * 3 * 3 * 9,
    ]
    assert model.notes == (
        "part of the operation before: 1 x Relu",
        "ends a chain: 1 x padding, which makes a tensor of its own",
    )
    assert model.einsums[1] == (
        "c[n1, p2, p3] = a[n, P: 2*p2 + r2, P1: 2*p3 + r3] * w2[n1, n, r2, r3]"
    )


def test_a_depthwise_convolution_shares_its_channels(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "depthwise.onnx",
        {"x": [1, 6, 5, 5]},
        {"w": [6, 1, 3, 3], "v": [4, 6, 1, 1]},
        [
            ("Conv", ["x", "w"], "a", {"group": 6}),
            ("Conv", ["a", "v"], "b", {}),
        ],
    )
    spec = workload(sm.import_fused(path))
    assert [each.operations for each in spec.need_workload().einsums] == [6 * 9 * 9, 4 * 6 * 9]
    assert spec.need_workload().intermediates == {"a"}


def test_a_gemm_may_have_transposed_factors_and_a_norm_is_two_steps(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "norm.onnx",
        {"x": [6, 4]},
        {"w": [5, 4], "bias": [5], "scale": [5]},
        [
            ("Gemm", ["x", "w", "bias"], "a", {"transB": 1}),
            ("LayerNormalization", ["a", "scale"], "b", {"axis": -1}),
        ],
    )
    model = sm.import_fused(path)
    assert model.einsums == (
        "a[m, n] = x[m, k] * w[n, k]",
        "b_rows[m] = a[m, n]",
        "b[m, n] = a[m, n] * b_rows[m]",
    )
    assert model.rank_sizes == {"M": 6, "K": 4, "N": 5}


def test_other_operations_end_chains_and_are_named(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "ends.onnx",
        {"x": [6, 4]},
        {"w": [4, 6], "v": [6, 2]},
        [
            ("MatMul", ["x", "w"], "a", {}),
            ("CumSum", ["a", "axis"], "b", {}),
            ("MatMul", ["b", "v"], "c", {}),
        ],
        {"axis": [0]},
    )
    model = sm.import_fused(path)
    assert workload(model).need_workload().intermediates == frozenset()
    assert model.notes == (
        "ends a chain: 1 x CumSum, which is no operation that becomes an Einsum",
    )


def test_axes_without_common_parts_end_a_chain(tmp_path: Path) -> None:
    """Six values as 2 x 3 and as 3 x 2."""
    path = saved(
        tmp_path / "parts.onnx",
        {"x": [4, 5]},
        {"w": [5, 6], "v": [2, 7], "u": [3, 7]},
        [
            ("MatMul", ["x", "w"], "a", {}),
            ("Reshape", ["a", "one"], "b", {}),
            ("Reshape", ["a", "other"], "c", {}),
            ("MatMul", ["b", "u"], "d", {}),
            ("MatMul", ["c", "v"], "e", {}),
        ],
        {"one": [4, 2, 3], "other": [4, 3, 2]},
    )
    model = sm.import_fused(path)
    assert model.notes == (
        "ends a chain: 1 x Reshape, which reshapes axes that have no common parts",
    )
    workload(model)


def test_the_command_writes_a_workload_that_fuse_reads(block: Path) -> None:
    file = block.with_name("block.yaml")
    code, out, err = run("import", block, "--fused", "-o", file)
    assert (code, out) == (0, "")
    assert err == "part of the operation before: 1 x Mul\n"
    assert run("space", file)[0] == 0
    code, out, _ = run("import", block, "--fused", "--json")
    assert code == 0 and '"einsums"' in out


def test_all_convolutions_and_products_of_a_network_are_in_the_workload() -> None:
    """ResNet-50 as it comes with the package onnx: padded borders make tensors of their own, and
    additions of branches are Einsums.
    """
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    path = folder / "light_resnet50.onnx"
    model = sm.import_fused(path)
    steps = workload(model).need_workload().einsums
    weighed = [each for each in steps if any("_w_" in name for name in each.tensors)]
    assert sum(each.operations for each in weighed) == sm.import_model(path).macs
    assert sum(len(each.inputs) == 2 and each not in weighed for each in steps) == 16 + 1
    assert model.notes == (
        "part of the operation before: 53 x BatchNormalization, 49 x Relu",
        "ends a chain: 1 x AveragePool, which is no operation that becomes an Einsum",
        "ends a chain: 1 x MaxPool, which is no operation that becomes an Einsum",
        "ends a chain: 17 x padding, which makes a tensor of its own",
    )


def test_a_model_without_einsums_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "relu.onnx", {"x": [4]}, {}, [("Relu", ["x"], "y", {})])
    with pytest.raises(sm.InputError, match="no operations that become Einsums"):
        sm.import_fused(path)
