"""Sixty mistakes of twenty kinds in a valid v0.4 design: each is refused or reported, on the line
where it stands.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import solver_mapper as sm

DESIGN = """\
variables:
  version: 0.4
  WORD: 8
architecture:
  version: 0.4
  nodes:
  - !Container
    name: system
    attributes: {technology: 45nm}
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 64, datawidth: WORD}
  - !Component
    name: buffer
    class: smartbuffer_SRAM
    attributes: {depth: 2048, width: 64, datawidth: WORD, read_bandwidth: 16, write_bandwidth: 16}
    constraints:
      dataspace: {keep: [Inputs, Outputs], bypass: [Weights]}
  - !Container
    name: PE
    spatial: {meshX: 4, meshY: 3}
    constraints:
      spatial:
        permutation: [R, S, N, P, Q, C, M]
        split: 6
        factors: [R=1, S=1, N=1, P=1, Q=1, C<=4]
  - !Component
    name: spad
    class: smartbuffer_RF
    attributes: {depth: 64, width: 16, datawidth: WORD * 2}
    constraints:
      temporal: {permutation: [Q, P], factors: [M=1]}
  - !Component
    name: mac
    class: intmac
    attributes: {datawidth: WORD}
problem:
  version: 0.4
  instance: {C: 8, M: 6, R: 3, S: 3, N: 1, P: 4, Q: 4, Wstride: 2, Hstride: 2}
  shape:
    name: conv
    dimensions: [C, M, R, S, N, P, Q]
    coefficients:
    - {name: Wstride, default: 1}
    - {name: Hstride, default: 1}
    data_spaces:
    - {name: Weights, projection: [[[C]], [[M]], [[R]], [[S]]]}
    - {name: Inputs, projection: [[[N]], [[C]], [[R], [P, Wstride]], [[S], [Q, Hstride]]]}
    - {name: Outputs, projection: [[[N]], [[M]], [[P]], [[Q]]], read_write: true}
ERT:
  version: 0.4
  tables:
  - name: system.DRAM
    actions: [{name: read, energy: 512}, {name: write, energy: 512}]
  - name: system.buffer
    actions: [{name: read, energy: 6}, {name: write, energy: 5}]
  - name: system.PE[0..11].spad
    actions: [{name: read, energy: 0.4}, {name: write, energy: 0.3}]
  - name: system.PE[0..11].mac
    actions: [{name: compute, energy: 0.2}]
constraints:
  version: 0.4
  targets:
  - {target: DRAM, type: temporal, permutation: [R, S]}
