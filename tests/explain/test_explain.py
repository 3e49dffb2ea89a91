"""`explain` on inputs without a legal mapping: irreducible conflicts, and repairs that work when
written into the files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.spec import Spec
from solver_mapper.explain import caps
from solver_mapper.explain.change import Change, changed
from solver_mapper.explain.conflict import conflict_of
from solver_mapper.explain.reason import Reason
from solver_mapper.io import bundled
from solver_mapper.io.yaml.source import Source
from solver_mapper.mapspace.requirements import (
    DimensionBound,
    FanoutRequirement,
    Requirement,
    requirements_of,
)
from solver_mapper.solve.legality.model import legal_model
from solver_mapper.solve.legality.queries import least
from tests.campaigns import in_campaigns
from tests.constraints.designs import DESIGN
from tests.explain.infeasible import (
    Case,
    cases,
    edited,
    everywhere,
    joined,
    spatial,
    storage,
    temporal,
)
from tests.study.commands import run

CASES = list(cases())
IDS = [f"{number:02}-{case.kind.replace(' ', '-')}" for number, case in enumerate(CASES)]


def load(*files: Source) -> Spec:
    spec = sm.load(*files)
    assert isinstance(spec, Spec)
    return spec


def can_hold(spec: Spec, held: list[Requirement], capped: bool) -> bool:
    """Whether some mapping obeys `held`, with everything else lifted; but bounds and meshes stay if
    it is about figures.
    """
    if capped:
        for ask in requirements_of(spec):
            spec = (
                spec
                if ask in held or isinstance(ask, DimensionBound | FanoutRequirement)
                else changed(spec, Change(ask))
            )
        return sm.explain(spec).feasible
    lifted = [ask for ask in requirements_of(spec) if ask not in held]
    legal = legal_model(spec.need_architecture(), spec.need_problem(), held, lifted=lifted)
    return least(legal, None, Clock()).read is not None


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches for figures within caps are soon over here, or do not end."""
    monkeypatch.setattr(caps, "PATIENCE", 3.0)


def test_there_are_enough_inputs_of_enough_kinds() -> None:
    kinds = Counter(case.kind for case in CASES)
    assert len(CASES) >= 60
    assert len(kinds) >= 10


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.usefixtures("impatient")
def test_the_conflict_is_irreducible(case: Case, tmp_path: Path) -> None:
    spec = load(*case.write(tmp_path))
    conflict = list(conflict_of(spec, Clock()))
    capped = any(isinstance(ask, MetricConstraint) for ask in conflict)
    assert not can_hold(spec, conflict, capped)
    for spared in conflict:
        assert can_hold(spec, [ask for ask in conflict if ask != spared], capped), spared


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.usefixtures("impatient")
def test_every_repair_works_in_the_files(case: Case, tmp_path: Path) -> None:
    files = case.write(tmp_path)
    spec = load(*files)
    reason = sm.explain(spec)
    assert not reason.feasible
    assert reason.repairs, str(reason)
    for number, repair in enumerate(reason.repairs):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        for name, text in edited(joined(files), repair, spec).items():
            (folder / name).write_text(text)
        again = load(*(folder / file.name for file in files))
        found = sm.explain(again)
        assert found.feasible and found.mapping is not None, repair.text
        assert sm.validate(repair.apply(spec), found.mapping).legal, repair.text


def test_numbers_are_the_least_that_do(tmp_path: Path) -> None:
    """One word less, and it would still not fit: W 1, I 16 and O 16."""
    case = Case(
        "capacity", (temporal("RF", "factors: P=16"), storage("RF", "keep: [W, I, O]")), {"rf": 20}
    )
    texts = {repair.text for repair in explained(case, tmp_path).repairs}
    assert "raise RF entries from 20 to at least 33" in texts
    assert "allow P=8 instead of P=16 at RF temporal" in texts
    assert "let RF bypass I" in texts


def test_a_dimension_that_may_loop_nowhere_is_explained_by_name(tmp_path: Path) -> None:
    """Constraints that leave R no place, as in timeloop issue 187."""
    reason = explained(Case("missing dimension", everywhere("R", "=1")), tmp_path)
    assert [entry.what for entry in reason.conflict] == ["constraint"] * 4 + ["dimension"]
    assert "allow R=3 instead of R=1 at RF temporal" in [repair.text for repair in reason.repairs]
    assert reason.repairs[0].location.line == 2


