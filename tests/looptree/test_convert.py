"""Conversions keep every count where the accounts agree; the named rules explain the rest."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from random_trees import random_case

import solver_mapper as sm
from solver_mapper.looptree.convert import rules

FILES = sorted((Path(__file__).parents[1] / "data" / "timeloop").glob("*.yaml"))
PROBLEMS = {
    "matmul": ("M, K, N", {"A": "[[[M]], [[K]]]", "B": "[[[K]], [[N]]]", "Z": "[[[M]], [[N]]]"}, "Z"),
    "batched": ("B, M, K", {"A": "[[[B]], [[M]], [[K]]]", "W": "[[[B]], [[K]]]", "Z": "[[[B]], [[M]]]"}, "Z"),
    "window": ("C, P, R", {"I": "[[[C]], [[P], [R]]]", "F": "[[[C]], [[R]]]", "O": "[[[P]]]"}, "O"),
}


def timeloop_case(seed: int, kind: str | None = None) -> str:
    """A random Timeloop architecture, problem and mapping: perfect factors, no links, no blocks, one price for writing."""
    rng = Random(seed)
    dims, spaces, output = PROBLEMS[kind or rng.choice(["matmul", "batched"])]
    names = dims.split(", ")
    levels = ["DRAM", "GLB", "RF"][: rng.choice([2, 3])]
    fans = [rng.choice([1, 1, 2, 4]) for _ in levels]
    fans[0] = 1
    factors = {dim: [(rng.choice([1, 2, 3]), rng.choice([1, 2]) if fan > 1 else 1) for fan in fans] for dim in names}
    for index, fan in enumerate(fans):
        for dim in rng.sample(names, len(names)):
            used = 1
            for other in names:
                used *= factors[other][index][1]
            if used > fan:
                factors[dim][index] = factors[dim][index][0], 1
    total = _product(fans)
    lines = ["arch:", f"  arithmetic: {{name: MAC, word-bits: 8, instances: {total}, meshX: {total}}}", "  storage:"]
    for index in reversed(range(len(levels))):
        copies = _product(fans[:index])
        lines.append(f"  - {{name: {levels[index]}, word-bits: 8, instances: {copies}, meshX: {copies}}}")
    lines += ["ERT:", "  version: 0.4", "  tables:"]
    for name in levels:
        write = rng.randint(1, 90)
        costs = {"read": rng.randint(1, 90), "write": write, "update": write}
        lines += [f"  - name: {name}", "    actions:", *(f"    - {{name: {action}, arguments: {{}}, energy: {cost}}}"
                                                        for action, cost in costs.items())]
    lines += ["  - name: MAC", "    actions: [{name: compute, arguments: {}, energy: 2}]"]
    lines += ["problem:", f"  shape:\n    name: E\n    dimensions: [{dims}]\n    data-spaces:"]
    for name, projection in spaces.items():
        lines.append(f"    - {{name: {name}, projection: {projection}{', read-write: true' if name == output else ''}}}")
    lines.append("  instance: {" + ", ".join(f"{dim}: {_product([a * b for a, b in factors[dim]])}" for dim in names) + "}")
    lines.append("mapping:")
    for index, name in enumerate(levels):
        order = "".join(rng.sample(names, len(names)))
        temporal = " ".join(f"{dim}={factors[dim][index][0]}" for dim in names)
        lines.append(f"- {{target: {name}, type: temporal, factors: {temporal}, permutation: {order}}}")
        if fans[index] > 1:
            spatial = " ".join(f"{dim}={factors[dim][index][1]}" for dim in names)
            lines.append(f"- {{target: {name}, type: spatial, factors: {spatial}, permutation: {order}, "
                         f"no_link_transfer: [{', '.join(spaces)}]}}")
        kept = list(spaces) if index == 0 else [space for space in spaces if rng.random() < 0.7]
        gone = [space for space in spaces if space not in kept]
        lines.append(f"- {{target: {name}, type: bypass, keep: [{', '.join(kept)}], bypass: [{', '.join(gone)}]}}")
    return "\n".join(lines) + "\n"


def _product(numbers: list[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total


def both(text: str) -> tuple[sm.Figures, sm.TreeFigures, sm.TreeSpec, sm.Spec]:
    level_by_level = sm.load(io.StringIO(text))
    assert isinstance(level_by_level, sm.Spec)
    tree = sm.load(io.StringIO(sm.convert(level_by_level, "looptree").text))
    assert isinstance(tree, sm.TreeSpec)
    return sm.evaluate(level_by_level), sm.evaluate(tree), tree, level_by_level


@pytest.mark.parametrize("block", range(4))
def test_reads_writes_and_energy_are_timeloops_plus_the_named_write_backs(block: int):
    """Words and energy agree exactly; what a LoopTree adds is one read of the inner memory for each word returned."""
    for seed in range(50 * block, 50 * block + 50):
        timeloop, looptree, _, spec = both(timeloop_case(seed))
        energy = timeloop.energy_pj - sum((network.energy_pj for network in timeloop.networks.values()), Fraction(0))
        for level in spec.need_architecture().levels:
            figures = timeloop.levels[level.name]
            for name, tensor in figures.tensors.items():
                holders = [each for each in spec.need_mapping().levels if name in each.keep]
                outermost = holders[0].level == level.name
                written = spec.need_problem().tensor(name).read_write
                returned = 0 if outermost or not written else (tensor.fills + tensor.partition) * tensor.instances
                reads = looptree.action(level.name, name, "read")
                writes = looptree.action(level.name, name, "write")
                assert reads == tensor.reads * tensor.instances + returned, (seed, level.name, name)
                assert writes == (tensor.fills + tensor.updates) * tensor.instances, (seed, level.name, name)
                energy += returned * level.energy.read
        assert looptree.energy * 10**12 == energy, seed
        assert looptree.latency == timeloop.cycles


def test_sliding_windows_differ_by_the_halo_only():
    """Where windows slide, a LoopTree fetches at least as much of the tensor that slides, and the same of all others."""
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_timeloop_file_converts_to_a_legal_looptree_with_as_many_operations(path: Path):
    spec = sm.load(path)
    conversion = sm.convert(spec, "looptree")
    tree = sm.load(io.StringIO(conversion.text))
    assert isinstance(tree, sm.TreeSpec) and isinstance(spec, sm.Spec)
    assert sm.validate(tree).legal
    (einsum,) = sm.evaluate(tree).einsums
    compute = next(row for row in einsum.actions if row.action == "compute")
    assert compute.actions == sm.evaluate(spec).macs
    assert rules.WRITE_BACK in conversion.notes


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
                assert (other.reads, other.fills, other.updates) == (tensor.reads, tensor.fills, tensor.updates), seed
        assert (mine.cycles, mine.macs) == (theirs.cycles, theirs.macs)
        once_more = sm.load(io.StringIO(sm.convert(again, "looptree").text))
        assert isinstance(once_more, sm.TreeSpec)
        assert sm.evaluate(once_more).energy == looptree.energy


def test_trees_either_convert_with_every_count_or_name_the_node_that_cannot():
    """Random trees: what converts and comes back costs the same; what does not is refused with the line of a node."""
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
        mine = {(row.component, row.subject, row.action): row.values for row in sm.evaluate(spec).einsums[0].actions}
        for row in sm.evaluate(back).einsums[0].actions:
            assert mine.get((row.component, row.subject, row.action), 0) == row.values, (seed, row)
    assert converted >= 5 and refused >= 100


@pytest.mark.parametrize(("name", "words"), [("chain2_tiled1_22", "has no forks"), ("mm_single_05", None)])
def test_refusals_name_the_node(name: str, words: str | None):
    spec = sm.load(Path(__file__).parents[1] / "data" / "looptree" / name / "case.yaml")
    try:
        sm.convert(spec, "timeloop")
    except sm.InputError as error:
        assert error.line is not None and (words is None or words in error.message)
    else:
        assert words is None
