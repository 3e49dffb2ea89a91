"""Walks below rising targets: what they prove on the way is never above the optimum, which the last
one finds, however little effort each call has.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from math import inf, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver_mapper import solve
from solver_mapper.core.objective import parse_objective
from solver_mapper.solve import prepare
from solver_mapper.solve.cpsat.turns import LONGER, RUNS, TURNS, Turns, Walks
from solver_mapper.solve.outward import deepening
from solver_mapper.solve.outward import walk as outward_walk
from solver_mapper.solve.outward.costs import in_use
from solver_mapper.solve.outward.deepening import Deepening
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.exhaustive import Exhaustive
from tests.campaigns import in_campaigns
from tests.instances import PLAIN, instance
from tests.solve.test_outward import CLOSE, bare
from tests.solve.test_pool import windowed

EFFORTS = (1e-3, 1e-2, 1.0)
MORE = [*range(104, 118), *range(121, 130)]


class Blind:
    """Walks whose beams find nothing."""

    def beam(self, target, width):
        return deepening.Ends((), None, whole=False)


def _span(proven, last=inf):
    return proven, last


@cache
def least_rank(seed, text):
    """That of all mappings."""
    objective = parse_objective(text)
    best = Exhaustive(bare(instance(seed, 400, PLAIN)).mapspace).best([objective])[0]
    assert best is not None
    return float(objective.goals[0].rank(best[1]))


@pytest.mark.parametrize("seed", [100, 103, 137, 201, *in_campaigns(MORE)])
@pytest.mark.parametrize("text", ["energy", "edp"])
@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("some", [deepening.SOME, 10])
def test_targets_rise_to_the_optimum(seed, text, effort, some, monkeypatch):
    """If only a few may be examined at once, targets fall on the way, too."""
    monkeypatch.setattr(deepening, "FEW", 20)
    monkeypatch.setattr(deepening, "SOME", some)
    monkeypatch.setattr(deepening, "OVERRUN", 2.0)
    made = bare(instance(seed, 400, PLAIN))
    goal = parse_objective(text).goals[0]
    rank = least_rank(seed, text)
    walks = Deepening(Walk(made.mapspace, goal))
    bounds, found = [0.0], list[deepening.Ends]()
    while not found or not found[-1].mappings:
        found = list(walks.ends(partial(_span, bounds[-1]), effort))
        bounds += [each.least for each in found if each.least is not None]
        effort *= 2
    assert max(bounds) <= rank
    assert found[-1].least == pytest.approx(rank, rel=CLOSE)
    assert not list(walks.ends(partial(_span, 0.0), effort))


@pytest.mark.parametrize("seed", [100, 201, *in_campaigns([103, 137, *MORE])])
@pytest.mark.parametrize("text", ["energy", "edp"])
def test_a_walk_that_grows_too_long_looks_below_a_lower_target(seed, text):
    """What it tells of that one is true; and the best mapping is found if it is below."""
    walk = Walk(bare(instance(seed, 400, PLAIN)).mapspace, parse_objective(text).goals[0])
    rank, every = least_rank(seed, text), walk.ends(inf).examined
    fell = 0
    for share, above in product((0.05, 0.2, 0.5, 0.8), (1.01, 1.5, 10.0)):
        ends = walk.ends(above * rank, examined=share * every, lowest=0.0)
        if not ends.whole or ends.target is None:
            continue
        fell += 1
        assert ends.target < above * rank
        assert ends.least == pytest.approx(min(ends.target, rank), rel=CLOSE)
        if ends.target != pytest.approx(rank, rel=CLOSE):
            assert bool(ends.mappings) == (rank < ends.target)
    assert fell
    assert not walk.ends(2 * rank, examined=1, lowest=2 * rank).whole


def test_where_mappings_cost_nothing_the_target_is_the_last_one():
    """Steps relative to nothing would not rise."""
    walk = Walk(bare(instance(103, 400, PLAIN)).mapspace, parse_objective("energy").goals[0])
    targets = []

    class Free(Blind):
        figures = walk.figures

        def further(self, target, *, examined, lowest, last):
            targets.append(target)
            return deepening.Ends((), min(target, 0.0), beyond=0.0)

    list(Deepening(Free()).ends(partial(_span, 0.0, 7.0), 1.0))
    assert targets == [0.0, 7.0]


def test_shorter_steps_follow_a_walk_whose_target_was_too_high():
    """The optimum is 1.06; a walk below 1.08 would not end."""
    walk = Walk(bare(instance(103, 400, PLAIN)).mapspace, parse_objective("energy").goals[0])
    optimum, incumbent, total = 1.06, 2.0, 3_000_000

    class Steep(Blind):
        figures = walk.figures

        def further(self, target, *, examined, lowest, last):
            needed = int(1_000 * target**30) if target < 1.08 else 10**12
            if needed > examined:
                return deepening.Ends((), None, False, examined=int(examined))
            found = ("a mapping",) if target > optimum else ()
            least, beyond = min(target, optimum), max(target, 1.0)
            return deepening.Ends(found, least, True, beyond, needed)

    found = list(Deepening(Steep()).ends(lambda: (1.0, incumbent), total / deepening.MANY))
    assert found[-1].mappings and found[-1].least == optimum


def test_a_walk_below_the_incumbent_that_takes_little_more_is_the_next_one():
    """Walks examine more with the 40th power of their targets, and the incumbent is the optimum."""
    walk = Walk(bare(instance(103, 400, PLAIN)).mapspace, parse_objective("energy").goals[0])
    targets, incumbent = [], 1.14

    class Known(Blind):
        figures = walk.figures

        def further(self, target, *, examined, lowest, last):
            targets.append(target)
            return deepening.Ends((), target, True, target, int(10_000 * target**40))

    list(Deepening(Known()).ends(lambda: (1.0, incumbent), 100.0))
    *_, before, last = targets
    assert last == incumbent
    assert deepening.GROWTH < (last / before) ** 40 <= deepening.ONE_STEP


def test_walks_come_before_the_model_where_compiling_takes_long(monkeypatch):
    """Several levels may hold what they like, and a window slides: no model is compiled."""
    spec = windowed()
    with monkeypatch.context() as patched:
        patched.setattr(outward_walk, "FREE", 9)
        modelled = solve(spec, "edp")
    monkeypatch.setattr(prepare, "compile_space", None)
    walked = solve(spec, "edp")
    assert walked.status == modelled.status == "optimal"
    assert walked.value == modelled.value


LENGTHS = st.lists(st.integers(1, 6), max_size=2)


@given(st.integers(1, 600), LENGTHS, st.integers(1, 60), LENGTHS)
def test_loops_use_what_divides_their_rounds(rounds, sides, more, further):
    """Against all ways to fill two grids, of which the second one has further loops."""
    ways = [
        first * second
        for first in map(prod, product(*(range(1, side + 1) for side in sides)))
        for second in map(prod, product(*(range(1, side + 1) for side in further)))
        if rounds % first == 0 and rounds // first * more % second == 0
    ]
    assert in_use(rounds, tuple(sides), more, tuple(further)) == max(ways)


def test_a_walk_is_not_begun_that_would_not_end_and_its_effort_is_kept_for_the_next_turn():
    """Walks examine more with the 40th power of their targets."""
    walk = Walk(bare(instance(103, 400, PLAIN)).mapspace, parse_objective("energy").goals[0])
    longest = [0]

    class Steep(Blind):
        figures = walk.figures

        def further(self, target, *, examined, lowest, last):
            every = int(deepening.MANY / 15 * target**40)
            more = every - longest[0]
            if more > examined:
                return deepening.Ends((), None, False, examined=int(examined))
            longest[0] = every
            return deepening.Ends((), target, True, target, more, in_all=every)

    walks = Deepening(Steep())
    for _ in range(6):
        list(walks.ends(partial(_span, 1.0, 1.4), 1.0))
    assert longest[0] > deepening.MANY


def test_walks_have_their_turn_after_several_short_runs():
    """CP-SAT's first turn is 1 long, its next one 4, and the walks' are longer."""
    made: list[float] = []

    def ends(span: deepening.Span, effort: float) -> list[deepening.Ends]:
        made.append(effort)
        return [deepening.Ends((), None)]

    turns = Turns(Walks(ends, lambda _target: ()))
    assert turns.effort(None) == TURNS[0]
    list(turns.after(partial(_span, 0.0), TURNS[0], ended=False))
    assert turns.effort(None) == TURNS[1]
    list(turns.after(partial(_span, 0.0), 0.1, ended=True))
    assert made == [LONGER * TURNS[0]]
    list(turns.after(partial(_span, 0.0), 0.1, ended=True))
    assert made == [LONGER * TURNS[0], LONGER * TURNS[1]]


def test_a_run_takes_the_rest_of_its_turn_and_at_least_a_part_of_one():
    """Short runs that find nothing better end a turn early, but leave more of it to the next."""
    turns = Turns(Walks(lambda span, effort: (), lambda _target: ()))
    list(turns.after(partial(_span, 0.0), TURNS[0] * 0.7, ended=True, better=True))
    assert turns.effort(None) == pytest.approx(TURNS[0] * 0.3)
    list(turns.after(partial(_span, 0.0), TURNS[0] * 0.29, ended=True, better=True))
    assert turns.effort(None) == pytest.approx(TURNS[0] / RUNS)
    turns = Turns(Walks(lambda span, effort: (), lambda _target: ()))
    list(turns.after(partial(_span, 0.0), TURNS[0] * 0.01, ended=True))
    assert turns.effort(None) == pytest.approx(TURNS[0] * 0.99)


def test_runs_that_find_better_mappings_do_not_end_the_first_turn():
    """A product's optimum takes some short runs; two that find nothing better are a turn."""
    made: list[float] = []

    def ends(span: deepening.Span, effort: float) -> list[deepening.Ends]:
        made.append(effort)
        return [deepening.Ends((), None)]

    turns = Turns(Walks(ends, lambda _target: ()))
    for _ in range(RUNS - 1):
        list(turns.after(partial(_span, 0.0), 0.01, ended=True, better=True))
    assert not made
    list(turns.after(partial(_span, 0.0), 0.01, ended=True, better=False))
    assert made == [LONGER * TURNS[0]]


