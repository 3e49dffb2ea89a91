"""The solver's answers against those of looking at every mapping: same feasibility, same best
value, a mapping of the mapspace.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import figure, parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.solve.branch_and_bound import Engine
from solver_mapper.solve.cpsat import goal_search
from solver_mapper.solve.run import solve_spec
from solver_mapper.solve.session import open_session
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.instances import (
    PLAIN,
    SHAPES,
    Instance,
    in_odd_clusters,
    instance,
    odd_instance,
)
from tests.mapspace.all_mappings import every_legal

OBJECTIVES = ("energy", "delay", "edp", "last-level-accesses")


def disagreements(
    spec: Spec,
    objectives=OBJECTIVES,
    time_limit: float | None = None,
    engine: Engine = "cpsat",
    unproven: list[str] | None = None,
) -> list[str]:
    """What differs between solving and enumerating, in words. Answers that a time limit left
    without a proof are wrong as well, unless `unproven` gathers those whose value and bound are
    right.
    """
    mapspace = EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    goals = [parse_objective(text) for text in objectives]
    wrong = []
    for text, objective, best in zip(
        objectives, goals, Exhaustive(mapspace).best(goals), strict=True
    ):
        session = open_session(spec, time_limit=time_limit)
        solution = solve_spec(session, text, gap=0, engine=engine)
        least = None if best is None else objective.goals[0].rank(best[1])
        if (
            unproven is not None
            and solution.status == "feasible"
            and least is not None
            and solution.bound_rank <= least <= solution.rank
            and mapspace.contains(solution.mapping)
        ):
            unproven.append(f"{text}: {solution.bound} to {solution.value}")
            continue
        wanted = "infeasible" if best is None else "optimal"
        if solution.status != wanted:
            wrong.append(f"{text}: {solution.status} in {solution.seconds}, should be {wanted}")
            continue
        if best is None:
            continue
        if not solution.rank == solution.bound_rank == least:
            wrong.append(
                f"{text}: value {solution.value}, bound {solution.bound}, but {best[0]} has"
                f" {float(least)}"
            )
        if not mapspace.contains(solution.mapping):
            wrong.append(f"{text}: {solution.mapping} is not in the mapspace")
    return wrong


def _problem(bounds: str, **tensors: str) -> dict:
    """`_problem("M=4 K=6", A="M K", Z="+M")`: a plus marks the tensor that is written, P*2+R a
    window.
    """
    spaces = []
    for name, text in tensors.items():
        ranks = [
            [[*term.split("*")] if "*" in term else [term] for term in rank.split("+")]
            for rank in text.lstrip("+").split()
        ]
        spaces.append(
            {
                "name": name,
                "projection": ranks,
                **({"read-write": True} if text.startswith("+") else {}),
            }
        )
    sizes = {part.split("=")[0]: int(part.split("=")[1]) for part in bounds.split()}
    coefficients = [{"name": "two", "default": 2}, {"name": "three", "default": 3}]
    return {
        "problem": {
            "shape": {
                "name": "p",
                "dimensions": list(sizes),
                "coefficients": coefficients,
                "data-spaces": spaces,
            },
            "instance": sizes,
        }
    }


def _machine(macs: str, *levels: str) -> dict:
    """`_machine("4x2", "Buf 16 2x1 3.5")`: meshes, and for each level inner to outer its entries,
    mesh and pJ per access.
    """

    def mesh(text):
        x, y = map(int, text.split("x"))
        return {"instances": x * y, "meshX": x, "meshY": y}

    storage = [
        {"name": name, "entries": int(entries), "vector-access-energy": float(energy), **mesh(size)}
        for name, entries, size, energy in map(str.split, levels)
    ]
    storage.append(
        {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 100.0}
    )
    return {
        "arch": {
            "arithmetic": {"name": "MAC", "vector-access-energy": 1.0, **mesh(macs)},
            "storage": storage,
        }
    }


GEMM = {"A": "M K", "B": "K N", "Z": "+M N"}
CONV = {"W": "C K R", "I": "C P+R", "O": "+K P"}
KEEP_ALL = {"target": "Buf", "type": "bypass", "keep": ["A", "B", "Z"]}
CASES = {
    "gemm, two levels, all bypass choices free": [
        _problem("M=4 K=6 N=2", **GEMM),
        _machine("1x1", "Buf 12 1x1 2"),
    ],
    "gemm, two levels, everything kept": [
        _problem("M=4 K=6 N=2", **GEMM),
        _machine("1x1", "Buf 12 1x1 2"),
        {"architecture_constraints": [KEEP_ALL]},
    ],
    "gemm, three levels": [
        _problem("M=4 K=2 N=3", **GEMM),
        _machine("1x1", "RF 3 1x1 0.5", "Buf 14 1x1 4"),
    ],
    "gemm, a mesh of multipliers": [
        _problem("M=4 K=3 N=2", **GEMM),
        _machine("2x3", "Buf 16 1x1 3"),
    ],
    "gemm, rows of three units that are partly filled": [
        _problem("M=4 K=2 N=4", **GEMM),
        _machine("3x2", "RF 4 1x1 0.5"),
    ],
    "gemm, a mesh of register files, rules": [
        _problem("M=4 K=2 N=4", **GEMM),
        _machine("2x2", "RF 6 2x2 0.5"),
        {
            "mapspace_constraints": [
                {
                    "target": "DRAM",
                    "type": "spatial",
                    "factors": "N<=2",
                    "permutation": "NMK",
                    "split": 1,
                },
                {"target": "RF", "type": "temporal", "permutation": "K"},
            ]
        },
    ],
    "batched gemm, free bypass, a row of multipliers": [
        _problem("B=2 M=2 K=4 N=2", A="B M K", V="B K N", Z="+B M N"),
        _machine("2x1", "Buf 10 1x1 2"),
    ],
    "mttkrp, two levels": [
        _problem("I=2 J=3 K=2 L=2", A="I K L", B="K J", C="L J", Z="+I J"),
        _machine("1x1", "Buf 9 1x1 2"),
    ],
    "conv with stride, two levels": [
        _problem("C=2 K=2 P=4 R=3", W="C K R", I="C P*two+R", O="+K P"),
        _machine("1x1", "Buf 20 1x1 2"),
    ],
    "conv, three levels, order given": [
        _problem("C=2 K=2 P=4 R=2", **CONV),
        _machine("1x1", "RF 4 1x1 0.5", "Buf 24 1x1 3"),
        {
            "mapspace_constraints": [
                {"target": "Buf", "type": "temporal", "permutation": "RP"},
                {"target": "RF", "type": "bypass", "keep": ["W"], "bypass": ["I"]},
            ]
        },
    ],
    "depthwise conv, a row of register files": [
        _problem("G=4 P=3 R=2", W="G R", I="G P+R", O="+G P"),
        _machine("2x1", "RF 8 2x1 0.5"),
    ],
    "dilated conv, nothing fits": [
        _problem("C=2 K=1 P=4 R=3", W="C K R", I="C P+R*three", O="+K P"),
        _machine("1x1", "Buf 5 1x1 2"),
        {
            "architecture_constraints": [
                {"target": "Buf", "type": "bypass", "keep": ["W", "I", "O"]},
                {"target": "Buf", "type": "temporal", "factors": "P=4"},
            ]
        },
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_hand_chosen_problems(name):
    """Proven optima of small problems of every kind are those of full enumeration."""
    assert not disagreements(sm.load(*CASES[name]))


@pytest.mark.parametrize("seed", [*range(25), *in_campaigns(range(25, 100))])
def test_random_products(seed):
    """Matrix products and their relatives with every constraint, price and flag: the solver equals
    enumeration.
    """
    assert not disagreements(instance(seed, 300, PLAIN, wired=False).spec)


PAIRS = (("energy", "delay"), ("delay", "energy"), ("last-level-accesses", "delay"))


def front_disagreements(made: Instance, metrics: tuple[str, str]) -> list[str]:
    """What differs between `pareto` and the front of all mappings."""
    front = sm.pareto(made.spec, metrics, time_limit=20)
    wanted = [
        tuple(figure(statistics, metric) for metric in metrics)
        for _, statistics in Exhaustive(made.mapspace).front(*metrics)
    ]
    found = [tuple(point.value(metric) for metric in metrics) for point in front.points]
    points = wanted if front.status in ("complete", "infeasible") else wanted[: len(found)]
    return [] if found == points else [f"front of {metrics}: {found}, should be {wanted}"]


def size_disagreements(made: Instance) -> list[str]:
    """What differs between `space` and counting legal mappings one by one."""
    found, groups = sm.space(made.spec).legal, list(every_legal(made.spec))
    wanted = sm.Count(
        len(groups),
        sum(len(each[0]) for each in groups),
        sum(len(group) for each in groups for group in each),
    )
    return [] if found == wanted else [f"{found} mappings, should be {wanted}"]


def odd_disagreements(seed: int, unproven: list[str] | None = None) -> list[str]:
    """What differs for one small mapspace of the campaign: one objective by its optimum, now and
    then the Pareto front or the number of mappings as well. Some optima are not proven in the five
    seconds that each has.
    """
    made, unproven = odd_instance(seed, 60), [] if unproven is None else unproven
    wrong = disagreements(made.spec, [OBJECTIVES[seed % 4]], time_limit=5, unproven=unproven)
    if seed % 10 == 3:
        wrong += front_disagreements(made, PAIRS[seed // 10 % len(PAIRS)])
    if seed % 10 == 7:
        wrong += size_disagreements(made)
    return [f"seed {seed}: {each}" for each in wrong]


@pytest.mark.parametrize("first", [0, 10])
def test_some_odd_problems(first):
    """Indices with dimensions that repeat, cancel or run backwards, declared networks and odd
    prices: optima, fronts and sizes of mapspaces are those of enumeration.
    """
    assert not [wrong for seed in range(first, first + 10) for wrong in odd_disagreements(seed)]


def test_prices_whose_sums_exceed_what_doubles_hold():
    """The solver's objective is a double: one that was rounded up is no claim that is too high."""
    assert not odd_disagreements(360)


