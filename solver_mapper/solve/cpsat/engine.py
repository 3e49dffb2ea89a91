"""Running CP-SAT: parameters that avoid its known defects, limits, interruption, and callbacks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock

Read = Callable[[cp_model.IntVar], int]


def solver_name() -> str:
    """Name and version of the solver, for certificates."""
    return f"OR-Tools CP-SAT {version('ortools')}"


@dataclass(frozen=True)
class Settings:
    """`workers` above 1 may change which of several optimal mappings is found. `others` are further
    parameters by name.
    """

    seed: int = 0
    workers: int = 1
    presolve: bool = True
    others: tuple[tuple[str, int | bool], ...] = ()

    def parameters(self) -> dict[str, int | bool]:
        """What is set, beyond defaults. `presolve_inclusion_work_limit=0` keeps clear of or-tools
        issue 5293. Probing, before the search or during it, takes longer than it saves: a
        selection has thousands of literals, and to fix one of them tells little.
        """
        return {
            "num_workers": self.workers,
            "random_seed": self.seed,
            "presolve_inclusion_work_limit": 0,
            "linearization_level": 2,
            "cut_level": 0,
            "cp_model_probing_level": 0,
            "use_sat_inprocessing": False,
            "symmetry_level": 0,
            "cp_model_presolve": self.presolve,
            **dict(self.others),
        }


@dataclass(frozen=True)
class Run:
    """The outcome of one run: `status` is CP-SAT's name for it, `bound` its proven lower bound of
    the whole-number objective.
    """

    status: str
    bound: float
    value: float | None


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
) -> Run:
    """Solve once, with at most `effort` of the solver's deterministic time. Runs in a thread of its
    own, so that interrupts reach the main thread at once.

    Raises: whatever `on_solution` raised.
    """
    solver = cp_model.CpSolver()
    for name, value in settings.parameters().items():
        setattr(solver.parameters, name, value)
    solver.parameters.catch_sigint_signal = False
    if clock.left is not None:
        solver.parameters.max_time_in_seconds = clock.left
    if effort is not None:
        solver.parameters.max_deterministic_time = effort
    if on_bound is not None:
        solver.best_bound_callback = on_bound
    failures: list[BaseException] = []

    def guarded(read: Read, bound: float) -> None:
        try:
            on_solution(read, bound)
        except BaseException as error:  # must not cross the C++ frames
            failures.append(error)
            solver.stop_search()

    status: list[cp_model.CpSolverStatus] = []
    clock.end_run = solver.stop_search
    thread = threading.Thread(
        target=lambda: status.append(solver.solve(model, _Watch(guarded))), daemon=True
    )
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    except KeyboardInterrupt:
        clock.stop()
        thread.join()
    clock.end_run = None
    if failures:
        raise failures[0]
    name = solver.status_name(status[0]) if status else "UNKNOWN"
    found = name in ("OPTIMAL", "FEASIBLE")
    return Run(name, solver.best_objective_bound, solver.objective_value if found else None)
