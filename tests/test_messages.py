"""Every way to be told off, through the command line: exit code 2, `file:line:column`, what is
wrong, what was probably meant.

The texts stand in golden/messages.txt, in the order of `CASES`, but for those of the argument
parser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from solver_mapper.cli import app
from tests import golden

ARCHITECTURE = """\
arch:
  arithmetic: {name: MAC, instances: 4, meshX: 2}
  storage:
  - {name: RF, entries: 8, instances: 4, meshX: 2}
  - {name: GLB, entries: 512, instances: 1}
  - {name: DRAM, technology: DRAM, instances: 1}
"""
PROBLEM = """\
problem:
  shape:
    name: mm
    dimensions: [M, N, K]
    data-spaces:
    - {name: A, projection: [[[M]], [[K]]]}
    - {name: B, projection: [[[K]], [[N]]]}
    - {name: Z, projection: [[[M]], [[N]]], read-write: true}
  instance: {M: 8, N: 4, K: 2}
"""
MAPPING = """\
mapping:
- {target: DRAM, type: temporal, factors: M=4 N=2, permutation: NMK}
- {target: GLB, type: spatial, factors: M=2 N=2, permutation: MNK, split: 1}
- {target: RF, type: temporal, factors: K=2}
- {target: RF, type: bypass, keep: [A, Z], bypass: [B]}
"""
RULES = """\
architecture_constraints:
- {target: GLB, type: spatial, factors: N=1}
- {target: RF, type: bypass, keep: [A], bypass: [B]}
"""
TREE = "workload: {shape: {M: 0 <= m < 4}}\n"


@dataclass(frozen=True)
class Case:
    """`words` on the command line; `files` replace the good ones or join them; `edit` is (file, old
    text, new text).
    """

    title: str
    words: str
    edit: tuple[str, str, str] | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""
    positioned: bool = True
    own: bool = True
    """Whether the words are this program's and not its argument parser's."""


ALL = "arch.yaml problem.yaml map.yaml"
CASES = [
    Case("unknown level", f"evaluate {ALL}", ("map.yaml", "target: GLB", "target: GBL")),
    Case("unknown dimension", f"evaluate {ALL}", ("map.yaml", "M=4 N=2", "M=4 P=2")),
    Case("unknown tensor", f"validate {ALL}", ("map.yaml", "bypass: [B]", "bypass: [Q]")),
    Case(
        "unknown kind of directive",
        f"validate {ALL}",
        ("map.yaml", "type: spatial", "type: spacial"),
    ),
    Case("unknown field", f"evaluate {ALL}", ("map.yaml", "factors: K=2", "factor: K=2")),
    Case(
        "unknown attribute",
        "solve arch.yaml problem.yaml",
        ("arch.yaml", "entries: 512", "entires: 512"),
    ),
    Case("unknown top-level key", f"evaluate {ALL}", ("map.yaml", "mapping:", "mappings:")),
    Case(
        "unknown dimension in a rule",
        "solve arch.yaml problem.yaml rules.yaml",
        ("rules.yaml", "N=1", "X=1"),
    ),
    Case(
        "unknown level in a rule",
        "solve arch.yaml problem.yaml rules.yaml",
        ("rules.yaml", "RF", "REG"),
    ),
    Case("missing bound", "solve arch.yaml problem.yaml", ("problem.yaml", ", K: 2", "")),
    Case("bound out of range", "solve arch.yaml problem.yaml", ("problem.yaml", "K: 2", "K: 0")),
    Case(
        "no compute level",
        "solve arch.yaml problem.yaml",
        ("arch.yaml", "  arithmetic: {name: MAC, instances: 4, meshX: 2}\n", ""),
    ),
    Case(
        "no storage",
        "solve arch.yaml problem.yaml",
        files={"arch.yaml": b"arch:\n  arithmetic: {name: MAC, instances: 1}\n"},
    ),
    Case(
        "mesh that does not divide",
        "solve arch.yaml problem.yaml",
        ("arch.yaml", "MAC, instances: 4, meshX: 2", "MAC, instances: 3"),
    ),
    Case(
        "factors that do not make up the problem",
        f"evaluate {ALL}",
        ("map.yaml", "M=4 N=2", "M=8 N=1"),
    ),
    Case(
        "tensor held nowhere",
        f"evaluate {ALL}",
        (
            "map.yaml",
            "mapping:\n",
            (
                "mapping:\n- {target: DRAM, type: bypass, bypass: [B]}\n"
                "- {target: GLB, type: bypass, bypass: [B]}\n"
            ),
        ),
    ),
    Case("no mapping", "evaluate arch.yaml problem.yaml"),
    Case("no problem", "solve arch.yaml"),
    Case("no architecture", "solve problem.yaml"),
    Case("a part given twice", "solve arch.yaml arch.yaml problem.yaml"),
    Case(
        "a part given twice with different values",
        "solve arch.yaml problem.yaml other.yaml",
        files={"other.yaml": PROBLEM.replace("M: 8", "M: 16").encode()},
    ),
    Case(
        "LoopTree input where it is not taken",
        "bound tree.yaml",
        files={"tree.yaml": TREE.encode()},
    ),
    Case("YAML syntax", f"evaluate {ALL}", ("problem.yaml", "[M, N, K]", "[M, N, K")),
    Case("tab", f"evaluate {ALL}", ("problem.yaml", "  shape:", "\tshape:")),
    Case(
        "a long line", f"evaluate {ALL}", ("map.yaml", "{target: GLB", f"{{{' ' * 300}target: GBL")
    ),
    Case(
        "key given twice",
        f"evaluate {ALL}",
        ("map.yaml", "type: spatial", "type: spatial, type: temporal"),
    ),
    Case(
        "anchor that contains itself", f"evaluate {ALL}", files={"map.yaml": b"mapping: &a\n- *a\n"}
    ),
    Case("empty file", f"evaluate {ALL}", files={"map.yaml": b""}),
    Case("file of comments", f"evaluate {ALL}", files={"map.yaml": b"# nothing yet\n"}),
    Case(
        "binary file", f"evaluate {ALL}", files={"map.yaml": b"\x7fELF\x02\x01\x01\x00\xff\xfe\x00"}
    ),
    Case("not a mapping at the top", f"evaluate {ALL}", files={"map.yaml": b"- target: GLB\n"}),
    Case(
        "template with a variable that is not set",
        f"evaluate {ALL}",
        files={"map.yaml": b"mapping:\n- {target: {{level}}}\n"},
    ),
    Case("missing file", "solve arch.yaml nowhere.yaml", positioned=False),
    Case("folder", "solve arch.yaml ./", positioned=False),
    Case("unknown model", "solve eyeris resnet50/conv1", positioned=False),
    Case("unknown layer", "solve eyeriss resnet50/conv9", positioned=False),
    Case("network without a layer", "evaluate eyeriss resnet50", positioned=False),
    Case("network without an architecture", "solve resnet50", positioned=False),
    Case("two networks", "solve eyeriss resnet50 vgg16", positioned=False),
    Case(
        "processes for a single problem", "solve arch.yaml problem.yaml --jobs 2", positioned=False
    ),
    Case(
        "processes with memory that is no size",
        "solve eyeriss tiny --jobs 2 --job-memory lots",
        positioned=False,
    ),
    Case("memory without processes", "solve eyeriss tiny --job-memory 1G", positioned=False),
    Case(
        "processes and a cluster",
        "solve eyeriss tiny --jobs 2 --scheduler tcp://127.0.0.1:1",
        positioned=False,
    ),
    Case("scheduler that is no address", "solve eyeriss tiny --scheduler here", positioned=False),
    Case("no processes at all", "solve eyeriss tiny --jobs 0", positioned=False, own=False),
    Case("mapping to keep for a network", "solve eyeriss tiny --keep-mapping", positioned=False),
    Case(
        "store that is something else", "solve three_level tiny --store arch.yaml", positioned=False
    ),
    Case(
        "layer without a problem",
        "solve three_level net.yaml",
        files={"net.yaml": b"layers:\n- {name: a, count: 2}\n"},
    ),
    Case(
        "layer of an unknown shape",
        "solve three_level net.yaml",
        files={"net.yaml": b"layers:\n- {name: a, shape: gem, instance: {M: 1}}\n"},
    ),
    Case(
        "network without layers", "solve three_level net.yaml", files={"net.yaml": b"layers: []\n"}
    ),
    Case(
        "network on an architecture without a dataflow for it",
        "solve eyeriss net.yaml",
        files={
            "net.yaml": (
                b"layers:\n- name: a\n  problem: {shape: {dimensions: [X], data-spaces: [{name: A,"
                b" projection: [[[X]]], read-write: true}]}, instance: {X: 4}}\n"
            )
        },
    ),
    Case("layer that could be several", "solve eyeriss resnet50/layer1.x", positioned=False),
    Case("architecture without a dataflow for the problem", "solve eyeriss problem.yaml"),
    Case("unknown dataflow", "solve eyeriss/gem tiny/mm8", positioned=False),
    Case("unknown objective", "solve arch.yaml problem.yaml --objective edpp", positioned=False),
    Case(
        "objective given twice",
        "solve arch.yaml problem.yaml --objective delay,energy,delay",
        positioned=False,
    ),
    Case(
        "objective with a power of nothing",
        "solve arch.yaml problem.yaml --objective energy^0*delay",
        positioned=False,
    ),
    Case(
        "negative time", "solve arch.yaml problem.yaml --time-limit -1", positioned=False, own=False
    ),
    Case("unknown option", "solve arch.yaml --fast", positioned=False, own=False),
    Case("unknown command", "map arch.yaml", positioned=False, own=False),
    Case("no files", "solve", positioned=False, own=False),
    Case("standard input that is empty", "evaluate -"),
    Case("standard input that is no text", "evaluate -", stdin=b"mapping: \xff\xfe\n"),
    Case(
        "standard input with an error",
        "evaluate arch.yaml problem.yaml -",
        stdin=MAPPING.replace("GLB", "GBL").encode(),
    ),
    Case("option of bound", "bound problem.yaml --word-bits A8", positioned=False),
    Case("unknown tensor of bound", "bound problem.yaml --stationary Q", positioned=False),
]


def tell(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    texts = {
        "arch.yaml": ARCHITECTURE,
        "problem.yaml": PROBLEM,
        "map.yaml": MAPPING,
        "rules.yaml": RULES,
    }
    if case.edit is not None:
        name, old, new = case.edit
        assert old in texts[name]
        texts[name] = texts[name].replace(old, new, 1)
    for name, content in (
        {name: text.encode() for name, text in texts.items()} | case.files
    ).items():
        (folder / name).write_bytes(content)
    return CliRunner().invoke(app, case.words.split(), input=case.stdin)


def shown(case: Case, result: Result) -> str:
    return f"# {case.title}\n$ solver-mapper {case.words}\n{result.stderr}\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_wrong_input_ends_in_exit_code_2_and_says_where(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tell(case, tmp_path, monkeypatch)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    if case.positioned:
        assert re.match(r"(?:warning: .*\n)*[\w<>./]+:\d+:\d+: ", result.stderr)


def test_messages_read_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for number, case in enumerate(case for case in CASES if case.own):
        folder = tmp_path / str(number)
        folder.mkdir()
        texts.append(shown(case, tell(case, folder, monkeypatch)))
    golden.check("messages.txt", "".join(texts))


def test_the_unbroken_files_are_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tell(Case("good", f"evaluate {ALL}"), tmp_path, monkeypatch).exit_code == 0
    assert (
        tell(
            Case("good", "validate arch.yaml problem.yaml -", stdin=MAPPING.encode()),
            tmp_path,
            monkeypatch,
        ).exit_code
        == 0
    )


def test_a_line_number_is_never_taken_for_an_emoji(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`:100:` is a short name of one for some printers."""
    mapping = (
        "mapping:\n" + "#\n" * 98 + MAPPING.removeprefix("mapping:\n").replace("M=4 N=2", "M=8 N=2")
    )
    result = tell(
        Case("illegal", f"validate {ALL}", files={"map.yaml": mapping.encode()}),
        tmp_path,
        monkeypatch,
    )
    assert result.exit_code == 1
    assert "  map.yaml:100:" in result.stdout
