"""Every warning about suspicious input: when it comes and when it does not, its code, and how it is
turned off or made an error.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.errors import SourceLocation
from solver_mapper.io.yaml.warnings import CODES, InputWarning, Notes

DESIGN = """\
arch:
  arithmetic: {name: MAC, instances: 16, meshX: 4, energy: 1}
  storage:
  - {name: RF, entries: 64, instances: 16, meshX: 4, vector-access-energy: 1}
  - {name: GLB, entries: 4096, instances: 1, vector-access-energy: 6}
  - {name: DRAM, technology: DRAM, instances: 1, vector-access-energy: 200}
problem:
  shape:
    name: mm
    dimensions: [M, N, K]
    data-spaces:
    - {name: A, projection: [[[M]], [[K]]]}
    - {name: B, projection: [[[K]], [[N]]]}
    - {name: Z, projection: [[[M]], [[N]]], read-write: true}
  instance: {M: 8, N: 4, K: 1}
"""


def warnings(*changes: tuple[str, str], extra: str = "") -> dict[str, str]:
    """The warnings by code that `DESIGN` with `changes` gives."""
    text = DESIGN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {each.code: str(each) for each in sm.load(io.StringIO(text + extra)).warnings}


def test_a_sound_design_has_none() -> None:
    assert warnings() == {}


RF, GLB = ", vector-access-energy: 1}", ", vector-access-energy: 6}"
ERT = (
    "ERT: {version: 0.4, tables: [{name: chip.GBL, actions: [{name: read, energy: 2}, {name: write,"
    " energy: 2}]}]}\n"
)


def test_energies_from_formulas() -> None:
    found = warnings((GLB, "}"))["no-energy-table"]
    assert (
        found == "<stream>:5:5: there is no energy table: the energy of 'GLB' comes from Timeloop's"
        " formulas for its technology; give an ERT, or the attributes 'vector-access-energy' of"
        " levels and 'energy' of compute units"
    )
    assert (
        "the energy of 'GLB', 'RF' and 'MAC' comes"
        in warnings((GLB, "}"), (RF, "}"), (", energy: 1", ""))["no-energy-table"]
    )


def test_energies_that_a_table_lacks_and_tables_that_nothing_uses() -> None:
    found = warnings((GLB, "}"), extra=ERT)
    assert (
        found["no-energy-table"]
        == "<stream>:5:5: no energy table is about 'GLB': its energy is a PAT formula (SRAM);"
        " give a "
        "table in the ERT or its attribute 'vector-access-energy'"
    )
    assert (
        found["unused-energy"]
        == "<stream>:16:30: the architecture has no 'GBL': the energy table of 'chip.GBL' is not"
        " used; did you mean 'GLB'?"
    )
    assert warnings((GLB, "}"), extra=ERT.replace("GBL", "GLB")) == {}
    assert (
        "did you mean" not in warnings(extra=ERT.replace("GBL", "something_else"))["unused-energy"]
    )


def test_tables_of_wires_and_of_components_that_only_estimators_read_are_not_reported() -> None:
    wire = (
        "ERT: {version: 0.4, tables: [{name: chip.wire, actions: [{name: transfer_random, energy:"
        " 1}]}]}\n"
    )
    assert set(warnings(extra=wire)) == {"free-wires"}
    art = "ART: {version: 0.4, tables: [{name: chip.RF, area: 9}]}\n"
    assert warnings(extra=wire + art) == {}


WIRE = "wire-energy: 0.5"
FREE = (
    "<stream>:5:5: wires below 'GLB' cost nothing: their energy is 0.5 pJ per bit and mm, but the"
    " length of a hop follows from the areas of inner levels and compute units, and none is given;"
    " give an ART, or the attributes 'cluster-area' (um^2) of levels and 'area' of compute units,"
    " or 'tile-width' (um) of the levels above the wires"
)


def test_wires_without_a_length_are_reported() -> None:
    everywhere = [(end, f", {WIRE}{end}") for end in (RF, GLB, ", vector-access-energy: 200}")]
    assert warnings(*everywhere) == {"free-wires": FREE}
    art = "ART: {version: 0.4, tables: [{name: chip.DRAM, area: 9}]}\n"
    assert warnings(*everywhere, extra=art) == {"free-wires": FREE}


@pytest.mark.parametrize(
    ("end", "more"),
    [
        (GLB, "wire-energy: 0"),
        (GLB, f"{WIRE}, tile-width: 5"),
        (GLB, f"{WIRE}, tile-width: 0"),
        (GLB, f"{WIRE}, energy-per-hop: 0"),
        (GLB, f"{WIRE}, cluster-area: 0"),
        (RF, WIRE),
    ],
)
def test_wires_that_cost_nothing_on_purpose_or_lead_to_one_instance_are_not_reported(
    end: str, more: str
) -> None:
    assert warnings((end, f", {more}{end}")) == {}


@pytest.mark.parametrize("area", ["0", "2.5"])
def test_an_area_that_is_given_keeps_the_warning_about_wires_away(area: str) -> None:
    wired = (GLB, f", {WIRE}{GLB}")
    assert warnings(wired, ("meshX: 4, energy: 1", f"meshX: 4, energy: 1, area: {area}")) == {}
    art = f"ART: {{version: 0.4, tables: [{{name: chip.MAC, area: {area}}}]}}\n"
    assert warnings(wired, extra=art) == {}


def test_wires_of_v04_have_no_width_of_their_own(tmp_path: Path) -> None:
    text = """architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8, width: 64}}
  - !Container {name: PE, spatial: {meshX: 4}}
  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}
