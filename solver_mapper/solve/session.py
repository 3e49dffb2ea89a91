"""What one request to the solver needs, each thing made once and where it is first asked for.

`solve`, `pareto`, `enumerate`, networks and sweeps open a session, so that limits, progress and
checks work alike in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import count, islice
from math import comb, inf, prod
from typing import Any

from solver_mapper.check.mapping import all_violations, is_legal, require_legal
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import (
    MAPPING,
    Constraint,
    FactorConstraint,
    MetricConstraint,
    NestingConstraint,
    ProductConstraint,
)
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal, Limit, Objective
from solver_mapper.core.primes import factorize
from solver_mapper.core.problem import Problem
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.solution import Certificate
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.results.timer import Timer
from solver_mapper.core.results.verdict import Verdict, Violation
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.deadline import check_time
from solver_mapper.errors import ExactnessError, InputError
from solver_mapper.mapspace.space import Space, build_space
from solver_mapper.solve.cpsat.engine import Settings, solver_name
from solver_mapper.solve.cpsat.goal_search import ProvenStep
from solver_mapper.solve.cpsat.model_hook import Hook
from solver_mapper.solve.cpsat.search import Search
from solver_mapper.solve.cpsat.turns import Walks
from solver_mapper.solve.improvement import Ground, ground, improved, runs
from solver_mapper.solve.outward.cases import Cases, walk_of
from solver_mapper.solve.outward.deepening import Deepening, Span
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.solve.partial_mapping import with_directives
from solver_mapper.solve.pool.pool import Later, Pool, Shared
from solver_mapper.solve.prepare import prepare
from solver_mapper.verify.bound import LowerBound
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace

FEW_NESTS, MANY_NESTS = 2_000, 30_000
"""Mapspaces of at most so many loop nests are enumerated where CP-SAT does not prove at once, or
where neither it nor walks do.
"""
WAYS = 10
"""How many times as many ways to factorize all dimensions these may have."""
ONCE = 50_000
"""Inner mappings that a short walk may examine."""
MOST_OPERATIONS = 2**60
"""What the words and cycles of the compiled model, small multiples of it, can count up to."""
CHECKS = (
    "legal for hardware, problem and constraints",
    "statistics equal to the exact cost model's",
    "no bound exceeds the value",
)
"""What `Session.checked` has looked at."""


@dataclass
class Session:
    """`spec` has the directives of a mapping that is given in part among its constraints."""

    spec: Spec
    settings: Settings = field(default_factory=Settings)
    clock: Clock = field(default_factory=Clock)
    on_progress: Callable[[Progress], None] | None = None
    timer: Timer = field(default_factory=Timer)
    workers: int = 1
    """How many processes may take part in the search."""
    out_of_memory: bool = False
    """Whether a phase ended for want of memory: the answer is the best so far."""
    _first_walk: Walk | Cases | None = None
    _counted: dict[int, bool] = field(default_factory=dict)

    def ended_by(self, error: Exception) -> None:
        """Note what ended a phase early."""
        self.out_of_memory |= isinstance(error, MemoryError)

    @cached_property
    def pool(self) -> Pool:
        """The processes that take part in the search. Whoever searches closes it at the end."""
        return Pool(self.workers)

    @cached_property
    def space(self) -> Space:
        """The mapspace with the reductions of the compiled model."""
        architecture = self.spec.need_architecture()
        return build_space(
            architecture, self.spec.need_problem(), self.spec.constraints, latency(architecture)
        )

    @cached_property
    def all_mappings(self) -> EnumeratedMapspace:
        """The same mapspace without any reduction."""
        return EnumeratedMapspace(
            self.spec.need_architecture(), self.spec.need_problem(), self.spec.constraints
        )

    @cached_property
    def _seeds(self) -> Iterator[int]:
        """A seed for each run of local search after the first."""
        return count(self.settings.seed + 1)

    def violations(self, mapping: Mapping) -> tuple[Violation, ...]:
        """What a mapping violates: hardware, problem and constraints."""
        return all_violations(self.spec, mapping)

    def search(self, gap: float, *, hook: Hook | None = None) -> Search[Statistics]:
        """The mapspace, ready to be compiled anew and searched."""
        search = prepare(self.space, self.settings, self.clock, self.on_progress, gap, hook=hook)
        search.at_once = LowerBound(self.all_mappings).goal_at_once
        if hook is None:
            search.improve, search.walks = self.improved, self.walks
        return search

    def improved(
        self, goal: Goal, limits: Sequence[Limit], mapping: Mapping, effort: int
    ) -> Later[Mapping]:
        """The best mapping that local search finds from a legal one of the mapspace within limits;
        see `improvement.improved`.
        """
        self.pool.start()
        seeds = list(islice(self._seeds, runs(effort)))
        return self._ground.later(
            partial(
                improved,
                goal=goal,
                limits=tuple(limits),
                mapping=mapping,
                effort=effort,
                seeds=seeds,
            )
        )

    @cached_property
    def _ground(self) -> Shared[Ground]:
        """Where local search looks."""
        spec = replace(self.spec, source=None)
        return self.pool.shared(Ground(self.spec, self.all_mappings), partial(ground, spec))

    def walks(self, goal: Goal, limits: Sequence[Limit] = ()) -> Walks | None:
        """All mappings of the mapspace within the limits, if it has few; or walks outwards over it,
        if these know of all figures that are limited.
        """
        if self._has_at_most(FEW_NESTS):
            return Walks(
                lambda _span, _effort: iter([self._enumerated(goal, limits)]),
                lambda _target: iter([self._enumerated(goal, limits)]),
            )
        return self._outwards(goal, limits)

    def _walk(self, goal: Goal, limits: Sequence[Limit]) -> Walk | Cases:
        """A walk, with the tables of the first one."""
        if self._first_walk is None:
            self.pool.start()
            self._first_walk = walk_of(self.all_mappings, goal, self.pool)
        return self._first_walk.toward(goal, limits)

    def _outwards(self, goal: Goal, limits: Sequence[Limit]) -> Walks:
        walk: Walk | Cases | None = None
        with suppress(ValueError, MemoryError):
            walk = self._walk(goal, limits)
        walks = None if walk is None else Deepening(walk)

        def ends(span: Span, effort: float) -> Iterator[Ends]:
            some = False
            for each in self._legal(walks.ends(span, effort)) if walks is not None else ():
                some = True
                yield each
            if not some and self._has_at_most(MANY_NESTS):
                yield self._enumerated(goal, limits)

        def once(target: float) -> Iterator[Ends]:
            if walk is not None:
                yield from self._legal(iter([walk.ends(target, examined=ONCE)]))

        factors = (FactorConstraint, ProductConstraint)
        later = any(isinstance(each, factors) for each in self.all_mappings.constraints)
        first = walk is not None and walk.first
        return Walks(ends, once, first, later)

    def _legal(self, found: Iterator[Ends]) -> Iterator[Ends]:
        """The same with those mappings that constraints admit, as long as memory suffices."""
        with suppress(ValueError, MemoryError):
            for ends in found:
                yield ends._replace(mappings=tuple(filter(self._admits, ends.mappings)))

    def _has_at_most(self, nests: int) -> bool:
        """Whether there are so few loop nests, and few ways to factorize: these have to be looked
        at one by one.
        """
        if nests not in self._counted:
            self._counted[nests] = self._count_at_most(nests)
        return self._counted[nests]

    def _count_at_most(self, nests: int) -> bool:
        places = len(self.all_mappings.loop_slots)
        ways = prod(
            comb(times + places - 1, times)
            for size in self.all_mappings.problem.bounds.values()
            for _, times in factorize(size)
        )
        return ways <= WAYS * nests and self.all_mappings.count(nests) is not None

    def _enumerated(self, goal: Goal, limits: Sequence[Limit]) -> Ends:
        """The best of all mappings within the limits, each evaluated."""
        every = Exhaustive(self.all_mappings, limits)
        (best,) = every.best([Objective((goal,))], check_time)
        if best is None:
            return Ends((), inf)
        mapping, statistics = best
        return Ends((mapping,), goal.rank(statistics))

    def _admits(self, mapping: Mapping) -> bool:
        return self.all_mappings.contains(mapping) and is_legal(self.spec, mapping)

    def checked(
        self, mapping: Mapping, statistics: Statistics, bound: Fraction | None, goals: Objective
    ) -> Statistics:
        """The statistics of an answer, computed afresh, after the `CHECKS`.

        Raises: ExactnessError if one fails.
        """
        return checked(self.spec, mapping, statistics, bound, goals)

    def certificate(
        self, proofs: tuple[ProvenStep, ...], checks: tuple[str, ...] = (), hook: Hook | None = None
    ) -> Certificate:
        """What was proven about this session's mapspace, and how."""
        hooked = {} if hook is None else {"model_hook": getattr(hook, "__qualname__", repr(hook))}
        return Certificate(
            describe(self.space, self.spec.constraints) | hooked,
            solver_name(),
            self.settings.seed,
            self.settings.parameters(),
            tuple(proof.to_dict() for proof in proofs),
            checks,
        )


