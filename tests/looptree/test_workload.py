"""Reading workloads: what a file says is what the record holds, and what it cannot say is an error
with a place.
"""

from __future__ import annotations

import io
import re
from fractions import Fraction

import pytest

from solver_mapper.cost.looptree.workload import Relevance, Workload
from solver_mapper.errors import InputError
from solver_mapper.io.accelforge.workload_file import read_workload
from solver_mapper.io.yaml.documents import read_documents


def read(text: str, **variables: int) -> Workload:
    top = read_documents(io.StringIO(text)).entries
    return read_workload(
        top["workload"],
        top.get("renames"),
        {name: Fraction(value) for name, value in variables.items()},
    )


MATMULS = """
workload:
  rank_sizes: {M: 4*size, N0: 8, N1: 2, N2: 6}
  bits_per_value: {weight: 8, Other: 16}
  persistent_tensors: weight - Intermediates
  einsums:
  - T1[m, n1] = T0[m, n0] * W0[n0, n1]
  - einsum: T2[m, n2] = T1[m, n1] * W1[n1, n2]
    tensor_accesses:
    - {name: T2, bits_per_value: 32}
    n_instances: 2
renames:
  einsums:
  - name: default
    tensor_accesses:
    - {name: input, source: Inputs & Intermediates if len(Inputs & Intermediates) == 1 else T0, \
expected_count: 1}
    - {name: output, source: Outputs, expected_count: 1}
    - {name: weight, source: ~(input | output), expected_count: 1}
"""


def test_concise_einsums_with_sizes_bits_and_renames():
    workload = read(MATMULS, size=3)
    first, second = workload.einsums
    assert (first.name, second.name) == ("T1", "T2")
    assert dict(first.bounds) == {"m": 12, "n0": 8, "n1": 2}
    assert [access.name for access in first.accesses] == ["T0", "W0", "T1"]
    assert {access.name: access.bits for access in second.accesses} == {"T1": 16, "W1": 8, "T2": 32}
    assert [access.name for access in first.accesses if access.persistent] == ["W0"]
    assert workload.intermediates == {"T1"} and workload.users("T1") == (0, 1)
    assert second.instances == 2 and second.operations == 12 * 2 * 6
    assert str(second) == "T2[m, n2] = T1[m, n1] * W1[n1, n2]"


def test_sliding_windows_have_partly_relevant_variables_and_exact_extents():
    workload = read("""
workload:
  iteration_space_shape: {p: 0 <= p < 14, r: "r >= 0 and r <= 2", c: 0 <= c < 3}
  bits_per_value: {All: 8}
  einsums:
  - name: Conv
    tensor_accesses:
    - {name: I, projection: {C: c, H: 2*p + r}}
    - {name: F, projection: [c, r]}
    - {name: O, projection: [p], output: true}
""")
    (einsum,) = workload.einsums
    image = einsum.by_tensor["I"]
    assert dict(einsum.bounds) == {"c": 3, "p": 14, "r": 3}
    assert image.footprint(einsum.bounds) == 3 * (2 * 13 + 2 + 1)
    assert [image.relevance(name) for name in "cpr"] == [
        Relevance.RELEVANT,
        Relevance.PARTIAL,
        Relevance.PARTIAL,
    ]
    assert einsum.by_tensor["O"].relevance("r") is Relevance.IRRELEVANT


@pytest.mark.parametrize("bound, size", [("< 0x10", 16), ("<= 0x10", 17), ("< 2 * 0X8", 16)])
def test_bounds_may_be_hexadecimal(bound: str, size: int) -> None:
    """They are no products of a number and a name, as `2p` is."""
    workload = read(f"""
workload:
  iteration_space_shape: {{m: 0 <= m {bound}}}
  bits_per_value: {{All: 8}}
  einsums:
  - name: Copy
    tensor_accesses:
    - {{name: A, projection: [m]}}
    - {{name: B, projection: [m], output: true}}
""")
    assert dict(workload.einsums[0].bounds) == {"m": size}


def test_ranks_and_variables_both_bound_and_the_intersection_counts():
    workload = read("""
workload:
  rank_sizes: {H: 10, P: 9}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "O[p] = I[H: p + r]"
    iteration_space_shape: [0 <= r < 30]
""")
    assert dict(workload.einsums[0].bounds) == {"p": 9, "r": 10}


@pytest.mark.parametrize(
    ("change", "words", "line"),
    [
        (("M: 4*size, ", ""), "'m' of Einsum 'T1' has no bounds", 7),
        (("M: 4*size", "M: 4*sise"), "unknown name 'sise'", 3),
        (("M: 4*size", "m: 4"), "spelt like a rank variable", 3),
        (("T1[m, n1] * W1", "T1[m, k: n1] * W1"), "ranks start with a capital", 8),
        (("T1[m, n1] * W1", "T1[m, N1: n1*n2] * W1"), "product of rank variables", 8),
        (("Other: 16", "T0: 16"), "has no bits_per_value", 7),
        (("Other: 16", "All: 16"), "both 'weight' and 'All' name 'W0'", 4),
        (("name: T2, bits", "name: T9, bits"), "not in the Einsum's formula", 10),
        (("T1[m, n1] = T0", "T1[m, n1] == T0"), "exactly one '='", 7),
        (("n_instances: 2", "instances: 2"), "has no field 'instances'", 11),
        (
            ("source: Outputs, expected_count: 1", "source: All, expected_count: 1"),
            "1 members are expected",
            17,
        ),
        (("T2[m, n2] = T1[m, n1]", "T2[m, n2] = T1[m, n2]"), "has the ranks", 8),
    ],
)
def test_errors_name_the_line(change: tuple[str, str], words: str, line: int):
    text = re.sub(r"(?m)einsum: (T2.*: n1.*)$", r"einsum: '\1'", MATMULS.replace(*change))
    with pytest.raises(InputError) as caught:
        read(text, size=3)
    assert words in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "expression",
    ["__import__('os')", "(1).__class__", "9**9**9", "1e999999", "[1]*9", "x if x else", "len(3)"],
)
def test_expressions_are_never_executed(expression: str):
    with pytest.raises(InputError):
        read(
            f'workload:\n  rank_sizes: {{M: "{expression}"}}\n  bits_per_value: {{All: 8}}\n '
            " einsums: ['Z[m] = A[m]']\n"
        )
