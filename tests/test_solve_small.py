"""`solve` on problems small enough to see through."""

from __future__ import annotations

import pytest

import solver_mapper as sm

GEMM = {
    "problem": {
        "shape": {
            "name": "gemm",
            "dimensions": ["M", "K", "N"],
            "data-spaces": [
                {"name": "A", "projection": [[["M"]], [["K"]]]},
                {"name": "B", "projection": [[["K"]], [["N"]]]},
                {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
            ],
        },
        "instance": {"M": 4, "K": 6, "N": 8},
    }
}
DRAM = {"name": "DRAM", "technology": "DRAM", "instances": 1}
ARCH = {
    "arch": {
        "arithmetic": {"name": "MAC", "instances": 4, "meshX": 2},
        "storage": [{"name": "RF", "entries": 8, "instances": 4, "meshX": 2}, DRAM],
    }
}


@pytest.mark.parametrize(
    "objective", ["energy", "delay", "edp", "last-level-accesses", "delay,energy", "energy^2*delay"]
)
def test_answer_is_proven_legal_and_equal_to_its_evaluation(objective):
    """Every answer is a proven optimum whose bound is its value, and whose mapping is legal and
    evaluates to its figures.
    """
    spec = sm.load(GEMM, ARCH)
    solution = sm.solve(spec, objective)
    assert solution.status == "optimal"
    assert solution.gap == 0.0
    assert sm.validate(spec, solution.mapping).legal
    assert sm.evaluate(spec, solution.mapping) == solution.evaluation


def test_same_seed_same_mapping():
    """Equal input and seed give the same mapping, byte for byte, and the same certificate."""
    first, second = (sm.solve(sm.load(GEMM, ARCH), "edp") for _ in range(2))
    assert first.mapping.to_yaml() == second.mapping.to_yaml()
    assert first.certificate == second.certificate


def test_no_mapping_is_proven():
    """A register file of two words cannot hold three operands, and must by its constraints."""
    constraints = {
        "architecture_constraints": [{"target": "RF", "type": "bypass", "keep": ["A", "B", "Z"]}]
    }
    small = {
        "arch": {
            "arithmetic": {"name": "MAC", "instances": 1},
            "storage": [{"name": "RF", "entries": 2, "instances": 1}, DRAM],
        }
    }
    solution = sm.solve(sm.load(GEMM, small, constraints), "energy")
    assert solution.status == "infeasible"
    assert solution.mapping is None