class Near(Blind):
    """A walk that has found a mapping at once; it lists near ties if so much is allowed."""

    figures, lists_near_ties = 0, True

    def __init__(self, need: float):
        self.need, self.looked = need, []

    def further(self, target, *, examined, lowest, last):
        return deepening.Ends(("a mapping",), 1.0, True, target, 1_000)

    def near_ties(self, target, least, most, *, examined):
        self.looked.append((target, least, most))
        return deepening.Ends((), least, examined >= self.need, examined=int(examined))


def test_near_ties_are_looked_at_anew_where_a_better_mapping_is_known():
    """What is proven by other means is no bound of claims."""
    walk = Near(0.0)
    walks = Deepening(walk)
    for proven, below in ((1.0, 1.005), (1.0, 1.005), (1.001, 1.002)):
        list(walks.ends(partial(_span, proven, below), 1.0))
    assert [looked[:2] for looked in walk.looked] == [(1.005, 1.0), (1.002, 1.0)]


def test_near_ties_that_are_too_many_are_looked_at_anew_with_more_effort():
    """Once in each turn, and more often where that takes no more than the turn may."""
    least = deepening.TIES * deepening.SOME
    walk = Near(least * deepening.MORE_TIES**2)
    walks = Deepening(walk)
    for effort in (1.0, 16.0, 256.0, 256.0):
        list(walks.ends(partial(_span, 1.0, 1.005), effort))
    first = deepening.MOST_TIES
    assert [most for _, _, most in walk.looked] == [first * 4**n for n in range(3)]


