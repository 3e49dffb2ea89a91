"""Ruling out what is known exactly by now: a candidate's decisions, or a claim that holds for no
mapping.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.compile import CompiledSpace
from solver_mapper.solve.cpsat.engine import LARGEST
from solver_mapper.solve.cpsat.linear_form import highest
from solver_mapper.solve.cpsat.networks.links import LinkClaim
from solver_mapper.solve.cpsat.networks.neighbour_forwarding import ForwardingClaim
from solver_mapper.solve.cpsat.networks.standing import Moves, standing_of, sums_of_standing


def decisions(compiled: CompiledSpace) -> list[cp_model.IntVar]:
    """The variables that tell mappings apart, up to orders that `variants.py` goes through."""
    patterns = [literal for level in compiled.variables.pattern for literal in level]
    return [*but_orders(compiled), *patterns]


def but_orders(compiled: CompiledSpace) -> list[cp_model.IntVar]:
    """The variables that tell mappings apart, up to the orders of their loops."""
    variables = compiled.variables
    return [*variables.power.values(), *variables.keep.values(), *variables.on_x.values()]


def grounds(compiled: CompiledSpace, claim: ForwardingClaim) -> list[cp_model.IntVar]:
    """The decisions on which a claim of help rests.

    Who stands beside whom, and whether that helps a run, depends on the spatial loops there, on the
    tiles below, and on the units further out that the run's steps skip; whether it helps from run
    to run, also on all loops outside, of which idle ones decide what starts over inside them.
    """
    variables, relevant = compiled.variables, claim.tensor.dims

    def counts(dim: str, slot: Slot) -> bool:
        if slot.level >= claim.child:
            return dim in relevant
        if slot.axis:
            return slot.level == claim.child - 1 or dim in relevant
        return claim.between_runs

    shared = [v for (dim, _, slot), v in variables.power.items() if counts(dim, slot)]
    orders = (
        [literal for level in variables.pattern for literal in level] if claim.between_runs else []
    )
    return [*shared, *orders]


def forbid(
    model: cp_model.CpModel, variables: Sequence[cp_model.IntVar], values: Mapping[int, int]
) -> cp_model.Constraint:
    """At least one of `variables` must differ from its value, found by its index."""
    alone = [[variable] for variable in variables]
    return model.add_bool_or(_differing(model, alone, values))


def _differing(
    model: cp_model.CpModel, sums: Iterable[Sequence[cp_model.IntVar]], values: Mapping[int, int]
) -> list[cp_model.IntVar]:
    """Literals of which each implies that one of the sums differs from its value."""
    differs = []
    for variables in sums:
        total, value = cp_model.LinearExpr.sum(variables), sum(values[v.index] for v in variables)
        low = sum(variable.proto.domain[0] for variable in variables)
        for possible, bound in (
            (value > low, total <= value - 1),
            (value < sum(map(highest, variables)), total >= value + 1),
        ):
            if possible:
                literal = model.new_bool_var("")
                model.add(bound).only_enforce_if(literal)
                differs.append(literal)
    return differs


def refute(compiled: CompiledSpace, claim: ForwardingClaim, values: Mapping[int, int]) -> None:
    """Take back a claim of help that holds for no variant of a candidate, under the decisions that
    it rests on.
    """
    forbid(compiled.model, [claim.literal, *grounds(compiled, claim)], values)


def refute_standing(
    compiled: CompiledSpace, claim: ForwardingClaim, values: Mapping[int, int]
) -> bool:
    """Take back a claim, and all that are alike, if units that stand so cannot help each other,
    whatever the loops outside are. False if they may.
    """
    moves = Moves.ALL
    if claim.run is not None:
        moves = Moves.BETWEEN if claim.between_runs else Moves.WITHIN
    standing = standing_of(compiled.variables, claim.tensor, claim.child, values)
    if standing.may_help(moves, claim.run):
        return False
    sums = sums_of_standing(compiled.variables, claim.tensor, claim.child)
    differs = _differing(compiled.model, sums, values)
    for each in compiled.forwarding_claims:
        if replace(each, literal=claim.literal) == claim:
            compiled.model.add_bool_or([*differs, ~each.literal])
    return True


def refute_link(
    compiled: CompiledSpace, claim: LinkClaim, values: Mapping[int, int], known: set[Hashable]
) -> bool:
    """Make units that stand so, and have no neighbour with the same word, ask for it in idle steps
    as well: `lone_units.py` has the sum. False if there are none, or that is `known`.
    """
    model, child = compiled.model, compiled.variables.space.depth
    sums = sums_of_standing(compiled.variables, claim.tensor, child)
    key = claim.more.index, tuple(sum(values[v.index] for v in each) for each in sums)
    share = Fraction(0)
    if key not in known:
        known.add(key)
        share = standing_of(compiled.variables, claim.tensor, child, values).lone_share()
    lone, words = share.numerator, share.denominator
    if not lone or (claim.asked.highest() + claim.sent.highest()) * words >= LARGEST:
        return False
    here = model.new_bool_var("")
    model.add_bool_or([*_differing(model, sums, values), here])
    needed, constant = (claim.asked - claim.sent).whole(Fraction(1))
    model.add(words * claim.more >= lone * (needed + constant)).only_enforce_if(here, claim.on)
    return True