def require_countable(problem: Problem) -> None:
    """Raises: InputError for more operations, tensors of more words, or larger strides than the
    solver's 64-bit integers can count.
    """
    counts = [(problem.macs, f"'{problem.name}' has", " operations")]
    for tensor in problem.tensors:
        stride = max((abs(term.coefficient) for rank in tensor.ranks for term in rank), default=0)
        counts.append((tensor.footprint(problem.bounds), f"'{tensor.name}' spans", " words"))
        counts.append((stride, f"'{tensor.name}' has a stride of", ""))
    for number, what, unit in counts:
        if number > MOST_OPERATIONS:
            raise InputError(
                f"{what} {_rounded(number)}{unit}; a search takes at most"
                f" {float(MOST_OPERATIONS):.3g}",
                problem.location,
                "'evaluate' and 'bound' have no such limit",
            )


def _rounded(count: int) -> str:
    """A count of any size, in short."""
    return f"{float(count):.3g}" if count < 10**300 else "more than 1e+300"


def open_session(
    spec: Spec,
    *,
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    clock: Clock | None = None,
    keep_mapping: bool | None = None,
) -> Session:
    """A session for `spec`. Args: as for `api.solve`; a `clock` replaces `time_limit`.

    Raises: InputError if directives are to be kept and there are none, and for a problem whose
    operations the solver cannot count.
    """
    if spec.problem is not None:
        require_countable(spec.problem)
    timer = Timer()
    return Session(
        with_directives(spec, keep_mapping),
        Settings(seed=seed),
        clock or Clock(time_limit),
        on_progress,
        timer,
        workers or 1,
    )


