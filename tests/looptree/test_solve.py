"""Solving: optima equal those of full enumeration, recorded figures are met, and rules of the user
hold.
"""

from __future__ import annotations

import io
import json
from fractions import Fraction
from functools import cache
from itertools import count, islice
from pathlib import Path

import pytest

import solver_mapper as sm
from tests.campaigns import in_campaigns
from tests.looptree.chain_enumeration import ChainEnumeration, random_chain
from tests.looptree.enumeration import Enumeration, Problem, random_problem

SIMPLE = """
arch:
  nodes:
  - !Memory
    name: MainMemory
    size: inf
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 100, throughput: inf}
    - {name: write, energy: 100, throughput: inf}
  - !Memory
    name: GlobalBuffer
    size: SIZE
    leak_power: 0
    tensors: {keep: ~MainMemory, may_keep: All}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Compute
    name: MAC
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""


def solve(text: str, objective: str) -> sm.TreeSolution:
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return sm.solve(spec, objective)


def matmuls(*sizes: int) -> str:
    """A chain of matrix products, M x N0 x N1 x ..."""
    lines = [
        "workload:",
        (
            f"  rank_sizes: {{M: {sizes[0]},"
            f" {', '.join(f'N{i}: {size}' for i, size in enumerate(sizes[1:]))}}}"
        ),
        "  bits_per_value: {All: 8}",
        "  einsums:",
    ]
    lines += [
        f"  - T{i + 1}[m, n{i + 1}] = T{i}[m, n{i}] * W{i}[n{i}, n{i + 1}]"
        for i in range(len(sizes) - 2)
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("size", "shape", "energy"),
    [
        (65536, (64, 64, 64), 18546688),
        (4096, (96, 60, 36), 25896960),
        (1024, (30, 42, 50), 13459800),
        (8192, (127, 16, 64), 14905088),
        (65536, (96, 60, 36), 16007040),
        (65536, (30, 42, 50), 5993880),
        (65536, (127, 16, 64), 13263232),
        (65536, (64, 64, 64, 64), 30474240),
        (65536, (128, 128, 128, 128, 128), 392560640),
    ],
)
def test_matmuls_and_chains_on_two_memories_cost_what_accelforge_finds(
    size: int, shape: tuple[int, ...], energy: int
):
    """Energies recorded from AccelForge 1.0.467's mapper for its `simple` architecture, with
    buffers of these sizes in bits.
    """
    solution = solve(SIMPLE.replace("SIZE", str(size)) + matmuls(*shape), "energy")
    assert solution.status == "optimal" and solution.value == energy


@cache
def small_problems(limit: int) -> list[tuple[int, Problem]]:
    drawn = ((seed, random_problem(seed)) for seed in count())
    return list(
        islice(
            ((seed, problem) for seed, problem in drawn if Enumeration(problem).size() <= limit), 60
        )
    )


@pytest.mark.parametrize("block", [*range(3), *in_campaigns(range(3, 6))])
def test_random_einsums_have_the_optimum_of_full_enumeration(block: int):
    for seed, problem in small_problems(2500)[10 * block : 10 * block + 10]:
        wanted = Enumeration(problem).best()
        solution = solve(problem.text(), problem.objective)
        assert (solution.value, solution.status) == (
            wanted,
            "infeasible" if wanted is None else "optimal",
        ), seed


@pytest.mark.parametrize("first", [0, *in_campaigns(range(3, 15, 3))])
def test_random_chains_have_the_optimum_of_full_enumeration(first: int):
    for seed in range(first, first + 3):
        chain = random_chain(seed)
        solution = solve(chain.text(), chain.einsums[0].objective)
        assert (solution.value, solution.status) == (
            ChainEnumeration(chain).best(),
            "optimal",
        ), seed


CHAINS = Path(__file__).parents[1] / "data" / "looptree_chains"
OPTIMA = json.loads((CHAINS / "optima.json").read_text(encoding="utf-8"))


LONG = ("chain3_01", "chain3_08", "chain3_16", "chain4_09", "chain4_24")
"""Chains of which another one of as many Einsums has the same objective."""


@pytest.mark.parametrize("name", [*sorted({*OPTIMA} - {*LONG}), *in_campaigns(LONG)])
def test_longer_chains_and_windows_have_the_optimum_that_accelforge_finds(name: str):
    spec = sm.load(CHAINS / f"{name}.yaml")
    assert isinstance(spec, sm.TreeSpec)
    solution = sm.solve(spec, OPTIMA[name]["objective"])
    assert solution.status == "optimal" and solution.value == pytest.approx(
        OPTIMA[name]["value"], rel=1e-6
    )


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(40))
def test_campaign_of_enumerations(block: int):
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        problem = random_problem(seed)
        assert solve(problem.text(), problem.objective).value == Enumeration(problem).best(), seed


def test_the_solution_can_be_saved_read_evaluated_and_validated():
    text = SIMPLE.replace("SIZE", "4096") + matmuls(16, 8, 8, 8)
    solution = solve(text, "edp")
    assert solution.mapping is not None and solution.evaluation is not None
    again = sm.load(io.StringIO(text + solution.mapping.to_yaml()))
    assert sm.validate(again).legal
    assert (
        sm.evaluate(again).to_dict()
        == solution.evaluation.to_dict()
        == solution.to_dict()["evaluation"]
    )
    assert solution.evaluation.edp == solution.value


def test_an_impossible_rule_is_proven_impossible():
    text = SIMPLE.replace("SIZE", "8").replace("keep: ~MainMemory", "keep: All") + matmuls(4, 4, 4)
    solution = solve(text, "energy")
    assert (
        solution.status == "infeasible"
        and solution.mapping is None
        and "no mapping satisfies" in str(solution)
    )


def test_tensors_that_nobody_brings_in_are_noted():
    text = SIMPLE.replace("SIZE", "100000").replace(
        "keep: ~Intermediates, may_keep: All", "may_keep: All"
    ) + matmuls(4, 4, 4)
    solution = solve(text, "energy")
    assert any("T0" in note and "from the start" in note for note in solution.notes)
    assert solution.value is not None and solution.value < Fraction(10**4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("energy: 1, throughput: 1}", "energy: -1, throughput: 1}"), "at least 0"),
        (
            ("size: inf", "size: 767"),
            "must have room for the tensors of all Einsums, 768 bits, to map several Einsums; write"
            " 'size: 768' or 'size: inf'",
        ),
    ],
)
def test_what_the_proof_does_not_cover_is_refused_with_its_line(
    change: tuple[str, str], words: str
):
    with pytest.raises(sm.InputError, match=words) as caught:
        solve(SIMPLE.replace("SIZE", "4096").replace(*change) + matmuls(4, 4, 4, 4), "energy")
    assert caught.value.line is not None


@pytest.mark.parametrize("objective", ["energy", "delay"])
def test_an_outermost_memory_with_room_for_everything_changes_nothing(objective: str):
    text = SIMPLE.replace("SIZE", "512") + matmuls(4, 4, 4, 4)
    limited, unlimited = (solve(each, objective) for each in (text.replace("inf", "768", 1), text))
    assert limited.status == unlimited.status == "optimal"
    assert (limited.value, limited.mapping) == (unlimited.value, unlimited.mapping)


def test_goals_that_mean_nothing_here_are_refused():
    with pytest.raises(sm.InputError, match="last-level-accesses"):
        solve(SIMPLE.replace("SIZE", "4096") + matmuls(4, 4, 4), "last-level-accesses")
