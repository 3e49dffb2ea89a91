"""The benchmark commands run, and their tables and JSON say what was measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import solver_mapper as sm

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import accelforge_examples  # noqa: E402
import fronts  # noqa: E402
import fused_graphs  # noqa: E402
import growth  # noqa: E402
import imperfect  # noqa: E402
import peers  # noqa: E402
import proofs  # noqa: E402
import suites  # noqa: E402
import two_workers  # noqa: E402


def run(script: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        timeout=300,
        check=False,
    )


def test_suites_measure_what_they_say(tmp_path, monkeypatch):
    """The first cases of a suite: proven, timed both ways, and in the JSON that the table is made
    from.
    """
    some = [case for case in suites.cases() if case.suite == "gemm energy"][:2]
    timings = [suites.run(case, 60, 1) for case in some]
    assert [timing.status for timing in timings] == ["optimal", "optimal"]
    assert all(
        timing.seconds > 0 and timing.wall > 0 and 0 < timing.megabytes < 2048 for timing in timings
    )
    shown = json.loads(json.dumps(suites.record(timings, [])))
    assert [each["name"] for each in shown["timings"]] == [case.name for case in some]
    assert (
        shown["machine"]["solver"]
        == sm.solve(
            sm.load(peers.HERE / "timeloop_simba.yaml", peers.gemm(2, 2, 2))
        ).certificate.solver
    )
    assert suites.table(timings).row_count == 1


def test_two_workers_are_compared_case_by_case():
    """Medians of the wall, and of the larger one of two processes' processor time."""
    runs = [
        two_workers.Run("7:edp", workers, "optimal", 1.0, wall, search, helper)
        for workers, wall, search, helper in (
            *((1, 9.0, 8.0, 0.0), (1, 11.0, 8.0, 0.0)),
            *((2, 5.0, 2.0, 4.0), (2, 5.0, 2.0, 4.0)),
        )
    ]
    row = list(two_workers.table(runs))[-1]
    assert row == "| 7, edp | 10.0 | 5.0 | 2.00 | 8.0 | 2.0 + 4.0 | 2.00 |"
    assert two_workers.specification("7").problem is not None
    assert two_workers.specification("simba energy/conv1").problem is not None


