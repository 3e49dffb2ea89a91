"""The figures of a mapping as an architect reads them: the sum, every tensor at every level, the
networks, cycles, energy.
"""

from __future__ import annotations

from fractions import Fraction
from textwrap import wrap

from rich.table import Table

from solver_mapper.core.architecture import Buffer
from solver_mapper.core.mapping import LevelMapping
from solver_mapper.core.results.rendering import text_of
from solver_mapper.core.results.statistics import (
    LevelStatistics,
    NetworkTensorStatistics,
    Statistics,
)
from solver_mapper.cost.snowcat.tensor_size import touched_words
from solver_mapper.report.bandwidths import bottleneck, ports
from solver_mapper.report.tables import (
    bar,
    energy_unit,
    number,
    percent,
    render,
    short,
    table,
    text_width,
    two_decimals,
)

_CYCLES_BAR, _ENERGY_BAR = 28, 18


@text_of.register
def statistics_text(statistics: Statistics) -> str:
    """All sections, plain text 100 columns wide; violations of an illegal mapping come last."""
    networks = _networks(statistics)
    sections: list[tuple[str, Table]] = [
        ("Words per instance of each level, energy of all instances", _words(statistics)),
        *([("Networks, per instance of the level above", networks)] if networks.row_count else []),
        (f"Cycles: {bottleneck(statistics)}", _cycles(statistics)),
        ("Energy by component", _energy(statistics)),
    ]
    illegal = (
        [] if statistics.verdict is None or statistics.verdict.legal else [str(statistics.verdict)]
    )
    return "\n\n".join(
        [_summary(statistics), *(render(title, body) for title, body in sections), *illegal]
    )


def _summary(statistics: Statistics) -> str:
    rows = summary_rows(statistics)
    titles, values = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(
        line
        for title, value, note in rows
        for line in wrap(
            f"{title:<{titles}}  {value:<{values}}  {note}".rstrip(),
            text_width(),
            subsequent_indent=" " * (titles + values + 4),
            break_long_words=False,
        )
    )


def summary_rows(statistics: Statistics) -> list[tuple[str, str, str]]:
    """The sums: name, value, and what it means in proportion."""
    backing, units = statistics.architecture.levels[0], statistics.architecture.arithmetic
    steps = statistics.levels[units.name].cycles
    rows = [
        ("cycles", number(statistics.cycles), _cycles_note(statistics)),
        (
            "energy",
            f"{number(statistics.energy_pj)} pJ",
            f"{short(statistics.energy_pj / statistics.macs)} pJ per MAC",
        ),
        (
            "edp",
            f"{number(statistics.edp)} pJ x cycles",
            f"{short(statistics.edp / 10**12)} J x cycles",
        ),
        (
            "MACs",
            number(statistics.macs),
            f"{short(Fraction(statistics.macs, statistics.cycles))} per cycle",
        ),
        (
            "utilization",
            percent(statistics.utilization, 2),
            f"{short(Fraction(statistics.macs, steps))} of {units.instances:,} {units.name} busy, "
            f"in {percent(Fraction(steps, statistics.cycles))} of the cycles",
        ),
        (
            f"{backing.name} words",
            number(statistics.last_level_accesses),
            _traffic_note(statistics),
        ),
    ]
    if statistics.last_level_accesses:
        most = Fraction(statistics.macs, algorithmic_minimum(statistics))
        intensity = Fraction(statistics.macs, statistics.last_level_accesses)
        rows.append(
            (
                "intensity",
                f"{short(intensity)} MACs per {backing.name} word",
                f"at most {short(most)} in any mapping",
            )
        )
    if statistics.area_um2:
        rows.append(("area", f"{number(statistics.area_um2)} um^2", ""))
    return rows


def _cycles_note(statistics: Statistics) -> str:
    return (
        ""
        if statistics.timeloop_cycles == statistics.cycles
        else f"{number(statistics.timeloop_cycles)} by Timeloop's count"
    )


def algorithmic_minimum(statistics: Statistics) -> int:
    """Words that every mapping moves at the backing store: each word of the tensors kept there,
    once.
    """
    backing = statistics.architecture.levels[0].name
    kept = statistics.levels[backing].tensors
    return sum(
        touched_words(tensor, statistics.problem.bounds)
        for tensor in statistics.problem.tensors
        if tensor.name in kept
    )


def _traffic_note(statistics: Statistics) -> str:
    share = f"{short(Fraction(statistics.last_level_accesses, statistics.macs))} per MAC"
    least = algorithmic_minimum(statistics)
    if not least:
        return share
    ratio = f"{statistics.last_level_accesses / least:.3f}"
    return f"{share}, {ratio} x algorithmic minimum {number(least)}"


