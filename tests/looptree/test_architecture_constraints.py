"""Rules that a user writes into an architecture: `solve` obeys them and still finds the best of
what they leave.
"""

from __future__ import annotations

import io
import itertools
from fractions import Fraction

import pytest

import solver_mapper as sm
from solver_mapper.cost.looptree.mapping.mapping_tree import Spatial, Storage
from tests.campaigns import in_campaigns

TEXT = """
arch:
  nodes:
  - !Memory
    name: Dram
    size: inf
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 20, throughput: 2}, {name: write, energy: 30, throughput: 2}]
  - !Memory
    name: Sram
    size: 14
    leak_power: 1
    tensors: {SRAM}
    actions: [{name: read, energy: 2, throughput: 8}, {name: write, energy: 3, throughput: 8}]
  - !Container
    name: Grid
    spatial:
    - {name: X, fanout: 4GRID}
  - !Compute
    name: Mac
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  rank_sizes: {M: 4, K: 6, N: 4, Q: 2}
  bits_per_value: {All: 1}
  einsums: [EINSUMS]
"""
ONE, TWO = (
    '"Z[m, n] = A[m, k] * B[k, n]"',
    '"Z[m, n] = A[m, k] * B[k, n]", "Y[m, q] = Z[m, n] * W[n, q]"',
)


def spec_of(sram: str = "may_keep: All", grid: str = "", einsums: str = ONE) -> sm.TreeSpec:
    text = (
        TEXT.replace("{SRAM}", f"{{{sram}}}")
        .replace("4GRID", f"4{grid}")
        .replace("EINSUMS", einsums)
    )
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return spec


def best(
    sram: str = "may_keep: All", grid: str = "", einsums: str = ONE, objective: str = "edp"
) -> sm.TreeSolution:
    """The optimum, which `validate` must find legal under the same rules."""
    spec = spec_of(sram, grid, einsums)
    solution = sm.solve(spec, objective)
    if solution.mapping is not None:
        assert sm.validate(spec, solution.mapping).legal
    return solution


def least(solutions: list[sm.TreeSolution]) -> Fraction:
    return min(each.value for each in solutions if each.value is not None)


@pytest.mark.parametrize("objective", ["energy", "latency", "edp", "energy^2*delay"])
def test_the_best_of_all_choices_of_memories_is_the_best_without_a_rule(objective: str):
    kept = [
        " | ".join(names) or "Nothing"
        for count in range(4)
        for names in itertools.combinations("ABZ", count)
    ]
    choices = [best(f"keep: {names}, may_keep: Nothing", objective=objective) for names in kept]
    assert least(choices) == best(objective=objective).value
    for names, solution in zip(kept, choices, strict=True):
        if solution.mapping is not None:
            nodes = [
                node
                for node in solution.mapping.walk()
                if isinstance(node, Storage) and node.component == "Sram"
            ]
            assert {tensor for node in nodes for tensor in node.tensors} == set(
                names.split(" | ")
            ) - {"Nothing"}


def test_the_best_of_all_orders_of_nodes_is_the_best_without_a_rule():
    orders = [
        best(f"keep: All, tensor_order_options: [[{', '.join(order)}]]")
        for order in itertools.permutations("ABZ")
    ]
    assert least(orders) == best("keep: All").value
    for order, solution in zip(itertools.permutations("ABZ"), orders, strict=True):
        assert solution.mapping is not None
        nodes = [
            node
            for node in solution.mapping.walk()
            if isinstance(node, Storage) and node.component == "Sram"
        ]
        assert [tensor for node in nodes for tensor in node.tensors] == list(order)


@pytest.mark.parametrize(
    ("grid", "same"),
    [
        (
            ", loop_bounds: [{expression: All.rank_variables, operator: 'product<=', value: 2}]",
            "fanout: 2",
        ),
        (
            ", loop_bounds: [{expression: All.rank_variables, operator: 'product==', value: 1}]",
            "fanout: 1",
        ),
        (
            ", loop_bounds: [{expression: All.rank_variables, operator: '<=', value: 1}]",
            "fanout: 1",
        ),
        (
            ", loop_bounds: [{expression: All.rank_variables, operator: 'product>=', value: 3}]",
            "fanout: 4, min_usage: 0.75",
        ),
        (", loop_bounds: [{expression: m | n, operator: '==', value: 1}]", "fanout: 4, reuse: Z"),
        (
            ", loop_bounds: [{expression: '{M, N}', operator: '<=', value: 1}]",  # ranks of Z
            "fanout: 4, reuse: Z",
        ),
        (", reuse: Z", "fanout: 4, loop_bounds: [{expression: m | n, operator: '<', value: 2}]"),
    ],
)
def test_bounds_of_loops_mean_what_other_rules_say_as_well(grid: str, same: str):
    for objective in ("energy", "edp"):
        text = (
            TEXT.replace("{SRAM}", "{may_keep: All}")
            .replace("fanout: 4GRID", same)
            .replace("EINSUMS", ONE)
        )
        other = sm.load(io.StringIO(text))
        assert isinstance(other, sm.TreeSpec)
        assert best(grid=grid, objective=objective).value == sm.solve(other, objective).value