def test_several_conflicts_need_several_changes(tmp_path: Path) -> None:
    """Each repair changes one constraint of either conflict."""
    lines = (temporal("GLB", "factors: P=4 K=4"), temporal("GLB", "factors: P<=2 K<=2"))
    reason = explained(Case("two", lines), tmp_path)
    assert {len(repair.changes) for repair in reason.repairs} == {2}
    assert len(reason.repairs) == 4


def test_conflicts_that_share_no_entry_are_counted_and_listed(tmp_path: Path) -> None:
    """Two conflicts apart from each other: one is explained, the other is announced, and listed on
    demand, irreducible too.
    """
    lines = (
        temporal("GLB", "factors: P=4"),
        temporal("GLB", "factors: P<=2"),
        temporal("RF", "factors: K=8"),
        spatial("GLB", "factors: K=2"),
    )
    files = Case("two", lines).write(tmp_path)
    spec = load(*files)
    first = sm.explain(spec)
    assert first.more is True and first.others == ()
    assert "Further conflicts share no entry with this one; 'explain --all' lists them." in str(
        first
    )
    reason = sm.explain(spec, every=True)
    assert isinstance(reason, Reason)
    found = [[entry.location.line for entry in each] for each in (reason.conflict, *reason.others)]
    assert len(found) == 2 and not set(found[0]) & set(found[1])
    _, shown, _ = run("explain", "--all", *files)
    assert "Conflict 2, which shares no entry with the others:" in shown
    for entry in (*reason.conflict, *reason.others[0]):
        assert entry.text in shown
    record = reason.to_dict()
    assert record["more_conflicts"] is True and len(record["other_conflicts"]) == 1


def test_one_conflict_is_said_to_be_alone(tmp_path: Path) -> None:
    """Where the rest can be obeyed, no further conflict is announced."""
    lines = (temporal("GLB", "factors: P=4"), temporal("GLB", "factors: P<=2"))
    reason = explained(Case("one", lines), tmp_path)
    assert reason.more is False and reason.others == ()
    assert "Further" not in str(reason)


