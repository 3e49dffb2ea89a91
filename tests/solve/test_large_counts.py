"""Answers where words are counted in hundreds of billions.

OR-Tools 9.15 takes optima for impossible there unless a parameter is set (`engine.AVOIDED`).
"""

from __future__ import annotations

import pytest
from ortools.sat.python import cp_model

import solver_mapper as sm
from solver_mapper.core.spec import Spec
from solver_mapper.solve.cpsat.engine import Settings


def banked(rows: int) -> Spec:
    """A product of `rows` x 4096 by 4096 x 1024 on 16 banks beside 16 units; all levels access
    blocks of 8 words.
    """

    def storage(name: str, kind: str, energy: float, **more: int) -> dict[str, object]:
        wide = {"width": 64, "block-size": 8, "word-bits": 8, "vector-access-energy": energy}
        return {"name": name, "class": kind, "attributes": {**wide, **more}}

    units = {"name": "MAC[0..15]", "class": "intmac", "attributes": {"datawidth": 8, "energy": 1}}
    lane = {"name": "lane", "local": [storage("Bank[0..15]", "regfile", 2, depth=8), units]}
    cache = storage("Cache", "SRAM", 16, depth=8192)
    chip = {"name": "chip", "local": [cache], "subtree": [lane]}
    memory = storage("DRAM", "DRAM", 512)
    system = {"name": "system", "local": [memory], "subtree": [chip]}
    ranks = {"A": "MC", "B": "NC", "Z": "MN"}
    shape = {
        "name": "product",
        "dimensions": list("MNC"),
        "data-spaces": [
            {"name": name, "projection": [[[dim]] for dim in dims], "read-write": name == "Z"}
            for name, dims in ranks.items()
        ],
    }
    found = sm.load(
        {"architecture": {"version": 0.3, "subtree": [system]}},
        {"problem": {"shape": shape, "instance": {"M": rows, "N": 1024, "C": 4096}}},
    )
    assert isinstance(found, Spec)
    return found


def same_optimum(spec: Spec, objective: str) -> None:
    found = sm.solve(spec, objective)
    other = sm.solve(spec, objective, engine="branch-and-bound")
    assert found.status == other.status == "optimal"
    assert found.value == other.value


def test_a_large_product_has_the_optimum_of_branch_and_bound() -> None:
    same_optimum(banked(2**17), "energy")


@pytest.mark.campaign
@pytest.mark.parametrize("exponent", range(11, 25))
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_products_of_any_size_have_the_optimum_of_branch_and_bound(
    exponent: int, objective: str
) -> None:
    same_optimum(banked(2**exponent), objective)


@pytest.mark.parametrize("exponent", [20, 36, 37, 44])
def test_the_solver_finds_the_least_of_alternatives(exponent: int) -> None:
    """One of five alternatives holds; each shares the words among more units. A mapping that sends
    half as many words by another way is better.
    """
    words, blocks = 2**exponent, 2 ** (exponent - 3)
    model = cp_model.CpModel()
    alternatives = [model.new_bool_var(f"alternative{n}") for n in range(5)]
    ways = [model.new_bool_var(f"way{n}") for n in range(3)]
    model.add_exactly_one(alternatives)
    model.add_exactly_one(ways)
    each, accesses, others = (
        model.new_int_var(0, blocks + 16, name) for name in ("each", "accesses", "others")
    )
    for number, literal in enumerate(alternatives):
        model.add(8 * 2**number * each >= words * ways[0]).only_enforce_if(literal)
        model.add(accesses >= 2**number * each).only_enforce_if(literal)
    model.add(8 * others >= words * ways[1] + words // 4 * ways[2])
    model.minimize(2 * accesses + 16 * others)
    solver = cp_model.CpSolver()
    for name, value in Settings().parameters().items():
        setattr(solver.parameters, name, value)
    assert solver.solve(model) == cp_model.OPTIMAL
    assert solver.objective_value == 2 * blocks