ERT: {version: 0.4, tables: [{name: wire, actions: [{name: transfer_random, energy: 0.5}]}]}
"""
    (tmp_path / "arch.yaml").write_text(text)
    (found,) = (
        each for each in sm.load(tmp_path / "arch.yaml").warnings if each.code == "free-wires"
    )
    assert "wires below 'inter_PE_spatial' cost nothing" in found
    assert found.endswith("'cluster-area' (um^2) of levels and 'area' of compute units")


def test_energies_of_0() -> None:
    found = warnings((GLB, ", vector-access-energy: 0}"))
    assert found == {
        "zero-energy": (
            "<stream>:5:5: every access of 'GLB' costs 0 pJ (vector-access-energy), so no mapping"
            " is charged for its words"
        )
    }


def test_negative_energies_are_refused() -> None:
    with pytest.raises(sm.InputError, match="must be at least 0, not '-2'"):
        warnings((GLB, "}"), extra=ERT.replace("GBL", "GLB").replace("energy: 2", "energy: -2"))


@pytest.mark.parametrize(
    ("bandwidth", "message"),
    [
        (
            "read_bandwidth: 0.5",
            (
                "the read bandwidth of 'GLB', 0.5 words per cycle and instance, is below one word;"
                " is it in other units?"
            ),
        ),
        (
            "write_bandwidth: 12800",
            (
                "the write bandwidth of 'GLB', 12800 words per cycle and instance, is far above"
                " what 16 compute units below can use; is it in bits or bytes?"
            ),
        ),
        ("shared_bandwidth: 8", None),
    ],
)
def test_bandwidths(bandwidth: str, message: str | None) -> None:
    found = warnings((GLB, f", {bandwidth}{GLB}"))
    assert (message is None and found == {}) or found["bandwidth"].endswith(message or "")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            "entries: 32",
            (
                "one 'GLB' has 32 words, fewer than the 64 of one 'RF' below it; is its capacity in"
                " kilobytes?"
            ),
        ),
        (
            "entries: 268435456",
            "'GLB' stores 268,435,456 words of 16 bits on chip; is its capacity in bytes or bits?",
        ),
    ],
)
def test_capacities(entries: str, message: str) -> None:
    found = warnings(("entries: 4096", entries))
    assert found["capacity-unit"] == f"<stream>:5:26: {message}"


@pytest.mark.parametrize(
    ("size", "pay"),
    [(3, "5 of them pay for all instances"), (32, "no access costs anything"), (4, None)],
)
def test_instances_that_are_not_in_whole_clusters(size: int, pay: str | None) -> None:
    found = warnings(("entries: 64", f"entries: 64, cluster-size: {size}"))
    if pay is None:
        assert found == {}
        return
    assert found["clusters"] == (
        f"<stream>:4:5: the 16 instances of 'RF' are not in whole clusters of {size}: as in"
        f" Timeloop, {pay}"
    )


def test_levels_that_never_store_the_same_tensor_are_not_compared() -> None:
    bypass = (
        "architecture_constraints:\n- {target: GLB, type: bypass, bypass: [A, B], keep: [Z]}\n"
        "- {target: RF, type: bypass, keep: [A, B], bypass: [Z]}\n"
    )
    assert warnings(("entries: 4096", "entries: 32"), extra=bypass) == {}


def test_levels_smaller_than_one_word_of_each_tensor() -> None:
    found = warnings(("entries: 64", "entries: 2"))
    assert found == {
        "small-level": (
            "<stream>:4:25: 'RF' has room for 2 words, but may store A, B, Z, which need at least"
            " one each"
        )
    }


def test_problems_without_output() -> None:
    assert warnings((", read-write: true", ""))["no-output"].endswith(
        "no tensor of the problem is written, so no results are counted; mark the output with"
        " 'read-write: true'"
    )


def test_constraints_on_dimensions_of_bound_1() -> None:
    found = warnings(
        extra="architecture_constraints:\n- {target: GLB, type: temporal, permutation: K}\n"
    )
    assert found == {
        "unit-dimensions": (
            "<stream>:17:46: the temporal constraint of 'GLB' names K only, of bound 1: it"
            " constrains nothing"
        )
    }
    assert (
        warnings(
            extra="architecture_constraints:\n- {target: GLB, type: temporal, permutation: KM}\n"
        )
        == {}
    )


def test_two_mappings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "design.yaml").write_text(DESIGN)
    directive = "mapping:\n- {target: DRAM, type: temporal, factors: M=8 N=4 K=1}\n"
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text(directive)
    files = [tmp_path / name for name in ("design.yaml", "one.yaml", "two.yaml")]
    with pytest.raises(
        sm.InputError, match=r"two mappings are given, the other one at .*one\.yaml:2:3"
    ) as caught:
        sm.load(*files)
    assert Path(caught.value.file).name == "two.yaml"


TREE = """\
architecture:
  version: 0.3
  subtree:
  - name: chip
    attributes: {WORD-BITS, technology: 45nm}
    local:
    - {name: GLB, class: SRAM, attributes: {depth: 64, word-bits: 8GATING}}
    - {name: MAC, class: intmac, attributes: {datawidth: 8}}
