"""`stats.txt`: the layout that people's scripts parse, and the figures that Timeloop wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.report.timeloop_stats import timeloop_stats
from tests import golden

DATA = Path(__file__).parents[1] / "data"
CASES = sorted((DATA / "timeloop_stats").glob("*/case.yaml"))
TIMED = ("Bandwidth", "Cycles", "Utilization", "EDP", "GFLOPs")
ITEM = re.compile(r"^ +(?P<title>\S.*?) *[:=] (?P<number>-?[0-9][0-9.e+-]*)(?: .*)?$")


def numbers(lines: list[str]) -> dict[str, float]:
    """Items of the form `title : number unit` and `title = number`."""
    found = (ITEM.match(line) for line in lines)
    return {match["title"]: float(match["number"]) for match in found if match}


def sections(text: str, start: str) -> dict[str, list[str]]:
    """Lines by the name that the first line of their section gives, sections beginning where
    `start` matches.
    """
    parts = re.split(start, text, flags=re.MULTILINE)[1:]
    return {name: body.splitlines() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def by_tensor(lines: list[str]) -> dict[str, list[str]]:
    return sections("\n".join(lines), r"^    (\w+):$")


def parse(text: str) -> dict[str, Any]:
    """A `stats.txt` as the recorded files have it, without what is text there."""
    buffers, rest = text.split("Networks\n--------\n")
    networks, rest = rest.split("Operational Intensity Stats\n")
    summary = rest.split("Summary Stats\n-------------\n")[1]
    energies = summary.split("fJ/Compute\n")[1]
    return {
        "levels": sections(buffers, r"^=== (.*) ===$"),
        "networks": sections(networks, r"^Network \d+\n-{9}\n(.*)$"),
        "summary": dict(re.findall(r"^([A-Z][^:=\n]*?)(?: =|:) (\S+)", summary, re.MULTILINE)),
        "fJ/Compute": numbers(energies.splitlines()),
    }


def case_stats(case: Path) -> tuple[sm.Statistics, dict[str, Any], dict[str, Any]]:
    statistics = sm.evaluate(sm.load(case))
    assert isinstance(statistics, sm.Statistics)
    return (
        statistics,
        parse(timeloop_stats(statistics)),
        json.loads((case.parent / "stats.json").read_text()),
    )


def agree(found: dict[str, float], wanted: dict[str, float], timed: bool) -> None:
    """Every recorded item is there with its value, to the decimals printed."""
    for title, value in wanted.items():
        if timed or not any(word in title for word in TIMED):
            assert found[title.strip()] == pytest.approx(value, abs=0.0101), title


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.parent.name)
def test_every_item_is_where_timeloop_wrote_it(case: Path) -> None:
    statistics, found, wanted = case_stats(case)
    timed = statistics.cycles == statistics.timeloop_cycles
    assert timed or case.parent.name == "r1016"
    assert list(found["levels"]) == list(wanted["levels"])
    for name, level in wanted["levels"].items():
        lines = found["levels"][name]
        own = {
            title: value for title, value in level.items() if title not in ("tensors", "specs")
        } | level.get("specs", {})
        if statistics.levels[name].energy_origin == "ERT":
            # Timeloop shows the dearest action of the table that it was given, charged or not.
            own.pop("Vector access energy", None)
        agree(numbers(lines), own, timed)
        tensors = by_tensor(lines)
        assert list(tensors) == list(level["tensors"])
        for tensor, row in level["tensors"].items():
            agree(numbers(tensors[tensor]), row, timed)
    assert list(found["networks"]) == list(wanted["networks"])
    for name, network in wanted["networks"].items():
        tensors = by_tensor(found["networks"][name])
        assert list(tensors) == list(network)
        for tensor, row in network.items():
            agree(numbers(tensors[tensor]), row, timed)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.parent.name)
def test_the_summary_is_what_scripts_expect(case: Path) -> None:
    statistics, found, wanted = case_stats(case)
    timed = statistics.cycles == statistics.timeloop_cycles
    summary = {title: float(value) for title, value in found["summary"].items()}
    energies = wanted["summary"].pop("fJ/Compute")
    assert list(summary) == list(wanted["summary"])
    edp = wanted["summary"].pop("EDP(J*cycle)")
    if case.parent.name == "c30_tree_arch_ert":
        # Timeloop's sum leaves out the areas of the ART that it prints for each level.
        wanted["summary"]["Area"] = 0.12
    agree(summary, wanted["summary"], timed)
    assert not timed or summary["EDP(J*cycle)"] == pytest.approx(edp, rel=1e-2)
    assert list(found["fJ/Compute"]) == list(energies)
    agree(found["fJ/Compute"], energies, timed)


def test_the_whole_file_reads_as_before() -> None:
    """Also what the recorded cases lack: wires that cost, clusters, address generation, leakage,
    area, latency.
    """
    statistics = sm.evaluate(sm.load(DATA / "report" / "wires_leakage_residuals.yaml"))
    assert isinstance(statistics, sm.Statistics)
    golden.check("stats_wires_leakage_residuals.txt", timeloop_stats(statistics))
