"""Trees in the terminal and as pictures."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.cost.looptree.mapping.labels import labels
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Nested,
    Sequential,
    Storage,
    Temporal,
    TreeMapping,
)
from solver_mapper.report.looptree_svg import NodeBox, arrange
from tests.looptree.random_trees import random_case

DATA = Path(__file__).parents[1] / "data" / "looptree"
DRAWING = """\
Dram keeps T0                          T0 72 values, 576 bits
Dram keeps T2                          T2 24 values, 192 bits
Dram keeps W0                          W0 24 values, 192 bits
Dram keeps W1                          W1 8 values, 64 bits
for n1 in 4                            tiles of 1
Sram keeps T1                          T1 12 values, 96 bits, 37.5 %
in sequence
├─ Sram keeps T0                       T0 2 values, 16 bits, 6.25 %
│  for m in 6                          tiles of 2
│  for n0 in 6                         tiles of 1
│  Regs keeps T1                       T1 2 values, 16 bits, 66.7 %
│  Regs keeps W0                       W0 1 values, 8 bits, 33.3 %
│  for m in 2                          tiles of 1
│  Mac computes E0                     288 operations
└─ Sram keeps W1                       W1 2 values, 16 bits, 6.25 %
   for m in 12                         tiles of 1
   Regs keeps T1                       T1 1 values, 8 bits, 33.3 %
   Regs keeps T2                       T2 1 values, 8 bits, 33.3 %
   for n2 in 2                         tiles of 1
   Mac computes E1                     96 operations"""


def load(text: str) -> sm.TreeSpec:
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return spec


def test_the_tree_in_the_terminal_shows_tiles_and_occupancies_at_each_node():
    spec = sm.load(DATA / "chain2_tiled1_22" / "case.yaml")
    drawing = str(sm.evaluate(spec)).split("\n\n")[0]
    assert [line.split() for line in drawing.splitlines()] == [
        line.split() for line in DRAWING.splitlines()
    ]


def apart(one: NodeBox, two: NodeBox) -> bool:
    return (
        one.x + one.width <= two.x
        or two.x + two.width <= one.x
        or one.y + one.height <= two.y
        or two.y + two.height <= one.y
    )


LEGAL = [seed for seed in range(45) if sm.validate(sm.load(io.StringIO(random_case(seed)))).legal]


@pytest.mark.parametrize("seed", LEGAL)
def test_pictures_of_random_trees_are_well_formed_and_nothing_overlaps(seed: int):
    spec = load(random_case(seed))
    mapping = spec.need_mapping()
    notes = labels(spec.branches(mapping))
    drawing = arrange(mapping.nodes, notes)
    for index, one in enumerate(drawing.boxes):
        assert (
            one.x >= -0.01
            and one.x + one.width <= drawing.width + 0.01
            and one.y + one.height <= drawing.height + 0.01
        )
        assert all(apart(one, two) for two in drawing.boxes[index + 1 :])
    root = ElementTree.fromstring(spec.picture())
    shown = " ".join(root.itertext())
    for node in mapping.walk():
        if id(node) in notes:
            assert notes[id(node)].text in shown
    assert "<svg" in spec.page() and f"{float(sm.evaluate(spec).energy):.9g}" in spec.page()


def test_names_are_escaped_in_pictures():
    text = random_case(4).replace("Sram", "A<b>&c")
    picture = load(text).picture()
    assert "A<b>" not in picture
    ElementTree.fromstring(picture)


def test_a_tree_is_built_printed_changed_and_saved_in_code():
    fork = Sequential(
        (
            Nested((Temporal("n", 1), Compute("A", "MAC"))),
            Nested((Temporal("k", 1), Compute("B", "MAC"))),
        )
    )
    mapping = TreeMapping(
        (Storage(("X", "Y"), "DRAM"), Temporal("m", 8), Storage(("Y",), "Buffer"), fork)
    )
    assert str(mapping).splitlines() == [
        "DRAM keeps X, Y",
        "for m in tiles of 8",
        "Buffer keeps Y",
        "in sequence",
        "├─ for n in tiles of 1",
        "│  MAC computes A",
        "└─ for k in tiles of 1",
        "   MAC computes B",
    ]
    loop = mapping.find(lambda node: isinstance(node, Temporal) and node.variable == "n")
    first = mapping.nodes[1]
    changed = mapping.replaced(loop, Temporal("n", 4), Temporal("n", 1)).replaced(
        first, Storage(("X",), "Buffer"), first
    )
    assert len(changed.branches()[0]) == len(mapping.branches()[0]) + 2
    again = sm.load(io.StringIO(changed.to_yaml()))
    assert isinstance(again, sm.TreeSpec) and again.mapping == changed
    assert mapping.replaced(mapping.nodes[2]).branches()[1] == (
        *mapping.nodes[:2],
        *fork.nodes[1].nodes,
    )
    with pytest.raises(LookupError):
        mapping.replaced(Temporal("m", 8), Temporal("m", 4))


@pytest.mark.parametrize(
    "command", [["evaluate"], ["solve", "--objective", "energy"]], ids=["evaluate", "solve"]
)
def test_the_command_line_writes_pictures_of_the_mapping(command: list[str], tmp_path: Path):
    """`-o` gives an SVG and an HTML page; both show each node of the mapping that was evaluated or
    found.
    """
    file = Path(__file__).parents[2] / "examples" / "fused_matmuls.yaml"
    done = CliRunner().invoke(
        app, [command[0], str(file), *command[1:], "-o", str(tmp_path / "out"), "--json"]
    )
    assert done.exit_code == 0, done.output
    names = {"mapping.svg", "mapping.html"}
    assert names <= {each.name for each in (tmp_path / "out").iterdir()}
    shown = " ".join(
        ElementTree.fromstring(
            (tmp_path / "out" / "mapping.svg").read_text(encoding="utf-8")
        ).itertext()
    )
    spec = (
        sm.load(file)
        if command[0] == "evaluate"
        else sm.load(load_without_mapping(file), tmp_path / "out" / "map.yaml")
    )
    assert isinstance(spec, sm.TreeSpec)
    found = labels(spec.branches(spec.need_mapping()))
    assert all(label.text in shown and label.detail in shown for label in found.values())
    page = (tmp_path / "out" / "mapping.html").read_text(encoding="utf-8")
    assert "<svg" in page and f"energy {float(sm.evaluate(spec).energy):.9g} J" in page


def load_without_mapping(file: Path) -> io.StringIO:
    return io.StringIO(file.read_text(encoding="utf-8").split("\nmapping:")[0] + "\n")
