"""`--verify`: the answer of a search proven again by other routes, none of which trusts the first
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Literal

from solver_mapper.core.clock import Clock
from solver_mapper.core.primes import factorize
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.solution import Solution
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.deadline import TimeUp, running
from solver_mapper.errors import LimitReached
from solver_mapper.mapspace.space import build_space
from solver_mapper.solve.cpsat.engine import Settings
from solver_mapper.solve.prepare import prepare
from solver_mapper.verify.bound import LowerBound
from solver_mapper.verify.boxes import Mapspace
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from solver_mapper.verify.prover import ProofTree, Prover
from solver_mapper.verify.route import Claim, Ranks, Route, disagreement
from solver_mapper.verify.target import Target

MOST_NESTS = 200_000
"""Loop nests that are enumerated, each with all its bypass choices."""
MOST_CHAINS = 100_000
"""Factorizations of one dimension that are listed to find out."""
PATIENCE, LEAST_SECONDS = 10, 60.0
"""Without a time limit, a route may take so many times what the search took, and in any case so
many seconds.
"""
ACCEPTED, NEARLY = Fraction(1, 10**6), Fraction(1, 100)
"""The gap to which branch and bound confirms an answer; and the one up to which it speaks of a
confirmation at all.
"""
OTHERS = (
    ("linearization_level", 1),
    ("use_sat_inprocessing", True),
    ("inprocessing_probing_dtime", 0),
)

OnProgress = Callable[[Progress], None]


def verify_solution(
    spec: Spec, solution: Solution, clock: Clock, on_progress: OnProgress | None = None
) -> Solution:
    """The same answer, with a certificate that says what each route did and found.

    Raises: ExactnessError if a route contradicts the answer.
    """
    if solution.status == "unknown":
        nothing = Route("verification", "nothing was done", "none", "there is no answer to verify")
        return replace(
            solution, certificate=replace(solution.certificate, verification=(nothing.to_dict(),))
        )
    claim = _claim(solution)
    mapspace = EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    patience = max(LEAST_SECONDS, PATIENCE * solution.seconds.get("solve", 0.0))
    started = clock.seconds
    ways: dict[str, Callable[[], Route]] = {
        "lower bound": lambda: _bounded(mapspace, claim, clock),
        "enumeration": lambda: _enumerated(mapspace, claim, clock),
        "branch and bound": lambda: _proved(spec, claim, clock),
        "second proof": lambda: _again(spec, solution, claim, clock, on_progress),
    }
    routes = []
    for name, way in ways.items():
        with at_most(clock, patience):
            routes.append(_not_tried(name) if clock.over else _in_time(name, way, clock))
    certificate = replace(
        solution.certificate, verification=tuple(route.to_dict() for route in routes)
    )
    return replace(
        solution,
        certificate=certificate,
        seconds={**solution.seconds, "verify": round(clock.seconds - started, 4)},
    )


def _not_tried(name: str) -> Route:
    return Route(name, "nothing was done", "none", "no verdict: the time limit was reached")


def _in_time(name: str, way: Callable[[], Route], clock: Clock) -> Route:
    """What a route came to; no verdict if time or memory ran out: the answer stands without it."""
    try:
        with running(clock):
            return way()
    except (LimitReached, MemoryError) as error:
        why = "the time limit was reached" if isinstance(error, TimeUp) else "it grew too large"
        return Route(name, "it was begun", "none", f"no verdict: {why}")


def _claim(solution: Solution) -> Claim:
    statistics = solution.evaluation
    ranks = (
        None
        if statistics is None
        else tuple(goal.rank(statistics) for goal in solution.objective.goals)
    )
    return Claim(
        solution.objective,
        ranks,
        solution.bound_rank,
        solution.status == "infeasible"
        or (solution.status == "optimal" and solution.bound_rank == solution.rank),
    )


@contextmanager
def at_most(clock: Clock, seconds: float) -> Iterator[None]:
    """The clock's limit is at most so many seconds away."""
    before = clock.limit
    clock.limit = clock.seconds + seconds if before is None else before
    try:
        yield
    finally:
        clock.limit = before