"""


@pytest.mark.parametrize("gating", ["", ", has_power_gating: False"])
def test_power_gating_is_not_modelled(gating: str) -> None:
    def codes(attribute: str) -> dict[str, str]:
        text = TREE.replace("WORD-BITS, ", "").replace("GATING", attribute)
        spec = sm.load(io.StringIO(text), ignore_warnings=["no-energy-table"])
        return {each.code: str(each) for each in spec.warnings}

    assert "power-gating" not in codes(gating)
    found = codes(", has_power_gating: True")["power-gating"]
    assert found == (
        "<stream>:7:88: power gating of storage level 'GLB' is not modelled: all instances leak"
    )


def test_attributes_of_a_subtree_do_not_reach_its_components_before_v04() -> None:
    """Attributes that only estimators read, such as the technology, are not reported."""

    def codes(attribute: str) -> dict[str, str]:
        text = TREE.replace("WORD-BITS", attribute).replace("GATING", "")
        spec = sm.load(io.StringIO(text), ignore_warnings=["no-energy-table"])
        return {each.code: str(each) for each in spec.warnings}

    assert codes("word-bits: 16")["subtree-attribute"] == (
        "<stream>:5:18: attribute 'word-bits' of a subtree does not reach its components before"
        " v0.4"
    )
    assert "subtree-attribute" not in codes("voltage: 1")


def test_codes_turn_warnings_off_or_into_errors(tmp_path: Path) -> None:
    file = tmp_path / "design.yaml"
    file.write_text(
        DESIGN.replace(GLB, ", vector-access-energy: 0}").replace("entries: 64", "entries: 2")
    )
    run = CliRunner().invoke
    result = run(app, ["pareto", str(file)])
    assert result.exit_code == 0
    assert [line.rsplit("[", 1)[1] for line in result.stderr.splitlines()] == [
        "small-level]",
        "zero-energy]",
    ]
    result = run(app, ["pareto", str(file), "-W", "zero-energy", "-W", "ignore:small-level"])
    assert (result.exit_code, result.stderr) == (0, "")
    result = run(app, ["pareto", str(file), "-W", "error:small-level"])
    assert (
        result.exit_code == 2
        and "may store A, B, Z, which need at least one each [small-level]" in result.stderr
    )
    result = run(app, ["pareto", str(file), "--strict"])
    assert (
        result.exit_code == 2
        and "[zero-energy]" in result.stderr
        and "[small-level]" in result.stderr
    )
    result = run(app, ["pareto", str(file), "--strict", "-W", "zero-energy", "-W", "small-level"])
    assert (result.exit_code, result.stderr) == (0, "")
    result = run(app, ["pareto", str(file), "-W", "zero-enrgy"])
    assert (
        result.exit_code == 2
        and "unknown warning 'zero-enrgy'; did you mean 'zero-energy'?" in result.stderr
    )


def test_the_same_in_python() -> None:
    design = {"problem": {"shape": "gemm-ABZ", "instance": {"M": 2, "N": 2, "K": 2, "extra": 1}}}
    assert [each.code for each in sm.load(design).warnings] == ["unused-fact"]
    assert sm.load(design, ignore_warnings=["unused-fact"]).warnings == ()
    with pytest.raises(
        sm.InputError, match=r"nor a coefficient of the problem; it is not read \[unused-fact\]"
    ):
        sm.load(design, strict=True)


def test_warnings_are_text_with_a_code_and_survive_pickling() -> None:
    warning = InputWarning("ruby", SourceLocation("a.yaml", 3, 4), "what: it is")
    copy = pickle.loads(pickle.dumps(warning))
    assert (copy, copy.code, copy.location) == (
        "a.yaml:3:4: what: it is",
        "ruby",
        SourceLocation("a.yaml", 3, 4),
    )
    with pytest.raises(KeyError):
        Notes().add("no-such-code", SourceLocation("a.yaml"), "what")


def test_every_code_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "warnings.md").read_text(
        encoding="utf-8"
    )
    for code, meaning in CODES.items():
        assert f"| `{code}` | {meaning[0].upper()}{meaning[1:]} |" in page


V04 = """\
architecture:
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component {name: wires, class: wire}
  - !Container {name: PE, constraints: {spatial: {factors: [M=1]}}}
  - !Component {name: MAC, class: intmac, attributes: {datawidth: 8}}
