"""`fuse --all-mappings` lists the mappings of single Einsums; `space` counts the fused design
space.
"""

import json
from itertools import product

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.bounds.fusion import FusionOptions, TensorCore, fuse, fuse_mappings
from solver_mapper.bounds.fusion.dataflow_graph import net_of
from solver_mapper.bounds.fusion.fuse import special_ranks
from solver_mapper.bounds.fusion.orojenesis_v2.design_space import fusion_space
from solver_mapper.bounds.fusion.orojenesis_v2.families import Family, families
from solver_mapper.bounds.fusion.orojenesis_v2.join import compatible
from solver_mapper.cli.app import app
from tests.bounds.fusion.fusion_cases import CHAIN2, CHAIN3, FORK, JOIN, workload

HEADS = [
    "QK[batch, head, m, n] = Q[batch, head, m, e] * K[batch, head, n, e]",
    "AV[batch, head, m, f] = QK[batch, head, m, n] * V[batch, head, n, f]",
]
CASES = [
    (CHAIN2, {"m": 4, "k": 2, "n": 6, "l": 3}, FusionOptions()),
    (CHAIN2, {"m": 4, "k": 2, "n": 4, "l": 1}, FusionOptions(uneven_tensors=True)),
    (CHAIN2, {"m": 4, "k": 4, "n": 2, "l": 2}, FusionOptions(tensor_core=TensorCore(2, 1, 2))),
    (FORK, {"m": 2, "k": 2, "p": 3, "q": 1, "r": 2}, FusionOptions(never_fuse=("T1",))),
    (CHAIN3, {"m": 2, "k": 1, "p": 2, "q": 2, "r": 1}, FusionOptions(must_fuse=("T1",))),
    (HEADS, {"batch": 2, "head": 2, "m": 2, "n": 1, "e": 1, "f": 1}, FusionOptions()),
]
COUNTED = [*CASES, (JOIN, dict.fromkeys("mkp", 2), FusionOptions())]
CHAIN = "examples/fusion/chain_8x4x8x4.yaml"


@pytest.mark.parametrize(("einsums", "sizes", "options"), CASES)
def test_the_list_spans_the_families_that_are_joined(einsums, sizes, options):
    """For each set of fused tensors and each order of fused loops, the least accesses of every
    buffer size are those of the search, which does not list.
    """
    load = workload(einsums, **sizes)
    net = net_of(load, options.tensor_core)
    rule = special_ranks(net, options, by_name=True)
    lowest = {}
    for each in fuse_mappings(load, options):
        step = lowest.setdefault((each.einsum, each.fused, each.fused_loops), {})
        step[each.buffer] = min(each.accesses, step.get(each.buffer, each.accesses))
    must = set(options.must_fuse)
    searched = {
        (net.problems[i].name, family.fused, family.loops): family.points
        for i in range(len(net.problems))
        for family in families(
            net,
            i,
            net.intermediates - set(options.never_fuse),
            rule,
            uneven_tensors=options.uneven_tensors,
        )
        if family.fused >= must & set(net.problems[i].tensor_names)
    }
    assert lowest.keys() == searched.keys()
    for key, steps in lowest.items():
        rows = [(row.buffer, row.accesses) for row in searched[key]]
        assert strict(steps.items()) == strict(rows)


def strict(points):
    kept = []
    for buffer, accesses in sorted(points):
        if not kept or accesses < kept[-1][1]:
            kept.append((buffer, accesses))
    return kept


@pytest.mark.parametrize(("einsums", "sizes", "options"), CASES)
def test_pareto_keeps_what_nothing_of_the_same_fusion_improves_upon(einsums, sizes, options):
    load = workload(einsums, **sizes)
    every = [each.to_dict() for each in fuse_mappings(load, options)]
    listed = [each.to_dict() for each in fuse_mappings(load, options, pareto=True)]

    def beaten(each):
        return any(
            other["buffer"] <= each["buffer"]
            and other["accesses"] <= each["accesses"]
            and (other["buffer"], other["accesses"]) != (each["buffer"], each["accesses"])
            for other in every
            if (other["einsum"], other["fused"], other["fused_loops"])
            == (each["einsum"], each["fused"], each["fused_loops"])
        )

    assert listed == [each for each in every if not beaten(each)]


