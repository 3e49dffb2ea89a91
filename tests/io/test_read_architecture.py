"""Architectures in the flat and the tree form read as the same records, with energies from where
they were given.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from solver_mapper.core.architecture import Architecture
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.architecture import energy_formulas as pat
from solver_mapper.io.timeloop.specification import load

DATA = Path(__file__).parents[1] / "data" / "timeloop"
MAC = {"name": "MAC", "instances": 8, "meshX": 4}


def flat(*storage: dict[str, Any], arithmetic: dict[str, Any] = MAC, **more: Any) -> Architecture:
    """`storage` innermost first, as the flat form lists it."""
    return load(
        {"arch": {"arithmetic": arithmetic, "storage": list(storage)}, **more}
    ).need_architecture()


def buffer(**attributes: Any) -> dict[str, Any]:
    return {"name": "RF", "entries": 64, "instances": 1, **attributes}


def test_flat_form_lists_levels_from_the_inside() -> None:
    architecture = load(DATA / "c20_eyeriss_vgg.yaml").need_architecture()
    assert architecture.level_names == (
        "DRAM",
        "GlobalBuffer",
        "DummyBuffer",
        "InputRegFile",
        "WeightRegFile",
        "PsumRegFile",
    )
    assert [architecture.fanout(index) for index in range(6)] == [
        (1, 1),
        (16, 1),
        (1, 16),
        (1, 1),
        (1, 1),
        (1, 1),
    ]
    glb = architecture.levels[1]
    assert (glb.entries, glb.block_size, glb.read_bandwidth, glb.capacity) == (65536, 4, 16, 65536)
    assert architecture.levels[2].entries == 0
    assert architecture.levels[0].entries is None


def test_tree_form_lists_levels_from_the_outside_and_multiplies_ranges() -> None:
    architecture = load(DATA / "c30_tree_arch_ert.yaml").need_architecture()
    assert architecture.level_names == ("MainMemory", "GlobalBuffer", "RegisterFile")
    dram, glb, rf = architecture.levels
    assert (dram.technology, dram.block_size, dram.reduction_supported) == ("DRAM", 32, False)
    assert (glb.entries, glb.block_size, glb.cluster_size) == (32768, 8, 1)
    assert (rf.instances, rf.mesh_x, rf.mesh_y, rf.entries) == (16, 4, 4, 64)
    assert architecture.groups["PE"] == ("RegisterFile",)
    assert architecture.groups["Chip"] == ("GlobalBuffer", "RegisterFile")


def test_ert_prices_each_action_apart_and_art_gives_areas() -> None:
    architecture = load(DATA / "c30_tree_arch_ert.yaml").need_architecture()
    energy = architecture.levels[1].energy
    assert (energy.read, energy.fill, energy.update, energy.origin) == (20, 25, 25, "ERT")
    assert architecture.levels[2].energy.read == Fraction(1, 2)
    assert (architecture.arithmetic.energy, architecture.arithmetic.energy_origin) == (
        Fraction(1, 4),
        "ERT",
    )
    assert (architecture.levels[2].area, architecture.arithmetic.area) == (900, 350)


def test_ert_update_beats_write_for_updates_only() -> None:
    rows = [
        {"name": name, "energy": energy}
        for name, energy in (("read", 1), ("write", 2), ("update", 3), ("leak", 0.25))
    ]
    energy = (
        flat(buffer(), ERT={"version": 0.3, "tables": [{"name": "a.RF[0..7]", "actions": rows}]})
        .levels[0]
        .energy
    )
    assert (energy.read, energy.fill, energy.update, energy.leak) == (1, 2, 3, Fraction(1, 4))


def test_ert_version_2_and_the_dearest_argument_row() -> None:
    actions = {
        "read": [
            {"arguments": {"data_delta": 0}, "energy": 1},
            {"arguments": {"data_delta": 1}, "energy": 4},
        ],
        "write": {"energy": 5},
    }
    energy = flat(buffer(), ERT={"version": 0.2, "tables": {"chip.RF": actions}}).levels[0].energy
    assert (energy.read, energy.fill, energy.update) == (4, 5, 5)


def test_users_vector_access_energy_beats_the_ert() -> None:
    ert = {
        "version": 0.4,
        "tables": [
            {
                "name": "RF",
                "actions": [{"name": "read", "energy": 9}, {"name": "write", "energy": 9}],
            }
        ],
    }
    energy = flat(buffer(**{"vector-access-energy": 0.1}), ERT=ert).levels[0].energy
    assert (energy.read, energy.update, energy.origin) == (
        Fraction(1, 10),
        Fraction(1, 10),
        "vector-access-energy",
    )


def test_without_figures_the_pat_formulas_price_every_level() -> None:
    architecture = flat(
        buffer(entries=256, **{"block-size": 4}),
        {"name": "DRAM", "instances": 1, "technology": "DRAM"},
        arithmetic={"name": "MAC", "instances": 1, "word-bits": 8},
    )
    dram, rf = architecture.levels
    assert (dram.energy.read, dram.energy.origin) == (200, "PAT formula (DRAM)")
    assert (rf.energy.update, rf.energy.origin) == (4, "PAT formula (SRAM)")
    assert (architecture.arithmetic.energy, architecture.arithmetic.energy_origin) == (
        Fraction(1, 4),
        "PAT formula (multiplier)",
    )


@pytest.mark.parametrize(
    ("arguments", "energy"),
    [
        ((51200, 16, 1, 1), Fraction(6)),
        ((256, 16, 1, 1), Fraction(1)),
        ((0, 16, 1, 1), Fraction(0)),
        ((256, 16, 1, 2), pat.sram_energy(512, 16, 2, 1) / 2),
    ],
)
def test_pat_sram_runs_through_the_published_points(
    arguments: tuple[int, int, int, int], energy: Fraction
) -> None:
    assert pat.sram_energy(*arguments) == energy


@pytest.mark.parametrize(
    ("attributes", "entries", "block", "cluster"),
    [
        ({"entries": 10}, 10, 1, 1),
        ({"depth": 10, "block-size": 4}, 40, 4, 1),
        ({"memory_depth": 10, "width": 64}, 40, 4, 1),
        ({"depth": 10, "width": 64, "block-size": 2}, 20, 2, 2),
        ({"depth": 10, "width": 64, "cluster-size": 2}, 20, 2, 2),
        ({"sizeKB": 2, "word-bits": 8}, 2048, 1, 1),
        ({"entries": 10, "width": 128, "block_size": 4, "cluster_size": 2}, 10, 4, 2),
    ],
)
def test_size_forms(attributes: dict[str, Any], entries: int, block: int, cluster: int) -> None:
    level = flat({"name": "RF", "instances": 1, **attributes}).levels[0]
    assert (level.entries, level.block_size, level.cluster_size) == (entries, block, cluster)


@pytest.mark.parametrize(
    ("attributes", "mesh"),
    [
        ({"instances": 8}, (8, 8, 1)),
        ({"instances": 8, "meshX": 2}, (8, 2, 4)),
        ({"instances": 8, "meshY": 2}, (8, 4, 2)),
        ({"meshX": 2, "meshY": 4}, (8, 2, 4)),
    ],
)
def test_any_two_of_instances_and_mesh_imply_the_third(
    attributes: dict[str, Any], mesh: tuple[int, int, int]
) -> None:
    unit = flat(buffer(), arithmetic={"name": "MAC", **attributes}).arithmetic
    assert (unit.instances, unit.mesh_x, unit.mesh_y) == mesh


def test_bandwidth_is_shared_out_unless_read_or_write_is_given() -> None:
    level = flat(buffer(bandwidth=10, read_bandwidth=3)).levels[0]
    assert (level.read_bandwidth, level.write_bandwidth, level.shared_bandwidth) == (3, 5, None)


def test_capacity_is_what_multiple_buffering_leaves() -> None:
    level = flat(buffer(entries=65, **{"multiple-buffering": 2.0})).levels[0]
    assert level.capacity == 32


@pytest.mark.parametrize(
    "text, entries",
    [("0x4_0", 64), ("0X40", 64), ("+0x40", 64), ("0x1e5", 485), ("0x20 + 0x1F + 1", 64)],
)
def test_numbers_may_be_hexadecimal(text: str, entries: int) -> None:
    assert flat(buffer(entries=text)).levels[0].entries == entries


@pytest.mark.parametrize("text", ["0xZZ", "0x", "0x_4", "0x4_", "-0x40", "0x" + "4" * 300])
def test_numbers_that_are_nearly_hexadecimal_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="must be a "):
        flat(buffer(entries=text))


def test_of_many_unknown_fields_the_first_ones_have_hints() -> None:
    parts = {"arithmetic": MAC, "storage": [buffer()]}
    with pytest.raises(InputError) as caught:
        load({"arch": parts | {f"storage{n}": 1 for n in range(101)}})
    errors = [caught.value, *caught.value.more]
    assert [each.hint is None for each in errors] == [False] * 100 + [True]


def test_hyphens_underscores_and_letter_case_do_not_matter() -> None:
    level = flat(buffer(**{"read-bandwidth": 2, "Word_Bits": 8, "multiple_buffering": 2})).levels[0]
    assert (level.read_bandwidth, level.word_bits, level.multiple_buffering) == (2, 8, 2)


def test_attributes_of_estimators_are_noted_not_refused() -> None:
    spec = load(
        {"arch": {"arithmetic": MAC, "storage": [buffer(my_wire_pitch=3, technology="45nm")]}}
    )
    assert [warning.code for warning in spec.warnings] == ["accelergy-attribute", "no-energy-table"]
    assert "my_wire_pitch" in spec.warnings[0]


@pytest.mark.parametrize("word", ["entires", "read-bandwith", "block_siz", "vector_access_enrgy"])
def test_misspelt_attributes_are_refused(word: str) -> None:
    with pytest.raises(InputError, match="did you mean"):
        flat(buffer(**{word: 3}))


def test_entries_count_where_depth_is_given_too() -> None:
    same = {"entries": 64, "depth": 16, "block-size": 4}
    dram = {"name": "DRAM", "technology": "DRAM", "instances": 1}

    def read(**size: int) -> tuple[int | None, list[str]]:
        arch = {"arithmetic": MAC, "storage": [{"name": "RF", "instances": 1, **size}, dram]}
        spec = load({"arch": arch})
        codes = ("accelergy-attribute", "no-energy-table")
        texts = [str(each) for each in spec.warnings if each.code not in codes]
        return spec.need_architecture().levels[-1].entries, texts

    assert read(**same) == (64, [])
    assert read(entries=0, depth=0) == (0, [])
    words, (text,) = read(**same | {"memory_depth": 3, "depth": 8})
    assert words == 64
    assert "is given twice: 'entries' 64 is taken, as in Timeloop, and 'depth' 8 (x block" in text
    for size in ({"entries": 64}, {"depth": 64}):
        with pytest.raises(
            InputError, match=r"the size of .* is given twice, as .* and as 'sizeKB'"
        ):
            read(sizeKB=1, **size)


def test_keys_above_the_root_that_timeloop_does_not_read_are_warned_about() -> None:
    dram = {"name": "DRAM", "class": "DRAM", "attributes": {"word-bits": 8}}
    root = {"name": "chip", "local": [dram, {"name": "MAC", "class": "compute"}]}
    spec = load({"architecture": {"bank": 1, "group_density": 1, "subtree": [root]}})
    found = [str(each) for each in spec.warnings if each.code == "unread-key"]
    assert ["is not read, as in Timeloop" in text for text in found] == [True, True]
    with pytest.raises(InputError, match="has no field 'banks'"):
        load({"architecture": {"banks": 1, "subtree": [root]}})
