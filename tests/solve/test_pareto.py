"""`pareto`: fronts against full enumeration, and how they are shown."""

from __future__ import annotations

import itertools
import json

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import figure
from solver_mapper.io import bundled
from solver_mapper.verify.exhaustive import Exhaustive
from tests.instances import PLAIN, instance
from tests.test_solve_small import ARCH, GEMM

PAIRS = [
    ("energy", "delay"),
    ("delay", "energy"),
    ("energy", "last-level-accesses"),
    ("last-level-accesses", "delay"),
]


@pytest.mark.parametrize("seed", range(24))
def test_front_is_that_of_enumeration(seed):
    """The points are exactly the undominated pairs of values, by rising first metric, each with a
    legal mapping that has them.
    """
    made, metrics = instance(seed, 150, PLAIN, wired=False), PAIRS[seed % len(PAIRS)]
    front = sm.pareto(made.spec, metrics)
    wanted = [
        tuple(figure(statistics, metric) for metric in metrics)
        for _, statistics in Exhaustive(made.mapspace).front(*metrics)
    ]
    assert [tuple(point.value(metric) for metric in metrics) for point in front.points] == wanted
    assert front.status == ("complete" if wanted else "infeasible")
    for point in front.points:
        assert sm.validate(made.spec, point.mapping).legal
        assert sm.evaluate(made.spec, point.mapping) == point.evaluation


SLOW_BUFFER = {
    "arch": {
        "arithmetic": {"name": "MAC", "instances": 8, "meshX": 8, "vector-access-energy": 1.0},
        "storage": [
            {"name": "RF", "entries": 3, "instances": 8, "meshX": 8, "vector-access-energy": 6.0},
            {
                "name": "DRAM",
                "technology": "DRAM",
                "instances": 1,
                "vector-access-energy": 20.0,
                "read_bandwidth": 1,
            },
        ],
    }
}


def test_a_front_with_several_points():
    """Where energy and cycles pull apart, every point shows in the table, and the ends are the
    optima of `solve`.
    """
    spec = sm.load(GEMM, SLOW_BUFFER)
    front = sm.pareto(spec)
    assert front.status == "complete"
    assert len(front.points) == 6
    assert front.points[0].value("energy") == sm.solve(spec, "energy").rank
    assert front.points[-1].value("delay") == sm.solve(spec, "delay").rank
    assert all(point.proofs for point in front.points)
    lines = str(front).split("\n")
    assert "Complete Pareto front of energy and delay" in lines[0]
    assert len(lines) == len(front.points) + 3


@pytest.mark.parametrize("metrics", PAIRS)
def test_the_ends_are_the_optima_of_single_objectives(metrics):
    """Of any two figures: the first point has the least of the first, the last the least of the
    second, and none beats another.
    """
    spec = sm.load(GEMM, SLOW_BUFFER)
    front = sm.pareto(spec, metrics)
    values = [tuple(point.value(metric) for metric in metrics) for point in front.points]
    assert values[0][0] == sm.solve(spec, metrics[0]).rank
    assert values[-1][1] == sm.solve(spec, metrics[1]).rank
    assert values == sorted(values) == sorted(set(values))
    assert all(after[1] < before[1] for before, after in itertools.pairwise(values))


def test_a_front_is_exact_where_that_is_asked_for():
    """Windows on a mesh that they fill in part: walks prove what the model cannot, and energies are
    multiples of a unit, so that bounds that are rounded meet them.
    """
    spec = sm.load(*bundled.resolve("three_level", "tiny/prime"))
    front = sm.pareto(spec, gap=0)
    assert front.status == "complete"
    assert len(front.points) == 3
    assert front.gap == 0
    assert "gap" not in str(front)


def test_a_front_within_a_gap_says_so():
    """In its first sentence, and point by point; none is better than the exact one by more."""
    spec = sm.load(GEMM, SLOW_BUFFER)
    front, exact = sm.pareto(spec, gap=0.4), sm.pareto(spec, gap=0)
    assert front.status == "complete"
    assert 1e-6 < front.gap <= 0.4
    assert f"by more than {100 * front.gap:.4g} %" in str(front).splitlines()[0]
    assert str(front).splitlines()[1].endswith("gap")
    for point in front.points:
        least = min(
            each.value("energy")
            for each in exact.points
            if each.value("delay") <= point.value("delay")
        )
        assert least <= point.value("energy") <= float(least) / (1 - 0.4)


