"""Chains of two Einsums on memories of several copies: the search finds the least energy or latency
of all trees, listed here one by one and evaluated exactly.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from fractions import Fraction
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.cost.looptree import Temporal
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Nested,
    Sequential,
    Spatial,
    Storage,
    TreeMapping,
)
from tests.campaigns import in_campaigns

TEXT = """\
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    tensors: {{keep: ~Intermediates, may_keep: All}}
    actions:
    - {{name: read, energy: {far}, throughput: {rate}}}
    - {{name: write, energy: {far}, throughput: {rate}}}
  - !Memory
    name: Buffer
    size: {size}
    leak_power: 0
    tensors: {{keep: ~Main, may_keep: All}}
    spatial: [{{name: X, fanout: 2, may_reuse: {reuse}}}]
    actions:
    - {{name: read, energy: {near}, throughput: inf}}
    - {{name: write, energy: 1, throughput: inf}}
  - !Compute
    name: Mac
    leak_power: 0
    actions: [{{name: compute, energy: 1, throughput: 1}}]
workload:
  iteration_space_shape: {{m: 0 <= m < 2, a: 0 <= a < {a}}}
  bits_per_value: {{All: 1}}
  einsums:
  - name: First
    tensor_accesses:
    - {{name: A, projection: [{first}]}}
    - {{name: B, projection: [m, a], output: True}}
  - name: Second
    tensor_accesses:
    - {{name: B, projection: [m, a]}}
    - {{name: C, projection: [{last}], output: True}}
"""
Step = tuple[str, str]
"""("for" or "par", rank variable), or ("hold", tensor). All loops take a rank in one go: sizes are
primes.
"""
EINSUMS = {"First": ("A", "B"), "Second": ("B", "C")}


def problem(seed: int) -> tuple[sm.TreeSpec, str]:
    rng = Random(seed)
    text = TEXT.format(
        far=rng.choice([2, 5, 20]),
        near=rng.choice([0, 1, 2]),
        rate=rng.choice(["inf", 1, 3]),
        size=rng.choice([1, 2, 3, 4, 6]),
        reuse=rng.choice(["All", "Nothing", "A", "B | C"]),
        a=rng.choice([2, 2, 3]),
        first=rng.choice(["m, a", "a", "m"]),
        last=rng.choice(["m, a", "m"]),
    )
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return spec, rng.choice(["energy", "energy", "latency"])


def steps(loops: tuple[Step, ...], held: tuple[str, ...]) -> Iterator[tuple[Step, ...]]:
    """Loops and nodes on chip in every order; a loop in space stands above all nodes on chip."""
    for order in itertools.permutations([*loops, *(("hold", tensor) for tensor in held)]):
        space = [place for place, (kind, _) in enumerate(order) if kind == "par"]
        first = next((place for place, (kind, _) in enumerate(order) if kind == "hold"), len(order))
        if not space or space[-1] < first:
            yield order


def loops_over(variables: tuple[str, ...]) -> Iterator[tuple[Step, ...]]:
    """Each variable in time, or one of them in space."""
    for spread in (None, *variables):
        yield tuple(("par" if name == spread else "for", name) for name in variables)


def subsets(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for count in range(len(names) + 1):
        yield from itertools.combinations(names, count)


def nodes(order: tuple[Step, ...]) -> list[object]:
    made: list[object] = []
    for kind, name in order:
        if kind == "hold":
            made.append(Storage((name,), "Buffer"))
        elif kind == "for":
            made.append(Temporal(name, 1))
        else:
            made.append(Spatial(name, 1, component="Buffer", name="X"))
    return made


def tree(above: tuple[Step, ...], branches: list[tuple[Step, ...]], far: str) -> TreeMapping:
    """A tree whose tensors `far` stand in Main."""
    ends = [
        Nested((*nodes(order), Compute(einsum, "Mac")))
        for einsum, order in zip(EINSUMS, branches, strict=True)
    ]
    top = [Storage((tensor,), "Main") for tensor in far]
    return TreeMapping((*top, *nodes(above), Sequential(tuple(ends))))


PLAIN: tuple[Step, ...] = (("for", "m"), ("for", "a"))


def apart() -> Iterator[list[TreeMapping]]:
    """For each Einsum, every way to run it with B in Main while the other has no node on chip: what
    the two cost adds up.
    """
    first, second = (list(below(("m", "a"), tensors)) for tensors in EINSUMS.values())
    yield [tree((), [order, PLAIN], "ABC") for order in first]
    yield [tree((), [PLAIN, order], "ABC") for order in second]


def fused() -> Iterator[TreeMapping]:
    """Every tree in which B is handed over on chip below loops that both Einsums share."""
    for shared in subsets(("m", "a")):
        rest = tuple(name for name in ("m", "a") if name not in shared)
        for loops in loops_over(shared):
            for early in subsets(("A", "C")):
                for order in steps(loops, early):
                    later = [
                        list(below(rest, tensors, spread=False))
                        for tensors in (
                            () if "A" in early else ("A",),
                            () if "C" in early else ("C",),
                        )
                    ]
                    for pair in itertools.product(*later):
                        yield tree((*order, ("hold", "B")), list(pair), "AC")


def below(
    variables: tuple[str, ...], tensors: tuple[str, ...], spread: bool = True
) -> Iterator[tuple[Step, ...]]:
    choices = loops_over(variables) if spread else [tuple(("for", name) for name in variables)]
    for loops in choices:
        for held in subsets(tensors):
            yield from steps(loops, held)


def value(spec: sm.TreeSpec, goal: str, mapping: TreeMapping) -> Fraction | None:
    """None for a tree that is not legal."""
    if not sm.validate(spec, mapping).legal:
        return None
    statistics = sm.evaluate(spec, mapping)
    return statistics.energy if goal == "energy" else statistics.latency


def least(spec: sm.TreeSpec, goal: str) -> tuple[Fraction, int]:
    """The least value of all legal trees, and how many fused ones there are."""
    base = value(spec, goal, tree((), [PLAIN, PLAIN], "ABC"))
    assert base is not None
    best = -base
    for each in apart():
        best += min(found for tree in each if (found := value(spec, goal, tree)) is not None)
    legal = [found for each in fused() if (found := value(spec, goal, each)) is not None]
    return min([best, *legal]), len(legal)


def check(seed: int) -> None:
    spec, goal = problem(seed)
    best, legal = least(spec, goal)
    assert sm.solve(spec, goal).value == best
    assert legal > 0


# 142: of several copies, only one is in use
@pytest.mark.parametrize("seed", [0, 1, 142, *in_campaigns([2, 3])])
def test_no_tree_on_several_copies_is_better(seed: int) -> None:
    check(seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(4, 204))
def test_no_tree_of_many_on_several_copies_is_better(seed: int) -> None:
    check(seed)
