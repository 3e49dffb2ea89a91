"""A search with the exact cost model, under the space's caps on figures."""

from __future__ import annotations

from collections.abc import Callable

from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import GAP
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.cost.timeloop.energy import energy_unit
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.cost.timeloop.network_energy import networks_below
from solver_mapper.mapspace.space import Space
from solver_mapper.mapspace.symmetry import symmetries
from solver_mapper.solve.cpsat.compile import CompiledSpace, compile_space
from solver_mapper.solve.cpsat.engine import Settings
from solver_mapper.solve.cpsat.model_hook import Hook, Model
from solver_mapper.solve.cpsat.search import Search
from solver_mapper.solve.cpsat.variables import break_symmetries


def prepare(
    space: Space,
    settings: Settings,
    clock: Clock,
    on_progress: Callable[[Progress], None] | None = None,
    gap: float = GAP,
    *,
    symmetric: bool = False,
    hook: Hook | None = None,
) -> Search[Statistics]:
    """The space, ready to be compiled and searched; `symmetric` leaves mappings in that mirror
    others. A `hook` may add to the model.
    """

    def compiled() -> CompiledSpace:
        found = compile_space(space)
        if hook is not None:
            hook(Model(found))
        elif not symmetric:
            break_symmetries(found.variables, symmetries(space))
        return found

    assess = Evaluator(space.architecture, space.problem).evaluate
    search = Search(
        compiled,
        assess,
        settings,
        clock,
        on_progress,
        gap,
        hook is not None,
    )
    if all(each.free for networks in networks_below(space.architecture) for each in networks):
        search.energy_unit = energy_unit(space.architecture, space.problem.macs)
    search.limits = tuple(each.limit for each in space.caps)
    return search
