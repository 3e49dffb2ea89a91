"""Order patterns: no order of loops is better than all patterns."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from solver_mapper.mapspace.order_patterns import patterns

DIMS = "IJKL"
some = st.frozensets(st.sampled_from(DIMS))


def reused(order, gone):
    """Dimensions across which a tensor stays: the innermost run of those that do not index it."""
    kept = set()
    for dim in order:
        if dim not in gone:
            break
        kept.add(dim)
    return kept


def closed(pairs):
    """Constraints speak of whole orders, loops to 1 included: I inside J and J inside L puts I
    inside L whether or not J is there.
    """
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            return pairs
        pairs = pairs | more


def test_a_tensor_that_stops_early_keeps_what_it_reused():
    """K innermost serves C and Z, then L serves Z alone: one pattern has both, and it beats L
    before K.
    """
    found = patterns(
        ("J", "K", "L"),
        {"A": frozenset("J"), "C": frozenset("K"), "Z": frozenset("KL")},
    )
    assert any(dict(p.reuse)["C"] == {"K"} and dict(p.reuse)["Z"] == {"K", "L"} for p in found)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(some, min_size=1, max_size=4),
    st.sets(st.tuples(st.sampled_from(DIMS), st.sampled_from(DIMS)), max_size=3),
    some,
)
def test_every_order_is_matched(irrelevant, pairs, unit):
    """Whichever loops exist, each order that the constraints allow has a pattern that reuses no
    less.
    """
    pairs = closed({(inner, outer) for inner, outer in pairs if inner < outer})
    gone = {str(index): dims for index, dims in enumerate(irrelevant)}
    found = patterns(tuple(DIMS), gone, pairs)
    for order in permutations([dim for dim in DIMS if dim not in unit]):
        if any(
            order.index(outer) < order.index(inner)
            for inner, outer in pairs
            if {inner, outer} <= set(order)
        ):
            continue
        assert any(
            pattern.unit <= unit
            and all(reused(order, dims) <= pattern.reused(name) for name, dims in gone.items())
            for pattern in found
        ), order
