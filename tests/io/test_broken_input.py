"""Whatever is wrong with a file, the answer is exit code 2, a position, what is wrong, and what was
probably meant.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from solver_mapper.cli import app
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.specification import load
from tests.broken_files import constraint_violations
from tests.campaigns import in_campaigns

DATA = Path(__file__).parents[1] / "data" / "timeloop"
GOOD = """\
arch:
  arithmetic: {name: MAC, instances: 4, meshX: 2}
  storage:
  - {name: RF, entries: 8, instances: 4, meshX: 2}
  - {name: GLB, entries: 512, instances: 1}
  - {name: DRAM, technology: DRAM, instances: 1}
problem:
  shape:
    name: mm
    dimensions: [M, N, K]
    coefficients: [{name: stride, default: 1}]
    data-spaces:
    - {name: A, projection: [[[M, stride]], [[K]]]}
    - {name: B, projection: [[[K]], [[N]]]}
    - {name: Z, projection: [[[M]], [[N]]], read-write: true}
  instance: {M: 8, N: 4, K: 2}
mapping:
- {target: GLB, type: temporal, factors: M=2 N=4, permutation: NMK}
- {target: GLB, type: spatial, factors: M=4, permutation: MNK}
- {target: RF, type: temporal, factors: K=2}
- {target: RF, type: bypass, keep: [A, Z], bypass: [B]}
"""

# What replaces what, the text at which the message points, the message.
ARCHITECTURE = [
    (
        "RF, entries",
        "RF, entires",
        "entires",
        "storage level 'RF' has no attribute 'entires'; did you mean 'entries'?",
    ),
    (
        "RF, entries",
        "RF, dpeth",
        "dpeth",
        "storage level 'RF' has no attribute 'dpeth'; did you mean 'depth'?",
    ),
    (
        "RF, entries",
        "RF, mesh_X: 4, entries",
        "mesh_X",
        "storage level 'RF' has no attribute 'mesh_X'; did you mean 'meshX'?",
    ),
    ("512", "many", "many", "'entries' of storage level 'GLB' must be a number, not 'many'"),
    (
        "512",
        "-1",
        "-1",
        "'entries' of storage level 'GLB' must be a whole number of at least 0, not '-1'",
    ),
    (
        "512",
        "512 words",
        "512",
        "'entries' of storage level 'GLB' must be a number, not '512 words'",
    ),
    ("512", "[512]", "[512", "'entries' of storage level 'GLB' must be a number, not a list"),
    ("512", "2 * size", "2 * s", "cannot evaluate '2 * size': unknown name 'size'"),
    (
        "512",
        "512, sizeKB: 4",
        "4, instances: 1}",
        (
            "the size of storage level 'GLB' is given twice, as 'entries' and as 'sizeKB'; keep one"
            " of them"
        ),
    ),
    (
        "512",
        "512, width: 24, block-size: 4",
        "24",
        "the width of storage level 'GLB', 24 bits, must be a multiple of",
    ),
    (
        "512",
        "512, read_bandwidth: 0",
        "0, instances: 1}",
        "'read_bandwidth' of storage level 'GLB' must be greater than 0",
    ),
    (
        "512",
        "512, min-utilization: -1",
        "-1",
        "'min-utilization' of storage level 'GLB' must be at least 0",
    ),
    (
        "512, instances: 1",
        "512",
        "{name: GLB",
        "storage level 'GLB' needs 'instances', or both 'meshX' and 'meshY'",
    ),
    ("entries: 512, ", "", "{name: GLB", "the energy of storage level 'GLB' is not known"),
    ("  arithmetic: {name: MAC, instances: 4, meshX: 2}\n", "", "storage", "no compute level"),
    (
        "MAC, instances: 4, meshX: 2",
        "MAC, instances: 4",
        "{name: MAC",
        "do not divide: 1 is not a multiple of 2 along Y",
    ),
    (
        "MAC, instances: 4, meshX: 2",
        "MAC, instances: 4, meshX: 3",
        "3}",
        "4 instances, which do not fill a mesh of 3 x 1",
    ),
    (
        "name: GLB",
        "name: RF",
        "{name: RF, entries: 8",
        "two levels are called 'RF', the other one at",
    ),
    ("name: GLB", "name: 'GLB[7..2]'", "'GLB[", "the range of 'GLB[7..2]' ends before it begins"),
    (
        "name: GLB",
        "name: 'GLB[2]'",
        "'GLB[",
        "'GLB[2]' is not a name with a range; ranges are written 'PE[0..15]'",
    ),
    ("name: GLB, ", "", "{entries: 512", "a storage level lacks 'name'"),
    (
        "  storage:",
        "  storge:",
        "storge",
        "the architecture has no field 'storge'; did you mean 'storage'?",
    ),
]
PROBLEM = [
    ("[M, N, K]", "[M, N, K, N]", "N]\n", "dimension 'N' is listed twice"),
    ("[M, N, K]", "[M, N, K, 2]", "2]\n", "'2' is not a name for a dimension"),
    ("[M, N, K]", "[M, N, K, _]", "_]\n", "'_' is not a name for a dimension; begin with a letter"),
    ("[M, N, K]", "[M, N, K, ℘]", "℘]\n", "'℘' is not a name for a dimension"),
    ("[M, N, K]", "M", "M\n", "'dimensions' of the problem's shape must be a list, not 'M'"),
    ("[[[K]], [[N]]]", "[[[K]], [[X]]]", "X]", "unknown dimension 'X'; known here: K, M, N"),
    ("[[[K]], [[N]]]", "[[[K]], []]", "[]]", "the projection of 'B' has an empty rank"),
    ("[M, stride]", "[M, strid]", "strid]", "unknown coefficient 'strid'; did you mean 'stride'?"),
    (
        "[M, stride]",
        "[M, stride, 2]",
        "[M, stride, 2",
        "must be [dimension] or [dimension, coefficient]",
    ),
    ("default: 1", "default: 0", "0}]", "must be a whole number other than 0"),
    (
        "read-write: true",
        "read-rite: true",
        "read-rite",
        "data-space 'Z' has no field 'read-rite'; did you mean 'read_write'?",
    ),
    (
        "read-write: true",
        "read-write: maybe",
        "maybe",
        "'read-write' of data-space 'Z' must be true or false, not 'maybe'",
    ),
    (
        "name: B,",
        'name: "*",',
        '"*"',
        "'*' is not a name for a data-space; use a word; in mappings '*' means all data-spaces",
    ),
    ("name: B,", 'name: "",', '""', "'' is not a name for a data-space"),
    ("name: B,", "name: A,", "{name: A, projection: [[[K", "two data-spaces are called 'A'"),
    (
        ", K: 2}",
        "}",
        "{M: 8",
        "the instance of the problem lacks a bound for dimension 'K'; add 'K: 1' or larger",
    ),
    (
        "{M: 8",
        "{M: 020",
        "020, N",
        "the bound of dimension 'M' is '020': a number that begins with 0 is octal in YAML 1.1,"
        " decimal in YAML 1.2; write 20 or 16",
    ),
    ("{M: 8", "{M: 0_8", "0_8, N", "decimal in YAML 1.2; write 8"),
    (
        "{M: 8",
        "{M: 0",
        "0, N",
        "the bound of dimension 'M' must be a whole number of at least 1, not '0'",
    ),
    (
        "{M: 8",
        "{M: 1.5",
        "1.5",
        "the bound of dimension 'M' must be a whole number of at least 1, not '1.5'",
    ),
    ("{M: 8", "{M: 9999999999", "9999", "the bound of dimension 'M' is larger than 2147483647"),
    (
        "{M: 8",
        "{M: 8, strdie: 2",
        "strdie",
        "'strdie' is neither a dimension nor a coefficient of the problem; did you mean 'stride'?",
    ),
    ("  shape:\n", "  shape: mmm\n  x:\n", "mmm", "unknown problem shape 'mmm'"),
    ("name: mm", "nam: mm", "nam:", "the problem's shape has no field 'nam'; did you mean 'name'?"),
]
MAPPING = [
    (
        "GLB, type: temporal",
        "GBL, type: temporal",
        "GBL",
        "unknown level 'GBL'; did you mean 'GLB'?",
    ),
    (
        "GLB, type: temporal",
        "9, type: temporal",
        "9, t",
        "there is no level 9; levels run from 0 ('RF') to 2",
    ),
    (
        "GLB, type: temporal",
        "GLB, type: tempral",
        "tempral",
        "unknown type of mapping directive 'tempral'; did you mean 'temporal'?",
    ),
    ("GLB, type: temporal", "GLB", "{target: GLB", "a mapping directive lacks 'type'"),
    ("M=2 N=4", "M=2 P=4", "P=4", "unknown dimension 'P'; known here: K, M, N"),
    ("M=2 N=4", "M=2 N<=4", "N<=4", "'N<=4' is no factor: a mapping needs a number"),
    ("M=2 N=4", "M=2 M=4", "M=4", "'M' has two factors, M=2 and M=4"),
    ("M=2 N=4", "M=2 N", "N, p", "dimension 'N' has no factor; write 'N=1', or leave it out"),
    ("M=2 N=4", "'M=2,3 N=4'", "M=2,3", "the residual of 'M=2,3' must lie between 1 and 2"),
    (
        "factors: M=2 N=4",
        "factors: 'M=2, 4'",
        ", 4'",
        "', 4' is not a factor; factors are written 'P=16' or 'P=16,5'",
    ),
    (
        "factors: M=2 N=4",
        "factor: M=2 N=4",
        "factor:",
        "the temporal directive of 'GLB' has no field 'factor'; did you mean 'factors'?",
    ),
    ("NMK", "NMX", "X}", "unknown dimension 'X'"),
    ("NMK", "NMN", "N}", "dimension 'N' stands twice in the permutation"),
    ("NMK", "N_K", "_K", "'_' has no meaning in the permutation of a mapping"),
    ("bypass: [B]", "bypass: [Bs]", "Bs]", "unknown tensor 'Bs'; did you mean 'B'?"),
    ("bypass: [B]", "bypass: [A]", "A]}", "'A' is both kept and bypassed"),
    (
        "RF, type: temporal",
        "GLB, type: temporal",
        "{target: GLB, type: temporal, factors: K",
        "the temporal directive of 'GLB' is given twice, first at",
    ),
    (
        "mapping:\n",
        "mappings:\n",
        "mappings",
        "the input has no field 'mappings'; did you mean 'mapping'?",
    ),
]
FILES = [
    ("problem:\n", "constraints: 3\nproblem:\n", "3\n", "'constraints' must be a list, not '3'"),
    ("problem:\n", "problem: 3\nx:\n", "3\n", "the problem must be a mapping, not '3'"),
    (
        "problem:\n",
        "ERT: {version: 0.9, tables: []}\nproblem:\n",
        "0.9",
        "the ERT must have version 0.2 or 0.3 or 0.4, not 0.9",
    ),
    (
        "problem:\n",
        "sparse_optimizations: {targets: []}\nproblem:\n",
        "{targets",
        "sparse optimizations are not modelled",
    ),
    (
        "problem:\n",
        "architecture: {}\nproblem:\n",
        "{}",
        "both 'arch' and 'architecture' are given; keep one of them",
    ),
    ("problem:\n", "arch: {}\nproblem:\n", "arch: {}", "'arch' is given twice, first at"),
    (
        "arch:\n",
        "arch:\n  subtree: []\n",
        "arithmetic",
        "the architecture has no field 'arithmetic'",
    ),
    (
        "arch:\n",
        "arch: {subtree: []}\nmapper:\n",
        "[]",
        "the architecture needs exactly one subtree at its root",
    ),
    (
        "mapping:\n",
        "mapping:\n\t- x\n",
        "\t- x",
        "not valid YAML: found character '\\t' that cannot start any token",
    ),
    (
        "mapping:\n",
        "mapping: &a [*a]\nx:\n",
        "&a [*a",
        "this anchor contains itself; an alias may not stand inside what it names",
    ),
    ("mapping:\n", "mapping: *b\nx:\n", "*b", "not valid YAML: found undefined alias 'b'"),
]


@pytest.mark.parametrize(
    ("old", "new", "where", "message"), ARCHITECTURE + PROBLEM + MAPPING + FILES
)
def test_messages(tmp_path: Path, old: str, new: str, where: str, message: str) -> None:
    text = GOOD.replace(old, new, 1)
    before = text[: text.index(where)]
    error = refusal(tmp_path, text)
    assert message in str(error)
    assert (error.line, error.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"# only a comment\n", "the file holds no YAML, only comments"),
        (b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", "is this a binary file?"),
        (b"arch: \x00\x01\n", "is this a binary file?"),
        (b"- a\n- b\n", "the top level must be a mapping such as 'problem: ...', not a list"),
        (b"just words\n", "the top level must be a mapping"),
        (b"[" * 100_000, "nested too deeply"),
        (b"a: 1\n---\nb: 2\n", "not valid YAML"),
    ],
)
def test_files_that_are_no_input(tmp_path: Path, content: bytes, message: str) -> None:
    error = refusal(tmp_path, content)
    assert message in str(error)
    assert error.line is not None


def refusal(tmp_path: Path, content: str | bytes) -> InputError:
    file = tmp_path / "design.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        load(file)
    return caught.value


def test_the_unbroken_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "design.yaml").write_text(GOOD)
    assert [warning.code for warning in load(tmp_path / "design.yaml").warnings] == [
        "no-energy-table"
    ]


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        ("arch", "a mapping cannot be read without the architecture whose levels it names"),
        ("problem", "a mapping cannot be read without the problem whose dimensions it names"),
    ],
)
def test_a_mapping_needs_what_it_speaks_of(tmp_path: Path, lacking: str, message: str) -> None:
    ends = {"arch": "problem:", "problem": "mapping:"}
    error = refusal(
        tmp_path, GOOD.replace(GOOD[GOOD.index(f"{lacking}:") : GOOD.index(ends[lacking])], "")
    )
    assert message in str(error)
    assert error.line is not None


@pytest.mark.parametrize("key", ["shape", "instance"])
def test_a_problem_that_stands_at_the_top_level_is_told_where_it_belongs(
    tmp_path: Path, key: str
) -> None:
    (tmp_path / "shape.yaml").write_text(f"{key}: {{name: gemm, dimensions: [M]}}\n")
    with pytest.raises(InputError, match=f"'{key}' stands at the top level; it belongs under") as e:
        load(tmp_path / "shape.yaml")
    assert (e.value.line, e.value.hint) == (1, "write 'problem: {shape: ..., instance: ...}'")


@pytest.mark.parametrize("end", ["\nx = 1;\n", "\n"])
def test_libconfig_files_are_named_as_such(tmp_path: Path, end: str) -> None:
    (tmp_path / "old.cfg").write_text(f"arch = {{ arithmetic = {{ instances = 256; }}; }};{end}")
    with pytest.raises(InputError, match="libconfig"):
        load(tmp_path / "old.cfg")


def test_python_values_that_contain_themselves() -> None:
    endless: dict[str, Any] = {}
    endless["arch"] = endless
    with pytest.raises(InputError, match="nested too deeply"):
        load(endless)


def test_missing_files_and_no_files() -> None:
    with pytest.raises(InputError, match="no such file"):
        load("/nowhere/design.yaml")
    with pytest.raises(InputError, match="no input files"):
        load()


@pytest.mark.parametrize("seed", [*range(60), *in_campaigns(range(60, 200))])
def test_broken_files_end_in_exit_code_2_and_a_position(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    file = tmp_path / "design.yaml"
    sources = [GOOD, *(path.read_text() for path in sorted(DATA.glob("*.yaml")))]
    while True:
        file.write_text(constraint_violations(random.choice(sources), random), newline="")
        try:
            load(file)
        except InputError as error:
            assert error.line is not None
            break
    shown = CliRunner().invoke(app, ["validate", str(file)])
    assert shown.exit_code == 2
    assert re.match(rf"(warning: .*\n)*{re.escape(str(file))}:\d+:\d+: ", shown.stderr)
    assert "Traceback" not in shown.output
