"""`solver-mapper solve ARCHITECTURE NETWORK` as a process: files, exit codes, resumption, signals,
and being killed.
"""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from tests.campaigns import in_campaigns
from tests.study.commands import run, start

TINY = ("eyeriss", "tiny")
KEYS = ("energy_pj", "cycles", "edp", "macs", "layers", "distinct", "proven")


def totals(out: str) -> dict[str, object]:
    return {key: json.loads(out)["totals"][key] for key in KEYS}


def test_the_folder_has_the_results_and_a_second_run_solves_nothing(tmp_path: Path) -> None:
    code, out, _ = run("solve", *TINY, "--json", "-o", tmp_path)
    assert code == 0
    told = json.loads(out)
    assert json.loads((tmp_path / "network.json").read_text()) == told
    rows = list(csv.DictReader((tmp_path / "layers.csv").open()))
    assert [row["name"] for row in rows] == [each["name"] for each in told["layers"]]
    for each in told["layers"]:
        folder = tmp_path / "layers" / each["name"]
        assert {file.name for file in folder.iterdir()} == {
            "map.yaml",
            "stats.txt",
            "solution.json",
        }
    code, evaluated, _ = run(
        "evaluate", "eyeriss", "tiny/mm12", tmp_path / "layers" / "mm12" / "map.yaml", "--json"
    )
    assert code == 0
    assert json.loads(evaluated) == told["layers"][1]["evaluation"]
    code, again, _ = run("solve", *TINY, "--json", "-o", tmp_path)
    assert code == 0 and totals(again) == totals(out)
    assert all(each["stored"] for each in json.loads(again)["layers"])


def test_a_store_is_shared_between_folders(tmp_path: Path) -> None:
    store = tmp_path / "shared.sqlite"
    assert run("solve", *TINY, "--store", store, "-o", tmp_path / "one")[0] == 0
    code, out, _ = run(
        "solve", *TINY, "--json", "--store", store, "-o", tmp_path / "two", "--jobs", "2"
    )
    assert code == 0 and all(each["stored"] for each in json.loads(out)["layers"])
    assert not (tmp_path / "two" / "results.sqlite").exists()


def test_without_json_the_table_is_printed_and_progress_goes_to_standard_error() -> None:
    code, out, err = run("solve", *TINY)
    assert code == 0
    assert out.startswith("tiny on eyeriss: statistics of one run of each layer\n")
    assert "Traceback" not in err


def test_a_layer_that_is_proven_impossible_ends_in_code_1(tmp_path: Path) -> None:
    constraints = tmp_path / "rules.yaml"
    constraints.write_text(
        "mapspace_constraints:\n- {target: DRAM, type: temporal, factors: M=8 N=8 K=8}\n"
    )
    layers = tmp_path / "layers.yaml"
    layers.write_text(
        "layers:\n- {name: fits, shape: gemm, instance: {M: 8, N: 8, K: 8}}\n"
        "- {name: does not, shape: gemm, instance: {M: 12, N: 8, K: 8}}\n"
    )
    code, out, _ = run("solve", "three_level", layers, constraints, "--json")
    assert code == 1
    assert [each["status"] for each in json.loads(out)["layers"]] == ["optimal", "infeasible"]


def test_no_time_for_any_layer_ends_in_code_3() -> None:
    code, out, _ = run("solve", *TINY, "--json", "--time-limit", "0")
    assert code == 3
    assert {each["status"] for each in json.loads(out)["layers"]} == {"unknown"}


@pytest.mark.parametrize(
    ("number", "jobs"),
    [
        *[(signal.SIGINT, ()), (signal.SIGTERM, ("--jobs", "1"))],
        *in_campaigns([(signal.SIGHUP, ())]),
    ],
)
def test_a_signal_ends_the_run_with_what_is_known_and_its_own_code(
    tmp_path: Path, number: int, jobs: tuple[str, ...]
) -> None:
    process = start("solve", "eyeriss", "resnet50", "--json", "-o", tmp_path, *jobs)
    assert process.stderr is not None
    while " 0 of 24" in process.stderr.readline():
        pass
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    told = json.loads(out)
    assert len(told["layers"]) == 24
    assert (
        {"optimal", "unknown"}
        <= {each["status"] for each in told["layers"]}
        <= {"optimal", "feasible", "unknown"}
    )
    assert json.loads((tmp_path / "network.json").read_text()) == told


def rows(store: Path) -> dict[str, tuple[str, str]]:
    """What is stored: the file is whole, and each row has its time of writing."""
    with sqlite3.connect(store) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if db.execute("PRAGMA user_version").fetchone() == (0,):
            return {}  # killed before the schema was there
        found = db.execute("SELECT digest, record, changed FROM solutions").fetchall()
    db.close()
    return {digest: (record, changed) for digest, record, changed in found}


def kill_and_continue(folder: Path, words: tuple[str, ...], moments: list[float]) -> str:
    """Kill the command at each moment, in seconds after its start, always with one folder; then let
    it end.
    """
    known: dict[str, tuple[str, str]] = {}
    for moment in moments:
        process = start(*words, "-o", folder)
        time.sleep(moment)
        process.kill()
        process.communicate(timeout=60)
        if (folder / "results.sqlite").exists() and (now := rows(folder / "results.sqlite")):
            assert known.items() <= now.items(), "what was stored was solved again, or lost"
            known = now
    code, out, _ = run(*words, "-o", folder)
    assert code == 0
    assert known.items() <= rows(folder / "results.sqlite").items()
    assert sum(each["stored"] for each in json.loads(out)["layers"]) >= len(known)
    return out


@pytest.mark.parametrize("jobs", [("--jobs", "2"), *in_campaigns([((),)])], ids=str)
def test_a_run_that_is_killed_continues(tmp_path: Path, jobs: tuple[str, ...]) -> None:
    words = ("solve", *TINY, "--json", *jobs)
    out = kill_and_continue(tmp_path / "killed", words, [1.2, 2.0])
    assert totals(out) == totals(run("solve", *TINY, "--json")[1])


def workers() -> set[int]:
    """The worker processes of studies on this machine."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"solver_mapper.study.execution.worker" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.campaign
@pytest.mark.parametrize(("jobs", "seed"), [((), 1), (("--jobs", "2"), 2)])
def test_a_network_that_is_killed_twenty_times_has_the_same_totals(
    tmp_path: Path, jobs: tuple[str, ...], seed: int
) -> None:
    words, choose = ("solve", "eyeriss", "resnet50", "--json", *jobs), random.Random(seed)
    before = workers()
    out = kill_and_continue(tmp_path, words, [choose.uniform(0.5, 4.0) for _ in range(20)])
    assert totals(out) == totals(run("solve", "eyeriss", "resnet50", "--json")[1])
    time.sleep(1.0)
    assert workers() <= before, "a worker outlived the run that it belonged to"


def test_workers_end_with_the_run_that_is_killed() -> None:
    process = start("solve", "eyeriss", "resnet50", "--jobs", "1")
    assert process.stderr is not None
    process.stderr.readline()
    mine = children(process.pid)
    assert mine
    process.kill()
    process.communicate(timeout=60)
    end = time.monotonic() + 10
    while any(Path(f"/proc/{each}").exists() for each in mine) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{each}").exists() for each in mine)


def children(parent: int) -> list[int]:
    listed = Path(f"/proc/{parent}/task/{parent}/children")
    if not listed.exists():
        pytest.skip(f"no lists of child processes on {os.name}")
    return [int(word) for word in listed.read_text().split()]
