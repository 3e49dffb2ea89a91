"""Conversions keep every count where the accounts agree; the named rules explain the rest."""

from __future__ import annotations

import io
import re
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.io.convert import differences as rules
from solver_mapper.io.convert.to_looptree import names_of
from tests.looptree.random_trees import random_case

DATA = Path(__file__).parents[1] / "data"
FILES = sorted(
    [
        *DATA.glob("timeloop/*.yaml"),
        *DATA.glob("timeloop_model/*/case.yaml"),
        *DATA.glob("timeloop_stats/*/case.yaml"),
    ]
)
PROBLEMS = {
    "matmul": (
        "M, K, N",
        {"A": "[[[M]], [[K]]]", "B": "[[[K]], [[N]]]", "Z": "[[[M]], [[N]]]"},
        "Z",
    ),
    "batched": (
        "B, M, K",
        {"A": "[[[B]], [[M]], [[K]]]", "W": "[[[B]], [[K]]]", "Z": "[[[B]], [[M]]]"},
        "Z",
    ),
    "window": ("C, P, R", {"I": "[[[C]], [[P], [R]]]", "F": "[[[C]], [[R]]]", "O": "[[[P]]]"}, "O"),
}


def timeloop_case(seed: int, kind: str | None = None) -> str:
    """A random Timeloop architecture, problem and mapping: perfect factors, no links, no blocks,
    one price for writing.
    """
    rng = Random(seed)
    dims, spaces, output = PROBLEMS[kind or rng.choice(["matmul", "batched"])]
    names = dims.split(", ")
    levels = ["DRAM", "GLB", "RF"][: rng.choice([2, 3])]
    fans = [rng.choice([1, 1, 2, 4]) for _ in levels]
    fans[0] = 1
    factors = {
        dim: [(rng.choice([1, 2, 3]), rng.choice([1, 2]) if fan > 1 else 1) for fan in fans]
        for dim in names
    }
    for index, fan in enumerate(fans):
        for dim in rng.sample(names, len(names)):
            used = 1
            for other in names:
                used *= factors[other][index][1]
            if used > fan:
                factors[dim][index] = factors[dim][index][0], 1
    total = _product(fans)
    lines = [
        "arch:",
        f"  arithmetic: {{name: MAC, word-bits: 8, instances: {total}, meshX: {total}}}",
        "  storage:",
    ]
    for index in reversed(range(len(levels))):
        copies = _product(fans[:index])
        lines.append(
            f"  - {{name: {levels[index]}, word-bits: 8, instances: {copies}, meshX: {copies}}}"
        )
    lines += ["ERT:", "  version: 0.4", "  tables:"]
    for name in levels:
        write = rng.randint(1, 90)
        costs = {"read": rng.randint(1, 90), "write": write, "update": write}
        lines += [
            f"  - name: {name}",
            "    actions:",
            *(
                f"    - {{name: {action}, arguments: {{}}, energy: {cost}}}"
                for action, cost in costs.items()
            ),
        ]
    lines += ["  - name: MAC", "    actions: [{name: compute, arguments: {}, energy: 2}]"]
    lines += ["problem:", f"  shape:\n    name: E\n    dimensions: [{dims}]\n    data-spaces:"]
    for name, projection in spaces.items():
        lines.append(
            f"    - {{name: {name}, projection:"
            f" {projection}{', read-write: true' if name == output else ''}}}"
        )
    lines.append(
        "  instance: {"
        + ", ".join(f"{dim}: {_product([a * b for a, b in factors[dim]])}" for dim in names)
        + "}"
    )
    lines.append("mapping:")
    for index, name in enumerate(levels):
        order = "".join(rng.sample(names, len(names)))
        temporal = " ".join(f"{dim}={factors[dim][index][0]}" for dim in names)
        lines.append(
            f"- {{target: {name}, type: temporal, factors: {temporal}, permutation: {order}}}"
        )
        if fans[index] > 1:
            spatial = " ".join(f"{dim}={factors[dim][index][1]}" for dim in names)
            lines.append(
                f"- {{target: {name}, type: spatial, factors: {spatial}, permutation: {order}, "
                f"no_link_transfer: [{', '.join(spaces)}]}}"
            )
        kept = list(spaces) if index == 0 else [space for space in spaces if rng.random() < 0.7]
        gone = [space for space in spaces if space not in kept]
        lines.append(
            f"- {{target: {name}, type: bypass, keep: [{', '.join(kept)}], bypass:"
            f" [{', '.join(gone)}]}}"
        )
    return "\n".join(lines) + "\n"