@pytest.mark.parametrize(
    ("cap", "note"),
    [
        ("cycles: 10", "16 instances of MAC need at least 96 cycles for 1,536 MACs"),
        ("energy_pj: 1", "the MACs alone need"),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_a_cap_names_the_hardware_that_keeps_it_from_being_met(cap, note, tmp_path: Path) -> None:
    """A floor of the figure that follows from the compute units alone stands beside the cap; a cap
    that they could meet has none.
    """
    reason = explained(Case("cap", (f"metrics: {{{cap}}}",)), tmp_path)
    assert note in " ".join(entry.note for entry in reason.conflict)


def test_a_feasible_input_has_nothing_to_explain(tmp_path: Path) -> None:
    reason = explained(Case("feasible", ()), tmp_path)
    assert reason.to_dict() == {"feasible": True, "conflict": [], "repairs": []}
    assert reason.mapping is not None
    assert sm.validate(load(*Case("feasible", ()).write(tmp_path)), reason.mapping).legal


def test_solve_names_the_same_conflict(tmp_path: Path) -> None:
    files = CASES[0].write(tmp_path)
    solution = sm.solve(load(*files))
    assert solution.status == "infeasible"
    assert solution.to_dict()["conflict"] == sm.explain(load(*files)).to_dict()["conflict"]
    assert "RF capacity: 4 words" in " ".join(str(solution).split())


def test_command_line(tmp_path: Path) -> None:
    files = [str(file) for file in CASES[0].write(tmp_path)]
    command = [sys.executable, "-m", "solver_mapper", "explain", *files]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown.returncode == 1
    assert "RF capacity: 4 words" in shown.stdout
    assert "{name: RF, entries: 4," in shown.stdout
    code, printed, _ = run("explain", *files, "--json")
    assert code == 1
    answer = json.loads(printed)
    assert answer["feasible"] is False
    assert {
        "what": "capacity",
        "text": "RF capacity: 4 words",
        "file": files[0],
        "line": 4,
    } in answer["conflict"]
    assert {"text", "file", "line"} <= set(answer["repairs"][0])


REAL: list[tuple[str, str, str, set[str]]] = [
    (
        "eyeriss",
        "conv1",
        temporal("weights_spad", "factors: R=1"),
        {"allow R=7 instead of R=1 at weights_spad temporal"},
    ),
    (
        "eyeriss",
        "layer3.x.conv2_3x3",
        temporal("shared_glb", "factors: P=0 Q=0 C=0"),
        {"raise shared_glb entries from 65536 to at least 65732", "let shared_glb bypass Inputs"},
    ),
    (
        "simba",
        "layer3.x.conv2_3x3",
        temporal("AccumulationBuffer", "factors: K=128"),
        {"raise AccumulationBuffer entries from 64 to at least 128"},
    ),
    (
        "nvdla",
        "layer4.x.conv2_3x3",
        spatial("CBUF", "factors: K=64"),
        {"allow K=32 instead of K=64 at CBUF spatial"},
    ),
    (
        "tpu",
        "layer2.x.conv1_1x1",
        "target: weight_reg, type: utilization, min: 1",
        {
            "lower the least utilization from 1 to at most 0.5",
            "allow C=2 instead of C=1 at UnifiedBuffer spatial",
        },
    ),
    (
        "three_level",
        "fc",
        "target: RF, type: bypass, keep: [Inputs, Weights, Outputs]}\n- {"
        + temporal("RF", "factors: C=128"),
        {"allow C=64 instead of C=128 at RF temporal", "raise RF entries from 256 to at least 257"},
    ),
]


@pytest.mark.parametrize(
    ("accelerator", "layer", "line", "advice"), [*REAL[1::2], *in_campaigns(REAL[::2])]
)
def test_real_layers_take_less_than_ten_seconds(
    accelerator: str, layer: str, line: str, advice: set[str], tmp_path: Path
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"mapspace:\n- {{{line}}}\n")
    spec = load(*bundled.resolve(accelerator, f"resnet50/{layer}", file))
    reason = sm.explain(spec)
    assert advice <= {repair.text for repair in reason.repairs}, str(reason)
    assert all(sm.explain(repair.apply(spec)).feasible for repair in reason.repairs)
    assert reason.seconds < 10


def explained(case: Case, folder: Path) -> Reason:
    return sm.explain(load(*case.write(folder)))


def test_a_cap_that_a_real_layer_cannot_meet_takes_less_than_ten_seconds(tmp_path: Path) -> None:
    """What the constraints of the architecture leave of the mesh cannot do the work in fewer
    cycles. (Seconds of the processor.)
    """
    file = tmp_path / "rules.yaml"
    file.write_text("mapspace:\n- {metrics: {cycles: 100000}}\n")
    started = time.process_time()
    reason = sm.explain(load(*bundled.resolve("eyeriss", "resnet50/layer3.x.conv2_3x3", file)))
    assert [entry.text for entry in reason.conflict] == ["metrics: cycles <= 100000"]
    assert [repair.text for repair in reason.repairs] == [
        "raise the cap on cycles from 100000 to at least 688128"
    ]
    assert time.process_time() - started < 10


@pytest.mark.parametrize("key", ["architecture_constraints", "mapping"])
def test_a_residual_that_perfect_factors_exclude_is_said_to_be_excluded_by_the_mapspace(
    key: str,
) -> None:
    """`validate` accepts the mapping; `explain` and `solve` say that it is the mapspace that lacks
    it.
    """
    directive = {"target": "GLB", "type": "temporal", "factors": "P=6,4"}
    rest = [{"target": "DRAM", "type": "temporal", "factors": "C=4 K=8 R=3 P=3"}]
    given = load(DESIGN, {key: [directive]})
    assert sm.validate(
        load(DESIGN, {"architecture_constraints": [directive], "mapping": [directive, *rest]})
    ).legal
    reason, solution = sm.explain(given), sm.solve(given)
    (entry,) = reason.conflict
    assert (
        "a last round of 4 of 6 iterations: the mapspace of perfect factors has no such loop"
        in entry.note
    )
    assert entry.note in str(reason) and reason.to_dict()["conflict"] == list(
        solution.conflict
    ) == [entry.to_dict()]
    assert "the mapspace of perfect factors has no such loop" in " ".join(str(solution).split())


def test_a_conflict_without_residuals_has_no_note() -> None:
    reason = sm.explain(
        load(
            DESIGN,
            {
                "architecture_constraints": [
                    {"target": "GLB", "type": "temporal", "factors": "P=3"},
                    {"target": "RF", "type": "temporal", "factors": "P=8,8 C=1"},
                ]
            },
        )
    )
    assert not reason.feasible and all("note" not in entry.to_dict() for entry in reason.conflict)
