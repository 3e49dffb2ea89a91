"""`total_latency` in the words of different versions of AccelForge: the same counts and times."""

from __future__ import annotations

from fractions import Fraction

import pytest

from solver_mapper.cost.looptree.latency import Latency, Rate, latency_of
from solver_mapper.errors import NOWHERE, InputError

RATES = (Rate("read", Fraction(4)), Rate("write", Fraction(2)), Rate("hop", "inf"))
CALLS = {"read": Fraction(12), "write": Fraction(10), "hop": Fraction(7)}


def latency(text: str, rates: tuple[Rate, ...] = RATES, **names: Fraction) -> Latency:
    return latency_of(text, rates, names, NOWHERE, "total_latency of 'Buffer'")


@pytest.mark.parametrize(
    ("text", "same", "seconds"),
    [
        ("max(read_latency, write_latency)", "max(a.n_calls / a.throughput for a in actions)", 5),
        ("sum(*action2latency.values())", "sum(a.n_calls / a.throughput for a in actions)", 8),
        ("max(action2latency.values())", "max(a.n_calls / a.throughput for a in actions)", 5),
        ("read_actions + write_actions", "actions['read'].n_calls + actions['write'].n_calls", 22),
        ("max(read_actions * 8 / 32, 3)", "max(actions['read'].n_calls / 4, 3)", 3),
        ("hop_latency + hop_actions", "actions['hop'].n_calls", 7),
    ],
)
def test_counts_and_times_have_the_names_of_both_versions(
    text: str, same: str, seconds: int
) -> None:
    assert latency(text).at(CALLS) == seconds
    assert latency(same).at(CALLS) == seconds


def test_a_variable_of_the_user_comes_first() -> None:
    assert latency("read_actions * 2", read_actions=Fraction(3)).at(CALLS) == 6


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(InputError, match="unknown name 'reads_latency'"):
        latency("reads_latency")
    with pytest.raises(InputError, match="action 'read' has no throughput"):
        latency("read_latency", (Rate("read", None),))
    with pytest.raises(InputError, match="sums and maxima of positive multiples"):
        latency("5 + read_actions * -1")
    with pytest.raises(InputError, match="needs a list"):
        latency("sum(*3)")
