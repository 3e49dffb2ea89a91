"""The command `tile`, operator files, and what is said of broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.tiling import Window, cut, load_backend, read_network, tile_network
from tests.tiling.tiling_cases import KINDS, Case

OPERATOR = """\
operator: convolution
name: layer
input_shape: [1, 28, 28, 512]
kernel: {num: 128, rows: 1, cols: 1}
stride: 1
padding: same
"""
EXPECTED = """\
layer (convolution) on smv, traffic objective

tensor               shape   dims               tile  tiles      largest tile
─────────────────────────────────────────────────────────────────────────────
inputs   1 x 28 x 28 x 512  DimCH   1 x 4 x 28 x 128     28  14,336 of 16,384
weights  128 x 1 x 1 x 512   DimC  128 x 1 x 1 x 128      4  16,384 of 16,384
outputs  1 x 28 x 28 x 128   DimH   1 x 4 x 28 x 128      7  14,336 of 16,384
scratchpads used: 91.7 %

for h in 0..6:  # H: 7 x 4
  for c in 0..3:  # C: 4 x 128
    load inputs[:, h, :, c]
    load weights[:, :, :, c]
    compute, accumulating where c > 0
  store outputs[:, h, :, :]

moves 960,512 elements (401,408 inputs + 458,752 weights + 100,352 outputs) in 28 invocations
algorithmic minimum: 567,296 elements
"""


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["tile", *words], input=stdin)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "op.yaml"
    path.write_text(OPERATOR, encoding="utf-8")
    return path


def test_one_operator_is_shown_with_its_nest_and_both_objectives(file: Path) -> None:
    result = run(str(file), "--objective", "traffic")
    assert result.exit_code == 0
    assert result.stdout.startswith(EXPECTED)
    table = [line.split() for line in result.stdout.splitlines()[-3:]]
    assert table == [
        ["utilization", "2,336,768", "64.3", "%", "112"],
        ["traffic", "960,512", "91.7", "%", "28"],
        ["algorithmic", "minimum", "567,296"],
    ]


def test_json_is_the_recorded_object_and_both_objectives(file: Path) -> None:
    result = run(str(file), "--json")
    data = json.loads(result.stdout)
    assert data["tiling_dims"] == {"inputs": "DimNH", "weights": "DimN", "outputs": "DimNCH"}
    assert data["schedule"]["invocations"] == 112
    assert data["modes"]["traffic"] == {
        "elems_moved": 960512,
        "utilization": 45056 / 49152,
        "invocations": 28,
        "optimal": True,
    }


def test_standard_input_and_another_backend() -> None:
    result = run("-", "--backend", "smv_four_way", stdin=OPERATOR)
    assert result.exit_code == 0
    assert "layer (convolution) on smv_four_way, utilization objective" in result.stdout


def test_a_backend_may_be_a_file_of_its_own(file: Path, tmp_path: Path) -> None:
    backend = tmp_path / "mine.yaml"
    text = (Path(sm.__file__).parents[1] / "models/backends/smv.yaml").read_text(encoding="utf-8")
    backend.write_text(
        text.replace("name: smv", "name: mine").replace("32768", "65536"), encoding="utf-8"
    )
    for words in ((str(file), "--backend", str(backend)), (str(file), str(backend))):
        result = run(*words)
        assert result.exit_code == 0
        assert "on mine" in result.stdout
        assert " of 32,768" in result.stdout


def test_what_smaug_refuses_exits_with_1_and_points_to_the_other_objective() -> None:
    text = OPERATOR.replace("28, 28, 512", "224, 224, 64").replace(
        "num: 128, rows: 1, cols: 1", "num: 64, rows: 3, cols: 3"
    )
    result = run("-", stdin=text)
    assert result.exit_code == 1
    assert (
        "the least tile of inputs 1 x 3 x 224 x 32 takes 21504 elements, scratchpad 'spad0'"
        in result.stderr
    )
    assert "--objective traffic finds a tiling that moves 14,304,256 elements" in result.stderr


def test_a_network_is_a_table_with_totals() -> None:
    result = run("resnet50")
    assert result.exit_code == 0
    totals = [
        line.split() for line in result.stdout.splitlines() if line.startswith("all, once each")
    ]
    assert totals == [
        ["all,", "once", "each", "58,799,104", "34,054,096", "42.1", "%", "22,645,760"]
    ]


def test_an_interrupted_network_keeps_what_is_done() -> None:
    def interrupt(number: int, count: int, name: str) -> None:
        if number == 2:
            raise KeyboardInterrupt

    layers = [{"operator": "unary", "input_shape": [1, 8]}] * 4
    result = tile_network(read_network({"network": "n", "layers": layers}), on_layer=interrupt)
    assert (len(result.layers), result.interrupted) == (2, True)
    assert "all, once each" in str(result)


def test_progress_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver_mapper.cli.progress.PERIOD", 0.0)
    result = run("vgg16", "--json")
    assert json.loads(result.stdout)["network"] == "vgg16"
    assert "layer 2 of 9: conv_64_64_224" in result.stderr


def test_the_nest_can_be_written_as_timeloop_files(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "timeloop.yaml"
    assert run(str(file), "--timeloop", str(target)).exit_code == 0
    statistics = sm.evaluate(sm.load(target)).to_dict()
    assert statistics["levels"]["Memory"]["tensors"]["Weights"]["reads"] == 1835008


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "operator: convolution",
            "operator: convolutoin",
            "op.yaml:1:11: unknown operator 'convolutoin'; did you mean 'convolution'?",
        ),
        ("operator: convolution\n", "", "op.yaml:1:1: the operator lacks 'operator'"),
        (
            "padding: same",
            "paddding: same",
            "op.yaml:6:1: the operator has no field 'paddding'; did you mean 'padding'?",
        ),
        (
            "padding: same",
            "padding: full",
            "op.yaml:6:10: 'padding' must be same or valid, not 'full'",
        ),
        (
            "stride: 1",
            "stride: 1\nstrid: 2",
            "op.yaml:6:1: the operator has no field 'strid'; did you mean 'stride'?",
        ),
        (
            "[1, 28, 28, 512]",
            "[1, 28, 512]",
            "op.yaml:3:14: 'input_shape' must list 4 sizes, not 3",
        ),
        (
            "[1, 28, 28, 512]",
            "[1, 28, 0, 512]",
            "op.yaml:3:22: a size of 'input_shape' must be a whole number of at least 1, not '0'",
        ),
        (
            "rows: 1, cols: 1",
            "rows: 1, colls: 1",
            "op.yaml:4:29: the kernel has no field 'colls'; did you mean 'cols'?",
        ),
        (
            "rows: 1, cols: 1}\nstride: 1\npadding: same",
            "rows: 30, cols: 1}\nstride: 1\npadding: valid",
            "op.yaml:3:14: a window of 30 does not fit into 28",
        ),
        (
            "stride: 1",
            "stride: 1\nlayout: NCHW",
            "op.yaml:6:9: layout 'NCHW' is not supported for 4 ranks; order the sizes as NHWC",
        ),
        (
            "stride: 1",
            "stride: 1\nweight_shape: [64, 1, 1, 512]",
            (
                "op.yaml:6:15: 'weight_shape' [64, 1, 1, 512] does not fit the operator; "
                "[output channels, rows, columns, input channels] = [128, 1, 1, 512]"
            ),
        ),
        (
            "stride: 1",
            "stride: 1\nspad_bytes: 32768\nmax_tile_elems: 32768",
            (
                "op.yaml:7:17: 'max_tile_elems' is 32768, but the scratchpads hold spad0 16384,"
                " spad1 16384, spad2 16384 elements; leave it out"
            ),
        ),
        (
            "stride: 1",
            "stride: 1\nbackend: smw",
            "op.yaml:6:10: unknown backend 'smw'; did you mean 'smv'?",
        ),
    ],
)
def test_broken_operator_files_are_refused_with_their_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "op.yaml"
    path.write_text(OPERATOR.replace(old, new), encoding="utf-8")
    result = run(str(path))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0] == f"{tmp_path}/{message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "holds: [inputs]",
            "holds: [input]",
            "no scratchpad of backend 'smv' holds 'inputs'; did you mean 'inputs1'?",
        ),
        (
            "holds: [inputs]",
            "holds: [inputs, outputs]",
            "'outputs' is held by 'spad0' and by 'spad2'; keep one of them",
        ),
        (
            "DimNCW]",
            "DimNCX]",
            (
                "'DimNCX' is not a choice of tiling dims; write None, or DimN and letters of C, H"
                " and W"
            ),
        ),
        (
            "multipliers: 32",
            "multiplier: 32",
            "unknown size 'multipliers'; did you mean 'multiplier'?",
        ),
        (
            "alignment: 8",
            "alignement: 8",
            "the backend has no field 'alignement'; did you mean 'alignment'?",
        ),
        ("name: smv", "name: smv\n  speed: 3", "the backend has no field 'speed'"),
    ],
)
def test_broken_backends_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (Path(sm.__file__).parents[1] / "models/backends/smv.yaml").read_text(encoding="utf-8")
    path = tmp_path / "backend.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    operator = {
        "operator": "convolution",
        "input_shape": [1, 28, 28, 64],
        "kernel": {"num": 9, "rows": 3, "cols": 3},
        "stride": 1,
        "padding": "same",
    }
    with pytest.raises(sm.InputError) as caught:
        sm.tile(operator, backend=path)
    assert message in str(caught.value)
    assert caught.value.line is not None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["resnet51"],
            (
                "resnet51: neither a file nor the name of a network of operators; did you mean"
                " 'resnet50'?"
            ),
        ),
        (["x" * 5000], "neither a file nor the name of a network of operators"),
        (["resnet50", "--backend", "x" * 5000], "unknown backend"),
        (["missing.yaml"], "missing.yaml: no such file"),
        (["-", "--objective", "trafic"], "unknown objective 'trafic'; did you mean 'traffic'?"),
        (["-", "--backend", "smw"], "unknown backend 'smw'; did you mean 'smv'?"),
        (["-", "--with", "missing.py"], "missing.py: not a Python file"),
    ],
)
def test_broken_command_lines_are_refused(words: list[str], message: str) -> None:
    result = run(*words, stdin=OPERATOR)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("import solver_mapper\nsolver_mapper.nothing\n", encoding="utf-8")
    result = run("-", "--with", str(plugin), stdin=OPERATOR)
    assert result.exit_code == 2
    assert "mine.py: cannot be run: AttributeError" in result.stderr


def test_shipped_backends_and_networks_are_read() -> None:
    assert load_backend().name == "smv"
    assert load_backend("smv_four_way").preference[-1] == "DimNCHW"
    assert (
        len(read_network(Path(sm.__file__).parents[1] / "models/operators/resnet50.yaml").jobs)
        == 23
    )


def test_the_four_way_backend_tiles_what_smaug_refuses_by_utilization_too() -> None:
    case = {
        "operator": "convolution",
        "input_shape": [1, 224, 224, 64],
        "kernel": {"num": 64, "rows": 3, "cols": 3},
        "stride": 1,
        "padding": "same",
    }
    tiling = sm.tile(case, backend="smv_four_way")
    assert tiling.dims == {"inputs": "DimNHW", "weights": "DimN", "outputs": "DimNCHW"}
    assert tiling.defect is None


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            {"input_shape": [1, 10**9, 8, 8]},
            "'input_shape' has a size of 1000000000, at most 1048576 is supported",
        ),
        (
            {"stride": 10**30},
            "'stride' is 1000000000000000000000000000000, at most 1048576 is supported",
        ),
        ({"kernel": {"num": 10**7, "rows": 1, "cols": 1}}, "the kernel has a size of 10000000"),
        (
            {"input_shape": [1, 10**6, 8, 8]},
            (
                "a loop of 1000000 iterations is too long for the traffic objective, 65536 is the"
                " limit"
            ),
        ),
        ({"layers": []}, None),
    ],
)
def test_absurd_sizes_are_refused_at_once(case: dict[str, object], message: str | None) -> None:
    whole = {
        "operator": "convolution",
        "input_shape": [1, 8, 8, 8],
        "kernel": {"num": 8, "rows": 3, "cols": 3},
        "stride": 1,
        "padding": "same",
        **case,
    }
    if message is None:
        whole, message = dict(case), "this is a network, not one operator"
    with pytest.raises(sm.InputError) as caught:
        sm.tile(whole, objective="traffic")
    assert message in str(caught.value)


def test_more_invocations_than_can_be_counted_are_refused() -> None:
    case = {"operator": "eltwise", "input_shape": [1000, 1000, 1000, 1000], "spad_bytes": 256}
    with pytest.raises(sm.InputError, match="would be cut into more than"):
        sm.tile(case)


def test_a_backend_whose_least_tile_is_smaller_than_the_window_is_refused(tmp_path: Path) -> None:
    text = (Path(sm.__file__).parents[1] / "models/backends/smv.yaml").read_text(encoding="utf-8")
    path = tmp_path / "backend.yaml"
    path.write_text(
        text.replace("inputs: {least: [1, kernel_rows, all,", "inputs: {least: [1, 1, all,"),
        encoding="utf-8",
    )
    case = {
        "operator": "convolution",
        "input_shape": [1, 8, 100, 32],
        "kernel": {"num": 8, "rows": 3, "cols": 3},
        "stride": 1,
        "padding": "valid",
        "spad_bytes": 7000,
    }
    with pytest.raises(
        sm.InfeasibleError, match="the least tile of outputs, 1 x -1 x 98 x 8, is empty"
    ):
        sm.tile(case, backend=path)
    with pytest.raises(
        sm.InputError,
        match="tiles of 1 are too small under a window of 3; check the backend's least tiles",
    ):
        cut(8, 1, Window(field=3, stride=1, before=0, limit=8))


_ODD = st.one_of(
    st.none(),
    st.integers(-3, 40),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(-2, 9), max_size=5),
    st.dictionaries(
        st.sampled_from(["num", "rows", "cols", "name", "x"]), st.integers(-1, 9), max_size=3
    ),
)


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(st.one_of(*KINDS.values()), st.data())
def test_no_operator_ends_in_anything_but_an_answer_or_an_error_of_ours(
    case: Case, data: st.DataObject
) -> None:
    for key in data.draw(
        st.lists(
            st.sampled_from([*sorted(case), "layout", "weight_shape", "max_tile_elems", "backend"]),
            max_size=2,
        )
    ):
        case = {**case, key: data.draw(_ODD)}
    try:
        str(sm.tile(case, objective=data.draw(st.sampled_from(["utilization", "traffic"]))))
    except sm.SolverMapperError as error:
        assert not isinstance(error, sm.ExactnessError)
