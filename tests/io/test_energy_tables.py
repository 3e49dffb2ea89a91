"""Energy tables that price some actions of a component only: Timeloop's formulas price the others,
with a warning.
"""

from __future__ import annotations

import io
from fractions import Fraction

import pytest

import solver_mapper as sm
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError

DESIGN = """\
arch:
  arithmetic: {name: MAC, instances: 1, word-bits: 8}
  storage:
  - {name: RF, entries: 256, instances: 1, block-size: 4}
  - {name: DRAM, technology: DRAM, instances: 1}
problem:
  shape:
    name: mm
    dimensions: [M, N, K]
    data-spaces:
    - {name: A, projection: [[[M]], [[K]]]}
    - {name: B, projection: [[[K]], [[N]]]}
    - {name: Z, projection: [[[M]], [[N]]], read-write: true}
  instance: {M: 8, N: 4, K: 2}
ERT:
  version: 0.3
  tables:
"""
DRAM = {"DRAM": {"read": 100, "write": 100}}
MAC = {"MAC": {"mac_random": 2}}


def read(tables: dict[str, dict[str, float]], design: str = DESIGN) -> Spec:
    """`DESIGN` with tables of energies by component and action."""
    lines = []
    for name, actions in tables.items():
        rows = ", ".join(f"{{name: {word}, energy: {energy}}}" for word, energy in actions.items())
        lines.append(f"  - {{name: 'chip.{name}', actions: [{rows}]}}\n")
    return sm.load(io.StringIO(design + "".join(lines)))


def test_a_table_that_prices_no_access_leaves_the_formula_as_timeloop_does() -> None:
    spec = read({**DRAM, **MAC, "RF": {"access": 7, "idle": 0.5, "leak": 0.25}})
    energy = spec.need_architecture().levels[1].energy
    assert (energy.read, energy.fill, energy.update, energy.leak) == (4, 4, 4, Fraction(1, 4))
    assert energy.origin == "PAT formula (SRAM)"
    assert [str(each) for each in spec.warnings] == [
        "<stream>:20:5: the energy table of 'chip.RF' has no action 'read' or 'write' (it has"
        " 'access', 'idle' and 'leak'): reads, fills and updates of 'RF' cost 4 pJ each, by the PAT"
        " formula (SRAM), as in Timeloop; add the action, or give 'RF' the attribute"
        " 'vector-access-energy'"
    ]


def test_each_action_is_priced_by_itself() -> None:
    spec = read({"DRAM": {"write": 90}, **MAC, "RF": {"read": 3, "update": 5}})
    dram, rf = (level.energy for level in spec.need_architecture().levels)
    assert (dram.read, dram.fill, dram.update) == (200, 90, 90)
    assert (rf.read, rf.fill, rf.update) == (3, 4, 5)
    assert rf.origin == "ERT; PAT formula (SRAM) for fill"
    texts = [str(each) for each in spec.warnings]
    assert "'chip.DRAM' has no action 'read' (it has 'write'): reads of 'DRAM' cost 200" in texts[0]
    assert "'chip.RF' has no action 'write' (it has 'read' and 'update'): fills of" in texts[1]
    assert len(texts) == 2


@pytest.mark.parametrize(("name", "kinds"), [("random_write", "fu"), ("fill", "f")])
def test_writes_have_the_names_that_timeloop_knows(name: str, kinds: str) -> None:
    spec = read({**DRAM, **MAC, "RF": {"read": 3, "write": 5, name: 6}})
    energy = spec.need_architecture().levels[1].energy
    assert (energy.fill, energy.update) == (6, 6 if "u" in kinds else 5)


def test_compute_units_without_a_price_have_their_attribute_or_the_formula() -> None:
    tables = {**DRAM, "RF": {"read": 1, "write": 1}, "MAC": {"idle": 9}}
    spec = read(tables)
    assert spec.need_architecture().arithmetic.energy == Fraction(1, 4)
    (text,) = (str(each) for each in spec.warnings)
    assert "'chip.MAC' has no action 'compute' (it has 'idle'): a multiply-accumulate of" in text
    assert "'MAC' costs 0.25 pJ (PAT formula (multiplier)), as in Timeloop; add the action" in text
    spec = read(tables, DESIGN.replace("word-bits: 8", "energy: 3"))
    assert spec.need_architecture().arithmetic.energy == 3
    assert "costs 3 pJ (energy attribute)" in str(spec.warnings[0])


def test_the_formula_needs_a_size() -> None:
    with pytest.raises(InputError, match="no size, 'vector-access-energy' or ERT that prices a re"):
        read({**DRAM, **MAC, "RF": {"access": 7}}, DESIGN.replace(" entries: 256,", ""))


def test_an_attribute_or_a_level_that_stores_nothing_needs_no_action() -> None:
    given = DESIGN.replace("entries: 256", "entries: 256, vector-access-energy: 2")
    assert read({**DRAM, **MAC, "RF": {"access": 7}}, given).warnings == ()
    bypass = DESIGN.replace(
        "ERT:",
        "mapspace_constraints:\n- {target: RF, type: datatype, bypass: [A, B, Z]}\nERT:",
    )
    assert read({**DRAM, **MAC, "RF": {"access": 7}}, bypass).warnings == ()
    assert read({**DRAM, **MAC}, bypass).warnings == ()
    assert [each.code for each in read({**DRAM, **MAC}).warnings] == ["no-energy-table"]
