"""Properties that hold whatever the architecture, the problem and the mapping."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver_mapper.core.architecture import Buffer
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.problem import Term
from solver_mapper.cost.timeloop import Evaluator, Statistics, evaluate
from solver_mapper.cost.timeloop.tiles import build_nest
from tests.cost.step_by_step import Conventions, walk
from tests.strategies import Case, cases

RELAXED = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
TRACED = Conventions(False, False, False, False, False)


def figures_of(case: Case) -> Statistics:
    return evaluate(case.architecture, case.problem, case.mapping)


def remapped(case: Case, change: object) -> Statistics:
    levels = tuple(change(level) for level in case.mapping.levels)  # type: ignore[operator]
    return evaluate(case.architecture, case.problem, Mapping(levels))


@given(cases())
@RELAXED
def test_energy_is_exactly_the_sum_of_its_parts(case: Case) -> None:
    statistics = figures_of(case)
    for level in statistics.levels.values():
        if level.tensors:
            assert level.energy_pj == sum(
                (each.energy_pj for each in level.tensors.values()), level.leakage_pj
            )
    for network in statistics.networks.values():
        assert network.energy_pj == sum(
            (each.energy_pj for each in network.tensors.values()), Fraction(0)
        )
    parts = [
        each.energy_pj for each in (*statistics.levels.values(), *statistics.networks.values())
    ]
    assert statistics.energy_pj == sum(parts, Fraction(0))


def access_energy(
    buffer: Buffer, words: tuple[int, int, int], addresses: int, used: int
) -> Fraction:
    """Timeloop's own way to it: the energy of a cluster, divided among the instances that share it,
    times all that are used. Without a whole cluster it divides by infinity.
    """
    prices = buffer.energy.read, buffer.energy.fill, buffer.energy.update
    blocks = [ceil(Fraction(count, buffer.block_size)) for count in words]
    cluster = sum((count * price for count, price in zip(blocks, prices, strict=True)), Fraction(0))
    clusters = min(used, buffer.instances // buffer.cluster_size)
    if not clusters:
        return Fraction(0)
    return cluster / Fraction(used, clusters) * used + addresses * buffer.address_energy * clusters


@given(cases())
@RELAXED
def test_each_tensor_pays_for_its_blocks(case: Case) -> None:
    statistics = figures_of(case)
    for buffer in case.architecture.levels:
        for name, each in statistics.levels[buffer.name].tensors.items():
            writes = case.problem.tensor(name).read_write
            assert each.address_generations == each.fills + (each.updates if writes else each.reads)
            words = each.reads, each.fills, each.updates
            assert each.energy_pj == access_energy(
                buffer, words, each.address_generations, each.instances
            )


@given(cases(), st.randoms(use_true_random=False))
@RELAXED
def test_loops_to_one_change_nothing_wherever_they_stand(case: Case, random: object) -> None:
    def without(level: LevelMapping) -> LevelMapping:
        kept = tuple(loop for loop in level.temporal if loop.bound > 1)
        return replace(
            level, temporal=kept, spatial=tuple(loop for loop in level.spatial if loop.bound > 1)
        )

    def with_more(level: LevelMapping) -> LevelMapping:
        temporal, spatial = list(level.temporal), list(level.spatial)
        for dim in case.problem.dims:
            temporal.insert(random.randint(0, len(temporal)), Loop(dim, 1, 1))  # type: ignore[attr-defined]
            spatial.append(Loop(dim, 1, 1, "X"))
        return replace(level, temporal=tuple(temporal), spatial=tuple(spatial))

    assert figures_of(case) == remapped(case, without) == remapped(case, with_more)


@given(cases(), st.integers(2, 4))
@RELAXED
def test_splitting_a_loop_within_its_level_changes_nothing(case: Case, factor: int) -> None:
    def split(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        parts: list[Loop] = []
        for loop in loops:
            if loop.perfect and loop.bound % factor == 0:
                outer = loop.bound // factor
                parts += [
                    Loop(loop.dim, outer, outer, loop.axis),
                    Loop(loop.dim, factor, factor, loop.axis),
                ]
            else:
                parts.append(loop)
        return tuple(parts)

    same = remapped(
        case,
        lambda level: replace(level, temporal=split(level.temporal), spatial=split(level.spatial)),
    )
    assert same == figures_of(case)


@given(cases(), st.randoms(use_true_random=False))
@RELAXED
def test_terms_that_add_nothing_change_nothing(case: Case, random: object) -> None:
    """Dimensions of one point, coefficients of 0, and ranks of nothing else."""

    def nothing() -> tuple[Term, ...]:
        found = Term("ONE", random.randint(-2, 2)), Term(random.choice(case.problem.dims), 0)  # type: ignore[attr-defined]
        return found[: random.randint(0, 2)]  # type: ignore[attr-defined]

    problem = case.problem
    tensors = tuple(
        replace(
            each, ranks=(*((*rank, *nothing()) for rank in each.ranks), *filter(None, [nothing()]))
        )
        for each in problem.tensors
    )
    dims, bounds = (*problem.dims, "ONE"), {**problem.bounds, "ONE": 1}
    problem = replace(problem, dims=dims, bounds=bounds, tensors=tensors)
    assert evaluate(case.architecture, problem, case.mapping) == figures_of(case)


@given(cases(), st.randoms(use_true_random=False))
@RELAXED
def test_the_order_in_which_dimensions_are_declared_changes_nothing(
    case: Case, random: object
) -> None:
    dims = list(case.problem.dims)
    random.shuffle(dims)  # type: ignore[attr-defined]
    problem = replace(case.problem, dims=tuple(dims))
    assert evaluate(case.architecture, problem, case.mapping) == figures_of(case)


@given(cases(perfect=True, most=20_000))
@RELAXED
def test_the_closed_form_of_perfect_factors_is_what_the_automaton_counts(case: Case) -> None:
    """On problems far too large to be walked."""
    evaluator = Evaluator(case.architecture, case.problem, every_hop=True)
    nest = build_nest(case.problem, case.mapping)
    assert evaluator.unbypassed(nest, case.mapping) == evaluator.unbypassed(
        replace(nest, perfect=False), case.mapping
    )


@given(cases(perfect=True))
@RELAXED
def test_without_sliding_windows_links_and_residues_the_conventions_do_not_matter(
    case: Case,
) -> None:
    """A trace of the words, without any convention, gives the model's figures of plain tensors."""
    names = frozenset(case.problem.tensor_names)
    mapping = Mapping(
        tuple(
            replace(level, no_link_transfer=names, no_multicast=frozenset())
            for level in case.mapping.levels
        )
    )
    statistics = evaluate(case.architecture, case.problem, mapping)
    traced = walk(case.architecture, case.problem, mapping, TRACED)
    for tensor in case.problem.tensors:
        if any(len(rank) > 1 for rank in tensor.ranks) or sum(map(len, tensor.ranks)) > len(
            tensor.dims
        ):
            continue
        for level, words in traced.accesses[tensor.name].items():
            found = statistics.levels[level].tensors[tensor.name]
            assert (found.tile, found.reads, found.fills, found.updates) == (
                words.tile,
                words.reads,
                words.fills,
                words.updates,
            )
