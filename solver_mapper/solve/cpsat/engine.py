"""Running CP-SAT: parameters that avoid its known defects, limits, interruption, and callbacks."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.errors import ExactnessError, SolverMapperError
from solver_mapper.solve.cpsat.linear_form import too_large

Read = Callable[[cp_model.IntVar], int]
MOST_SEED, MOST_WORKERS = 2**31 - 1, 1000
"""CP-SAT keeps seeds in 32 bits; more threads than that are a slip of the pen."""
LARGEST = 2**62
"""No sum in a model exceeds this; larger capacities are no limits."""
THREAD = "cp-sat"
PATIENCE = 0.4
"""Seconds that a run may go on after the clock is over."""


def solver_name() -> str:
    """Name and version of the solver, for certificates."""
    return f"OR-Tools CP-SAT {version('ortools')}"


AVOIDED: Mapping[str, int | bool] = {
    "presolve_inclusion_work_limit": 0,
    "auto_detect_greater_than_at_least_one_of": False,
}
"""Parameters that keep clear of wrong answers of OR-Tools 9.15: its issue 5293; and a bound of x
where one of several literals holds, each of which implies x >= a_i y. For numbers from 2^37 on that
bound may be above the least x, and optima are lost (docs/explanation/proof.md).
"""


@dataclass(frozen=True)
class Settings:
    """`others` are further parameters by name."""

    seed: int = 0
    presolve: bool = True
    others: tuple[tuple[str, int | bool], ...] = ()

    def parameters(self) -> dict[str, int | bool]:
        """What is set, beyond defaults. Probing, before the search or during it, takes longer than
        it saves: a selection has thousands of literals, and to fix one of them tells little. Two
        threads take up to eight times as long as one, and end with other answers from run to run.
        """
        return {
            "num_workers": 1,
            "random_seed": self.seed,
            **AVOIDED,
            "linearization_level": 2,
            "cut_level": 0,
            "cp_model_probing_level": 0,
            "use_sat_inprocessing": False,
            "symmetry_level": 0,
            "cp_model_presolve": self.presolve,
            **dict(self.others),
        }


@dataclass(frozen=True)
class SolverRun:
    """The outcome of one run: `status` is CP-SAT's name for it, `bound` its proven lower bound of
    the whole-number objective. `effort` is the solver's deterministic time.
    """

    status: str
    bound: float
    value: float | None
    effort: float


class _Watch(cp_model.CpSolverSolutionCallback):
    def __init__(self, on_solution: Callable[[Read, float], None]):
        super().__init__()
        self._on_solution = on_solution

    def on_solution_callback(self) -> None:
        self._on_solution(self.value, self.best_objective_bound)


def run(
    model: cp_model.CpModel,
    settings: Settings,
    clock: Clock,
    on_solution: Callable[[Read, float], None],
    on_bound: Callable[[float], None] | None = None,
    effort: float | None = None,
) -> SolverRun:
    """Solve once, with at most `effort` of the solver's deterministic time.

    Raises: whatever `on_solution` raised; TimeUp, see `solved`.
    """
    solver = cp_model.CpSolver()
    for name, value in settings.parameters().items():
        setattr(solver.parameters, name, value)
    solver.parameters.catch_sigint_signal = False
    if clock.wall_left is not None:
        solver.parameters.max_time_in_seconds = clock.wall_left
    if effort is not None:
        solver.parameters.max_deterministic_time = effort
    if on_bound is not None:
        solver.best_bound_callback = lambda bound: on_bound(bound) if waiting else None
    failures: list[BaseException] = []
    waiting: list[bool] = [True]

    def guarded(read: Read, bound: float) -> None:
        if not waiting:
            return
        try:
            on_solution(read, bound)
        except BaseException as error:  # must not cross the C++ frames
            failures.append(error)
            solver.stop_search()

    try:
        status = solved(solver, model, clock, _Watch(guarded))
    finally:
        waiting.clear()
    if failures:
        raise failures[0]
    name = solver.status_name(status)
    found = name in ("OPTIMAL", "FEASIBLE")
    return SolverRun(
        name,
        solver.best_objective_bound,
        solver.objective_value if found else None,
        solver.response_proto.deterministic_time,
    )


def solved(
    solver: cp_model.CpSolver,
    model: cp_model.CpModel,
    clock: Clock,
    watch: cp_model.CpSolverSolutionCallback | None = None,
) -> cp_model.CpSolverStatus:
    """Solve in a thread of its own, so that interrupts reach the main thread at once, until the
    clock is over. Ctrl-C stops the clock, unless the program has a handler of its own.

    Raises: TimeUp where the solver does not end soon after it was told to.
    """
    status: list[cp_model.CpSolverStatus] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            status.append(solver.solve(model, watch))
        except BaseException as error:
            failures.append(error)

    thread = _Running(work)
    clock.end_run = solver.stop_search
    try:
        try:
            thread.start()
        except RuntimeError as error:
            raise MemoryError("there is no room for another thread") from error
        _wait(thread, clock)
    except KeyboardInterrupt:
        clock.interrupted = True
        clock.stop()
        _wait(thread, clock)
    finally:
        clock.end_run = None
        if not thread.ended.is_set():
            solver.stop_search()
            # A process whose solver still runs when Python is torn down is aborted.
            atexit.register(thread.ended.wait)
    if failures:
        raise failures[0]
    return status[0]


class _Running(threading.Thread):
    """A run of the solver. `ended` says when it has ended: an exception that a signal raises in
    `join` makes `is_alive` of Python 3.11 and 3.12 say so too early.
    """

    def __init__(self, work: Callable[[], None]):
        super().__init__(daemon=True, name=THREAD)
        self.work, self.ended = work, threading.Event()

    def run(self) -> None:
        """Work."""
        try:
            self.work()
        finally:
            self.ended.set()


def _wait(thread: _Running, clock: Clock) -> None:
    """Wait for the end of a run, which is stopped when the clock is over.

    Raises: TimeUp where the clock has been over for a while.
    """
    over_since: float | None = None
    while not thread.ended.wait(0.1):
        if not clock.over:
            continue
        clock.stop_run()
        now = time.monotonic()
        over_since = now if over_since is None else over_since
        if now - over_since > PATIENCE and not thread.ended.is_set():
            clock.check()


def invalid_model(model: cp_model.CpModel, what: str) -> SolverMapperError:
    """The error for a model that CP-SAT refuses: the input's, if its numbers are too large."""
    text = model.validate()[:500]
    if "int64" in text or "overflow" in text:
        return too_large()
    return ExactnessError(f"{what} is invalid: {text}")


def left_behind() -> bool:
    """Whether an abandoned run still computes: the process should end without waiting."""
    return any(
        isinstance(thread, _Running) and not thread.ended.is_set()
        for thread in threading.enumerate()
    )
