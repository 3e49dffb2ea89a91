"""`stats.txt` in Timeloop's own layout, for the scripts that people have to parse it.

Layout and figures are those of `timeloop-model` v3.0.3 (buffer.cpp, arithmetic.cpp, network-*.cpp,
topology.cpp) without sparse modules; numbers that are not whole have two decimals there. Cycles are
the steps that happen (see `Statistics`).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod

from solver_mapper.core.architecture import Buffer
from solver_mapper.core.mapping import LevelMapping
from solver_mapper.core.results.statistics import (
    LevelStatistics,
    NetworkTensorStatistics,
    Statistics,
    TensorStatistics,
)
from solver_mapper.cost.timeloop.accesses import TensorMovement
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.cost.timeloop.network_energy import (
    DOWN,
    UP,
    NetworkBelow,
    arriving,
    networks_below,
)
from solver_mapper.cost.timeloop.tiles import build_nest

_IN = "    "
_SPEC, _STAT, _WIRE = 27, 40, 39


def timeloop_stats(statistics: Statistics) -> str:
    """All sections, level 0 being the compute units."""
    return "\n".join(
        [
            *_levels(statistics),
            *_networks(statistics),
            *_intensity(statistics),
            *_summary(statistics),
            "",
        ]
    )


def _heading(text: str, indent: str = "") -> list[str]:
    return [f"{indent}{text}", f"{indent}{'-' * len(text)}"]


def _fixed(value: Fraction | int) -> str:
    return f"{float(value):.2f}"


def _given(value: Fraction | int | None) -> str:
    """A specified value, or Timeloop's sign for none."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else _fixed(value)


def _levels(statistics: Statistics) -> Iterator[str]:
    yield from ("Buffer and Arithmetic Levels", "-" * 28)
    yield from _heading_of_level(0, statistics.architecture.arithmetic.name)
    yield from _arithmetic(statistics)
    for number, (buffer, level) in enumerate(
        reversed(list(zip(statistics.architecture.levels, statistics.mapping.levels, strict=True))),
        1,
    ):
        yield from _heading_of_level(number, buffer.name)
        yield from _buffer_specs(buffer)
        yield from _loops(level)
        yield from _buffer_stats(buffer, statistics)


def _heading_of_level(number: int, name: str) -> list[str]:
    return [f"Level {number}", "-------", f"=== {name} ===", ""]


def _arithmetic(statistics: Statistics) -> Iterator[str]:
    units = statistics.architecture.arithmetic
    found = statistics.levels[units.name]
    yield from _heading("SPECS", _IN)
    yield f"{_IN}Word bits             : {units.word_bits}"
    yield f"{_IN}Instances             : {units.instances} ({units.mesh_x}*{units.mesh_y})"
    yield f"{_IN}Compute energy        : {_fixed(units.energy)} pJ"
    yield ""
    yield from _heading("STATS", _IN)
    yield (
        f"{_IN}Utilized instances      :"
        f" {prod(_spread(level) for level in statistics.mapping.levels)}"
    )
    yield f"{_IN}Computes (total)        : {statistics.computes}"
    yield f"{_IN}Cycles                  : {found.cycles}"
    yield f"{_IN}Energy (total)          : {_fixed(found.energy_pj)} pJ"
    yield f"{_IN}Area (total)            : {_fixed(found.area_um2)} um^2"
    yield from ("", "")


def _spread(level: LevelMapping) -> int:
    return prod(loop.bound for loop in level.spatial)


def _buffer_specs(buffer: Buffer) -> Iterator[str]:
    energy = max(buffer.energy.read, buffer.energy.fill, buffer.energy.update)
    origin = buffer.energy.origin.partition(";")[0]
    source = {"ERT": "ERT", "vector-access-energy": "user"}.get(origin, "PAT")
    rows = (
        ("Technology", buffer.technology),
        ("Size", _given(buffer.entries)),
        ("Word bits", str(buffer.word_bits)),
        ("Block size", str(buffer.block_size)),
        ("Cluster size", str(buffer.cluster_size)),
        ("Instances", f"{buffer.instances} ({buffer.mesh_x}*{buffer.mesh_y})"),
        ("Shared bandwidth", _given(buffer.shared_bandwidth)),
        ("Read bandwidth", _given(buffer.read_bandwidth)),
        ("Write bandwidth", _given(buffer.write_bandwidth)),
        ("Multiple buffering", _fixed(buffer.multiple_buffering)),
        ("Effective size", _given(buffer.capacity)),
        ("Min utilization", _fixed(buffer.min_utilization)),
        ("Vector access energy", f"{_fixed(energy)} pJ"),
        ("Vector access energy source", source),
        ("Area", f"{_fixed(buffer.area)} um^2"),
    )
    yield from _heading("SPECS", _IN)
    yield from (f"{_IN}{_IN}{title:<{_SPEC}} : {value}" for title, value in rows)
    yield ""


