"""One search of a study: what goes to an executor, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from solver_mapper.core.arguments import refuse_given
from solver_mapper.core.clock import Clock
from solver_mapper.core.factors import PERFECT, is_imperfect
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP
from solver_mapper.core.progress import Progress
from solver_mapper.core.spec import Spec
from solver_mapper.errors import ExactnessError, SolverMapperError
from solver_mapper.explain.explain import conflict_entries
from solver_mapper.solve.confirm import verify_solution
from solver_mapper.solve.imperfect.run import solve_imperfect
from solver_mapper.solve.pareto import find_front
from solver_mapper.solve.run import solve_spec
from solver_mapper.solve.session import Session, open_session
from solver_mapper.startup import is_out_of_memory
from solver_mapper.study.execution.digest import digest
from solver_mapper.study.execution.record import Record
from solver_mapper.study.network_edp import NETWORK_EDP


@dataclass(frozen=True)
class SearchOptions:
    """The options of `solve` that decide its answer; limits of time are not among them."""

    objective: tuple[str, ...] = ("edp",)
    gap: float = GAP
    workers: int = 1
    seed: int = 0
    verify: bool = False
    tie_break: bool = True
    factors: str = PERFECT

    def check(self, objective: tuple[str, ...]) -> None:
        """Refuse options that mean nothing for an objective.

        Raises: InputError for options that the fronts behind `NETWORK_EDP` do not have.
        """
        if objective == (NETWORK_EDP,):
            refuse_given(
                {
                    "verify": self.verify,
                    "tie_break=False": not self.tie_break,
                    "gap": self.gap != GAP,
                },
                f"is not supported for the objective {NETWORK_EDP}: it needs the complete Pareto"
                " front of each layer",
            )
        if is_imperfect(self.factors):
            refuse_given(
                {
                    "verify": self.verify,
                    "workers above 1": self.workers > 1,
                    f"objective {NETWORK_EDP}": objective == (NETWORK_EDP,),
                },
                "is not supported with imperfect factors",
            )


@dataclass(frozen=True)
class Job:
    """A layer to be mapped within `time_limit` seconds (None: without a limit). `name` is for
    messages.
    """

    name: str
    spec: Spec
    options: SearchOptions
    digest: str
    """The key of the answer in a store."""
    time_limit: float | None = None
    tag: object = None
    """Where the answer counts, for whoever asks."""

    @classmethod
    def of(
        cls, name: str, spec: Spec, options: SearchOptions, time_limit: float | None = None
    ) -> Job:
        """The job, with its digest."""
        return cls(name, replace(spec, source=None), options, digest(spec, options), time_limit)

    def starting_from(self, mapping: Mapping) -> Job:
        """The same question; the search begins with a mapping that is known already."""
        return replace(self, spec=self.spec.with_mapping(mapping))


@dataclass(frozen=True)
class Outcome:
    """The answer to a job. `stored`: it was known before."""

    job: Job
    record: Record
    stored: bool = False


def _need_memory(session: Session) -> None:
    """A layer that had too little memory is tried again, and is not stored.

    Raises: MemoryError.
    """
    if session.out_of_memory:
        raise MemoryError


def solve_job(
    job: Job, clock: Clock, on_progress: Callable[[Progress], None] | None = None
) -> Record:
    """Map the layer. An error of ours becomes a record without an answer, so that other layers go
    on.

    Raises: MemoryError.
    """
    options = job.options
    allowed = job.time_limit
    try:
        session = open_session(
            job.spec,
            workers=options.workers,
            seed=options.seed,
            clock=clock,
            on_progress=on_progress,
        )
        if options.objective == (NETWORK_EDP,):
            front = find_front(session, gap=options.gap)
            _need_memory(session)
            return Record.of_front(front, clock.seconds if clock.stopped else allowed)
        if is_imperfect(options.factors):
            imperfect = solve_imperfect(
                session, options.objective, gap=options.gap, tie_break=options.tie_break
            )
            _need_memory(session)
            return Record.of(imperfect, clock.seconds if clock.stopped else allowed)
        solution = solve_spec(
            session,
            options.objective,
            gap=options.gap,
            explain_conflict=conflict_entries,
            tie_break=options.tie_break,
        )
        _need_memory(session)
        if options.verify:
            solution = verify_solution(job.spec, solution, clock, on_progress)
    except ExactnessError as error:
        return Record.failed(f"internal error, please report it with your input: {error}")
    except SolverMapperError as error:
        return Record.failed(str(error))
    except Exception as error:
        if is_out_of_memory(error):
            raise MemoryError from error
        return Record.failed(
            f"internal error, please report it with your input: {type(error).__name__}: {error}"
        )
    return Record.of(solution, clock.seconds if clock.stopped else allowed)
