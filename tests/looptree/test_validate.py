"""Every way in which a tree can be wrong is named, all at once, each with its line; broken files
end in an error with a place.
"""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import pytest

import solver_mapper as sm
from tests.looptree.random_trees import random_case

ARCH = """\
arch:
  nodes:
  - !Memory
    name: Dram
    size: inf
    leak_power: 0
    actions: [{name: read, energy: 10, throughput: 1}, {name: write, energy: 10, throughput: 1}]
  - !Memory
    name: Sram
    size: 64
    leak_power: 0
    tensors: {may_keep: All}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Container
    name: Grid
    spatial: [{name: X, fanout: 4}]
  - !Compute
    name: Mac
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  rank_sizes: {M: 4, K: 4, N: 4}
  bits_per_value: {All: 8}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
mapping:
  nodes:
  - !Storage {tensors: [A, B, Z], component: Dram}
  - !Temporal {rank_variable: m, tile_shape: 2}
  - !Storage {tensors: [A], component: Sram}
  - !Temporal {rank_variable: n, tile_shape: 1}
  - !Spatial {rank_variable: m, tile_shape: 1, component: Grid, name: X}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Compute {einsum: Z, component: Mac}
"""
MAPPING = ARCH[: ARCH.index("mapping:")].count("\n")


def violations(*changes: tuple[str, str]) -> list[tuple[str, int | None]]:
    text = ARCH
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return [
        (each.rule, each.location.line)
        for each in sm.validate(sm.load(io.StringIO(text))).violations
    ]


def line(nodes_down: int) -> int:
    """The line of a node of the mapping, the first counting as 1."""
    return MAPPING + 2 + nodes_down


def test_the_example_is_legal():
    assert violations() == []


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ([("tile_shape: 2", "tile_shape: 9")], [("tile-not-nested", line(2))]),
        (
            [("rank_variable: m, tile_shape: 1,", "rank_variable: m, tile_shape: 4,")],
            [("tile-not-nested", line(5)), ("missing-loop", line(7))],
        ),
        ([("[A], component: Sram", "[A], component: Srm")], [("unknown-name", line(3))]),
        ([("[A], component: Sram", "[Q], component: Sram")], [("unknown-name", line(3))]),
        ([("rank_variable: k", "rank_variable: z")], [("unknown-name", line(6))]),
        ([("einsum: Z", "einsum: Y")], [("unknown-name", line(7))]),
        ([("name: X}\n  - !Temporal", "name: W}\n  - !Temporal")], [("unknown-name", line(5))]),
        ([("component: Mac", "component: Sram")], [("unknown-name", line(7))]),
        ([("  - !Temporal {rank_variable: k, tile_shape: 1}\n", "")], [("missing-loop", line(6))]),
        ([("[A, B, Z], component: Dram", "[A, Z], component: Dram")], [("not-stored", line(7))]),
        (
            [
                ("[A, B, Z], component: Dram", "[B, Z], component: Dram"),
                (
                    "[A], component: Sram}",
                    "[A], component: Sram}\n  - !Storage {tensors: [A], component: Dram}",
                ),
            ],
            [("hierarchy", line(4))],
        ),
        ([("size: 64", "size: 63")], [("capacity", line(3))]),
        ([("fanout: 4", "fanout: 1")], [("fanout", line(5))]),
        (
            [("[A], component: Sram}", "[A], component: Sram, persistent: true}")],
            [("persistent", line(3))],
        ),
        ([("may_keep: All", "keep: B")], [("keep", line(7)), ("bypass", line(3))]),
        (
            [
                (
                    "may_keep: All",
                    "may_keep: All, tile_shape: [{expression: m, operator: '==', value: 4}]",
                )
            ],
            [("tile-shape", line(3))],
        ),
        ([("fanout: 4", "fanout: 4, reuse: A")], [("reuse", line(5))]),
        ([("fanout: 4", "fanout: 4, min_usage: 1")], [("utilization", line(5))]),
        (
            [("fanout: 4", "fanout: 4, loop_bounds: [{expression: m, operator: '==', value: 1}]")],
            [("loop-bounds", line(7))],
        ),
        (
            [
                ("may_keep: All", "may_keep: All, no_refetch_from_above: B"),
                ("[A], component: Sram}", "[A, B], component: Sram}"),
                ("size: 64", "size: 6400"),
            ],
            [("refetch", line(3))],
        ),
    ],
)
def test_each_kind_of_mistake_is_named_with_its_line(
    changes: list[tuple[str, str]], wanted: list[tuple[str, int]]
):
    assert violations(*changes) == wanted