@pytest.mark.parametrize("seed", [100, 103, 137, 201])
@pytest.mark.parametrize("width", [1, 4, 1000])
def test_a_beam_finds_mappings_and_proves_nothing(seed, width):
    """A wide one finds what the walk finds."""
    made = bare(instance(seed, 400, PLAIN))
    goal = parse_objective("energy").goals[0]
    walk = Walk(made.mapspace, goal)
    beam = walk.beam(inf, width)
    assert beam.least is None and not beam.whole
    assert all(made.mapspace.contains(mapping) for mapping in beam.mappings)
    if width == 1000:
        assert beam.mappings[0] == walk.ends(inf).mappings[0]
    assert not walk.beam(0.0, width).mappings


def test_a_beam_comes_after_long_walks_and_the_next_one_is_wider():
    walk = Walk(bare(instance(103, 400, PLAIN)).mapspace, parse_objective("energy").goals[0])
    widths, incumbent = [], [2.0]

    class Slow:
        figures = walk.figures

        def further(self, target, *, examined, lowest, last):
            return deepening.Ends((), None, False, examined=deepening.MANY)

        def beam(self, target, width):
            assert target == incumbent[0]
            widths.append(width)
            incumbent[0] -= 0.1
            return deepening.Ends(("a mapping",), None, whole=False)

    found = list(Deepening(Slow()).ends(lambda: (1.0, incumbent[0]), 100.0))
    assert any(ends.mappings for ends in found)
    assert widths == [deepening.WIDTH * deepening.WIDER**n for n in range(len(widths))]
    assert 1 < len(widths) < 5


