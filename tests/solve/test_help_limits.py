"""What the search learns of units that lack neighbours holds for all mappings it is said of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.mapspace.space import build_space
from solver_mapper.solve.cpsat.compile import CompiledSpace, compile_space
from solver_mapper.solve.cpsat.networks.help_limits import HelpLimits
from tests.campaigns import in_campaigns


@pytest.fixture(scope="module")
def compiled() -> CompiledSpace:
    """A depthwise layer on a mesh that it fills only in part."""
    spec = sm.load("three_level", "tiny/dw_small")
    return compile_space(
        build_space(spec.need_architecture(), spec.need_problem(), spec.constraints)
    )


@pytest.mark.parametrize("seed", [*range(3), *in_campaigns(range(3, 6))])
def test_exponents_that_are_left_out_do_not_matter(compiled, seed):
    """Whatever they are, as long as the loops have room."""
    random = Random(seed)
    claim = random.choice([c for c in compiled.forwarding_claims if c.rows and c.child == 2])
    limits = HelpLimits(compiled, Clock())
    decisions = limits._decisions_of(claim.tensor, claim.child)

    def drawn(kept: dict[int, int]) -> Iterator[tuple[int, ...]]:
        for _ in range(2000):
            each = tuple(
                kept.get(number, random.randint(0, decisions.highest(number)))
                for number in range(len(decisions.exponents))
            )
            if decisions.possible(each, rows=True):
                yield each

    chosen = next(drawn({}))
    target = random.choice([0.25, 0.5, 0.75])
    kept, _, least = limits._widened(claim, decisions, chosen, lambda shares: shares[0] >= target)
    for each in (chosen, *islice(drawn(kept), 100)):
        within, between = limits._shares_of(claim, decisions, each)
        assert within >= least[0] and between >= least[1], each
