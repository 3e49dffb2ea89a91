"""Every kind of node is read, written and counted; hardware is read with its arithmetic, scales and
nesting.
"""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path

import pytest

import solver_mapper as sm

CHAIN = Path(__file__).parents[1] / "data" / "looptree" / "chain2_tiled1_22" / "case.yaml"
HARDWARE = """
variables: {size: 100, cost: 5}
arch:
  nodes:
  - !Memory
    name: Dram
    size: inf
    leak_power: 0
    actions:
    - {name: read, energy: 2 * cost, throughput: inf}
    - {name: write, energy: cost, energy_scale: 3, throughput: inf}
  - !Hierarchical
    nodes:
    - !Memory
      name: Sram
      size: 8 * size
      leak_power: 0
      energy_scale: 2
      actions:
      - {name: read, energy: 1, throughput: 4}
      - {name: write, energy: 1, throughput: 4, bits_per_action: 4}
  - !Compute
    name: Mac
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
WINDOW = """
workload:
  iteration_space_shape: {p: 0 <= p < 7, r: 0 <= r < 2}
  bits_per_value: {All: 1}
  einsums: ["O[p] = I[H: p + r] * F[r]"]
mapping:
  nodes:
  - !Storage {tensors: [I, F, O], component: Dram}
  - !Temporal {rank_variable: p, tile_shape: 2, initial_tile_shape: 3}
  - !Storage {tensors: [I, F], component: Sram}
  - !Temporal {rank_variable: p, tile_shape: 1}
  - !Temporal {rank_variable: r, tile_shape: 1}
  - !Compute {einsum: O, component: Mac}
"""
TWO = """
workload:
  rank_sizes: {M: 4, K: 2, N: 2, Q: 2}
  bits_per_value: {All: 1}
  einsums:
  - "C[m, n] = A[m, k] * B[k, n]"
  - name: D
    tensor_accesses:
    - {name: C, projection: {M: x, N: n}}
    - {name: W, projection: {N: n, Q: q}}
    - {name: D, projection: {X: x, Q: q}, output: true}
mapping:
  nodes:
  - !Storage {tensors: [A, B, W, D], component: Dram}
  - !Storage {tensors: [B], component: Sram, persistent: true}
  - !Temporal {rank_variable: [m, x], tile_shape: 1}
  - !Storage {tensors: [C], component: Sram}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: k, tile_shape: 1}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: C, component: Mac}
    - !Nested
      nodes:
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Temporal {rank_variable: q, tile_shape: 1}
      - !Compute {einsum: D, component: Mac}