@pytest.mark.parametrize(("incumbent", "beams"), [(1.02, 0), (3.0, 1)])
def test_a_beam_comes_early_where_walks_are_far_from_what_is_known(incumbent, beams):
    """Each walk examines twice as many as the one before, below a target 1 % higher; all of them
    together fewer than there are before a beam that comes late.
    """
    widths, sizes = [], []

    class Steep:
        figures = 0

        def further(self, target, *, examined, lowest, last):
            sizes.append(2 * (sizes[-1] if sizes else 2 * deepening.FEW))
            return deepening.Ends((), target, beyond=target * 1.01, examined=sizes[-1] // 2)

        def beam(self, target, width):
            widths.append(width)
            return deepening.Ends((), None, whole=False)

    effort = deepening.EARLY * deepening.WIDTH * 1.5 / deepening.MANY
    walks = Deepening(Steep()).ends(lambda: (1.0, incumbent), effort)
    assert all(ends.least is not None for ends in walks if not widths)
    assert sum(sizes) < deepening.FOR_BEAMS * deepening.WIDTH
    assert widths == [deepening.WIDTH] * beams


def test_what_was_met_before_a_target_fell_says_nothing_of_how_mappings_grow():
    """A walk meets 16,000, the next one 40,000 before its target falls, the third one 44,000: that
    is three times as many as the first one, and the last target is still far.
    """
    asked, steps = [], []

    class Falling(Blind):
        figures = 0

        def further(self, target, *, examined, lowest, last):
            asked.append(target)
            size = (16_000, 40_000, 44_000)[min(len(asked), 3) - 1]
            fell = (lowest + target) / 2 if len(asked) == 2 else None
            below = fell or target
            steps.append(below / lowest - 1)
            return deepening.Ends((), below, True, below * 1.03, examined=size, target=fell)

    last = 1.2
    for _ in Deepening(Falling()).ends(lambda: (1.0, last), 10.0):
        if len(asked) == 4:
            break
    assert steps[2] == pytest.approx(steps[1])
    assert asked[2] < asked[3] < last