def _bounded(mapspace: EnumeratedMapspace, claim: Claim, clock: Clock) -> Route:
    """By a lower bound that no solver is asked for."""
    name, did = (
        "lower bound",
        (
            "the least words that cross into each level were added up over all ways to split the"
            " dimensions there"
        ),
    )
    goal = claim.goals.goals[0]
    try:
        with running(clock):
            floor = LowerBound(mapspace)
            bound = floor.goal(goal)
    except (ValueError, LimitReached) as error:
        return Route(name, did, "none", f"no verdict: {error}")
    if floor.coarse:
        did += ", at some without their spatial factors"
    if bound is None:
        if claim.ranks is not None:
            raise disagreement(name, "no mapping fits", f"the answer has {claim.shown}")
        return Route(name, did, "agrees", "no choice of tiles fits")
    shown = f"{goal.name} {goal.shown(bound):.12g}"
    if claim.ranks is None:
        return Route(name, did, "none", "no verdict: it does not show that there is no mapping")
    value = claim.ranks[0]
    if bound > value:
        raise disagreement(name, f"no mapping is below {shown}", f"the answer has {claim.shown}")
    if bound == value:
        return Route(name, did, "agrees", f"no mapping is below {shown}, which the answer has")
    share = float(100 * bound / value)
    return Route(
        name,
        did,
        "consistent",
        f"no mapping is below {shown}, which is {share:.2f} % of the answer's value",
    )


def _enumerated(mapspace: EnumeratedMapspace, claim: Claim, clock: Clock) -> Route:
    """By looking at every mapping."""
    name = "enumeration"
    nests = None if _longest(mapspace) > MOST_CHAINS else mapspace.count(MOST_NESTS)
    if nests is None:
        return Route(
            name,
            "nothing was done",
            "none",
            f"no verdict: there are more than {MOST_NESTS:,} loop nests",
        )
    exhaustive = Exhaustive(mapspace)

    def check_time() -> None:
        if clock.over:
            raise LimitReached("the time limit was reached")

    try:
        best = exhaustive.best([claim.goals], check_time)[0]
    except LimitReached as limit:
        return Route(
            name,
            f"{exhaustive.enumerated:,} of {nests:,} loop nests were enumerated",
            "none",
            f"no verdict: {limit}",
        )
    least = None if best is None else tuple(goal.rank(best[1]) for goal in claim.goals.goals)
    claim.check(name, least)
    did = f"all {nests:,} loop nests with all their bypass choices were enumerated"
    return Route(name, did, "agrees", _outcome(claim, least))


def _proved(spec: Spec, claim: Claim, clock: Clock) -> Route:
    """By branch and bound, which shares nothing with the solver."""
    name = "branch and bound"
    space = Mapspace(spec)
    ranks, nodes, evaluated = claim.ranks, 0, 0
    while True:
        target = Target(space, claim.goals, ranks, ACCEPTED)
        proof = Prover(target, lambda: clock.over).prove()
        nodes, evaluated = nodes + proof.nodes, evaluated + proof.evaluated
        if proof.better is None:
            break
        statistics = evaluate(space.architecture, space.problem, proof.better)
        ranks = tuple(goal.rank(statistics) for goal in claim.goals.goals)
        if claim.proven or (claim.bound is not None and ranks[0] < claim.bound):
            found = f"there is a mapping with {claim.show(ranks)}"
            raise disagreement(name, found, f"the answer has {claim.shown}")
    did = (
        f"boxes of mappings were split until bounds excluded them: {nodes:,} boxes,"
        f" {evaluated:,} mappings evaluated"
    )
    return Route(name, did, *_told_of(proof, claim, ranks))