def checked(
    spec: Spec, mapping: Mapping, statistics: Statistics, bound: Fraction | None, goals: Objective
) -> Statistics:
    """See `Session.checked`."""
    require_legal(spec, mapping)
    again = evaluate(spec.need_architecture(), spec.need_problem(), mapping)
    if any(goal.rank(again) != goal.rank(statistics) for goal in goals.goals):
        raise ExactnessError("two evaluations of one mapping differ")
    value = goals.goals[0].rank(statistics)
    if bound is not None and bound > value:
        raise ExactnessError(f"the proven bound {float(bound)} exceeds the value {float(value)}")
    return replace(again, verdict=Verdict())


def describe(space: Space, constraints: tuple[Constraint, ...]) -> dict[str, Any]:
    """The mapspace as a certificate names it."""
    kinds: dict[str, type[Constraint]] = {
        "limits": ProductConstraint,
        "caps": MetricConstraint,
        "dataflows": NestingConstraint,
    }
    listed = {
        name: [each.text for each in constraints if isinstance(each, kind)]
        for name, kind in kinds.items()
    }
    listed["kept_from_mapping"] = [each.text for each in constraints if each.origin == MAPPING]
    free = [
        f"{tensor}@{level.name}"
        for tensor in space.problem.tensor_names
        for number, level in enumerate(space.architecture.levels)
        if (tensor, number) not in space.keep
    ]
    return {
        "factors": "perfect",
        "levels": space.depth,
        "dimensions": {dim: space.problem.bounds[dim] for dim in space.dims},
        "orders": _orders(len(space.temporal_orders)),
        "bypass": f"{len(free)} bypass choices unconstrained" if free else "bypass fixed",
        "free_bypass": free,
        "restricted_factors": len(space.factors),
        **{name: texts for name, texts in listed.items() if texts},
    }


def _orders(constrained: int) -> str:
    if not constrained:
        return "all loop permutations"
    return f"loop permutations are constrained at {constrained} level{'s' * (constrained > 1)}"
