"""Beside AccelForge itself, where it is installed: set ACCELFORGE_PYTHON to its interpreter and run
with `-m campaign`.

docs/reference/looptree.md lists what AccelForge does differently; the random input here keeps clear
of it, or allows for it by name.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.cost.looptree.mapping.einsum_path import shared_loops
from solver_mapper.cost.looptree.mapping.prepare import prepare
from solver_mapper.cost.looptree.occupancy import reservations
from tests.looptree.chain_enumeration import random_chain
from tests.looptree.enumeration import random_problem
from tests.looptree.random_trees import random_case
from tests.looptree.test_storage_position import CASES, text_of

PEER = Path(__file__).parents[2] / "benchmarks" / "accelforge_peer.py"
PYTHON = os.environ.get("ACCELFORGE_PYTHON")
REFUSED = ("No match found for any group", "there exists (potentially with other nodes in")
pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(PYTHON is None, reason="ACCELFORGE_PYTHON names no interpreter"),
]


def ask(folder: Path, cases: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """AccelForge's answers to (text, task)."""
    constraint = []
    for number, (text, task) in enumerate(cases):
        path = folder / f"{number}.yaml"
        path.write_text(text, encoding="utf-8")
        constraint.append([str(path), task])
    assert PYTHON is not None
    done = subprocess.run(
        [PYTHON, str(PEER)],
        input=json.dumps(constraint),
        cwd=folder,
        text=True,
        capture_output=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def load(text: str) -> sm.TreeSpec:
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return spec


def with_areas(text: str) -> str:
    """AccelForge wants an area of each component."""
    return re.sub(
        r"^(\s*)leak_power: (.*)$", r"\1leak_power: \2\n\1area: 0", text, flags=re.MULTILINE
    )


def hands_nothing_over(spec: sm.TreeSpec) -> bool:
    """Whether two Einsums neighbour below a shared loop without a tensor that passes between them
    there: then AccelForge forgets what is kept above the loop.
    """
    branches = prepare(
        spec.need_architecture(), spec.need_workload(), spec.need_mapping()
    ).need_sound()
    return any(
        shared_loops(one, other) > 0
        and not any(
            each.backing and each.loops > 0 and each.tensor in other.einsum.tensors
            for each in reservations(one)
        )
        for one, other in pairwise(branches)
    )


def test_random_trees_have_its_energy_latency_and_occupancy(tmp_path: Path):
    texts = [text for text in map(random_case, range(9000, 9200)) if sm.validate(load(text)).legal]
    answers = ask(tmp_path, [(text, "evaluate") for text in texts])
    counted = 0
    for text, answer in zip(texts, answers, strict=True):
        if "error" in answer:
            assert any(words in answer["error"] for words in REFUSED), answer["error"]
            continue
        statistics = sm.evaluate(load(text))
        assert answer["energy"] == pytest.approx(float(statistics.energy), rel=1e-6)
        assert answer["latency"] == pytest.approx(float(statistics.latency), rel=1e-6)
        peaks = {name: float(peak.fraction) for name, peak in statistics.occupancy.items()}
        theirs = {name: share for name, share in answer["occupancy"].items() if share}
        if hands_nothing_over(load(text)):
            assert all(share <= peaks[name] * (1 + 1e-6) for name, share in theirs.items())
        else:
            ours = {name: share for name, share in peaks.items() if share}
            assert theirs == pytest.approx(ours, rel=1e-6)
        counted += 1
    assert counted > 0.8 * len(texts)


@pytest.mark.parametrize("case", CASES)
def test_where_a_node_stands_makes_the_difference_that_it_makes_there(case: str, tmp_path: Path):
    nodes, peak, _ = CASES[case]
    (answer,) = ask(tmp_path, [(text_of(nodes), "evaluate")])
    assert answer["occupancy"]["OnChipBuffer"] * 100_000 == pytest.approx(peak, rel=1e-6)


def single(seed: int) -> tuple[str, str]:
    problem = random_problem(seed)
    problem.memories[0].keep = list(problem.tensors)
    for memory in problem.memories:
        memory.shape, memory.once = None, []
    for dim in problem.dims:
        dim.min_usage = Fraction(0)
    return with_areas(problem.text()), problem.objective


def chain(seed: int) -> tuple[str, str]:
    drawn = random_chain(seed)
    return (
        with_areas(
            drawn.text().replace("keep: Nothing, may_keep: All", "keep: ~Dram, may_keep: All")
        ),
        drawn.einsums[0].objective,
    )


@pytest.mark.parametrize("kind", [single, chain])
def test_optima_are_its_optima_or_better_by_its_own_account(kind: Any, tmp_path: Path):
    """Each of our optimal mappings has the same figures there, and what its mapper finds is no
    better.
    """
    cases = [kind(seed) for seed in range(700, 730)]
    solutions = [sm.solve(load(text), objective) for text, objective in cases]
    mapped = ask(tmp_path, cases)
    saved = [
        text + solution.mapping.to_yaml()
        for (text, _), solution in zip(cases, solutions, strict=True)
        if solution.mapping is not None
    ]
    statistics = iter(ask(tmp_path, [(text, "evaluate") for text in saved]))
    for solution, answer in zip(solutions, mapped, strict=True):
        if solution.value is None or solution.evaluation is None:
            assert "error" in answer
            continue
        again = next(statistics)
        assert again["energy"] == pytest.approx(float(solution.evaluation.energy), rel=1e-6)
        assert again["latency"] == pytest.approx(float(solution.evaluation.latency), rel=1e-6)
        assert "error" in answer or answer["value"] >= float(solution.value) * (1 - 1e-5)
    assert sum("value" in answer for answer in mapped) >= 25