def _told_of(
    proof: ProofTree, claim: Claim, ranks: Ranks | None
) -> tuple[Literal["agrees", "consistent", "none"], str]:
    """The verdict of branch and bound in words; `ranks` are those of the best mapping known."""
    if ranks is None:
        if proof.complete:
            return "agrees", "confirmed: there is no mapping"
        return "none", "not confirmed in the time given"
    gap = gap_text(1 - proof.reached)
    if ranks != claim.ranks:
        return "none", f"not confirmed: there is a mapping with {claim.show(ranks)}"
    if proof.complete:
        return "agrees", f"confirmed: no mapping is better by more than {gap}"
    if proof.reached >= 1 - NEARLY:
        return "consistent", f"confirmed to {gap}"
    return "none", f"not confirmed in the time given: some mapping may be better by up to {gap}"


def gap_text(share: Fraction) -> str:
    """A share in percent, rounded up to two significant digits."""
    digits = 0
    while 0 < share * 100 * 10**digits < 10:
        digits += 1
    return f"{float(Fraction(-(-share * 100 * 10**digits // 1), 10**digits)):g} %"


def _longest(mapspace: EnumeratedMapspace) -> int:
    """Factorizations of the dimension that has the most, before any constraint."""
    sites = len(mapspace.loop_slots)
    most = 1
    for size in mapspace.problem.bounds.values():
        ways = 1
        for _, count in factorize(size):
            ways *= comb(count + sites - 1, count)
        most = max(most, ways)
    return most


def _again(
    spec: Spec, solution: Solution, claim: Claim, clock: Clock, on_progress: OnProgress | None
) -> Route:
    """By the solver once more: from nothing, or from the answer, with as little as possible done
    the same way.
    """
    settings = Settings(seed=solution.certificate.seed + 1, presolve=False, others=OTHERS)
    changed = {
        name: value
        for name, value in settings.parameters().items()
        if solution.certificate.parameters.get(name) != value
    }
    name = "second proof"
    did = "the search was repeated on a model without broken symmetries, with " + ", ".join(
        f"{key} {value}" for key, value in changed.items()
    )
    architecture = spec.need_architecture()
    space = build_space(architecture, spec.need_problem(), spec.constraints, latency(architecture))
    search = prepare(space, settings, clock, _told(on_progress), symmetric=True)
    if solution.mapping is not None:
        search.start_from(solution.mapping)
    ended = search.minimize(claim.goals)
    least = (
        None
        if search.best is None
        else tuple(goal.rank(search.best.statistics) for goal in claim.goals.goals)
    )
    if not ended:
        _contradicted(name, claim, least, search.bound)
        return Route(name, did, "none", "no verdict: the time limit was reached")
    claim.check(name, least)
    return Route(name, did, "agrees", _outcome(claim, least))


def _contradicted(
    name: str, claim: Claim, least: tuple[Fraction, ...] | None, bound: Fraction | None
) -> None:
    """Raises: ExactnessError if even an unfinished search contradicts the answer."""
    if least is not None and claim.proven and (claim.ranks is None or least < claim.ranks):
        raise disagreement(
            name,
            f"there is a mapping with {claim.show(least)}",
            f"the answer proven is {claim.shown}",
        )
    if claim.ranks is not None and bound is not None and bound > claim.ranks[0]:
        raise disagreement(
            name, f"no mapping is below {claim.show((bound,))}", f"the answer has {claim.shown}"
        )


def _outcome(claim: Claim, least: tuple[Fraction, ...] | None) -> str:
    if least is None:
        return "there is no mapping"
    if claim.proven:
        return f"the best has {claim.show(least)}, as the answer"
    return f"the best has {claim.show(least)}, between the bound and the answer's {claim.shown}"


def _told(on_progress: OnProgress | None) -> OnProgress | None:
    if on_progress is None:
        return None
    tell = on_progress
    return lambda progress: tell(replace(progress, where=f"verifying {progress.where}"))