def test_help_that_a_bypassed_tensor_lacks():
    """A candidate that bypasses the level whose units could help each other says nothing about
    mappings that store the tensor there: one of these is better.
    """
    assert not odd_disagreements(1211)


@pytest.mark.parametrize("seed", [88, 4, *in_campaigns(range(5, 88))])
def test_instances_that_are_not_in_whole_clusters(seed):
    """Where whole clusters alone pay, an instance may pay less than its part of a cluster."""
    made = in_odd_clusters(instance(seed, 400, list(PLAIN if seed % 2 else SHAPES)))
    assert not disagreements(made.spec, time_limit=60)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, 3000, 50))
def test_odd_problems(first):
    """The same for 3,000 mapspaces, of which 300 have their front compared and 300 their size."""
    assert not [wrong for seed in range(first, first + 50) for wrong in odd_disagreements(seed)]


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(200))
def test_random_problems(seed):
    """Larger mapspaces of all usual shapes, every objective, with networks that charge."""
    assert not disagreements(instance(seed, 500, list(SHAPES)).spec, time_limit=60)


@pytest.mark.parametrize("engine", ["branch-and-bound", "both"])
@pytest.mark.parametrize("seed", range(2003, 2006))
def test_branch_and_bound(seed, engine):
    """Branch and bound as the search, alone and before CP-SAT, gives the enumerated optimum."""
    spec = instance(seed, 40, list(SHAPES)).spec
    assert not disagreements(spec, ("energy", "edp"), engine=engine)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2012, 2200))
