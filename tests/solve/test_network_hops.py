"""What networks charge beyond entries: the bound of hops against the exact rule, and proofs on
networks that charge for them.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver_mapper.cost.timeloop.multicast_groups import double_hops
from solver_mapper.cost.timeloop.spatial_elements import Grid
from solver_mapper.solve.cpsat.networks.network_hops import least_double_hops
from tests.instances import instance
from tests.solve.test_compiled_model import disagreements as model_disagreements
from tests.solve.test_solver_against_enumeration import disagreements


@given(
    st.integers(1, 6), st.integers(1, 6), st.integers(1, 9), st.integers(1, 9), st.integers(0, 999)
)
def test_no_partition_into_groups_has_fewer_hops(groups, receivers, width, height, seed):
    """Whichever of the units, laid row by row, make up the groups."""
    units = groups * receivers
    height = max(height, -(-units // width))
    members = list(range(units))
    Random(seed).shuffle(members)
    found = sum(
        double_hops(members[at : at + receivers], Grid(width, height))
        for at in range(0, units, receivers)
    )
    assert units == 1 or least_double_hops(groups, receivers, width, height) <= found


@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 9))
def test_words_of_one_receiver_each_are_exact(units, width, height):
    """Without multicast the bound is what the words pay."""
    height = max(height, -(-units // width))
    found = sum(double_hops([each], Grid(width, height)) for each in range(units))
    assert units == 1 or least_double_hops(units, 1, width, height) == found


@pytest.mark.parametrize("seed", [5029, 5200, 5201, 5202])
def test_claims_are_lower_bounds(seed):
    """With charging networks, bypassed levels among them, whose hops are those of a held tensor."""
    assert not model_disagreements(instance(seed, 10**6), 3)


def test_neighbours_reads_share_blocks_with_the_level_s_own():
    """A level that reads blocks reads words for the next level and for neighbours together."""
    assert not model_disagreements(instance(5225, 10**6), 3)


def test_a_network_that_charges_hops_is_proven():
    """Products on networks that charge for hops, routers and links: proven with a gap of 0."""
    assert not disagreements(instance(17, 500).spec, ("energy",), time_limit=60)
