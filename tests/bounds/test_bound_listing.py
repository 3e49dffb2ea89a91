"""`bound --all-mappings`: every mapping of one Einsum, and the curve that they span."""

import json
from itertools import permutations, product

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli.app import app

PROBLEM = {
    "problem": {
        "shape": {
            "name": "gemm",
            "dimensions": ["M", "K", "N"],
            "data-spaces": [
                {"name": "A", "projection": [[["M"]], [["K"]]]},
                {"name": "B", "projection": [[["K"]], [["N"]]]},
                {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
            ],
        },
        "instance": {"M": 4, "K": 6, "N": 2},
    }
}
WINDOW = {
    "problem": {
        "shape": {
            "name": "conv",
            "dimensions": ["P", "R", "C"],
            "data-spaces": [
                {"name": "I", "projection": [[["P"], ["R"]], [["C"]]]},
                {"name": "W", "projection": [[["R"]], [["C"]]]},
                {"name": "O", "projection": [[["P"]]], "read-write": True},
            ],
        },
        "instance": {"P": 4, "R": 3, "C": 2},
    }
}
INDEXED = {"A": "MK", "B": "KN", "Z": "MN"}
BOUNDS = {"M": 4, "K": 6, "N": 2}


def walked(tile, order):
    """Buffer and accesses of a product, found by walking from tile to tile: a tile is fetched when
    it differs from the one before; an output is read back if it was there earlier.
    """
    buffer = accesses = 0
    for name, dims in INDEXED.items():
        words = 1
        for dim in dims:
            words *= tile[dim]
        buffer += words
        now, seen = None, set()
        for step in product(*(range(BOUNDS[dim] // tile[dim]) for dim in order)):
            where = tuple(at for dim, at in zip(order, step, strict=True) if dim in dims)
            if where != now:
                accesses += words * (2 if name == "Z" and where in seen else 1)
            now = where
            seen.add(where)
    return buffer, accesses


def by_hand():
    """Every tile with every order of its loops of more than one iteration."""
    divisors = {dim: [n for n in range(1, b + 1) if b % n == 0] for dim, b in BOUNDS.items()}
    for sizes in product(*divisors.values()):
        tile = dict(zip(BOUNDS, sizes, strict=True))
        loops = [dim for dim in BOUNDS if tile[dim] < BOUNDS[dim]]
        for order in permutations(loops):
            yield tuple(sizes), order, *walked(tile, order)


def test_every_mapping_is_listed_once_with_its_figures():
    listed = [
        (tuple(each.tile.values()), each.order, each.buffer, each.accesses)
        for each in sm.bound_mappings(sm.load(PROBLEM))
    ]
    assert sorted(listed) == sorted(by_hand())


def test_the_pareto_optimal_ones_are_those_on_the_curve_ties_included():
    spec = sm.load(PROBLEM)
    every = list(by_hand())
    best = [
        each
        for each in every
        if not any(
            other[2] <= each[2] and other[3] <= each[3] and other[2:] != each[2:] for other in every
        )
    ]
    listed = list(sm.bound_mappings(spec, pareto=True))
    assert sorted((tuple(p.tile.values()), p.order, p.buffer, p.accesses) for p in listed) == (
        sorted(best)
    )
    corners = {(point.buffer, point.accesses) for point in sm.bound(spec).points}
    assert {(point.buffer, point.accesses) for point in listed} == corners


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"bypass": True},
        {"stationary": "W"},
        {"order": ["C", "R", "P"]},
        {"tiles": {"R": 3}},
        {"regular_shifts": True},
        {"word_bits": {"I": 8, "W": 8, "O": 32}},
    ],
)
def test_the_list_spans_the_curve_under_every_option(asked):
    spec = sm.load(WINDOW)
    lowest = {}
    for each in sm.bound_mappings(spec, **asked):
        lowest[each.buffer] = min(each.accesses, lowest.get(each.buffer, each.accesses))
    steps, least = [], None
    for buffer, accesses in sorted(lowest.items()):
        if least is None or accesses < least:
            least = accesses
            steps.append((buffer, accesses))
    assert steps == [(p.buffer, p.accesses) for p in sm.bound(spec, **asked).points]


def test_the_command_prints_one_object_a_line(tmp_path):
    path = tmp_path / "problem.yaml"
    path.write_text(json.dumps(PROBLEM))
    done = CliRunner().invoke(app, ["bound", str(path), "--all-mappings", "--tile", "K=6"])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0
    assert len(lines) == sum(1 for sizes, *_ in by_hand() if sizes[1] == 6)
    assert all(line["tile"]["K"] == 6 for line in lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pareto"], "--pareto needs --all-mappings"),
        (["--all-mappings", "-o", "out"], "-o has no meaning for a list of mappings"),
        (["--all-mappings", "--bandwidth", "2"], "--bandwidth has no meaning for a list"),
    ],
)
def test_options_of_curves_and_lists_are_told_apart(tmp_path, options, message):
    path = tmp_path / "problem.yaml"
    path.write_text(json.dumps(PROBLEM))
    done = CliRunner().invoke(app, ["bound", str(path), *options])
    assert done.exit_code == 2
    assert message in done.stderr