def test_several_mistakes_are_all_listed():
    found = violations(
        ("[A], component: Sram", "[Q], component: Srm"),
        ("rank_variable: k", "rank_variable: z"),
        ("einsum: Z", "einsum: Y"),
    )
    assert [rule for rule, _ in found] == ["unknown-name"] * 4
    assert [number for _, number in found] == [line(3), line(3), line(6), line(7)]


EVERYTHING = """\
mapping:
  nodes:
  - !Storage {tensors: [A, B, Z], component: Dram}
  - !Storage {tensors: [B], component: Sram}
  - !Temporal {rank_variable: m, tile_shape: 9}
  - !Storage {tensors: [A], component: Srm}
  - !Spatial {rank_variable: n, tile_shape: 1, component: Grid, name: X}
  - !Storage {tensors: [Z], component: Dram}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Compute {einsum: Z, component: Mac}
"""


def test_mistakes_of_different_kinds_are_listed_at_once():
    text = ARCH[: ARCH.index("mapping:")] + EVERYTHING
    for old, new in (
        ("fanout: 4", "fanout: 3"),
        ('B[k, n]"]', 'B[k, n]", "Y[n] = Z[m, n] * V[m]"]'),
        ("may_keep: All", "keep: A, may_keep: B"),
    ):
        assert old in text
        text = text.replace(old, new)
    found = [
        (each.rule, each.location.line)
        for each in sm.validate(sm.load(io.StringIO(text))).violations
    ]
    assert sorted(found) == sorted(
        [
            ("unknown-name", line(4)),
            ("tile-not-nested", line(3)),
            ("missing-loop", line(8)),
            ("hierarchy", line(6)),
            ("einsum", line(0)),
            ("fanout", line(5)),
            ("capacity", line(2)),
        ]
    )


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            [
                ("[A], component: Sram", "[A], component: Srm"),
                ("may_keep: All", "keep: A"),
                ("A, B, Z], component: Dram", "B, Z], component: Dram"),
            ],
            "unknown-name",
        ),
        (
            [("  - !Temporal {rank_variable: k, tile_shape: 1}\n", ""), ("size: 64", "size: 60")],
            "missing-loop",
        ),
        ([("tile_shape: 2", "tile_shape: 9"), ("fanout: 4", "fanout: 3")], "tile-not-nested"),
    ],
)
def test_what_only_follows_from_another_mistake_is_not_reported(
    changes: list[tuple[str, str]], rule: str
):
    """A misspelt memory stores nothing, a missing loop leaves tiles large: the cause is named."""
    assert [found for found, _ in violations(*changes)] == [rule]


def test_a_missing_einsum_and_results_read_too_early():
    text = (
        Path(__file__).parents[1] / "data" / "looptree" / "chain2_tiled1_22" / "case.yaml"
    ).read_text()
    first = text.index("    - !Nested\n")
    second = text.index("    - !Nested\n", first + 1)
    alone = text[:first] + text[second:]
    assert [each.rule for each in sm.validate(sm.load(io.StringIO(alone))).violations] == ["einsum"]
    swapped = text[:first] + text[second:] + text[first:second]
    assert "order" in [each.rule for each in sm.validate(sm.load(io.StringIO(swapped))).violations]
    repeated = text.replace(
        "{rank_variable: n1, tile_shape: 1}", "{rank_variable: n0, tile_shape: 1}", 1
    )
    assert "foreign-loop" in [
        each.rule for each in sm.validate(sm.load(io.StringIO(repeated))).violations
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("!Memory\n    name: Sram", "!Memroy\n    name: Sram"), "did you mean '!Memory'"),
        (("size: 64", "size: 64kB"), "not an arithmetic expression"),
        (("size: 64", "size: big"), "unknown name 'big'"),
        (("size: 64", "sizes: 64"), "has no field 'sizes'"),
        (
            ("    leak_power: 0\n    tensors", "    component_class: SmartBufferSRAM\n    tensors"),
            "write the numbers",
        ),
        (
            ("{name: read, energy: 1, throughput: inf}", "{name: read, throughput: inf}"),
            "lacks energy",
        ),
        (("may_keep: All", "keep: wieght"), "unknown name 'wieght'"),
        (
            ("- !Temporal {rank_variable: k", "- !Temporl {rank_variable: k"),
            "did you mean '!Temporal'",
        ),
        (("tile_shape: 2", "tile_shape: 0"), "at least 1"),
        (
            (
                "- !Compute {einsum: Z, component: Mac}",
                "- !Storage {tensors: [A], component: Sram}",
            ),
            "without a !Compute",
        ),
        (("rank_sizes: {M: 4", "rank_sizes: {M: 0"), "at least 1"),
        (("bits_per_value: {All: 8}", "bits_per_value: {A: 8}"), "no bits_per_value"),
        (("- !Container", "- !Network"), "not supported"),
    ],
)
def test_unusable_files_are_errors_with_a_place_and_what_was_meant(
    change: tuple[str, str], words: str
):
    text = ARCH.replace(*change)
    assert text != ARCH
    with pytest.raises(sm.InputError) as caught:
        spec = sm.load(io.StringIO(text))
        sm.validate(spec)
        sm.solve(spec, "energy")
    assert words in str(caught.value)
    assert caught.value.line is not None