def test_benchmarks_of_proofs_group_their_answers(tmp_path):
    """A row for each kind of design and goal; a case without a bound counts as a gap of 100 %."""
    done = run("random_architectures.py", "--cases", "1", "--limit", "0", "--json", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    answers = [proofs.Answer(**each) for each in json.loads((tmp_path / "a").read_text("utf-8"))]
    assert [(each.row, each.objective) for each in answers] == [
        ({"levels": 3}, "energy"),
        ({"levels": 3}, "edp"),
    ]
    proven = replace(answers[0], status="optimal", gap=0.0, seconds=1.0)
    failed = replace(proven, status="error", gap=None, seconds=4.0)
    assert proofs.summary([proven, failed, replace(proven, objective="edp")]).splitlines() == [
        "| levels | goal | cases | proven | median (s) | worst (s) | worst gap |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| 3 | energy | 2 | 1 | 2.50 | 4.00 | 1e+02 % |",
        "| 3 | edp | 1 | 1 | 1.00 | 1.00 | 0 % |",
    ]


def test_fronts_are_grouped_by_levels():
    """A front that was stopped counts among those that are not complete."""
    done = run("fronts.py", "--cases", "1", "--limit", "0")
    assert done.returncode == 0, done.stderr
    assert "| 3 | 1 | 0 | 0 to 0 |" in done.stdout
    some = [fronts.Found(3, "complete", points, points / 2) for points in (1, 5)]
    assert fronts.summary(some).splitlines()[-1] == "| 3 | 2 | 2 | 1 to 5 | 1.50 | 2.50 |"


def test_every_case_of_the_suites_can_be_read():
    found = list(suites.cases())
    assert {case.suite for case in found} == {
        f"{name} {goal}"
        for name in ("eyeriss", "three_level", "simba", "routers", "gemm")
        for goal in ("energy", "edp")
    } | {"primes energy"}
    for case in found[-3:]:
        sm.load(*suites.bundled.resolve(*case.sources))


def test_a_peer_that_is_missing_is_named(tmp_path):
    """Without AccelForge's interpreter, or without Timeloop's program, the command says so."""
    done = run("suites.py", "--peer", "accelforge")
    assert done.returncode == 1
    assert "--peer-python" in done.stderr
    with pytest.raises(FileNotFoundError, match="no-such-mapper is not on this machine"):
        list(peers.timeloop("no-such-mapper"))


def test_a_peer_is_timed_beside_ours(tmp_path, monkeypatch):
    """A stand-in for AccelForge that reads what it is asked and answers with seconds of its own."""
    stand_in = tmp_path / "python"
    stand_in.write_text(f"""#!{sys.executable}
import json, sys
for path, metric in json.load(sys.stdin):
    text = open(path).read()
    assert "!Memory" in text and "einsums" in text and metric == "edp" and sys.argv[2] == "2"
    print(json.dumps({{"value": 1.0, "seconds": 1000.0, "wall": 2000.0}}))
""")
    stand_in.chmod(0o755)
    monkeypatch.setattr(peers, "PRODUCTS", ((8, 8, 8),))
    rows = list(peers.accelforge(stand_in, 2))
    assert [(row.name, row.workers, row.status, row.peer_cpu, row.peer_wall) for row in rows] == [
        ("eyeriss 8x8x8", 2, "optimal", 1000.0, 2000.0),
        ("simba 8x8x8", 2, "optimal", 1000.0, 2000.0),
    ]
    assert suites.beside_table(rows).row_count == 2


SUMMARY = """Summary Stats
-------------
GFLOPs (@1GHz): 59.08
Cycles: 8192
Energy: 1.26 uJ
EDP(J*cycle): 1.03e-02

Computes = 262144
fJ/Compute
    MAC                     = 250.00
    SumPad <==> MAC         = 0.00
    Total                   = 4801.25
"""


def in_place_of_timeloop(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    factors: str,
    ending: str,
    inner: str = "M1 N1 K1",
) -> str:
    """A program that waits to be interrupted if it is to search like `random`, then writes a
    summary and a mapping of one case, with these factors at both levels.
    """
    document = {
        **peers.gemm(4, 4, 4),
        "arch": {
            "arithmetic": {"name": "MAC", "instances": 1},
            "storage": [
                {"name": "Buffer", "entries": 16, "instances": 1, "vector-access-energy": "0.5"},
                {
                    "name": "DRAM",
                    "technology": "DRAM",
                    "instances": 1,
                    "vector-access-energy": "64.25",
                },
            ],
        },
    }
    for cases in ("timeloop_cases", "ruby_cases"):
        monkeypatch.setattr(peers, cases, lambda: iter([("small", document)]))
    (folder / "stats").write_text(SUMMARY)
    inside = {"target": "Buffer", "type": "temporal", "factors": inner}
    (folder / "map").write_text(
        json.dumps(
            {"mapping": [{"target": "DRAM", "type": "temporal", "factors": factors}, inside]}
        )
    )
    program = folder / "timeloop-mapper"
    program.write_text(f"""#!{sys.executable}
import json, shutil, signal, sys, time
asked = json.load(open(sys.argv[1]))
assert asked["arch"]["storage"][1]["vector-access-energy"] == 64.25
assert asked["problem"]["instance"]["M"] == 4
if asked["mapper"]["algorithm"] == "random":
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.pause()
shutil.copy({str(folder / "stats")!r}, "timeloop-mapper.stats.txt")
shutil.copy({str(folder / "map")!r}, "timeloop-mapper.map.yaml")
{ending}
""")
    program.chmod(0o755)
    return str(program)


def test_timeloops_mapping_is_compared_in_our_account(tmp_path, monkeypatch):
    """Every search gets ten times our time and is interrupted then; the mapping is evaluated and
    can only be worse than the optimum.
    """
    [row] = peers.timeloop(in_place_of_timeloop(tmp_path, monkeypatch, "M4 N4 K4", ""))
    assert row.peer_value == pytest.approx(8192 * 4801.25 * 262144 / 1000)
    assert row.peer_wall > 10 * row.wall
    assert row.status == "optimal"
    assert row.value < row.peer_counted
    assert row.no_worse
    assert not replace(row, value=2 * row.peer_counted).no_worse
    assert replace(row, peer_counted=None).no_worse is None
    assert suites.beside_table([row]).row_count == 1


def test_a_timeloop_that_fails_or_breaks_our_rules_is_reported(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="no such level"):
        list(
            peers.timeloop(
                in_place_of_timeloop(tmp_path, monkeypatch, "M4 N4 K4", "sys.exit('no such level')")
            )
        )
    with pytest.raises(SystemExit, match="illegal"):
        list(peers.timeloop(in_place_of_timeloop(tmp_path, monkeypatch, "M4 N4 K2", "")))


def test_rubys_mapping_is_compared_with_its_last_rounds(tmp_path, monkeypatch):
    """Loops of 2 and 3 cover a size of 4; the file of the mapping leaves out that the last round
    has one iteration.
    """
    ending = 'assert asked["mapspace"]["template"] == "ruby"'
    program = in_place_of_timeloop(tmp_path, monkeypatch, "M2 N4 K4", ending, "M3 N1 K1")
    [row] = peers.timeloop(program, "imperfect")
    assert (row.peer, row.status) == ("ruby", "optimal")
    assert row.value < row.peer_counted
    [(_, document)] = peers.ruby_cases()
    spec = peers._with_last_rounds(peers.spec_of(document, tmp_path / "map"))
    lasts = {each.bound: each.last for each in spec.need_mapping().loops() if each.dim == "M"}
    assert lasts == {2: 2, 3: 1}
    assert float(sm.evaluate(spec).edp) == row.peer_counted


def test_a_ruby_outside_our_mapspace_or_out_of_memory_is_reported(tmp_path, monkeypatch):
    """A loop of 4 over tiles of 3 would never reach its third iteration."""
    outside = in_place_of_timeloop(tmp_path, monkeypatch, "M4 N4 K4", "", "M3 N1 K1")
    with pytest.raises(SystemExit, match="not in our mapspace"):
        list(peers.timeloop(outside, "imperfect"))
    ending = "sys.exit('std::bad_alloc')"
    [row] = peers.timeloop(
        in_place_of_timeloop(tmp_path, monkeypatch, "M4 N4 K4", ending), "imperfect"
    )
    assert row.missing == "out of memory"
    assert row.no_worse is None
    assert suites.beside_table([row]).row_count == 1


def test_ruby_may_end_every_spatial_loop_early():
    """Its constraints are ours, and one for each mesh."""
    cases = dict(peers.ruby_cases())
    assert len(cases) == len(peers.UNEVEN_PRODUCTS) + sum(map(len, peers.UNEVEN_LAYERS.values()))
    ours = cases["eyeriss, resnet50/conv1"]
    asked = peers._as_ruby(ours)
    assert asked["mapspace"]["constraints"] == [
        *ours["mapspace_constraints"],
        {"target": "shared_glb", "type": "spatial", "remainders": 14},
        {"target": "DummyBuffer", "type": "spatial", "remainders": 12},
    ]
    assert {**asked, "mapspace": None} == {
        **{key: value for key, value in ours.items() if key != "mapspace_constraints"},
        "mapspace": None,
    }


def test_timeloop_is_asked_for_products_and_real_layers():
    """Every case can be read, and comes with its dataflow constraints."""
    cases = dict(peers.timeloop_cases())
    assert len(cases) == 2 * len(peers.PRODUCTS) + 3 * len(peers.LAYERS)
    assert (
        len(sm.load(cases["eyeriss, conv1"]).constraints)
        > len(sm.load(cases["simba, conv1"]).constraints)
        > 0
    )


@pytest.mark.parametrize("array", ["eyeriss", "simba"])
def test_arrays_in_both_notations_have_the_same_levels_and_sizes(array):
    """The Timeloop input has each memory of the LoopTree input, with as many bits."""
    ours = sm.load(peers.HERE / f"timeloop_{array}.yaml", peers.gemm(4, 4, 4))
    theirs = (peers.HERE / f"looptree_{array}.yaml").read_text(encoding="utf-8")
    memories = [part.split("- !")[0] for part in theirs.split("- !Memory")[1:]]
    assert [level.name for level in ours.architecture.levels] == [
        part.split("name: ")[1].split()[0] for part in memories
    ]
    for level, part in zip(ours.architecture.levels[1:], memories[1:], strict=True):
        bits = part.split("size: ")[1].splitlines()[0].split(" * ")
        assert level.entries * level.word_bits == int(bits[0]) * (
            int(bits[1]) if len(bits) > 1 else 1
        )


def test_growth_writes_its_tables(tmp_path):
    """Each family has a row for each point; one that is cut short shows its gap."""
    points = [
        growth.Point("size", 64, "energy", "optimal", 0.0, 0.125),
        growth.Point("size", 64, "edp", "feasible", 0.25, 60.0),
    ]
    assert growth.markdown(points).splitlines() == [
        "| size of each dimension | energy (s) | edp (s) |",
        "| --- | --- | --- |",
        "| 64 | 0.12 | 60, gap 25.0 % |",
    ]
    for family, count in (("size", 9), ("levels", 5), ("dimensions", 6)):
        assert len(list(growth.inputs(family))) == count
    spec = sm.load(*next(growth.inputs("levels"))[1])
    assert len(spec.architecture.levels) == 2


def test_examples_of_accelforge_end_in_an_answer_or_a_message(tmp_path: Path) -> None:
    """One architecture that is solved, one that lacks figures, and their rows."""
    folders = [tmp_path / "arches", tmp_path / "workloads" / "basic"]
    for folder in folders:
        folder.mkdir(parents=True)
    simple = (ROOT / "benchmarks" / "looptree_simple.yaml").read_text(encoding="utf-8")
    (folders[0] / "simple.yaml").write_text(simple, encoding="utf-8")
    lacking = simple.replace("    leak_power: 0\n", "    component_class: SRAM\n")
    (folders[0] / "modelled.yaml").write_text(lacking, encoding="utf-8")
    (folders[1] / "matmuls.yaml").write_text(
        "workload:\n  rank_sizes: {M: {{M}}, K: 4, N: 4}\n  bits_per_value: {All: 8}\n"
        '  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]\n',
        encoding="utf-8",
    )
    cases = [case for case in accelforge_examples.cases(tmp_path) if "arches" in case.name]
    results = [accelforge_examples.outcome(case, 60.0) for case in cases]
    assert [(each.case.name, each.status) for each in results] == [
        ("arches/modelled x two products", "refused"),
        ("arches/simple x two products", "optimal"),
    ]
    assert "lacks 'leak_power'" in accelforge_examples.markdown(results, tmp_path)


def test_fused_graphs_tell_proofs_from_gaps_and_compare_mappings_by_either_program():
    case = next(fused_graphs.cases())
    proven = fused_graphs.Answer("proven", 8.0, 1.0, 0.0, 100, other=8.0)
    open_gap = fused_graphs.Answer("feasible", 9.0, 2.0, 0.05, 100, other=9.5)
    peer = fused_graphs.Answer("mapped", 8.0, 4.0, memory=300, other=8.0)
    stopped = fused_graphs.Answer("stopped", memory=300, message="more than 600 s")
    table = fused_graphs.markdown(
        [fused_graphs.Row(case, proven, peer), fused_graphs.Row(case, open_gap, stopped)]
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[4:]]
    assert rows[0][3:] == ["8", "proven", "8", "=", "=", "1.0", "4.0", "0.25", "100 / 300"]
    assert rows[1][3:] == [
        *("9", "gap 5.00%", "more than 600 s", "9.5", "", "2.0", "", "", "100 / 300"),
    ]
    assert len({each.key for each in fused_graphs.cases()}) == len(list(fused_graphs.cases()))


def test_gains_of_imperfect_factors_say_where_they_are_worse():
    """A product with a side of 17 gains on a mesh of 16 x 16; an answer that is above that of
    perfect factors, or missing, is worse.
    """
    row = imperfect.row("GEMM:17x5x3", "edp", 20.0, each_layer=False)
    assert (row.worse, row.proven) == (0, [1, 1])
    gain = row.values[0] / row.values[1]
    assert gain > 1.5
    cells = f"| 17x5x3 | GEMM | 1 | {gain:.4g} | 0 | 1/1 | 1/1 |"
    assert row.text(markdown=True).startswith(cells)
    assert row.text(markdown=False).endswith(" 0 worse")
    assert imperfect._worse(4.0, 5.0)
    assert imperfect._worse(4.0, 0.0)
    assert not imperfect._worse(4.0, 4.0)
    assert not imperfect._worse(0.0, 5.0)
