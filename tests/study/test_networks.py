"""Networks: totals weigh layers by their counts, equal layers are solved once, and what is a
network.
"""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

import solver_mapper as sm
from solver_mapper.io import bundled
from solver_mapper.io.yaml.source import to_python
from solver_mapper.study.networks import as_network, is_network

ARCHITECTURE = "three_level"
GEMM = {"shape": "gemm-layer", "instance": {"M": 8, "N": 8, "K": 8}}


def problem(layer: str) -> dict[str, object]:
    found = bundled.layer(layer)
    assert found is not None
    return to_python(found.problem)  # type: ignore[no-any-return]


MM8, MM12 = problem("tiny/mm8"), problem("tiny/mm12")
LAYERS = [("a", 2, MM8), ("b", 1, MM12), ("c", 3, MM8)]


@pytest.fixture(scope="module")
def result() -> sm.NetworkResult:
    return sm.solve_network(ARCHITECTURE, LAYERS)


def solved(layer: str, objective: str = "edp") -> sm.Solution:
    spec = sm.load(*bundled.resolve(ARCHITECTURE, layer))
    assert isinstance(spec, sm.Spec)
    return sm.solve(spec, objective)


def test_totals_are_the_sums_of_the_layers_by_count(result: sm.NetworkResult) -> None:
    small, large = solved("tiny/mm8").evaluation, solved("tiny/mm12").evaluation
    assert small is not None and large is not None
    totals = result.totals
    assert totals.energy_pj == 5 * small.energy_pj + large.energy_pj
    assert totals.cycles == 5 * small.cycles + large.cycles
    assert totals.edp == totals.energy_pj * totals.cycles
    assert (totals.macs, totals.layers, totals.distinct, totals.proven) == (
        5 * 512 + 12 * 18 * 20,
        6,
        2,
        True,
    )


def test_equal_layers_are_solved_once_and_told_for_each(result: sm.NetworkResult) -> None:
    assert [(each.name, each.count, each.status) for each in result.layers] == [
        ("a", 2, "optimal"),
        ("b", 1, "optimal"),
        ("c", 3, "optimal"),
    ]
    assert result.layers[0].record is result.layers[2].record
    started: list[str] = []

    def watch(progress: sm.StudyProgress) -> None:
        if type(progress.event).__name__ == "Started":
            started.append(progress.event.job.name)  # type: ignore[union-attr]

    sm.solve_network(ARCHITECTURE, LAYERS, on_progress=watch)
    assert len(started) == 2


def test_each_layer_has_the_answer_that_solve_has(result: sm.NetworkResult) -> None:
    alone = solved("tiny/mm12")
    layer = result.layers[1]
    assert layer.to_dict()["objective"] == alone.to_dict()["objective"]
    assert layer.to_dict()["evaluation"] == alone.to_dict()["evaluation"]
    assert layer.mapping == alone.mapping
    assert layer.evaluation == alone.evaluation
    assert sm.validate(layer.spec, layer.mapping).legal


def test_json_has_the_documented_keys(result: sm.NetworkResult) -> None:
    told = result.to_dict()
    assert set(told["totals"]) == {
        "energy_pj",
        "cycles",
        "edp",
        "macs",
        "layers",
        "distinct",
        "proven",
        "last_level_accesses",
        "status",
    }
    assert {"name", "count", "status", "objective", "evaluation"} <= set(told["layers"][0])
    assert set(told["layers"][0]["objective"]) == {"metrics", "value", "bound", "gap"}


def test_the_table_the_csv_the_frame_and_the_html_have_a_row_for_each_layer(
    result: sm.NetworkResult,
) -> None:
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert [row["name"] for row in rows] == ["a", "b", "c"]
    assert float(rows[1]["energy_pj"]) == float(result.layers[1].energy_pj or 0)
    frame = result.to_pandas()
    assert list(frame["count"]) == [2, 1, 3]
    assert (frame["energy_pj"] * frame["count"]).sum() == pytest.approx(
        float(result.totals.energy_pj or 0)
    )
    assert result._repr_html_().count("<tr>") == 4
    text = str(result)
    assert "every layer is proven optimal for edp" in text
    assert "layers       6, of which 2 differ; 6,880 MACs" in text


def test_the_objective_is_that_of_each_layer() -> None:
    found = sm.solve_network(ARCHITECTURE, [("a", 1, MM12)], "delay,energy")
    best = solved("tiny/mm12", "delay,energy")
    assert found.layers[0].objective == best.to_dict()["objective"]