def test_front_of_a_real_layer():
    """A layer of ResNet-50 on Eyeriss: complete, with the optima of single objectives at its ends,
    and edp's optimum among its points or above one of them."""
    spec = sm.load(*bundled.resolve("eyeriss", "resnet50/layer3.x.conv2_3x3"))
    front = sm.pareto(spec)
    assert front.status == "complete"
    assert front.points[0].value("energy") == sm.solve(spec, "energy").rank
    assert front.points[-1].value("delay") == sm.solve(spec, "delay").rank
    assert (
        min(point.value("energy") * point.value("delay") for point in front.points)
        == sm.solve(spec, "edp").rank
    )
    assert all(sm.validate(spec, point.mapping).legal for point in front.points)


def test_a_front_cut_short_has_proven_points_only():
    """Stopped after two points: they are the first two of the whole front, and the answer says that
    there may be more.
    """
    spec, clock = sm.load(GEMM, SLOW_BUFFER), Clock()
    whole = [
        [point.value(metric) for metric in ("energy", "delay")] for point in sm.pareto(spec).points
    ]
    solved: list[float] = []

    def stop_later(progress):
        solved.append(progress.seconds)
        if (
            progress.where == "energy"
            and progress.value is not None
            and progress.value > whole[1][0]
        ):
            clock.stop()

    front = sm.pareto(spec, on_progress=stop_later, clock=clock)
    found = [[point.value(metric) for metric in ("energy", "delay")] for point in front.points]
    assert front.status in ("partial", "unknown")
    assert found == whole[: len(found)]
    assert len(found) < len(whole)


def test_caps_hold_for_the_front_too():
    """A cap on cycles leaves the points that keep to it."""
    whole = sm.pareto(sm.load(GEMM, SLOW_BUFFER))
    most = int(whole.points[2].value("delay"))
    capped = sm.pareto(
        sm.load(
            GEMM, SLOW_BUFFER, {"mapspace_constraints": [{"metrics": {"cycles": f"<= {most}"}}]}
        )
    )
    assert [point.value("delay") for point in capped.points] == [
        point.value("delay") for point in whole.points[2:]
    ]


def test_json_has_the_shape_that_is_promised():
    shown = json.loads(
        json.dumps(
            sm.pareto(sm.load(GEMM, SLOW_BUFFER), ("delay", "last-level-accesses")).to_dict()
        )
    )
    assert set(shown) == {"status", "metrics", "points", "certificate", "seconds"}
    assert shown["metrics"] == ["delay", "last-level-accesses"]
    for point in shown["points"]:
        assert set(point) == {"values", "mapping", "evaluation", "proofs"}
        assert point["values"] == {
            "delay": point["evaluation"]["cycles"],
            "last-level-accesses": point["evaluation"]["last_level_accesses"],
        }
        assert {"goal", "claim", "runs", "excluded", "tolerance"} == set(point["proofs"][0])


def test_stopped_before_anything_was_found():
    """Without time there is no point, and nothing is claimed about the front."""
    front = sm.pareto(sm.load(GEMM, ARCH), time_limit=0)
    assert (front.status, front.points) == ("unknown", ())


@pytest.mark.parametrize("metrics", [("energy",), ("energy", "energy"), ("energy", "time")])
def test_metrics_that_make_no_front(metrics):
    """A front is of two different figures that exist."""
    with pytest.raises(sm.InputError):
        sm.pareto(sm.load(GEMM, ARCH), metrics)


def test_command(tmp_path):
    """JSON on standard output, and files from which each point can be evaluated again."""
    case = tmp_path / "case.yaml"
    case.write_text(json.dumps(GEMM | SLOW_BUFFER))
    done = CliRunner().invoke(app, ["pareto", str(case), "--json", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0
    shown = json.loads(done.stdout)
    assert shown["status"] == "complete"
    for index, point in enumerate(shown["points"], start=1):
        statistics = sm.evaluate(sm.load(case, tmp_path / "out" / f"map-{index}.yaml"))
        assert point["values"] == {
            "energy": pytest.approx(float(statistics.energy_pj)),
            "delay": statistics.cycles,
        }