def _loops(level: LevelMapping) -> Iterator[str]:
    yield from _heading("MAPPING", _IN)
    yield f"{_IN}Loop nest:"
    indent = "  "
    for loop in (*level.temporal, *level.spatial):
        if loop.bound > 1:
            last = "" if loop.perfect else f",{loop.last}"
            yield f"{_IN}{indent}for {loop.dim} in [0:{loop.bound}{last})" + (
                f" (Spatial-{loop.axis})" if loop.axis else ""
            )
            indent += "  "
    yield ""


def _buffer_stats(buffer: Buffer, statistics: Statistics) -> Iterator[str]:
    level = statistics.levels[buffer.name]
    steps = statistics.levels[statistics.architecture.arithmetic.name].cycles
    yield from _heading("STATS", _IN)
    yield f"{_IN}Cycles               : {level.cycles}"
    yield f"{_IN}Bandwidth throttling : {_fixed(level.throttling)}"
    for name, row in level.tensors.items():
        yield f"{_IN}{name}:"
        yield from (
            f"{_IN}{_IN}{title:<{_STAT}} : {value}"
            for title, value in _tensor(buffer, level, row, steps)
        )
    yield ""


def _tensor(
    buffer: Buffer, level: LevelStatistics, row: TensorStatistics, steps: int
) -> Iterator[tuple[str, str]]:
    clusters = min(row.instances, buffer.clusters)
    addressing = row.address_generations * buffer.address_price
    energy = (row.energy_pj - addressing * clusters) / row.instances
    words = row.reads + row.fills + row.updates
    yield "Partition size", str(row.partition)
    yield "Utilized capacity", str(row.tile)
    yield "Utilized instances (max)", str(row.instances)
    yield "Utilized clusters (max)", str(clusters)
    yield "Scalar reads (per-instance)", str(row.reads)
    yield "Scalar updates (per-instance)", str(row.updates)
    yield "Scalar fills (per-instance)", str(row.fills)
    yield "Temporal reductions (per-instance)", str(row.temporal_reductions)
    yield "Address generations (per-cluster)", str(row.address_generations)
    yield "Energy (per-scalar-access)", f"{_fixed(energy / words if words else 0)} pJ"
    yield from _each_and_all("Energy", energy, row.instances, "pJ")
    yield from _each_and_all("Temporal Reduction Energy", 0, row.instances, "pJ")
    yield "Address Generation Energy (per-cluster)", f"{_fixed(addressing)} pJ"
    yield "Address Generation Energy (total)", f"{_fixed(addressing * clusters)} pJ"
    for title, moved in (
        ("Shared", words),
        ("Read", row.reads),
        ("Write", row.fills + row.updates),
    ):
        yield from _each_and_all(
            f"{title} Bandwidth", moved * level.throttling / steps, row.instances, "words/cycle"
        )


def _each_and_all(
    title: str, value: Fraction | int, instances: int, unit: str
) -> Iterator[tuple[str, str]]:
    yield f"{title} (per-instance)", f"{_fixed(value)} {unit}"
    yield f"{title} (total)", f"{_fixed(value * instances)} {unit}"


def _networks(statistics: Statistics) -> Iterator[str]:
    """Networks in alphabetical order. What each carries is counted anew, since `Statistics` keeps
    only the sums.
    """
    evaluator = Evaluator(statistics.architecture, statistics.problem, every_hop=True)
    moved = evaluator.movements(
        build_nest(statistics.problem, statistics.mapping), statistics.mapping
    )
    by_level = [
        (level, below)
        for level, networks in enumerate(networks_below(statistics.architecture))
        for below in networks
    ]
    found = sorted(zip(statistics.networks, by_level, strict=True))
    yield from _heading("Networks")
    for number, (name, (level, below)) in enumerate(found):
        yield from (f"Network {number}", "---------", name, "")
        yield from _heading("SPECS", _IN)
        yield from (f"{_IN}{_IN}{title:<15} : {value}" for title, value in _network_specs(below))
        yield ""
        yield from _heading("STATS", _IN)
        for tensor, movement in zip(statistics.problem.tensors, moved, strict=True):
            yield f"{_IN}{tensor.name}:"
            fanout = _spread(statistics.mapping.levels[level])
            yield from _carried(
                below,
                statistics.networks[name].tensors[tensor.name],
                movement,
                level,
                tensor.read_write,
                fanout,
            )
        yield ""


def _network_specs(below: NetworkBelow) -> Iterator[tuple[str, str]]:
    network = below.network
    yield "Type", network.kind
    if network.kind == "Legacy":
        yield "Legacy sub-type", ""
    yield "ConnectionType", str((DOWN in below.ways) + 2 * (UP in below.ways))
    yield "Word bits", str(16 if network.word_bits is None else network.word_bits)
    if network.kind == "Legacy":
        yield "Router energy", f"{_fixed(network.router_energy)} pJ"
        yield "Wire energy", f"{_fixed(network.wire_energy or 0)} pJ/b/mm"
        yield "Ingress energy", f"{_fixed(network.ingress_energy)} pJ"
    yield "Fill latency", str(network.fill_latency)
    yield "Drain latency", str(network.drain_latency)


