"""Finding the legal mapping with the fewest factors changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ortools.sat.python import cp_model

from solver_mapper.check.mapping import all_violations
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import Kind, MetricConstraint
from solver_mapper.core.loop_orders import pairs_at
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.primes import exponents_of
from solver_mapper.core.spec import Spec
from solver_mapper.errors import ExactnessError, LimitReached
from solver_mapper.explain.nearest.directives import KINDS, MappingDirectives, directives_of
from solver_mapper.explain.nearest.suggestion import Suggestion
from solver_mapper.mapspace.order_patterns import arrange
from solver_mapper.mapspace.requirements import requirements_of
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.legality.extract import mapping_of
from solver_mapper.solve.legality.listing import exclude
from solver_mapper.solve.legality.model import Legal, legal_model
from solver_mapper.solve.legality.queries import least

_TRIES = 200
"""Mappings that are evaluated before the search ends without one."""
Cost = tuple[list[cp_model.LinearExprT], int]
"""Terms of what is to be small, and the most that they can be together."""


def suggest_for(spec: Spec, mapping: Mapping, hold_bypass: bool, clock: Clock) -> Suggestion:
    """See `api.suggest`."""
    if not all_violations(spec, mapping):
        return Suggestion(mapping, mapping)
    architecture, problem = spec.need_architecture(), spec.need_problem()
    given = directives_of(mapping, architecture, problem)
    legal = legal_model(architecture, problem, requirements_of(spec))
    caps = [
        constraint for constraint in spec.constraints if isinstance(constraint, MetricConstraint)
    ]
    _fewer_steps(legal, caps)
    distance = _distance(legal, given, hold_bypass)
    for tried in range(_TRIES):
        try:
            answer = least(legal, distance, clock)
        except LimitReached:
            break
        if answer.read is None:
            return Suggestion(mapping, None, proven=tried == 0)
        found = _in_order(spec, mapping_of(legal, answer.read), given)
        wrong = all_violations(spec, found)
        if not wrong:
            return Suggestion.between(given, found, mapping, answer.proven and tried == 0)
        if not all(isinstance(each.constraint, MetricConstraint) for each in wrong):
            raise ExactnessError(f"the solver returned an illegal mapping: {wrong[0].message}")
        exclude(legal, answer.read)
    return Suggestion(mapping, None, proven=False)


def _fewer_steps(legal: Legal, caps: Sequence[MetricConstraint]) -> None:
    """No mapping has fewer cycles than steps of its temporal loops; other caps are evaluated one
    mapping at a time.
    """
    most = min(
        (constraint.most for constraint in caps if constraint.metric == "cycles"), default=None
    )
    if most is not None and legal.loops.dims:
        temporal = [slot for slot in legal.loops.slots if not slot.axis]
        steps = legal.loops.value(legal.loops.loop_slots(legal.loops.dims, temporal))
        legal.model.add_bool_or(steps.where(lambda value: value <= most))


def _distance(legal: Legal, given: MappingDirectives, hold_bypass: bool) -> cp_model.LinearExprT:
    """Factors changed; of equal numbers, tensors newly kept or bypassed (these first, if they are
    to be held); then loops turned to the other axis of a mesh; then the prime factors moved.
    """
    moved, changed = _factors(legal, given)
    storage = _storage(legal, given)
    terms: list[cp_model.LinearExprT] = []
    weights: list[int] = []
    weight = 1
    for cost, most in (
        moved,
        _axes(legal, given),
        *((changed, storage) if hold_bypass else (storage, changed)),
    ):
        terms += cost
        weights += [weight] * len(cost)
        weight *= most + 1
    return cp_model.LinearExpr.weighted_sum(terms, weights)


def _factors(legal: Legal, given: MappingDirectives) -> tuple[Cost, Cost]:
    """(prime factors moved, factors changed)."""
    model, gaps, literals, most = (
        legal.model,
        list[cp_model.LinearExprT](),
        list[cp_model.LinearExprT](),
        0,
    )
    for (level, kind), dim in ((nest, dim) for nest in given.nests for dim in legal.loops.dims):
        primes = legal.loops.limits[dim]
        loop = given.loop(level, kind, dim)
        powers = (
            exponents_of(loop.bound, tuple(primes)) if loop.perfect and loop.bound > 0 else None
        )
        slots = legal.loops.at(level, kind)
        if not slots or powers is None:
            continue
        literal = model.new_bool_var(f"changed[{level},{kind},{dim}]")
        literals.append(literal)
        for (prime, limit), power in zip(primes.items(), powers, strict=True):
            found = cp_model.LinearExpr.sum([legal.loops.power[dim, prime, slot] for slot in slots])
            gap = model.new_int_var(0, max(limit, power), "")
            model.add(gap >= found - power)
            model.add(gap >= power - found)
            model.add(gap == 0).only_enforce_if(~literal)
            gaps.append(gap)
            most += max(limit, power)
    return (gaps, most), (literals, len(literals))


def _axes(legal: Legal, given: MappingDirectives) -> Cost:
    used: list[cp_model.LinearExprT] = []
    for (level, kind), nest in given.nests.items():
        for dim, loop in nest.items():
            other = Slot(level, {"X": "Y", "Y": "X"}.get(loop.axis, ""))
            if (
                kind == "spatial"
                and loop.bound > 1
                and dim in legal.loops.dims
                and other in legal.loops.slots
            ):
                used.append(legal.loops.used(dim, other))
    return used, len(used)


def _storage(legal: Legal, given: MappingDirectives) -> Cost:
    turned: list[cp_model.LinearExprT] = [
        ~keep if tensor in given.levels[level].keep else keep
        for (tensor, level), keep in legal.storage.keep.items()
    ]
    return turned, len(turned)


def _in_order(spec: Spec, found: Mapping, given: MappingDirectives) -> Mapping:
    """`found` with its loops in the order given, as far as constraints allow; loops that are new
    stand outside the others. Reuse that was switched off stays so.
    """
    levels = []
    for index, (level, before) in enumerate(zip(found.levels, given.levels, strict=True)):
        nests = {
            kind: _arranged(spec, level, kind, tuple(given.nests[index, kind])) for kind in KINDS
        }
        names = frozenset(spec.need_problem().tensor_names)
        levels.append(
            replace(
                level,
                temporal=nests["temporal"],
                spatial=nests["spatial"],
                no_temporal_reuse=level.no_temporal_reuse | before.no_temporal_reuse & names,
                no_multicast=level.no_multicast | before.no_multicast & names,
                no_link_transfer=level.no_link_transfer | before.no_link_transfer & names,
            )
        )
    return replace(found, levels=tuple(levels))


def _arranged(
    spec: Spec, level: LevelMapping, kind: Kind, order: Sequence[str]
) -> tuple[Loop, ...]:
    """The loops of one nest, outer to inner; `order` is the one given, innermost first."""
    problem = spec.need_problem()
    pairs = pairs_at(spec.constraints, level.level, kind, problem.dims)
    wanted = dict.fromkeys((*order, *problem.dims))
    inward: list[Loop] = []
    for axis in ("",) if kind == "temporal" else ("X", "Y"):
        loops = {
            each.dim: each
            for each in (level.temporal if kind == "temporal" else level.spatial)
            if each.axis == axis
        }
        inward += [loops[dim] for dim in arrange([dim for dim in wanted if dim in loops], pairs)]
    return tuple(reversed(inward))