def test_a_layer_without_a_mapping_leaves_no_totals(tmp_path: Path) -> None:
    constraints = tmp_path / "rules.yaml"
    constraints.write_text(
        "mapspace_constraints:\n- {target: DRAM, type: temporal, factors: M=8 N=8 K=8}\n"
    )
    found = sm.solve_network([ARCHITECTURE, constraints], [("fits", 1, MM8), ("does not", 1, MM12)])
    assert [each.status for each in found.layers] == ["optimal", "infeasible"]
    assert found.status == "infeasible"
    assert (found.totals.energy_pj, found.totals.edp, found.totals.proven) == (None, None, False)
    assert found.to_dict()["totals"]["edp"] is None
    assert found.to_dict()["layers"][1]["conflict"]
    assert "1 of 2 layers have no mapping" in str(found)
    assert found.to_csv().splitlines()[2].startswith("does not,1,infeasible,")


def test_no_time_leaves_layers_unknown_and_says_so() -> None:
    found = sm.solve_network(ARCHITECTURE, LAYERS, time_limit=0)
    assert {each.status for each in found.layers} == {"unknown"}
    assert found.layers[0].to_dict()["error"] == "the study ended before this search began"


def test_a_limit_for_each_layer_is_kept_and_more_time_is_used_when_there_is_more(
    tmp_path: Path,
) -> None:
    """A layer that was cut short is stored; the same limit does not search it again, a longer one
    does.
    """
    store = tmp_path / "s.sqlite"
    layers = [("conv", 1, problem("resnet50/layer1.x.conv2_3x3"))]

    def stored(limit: float | None) -> tuple[str, bool]:
        layer = sm.solve_network("eyeriss", layers, layer_time_limit=limit, store=store).layers[0]
        return layer.status, layer.stored

    first = stored(0.05)
    assert first[0] in ("feasible", "unknown") and not first[1]
    assert stored(0.05) == (first[0], True)
    assert stored(None) == ("optimal", False)
    assert stored(0.05) == ("optimal", True)


def test_a_stored_answer_that_is_wrong_is_solved_again(tmp_path: Path) -> None:
    import sqlite3

    store = tmp_path / "s.sqlite"
    right = sm.solve_network(ARCHITECTURE, [("a", 1, MM8)], store=store).totals.energy_pj
    assert right is not None
    with sqlite3.connect(store) as db:
        db.execute(
            "UPDATE solutions SET record = replace(record, ?, ?)",
            (f'"energy":"{right}"', f'"energy":"{right - 1}"'),
        )
    db.close()
    again = sm.solve_network(ARCHITECTURE, [("a", 1, MM8)], store=store)
    assert not again.layers[0].stored
    assert again.totals.energy_pj == right
    assert sm.solve_network(ARCHITECTURE, [("a", 1, MM8)], store=store).layers[0].stored


def test_names_files_contents_and_lists_are_networks(tmp_path: Path) -> None:
    tiny = bundled.network("tiny")
    assert tiny is not None
    assert as_network("tiny") == tiny
    layers = [
        {"name": each.name, "count": each.count, "problem": to_python(each.problem)}
        for each in tiny.layers
    ]
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"layers": layers}))
    listed = as_network([(each.name, each.count, to_python(each.problem)) for each in tiny.layers])
    for other in (as_network(file), as_network({"layers": layers}), listed):
        assert [(each.name, each.count, each.macs) for each in other.layers] == [
            (each.name, each.count, each.macs) for each in tiny.layers
        ]
    assert as_network(file).name == "mine"
    assert is_network(str(file)) and is_network("resnet50") and not is_network("eyeriss")
    assert not is_network("resnet50/conv1") and not is_network("nowhere.yaml")


def test_shapes_and_counts_may_be_left_to_defaults() -> None:
    net = as_network(
        {"layers": [{"name": "one", "shape": "gemm", "instance": {"M": 2, "N": 3, "K": 5}}]}
    )
    assert [(each.name, each.count, each.macs) for each in net.layers] == [("one", 1, 30)]


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("resnet5", "resnet5: neither a file nor the name of a network; did you mean 'resnet50'?"),
        ({"layers": []}, "network 'network' has no layers"),
        ({"layers": [{"name": "a", "count": 0, "shape": "gemm", "instance": {}}]}, "'count'"),
        (
            {"layers": [{"name": "a", "shape": "gem", "instance": {}}]},
            "unknown problem shape 'gem'",
        ),
        ({"layers": [{"name": "a", "shape": "gemm", "instance": {"M": 1, "N": 1}}]}, "'K'"),
        ({"layers": [{"name": "a", "counts": 1, "shape": "gemm", "instance": {}}]}, "counts"),
        ([("a", MM8)], r"a layer is a tuple \(name, count, problem\)"),
    ],
)
def test_what_is_no_network_is_refused(network: object, message: str) -> None:
    with pytest.raises(sm.InputError, match=message):
        as_network(network)  # type: ignore[arg-type]


def test_architectures_in_the_other_notation_are_refused() -> None:
    with pytest.raises(sm.InputError, match="level-by-level notation only"):
        sm.solve_network({"arch": {"nodes": []}, "workload": {}}, LAYERS)


def test_exact_totals_are_fractions(result: sm.NetworkResult) -> None:
    assert isinstance(result.totals.energy_pj, Fraction)