"""

# kind, text, replacement, and what stands on the line that the message must name (the replacement
# itself, if left out)
MISTAKES: list[tuple[str, str, str, str]] = [
    ("key of a node", "    class: intmac", "    clas: intmac", "clas:"),
    ("key of a node", "    spatial: {meshX", "    spatail: {meshX", "spatail:"),
    (
        "key of a node",
        "    constraints:\n      dataspace",
        "    constriants:\n      dataspace",
        "constriants:",
    ),
    ("attribute", "depth: 2048", "depht: 2048", ""),
    ("attribute", "datawidth: WORD * 2", "datawdith: WORD * 2", ""),
    ("attribute", "read_bandwidth: 16", "read_bandwith: 16", ""),
    ("tag", "- !Container\n    name: PE", "- !Contianer\n    name: PE", "!Contianer"),
    ("tag", "- !Component\n    name: spad", "- !Memory\n    name: spad", "!Memory"),
    ("tag", "- !Component\n    name: mac", "-\n    name: mac", "name: mac"),
    ("class", "class: smartbuffer_RF", "class: smartbufer_RF", ""),
    ("class", "class: intmac", "class: MAC", ""),
    ("class", "class: DRAM", "class: dram", ""),
    ("tensor", "bypass: [Weights]", "bypass: [Weight]", ""),
    ("tensor", "keep: [Inputs, Outputs]", "keep: [Inputs, outputs]", ""),
    ("tensor", "keep: [Inputs, Outputs]", "keep: [Inputs, Weights]", "bypass: [Weights]"),
    ("dimension of a factor", "factors: [M=1]", "factors: [K=1]", ""),
    ("dimension of a factor", "C<=4]", "c<=4]", ""),
    ("dimension of a factor", "factors: [M=1]", "factors: [M1, X=2]", ""),
    ("factor", "C<=4]", "C=>4]", ""),
    ("factor", "factors: [M=1]", "factors: [M=]", ""),
    ("factor", "factors: [M=1]", "factor: [M=1]", ""),
    ("permutation", "permutation: [Q, P]", "permutation: [Q, K]", ""),
    ("permutation", "permutation: [Q, P]", "permutation: [Q, Q]", ""),
    ("permutation", "permutation: [Q, P]", "permutaton: [Q, P]", ""),
    ("split", "split: 6", "split: -1", ""),
    ("split", "split: 6", "split: COUNT", ""),
    ("split", "[R, S, N, P, Q, C, M]\n        split: 6", "[C, M]\n        split: 1", "split: 1"),
    ("mesh", "meshX: 4", "meshX: 0", ""),
    ("mesh", "meshX: 4", "meshx: 4, meshX: 2", ""),
    ("mesh", "meshY: 3", "meshZ: 3", ""),
    ("width", "width: 16, datawidth", "width: 20, datawidth", ""),
    ("width", "{width: 64, datawidth: WORD}", "{width: 4, datawidth: WORD}", ""),
    ("width", "width: 16, datawidth", "width: 16bits, datawidth", ""),
    ("capacity", "depth: 2048, width: 64", "depth: 4, width: 64", ""),
    ("capacity", "depth: 64, width: 16", "depth: 2, width: 16", ""),
    ("capacity", "depth: 2048, width: 64", "depth: 2048k, width: 64", ""),
    ("bandwidth", "read_bandwidth: 16", "read_bandwidth: 0.25", ""),
    ("bandwidth", "write_bandwidth: 16", "write_bandwidth: 16e9", ""),
    ("bandwidth", "read_bandwidth: 16", "read_bandwidth: -16", ""),
    ("energy table", "name: system.buffer", "name: system.bufer", ""),
    ("energy table", "name: system.PE[0..11].mac", "name: system.PE[0..11].MAC", ""),
    ("energy table", "{name: read, energy: 6}", "{name: raed, energy: 6}", "name: system.buffer"),
    ("energy", "energy: 0.4", "energy: -0.4", ""),
    (
        "energy",
        "[{name: read, energy: 6}, {name: write, energy: 5}]",
        "[{name: read, energy: 0}, {name: write, energy: 0}]",
        "- !Component\n    name: buffer",
    ),
    ("energy", "{name: read, energy: 512}", "{name: read, enrgy: 512}", ""),
    ("bound", "C: 8, M: 6", "C: 8, m: 6", "instance:"),
    ("bound", "P: 4, Q", "P: 0, Q", ""),
    ("bound", "P: 4, Q", "P: 4.5, Q", ""),
    ("coefficient", "Wstride: 2", "WStride: 2", ""),
    ("coefficient", "Wstride: 2", "Wtsride: 2", ""),
    ("coefficient", "[P, Wstride]", "[P, Wstirde]", ""),
    ("projection", "[[[C]], [[M]], [[R]], [[S]]]", "[[[C]], [[K]], [[R]], [[S]]]", ""),
    ("projection", ", read_write: true", "", "name: Weights"),
    ("projection", "name: Inputs, projection", "name: Inputs, projecton", ""),
    (
        "written twice",
        "    name: spad",
        "    name: buffer",
        "- !Component\n    name: buffer\n    class: smartbuffer_RF",
    ),
    (
        "written twice",
        "constraints:\n  version: 0.4\n",
        "constraints:\n  version: 0.4\n  version: 0.4\n",
        "  version: 0.4\n  targets",
    ),
    ("written twice", "factors: [M=1]", "factors: [M=1, M=2]", ""),
    ("target", "target: DRAM", "target: DRM", ""),
    ("target", "type: temporal, permutation: [R, S]", "type: temporl, permutation: [R, S]", ""),
    (
        "target",
        "{target: DRAM, type: temporal, permutation: [R, S]}",
        "{target: DRAM, type: temporal, permutation: [N]}",
        "",
    ),
]


def read(folder: Path, text: str) -> list[tuple[int | None, str]]:
    """The line and text of each error or warning."""
    file = folder / "design.yaml"
    file.write_text(text)
    try:
        return [(warning.location.line, str(warning)) for warning in sm.load(file).warnings]
    except sm.InputError as error:
        return [(each.line, str(each)) for each in (error, *error.more)]


def test_the_design_itself_has_no_mistake(tmp_path: Path) -> None:
    assert read(tmp_path, DESIGN) == []


def test_there_are_sixty_mistakes_of_twenty_kinds() -> None:
    kinds = Counter(mistake[0] for mistake in MISTAKES)
    assert len(kinds) == 20
    assert set(kinds.values()) == {3}


@pytest.mark.parametrize(("kind", "old", "new", "where"), MISTAKES)
def test_every_mistake_is_found_where_it_stands(
    tmp_path: Path, kind: str, old: str, new: str, where: str
) -> None:
    assert DESIGN.count(old) == 1
    text = DESIGN.replace(old, new)
    start = text.index(where or new)
    found = read(tmp_path, text)
    assert text[:start].count("\n") + 1 in [line for line, _ in found], found