def test_mutilated_files_never_end_in_anything_but_an_input_error():
    """Lines dropped, doubled, swapped and characters changed in random cases."""
    rng = Random(1)
    for seed in range(150):
        lines = random_case(seed).splitlines()
        for _ in range(rng.randint(1, 3)):
            index = rng.randrange(len(lines))
            what = rng.randrange(5)
            if what == 0:
                del lines[index]
            elif what == 1:
                lines.insert(index, lines[rng.randrange(len(lines))])
            elif what == 2:
                other = rng.randrange(len(lines))
                lines[index], lines[other] = lines[other], lines[index]
            elif lines[index]:
                spot = rng.randrange(len(lines[index]))
                lines[index] = (
                    lines[index][:spot]
                    + rng.choice("0-9{}[]:,aZ!&* ~|")
                    + lines[index][spot + (what == 3) :]
                )
        try:
            spec = sm.load(io.StringIO("\n".join(lines)))
            if isinstance(spec, sm.TreeSpec):
                sm.validate(spec)
                sm.evaluate(spec)
        except sm.InputError:
            pass


@pytest.mark.parametrize(
    ("fork", "memory", "where"),
    [("Sequential", "Sram", "in 'Sram'"), ("Pipeline", "Dram", "in 'Sram' and in 'Dram'")],
)
def test_a_tensor_that_each_branch_stores_by_itself_is_not_handed_over(
    fork: str, memory: str, where: str
) -> None:
    text = ARCH[: ARCH.index("mapping:")].replace("size: 64", "size: 6400")
    text = text.replace(
        '["Z[m, n] = A[m, k] * B[k, n]"]', '["Y[m, n] = A[m, k] * B[k, n]", "Z[m, n] = Y[m, n]"]'
    )
    text += f"""\
mapping:
  nodes:
  - !Storage {{tensors: [A, B, Z], component: Dram}}
  - !{fork}
    nodes:
    - !Nested
      nodes:
      - !Storage {{tensors: [Y], component: Sram}}
      - !Temporal {{rank_variable: m, tile_shape: 1}}
      - !Temporal {{rank_variable: n, tile_shape: 1}}
      - !Temporal {{rank_variable: k, tile_shape: 1}}
      - !Compute {{einsum: Y, component: Mac}}
    - !Nested
      nodes:
      - !Storage {{tensors: [Y], component: {memory}}}
      - !Temporal {{rank_variable: m, tile_shape: 1}}
      - !Temporal {{rank_variable: n, tile_shape: 1}}
      - !Compute {{einsum: Z, component: Mac}}
"""
    (found,) = sm.validate(sm.load(io.StringIO(text))).violations
    assert (found.rule, found.location.line) == ("not-stored", line(13))
    assert found.message == (
        f"no Storage node of 'Y' stands above the !{fork} (<stream>:{line(2)}:5) that parts 'Y' and"
        f" 'Z': each has one of its own, {where}, so 'Z' does not read what 'Y' writes; give 'Y'"
        " one Storage node above the fork"
    )
