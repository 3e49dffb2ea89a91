"""What the shape of a v0.4 architecture means is no line that a user could change: it takes part in
no conflict and no repair.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.explain.conflict import conflict_of
from solver_mapper.mapspace.requirements import is_changeable
from tests.constraints.designs import PROBLEM

ARCH = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 16}}
  - !Container {name: PE, spatial: {meshX: 4}}
  - !Container {name: COL, spatial: {meshX: 2}}
  - !Parallel
    nodes:
    - !Component {name: WRF, class: SRAM, attributes: {depth: 16, width: 16, datawidth: 16},
                  constraints: {dataspace: {keep: [W]}}}
    - !Component {name: IRF, class: SRAM, attributes: {depth: 16, width: 16, datawidth: 16},
                  constraints: {dataspace: {keep: [I, O]}}}
  - !Component {name: MAC, class: intmac, attributes: {datawidth: 16}}
"""


@pytest.mark.parametrize(
    "lines",
    [
        "- {target: WRF, type: temporal, factors: K=8 C=4}",
        (
            "- {target: IRF, type: dataspace, bypass: [W]}\n- {target: WRF, type: temporal,"
            " factors: K=8 C=4}"
        ),
        "- {target: IRF, type: temporal, factors: P=16 C=4}",
        "- {target: inter_PE_spatial, type: temporal, factors: C>=2}",
        "\n".join(
            f"- {{target: {name}, type: {kind}, factors: R=1}}"
            for kind, name in (
                ("temporal", "DRAM"),
                ("temporal", "WRF"),
                ("temporal", "IRF"),
                ("spatial", "PE"),
                ("spatial", "COL"),
            )
        ),
    ],
)
def test_parallel_branches(lines: str, tmp_path: Path) -> None:
    file = tmp_path / "arch.yaml"
    file.write_text(f"{ARCH}\narchitecture_constraints:\n{lines}\n")
    spec = sm.load(file, PROBLEM)
    assert isinstance(spec, sm.Spec)
    assert all(is_changeable(ask) for ask in conflict_of(spec, Clock()))
    reason = sm.explain(spec)
    assert reason.repairs
    for repair in reason.repairs:
        assert "in parallel" not in repair.text
        assert "stores nothing" not in repair.text
        assert sm.explain(repair.apply(spec)).feasible


def test_the_conflict_is_the_users_part_of_it(tmp_path: Path) -> None:
    """That a level which only carries a mesh has no temporal loops needs no saying."""
    file = tmp_path / "arch.yaml"
    file.write_text(
        f"{ARCH}\narchitecture_constraints:\n- {{target: inter_PE_spatial, type: temporal, factors:"
        " C>=2}\n"
    )
    assert [entry.text for entry in sm.explain(sm.load(file, PROBLEM)).conflict] == [
        "inter_PE_spatial temporal: factors C>=2"
    ]


def test_a_user_who_says_the_same_does_not_make_it_theirs(tmp_path: Path) -> None:
    file = tmp_path / "arch.yaml"
    file.write_text(
        f"{ARCH}\narchitecture_constraints:\n- {{target: IRF, type: dataspace, bypass: [W]}}\n"
    )
    constraints = sm.load(file, PROBLEM).constraints
    assert [
        constraint.origin
        for constraint in constraints
        if constraint.text == "IRF: in parallel to where W is kept (bypass W)"
    ] == ["hardware"]