def _words(statistics: Statistics) -> Table:
    unit, scale = energy_unit(statistics.energy_pj)
    made = table(
        "level and tensor",
        ">instances",
        ">tile",
        ">full",
        ">reads",
        ">fills",
        ">updates",
        f">energy ({unit})",
        expendable=(3, 1),
    )
    used = 1
    for buffer, mapped in zip(
        statistics.architecture.levels, statistics.mapping.levels, strict=True
    ):
        level = statistics.levels[buffer.name]
        held = sum(tensor.tile for tensor in level.tensors.values())
        made.add_row(
            buffer.name,
            f"{used:,} of {buffer.instances:,}",
            number(held) if level.tensors else "none",
            _full(buffer, held) or "unlimited",
            "",
            "",
            "",
            two_decimals(level.energy_pj / scale),
        )
        for name, row in level.tensors.items():
            made.add_row(
                f"  {name}",
                "",
                number(row.tile),
                _full(buffer, row.tile),
                number(row.reads),
                number(row.fills),
                number(row.updates),
                two_decimals(row.energy_pj / scale),
            )
        if level.leakage_pj:
            made.add_row("  leakage", *[""] * 6, two_decimals(level.leakage_pj / scale))
        used *= _spread(mapped)
    return made


def _spread(level: LevelMapping) -> int:
    product = 1
    for loop in level.spatial:
        product *= loop.bound
    return product


def _full(buffer: Buffer, words: int) -> str:
    if buffer.entries == 0:
        return "-"
    return percent(Fraction(words, buffer.capacity)) if buffer.capacity else ""


def _networks(statistics: Statistics) -> Table:
    unit, scale = energy_unit(statistics.energy_pj)
    made = table(
        "network and tensor",
        ">multicast",
        ">ingresses",
        ">link transfers",
        ">reductions",
        ">hops",
        f">energy ({unit})",
        expendable=(5, 1),
    )
    for network in statistics.networks.values():
        busy = {name: row for name, row in network.tensors.items() if carries(row)}
        if busy:
            made.add_row(network.name)
        for name, row in busy.items():
            made.add_row(
                f"  {name}",
                number(row.multicast),
                number(Fraction(row.ingresses)),
                number(row.link_transfers),
                number(Fraction(row.spatial_reductions)),
                number(Fraction(row.hops)),
                two_decimals(row.energy_pj / scale),
            )
    return made


def carries(row: NetworkTensorStatistics) -> bool:
    """Whether a network does more for a tensor than pass words on: copies, sums, hops or costs."""
    return bool(
        row.multicast > 1
        or row.link_transfers
        or row.spatial_reductions
        or row.hops
        or row.energy_pj
    )


def _cycles(statistics: Statistics) -> Table:
    made = table("", "", ">cycles", ">of all", "", expendable=(1,))
    units = statistics.levels[statistics.architecture.arithmetic.name]
    slowest = max(level.cycles for level in statistics.levels.values())
    latency = statistics.cycles - slowest
    rows = [
        (units.name, Fraction(units.cycles), "compute"),
        *((port.level, port.cycles, port.description) for port in ports(statistics)),
    ]
    if latency:
        rows.append(("networks", Fraction(latency), "network fill and drain"))
    for name, cycles, what in rows:
        share = cycles / statistics.cycles
        made.add_row(
            name,
            bar(share, _CYCLES_BAR),
            number(-(-cycles.numerator // cycles.denominator)),
            percent(share),
            what,
        )
    made.show_header = False
    return made


def _energy(statistics: Statistics) -> Table:
    unit, scale = energy_unit(statistics.energy_pj)
    made = table(
        "", "", f">{unit}", ">share", ">pJ/MAC", ">words/MAC", "energy source", expendable=(1, 5)
    )
    rows: list[tuple[str, Fraction, str, str]] = []
    for level in statistics.levels.values():
        if level.energy_pj or level.tensors:
            rows.append(
                (
                    level.name,
                    level.energy_pj,
                    _words_per_mac(level, statistics),
                    level.energy_origin,
                )
            )
    rows += [
        (each.name, each.energy_pj, "", f"{each.kind} network")
        for each in statistics.networks.values()
        if each.energy_pj
    ]
    for name, energy, words, origin in rows:
        share = energy / statistics.energy_pj if statistics.energy_pj else Fraction(0)
        made.add_row(
            name,
            bar(share, _ENERGY_BAR),
            two_decimals(energy / scale),
            percent(share),
            short(energy / statistics.macs),
            words,
            origin,
        )
    return made


def _words_per_mac(level: LevelStatistics, statistics: Statistics) -> str:
    return (
        short(Fraction(sum(row.accesses for row in level.tensors.values()), statistics.macs))
        if level.tensors
        else ""
    )