def _carried(
    below: NetworkBelow,
    row: NetworkTensorStatistics,
    movement: TensorMovement,
    level: int,
    read_write: bool,
    fanout: int,
) -> Iterator[str]:
    instances = 1 if below.network.kind == "ReductionTree" else row.instances
    links = row.link_transfers * (below.per_hop + 2 * below.network.router_energy)
    adding = row.spatial_reductions * below.network.adder_energy
    passing = row.energy_pj / instances - links - adding
    accesses = movement.accesses[level]
    yield _wire("Fanout", str(fanout))
    yield _wire("Multicast factor", str(row.multicast))
    yield _wire("Ingresses", _fixed(row.ingresses))
    for record in arriving(
        below,
        movement.traffic[level],
        read_write,
        0 if accesses is None else accesses.partition,
    ):
        yield (
            f"{_IN * 3}@multicast {record.multicast} @scatter {record.scatter}:"
            f" {_fixed(record.words)}"
        )
    yield _wire("Link transfers", str(row.link_transfers))
    yield _wire("Spatial reductions", str(int(row.spatial_reductions)))
    yield _wire("Average number of hops", _fixed(row.hops))
    yield _wire("Energy (per-hop)", f"{_fixed(1000 * below.per_hop)} fJ")
    for title, energy in (
        ("Energy", passing),
        ("Link transfer energy", links),
        ("Spatial Reduction Energy", adding),
    ):
        yield from (_wire(*each) for each in _each_and_all(title, energy, instances, "pJ"))


def _wire(title: str, value: str) -> str:
    return f"{_IN}{_IN}{title:<{_WIRE}} : {value}"


def _operations(statistics: Statistics) -> tuple[int, int]:
    """Reductions, and words that must move: for each tensor the tile of the outermost level that
    holds it.
    """
    reductions, least = statistics.computes, 0
    for tensor in statistics.problem.tensors:
        whole = next(
            level.tensors[tensor.name].tile
            for level in statistics.levels.values()
            if tensor.name in level.tensors
        )
        least += whole
        reductions -= whole if tensor.read_write else 0
    return reductions, least


def _intensity(statistics: Statistics) -> Iterator[str]:
    reductions, least = _operations(statistics)
    total = statistics.computes + reductions
    backing = statistics.architecture.levels[0]
    yield ""
    yield from _heading("Operational Intensity Stats")
    for title, value in (
        ("Total elementwise ops", statistics.computes),
        ("Total reduction ops", reductions),
        ("Total ops", total),
        ("Total memory accesses required", least),
    ):
        yield f"{_IN}{title:<40}: {value}"
    yield f"{_IN}{'Optimal Op per Byte':<40}: {_per_byte(total, backing, least)}"
    yield ""
    for buffer in reversed(statistics.architecture.levels):
        accesses = sum(row.accesses for row in statistics.levels[buffer.name].tensors.values())
        yield f"=== {buffer.name} ==="
        if accesses:
            yield f"{_IN}{'Total scalar accesses':<40}: {accesses}"
            yield f"{_IN}{'Op per Byte':<40}: {_per_byte(total, buffer, accesses)}"
    yield from ("", "")


def _per_byte(operations: int, buffer: Buffer, words: int) -> str:
    size = buffer.word_bits * words // 8
    return _fixed(Fraction(operations, size)) if size else "inf"


def _summary(statistics: Statistics) -> Iterator[str]:
    total = statistics.computes + _operations(statistics)[0]
    yield from _heading("Summary Stats")
    yield f"GFLOPs (@1GHz): {_fixed(Fraction(total, statistics.cycles))}"
    yield f"Utilization: {_fixed(statistics.utilization)}"
    yield f"Cycles: {statistics.cycles}"
    yield f"Energy: {_fixed(statistics.energy_pj / 10**6)} uJ"
    yield f"EDP(J*cycle): {float(statistics.edp / 10**12):.2e}"
    yield f"Area: {_fixed(statistics.area_um2 / 10**6)} mm^2"
    yield ""
    yield f"Computes = {statistics.computes}"
    yield "fJ/Compute"
    parts = [(level.name, level.energy_pj) for level in reversed(statistics.levels.values())]
    parts += [(name, statistics.networks[name].energy_pj) for name in sorted(statistics.networks)]
    width = max(len(name) for name, _ in parts) + 1
    for name, energy in parts:
        yield f"{_IN}{name:<{width}}= {_fixed(1000 * energy / statistics.computes)}"
    yield f"{_IN}{'Total':<{width}}= {_fixed(1000 * statistics.energy_pj / statistics.computes)}"
