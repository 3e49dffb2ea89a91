"""`pareto`: fronts against full enumeration, and how they are shown."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.objective import figure
from solver_mapper.verify.exhaustive import Exhaustive
from tests.instances import PLAIN, instance
from tests.test_solve_small import ARCH, GEMM

PAIRS = [("energy", "delay"), ("delay", "energy"), ("energy", "last-level-accesses"), ("last-level-accesses", "delay")]


@pytest.mark.parametrize("seed", range(24))
def test_front_is_that_of_enumeration(seed):
    """The points are exactly the undominated pairs of values, by rising first metric, each with a legal mapping that has them."""
    made, metrics = instance(seed, 150, PLAIN, wired=False), PAIRS[seed % len(PAIRS)]
    front = sm.pareto(made.spec, metrics)
    wanted = [tuple(figure(figures, metric) for metric in metrics) for _, figures in Exhaustive(made.mapspace).front(*metrics)]
    assert [tuple(point.value(metric) for metric in metrics) for point in front.points] == wanted
    assert front.status == ("complete" if wanted else "infeasible")
    for point in front.points:
        assert sm.validate(made.spec, point.mapping).legal
        assert sm.evaluate(made.spec, point.mapping) == point.evaluation


SLOW_BUFFER = {"arch": {"arithmetic": {"name": "MAC", "instances": 8, "meshX": 8, "vector-access-energy": 1.0}, "storage": [
    {"name": "RF", "entries": 3, "instances": 8, "meshX": 8, "vector-access-energy": 6.0},
    {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 20.0, "read_bandwidth": 1}]}}


def test_a_front_with_several_points():
    """Where energy and cycles pull apart, every point shows in the table, and the ends are the optima of `solve`."""
    spec = sm.load(GEMM, SLOW_BUFFER)
    front = sm.pareto(spec)
    assert front.status == "complete"
    assert len(front.points) == 6
    assert front.points[0].value("energy") == sm.solve(spec, "energy").rank
    assert front.points[-1].value("delay") == sm.solve(spec, "delay").rank
    assert all(point.proofs for point in front.points)
    lines = str(front).split("\n")
    assert "complete front of energy against delay" in lines[0]
    assert len(lines) == len(front.points) + 3


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
        figures = sm.evaluate(sm.load(case, tmp_path / "out" / f"map-{index}.yaml"))
        assert point["values"] == {"energy": pytest.approx(float(figures.energy_pj)), "delay": figures.cycles}
