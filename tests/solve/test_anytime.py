"""Real layers stopped early, as a user would: by Ctrl-C, a time, or a gap."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.io import bundled
from tests.study.commands import start

LAYER = ("simba", "resnet50/layer1.x.conv2_3x3")


def test_ctrl_c_on_a_real_layer_gives_the_best_so_far_with_its_bound(tmp_path: Path) -> None:
    """At the first line of progress: exit code 130, a legal mapping, its value, and a bound below
    it.
    """
    process = start("solve", *LAYER, "--json", "-o", tmp_path)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert re.match(
        r"edp: best [0-9.e+]+, bound (none yet|[0-9.e+]+, gap [0-9.]+ %), [0-9.]+ s$", line
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    told = json.loads(out)
    assert told["status"] == "feasible"
    assert 0 < told["objective"]["bound"] < told["objective"]["value"]
    assert told["objective"]["gap"] < 1
    assert sm.validate(sm.load(*bundled.resolve(*LAYER), tmp_path / "map.yaml")).legal
    assert (
        sm.evaluate(sm.load(*bundled.resolve(*LAYER), tmp_path / "map.yaml")).to_dict()
        == told["evaluation"]
    )


@pytest.mark.parametrize("gap", [0.5, 0.01])
def test_a_gap_ends_the_search_of_a_real_layer(gap: float) -> None:
    """What is returned is proven to that share, and the bound is below the optimum."""
    spec = sm.load(*bundled.resolve("eyeriss", "resnet50/layer3.x.conv2_3x3"))
    solution, best = sm.solve(spec, "energy", gap=gap), sm.solve(spec, "energy")
    assert solution.gap <= gap
    assert solution.bound_rank <= best.rank <= solution.rank
    assert solution.rank - solution.bound_rank <= gap * solution.rank


def test_progress_never_goes_back() -> None:
    """The best value falls and the bound rises, and never do they cross."""
    told = []
    spec = sm.load(*bundled.resolve("eyeriss", "resnet50/layer1.x.conv2_3x3"))
    solution = sm.solve(spec, "energy", on_progress=told.append)
    told = [each for each in told if each.where == "energy"]  # not the tie that follows
    values = [each.value for each in told if each.value is not None]
    bounds = [each.bound for each in told if each.bound is not None]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    assert values[-1] == solution.value
    assert all(each.bound <= each.value for each in told if None not in (each.bound, each.value))


def filter_over(samples: int, taps: int) -> dict[str, object]:
    """Four channels of a signal, each filtered."""
    window = [[["P"], ["R"]]]
    spaces = [
        {"name": "Weights", "projection": [[["C"]], [["R"]]]},
        {"name": "Inputs", "projection": [[["C"]], *window]},
        {"name": "Outputs", "projection": [[["C"]], [["P"]]], "read-write": True},
    ]
    shape = {"name": "filter", "dimensions": ["C", "P", "R"], "data-spaces": spaces}
    return {"problem": {"shape": shape, "instance": {"C": 4, "P": samples, "R": taps}}}


@pytest.mark.parametrize(("samples", "taps"), [(2**20, 7), (2**31 - 1, 3)])
def test_a_long_signal_takes_no_longer_for_its_length(samples, taps):
    """By how far loops over it may move a window was listed, some millions of ways."""
    spec = sm.load(*bundled.resolve("three_level"), filter_over(samples, taps))
    assert sm.solve(spec, "energy", time_limit=120).status == "optimal"
