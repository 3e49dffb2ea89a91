"""The lower bound that asks no solver: never above what enumeration finds, and as high as it can be
where that is known.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

import solver_mapper as sm
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem, Tensor, Term
from solver_mapper.io import bundled
from solver_mapper.verify import bound as bounds
from solver_mapper.verify import boundary as boundaries
from solver_mapper.verify.bound import LowerBound
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from solver_mapper.verify.views import sparings, view
from tests.campaigns import in_campaigns
from tests.instances import Instance, in_odd_clusters, instance
from tests.strategies import tensor

OBJECTIVES = [
    parse_objective(text)
    for text in ("energy", "delay", "last-level-accesses", "edp", "energy^2*delay")
]
GEMM = (tensor("A", "M", "K"), tensor("B", "K", "N"), tensor("Z", "M", "N", read_write=True))


def too_high(made: Instance) -> list[str]:
    """Bounds above the best of all mappings, or none where there are mappings."""
    floor = LowerBound(made.mapspace)
    wrong = []
    for objective, best in zip(OBJECTIVES, Exhaustive(made.mapspace).best(OBJECTIVES), strict=True):
        goal = objective.goals[0]
        for bound in (floor.goal(goal), floor.goal_at_once(goal)):
            if best is not None and (bound is None or bound > goal.rank(best[1])):
                wrong.append(
                    f"{goal.name}: {bound and float(bound)} above {float(goal.rank(best[1]))} of"
                    f" {best[0]} in {made}"
                )
    return wrong


@pytest.mark.parametrize("seed", [*range(50), *in_campaigns(range(50, 120))])
def test_never_above_the_best_mapping(seed):
    """Problems of all shapes, with windows, constraints, flags, blocks, clusters, bandwidths, wires
    and leakage.
    """
    assert not too_high(instance(seed, 150))


@pytest.mark.parametrize("seed", [*range(30), *in_campaigns(range(30, 120))])
def test_never_above_the_best_mapping_where_clusters_are_not_whole(seed):
    assert not too_high(in_odd_clusters(instance(seed, 150)))


@pytest.mark.parametrize("seed", range(120, 160))
def test_never_above_the_best_mapping_where_spatial_factors_are_left_out(seed, monkeypatch):
    monkeypatch.setattr(boundaries, "MOST_POINTS", 60)
    try:
        assert not too_high(instance(seed, 150))
    except ValueError as error:  # even that was too much for so small a limit
        assert "too many ways" in str(error)


def test_there_is_a_bound_even_where_there_are_too_many_choices_to_look_at(monkeypatch):
    monkeypatch.setattr(bounds, "MOST_HOLDERS", 0)
    spec = sm.load("eyeriss", "resnet50/fc")
    mapspace = EnumeratedMapspace(spec.architecture, spec.problem, spec.constraints)
    with pytest.raises(ValueError, match="ways to choose"):
        LowerBound(mapspace).metric("energy")
    at_once = LowerBound(mapspace).goal_at_once(OBJECTIVES[3].goals[0])
    assert at_once is not None
    assert 0 < at_once < sm.solve(spec, "edp").rank
    assert sm.solve(spec, "edp", time_limit=0).bound_rank == at_once


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 5000, 50))
def test_never_above_the_best_of_many(first):
    """The same for thousands of mapspaces."""
    assert not [
        wrong for seed in range(first, first + 50) for wrong in too_high(instance(seed, 300))
    ]


def gemm(entries: int | None, m: int, n: int, k: int, units: int = 1) -> EnumeratedMapspace:
    """DRAM at 100 pJ a word above one buffer at 1 pJ."""
    dram, near = (
        AccessEnergy(Fraction(price), Fraction(price), Fraction(price)) for price in (100, 1)
    )
    levels = (Buffer("DRAM", energy=dram), Buffer("Buf", entries, energy=near))
    return EnumeratedMapspace(
        Architecture("two", levels, Arithmetic("MAC", units, units)),
        Problem("gemm", ("M", "N", "K"), {"M": m, "N": n, "K": k}, GEMM),
    )


def test_with_room_for_everything_each_word_moves_once():
    """Two operands are read once and the result written once."""
    assert LowerBound(gemm(None, 4, 6, 8)).metric("last-level-accesses") == 4 * 8 + 8 * 6 + 4 * 6


def test_with_little_room_something_must_move_again():
    """Tiles that fit into 11 words leave the traffic that enumeration finds, though the buffer may
    hold any of the tensors.
    """
    mapspace = gemm(11, 4, 4, 4)
    best = Exhaustive(mapspace).best([parse_objective("last-level-accesses")])[0]
    assert best is not None
    assert best[1].last_level_accesses > 48
    assert 48 < LowerBound(mapspace).metric("last-level-accesses") <= best[1].last_level_accesses


def test_cycles_are_those_of_the_fullest_array_that_the_sizes_can_fill():
    """Five units cannot share sizes of 4 evenly: four work."""
    assert LowerBound(gemm(None, 4, 4, 4, units=5)).metric("delay") == 16


def test_nothing_fits():
    """Where every tensor must be held and one word each is too much, there is no bound."""
    mapspace = gemm(2, 4, 4, 4)
    mapspace.keeps = lambda tensor: [(True, True)]  # type: ignore[method-assign]
    assert LowerBound(mapspace).energy is None


def test_loops_spare_at_most_one_tensor_of_a_product():
    """In a matrix product whichever dimension is innermost leaves one tensor alone, and pays for
    the idle loops of the others.
    """
    problem = Problem("gemm", ("M", "N", "K"), {"M": 2, "N": 2, "K": 2}, GEMM)
    views = tuple(view(problem, number) for number in range(3))
    m, n, k = (frozenset({dim}) for dim in range(3))
    none = frozenset()
    assert {frozenset(zip("ABZ", each, strict=True)) for each in sparings(views, 3)} == {
        frozenset({("A", n), ("B", none), ("Z", none)}),
        frozenset({("A", none), ("B", m), ("Z", none)}),
        frozenset({("A", none), ("B", none), ("Z", k)}),
    }


@pytest.mark.parametrize(
    ("architecture", "layer", "share"),
    [
        ("eyeriss", "resnet50/layer3.x.conv2_3x3", 0.9),
        ("three_level", "resnet50/layer4.x.conv2_3x3", 0.85),
    ],
)
def test_bounds_of_real_layers_are_close(architecture, layer, share):
    """The energy of real layers is bounded to within a few percent of the proven optimum."""
    spec = sm.load(*bundled.resolve(architecture, layer))
    best = sm.solve(spec, "energy").rank
    bound = LowerBound(
        EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    ).energy
    assert best is not None and bound is not None
    assert share * best < bound <= best


def test_words_of_windows_that_must_cross_a_port_take_their_time():
    """What loops may spare windows level by level is more than they spare in all: that leaves 56
    cycles. The bound needs no search.
    """
    problem = Problem(
        "depthwise",
        ("G", "P", "R"),
        {"G": 4, "P": 7, "R": 3},
        (
            tensor("W", "G", "R"),
            Tensor("I", ((Term("G"),), (Term("P", 2), Term("R")))),
            tensor("Z", "G", "P", read_write=True),
        ),
    )
    levels = (Buffer("L0", read_bandwidth=Fraction(1, 2)), Buffer("L1", mesh_x=12, instances=12))
    spec = sm.Spec(Architecture("slow", levels, Arithmetic("MAC", 12, 12)), problem)
    floor = LowerBound(EnumeratedMapspace(spec.need_architecture(), problem))
    words = 4 * (2 * 6 + 3) + 4 * 3
    assert floor.cycles is not None and floor.cycles < 2 * words
    assert floor.metric("delay") == floor.at_once("delay") == 2 * words
    assert sm.solve(spec, "delay", time_limit=0).bound == 2 * words