def _product(numbers: list[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total


def both(text: str) -> tuple[sm.Statistics, sm.TreeStatistics, sm.TreeSpec, sm.Spec]:
    level_by_level = sm.load(io.StringIO(text))
    assert isinstance(level_by_level, sm.Spec)
    tree = sm.load(io.StringIO(sm.convert(level_by_level, "looptree").text))
    assert isinstance(tree, sm.TreeSpec)
    return sm.evaluate(level_by_level), sm.evaluate(tree), tree, level_by_level


@pytest.mark.parametrize("block", range(4))
def test_reads_writes_and_energy_are_timeloops_plus_the_named_write_backs(block: int):
    """Words and energy agree exactly; what a LoopTree adds is one read of the inner memory for each
    word returned.
    """
    for seed in range(50 * block, 50 * block + 50):
        timeloop, looptree, _, spec = both(timeloop_case(seed))
        energy = timeloop.energy_pj - sum(
            (network.energy_pj for network in timeloop.networks.values()), Fraction(0)
        )
        for level in spec.need_architecture().levels:
            statistics = timeloop.levels[level.name]
            for name, tensor in statistics.tensors.items():
                holders = [each for each in spec.need_mapping().levels if name in each.keep]
                outermost = holders[0].level == level.name
                written = spec.need_problem().tensor(name).read_write
                returned = (
                    0
                    if outermost or not written
                    else (tensor.fills + tensor.partition) * tensor.instances
                )
                reads = looptree.action(level.name, name, "read")
                writes = looptree.action(level.name, name, "write")
                assert reads == tensor.reads * tensor.instances + returned, (seed, level.name, name)
                assert writes == (tensor.fills + tensor.updates) * tensor.instances, (
                    seed,
                    level.name,
                    name,
                )
                energy += returned * level.energy.read
        assert looptree.energy * 10**12 == energy, seed
        assert looptree.latency == timeloop.cycles


def test_sliding_windows_differ_by_the_halo_only():
    """Where windows slide, a LoopTree fetches at least as much of the tensor that slides, and the
    same of all others.
    """
    more = 0
    for seed in range(60):
        timeloop, looptree, _, spec = both(timeloop_case(seed, "window"))
        for level in spec.need_architecture().levels:
            for name, tensor in timeloop.levels[level.name].tensors.items():
                writes = looptree.action(level.name, name, "write")
                mine = (tensor.fills + tensor.updates) * tensor.instances
                if name == "I":
                    assert writes >= mine, seed
                    more += writes > mine
                else:
                    assert writes == mine, seed
    assert more > 10


def with_write_backs(
    spec: sm.Spec, statistics: sm.Statistics
) -> dict[tuple[str, str], tuple[int, int]]:
    """(level, tensor) -> words read and written of all instances, as Timeloop counts them but with
    a read for each word returned.
    """
    found = {}
    for level in spec.need_architecture().levels:
        for name, tensor in statistics.levels[level.name].tensors.items():
            outermost = (
                next(each for each in spec.need_mapping().levels if name in each.keep).level
                == level.name
            )
            returned = (
                0
                if outermost or not spec.need_problem().tensor(name).read_write
                else tensor.fills + tensor.partition
            )
            found[level.name, name] = (
                (tensor.reads + returned) * tensor.instances,
                (tensor.fills + tensor.updates) * tensor.instances,
            )
    return found


def in_looptree(
    spec: sm.Spec, statistics: sm.TreeStatistics
) -> dict[tuple[str, str], tuple[Fraction, Fraction]]:
    """The same as the LoopTree counts them."""
    names = names_of(spec)
    words = {
        (row.component, row.subject, row.action): row.values or Fraction(0)
        for row in statistics.einsums[0].actions
    }
    return {
        (level, tensor): (
            words.get((names.levels[level], names.tensors[tensor], "read"), Fraction(0)),
            words.get((names.levels[level], names.tensors[tensor], "write"), Fraction(0)),
        )
        for level in names.levels
        for tensor in names.tensors
    }


def explanation(spec: sm.Spec, statistics: sm.Statistics, tensor: str) -> str | None:
    """The named rule that lets the words of a tensor differ in this mapping."""
    mapping, problem = spec.need_mapping(), spec.need_problem()
    if any(len(rank) > 1 for rank in problem.tensor(tensor).ranks):
        return rules.HALO
    if any(loop.last != loop.bound for loop in mapping.loops()):
        return rules.RESIDUALS
    if any(
        network.tensors[tensor].link_transfers
        for network in statistics.networks.values()
        if tensor in network.tensors
    ):
        return rules.LINKS
    if problem.tensor(tensor).read_write and any(
        tensor in level.no_multicast for level in mapping.levels
    ):
        return rules.FIRST_READS
    return None


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_every_timeloop_mapping_keeps_its_words_or_a_named_rule_explains_the_difference(path: Path):
    """Words per level and tensor; where all agree, the energy is that of the words at a LoopTree's
    prices.
    """
    spec = sm.load(path)
    assert isinstance(spec, sm.Spec)
    conversion = sm.convert(spec, "looptree")
    tree = sm.load(io.StringIO(conversion.text))
    assert isinstance(tree, sm.TreeSpec) and rules.WRITE_BACK in conversion.notes
    timeloop, looptree = sm.evaluate(spec), sm.evaluate(tree)
    assert {each.rule for each in sm.validate(tree).violations} <= {
        each.rule
        for each in violations(spec.need_architecture(), spec.need_problem(), spec.need_mapping())
    }
    assert (
        next(row for row in looptree.einsums[0].actions if row.action == "compute").actions
        == timeloop.macs
    )
    wanted, found = with_write_backs(spec, timeloop), in_looptree(spec, looptree)
    differing = {
        tensor for (level, tensor), words in wanted.items() if words != found[level, tensor]
    }
    for tensor in differing:
        assert explanation(spec, timeloop, tensor) in conversion.notes, tensor
    if not differing:
        machine = spec.need_architecture()
        energy = timeloop.macs * machine.arithmetic.energy
        for level in machine.levels:
            for tensor in spec.need_problem().tensor_names:
                reads, writes = wanted.get((level.name, tensor), (0, 0))
                energy += (
                    reads * level.energy.read + writes * level.energy.fill
                ) / level.block_size
        assert (
            sum(each.energy for row in looptree.einsums for each in row.actions) * 10**12 == energy
        )


def test_many_mappings_in_the_tests_keep_every_word():
    """So that the test above compares energies often enough."""
    kept = 0
    for path in FILES:
        spec = sm.load(path)
        assert isinstance(spec, sm.Spec)
        tree = sm.load(io.StringIO(sm.convert(spec, "looptree").text))
        assert isinstance(tree, sm.TreeSpec)
        wanted, found = (
            with_write_backs(spec, sm.evaluate(spec)),
            in_looptree(spec, sm.evaluate(tree)),
        )
        kept += all(words == found[key] for key, words in wanted.items())
    assert kept >= 24


@pytest.mark.parametrize("block", range(3))
def test_there_and_back_again_keeps_every_count(block: int):
    for seed in range(40 * block, 40 * block + 40):
        _, looptree, tree, spec = both(timeloop_case(seed, "window" if seed % 5 == 0 else None))
        again = sm.load(io.StringIO(sm.convert(tree, "timeloop").text))
        assert isinstance(again, sm.Spec)
        mine, theirs = sm.evaluate(again), sm.evaluate(spec)
        for level in spec.need_architecture().levels:
            for name, tensor in theirs.levels[level.name].tensors.items():
                other = mine.levels[level.name].tensors[name]
                assert (other.reads, other.fills, other.updates) == (
                    tensor.reads,
                    tensor.fills,
                    tensor.updates,
                ), seed
        assert (mine.cycles, mine.macs) == (theirs.cycles, theirs.macs)
        once_more = sm.load(io.StringIO(sm.convert(again, "looptree").text))
        assert isinstance(once_more, sm.TreeSpec)
        assert sm.evaluate(once_more).energy == looptree.energy


def test_trees_either_convert_with_every_count_or_name_the_node_that_cannot():
    """Random trees: what converts and comes back costs the same; what does not is refused with the
    line of a node.
    """
    converted = refused = 0
    for seed in range(250):
        spec = sm.load(io.StringIO(random_case(seed)))
        assert isinstance(spec, sm.TreeSpec)
        if not sm.validate(spec).legal:
            continue
        try:
            text = sm.convert(spec, "timeloop").text
        except sm.InputError as error:
            assert error.line is not None, error
            refused += 1
            continue
        converted += 1
        back = sm.load(io.StringIO(sm.convert(sm.load(io.StringIO(text)), "looptree").text))
        assert isinstance(back, sm.TreeSpec)
        mine = {
            (row.component, row.subject, row.action): row.values
            for row in sm.evaluate(spec).einsums[0].actions
        }
        for row in sm.evaluate(back).einsums[0].actions:
            assert mine.get((row.component, row.subject, row.action), 0) == row.values, (seed, row)
    assert converted >= 5 and refused >= 100


@pytest.mark.parametrize(
    ("name", "words"), [("chain2_tiled1_22", "has no forks"), ("mm_single_05", None)]
)
def test_refusals_name_the_node(name: str, words: str | None):
    spec = sm.load(Path(__file__).parents[1] / "data" / "looptree" / name / "case.yaml")
    try:
        sm.convert(spec, "timeloop")
    except sm.InputError as error:
        assert error.line is not None and (words is None or words in error.message)
    else:
        assert words is None


RESERVED = (
    "null",
    "true",
    "yes",
    "none",
    "all",
    "nothing",
    "above",
    "for",
    "inf",
    "ｆ",
    "1e3",
    "*x",
)


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("part", ["level", "unit", "tensor", "dim"])
def test_names_that_looptree_reads_as_something_else_convert(part: str, name: str):
    if part == "dim" and name in ("1e3", "*x"):
        return
    names = {"level": "GLB", "unit": "MAC", "tensor": "Z", "dim": "M", part: name}
    dim, mesh = names["dim"], {"instances": 4, "meshX": 4}
    tensors = [
        {"name": "A", "projection": [[[dim]], [["K"]]]},
        {"name": names["tensor"], "projection": [[[dim]]], "read-write": True},
    ]
    levels = [
        {"name": "RF", "entries": 4, **mesh},
        {"name": names["level"], "entries": 64, "instances": 1},
        {"name": "DRAM", "technology": "DRAM", "instances": 1},
    ]
    design = {
        "arch": {"arithmetic": {"name": names["unit"], **mesh}, "storage": levels},
        "problem": {
            "shape": {"name": "P", "dimensions": [dim, "K"], "data-spaces": tensors},
            "instance": {dim: 12, "K": 4},
        },
        "mapping": [
            {"target": "DRAM", "type": "temporal", "factors": f"{dim}=3 K=4"},
            {"target": names["level"], "type": "bypass", "bypass": ["A"]},
            {"target": names["level"], "type": "spatial", "factors": f"{dim}=4"},
        ],
    }
    spec = sm.load(design)
    assert isinstance(spec, sm.Spec)
    tree = sm.load(io.StringIO(sm.convert(spec, "looptree").text))
    assert sm.validate(tree).legal
    assert sm.evaluate(tree).latency == sm.evaluate(spec).cycles


def test_names_of_looptree_are_quoted_for_timeloop():
    text = (DATA / "looptree" / "mm_single_05" / "case.yaml").read_text(encoding="utf-8")
    renamed = re.sub(r"\bOffChip\b", '"null"', text)
    assert renamed != text
    converted = sm.convert(sm.load(io.StringIO(renamed)), "timeloop").text
    assert '- name: "null"' in converted
    again = sm.load(io.StringIO(converted))
    assert isinstance(again, sm.Spec)
    assert "null" in again.need_architecture().level_names


def test_indices_that_run_backwards_do_so_in_timeloops_problem():
    design = {
        "architecture": {
            "subtree": [
                {
                    "name": "chip",
                    "local": [
                        {"name": "DRAM", "class": "DRAM"},
                        {"name": "Buffer", "class": "SRAM", "attributes": {"entries": 64}},
                        {"name": "MAC", "class": "intmac"},
                    ],
                }
            ]
        },
        "problem": {
            "shape": {
                "name": "backwards",
                "dimensions": ["P", "R"],
                "coefficients": [{"name": "back", "default": -1}, {"name": "far", "default": -3}],
                "data-spaces": [
                    {"name": "I", "projection": [[["P"], ["R", "back"]]]},
                    {"name": "W", "projection": [[["R"]], [["P", "far"]]]},
                    {"name": "Z", "projection": [[["P"]]], "read-write": True},
                ],
            },
            "instance": {"P": 4, "R": 3},
        },
        "mapping": [
            {"target": "DRAM", "type": "temporal", "factors": "P=4 R=1"},
            {"target": "Buffer", "type": "temporal", "factors": "P=1 R=3"},
        ],
    }
    there = sm.convert(sm.load(design), "looptree").text
    back = sm.load(io.StringIO(sm.convert(sm.load(io.StringIO(there)), "timeloop").text))
    assert isinstance(back, sm.Spec)
    found = [
        [[term.coefficient for term in rank] for rank in tensor.ranks]
        for tensor in back.need_problem().tensors
    ]
    assert found == [[[1, -1]], [[1], [-3]], [[1]]]
