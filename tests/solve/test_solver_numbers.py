"""Answers for sizes, energies and indices of any magnitude and form, with their bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import parse_objective, rounded_down
from solver_mapper.core.problem import Tensor, Term
from solver_mapper.solve.cpsat.goal_model import SHARP, least_of
from solver_mapper.solve.outward.costs import NOISE
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.session import open_session
from tests.solve.test_solver_against_enumeration import disagreements


def gemm(m: int, n: int, k: int) -> dict:
    spaces = [
        {"name": "A", "projection": [[["M"]], [["K"]]]},
        {"name": "B", "projection": [[["K"]], [["N"]]]},
        {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
    ]
    shape = {"name": "gemm", "dimensions": ["M", "N", "K"], "data-spaces": spaces}
    return {"problem": {"shape": shape, "instance": {"M": m, "N": n, "K": k}}}


def machine(
    energy: float = 2.0, entries: int = 16, mesh: tuple[int, int] = (1, 1), **attributes: object
) -> dict:
    x, y = mesh
    storage = [
        {
            "name": "Buf",
            "entries": entries,
            "instances": 1,
            "vector-access-energy": energy,
            **attributes,
        },
        {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 50 * energy},
    ]
    units = {
        "name": "MAC",
        "vector-access-energy": energy / 2,
        "instances": x * y,
        "meshX": x,
        "meshY": y,
    }
    return {"arch": {"arithmetic": units, "storage": storage}}


def indexed(*rank: tuple[str, int]) -> dict:
    """A tensor with one rank that adds up these terms, and another that is written."""
    names = sorted({f"c{abs(c)}" + "n" * (c < 0): c for _, c in rank}.items())
    key = {value: name for name, value in names}
    spaces = [
        {"name": "A", "projection": [[[dim, key[c]] for dim, c in rank]]},
        {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
    ]
    shape = {
        "name": "p",
        "dimensions": ["M", "K", "N"],
        "data-spaces": spaces,
        "coefficients": [{"name": name, "default": value} for name, value in names],
    }
    return {"problem": {"shape": shape, "instance": {"M": 4, "K": 3, "N": 2}}}


@pytest.mark.parametrize("mesh", [(1, 1), (2, 2)])
@pytest.mark.parametrize("rank", [
    pytest.param([("M", 1), ("M", 1), ("K", 1)], id="M+M+K"),
    pytest.param([("M", 3), ("M", -2), ("K", 1)], id="3M-2M+K"),
    pytest.param([("M", 1), ("M", -1), ("K", 1)], id="M-M+K"),
])  # fmt: skip
def test_a_dimension_that_stands_twice_in_a_rank(rank, mesh):
    assert not disagreements(sm.load(indexed(*rank), machine(mesh=mesh, entries=9)))


def test_terms_of_one_dimension_are_added_up():
    tensor = Tensor("A", ((Term("M"), Term("K"), Term("M", 2)), (Term("M", 2), Term("M", -2))))
    assert tensor.ranks == ((Term("M", 3), Term("K")), ())
    assert tensor.dims == {"M", "K"}


@pytest.mark.parametrize("energy", [1e-12, 0.0, 1e12])
def test_energies_of_any_magnitude(energy):
    spec = sm.load(gemm(4, 6, 2), machine(energy))
    assert not disagreements(spec, ("energy", "edp"))


def test_energies_of_many_digits_are_proven_within_the_gap():
    spec = sm.load(gemm(4, 6, 2), machine(0.1234567890123456))
    assert not [wrong for wrong in disagreements(spec, ("energy", "edp")) if "value" not in wrong]
    assert sm.solve(spec, "energy").gap <= 1e-6


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2**31 - 1, 1, 1), (2**31 - 1, 64, 2)])
@pytest.mark.parametrize("objective", ["energy", "edp", "delay"])
def test_dimensions_of_any_size(sizes, objective):
    solution = sm.solve(sm.load(gemm(*sizes), machine(entries=2**62)), objective)
    assert solution.status == "optimal"
    assert solution.gap <= 1e-6


@pytest.mark.parametrize("bandwidth", [1e-9, 1e9])
def test_bandwidths_of_any_size(bandwidth):
    spec = sm.load(gemm(4, 6, 2), machine(read_bandwidth=bandwidth, write_bandwidth=bandwidth))
    assert not disagreements(spec, ("delay", "edp"))


@pytest.mark.parametrize("objective", [31621693496, 2**47 + 1, 2**51 + 1, 2**60])
def test_roundings_inside_the_solver_raise_no_bound(objective):
    """CP-SAT scales and shifts its objective in doubles: 31621693496 came back as
    31621693496.000004.
    """
    shown = float(objective)
    for _ in range(3):
        shown = math.nextafter(shown, math.inf)
    assert least_of(shown) <= objective
    assert objective >= SHARP or least_of(shown) == objective


def test_the_last_block_of_a_window_is_paid_in_full():
    """39 words in blocks of 8 are five accesses, of which the model counts less."""
    spaces = [
        {"name": "I", "projection": [[["P"], ["R"]], [["C"]]]},
        {"name": "O", "projection": [[["P"]]], "read-write": True},
    ]
    shape = {"name": "c", "dimensions": ["P", "R", "C"], "data-spaces": spaces}
    problem = {"problem": {"shape": shape, "instance": {"P": 12, "R": 2, "C": 3}}}
    arch = machine(entries=60)
    arch["arch"]["storage"][1] |= {"block-size": 8, "word-bits": 8}
    assert not disagreements(sm.load(problem, arch), ("energy", "edp"))


def small_convolution(sizes: dict[str, int], entries: int) -> sm.Spec:
    """A convolution of one dimension on three levels, of which the innermost holds 3 words."""
    spaces = [
        {"name": "W", "projection": [[["C"]], [["M"]], [["R"]]]},
        {"name": "I", "projection": [[["C"]], [["P"], ["R"]]]},
        {"name": "O", "projection": [[["M"]], [["P"]]], "read-write": True},
    ]
    shape = {"name": "c", "dimensions": ["C", "M", "P", "R"], "data-spaces": spaces}
    arch = machine(entries=entries)
    registers = {"name": "Reg", "entries": 3, "instances": 1, "vector-access-energy": 1.0}
    arch["arch"]["storage"].insert(0, registers)
    return sm.load({"problem": {"shape": shape, "instance": sizes}}, arch)


@pytest.mark.parametrize(
    ("sizes", "entries"),
    [({"C": 4, "M": 4, "P": 6, "R": 3}, 16), ({"C": 4, "M": 4, "P": 12, "R": 2}, 64)],
)
@pytest.mark.parametrize("goal", ["energy", "edp"])
def test_windows_that_may_slide_on_or_return_are_not_ruled_out_one_by_one(sizes, entries, goal):
    """Where R and P slide a window on, or bring it back, loops over C stand outside both, so that
    partial sums are moved for each: the model spares them, and walks know better.
    """
    solution = sm.solve(small_convolution(sizes, entries), goal)
    assert (solution.status, solution.gap) == ("optimal", 0.0)
    assert solution.certificate.proofs[0]["excluded"] < 4


def test_strides_beyond_64_bits_are_refused():
    problem = indexed(("M", 2 * 10**30), ("K", 1))
    with pytest.raises(sm.InputError, match=r"'A' spans 6e\+30 words; a search takes at most"):
        sm.solve(sm.load(problem, machine()), "energy")


@pytest.mark.parametrize("block", [64, 10**30])
def test_blocks_larger_than_any_tile(block):
    """A block that holds more than there is, even more than 64 bits can count, is one access."""
    spec = sm.load(gemm(2, 3, 4), machine(entries=60, **{"block-size": block, "word-bits": 8}))
    assert not disagreements(spec, ("energy", "edp"))


@pytest.mark.parametrize("gap", [0.5, 0.01])
def test_a_product_is_optimal_within_the_gap(gap):
    spec = sm.load(gemm(64, 96, 40), machine(entries=512, mesh=(4, 2)))
    rough, best = sm.solve(spec, "edp", gap=gap), sm.solve(spec, "edp", gap=0)
    assert rough.status == best.status == "optimal"
    assert rough.gap <= gap
    assert best.gap == 0
    assert rough.bound_rank <= best.rank <= rough.rank


def test_bounds_are_rounded_down():
    goal = parse_objective("energy").goals[0]
    third = Fraction(1, 3)
    assert Fraction(goal.shown_below(third)) <= third
    assert rounded_down(1.2345678, 3) == 1.23
    assert rounded_down(-1.2345678, 3) == -1.24
    rooted = parse_objective("energy^0.5*delay^0.5").goals[0]
    assert Fraction(rooted.shown_below(Fraction(10**20 + 1))) ** 2 <= 10**20 + 1


def test_more_operations_than_can_be_counted_are_refused_where_the_problem_stands() -> None:
    """2^61 operations overflow the solver's integers: `solve` and `explain` say so, and say what
    still works; 2^60 are solved.
    """
    spec = sm.load(gemm(2**31 - 1, 2**30, 2), machine(entries=64))
    for ask in (sm.solve, sm.explain, sm.pareto):
        with pytest.raises(sm.InputError, match=r"4.61e\+18 operations; a search takes at most"):
            ask(spec)
    assert sm.solve(sm.load(gemm(2**30, 2**29, 2), machine(entries=64)), "energy").status == (
        "optimal"
    )


def test_branch_and_bound_takes_long_dimensions() -> None:
    """The divisors of a dimension are found from its primes, not by trying all numbers."""
    spec = sm.load(gemm(2**30, 1, 2), machine(entries=64))
    answers = [sm.solve(spec, "energy", engine=each) for each in ("cpsat", "branch-and-bound")]
    assert answers[0].value == answers[1].value


def test_a_cut_of_a_product_below_a_poor_incumbent_stays_within_the_solvers_integers():
    """Energies of many digits, and an incumbent so far from the optimum that nearly all cycles
    leave the energy free.
    """
    result = sm.sweep(
        {
            "sweep": {
                "architecture": "eyeriss",
                "workloads": ["resnet50/layer1.x.conv2_3x3"],
                "objective": "edp",
                "parameters": {
                    "shared_glb.entries": [32768],
                    "array": {"set": ["column.count", "PE.count", "*.meshX"], "values": [16]},
                },
                "energies": {"shared_glb.*": "6 * sqrt(entries / 65536)"},
            }
        }
    )
    assert result.to_dict()["status"] == "complete"


@pytest.mark.parametrize(("price", "certain"), [("20", True), ("20.00000000000001", False)])
def test_walks_prove_the_last_digit_only_where_doubles_tell_energies_apart(price, certain):
    """Two energies may differ by 1e-14 pJ if prices have so many digits."""
    arch = machine(entries=60)
    arch["arch"]["storage"][0]["vector-access-energy"] = price
    session = open_session(sm.load(gemm(4, 4, 4), arch))
    search, goal = session.search(0.0), parse_objective("edp").goals[0]
    mapping = sm.solve(sm.load(gemm(4, 4, 4), arch), "edp").mapping
    assert mapping is not None
    search.start_from(mapping)
    gap = search._gap_of(goal)
    goal_search, rank = search._search_for(gap, tie=False), gap.rank
    assert rank is not None
    goal_search.take([Ends((), float(rank) * (1 + NOISE))])
    assert gap.bound is not None and (gap.bound == rank) == certain
    goal_search.take([Ends((), rank)])
    assert gap.bound == rank
