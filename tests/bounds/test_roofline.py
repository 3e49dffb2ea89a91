"""Latency beside accesses: the least cycles of each step of a curve."""

import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli.app import app
from tests.bounds.test_bound_listing import PROBLEM

MACHINE = {
    "arch": {
        "arithmetic": {"name": "MAC", "instances": 1, "word-bits": 8},
        "storage": [
            {"name": "Buffer", "instances": 1, "entries": 20, "word-bits": 8},
            {
                "name": "DRAM",
                "technology": "DRAM",
                "instances": 1,
                "word-bits": 8,
                "shared_bandwidth": 0.25,
            },
        ],
    }
}


@pytest.mark.parametrize(("peak", "bandwidth"), [(1, 1), (1, 4), (7, 0.5), (0.25, 3)])
def test_no_mapping_that_fits_takes_fewer_cycles(peak, bandwidth):
    """Every mapping by itself: the larger of its operations over the peak and its accesses over the
    bandwidth, in whole cycles.
    """
    spec = sm.load(PROBLEM)
    curve = sm.bound(spec, macs_per_cycle=peak, bandwidth=bandwidth)
    every = list(sm.bound_mappings(spec))
    for point in curve.points:
        least = min(
            max(
                -(-Fraction(48) // Fraction(peak)),
                -(-Fraction(each.accesses) // Fraction(bandwidth)),
            )
            for each in every
            if each.buffer <= point.buffer
        )
        assert curve.cycles(point) == least


def test_the_roofline_of_a_machine_is_a_bound_of_its_proven_delay():
    """The backing store moves a quarter of a word in a cycle, so that traffic limits one MAC."""
    spec = sm.load(PROBLEM, MACHINE)
    curve = sm.bound(spec, bypass=True)
    solution = sm.solve(spec, "delay")
    assert curve.roofline is not None
    assert solution.status == "optimal"
    least = curve.roofline.cycles(curve.accesses(20))
    assert 48 < least <= solution.to_dict()["evaluation"]["cycles"]
    assert curve.roofline.limit(curve.points[0].accesses) == "bandwidth"
    assert curve.roofline.peak == 1
    assert curve.roofline.bandwidth == Fraction(1, 4)


def test_all_einsums_of_a_workload_share_one_roofline():
    spec = sm.load(
        {
            "workload": {
                "rank_sizes": {"M": 8, "K": 4, "N": 8, "L": 4},
                "einsums": ["C[m, n] = A[m, k] * B[k, n]", "E[m, l] = C[m, n] * D[n, l]"],
            }
        }
    )
    curve = sm.fuse(spec, macs_per_cycle=2, bandwidth=1)
    assert curve.macs == 2 * 8 * 4 * 8
    assert curve.cycles(curve.points[0]) == curve.points[0].accesses
    assert curve.cycles(curve.points[-1]) == max(256, curve.least)
    assert curve.balanced == next(p.buffer for p in curve.points if p.accesses <= 256)


def test_text_json_and_csv_have_the_cycles(tmp_path):
    path = tmp_path / "problem.yaml"
    path.write_text(json.dumps(PROBLEM))
    words = ["bound", str(path), "--macs-per-cycle", "2", "--bandwidth", "2"]
    shown = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [step["cycles"] for step in shown["curve"]] == [
        max(24, -(-step["accesses"] // 2)) for step in shown["curve"]
    ]
    assert shown["roofline"] == {
        "macs": 48,
        "macs_per_cycle": 2.0,
        "bandwidth": 2.0,
        "compute_cycles": 24,
        "balanced_buffer": next(
            step["buffer"] for step in shown["curve"] if step["accesses"] <= 48
        ),
    }
    text = CliRunner().invoke(app, words).stdout
    assert "Roofline: 48 operations, 2 per cycle, and 2 words per cycle, overlapped:" in text
    CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out")])
    rows = (tmp_path / "out" / "curve.csv").read_text().splitlines()
    assert rows[0].startswith("buffer,accesses,operational_intensity,cycles,")


def test_without_a_bandwidth_there_is_no_roofline():
    machine = json.loads(json.dumps(MACHINE))
    del machine["arch"]["storage"][1]["shared_bandwidth"]
    curve = sm.bound(sm.load(PROBLEM, machine))
    assert curve.roofline is None
    assert "cycles" not in curve.to_dict()["curve"][0]
    assert "Roofline" not in str(curve)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--macs-per-cycle", "4"], "a roofline also needs --bandwidth"),
        (["--bandwidth", "4"], "a roofline also needs --macs-per-cycle"),
        (
            ["--macs-per-cycle", "0", "--bandwidth", "1"],
            "--macs-per-cycle is 0; it must be above 0",
        ),
        (["--macs-per-cycle", "1", "--bandwidth", "nan"], "--bandwidth is nan; it must be above 0"),
    ],
)
def test_a_roofline_needs_two_positive_numbers(tmp_path, options, message):
    path = tmp_path / "problem.yaml"
    path.write_text(json.dumps(PROBLEM))
    done = CliRunner().invoke(app, ["bound", str(path), *options])
    assert done.exit_code == 2
    assert message in done.stderr