problem: {shape: gemm-ABZ, instance: {M: 2, N: 2, K: 2}}
"""


@pytest.mark.parametrize(
    ("code", "text", "message"),
    [
        (
            "assumed-shape",
            "problem: {R: 1, S: 1, P: 2, Q: 1, C: 2, K: 2, N: 1}\n",
            "the problem has no 'shape'; 'cnn-layer' is assumed, as Timeloop does",
        ),
        (
            "ruby",
            f"{DESIGN}mapspace: {{template: ruby}}\n",
            "the template 'ruby' asks for imperfect factors, which 'solve --factors imperfect' has;"
            " by default factors are perfect",
        ),
        (
            "repeated-key",
            DESIGN.replace("M: 8", "M: 8, M: 8"),
            "'M' is given twice, first at <stream>:15:14",
        ),
        (
            "merge-list",
            f"{DESIGN}mapper: {{a: &a {{l: [1]}}, b: {{<<<: *a, l: [2]}}}}\n",
            "this list 'l' replaces the list that '<<<' would merge; write '<<<<' to have both",
        ),
        (
            "left-out-component",
            V04,
            "component 'wires' of class 'wire' neither stores nor computes and is left out",
        ),
        (
            "idle-constraint",
            V04,
            "the spatial constraint of 'PE' has no effect: 'PE' has no fanout",
        ),
    ],
)
def test_warnings_of_the_readers(code: str, text: str, message: str) -> None:
    found = {each.code: str(each) for each in sm.load(io.StringIO(text)).warnings}
    assert found[code].endswith(f": {message}")


def test_variables_that_no_template_uses(tmp_path: Path) -> None:
    design = tmp_path / "design.yaml"
    design.write_text(DESIGN.replace("M: 8", "M: {{size}}"))
    found = sm.load(design, variables={"size": 4, "sizes": 3}).warnings
    assert [(each.code, str(each)) for each in found] == [
        ("unused-variable", "-D: no template uses the variable 'sizes'; did you mean 'size'?")
    ]


@pytest.mark.parametrize("version", ["0.1", "7", "v0.3"])
def test_a_version_that_a_form_does_not_have_is_told(version: str) -> None:
    def told(text: str) -> list[str]:
        spec = sm.load(io.StringIO(text), ignore_warnings=["no-energy-table"])
        return [str(each) for each in spec.warnings if each.code == "unknown-version"]

    tree = TREE.replace("WORD-BITS, ", "").replace("GATING", "")
    assert told(tree.replace("version: 0.3", f"version: {version}")) == [
        "<stream>:2:12: an architecture with 'subtree' has version 0.2 or 0.3 or 0.4, not"
        f" '{version}'; it is read all the same"
    ]
    nodes = f"""architecture:
  version: {version}
  nodes:
  - !Component {{name: DRAM, class: DRAM, attributes: {{width: 8, datawidth: 8}}}}
  - !Component {{name: MAC, class: intmac, attributes: {{datawidth: 8}}}}
"""
    assert told(nodes) == [
        f"<stream>:2:12: an architecture with 'nodes' has version 0.4, not '{version}'; it is read"
        " all the same"
    ]
    for known in ("0.2", "0.3", "'0.4'"):
        assert not told(tree.replace("version: 0.3", f"version: {known}"))
    assert not told(nodes.replace(f"version: {version}", "version: 0.4"))
