"""The table of docs/reference/looptree.md that sets the two accounts side by side says what both
count.
"""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.io.convert import differences as rules

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "examples" / "two_cost_models.yaml").read_text(encoding="utf-8")
RULES = [
    rules.IMPLIED_REUSE,
    rules.WRITE_BACK,
    rules.HALO,
    rules.DIAGONAL,
    rules.LINKS,
    rules.BLOCKS,
    rules.WRITE_ENERGY,
    rules.CLUSTERS,
    rules.NETWORKS,
    rules.RESIDUALS,
    rules.FIRST_READS,
]


def documented() -> dict[str, tuple[Fraction, Fraction]]:
    """Rule -> (Timeloop's figure, LoopTree's figure), as printed."""
    text = (ROOT / "docs" / "reference" / "looptree.md").read_text(encoding="utf-8")
    section = text.split("## Two accounts of one mapping")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    return {row[0]: (Fraction(row[2]), Fraction(row[3])) for row in rows[2:]}


def both(text: str, *changes: tuple[str, str]) -> tuple[sm.Statistics, sm.TreeStatistics]:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    spec = sm.load(io.StringIO(text))
    tree = sm.load(io.StringIO(sm.convert(spec, "looptree").text))
    assert isinstance(spec, sm.Spec) and isinstance(tree, sm.TreeSpec)
    return sm.evaluate(spec), sm.evaluate(tree)


def where_timeloop_has_them() -> sm.TreeStatistics:
    """The tree with its Storage nodes left between the loops where Timeloop's levels are."""
    text = sm.convert(sm.load(io.StringIO(EXAMPLE)), "looptree").text
    weights, others = (
        "  - !Storage {tensors: [W], component: GLB}\n",
        "  - !Storage {tensors: [I, O], component: GLB}\n",
    )
    assert weights in text and others in text
    spec = sm.load(
        io.StringIO(
            text.replace(weights, "").replace(others, others.replace("[I, O]", "[W, I, O]"))
        )
    )
    assert isinstance(spec, sm.TreeSpec)
    return sm.evaluate(spec)


def words(statistics: sm.TreeStatistics, component: str, tensor: str, action: str) -> Fraction:
    return next(
        each.values or Fraction(0)
        for each in statistics.einsums[0].actions
        if (each.component, each.subject, each.action) == (component, tensor, action)
    )


def writes_of_outputs(timeloop: sm.Statistics) -> Fraction:
    tensor = timeloop.levels["GLB"].tensors["O"]
    return Fraction(tensor.fills * 12 + tensor.updates * 16, 16)


def counted() -> dict[str, tuple[Fraction, Fraction]]:
    timeloop, looptree = both(EXAMPLE)
    row = (
        ("factors: K=2 C=1 P=2 R=1", "factors: K=2 C=1 P=4 R=1"),
        ("factors: K=1 C=1 P=2 R=3", "factors: K=1 C=1 P=1 R=3"),
    )
    in_a_row, tree_in_a_row = both(EXAMPLE, *row)
    clustered, tree_clustered = both(EXAMPLE, ("entries: 32", "entries: 32, cluster-size: 3"))
    routed, tree_routed = both(EXAMPLE, ("entries: 64", "entries: 64, router-energy: 1"))
    rest, tree_rest = both(
        EXAMPLE, ("P: 8", "P: 7"), ("factors: K=1 C=1 P=2 R=3", "factors: 'K=1 C=1 P=2,1 R=3'")
    )
    apart, tree_apart = both(
        EXAMPLE, ("permutation: RPKC}", "permutation: RPKC, no_multicast_no_reduction: [O]}")
    )
    returned = words(tree_apart, "DRAM", "O", "write")
    glb, register = timeloop.levels["GLB"].tensors, in_a_row.levels["RF"].tensors["I"]
    return {
        "implied reuse": (
            Fraction(glb["W"].fills),
            words(where_timeloop_has_them(), "GLB", "W", "write"),
        ),
        "write-back": (Fraction(glb["O"].reads), words(looptree, "GLB", "O", "read")),
        "halo": (
            Fraction(timeloop.levels["DRAM"].tensors["I"].reads),
            words(looptree, "DRAM", "I", "read"),
        ),
        "equal windows": (Fraction(glb["I"].reads), words(looptree, "GLB", "I", "read")),
        "links": (
            Fraction(register.reads * register.instances),
            words(tree_in_a_row, "RF", "I", "read"),
        ),
        "blocks": (Fraction(-(-glb["W"].fills // 16)), looptree.action("GLB", "W", "write")),
        "write energy": (writes_of_outputs(timeloop), looptree.action("GLB", "O", "write") * 12),
        "clusters": (
            clustered.energy_pj - timeloop.energy_pj,
            tree_clustered.energy * 10**12 - looptree.energy * 10**12,
        ),
        "residuals": (
            Fraction(rest.levels["RF"].tensors["W"].reads * 6),
            words(tree_rest, "RF", "W", "read"),
        ),
        "first reads": (
            Fraction(apart.levels["GLB"].tensors["O"].reads),
            words(tree_apart, "GLB", "O", "read") - returned,
        ),
        "networks": (
            routed.energy_pj - timeloop.energy_pj,
            tree_routed.energy * 10**12 - looptree.energy * 10**12,
        ),
    }


def test_the_table_has_a_row_for_every_named_rule():
    assert list(documented()) == [rule.split(":")[0] for rule in RULES]


@pytest.mark.parametrize("rule", [rule.split(":")[0] for rule in RULES])
def test_both_figures_of_each_row_are_what_is_counted(rule: str):
    assert documented()[rule] == counted()[rule]
    assert documented()[rule][0] != documented()[rule][1]


def test_all_other_figures_of_the_example_agree():
    """Where no named rule applies, the two accounts give the same words."""
    timeloop, looptree = both(EXAMPLE)
    for level, statistics in timeloop.levels.items():
        for name, tensor in statistics.tensors.items():
            if name == "W":
                assert words(looptree, level, name, "read") == tensor.reads * tensor.instances
            if name != "I":
                assert (
                    words(looptree, level, name, "write")
                    == (tensor.fills + tensor.updates) * tensor.instances
                )
    assert looptree.latency == timeloop.cycles
