"""The v0.4 form means what the front end makes of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.core.constraints import FactorConstraint, KeepConstraint
from solver_mapper.core.mapping import loop
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.specification import load

DATA = Path(__file__).parents[1] / "data" / "timeloop"
GEMM = "problem: {shape: gemm-ABZ, instance: {M: 16, N: 8, K: 4}}\n"
TOP = "- !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8, width: 64}}\n"
MAC = "- !Component {name: mac, class: intmac}\n"


def read(tmp_path: Path, *nodes: str, more: str = "", problem: str = GEMM) -> Spec:
    file = tmp_path / "design.yaml"
    file.write_text(
        "architecture:\n  version: 0.4\n "
        f" nodes:\n{''.join(f'  {node}' for node in nodes)}{problem}{more}"
    )
    return load(file)


def regfile(
    name: str = "RF",
    constraints: str = "",
    attributes: str = "depth: 8, width: 8, datawidth: 8",
    more: str = "",
) -> str:
    inside = f", constraints: {{{constraints}}}" if constraints else ""
    return (
        f"- !Component {{name: {name}, class: regfile, attributes:"
        f" {{{attributes}}}{inside}{more}}}\n"
    )


def test_the_same_design_in_v04_and_v03_reads_the_same() -> None:
    new, old = load(DATA / "rowstationary_v04.yaml"), load(DATA / "rowstationary_v03.yaml")
    assert new.architecture == old.architecture
    assert new.problem == old.problem
    assert set(new.constraints) == set(old.constraints)
    assert new.mapping == old.mapping
    assert new.need_architecture().level_names[2:4] == ("inter_column_spatial", "inter_PE_spatial")


def test_the_same_design_in_v04_and_v03_has_the_same_figures() -> None:
    new, old = (sm.load(DATA / f"rowstationary_{version}.yaml") for version in ("v04", "v03"))
    assert sm.validate(new).to_dict()["legal"]
    assert sm.evaluate(new).to_dict() == sm.evaluate(old).to_dict()


def test_inherited_attributes_variables_and_arithmetic() -> None:
    buffer = load(DATA / "rowstationary_v04.yaml").need_architecture().levels[1]
    assert (buffer.word_bits, buffer.block_size, buffer.entries) == (8, 4, 4096)


def test_flattened_input_with_its_energy_table() -> None:
    spec = load(DATA / "flattened_v04.yaml")
    architecture = spec.need_architecture()
    assert architecture.level_names == ("DRAM", "inter_PE_spatial", "RF")
    assert [architecture.fanout(index) for index in range(3)] == [(1, 1), (16, 1), (1, 1)]
    energy = architecture.levels[2].energy
    assert (energy.read, energy.update, energy.leak) == (
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(1, 1000),
    )
    assert architecture.levels[0].energy.update == 512
    assert spec.need_mapping().levels[1].keep == frozenset()
    assert spec.need_mapping().levels[1].spatial[-1] == loop("M", 16, "X")
    assert spec.warnings == ()


def test_levels_without_figures_in_the_energy_table_are_named_unless_they_store_nothing(
    tmp_path: Path,
) -> None:
    text = (DATA / "flattened_v04.yaml").read_text()
    (tmp_path / "design.yaml").write_text(
        text.replace("{name: read, arguments: {}, energy: 0.25}, ", "")
    )
    (warning,) = load(tmp_path / "design.yaml").warnings
    assert warning.code == "no-energy-table"
    assert "has no action 'read'" in warning


def test_a_fanout_of_a_component_is_a_level_above_it(tmp_path: Path) -> None:
    spec = read(tmp_path, TOP, regfile(more=", spatial: {meshX: 2, meshY: 3}"), MAC)
    architecture = spec.need_architecture()
    assert architecture.level_names == ("DRAM", "inter_RF_spatial", "RF")
    assert (architecture.arithmetic.mesh_x, architecture.arithmetic.mesh_y) == (2, 3)


def test_fanouts_store_nothing_and_iterate_over_nothing(tmp_path: Path) -> None:
    constraints = read(
        tmp_path, TOP, "- !Container {name: PE, spatial: {meshX: 4}}\n", regfile(), MAC
    ).constraints
    dummy = [constraint for constraint in constraints if constraint.level == "inter_PE_spatial"]
    assert {
        constraint.tensor
        for constraint in dummy
        if isinstance(constraint, KeepConstraint) and not constraint.keep
    } == {"A", "B", "Z"}
    assert {
        constraint.dim: constraint.value
        for constraint in dummy
        if isinstance(constraint, FactorConstraint)
    } == {"M": 1, "N": 1, "K": 1}


def test_spatial_directives_name_the_node_with_the_fanout(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        TOP,
        "- !Container {name: PE, spatial: {meshX: 4}}\n",
        regfile(),
        MAC,
        more=(
            "constraints: {targets: [{target: PE, type: spatial, factors: [N=1]}]}\n"
            "mapping: [{target: PE, type: spatial, factors: [M=4]}]\n"
        ),
    )
    assert FactorConstraint("inter_PE_spatial", "", "spatial", "N", "==", 1) in spec.constraints
    assert spec.need_mapping().levels[1].spatial == (loop("M", 4, "X"),)
    assert spec.need_mapping().levels[1].keep == frozenset()


def test_constraints_in_a_container_hold_for_all_levels_in_it(tmp_path: Path) -> None:
    container = "- !Container {name: PE, constraints: {dataspace: {keep: [A]}}}\n"
    spec = read(tmp_path, TOP, container, regfile("L1"), regfile("L0"), MAC)
    assert [constraint.level for constraint in spec.constraints] == ["L1", "L0"]


def test_constraints_inside_the_architecture_are_part_of_each_mapping(tmp_path: Path) -> None:
    inside = "dataspace: {bypass: [B]}, temporal: {factors: [K=4], permutation: [K, N, M]}"
    spec = read(
        tmp_path,
        TOP,
        regfile(constraints=inside),
        MAC,
        more=(
            "mapping: [{target: RF, type: temporal, factors: [M=2]}, {target: DRAM, type: temporal,"
            " factors: [N=8]}]\n"
        ),
    )
    level = spec.need_mapping().levels[1]
    assert level.keep == {"A", "Z"}
    assert set(level.temporal) == {loop("K", 4), loop("M", 2)}


def test_hierarchical_nodes_nest_and_disabled_nodes_are_left_out(tmp_path: Path) -> None:
    inner = (
        "!Pipelined {nodes: [!Component {name: L1, class: regfile, attributes: {depth: 4,"
        " datawidth: 8}}]}"
    )
    nested = (
        f"- !Hierarchical {{nodes: [{inner}, !Component {{name: L0, class: regfile, enabled:"
        " false}]}\n"
    )
    assert read(tmp_path, TOP, nested, MAC).need_architecture().level_names == ("DRAM", "L1")


def test_own_attributes_beat_inherited_ones_and_may_build_on_them(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        "- !Container {name: system, attributes: {datawidth: 8, my_depth: 16}}\n",
        TOP,
        regfile(attributes="depth: my_depth * 2, datawidth: datawidth * 2, width: datawidth"),
        MAC,
    )
    level = spec.need_architecture().levels[1]
    assert (level.entries, level.word_bits, level.block_size) == (32, 16, 1)


def parallel(*branches: str) -> str:
    return "- !Parallel\n    nodes:\n" + "".join(f"    {branch}" for branch in branches)


def test_parallel_branches_share_out_the_tensors(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        TOP,
        parallel(regfile("X", "dataspace: {keep: [A, B]}"), regfile("Y", "dataspace: {keep: [Z]}")),
        MAC,
    )
    kept = {
        (constraint.level, constraint.tensor): constraint.keep
        for constraint in spec.constraints
        if isinstance(constraint, KeepConstraint)
    }
    assert kept == {
        ("X", "A"): True,
        ("X", "B"): True,
        ("X", "Z"): False,
        ("Y", "A"): False,
        ("Y", "B"): False,
        ("Y", "Z"): True,
    }


def test_nothing_in_a_parallel_lets_tensors_pass(tmp_path: Path) -> None:
    nothing = "- !Nothing {constraints: {dataspace: {keep: [A, B]}}}\n"
    spec = read(tmp_path, TOP, parallel(regfile("X", "dataspace: {keep: [Z]}"), nothing), MAC)
    kept = {
        constraint.tensor: constraint.keep
        for constraint in spec.constraints
        if isinstance(constraint, KeepConstraint)
    }
    assert kept == {"A": False, "B": False, "Z": True}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [
                TOP,
                parallel(
                    regfile("X", "dataspace: {keep: [A]}"),
                    regfile("Y", "dataspace: {keep: [A, B]}"),
                ),
                MAC,
            ],
            "2 branches",
        ),
        (
            [
                TOP,
                parallel(
                    regfile("X", "dataspace: {keep: [A]}"), regfile("Y", "dataspace: {keep: [B]}")
                ),
                MAC,
            ],
            "add the branch '!Nothing {constraints: {dataspace: {keep: [Z]}}}' for tensors that",
        ),
        ([TOP, parallel("- !Container {name: PE}\n"), MAC], "cannot stand in a !Parallel"),
        ([TOP, parallel(regfile("X", more=", spatial: {meshX: 2}")), MAC], "cannot have a fanout"),
        ([TOP, regfile(), regfile(), MAC], "two nodes are called 'RF'"),
        ([TOP, MAC, regfile()], "follows the compute units"),
        ([TOP, regfile()], "no compute level"),
        ([MAC], "no storage level"),
        ([TOP, "- !Box {name: x}\n", MAC], "unknown kind of node '!Box'"),
        ([TOP, "- {name: x}\n", MAC], "unknown kind of node 'without a tag'"),
        ([TOP, "- !Component {name: x}\n", MAC], "lacks 'class'"),
        ([TOP, "- !Component {name: x, class: regfil}\n", MAC], "unknown class 'regfil'"),
        ([TOP, "- !Component {name: 'x[0..3]', class: regfile}\n", MAC], "has a range"),
        (
            [TOP, regfile(attributes="depth: nothing_known * 2, datawidth: 8"), MAC],
            "unknown name 'nothing_known'",
        ),
        (
            [TOP, regfile(attributes="depth: depth + 1, datawidth: 8"), MAC],
            "'depth' depends on itself",
        ),
        ([TOP, regfile(attributes="depth: 3 / 2, datawidth: 8"), MAC], "whole number"),
        ([TOP, regfile(more=", spatial: {meshX: 0}"), MAC], "whole number of at least 1"),
        ([TOP, regfile(more=", spatial: {meshZ: 2}"), MAC], "no field 'meshZ'"),
        ([TOP, regfile(more=", sparse_optimizations: {action_optimization: []}"), MAC], "sparse"),
        (
            [TOP, regfile(constraints="max_overbooked_proportion: {proportion: 0.1}"), MAC],
            "overbooked",
        ),
        ([TOP, regfile(constraints="tempral: {}"), MAC], "no field 'tempral'"),
        (
            [
                TOP,
                "- !Container {name: PE, constraints: {spatial: {factors: [M=4]}}}\n",
                regfile(),
                MAC,
            ],
            "has no fanout",
        ),
        (
            [
                TOP,
                regfile(),
                "- !Component {name: mac, class: intmac, constraints: {dataspace: {keep: [A]}}}\n",
            ],
            "stores nothing",
        ),
    ],
)
def test_errors(tmp_path: Path, nodes: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, *nodes)
    assert message in str(caught.value)
    assert caught.value.line is not None


def test_idle_constraints_are_noted(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        TOP,
        "- !Container {name: PE, constraints: {spatial: {factors: [M=1]}}}\n",
        regfile(),
        MAC,
    )
    assert "the spatial constraint of 'PE' has no effect: 'PE' has no fanout" in spec.warnings[0]


def test_a_list_of_mappings_under_variables_is_one_mapping(tmp_path: Path) -> None:
    nodes = (TOP, regfile(attributes="depth: DEPTH, width: 8, datawidth: BITS"), MAC)
    more = (
        "variables:\n- {version: 0.4, BITS: null}\n- [{DEPTH: 2 * BITS}, {BITS: 8, version: 0.4}]\n"
    )
    spec = read(tmp_path, *nodes, more=more)
    assert spec.need_architecture().levels[1].entries == 16
    wide = spec.with_attributes({"variables.DEPTH": 32})
    assert wide.need_architecture().levels[1].entries == 32
    for wrong, message in (
        ("- {DEPTH: 4}\n- {DEPTH: 5}\n", r":10:4: 'DEPTH' of 'variables' is given twice, first at"),
        ("- {DEPTH: 4}\n- DEPTH\n", "a mapping or a list of mappings; this item is 'DEPTH'"),
    ):
        with pytest.raises(InputError, match=message):
            read(tmp_path, *nodes, more=f"variables:\n{wrong}")


def test_attributes_of_accelergy_are_no_misspelt_ones(tmp_path: Path) -> None:
    more = "n_instances: 3, n_entries: 5, depth: 3 + n_entries, width: 8, datawidth: 8"
    spec = read(tmp_path, TOP, regfile(attributes=more), MAC)
    assert spec.need_architecture().levels[1].entries == 8
    noted = [str(each) for each in spec.warnings if each.code == "accelergy-attribute"]
    assert [text.split("attribute ")[1].split()[0] for text in noted] == [
        "'n_instances'",
        "'n_entries'",
    ]
    with pytest.raises(InputError, match="no attribute 'n_entries'; did you mean 'entries'"):
        read(tmp_path, TOP, regfile(attributes="n_entries: 5, width: 8"), MAC)


def test_what_only_cimloop_reads_is_refused_as_that(tmp_path: Path) -> None:
    for node in ("- !ArrayContainer {name: column}\n", regfile(more=", max_utilization: true")):
        with pytest.raises(
            InputError, match=r"belongs to CiMLoop.*give the input that CiMLoop hands"
        ):
            read(tmp_path, TOP, node, MAC)


def test_what_processors_of_cimloop_set_is_refused_as_that(tmp_path: Path) -> None:
    unset = "rows: Should have been set by ArrayProcessor."
    node = regfile(attributes=f"{unset}, depth: rows * 2, width: 16")
    with pytest.raises(InputError, match=r"CiMLoop's Python processors set it; give the input"):
        read(tmp_path, TOP, node, MAC)


def test_a_missing_class_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r":5:5: component 'RF' lacks 'class'"):
        read(tmp_path, TOP, "- !Component {name: RF, subclass: regfile}\n", MAC)