def test_branch_and_bound_on_random_problems(seed):
    """The same for more problems and every objective."""
    spec = instance(seed, 200, list(SHAPES)).spec
    assert not disagreements(spec, time_limit=300, engine="branch-and-bound")


@pytest.mark.parametrize("seed", [9, 10, *in_campaigns(range(11, 50))])
def test_bounds_of_metrics_below_a_cut_off_are_no_bounds_of_products_above_it(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short runs of CP-SAT from a mapping within the gap of the optimum: energy and cycles are
    bounded among better ones by more than the gap, of which there are none.
    """
    monkeypatch.setattr(goal_search, "EFFORT", 0.0)
    monkeypatch.setattr(goal_search, "LITTLE", 1e-3)
    case, gap = instance(seed, 3000), Fraction(3, 10)
    every = Exhaustive(case.mapspace)
    found = list(every.outcomes(lambda _: True))
    if not found:
        pytest.skip("no mapping is legal")
    products = [each.outcome.energy * each.outcome.cycles / Fraction(every.unit) for each in found]
    least = min(products)
    within = [product for product in products if product * (1 - gap) < least]
    search = open_session(case.spec).search(float(gap))
    search.improve = search.walks = search.at_once = None
    search.start_from(every.evaluate(found[products.index(max(within))])[0])
    search.minimize(parse_objective("edp"))
    assert search.bound is not None and search.bound <= least