@pytest.mark.parametrize("value", [1, 2, 3, 6])
def test_the_best_of_all_tile_shapes_is_the_best_without_a_rule(value: int):
    """Over the extent of k at the nodes of Sram: those of `==` are within those of `<=`, and some
    `==` reaches each optimum.
    """

    def bounded(operator: str, limit: int) -> sm.TreeSolution:
        return best(
            f"keep: A, may_keep: Nothing, tile_shape: [{{expression: k, operator: '{operator}',"
            f" value: {limit}}}]"
        )

    exact = [bounded("==", limit) for limit in (1, 2, 3, 6)]
    assert least(exact) == best("keep: A, may_keep: Nothing").value
    assert bounded("<=", value).value == least(
        [each for limit, each in zip((1, 2, 3, 6), exact, strict=True) if limit <= value]
    )


def test_nothing_fetched_again_is_nothing_sent_again():
    refetch = best("keep: All, no_refetch_from_above: B").value
    text = TEXT.replace("{SRAM}", "{keep: All}").replace(
        "may_keep: All}", "may_keep: All, no_resend_to_below: B}", 1
    )
    resend = sm.load(io.StringIO(text.replace("4GRID", "4").replace("EINSUMS", ONE)))
    assert isinstance(resend, sm.TreeSpec)
    assert sm.solve(resend, "edp").value == refetch
    assert refetch is not None and refetch >= (best("keep: All").value or 0)


def test_min_usage_is_a_rule_and_not_a_wish():
    """Of 4 copies, 3 can be used: by k of 6. So a share above one half and up to three quarters
    asks for at least 3.
    """
    solution = best(
        grid=", loop_bounds: [{expression: m | n, operator: '==', value: 1}], min_usage: 0.6"
    )
    assert solution.mapping is not None
    (loop,) = [node for node in solution.mapping.walk() if isinstance(node, Spatial)]
    assert (loop.variable, loop.name) == ("k", "X")
    impossible = best(
        grid=", loop_bounds: [{expression: m | n, operator: '==', value: 1}], min_usage: 1"
    )
    assert impossible.status == "infeasible"


def test_wires_that_reuse_less_cost_more():
    values = [
        best(grid=f", may_reuse: {names}", objective="energy").value
        for names in ("All", "A | B", "A", "Nothing")
    ]
    assert values == sorted(values, key=lambda value: value or 0) and values[0] != values[-1]


@pytest.mark.parametrize("objective", ["energy", "edp", *in_campaigns(["latency"])])
def test_an_intermediate_is_fused_where_a_memory_must_be_its_first(objective: str):
    """`back` decides fusion; the better of both ways is the optimum without it, for every goal."""
    free = best("keep: ~Dram, may_keep: All", einsums=TWO, objective=objective)
    fused = best(
        "back: Intermediates, keep: ~Dram, may_keep: All", einsums=TWO, objective=objective
    )
    text = TEXT.replace("keep: ~Intermediates, may_keep: All", "keep: All").replace(
        "{SRAM}", "{may_keep: All}"
    )
    apart = sm.load(io.StringIO(text.replace("4GRID", "4").replace("EINSUMS", TWO)))
    assert isinstance(apart, sm.TreeSpec)
    unfused = sm.solve(apart, objective)
    assert free.value == least([fused, unfused])
    assert fused.mapping is not None and fused.evaluation is not None
    assert fused.evaluation.action("Dram", "Z", "read") == 0


MACRO = """\
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    tensors: {keep: ~weight}
    actions: [{name: read, energy: 8, throughput: inf}, {name: write, energy: 8, throughput: inf}]
  - !Memory
    name: Drivers
    size: 4
    leak_power: 0
    tensors: {keep: input, no_resend_to_below: input}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Container
    name: Column
    spatial:
    - {name: X, fanout: 4, may_reuse: REUSED, min_usage: 1, power_gateable: True,
       loop_bounds: [{expression: "{m, k}", operator: "==", value: 1}]}
  - !Memory
    name: Cell
    size: 4
    leak_power: 1
    tensors: {keep: weight, no_refetch_from_above: weight, force_memory_hierarchy_order: False}
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Compute
    name: MAC
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  rank_sizes: {M: 2, N: 4, K: 4}
  bits_per_value: {All: 1}
  einsums:
  - name: E
    tensor_accesses:
    - {name: input, projection: [m, k]}
    - {name: weight, projection: [k, n]}
    - {name: output, projection: [m, n], output: True}
"""


def macro(reused: str, gate: str = "True") -> sm.TreeSpec:
    spec = sm.load(
        io.StringIO(
            MACRO.replace("REUSED", reused).replace(
                "power_gateable: True", f"power_gateable: {gate}"
            )
        )
    )
    assert isinstance(spec, sm.TreeSpec)
    return spec


def test_one_access_that_serves_all_copies_sends_nothing_again():
    """As in compute-in-memory macros, whose columns share their inputs: n in space sends each
    input once where the wires may reuse it, and not otherwise.
    """
    found = sm.solve(macro("input"), "energy")
    assert found.status == "optimal"
    assert found.mapping is not None
    assert sm.validate(macro("input"), found.mapping).legal
    verdict = sm.validate(macro("Nothing"), found.mapping)
    assert [violation.rule for violation in verdict.violations] == ["refetch"]
    refused = sm.solve(macro("Nothing"), "energy")
    assert refused.status == "infeasible"
    assert (
        refused.conflict
        and list(refused.conflict) == sm.explain(macro("Nothing")).to_dict()["conflict"]
    )


def test_switching_off_copies_of_which_all_are_used_changes_nothing():
    gated, other = (sm.solve(macro("input", gate), "energy") for gate in ("True", "False"))
    assert gated.value == other.value is not None


def test_orders_against_the_hierarchy_are_said_not_to_be_searched():
    assert "'Cell' allows orders against the memory hierarchy" in sm.solve(macro("input")).notes[0]
