"""A search with the exact nest model as its judge, under the space's caps on figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from solver_mapper.cpsat.compile import compile_space
from solver_mapper.cpsat.engine import Clock, Settings
from solver_mapper.cpsat.handle import Hook, Model
from solver_mapper.cpsat.passing import Scramble
from solver_mapper.cpsat.search import Progress, Search
from solver_mapper.cpsat.variables import break_symmetries
from solver_mapper.nest.figures import Figures
from solver_mapper.nest.model import Evaluator
from solver_mapper.objective import Goal, parse_objective
from solver_mapper.space.space import Space
from solver_mapper.space.symmetry import symmetries
from solver_mapper.spec.constraints import MetricRule


def prepare(space: Space, settings: Settings, clock: Clock, on_progress: Callable[[Progress], None] | None = None,
            gap: float = 0.0, *, symmetric: bool = False, hook: Hook | None = None) -> Search[Figures]:
    """The space compiled, ready to be searched; `symmetric` leaves mappings in that mirror others. A `hook` may add to the model."""
    compiled = compile_space(space)
    if hook is not None:
        hook(Model(compiled))
    elif not symmetric:
        break_symmetries(compiled.variables, symmetries(space))
    evaluator = Evaluator(space.architecture, space.problem)
    search = Search(compiled, evaluator.evaluate, settings, clock, partial(_helped, space), on_progress, gap, hook is not None)
    for rule in space.caps:
        search.cap(goal_of(rule), rule.most, strict=rule.strict)
    return search


def goal_of(rule: MetricRule) -> Goal:
    """The goal whose value a cap limits."""
    names = {"cycles": "delay", "energy_pj": "energy", "last_level_accesses": "last-level-accesses"}
    return parse_objective(names.get(rule.metric, rule.metric)).goals[0]


def _helped(space: Space, figures: Figures, claim: Scramble) -> bool:
    """Whether neighbours pass any words of the claim's tensor on, in the network above its child."""
    names = [*space.architecture.level_names, space.architecture.arithmetic.name]
    network = figures.networks[f"{names[claim.child - 1]} <==> {names[claim.child]}"]
    return network.tensors[claim.tensor.name].link_transfers > 0
