"""The walk outwards over inner mappings: its least claim is never above the best mapping, and is
that mapping's figure where levels, meshes and capacities are all there is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import (
    Constraints,
    FactorConstraint,
    KeepConstraint,
)
from solver_mapper.core.objective import Limit, Objective, parse_objective
from solver_mapper.core.problem import Problem, Term
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.deadline import running
from solver_mapper.solve import session
from solver_mapper.solve.cpsat import goal_search, turns
from solver_mapper.solve.outward import ahead, deepening, outer_levels, run, spread_ahead
from solver_mapper.solve.outward.cases import walk_of
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.bound import LowerBound
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.instances import PLAIN, SCATTERED_SHAPES, Instance, in_odd_clusters, instance
from tests.solve.test_bounds_on_the_way import with_networks
from tests.strategies import tensor

INFINITE = float("inf")
SHAPES = ("matmul", "batched", "mttkrp", "strided")
WINDOWS = ("conv1d", "conv2d", "depthwise")
ENERGY, DELAY = (parse_objective(text).goals[0] for text in ("energy", "delay"))
OBJECTIVES = [parse_objective(text) for text in ("energy", "edp", "energy^2*delay")]
PORTS = ("read_bandwidth", "write_bandwidth", "shared_bandwidth")
CLOSE = 1e-9


def bare(made: Instance) -> Instance:
    """The instance with nothing but levels, capacities, energies and meshes."""
    levels = tuple(
        Buffer(
            *(level.name, level.capacity, level.instances, level.mesh_x, level.mesh_y),
            energy=replace(level.energy, leak=Fraction(0)),
        )
        for level in made.architecture.levels
    )
    architecture = replace(made.architecture, levels=levels)
    kept = tuple(each for each in made.constraints if isinstance(each, KeepConstraint))
    return replace(made, architecture=architecture, constraints=kept)


def lone(made: Instance) -> Instance:
    """The instance with one instance of each level, and one compute unit."""
    architecture = made.architecture
    levels = tuple(replace(each, instances=1, mesh_x=1, mesh_y=1) for each in architecture.levels)
    units = replace(architecture.arithmetic, instances=1, mesh_x=1, mesh_y=1)
    return replace(made, architecture=replace(architecture, levels=levels, arithmetic=units))


def slow(made: Instance) -> Instance:
    """The bare instance with an outermost level that may be too slow for the rest."""
    outer, *levels = bare(made).architecture.levels
    bandwidth = Fraction(made.seed % 7 + 1, made.seed % 3 + 1)
    port = PORTS[made.seed % 5 % 3]
    levels = [replace(outer, **{port: bandwidth}), *levels]
    return replace(bare(made), architecture=replace(made.architecture, levels=tuple(levels)))


def slow_inside(made: Instance) -> Instance:
    """The bare instance with levels of which each may be too slow for the rest."""
    random, levels = Random(made.seed), []
    for level in bare(made).architecture.levels:
        ports = random.sample(PORTS, random.choice([0, 1, 1, 2]))
        limits = {port: Fraction(random.randint(1, 8), random.choice([1, 2, 8])) for port in ports}
        levels.append(replace(level, **limits))
    return replace(bare(made), architecture=replace(made.architecture, levels=tuple(levels)))


def networked(made: Instance, *, units: int = 1) -> Instance:
    """The bare instance with networks that charge, and so many compute units in a row of each
    innermost level.
    """
    made = bare(made)
    architecture, inner = made.architecture, made.architecture.levels[-1]
    arithmetic = replace(
        architecture.arithmetic,
        instances=units * inner.instances,
        mesh_x=units * inner.mesh_x,
        mesh_y=inner.mesh_y,
    )
    architecture = with_networks(made.seed, replace(architecture, arithmetic=arithmetic))
    return replace(made, architecture=architecture)


def wrong_claims(made: Instance, *, exact: bool) -> list[str]:
    """Claims above the best mapping's figure, or, if all must be `exact`, other than that; and
    claims that are dropped on the way though the target lies above them.
    """
    *bests, quickest = Exhaustive(made.mapspace).best(
        [*OBJECTIVES, parse_objective("energy,delay")]
    )
    wrong = [] if quickest is None else list(wrong_ties(made, quickest[1], exact=exact))
    for objective, best in zip(OBJECTIVES, bests, strict=True):
        goal = objective.goals[0]
        try:
            claims = walk_of(made.mapspace, goal)
        except ValueError:
            continue
        ends = claims.ends(INFINITE)
        rank = INFINITE if best is None else float(goal.rank(best[1]))
        assert ends.least is not None
        for above in (1 + CLOSE, 1.25):
            if best is None:
                continue
            # Then some bound may be above a loose claim.
            slides = any(
                _slides(made.problem, rank) for each in made.problem.tensors for rank in each.ranks
            )
            least = claims.ends((rank if slides else ends.least) * above).least
            assert least is not None
            if least > rank or not (slides or close(least, ends.least)):
                wrong.append(f"{goal.name}: {ends.least} is lost below {above} of it in {made}")
        if ends.least > rank or (exact and ends.least < rank * (1 - CLOSE)):
            wrong.append(f"{goal.name}: {ends.least} instead of {rank} in {made}")
        if exact and best is not None:
            found = ends.mappings[0]
            if not made.mapspace.contains(found):
                wrong.append(f"{goal.name}: {found} is no mapping of {made}")
            else:
                figures = Evaluator(made.architecture, made.problem).evaluate(found)
                if float(goal.rank(figures)) > rank * (1 + CLOSE):
                    wrong.append(f"{goal.name}: {found} is more than {rank} in {made}")
    return wrong


def _slides(problem: Problem, rank: tuple[Term, ...]) -> bool:
    return sum(problem.bounds[term.dim] > 1 for term in rank) > 1


def wrong_ties(made: Instance, best: Statistics, *, exact: bool) -> Iterator[str]:
    """The `best` mapping by energy, then delay, where a walk says that none is as good; or, if all
    claims must be `exact`, where it does not say that none is better.
    """
    try:
        walk = walk_of(made.mapspace, ENERGY)
    except ValueError:
        return
    claim = walk.toward(DELAY, [Limit(ENERGY, best.energy_pj, strict=False)]).ends(INFINITE).least
    assert claim is not None
    if claim > best.cycles or (exact and claim < best.cycles * (1 - CLOSE)):
        yield f"{claim} instead of {best.cycles} cycles at {best.energy_pj} pJ in {made}"


def close(one: float, other: float) -> bool:
    return abs(one - other) <= abs(other) * CLOSE / 10


@pytest.mark.parametrize("seed", [0, 2408, *in_campaigns([1, *range(2, 8)])])
def test_no_claim_is_above_the_best_mapping(seed):
    """Whatever else the mapspace has: constraints, flags, blocks, clusters, bandwidths, wires."""
    assert not wrong_claims(instance(seed, 1500 if seed > 1000 else 400, SHAPES), exact=False)


@pytest.mark.parametrize("seed", [0, *in_campaigns([1785, *range(1, 6)])])
def test_no_claim_is_above_the_best_mapping_where_windows_slide(seed):
    """Also if neighbours pass words on, and several meshes share what they pass."""
    assert not wrong_claims(instance(seed, 1500 if seed > 1000 else 400, WINDOWS), exact=False)


@pytest.mark.parametrize("how", [bare, slow_inside, *in_campaigns([replace])])
@pytest.mark.parametrize("seed", [1, 7, *in_campaigns(range(2, 60))])
def test_no_claim_is_above_the_best_mapping_where_windows_slide_over_partial_sums(seed, how):
    assert not wrong_claims(how(instance(seed, 400, list(SCATTERED_SHAPES))), exact=False)


@pytest.mark.parametrize("seed", [100, *in_campaigns(range(101, 108))])
def test_the_least_claim_of_windows_is_the_best_mapping_where_nothing_is_spread(seed):
    made = lone(bare(instance(seed, 400, WINDOWS)))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("seed", [100, *in_campaigns(range(101, 108))])
def test_the_least_claim_is_the_best_mapping_where_nothing_else_costs(seed):
    made = bare(instance(seed, 400, PLAIN))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


def in_large_blocks(made: Instance) -> Instance:
    """The instance with an outermost level that reads and writes whole blocks."""
    outermost, *levels = made.architecture.levels
    block = random.Random(made.seed).choice([2, 3, 4, 8, 32])
    levels = [replace(outermost, block_size=block), *levels]
    return replace(made, architecture=replace(made.architecture, levels=tuple(levels)))


@pytest.mark.parametrize("seed", [100, 102, *in_campaigns(range(103, 400))])
def test_the_least_claim_is_the_best_mapping_where_the_outermost_level_reads_blocks(seed):
    """Also if one that sends fewer words would need as many blocks."""
    made = in_large_blocks(bare(instance(seed, 400, PLAIN)))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("seed", [1, *in_campaigns(range(2, 200))])
def test_no_claim_of_windows_is_above_the_best_mapping_where_the_outermost_level_reads_blocks(seed):
    assert not wrong_claims(in_large_blocks(bare(instance(seed, 1500, WINDOWS))), exact=False)


@pytest.mark.parametrize("seed", [100, *in_campaigns(range(101, 108))])
def test_the_least_claim_is_the_best_mapping_where_networks_charge(seed):
    """Hops depend on the order of the loops of a mesh, and on what levels would take that do not
    hold a tensor.
    """
    made = networked(instance(seed, 400, PLAIN))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("seed", [12, 20, *in_campaigns(range(21, 60))])
def test_the_least_claim_is_the_best_mapping_where_windows_are_of_one_point(seed):
    """A 1 x 1 layer that is written as a convolution is none: words answer to loops as those of
    products do, also where networks charge, and where steps leave words out.
    """
    made = networked(instance(seed, 400, WINDOWS), units=2)
    sizes = {dim: 1 if dim in "RS" else size for dim, size in made.problem.bounds.items()}
    made = replace(made, problem=replace(made.problem, bounds=sizes))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("units", [2, *in_campaigns([3, 4])])
@pytest.mark.parametrize("seed", [103, *in_campaigns([110, 112, *range(113, 160)])])
def test_the_least_claim_is_the_best_mapping_where_units_pass_words_on(seed, units):
    """Each word that a unit gets from the one beside it costs a hop and two routers."""
    made = networked(instance(seed, 400, PLAIN), units=units)
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("seed", [300, *in_campaigns(range(301, 305))])
def test_no_claim_of_windows_is_above_the_best_mapping_where_networks_charge(seed):
    made = bare(instance(seed, 400, WINDOWS))
    made = replace(made, architecture=with_networks(seed, made.architecture))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=False)


@pytest.mark.parametrize("seed", [0, 10, 92, *in_campaigns(range(100, 400))])
def test_the_least_claim_is_the_best_mapping_where_idle_instances_cost(seed):
    """An access of a cluster costs as much if some of its instances are idle."""
    made = in_odd_clusters(bare(instance(seed, 400, PLAIN)))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("seed", [1, *in_campaigns([49, *range(100, 400)])])
def test_no_claim_of_windows_is_above_the_best_mapping_where_idle_instances_cost(seed):
    made = in_odd_clusters(bare(instance(seed, 1500, WINDOWS)))
    assert not wrong_claims(made, exact=False)


@pytest.mark.parametrize("seed", [200, *in_campaigns(range(201, 205))])
def test_the_least_claim_is_the_best_mapping_where_the_outermost_level_is_slow(seed):
    made = slow(instance(seed, 400, PLAIN))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("seed", [300, *in_campaigns(range(301, 305))])
def test_no_claim_of_windows_is_above_the_best_mapping_where_the_outermost_level_is_slow(seed):
    """Each word crosses it once at least, also of windows that overlap."""
    made = slow(instance(seed, 400, WINDOWS))
    assert not wrong_claims(made, exact=False)


@pytest.mark.parametrize("seed", [200, 2301, *in_campaigns(range(201, 215))])
def test_the_least_claim_is_the_best_mapping_where_inner_levels_are_slow(seed):
    """What they send and are filled with is known when loops close tensors."""
    made = slow_inside(instance(seed, 1500 if seed > 1000 else 400, PLAIN))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("seed", [300, *in_campaigns(range(301, 315))])
def test_no_claim_is_above_the_best_mapping_where_inner_levels_are_slow(seed):
    made = slow_inside(instance(seed, 400, SHAPES + WINDOWS))
    assert not wrong_claims(made, exact=False)


def levels_of_which_the_middle_one_is_slow(*bandwidth: int) -> tuple[Buffer, ...]:
    """The innermost one holds weights, all others hold everything."""

    def each(*prices: int) -> AccessEnergy:
        return AccessEnergy(*map(Fraction, prices), Fraction(0))

    return (
        Buffer("L0", None, energy=each(1, 1, 1)),
        Buffer("L1", None, shared_bandwidth=Fraction(*bandwidth), energy=each(1, 0, 0)),
        Buffer("L2", None, energy=each(0, 8, 0)),
    )


@pytest.mark.parametrize("window", [False, True])
def test_gaps_of_strides_fill_a_level_with_more_words_than_there_are_operations(window):
    """So it may be slower than all that it sends says."""
    if window:
        levels = levels_of_which_the_middle_one_is_slow(29, 5)
        sizes, outermost = {"P": 8, "R": 2, "C": 2}, "C"
        inputs, weights = tensor("I", [("P", 9), ("R", 1)], "C"), tensor("W", "R", "C")
    else:
        levels = levels_of_which_the_middle_one_is_slow(31, 5)
        sizes, outermost = {"P": 8, "R": 2}, "R"
        inputs, weights = tensor("I", [("P", 9)], "R"), tensor("W", "R")
    outputs = tensor("O", "P", read_write=True)
    problem = Problem("gaps", tuple(sizes), sizes, (inputs, weights, outputs))
    architecture = Architecture("slow", levels, Arithmetic("MAC", energy=Fraction(0)))
    kept = [(level, name, True) for level in ("L0", "L1") for name in "IWO"]
    kept += [("L2", "I", False), ("L2", "O", False)]
    bounds = [("L1", dim, 1) for dim in sizes]
    bounds += [("L0", dim, 2 if dim == outermost else 1) for dim in sizes]
    constraints = Constraints(
        (
            *(KeepConstraint(at, "", name, keep) for at, name, keep in kept),
            *(FactorConstraint(at, "", "temporal", dim, "==", size) for at, dim, size in bounds),
        )
    )
    assert not wrong_claims(Instance(0, architecture, problem, constraints), exact=False)


def test_no_inner_mapping_is_quicker_than_a_level_is_filled_that_has_to_hold_all():
    """Its 16 + 16 + 16 words take two cycles each: nothing is looked at below that."""
    levels = levels_of_which_the_middle_one_is_slow(1, 1)
    slow = replace(levels[1], shared_bandwidth=None, write_bandwidth=Fraction(1, 2))
    sizes = dict.fromkeys("MKN", 4)
    matrices = tensor("A", "M", "K"), tensor("B", "K", "N"), tensor("C", "M", "N", read_write=True)
    problem = Problem("product", tuple(sizes), sizes, matrices)
    architecture = Architecture("slow", (levels[0], slow), Arithmetic("MAC", energy=Fraction(1)))
    kept = tuple(KeepConstraint(at, "", name, True) for at in ("L0", "L1") for name in "ABC")
    mapspace = EnumeratedMapspace(architecture, problem, Constraints(kept))
    below, above = (Walk(mapspace, DELAY).ends(target) for target in (95.0, 97.0))
    assert below.whole and below.examined <= 1 < above.examined


@pytest.fixture
def impatient(monkeypatch):
    """CP-SAT gives up at once, so that the walk begins."""
    monkeypatch.setattr(goal_search, "EFFORT", 2e-6)
    monkeypatch.setattr(turns, "TURNS", (1e-6, INFINITE))
    monkeypatch.setattr(deepening, "MANY", 1e12)


@pytest.mark.parametrize("seed", [100, 103, 110, 121, 137])
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_answers_are_those_of_enumeration_where_the_walk_takes_its_turn(seed, objective, impatient):
    made = instance(seed, 400, SHAPES)
    best = Exhaustive(made.mapspace).best([parse_objective(objective)])[0]
    found = sm.solve(made.spec, objective)
    if best is None:
        assert found.status == "infeasible"
        return
    assert found.status == "optimal"
    assert found.rank == parse_objective(objective).goals[0].rank(best[1])
    if found.objective.ties:
        (quickest,) = Exhaustive(made.mapspace).best([parse_objective("energy,delay")])
        assert quickest is not None and found.evaluation is not None
        assert found.evaluation.cycles == quickest[1].cycles


@pytest.mark.parametrize("most", [0, 50_000])
def test_a_short_walk_decides_a_tie_or_leaves_it(most, impatient, monkeypatch):
    """Where walks have proven the least energy, the model is not compiled for the tie."""
    made = instance(121, 400, PLAIN)
    (quickest,) = Exhaustive(made.mapspace).best([parse_objective("energy,delay")])
    assert quickest is not None
    monkeypatch.setattr(session, "ONCE", most)
    # The bound without a search would decide it.
    monkeypatch.setattr(LowerBound, "goal_at_once", lambda self, goal: None)
    solution = sm.solve(made.spec, "energy")
    assert solution.status == "optimal" and solution.evaluation is not None
    assert solution.rank == parse_objective("energy").goals[0].rank(quickest[1])
    assert [goal.name for goal in solution.objective.ties] == (["delay"] if most else [])
    energy, *ties = solution.certificate.proofs
    assert energy["goal"] == "energy"
    assert [(tie["goal"], tie["runs"]) for tie in ties] == ([("delay", 0)] if most else [])
    if most:
        assert solution.evaluation.cycles == quickest[1].cycles


def test_a_walk_whose_mappings_are_all_forbidden_gives_a_bound_alone(monkeypatch):
    made = instance(121, 400, PLAIN)
    (best,) = Exhaustive(made.mapspace).best([Objective((ENERGY,))])
    assert best is not None
    monkeypatch.setattr(session.Session, "_admits", lambda self, mapping: False)
    found = session.Session(made.spec).walks(ENERGY).ends(lambda: (-INFINITE, INFINITE), 1e9)
    *_, last = found
    assert last.mappings == () and last.least is not None
    assert last.least <= best[1].energy_pj


@pytest.mark.parametrize("seed", [100, 103, 137])
@pytest.mark.parametrize("most", [3, 1000])
def test_answers_are_those_of_enumeration_where_a_short_walk_comes_early(seed, most, monkeypatch):
    """Whether it ends or has too many inner mappings."""
    monkeypatch.setattr(turns, "TURNS", (1e-6, 16.0))
    monkeypatch.setattr(deepening, "MANY", most * 1e6)
    made = instance(seed, 400, PLAIN)
    best = Exhaustive(made.mapspace).best([parse_objective("edp")])[0]
    assert best is not None
    assert sm.solve(made.spec, "edp").rank == parse_objective("edp").goals[0].rank(best[1])


def test_where_a_run_ends_without_a_proof_the_walk_gives_the_bound(monkeypatch, impatient):
    """Walks below targets that rise, until one of them finds the answer."""
    bounds = []
    further = Walk.further

    def noted(self, target, **more):
        found = further(self, target, **more)
        if self.goal == ENERGY:
            bounds.append(found.least)
        return found

    monkeypatch.setattr(Walk, "further", noted)
    made = bare(instance(103, 400, SHAPES))
    found = sm.solve(made.spec, "energy")
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(float(found.rank), rel=CLOSE)


def test_a_mapping_that_fills_too_little_of_a_level_is_no_answer(impatient):
    """Tiles that are too small are dropped, as those that are too large."""
    made = instance(5079, 60)
    best = Exhaustive(made.mapspace).best([OBJECTIVES[0]])[0]
    assert best is not None
    assert sm.solve(made.spec, "energy").rank == best[1].energy_pj


def test_a_walk_that_would_take_too_much_memory_ends(monkeypatch, impatient):
    """The search goes on with the bound that it had so far."""
    made = bare(instance(103, 400, SHAPES))
    goal = OBJECTIVES[0].goals[0]
    whole = Walk(made.mapspace, goal).ends(INFINITE)
    for most in (1, 3, 10):
        monkeypatch.setattr(run, "MOST_ROWS", most)
        ends = Walk(made.mapspace, goal).ends(INFINITE)
        assert not ends.mappings and not ends.whole
        assert whole.least is not None and ends.least is not None
        assert 0 < ends.least <= whole.least
    assert sm.solve(made.spec, "energy").status == "optimal"


def test_it_does_not_matter_how_many_figures_are_compared_at_once(monkeypatch):
    made = bare(instance(110, 1500, WINDOWS))
    goal = parse_objective("energy").goals[0]
    ends = Walk(made.mapspace, goal).ends(INFINITE)
    for each in (ahead, spread_ahead):
        monkeypatch.setattr(each, "AT_ONCE", 100)
    assert Walk(made.mapspace, goal).ends(INFINITE) == ends
    assert ends.mappings


def test_a_walk_ends_with_the_time():
    made = bare(instance(103, 400, SHAPES))
    with running(Clock(0)):
        ends = Walk(made.mapspace, OBJECTIVES[0].goals[0]).ends(INFINITE)
    assert (ends.mappings, ends.least, ends.whole) == ((), None, False)


def test_where_tables_of_outer_levels_would_be_too_large_the_model_answers(monkeypatch, impatient):
    made = bare(instance(103, 400, SHAPES))
    walk = Walk(made.mapspace, OBJECTIVES[0].goals[0])
    monkeypatch.setattr(outer_levels, "MOST_FIGURES", 1)
    with pytest.raises(ValueError, match="too many tiles and suppliers"):
        walk.ends(INFINITE)
    with pytest.raises(ValueError, match="too many tiles: 6"):
        Walk(made.mapspace, OBJECTIVES[0].goals[0])
    best = Exhaustive(made.mapspace).best([OBJECTIVES[0]])[0]
    assert best is not None
    assert sm.solve(made.spec, "energy").rank == best[1].energy_pj


def test_mappings_of_walks_have_loops_along_y_outside_those_along_x():
    """Elsewhere other units would be neighbours, and the window would cost more than is claimed."""
    buffer = {"name": "Buffer", "entries": 64, "instances": 12, "meshX": 4}
    dram = {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 100.0}
    units = {"name": "MAC", "instances": 12, "meshX": 4}
    storage = [buffer | {"vector-access-energy": 1.0}, dram]
    spaces = [
        {"name": "W", "projection": [[["C"]], [["R"]]]},
        {"name": "I", "projection": [[["C"]], [["P"], ["R"]]]},
        {"name": "O", "projection": [[["C"]], [["P"]]], "read-write": True},
    ]
    shape = {"name": "depthwise", "dimensions": ["C", "P", "R"], "data-spaces": spaces}
    spec = sm.load(
        {"arch": {"arithmetic": units, "storage": storage}},
        {"problem": {"shape": shape, "instance": {"C": 4, "P": 7, "R": 3}}},
    )
    mapspace = EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    objective = parse_objective("energy")
    found = Walk(mapspace, objective.goals[0]).ends(INFINITE).mappings
    (best,) = Exhaustive(mapspace).best([objective])
    assert best is not None
    both = [each for each in found if {loop.axis for loop in each.levels[0].spatial} == {"X", "Y"}]
    assert sm.evaluate(spec, both[0]).energy_pj == best[1].energy_pj


def test_the_only_mapping_of_a_single_operation_is_found():
    made = instance(2544, 1500, SHAPES)
    assert set(made.problem.bounds.values()) == {1}
    assert not wrong_claims(made, exact=False)


def test_words_that_cost_less_than_nothing_are_left_to_the_model():
    """A bound that leaves words out would be too high."""
    made = bare(instance(103, 400, SHAPES))
    outer, *levels = made.architecture.levels
    gift = replace(outer, energy=replace(outer.energy, read=Fraction(-100)))
    architecture = replace(made.architecture, levels=(gift, *levels))
    mapspace = EnumeratedMapspace(architecture, made.problem, made.constraints)
    with pytest.raises(ValueError, match="less than nothing"):
        Walk(mapspace, OBJECTIVES[0].goals[0])


def test_other_goals_are_left_to_the_model():
    with pytest.raises(ValueError, match="delay is no matter of energy"):
        Walk(instance(121, 400, SHAPES).mapspace, DELAY).toward(DELAY, ())


def test_walks_for_other_goals_make_no_tables_again():
    walk = walk_of(bare(instance(121, 400, PLAIN)).mapspace, ENERGY)
    assert walk.figures > 0
    assert walk.ends(INFINITE).mappings
    other = walk.toward(DELAY, [Limit(ENERGY, Fraction(10**12), strict=False)])
    assert other.figures == 0
    assert other.ends(INFINITE).mappings


def test_limits_of_other_figures_are_left_to_the_model():
    (accesses,) = parse_objective("last-level-accesses").goals
    walk = Walk(instance(121, 400, SHAPES).mapspace, ENERGY)
    with pytest.raises(ValueError, match="last-level-accesses is no matter of energy and cycles"):
        walk.toward(ENERGY, [Limit(accesses, Fraction(1), strict=False)])


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 3000, 5))
def test_claims_of_many(first):
    """The same for thousands of mapspaces."""
    for seed in range(first, first + 5):
        made = instance(seed, 1500, SHAPES)
        assert not wrong_claims(made, exact=False)
        if seed % 5 == 0:
            assert not wrong_claims(instance(seed, 1500, WINDOWS), exact=False)
        if made.problem.name in PLAIN and (bare(made).mapspace.count(6000) or 6001) <= 6000:
            assert not wrong_claims(bare(made), exact=True)
            assert not wrong_claims(slow(made), exact=True)
            assert not wrong_claims(slow_inside(made), exact=True)
            assert not wrong_claims(networked(made), exact=True)
        else:
            assert not wrong_claims(slow_inside(made), exact=False)