"""


def load(text: str) -> sm.TreeSpec:
    spec = sm.load(io.StringIO(text))
    assert isinstance(spec, sm.TreeSpec)
    return spec


def test_a_pipeline_is_counted_like_a_sequence():
    text = CHAIN.read_text(encoding="utf-8")
    assert "!Sequential" in text
    pipeline = load(text.replace("!Sequential", "!Pipeline"))
    assert sm.evaluate(pipeline).to_dict() == sm.evaluate(load(text)).to_dict()
    assert "in a pipeline" in str(sm.evaluate(pipeline)) and "in a pipeline" in pipeline.picture()
    assert "!Pipeline" in pipeline.need_mapping().to_yaml()
    with pytest.raises(sm.InputError, match="!Pipeline: Timeloop's notation has no forks"):
        sm.convert(pipeline, "timeloop")


def test_energies_sizes_and_scales_are_arithmetic_over_variables():
    spec = load(HARDWARE + TWO)
    statistics = sm.evaluate(spec)
    rows = {
        (row.component, row.subject, row.action): row
        for einsum in statistics.einsums
        for row in einsum.actions
    }
    assert rows["Dram", "A", "read"].energy == 16 * 10
    assert rows["Dram", "D", "write"].energy == rows["Dram", "D", "write"].actions * 15
    assert (
        rows["Sram", "B", "write"].actions == Fraction(4, 4)
        and rows["Sram", "B", "write"].energy == 2
    )
    assert statistics.occupancy["Sram"].size == 800


def test_a_first_tile_of_its_own_size_is_counted():
    """Windows of 2 over tiles of 3, 2 and 2 points: 4 + 3 + 3 values."""
    statistics = sm.evaluate(load(HARDWARE + WINDOW))
    assert statistics.action("Dram", "I", "read") == 10
    assert [each.values for each in statistics.occupancy["Sram"].reservations] == [4, 2]
    again = sm.evaluate(
        load(
            HARDWARE
            + WINDOW.split("mapping:")[0]
            + load(HARDWARE + WINDOW).need_mapping().to_yaml()
        )
    )
    assert again.to_dict() == statistics.to_dict()


def test_one_shared_loop_may_have_two_names():
    spec = load(HARDWARE + TWO)
    assert sm.validate(spec).legal
    statistics = sm.evaluate(spec)
    assert statistics.action("Dram", "C", "read") == statistics.action("Dram", "C", "write") == 0
    again = load(HARDWARE + TWO.split("mapping:")[0] + spec.need_mapping().to_yaml())
    assert (
        again.need_mapping() == spec.need_mapping()
        and sm.evaluate(again).to_dict() == statistics.to_dict()
    )


def test_persistent_tiles_stay_while_others_run():
    text = HARDWARE + TWO
    peak = sm.evaluate(load(text)).occupancy["Sram"]
    assert ("B", "C") in [
        (each.tensor, each.einsum) for each in peak.reservations
    ] and peak.bits == 4 + 2
    below = text.replace(
        "  - !Storage {tensors: [B], component: Sram, persistent: true}\n", ""
    ).replace(
        "  - !Storage {tensors: [C], component: Sram}\n",
        "  - !Storage {tensors: [C], component: Sram}\n"
        "  - !Storage {tensors: [B], component: Sram, persistent: true}\n",
    )
    assert [each.rule for each in sm.validate(load(below)).violations] == ["persistent"]


@pytest.mark.parametrize(
    "fields",
    ["component_class: SmartBufferSRAM", "component_class: CactiSRAM\n      leak_power: 0"],
)
def test_component_models_of_other_packages_are_refused_with_the_numbers_to_write(fields: str):
    memory = f"!Memory\n      name: Sram\n      size: 800\n      {fields}\n"
    memory += "      actions: [{name: read}, {name: write, energy: 1}]\n"
    start, end = HARDWARE.index("!Memory\n      name: Sram"), HARDWARE.index("  - !Compute")
    text = HARDWARE[:start] + memory + HARDWARE[end:] + TWO
    with pytest.raises(sm.InputError) as caught:
        load(text)
    shown = str(caught.value)
    assert caught.value.line == text[:start].count("\n") + 1
    assert (
        "'Sram' lacks" in shown
        and "energy (J) and throughput (1/s, or inf) for action 'read'" in shown
    )
    assert "throughput (1/s, or inf) for action 'write'" in shown
    assert "'solver-mapper energies FILE... -o FILLED.yaml' asks" in shown
    assert "or write the numbers" in shown
    assert ("'leak_power' (W; 0 is fine)" in shown) == ("leak_power" not in fields)


def test_all_components_that_lack_numbers_are_named_at_once():
    text = (
        HARDWARE.replace("energy: 2 * cost, ", "").replace(
            "[{name: compute, energy: 1, throughput: 1}]", "[{name: compute}]"
        )
        + TWO
    )
    with pytest.raises(sm.InputError) as caught:
        load(text)
    shown = str(caught.value)
    assert "'Dram' lacks energy (J) for action 'read'" in shown
    assert "'Mac' lacks energy (J) and throughput (1/s, or inf) for action 'compute'" in shown


def gated(fork: str, compute: str) -> str:
    """WINDOW on `compute`, below one memory with two paths: a fork, with the attribute `fork`, that
    has the memory `Near` and the compute `Side`; and after it the memory `Sram`, a fork that no
    compute is in, and the compute `Mac`. Each component leaks at a power of its own.
    """
    nodes = {
        "Dram": 1,
        "fork": 0,
        "  Near": 10,
        "  Side": 100,
        "Sram": 1000,
        "inner": 0,
        "  Unused": 10000,
        "Mac": 100000,
    }
    text = "arch:\n  nodes:\n"
    for name, leak in nodes.items():
        at, bare = "  " * (1 + name.count("  ")), name.strip()
        if bare in ("fork", "inner"):
            text += (
                f"{at}- !Fork\n" + (f"{at}  {fork}\n" if bare == "fork" else "") + f"{at}  nodes:\n"
            )
        elif bare in ("Side", "Mac"):
            action = "actions: [{name: compute, energy: 0, throughput: 1}]"
            text += f"{at}- !Compute {{name: {bare}, leak_power: {leak}, {action}}}\n"
        else:
            actions = ", ".join(
                f"{{name: {each}, energy: 0, throughput: inf}}" for each in ("read", "write")
            )
            text += (
                f"{at}- !Memory {{name: {bare}, size: inf, leak_power: {leak},"
                f" actions: [{actions}]}}\n"
            )
    window = WINDOW.replace("component: Mac", f"component: {compute}")
    return text + window.replace("component: Sram", f"component: {NEAREST[compute]}")


NEAREST = {"Mac": "Sram", "Side": "Near"}


@pytest.mark.parametrize(
    ("fork", "compute", "power"),
    [
        ("name: f", "Mac", 111111),
        ("name: f", "Side", 111111),
        ("forked_power_gateable: false", "Mac", 111111),
        ("forked_power_gateable: true", "Mac", 111001),
        ("forked_power_gateable: true", "Side", 111111),
        ("non_forked_power_gateable: true", "Mac", 111111),
        ("non_forked_power_gateable: true", "Side", 111),
    ],
)
def test_forks_are_switched_off_while_the_other_path_works(
    fork: str, compute: str, power: int
) -> None:
    spec = load(gated(fork, compute))
    (einsum,) = sm.evaluate(spec).einsums
    assert sum(einsum.leak.values()) == power * einsum.latency
    assert sum(einsum.dynamic.values()) == 0


def test_the_search_knows_which_path_lets_the_other_be_switched_off() -> None:
    for fork, power in (
        ("non_forked_power_gateable: true", 111),
        ("forked_power_gateable: true", 111001),
    ):
        text = gated(fork, "Mac").partition("mapping:")[0]
        solution = sm.solve(load(text), objective="energy")
        assert solution.status == "optimal"
        assert solution.value == power * 14


def leaking(*nodes: str) -> str:
    """WINDOW on `Mac`, below the memories `Dram` and `Sram`, with further nodes between these."""
    text = "arch:\n  nodes:\n"
    actions = "{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}"
    for node in ("Dram 1", *nodes, "Sram 1000"):
        name, _, rest = node.strip().partition(" ")
        at = "  " * (1 + node.startswith(" "))
        if name == "fork":
            text += f"{at}- !Fork\n{at}  nodes:\n"
        elif name == "Array":
            spatial = f"spatial: [{{name: x, fanout: 4, power_gateable: {rest}}}]"
            text += f"{at}- !Container {{name: Array{len(at)}, {spatial}}}\n"
        else:
            text += f"{at}- !Memory {{name: {name}, size: inf, leak_power: {rest},"
            text += f" actions: [{actions}]}}\n"
    action = "actions: [{name: compute, energy: 0, throughput: 1}]"
    return f"{text}  - !Compute {{name: Mac, leak_power: 0, {action}}}\n{WINDOW}"


@pytest.mark.parametrize(
    ("nodes", "power"),
    [
        # One of four copies is used, and what stands aside below them is switched off with them.
        (("Array false", "fork", "  Near 10"), 1 + 4 * (10 + 1000)),
        (("Array true", "fork", "  Near 10"), 1 + 10 + 1000),
        # What stands aside above them is not; and none of the copies aside is used.
        (("fork", "  Near 10", "Array true"), 1 + 10 + 1000),
        (("fork", "  Array false", "  Near 10"), 1 + 4 * 10 + 1000),
        (("fork", "  Array true", "  Near 10"), 1 + 1000),
    ],
)
def test_copies_that_are_switched_off_take_what_stands_below_them_along(
    nodes: tuple[str, ...], power: int
) -> None:
    (einsum,) = sm.evaluate(load(leaking(*nodes))).einsums
    assert sum(einsum.leak.values()) == power * einsum.latency