@pytest.mark.parametrize(("einsums", "sizes", "options"), COUNTED)
def test_the_sizes_of_the_design_space_equal_a_count_one_by_one(einsums, sizes, options):
    """The families of each Einsum and their mappings are listed; every combination of families is
    asked whether all pairs are compatible.
    """
    load = workload(einsums, **sizes)
    net = net_of(load, options.tensor_core)
    rule = special_ranks(net, options, by_name=True)
    listed = [dict[tuple, list]() for _ in net.problems]
    numbers = {problem.name: i for i, problem in enumerate(net.problems)}
    for each in fuse_mappings(load, options):
        key = each.fused, each.fused_loops
        listed[numbers[each.einsum]].setdefault(key, []).append(each)
    counts = [0, 0, 0]
    for chosen in product(*(each.items() for each in listed)):
        found = [Family(i, fused, loops, None, ()) for i, ((fused, loops), _) in enumerate(chosen)]
        if all(
            compatible(net, one, other, rule) for one in found for other in found[one.einsum + 1 :]
        ):
            ways = [1, 1, 1]
            for _, mappings in chosen:
                ways[1] *= len({tuple(each.row.tile.items()) for each in mappings})
                ways[2] *= len(mappings)
            counts = [count + more for count, more in zip(counts, ways, strict=True)]
    size = fusion_space(load, options)
    assert [size.loop_orders, size.tiles, size.mappings] == counts
    assert size.fused_sets == 2 ** len(
        net.intermediates - set(options.never_fuse) - set(options.must_fuse)
    )
    for each, mine in zip(size.einsums, listed, strict=True):
        assert each.loop_orders == len(mine)
        assert each.mappings == sum(map(len, mine.values()))


def test_uneven_fusion_makes_more_combinations_compatible():
    load = workload(CHAIN2, m=4, k=2, n=4, l=2)
    even, uneven = (fusion_space(load, FusionOptions(uneven=flag)) for flag in (False, True))
    assert uneven.mappings > even.mappings
    assert [each.mappings for each in uneven.einsums] == [each.mappings for each in even.einsums]


def test_an_einsum_of_fused_tensors_alone_is_kept_with_uneven_tensors():
    """The second step reads and writes intermediates only: it has no tensor that could be whole
    beside them, and fuses all the same.
    """
    load = workload(["T[m] = A[m, k] * B[k]", "U[m] = T[m]", "V[m] = U[m] * C[m]"], m=4, k=2)
    with_, without = (
        fuse(load, "v2", FusionOptions(uneven_tensors=flag)) for flag in (True, False)
    )
    assert with_.least == without.least == 8 + 2 + 4 + 4


@pytest.mark.parametrize("tiled", [False, True])
def test_heads_run_one_after_another_and_free_their_working_sets(tiled):
    """A batch that acts like heads included: the curve is that of one head, as many times. Where
    heads count as tiled fusion, footprints add and more buffer is needed.
    """
    one, all_of_them = (
        fuse(
            workload(HEADS, batch=batch, head=head, m=4, n=4, e=2, f=2),
            "v2",
            FusionOptions(head_is_tiled=tiled),
        )
        for batch, head in ((1, 1), (2, 3))
    )
    same = [(p.buffer, 6 * p.accesses) for p in one.points] == [
        (p.buffer, p.accesses) for p in all_of_them.points
    ]
    assert same != tiled
    assert all_of_them.least == 6 * one.least


def test_the_command_lists_mappings_line_by_line():
    """The last: tiles of D move 2 x 16 words; those of E are written 4 times and read back twice,
    16 words each.
    """
    done = CliRunner().invoke(app, ["fuse", CHAIN, "--all-mappings"])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0
    assert len(lines) == 468
    assert lines[-1] == {
        "einsum": "E",
        "fused": ["C"],
        "fused_loops": ["n", "m"],
        "unfused_loops": [],
        "tile": {"m": 4, "n": 4, "l": 4},
        "whole": [],
        "buffer": 48,
        "accesses": 128,
    }
    fewer = CliRunner().invoke(app, ["fuse", CHAIN, "--all-mappings", "--pareto"]).stdout
    assert 0 < len(fewer.splitlines()) < len(lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pareto"], "--pareto needs --all-mappings"),
        (["--all-mappings", "--template", "ffmr"], "--template ffmr has no mappings of single"),
        (["--all-mappings", "--recompute"], "'recompute' has no meaning for the template 'v2'"),
    ],
)
def test_what_cannot_be_listed_is_refused(options, message):
    done = CliRunner().invoke(app, ["fuse", CHAIN, *options])
    assert done.exit_code == 2
    assert message in done.stderr


def test_space_of_a_workload_names_the_factors():
    done = CliRunner().invoke(app, ["space", CHAIN])
    assert done.exit_code == 0
    assert done.stdout.startswith("27,342 fused mappings; tensors that may stay on chip: C\n")
    shown = json.loads(CliRunner().invoke(app, ["space", CHAIN, "--json"]).stdout)
    assert (shown["fused_sets"], shown["loop_orders"], shown["tiles"], shown["mappings"]) == (
        2,
        14,
        4365,
        27342,
    )
    size = sm.space(sm.load(CHAIN))
    assert size.factors["fuse or not"] * size.factors["fused loop orders"] == 14


def test_space_of_loop_trees_takes_no_constraints():
    with pytest.raises(sm.InputError, match="constraints is not supported for LoopTree input"):
        sm.space(sm.load(CHAIN), constraints=sm.ConstraintSet(({"type": "temporal"},)))
