"""The search over imperfect factors against every mapping: same feasibility, same least value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import count

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.run import solve_imperfect
from solver_mapper.solve.session import open_session
from solver_mapper.verify.imperfect import ImperfectMapspace
from tests.imperfect.enumeration import few, legal_mappings
from tests.instances import Instance, instance

OBJECTIVES = ("energy", "delay", "edp", "last-level-accesses")


def disagreements(
    spec: Spec, objectives: Sequence[str] = OBJECTIVES, gap: float = 1e-6
) -> list[str]:
    """What differs between solving and enumerating, in words."""
    evaluate = Evaluator(spec.need_architecture(), spec.need_problem()).evaluate
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    figures = [evaluate(mapping) for mapping in legal_mappings(spec)]
    wrong = []
    for text in objectives:
        goal = parse_objective(text).goals[0]
        least = min((goal.rank(each) for each in figures), default=None)
        solution = solve_imperfect(open_session(spec), text, gap=gap)
        if solution.status != ("infeasible" if least is None else "optimal"):
            wrong.append(f"{text}: {solution.status}, least {least}")
        elif least is not None:
            assert solution.rank is not None and solution.bound_rank is not None
            assert solution.mapping is not None
            if not solution.bound_rank <= least <= solution.rank <= least * (1 + Fraction(gap)):
                wrong.append(
                    f"{text}: {float(solution.rank)}, bound {float(solution.bound_rank)},"
                    f" but least {float(least)}"
                )
            if not space.contains(solution.mapping):
                wrong.append(f"{text}: {solution.mapping} is not in the mapspace")
    return wrong


def small(seed: int, most: int) -> Spec | None:
    spec = instance(seed, most=60, wired=seed % 3 == 0).spec
    return spec if few(spec, most) else None


# fmt: off
QUICK = (
    4, 9, 13, 18, 28, 42, 46, 52, 57, 60, 61, 66, 73, 81, 89, 101, 116, 121, 122, 124, 125, 127,
    128, 131, 132, 134, 139, 148, 162, 164, 165,
)
# fmt: on
"""Problems whose mappings are enumerated within a fraction of a second."""


@pytest.mark.parametrize("seed", QUICK)
def test_the_optimum_is_that_of_all_mappings(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    assert not disagreements(spec, [OBJECTIVES[seed % len(OBJECTIVES)]]), spec


@pytest.mark.parametrize("seed", QUICK[:4])
def test_without_a_gap_the_optimum_is_exact(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    assert not disagreements(spec, [OBJECTIVES[(seed + 1) % len(OBJECTIVES)]], gap=0.0), spec


@pytest.mark.parametrize("seed", QUICK[4:12])
def test_the_listed_mappings_are_those_of_the_definition(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    listed = list(sm.enumerate(spec, factors="imperfect"))
    assert len(listed) == len(set(map(str, listed)))
    assert set(map(str, listed)) == {str(each) for each in legal_mappings(spec)}


@pytest.mark.parametrize("seed", (57, 66, 73, 89))
def test_the_front_is_that_of_all_mappings(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    evaluate = Evaluator(spec.need_architecture(), spec.need_problem()).evaluate
    figures = {(s.energy_pj, s.cycles) for s in map(evaluate, legal_mappings(spec))}
    least = {
        (energy, cycles)
        for energy, cycles in figures
        if not any((e, c) != (energy, cycles) and e <= energy and c <= cycles for e, c in figures)
    }
    front = sm.pareto(spec, factors="imperfect")
    assert front.status == ("complete" if figures else "infeasible")
    assert {(p.evaluation.energy_pj, p.evaluation.cycles) for p in front.points} == least


MOST = 3000
"""Mappings of a problem of the campaign."""


def drawn(seed: int) -> Instance:
    """The first of a sequence of random problems that has at least two levels and at most `MOST`
    mappings.
    """
    for number in count(1000 * seed):
        found = instance(number, most=60, wired=seed % 3 == 0)
        if len(found.architecture.levels) > 1 and few(found.spec, MOST):
            return found
    raise AssertionError


def traits(found: Instance) -> Counter[str]:
    """What is in a problem, for the count that the campaign prints."""
    levels, problem = found.architecture.levels, found.problem
    kinds = {type(each) for each in found.constraints}
    bandwidths = [(b.read_bandwidth, b.write_bandwidth, b.shared_bandwidth) for b in levels]
    return Counter(
        {
            f"{len(levels)} levels": 1,
            problem.name: 1,
            "mesh": found.architecture.arithmetic.instances > 1,
            "prime size": any(size in (3, 5) for size in problem.bounds.values()),
            "bandwidth": any(any(each) for each in bandwidths),
            **{kind.__name__: 1 for kind in kinds},
        }
    )


@pytest.mark.campaign
def test_the_optimum_is_that_of_all_mappings_of_many_problems() -> None:
    problems = [drawn(seed) for seed in range(320)]
    print(len(problems), sum(map(traits, problems), Counter()))
    wrong = {each.seed: w for each in problems if (w := disagreements(each.spec))}
    assert not wrong
