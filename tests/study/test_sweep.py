"""Sweeps: every point has the totals of its own design, the front is exact, and energies are not
silently constant.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

import solver_mapper as sm
from solver_mapper.io import bundled
from solver_mapper.study.sweep_plan import read_sweep
from tests.study.commands import run

SIZES, COUNTS = [4096, 65536], [4, 14]
SWEEP = {
    "architecture": "eyeriss",
    "workloads": ["tiny/mm8", "tiny/conv1d"],
    "objective": "edp",
    "parameters": {
        "shared_glb.entries": SIZES,
        "columns": {"set": ["column.count", "*.meshX"], "values": COUNTS},
    },
}


@pytest.fixture(scope="module")
def result() -> sm.SweepResult:
    return sm.sweep(SWEEP)


def alone(layer: str, settings: dict[str, object], objective: str = "edp") -> sm.Statistics:
    spec = sm.load(*bundled.resolve("eyeriss", layer))
    assert isinstance(spec, sm.Spec)
    statistics = sm.solve(spec.with_attributes(settings), objective).evaluation
    assert statistics is not None
    return statistics


def test_each_point_has_the_totals_of_its_own_design(result: sm.SweepResult) -> None:
    assert [point.parameters for point in result.points] == [
        {"shared_glb.entries": size, "columns": count}
        for size, count in itertools.product(SIZES, COUNTS)
    ]
    for point in result.points:
        count = point.parameters["columns"]
        settings = {
            "shared_glb.entries": point.parameters["shared_glb.entries"],
            "column.count": count,
            "*.meshX": count,
        }
        for layer in SWEEP["workloads"]:
            totals, statistics = point.workloads[layer], alone(layer, settings)
            assert (totals.edp, totals.energy_pj, totals.proven) == (
                statistics.edp,
                statistics.energy_pj,
                True,
            )
    assert result.status == "complete"


def test_sizes_and_json_are_as_documented(result: sm.SweepResult) -> None:
    told = result.to_dict()
    first = told["points"][0]
    assert {"parameters", "workloads", "pareto"} <= set(first) and told["status"] == "complete"
    assert set(first["workloads"]) == {"tiny/mm8", "tiny/conv1d"}
    assert first["compute_units"] == 4 * 12
    assert first["capacity_bits"] == 16 * (4096 + 48 * (12 + 192 + 16))
    json.dumps(told)


def test_the_front_is_what_pairwise_comparison_leaves(result: sm.SweepResult) -> None:
    assert result.front == ("capacity", "units")

    def key(point: sm.SweepPoint) -> tuple[object, ...]:
        assert point.sizes is not None
        return (
            point.sizes.capacity,
            point.sizes.units,
            *(each.edp for each in point.workloads.values()),
        )

    keys = [key(point) for point in result.points]
    for own, point in zip(keys, result.points, strict=True):
        beaten = any(
            all(a <= b for a, b in zip(other, own, strict=True)) and other != own for other in keys
        )  # type: ignore[operator]
        assert point.pareto is not beaten
    assert {point.pareto for point in result.points} == {True, False}


def test_a_front_against_other_sizes() -> None:
    found = sm.sweep(SWEEP | {"front": ["units"]})
    best = {
        count: min(
            point.workloads["tiny/mm8"].edp
            for point in found.points  # type: ignore[type-var]
            if point.parameters["columns"] == count
        )
        for count in COUNTS
    }
    assert found.front == ("units",)
    for point in found.points:
        if point.pareto:
            assert point.workloads["tiny/mm8"].edp == best[point.parameters["columns"]]


def test_a_front_against_an_area_that_is_not_known_is_refused(
    result: sm.SweepResult, tmp_path: Path
) -> None:
    assert result.to_dict()["points"][0]["area_um2"] is None
    file = tmp_path / "sweep.yaml"
    file.write_text(yaml.safe_dump({"sweep": SWEEP | {"front": "area"}}, sort_keys=False))
    code, out, err = run("sweep", file)
    assert (code, out) == (2, "")
    assert "sweep.yaml:18:10: a front against 'area' needs the area of every point" in err


def test_a_front_against_an_area_that_is_known() -> None:
    def art(area: int) -> dict[str, object]:
        return {"version": 0.3, "tables": [{"name": "chip.shared_glb", "area": area}]}

    found = sm.sweep(
        {
            "architecture": "eyeriss",
            "workloads": ["tiny/mm8"],
            "front": "area",
            "cases": [{"files": {"ART": art(area)}} for area in (100, 200)],
        }
    )
    assert [point.pareto for point in found.points] == [True, False]
    assert found.points[0].to_dict()["area_um2"] == 100.0


def test_energies_that_do_not_follow_a_size_are_told(result: sm.SweepResult) -> None:
    assert result.notes == (
        (
            "shared_glb: its size differs between points, its energies are the same at all of them"
            " (ERT)"
        ),
    )
    assert "note         shared_glb: its size differs" in str(result)


def test_formulas_and_functions_give_energies(tmp_path: Path) -> None:
    formulas = sm.sweep(SWEEP | {"energies": {"shared_glb.*": "6 * sqrt(entries / 65536)"}})
    assert formulas.notes == ()
    small = alone(
        "tiny/mm8",
        {"shared_glb.entries": 4096, "column.count": 4, "*.meshX": 4, "shared_glb.energy.*": "1.5"},
    )
    assert formulas.points[0].workloads["tiny/mm8"].energy_pj == small.energy_pj

    def hook(spec: sm.Spec) -> dict[str, object]:
        entries = spec.need_architecture().levels[1].entries
        assert entries is not None
        return {"shared_glb.*": 6 * (entries / 65536) ** 0.5}

    functions = sm.sweep(SWEEP | {"energies": hook})
    assert [point.workloads for point in functions.points] == [
        point.workloads for point in formulas.points
    ]


def test_a_table_of_energies_for_each_case(tmp_path: Path) -> None:
    ert = yaml.safe_load(bundled.path("architectures", "eyeriss", "arch.yaml").read_text())["ERT"]
    for table in ert["tables"]:
        for action in table["actions"]:
            action["energy"] = 2 * action["energy"]
    (tmp_path / "twice.yaml").write_text(yaml.safe_dump({"ERT": ert}))
    (tmp_path / "sweep.yaml").write_text(
        yaml.safe_dump(
            {
                "sweep": {
                    "architecture": "eyeriss",
                    "workloads": ["tiny/mm8"],
                    "objective": "energy",
                    "cases": [{"shared_glb.entries": 65536}, {"files": "twice.yaml"}],
                }
            }
        )
    )
    once, twice = sm.sweep(tmp_path / "sweep.yaml").points
    assert twice.workloads["tiny/mm8"].energy_pj == 2 * (once.workloads["tiny/mm8"].energy_pj or 0)


def test_architectures_and_objectives_are_parameters() -> None:
    found = sm.sweep(
        {
            "architecture": "eyeriss",
            "workloads": ["tiny/mm8"],
            "parameters": {
                "architecture": ["eyeriss", "three_level"],
                "objective": ["energy", "delay"],
            },
        }
    )
    assert [point.objective for point in found.points] == [("energy",), ("delay",)] * 2
    assert (
        found.points[0].workloads["tiny/mm8"].energy_pj == alone("tiny/mm8", {}, "energy").energy_pj
    )
    assert found.points[1].workloads["tiny/mm8"].cycles == alone("tiny/mm8", {}, "delay").cycles
    assert found.points[2].workloads != found.points[0].workloads


@pytest.mark.parametrize(
    "values",
    [np.array([4, 8]), range(4, 9, 4), (4, 8), [np.int32(4), np.int64(8)], np.array([4.0, 8.0])],
)
def test_values_may_be_arrays_ranges_tuples_and_numbers_of_numpy(values: object) -> None:
    plan = read_sweep({**SWEEP, "parameters": {"PE.count": values}})
    assert [point.parameters for point in plan.points] == [{"PE.count": 4}, {"PE.count": 8}]
    case = read_sweep({**SWEEP, "parameters": {"shared_glb.energy.read": np.float32([0.1])}})
    assert case.points[0].parameters == {"shared_glb.energy.read": 0.1}


def test_equal_points_are_solved_once() -> None:
    found = sm.sweep(
        {
            "architecture": "eyeriss",
            "workloads": ["tiny/mm8"],
            "cases": [{"PE.count": 12}, {"PE.count": 12}],
        }
    )
    assert found.solved == 1
    assert found.points[0].workloads == found.points[1].workloads


def test_a_point_that_cannot_be_read_has_an_error_and_the_others_go_on() -> None:
    found = sm.sweep(
        {"architecture": "eyeriss", "workloads": ["tiny/mm8"], "parameters": {"*.meshX": [14, 3]}}
    )
    assert found.status == "partial"
    assert [point.error is None for point in found.points] == [True, False]
    assert found.points[1].to_dict()["workloads"] == {}
    assert "cannot be read" in str(found)
    with pytest.raises(sm.InputError):
        sm.sweep(
            {
                "architecture": "eyeriss",
                "workloads": ["tiny/mm8"],
                "parameters": {"*.meshX": [3, 5]},
            }
        )


def test_the_command_reports_points_that_cannot_be_read_after_the_others(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "sweep:\n  architecture: eyeriss\n  workloads: [tiny/mm8]\n  parameters:"
        " {shared_glb.entries: [-1, -2, 65536, 0]}\n"
    )
    code, out, err = run("sweep", file, "--json")
    points = json.loads(out)["points"]
    assert code == 2
    assert ["error" in point for point in points] == [True, True, False, False]
    assert points[2]["workloads"]["tiny/mm8"]["proven"]
    assert "whole number of at least 0, not '-1'" in err and "not '-2'" in err


def test_a_point_that_is_proven_to_have_no_mapping_is_an_answer() -> None:
    found = sm.sweep(
        {
            "architecture": "eyeriss",
            "workloads": ["tiny/conv_small"],
            "parameters": {"psum_spad.entries": [0, 16]},
        }
    )
    assert found.status == "complete"
    assert [point.complete for point in found.points] == [False, True]
    assert [point.pareto for point in found.points] == [False, True]
    infeasible, optimal = (
        point.to_dict()["workloads"]["tiny/conv_small"] for point in found.points
    )
    assert (infeasible["edp"], infeasible["status"]) == (None, "infeasible")
    assert optimal["status"] == "optimal"
    assert "no mapping exists" in str(found)


def test_tables_frames_and_pictures_have_every_point(result: sm.SweepResult) -> None:
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert len(rows) == 8 and {"shared_glb.entries", "columns", "workload", "edp"} <= set(rows[0])
    assert len(result.to_pandas()) == 8
    assert result._repr_html_().count("<tr>") == 9
    chart = result.plot()
    assert sum(len(series.x) for series in chart.series) == 8
    svg = chart.svg
    assert result.plot("shared_glb.entries", "energy_pj").svg != svg
    with pytest.raises(sm.InputError, match="unknown column 'sizes'"):
        result.plot("sizes")


def test_processes_give_the_same_points(result: sm.SweepResult) -> None:
    assert sm.sweep(SWEEP, jobs=2).points == result.points


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": None, "cases": None}, "either 'parameters' or 'cases'"),
        ({"workloads": []}, "the sweep has no workloads"),
        ({"workloads": ["resnet5"]}, "did you mean 'resnet50'"),
        ({"objective": "edpp"}, "unknown objective 'edpp'"),
        (
            {"parameters": {"shared_glb.entries": []}},
            "parameter 'shared_glb.entries' has no values",
        ),
        (
            {"parameters": {"a.entries": list(range(400)), "b.entries": list(range(400))}},
            "160,000 points; at most 100,000",
        ),
        ({"front": "price"}, "a front cannot be drawn against 'price'"),
        ({"fronts": "area"}, "fronts"),
        ({"energies": {"shared_glb.*": "6 * size"}}, "unknown name 'size'"),
        (
            {"energies": {"shared_glb.*": "zzz(entries)"}},
            "unknown function 'zzz'; known here: abs, ceil, exp, float, floor, int, log, log2, max,"
            " min, round, sqrt",
        ),
        ({"energies": {"shared_glb.*": "0 - entries"}}, "must not be negative"),
        ({"energies": {"glb.*": "1"}}, "there is no level 'glb'"),
        ({"energies": {"shared_glb": "1"}}, "is not the path of an energy"),
        (
            {
                "parameters": {"shared_glb.energy.read": [5]},
                "energies": {"shared_glb.*": "entries"},
            },
            "'shared_glb.*' of 'energies' sets the same as 'shared_glb.energy.read' of 'shared_",
        ),
        (
            {"parameters": {"a": {"set": [], "values": [1]}}},
            "parameter 'a' sets nothing; list at least one path under 'set'",
        ),
    ],
)
def test_sweeps_that_cannot_be_used_are_refused(change: dict[str, object], message: str) -> None:
    sweep = {key: value for key, value in {**SWEEP, **change}.items() if value is not None}
    with pytest.raises(sm.InputError) as refused:
        sm.sweep(sweep)
    assert message in str(refused.value)


def test_errors_in_a_file_have_a_position(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "sweep:\n  architecture: eyeriss\n  workloads: [tiny/mm8, resnet5]\n  cases: [{PE.count:"
        " 3}]\n"
    )
    with pytest.raises(sm.InputError) as refused:
        read_sweep(file)
    assert (refused.value.line, refused.value.column) == (3, 25)


@pytest.mark.parametrize(
    ("entries", "place", "message"),
    [
        (
            "parameters: {shared_glb.entires: [16384]}",
            (4, 16),
            "no component has an attribute 'entires'; did you mean 'entries'?",
        ),
        (
            "cases: [{shared_glb.entries: 1}, {shared_glb.entrie: 1}]",
            (4, 37),
            "'shared_glb.entrie': no component has an attribute 'entrie'; did you mean 'entries'?",
        ),
        ("parameters: {x: {set: [PE.coun], values: [2]}}", (4, 26), "did you mean 'count'?"),
        ("cases: [{shared_gl.entries: 1}]", (4, 12), "did you mean 'shared_glb'?"),
        ("cases: [{shared_glb.energy.rea: 1}]", (4, 12), "did you mean 'read'?"),
        ("cases: [{shared_glb: 1}]", (4, 12), ": 'shared_glb' is not the path of an attribute"),
        ("cases: [{variables.x: 1}]", (4, 12), "'variables.x': there is no 'variables'"),
        ("parameters: {shared_glb.entries: [true]}", (4, 37), "must be a number, not 'true'"),
        ("parameters: {shared_glb.entries: [.nan]}", (4, 37), "must be a number, not '.nan'"),
        ("parameters: {PE.count: [0]}", (4, 27), "a count must be a whole number of at least 1"),
        ("cases: [{PE.count: 2}, {files: no.yaml}]", (4, 34), "'no.yaml': no such file"),
        ("cases: [{architecture: eyeris}]", (4, 26), "'eyeris': neither a file nor the name"),
        (
            "cases: [{PE.count: 2}]\n  energies: {shared_glb.foo: 3}",
            (5, 30),
            "'shared_glb.energy.foo': the energy table has no action 'foo'",
        ),
        (
            "cases: [{PE.count: 2}]\n  energies: {shared_glb: 3}",
            (5, 26),
            "'shared_glb' is not the path of an energy",
        ),
    ],
)
def test_errors_in_a_point_have_a_position(
    entries: str, place: tuple[int, int], message: str, tmp_path: Path
) -> None:
    """Names are refused before any search."""
    file, searches = tmp_path / "sweep.yaml", list[object]()
    file.write_text(f"sweep:\n  architecture: eyeriss\n  workloads: [tiny/mm8]\n  {entries}\n")
    with pytest.raises(sm.InputError) as refused:
        sm.sweep(file, on_progress=searches.append)
    assert message in str(refused.value)
    assert (refused.value.file, refused.value.line, refused.value.column) == (str(file), *place)
    assert not searches


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "a: {set: [shared_glb.entries], values: [1]}",
            "b: {set: [shared_glb.entries], values: [2]}",
        ),
        ("shared_glb.entries: [1]", "'*.entries': [2]"),
        ("'*.entries': [1]", "shared_glb.depth: [2]"),
        ("shared_glb.word-bits: [8]", "shared_glb.word_width: [16]"),
        ("shared_glb.energy.read: [5]", "shared_glb.energy.*: [7]"),
        ("objective: [edp]", "x: {set: [objective], values: [delay]}"),
    ],
)
def test_two_parameters_that_set_the_same_are_refused(
    first: str, second: str, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "sweep:\n  architecture: eyeriss\n  workloads: [tiny/mm8]\n  parameters:\n"
        f"    {first}\n    {second}\n"
    )
    with pytest.raises(sm.InputError, match=r"' of '.*' sets the same as '.*' of '") as refused:
        read_sweep(file)
    assert refused.value.line == 6


def test_paths_of_one_parameter_and_paths_that_differ_are_accepted() -> None:
    case = {"shared_glb.entries, *.entries": 2, "shared_glb.energy.read": 5, "variables.entries": 1}
    sweep = {key: value for key, value in SWEEP.items() if key != "parameters"}
    read_sweep({**sweep, "cases": [case], "energies": {"DRAM.read": "3"}})


def test_an_architecture_that_does_not_exist_has_a_position(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "sweep:\n  architecture: nope.yaml\n  workloads: [tiny/mm8]\n  cases: [{PE.count: 2}]\n"
    )
    with pytest.raises(sm.InputError, match=r"'nope\.yaml': no such file") as refused:
        sm.sweep(file)
    assert (refused.value.line, refused.value.column) == (2, 17)


def test_the_command_writes_tables_and_a_picture_and_continues(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(yaml.safe_dump({"sweep": SWEEP}))
    code, out, _ = run("sweep", file, "--json", "-o", tmp_path / "out")
    assert code == 0
    assert {each.name for each in (tmp_path / "out").iterdir()} >= {
        "sweep.json",
        "sweep.csv",
        "sweep.txt",
        "sweep.svg",
    }
    told = json.loads(out)
    assert told == json.loads((tmp_path / "out" / "sweep.json").read_text())
    code, again, _ = run("sweep", file, "--json", "-o", tmp_path / "out")
    assert code == 0 and json.loads(again)["points"] == told["points"]
    assert (told["solved"], json.loads(again)["solved"]) == (8, 0)
    code, out, _ = run("sweep", file, "--json", "--time-limit", "0")
    assert code == 3
    assert json.loads(out)["points"][0]["workloads"]["tiny/mm8"]["status"] == "unknown"
    assert "no mapping found" in run("sweep", file, "--time-limit", "0")[1]
    assert run("sweep", tmp_path / "none.yaml")[0] == 2


def test_one_exceptional_layer_of_a_case_is_named(tmp_path: Path) -> None:
    """A sweep in which nothing can be mapped, and that is proven, ends in exit code 1."""
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "sweep:\n  architecture: eyeriss\n  workloads: [tiny/conv_small]\n  cases:"
        " [{psum_spad.entries: 0}]\n"
    )
    assert run("sweep", file, "--json")[0] == 1


def test_the_edp_of_a_network_is_minimized_at_each_point() -> None:
    """Each workload has the totals that it has by itself; with the objective edp they are no
    better.
    """
    result = sm.sweep(
        {
            "architecture": "eyeriss",
            "workloads": ["tiny/mm8", "tiny/mm12"],
            "cases": [{"objective": "network-edp"}, {"objective": "edp"}],
        }
    )
    whole, layers = result.points
    assert result.status == "complete"
    for name in ("tiny/mm8", "tiny/mm12"):
        assert whole.workloads[name] == sm.solve_network("eyeriss", name, "network-edp").totals
        best, other = whole.workloads[name].edp, layers.workloads[name].edp
        assert best is not None and other is not None and best <= other
    assert whole.pareto


def test_an_unfinished_sweep_of_network_edp_has_no_totals() -> None:
    sweep = {
        "architecture": "eyeriss",
        "workloads": ["tiny"],
        "cases": [{"objective": "network-edp"}],
    }
    result = sm.sweep(sweep, time_limit=0)
    assert result.status == "partial"
    assert result.points[0].workloads["tiny"].edp is None


@pytest.mark.parametrize(("name", "value"), [("verify", True), ("tie_break", False), ("gap", 0.5)])
def test_options_that_network_edp_does_not_have_are_refused(name: str, value: float) -> None:
    sweep = {**SWEEP, "objective": "network-edp"}
    with pytest.raises(sm.InputError, match=f"{name}.* is not supported for the objective"):
        sm.sweep(sweep, **{name: value})
