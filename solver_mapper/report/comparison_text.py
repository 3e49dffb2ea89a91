"""A comparison as text: loop nests side by side, figures with ratios, and why one is better."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil
from textwrap import wrap

from rich.table import Table

from solver_mapper.compare.comparison import Comparison, EnergyTerm
from solver_mapper.core.results.rendering import text_of
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.report.tables import number, percent, render, short, table, text_width

MOST_TERMS = 3
"""Terms of the energy that the explanation names."""

_LEVEL, _LEAST_COLUMN = 18, 20
MARK = "*"


@text_of.register
def comparison_text(comparison: Comparison) -> str:
    """Names, loop nests, figures, and the explanation."""
    sections = [
        "\n".join(
            [f"Loop nests with tiles in words; {MARK} marks lines that differ", *_nests(comparison)]
        ),
        render("Figures", _table(comparison)),
        "\n".join(
            line for paragraph in explanation(comparison) for line in wrap(paragraph, text_width())
        ),
    ]
    return "\n\n".join(sections)


def _nests(comparison: Comparison) -> Iterator[str]:
    above, width = "", max((text_width() - _LEVEL) // len(comparison.mappings) - 1, _LEAST_COLUMN)
    names = ["\n".join(wrap(each.name, width)) for each in comparison.mappings]
    made = table("level", *names, "")
    for row in comparison.nest:
        label = "" if row.level == above else row.level
        above = row.level
        cells = [(wrap(cell, width) or [""]) for cell in row.cells]
        for line in range(max(len(cell) for cell in cells)):
            shown = [cell[line] if line < len(cell) else "" for cell in cells]
            made.add_row(label if not line else "", *shown, MARK if row.differs else "")
    yield render(made)


def figures(comparison: Comparison) -> Iterator[tuple[str, list[tuple[Fraction, str]]]]:
    """Each figure of all mappings: its name, and its values as they read."""

    def row(
        name: str, value_of: Callable[[Statistics], Fraction | int], shown: Callable[..., str]
    ) -> tuple[str, list[tuple[Fraction, str]]]:
        values = [Fraction(value_of(each.statistics)) for each in comparison.mappings]
        return name, [(value, shown(value)) for value in values]

    backing = comparison.mappings[0].statistics.architecture.levels[0].name
    yield row("cycles", lambda each: each.cycles, number)
    yield row("energy (pJ)", lambda each: each.energy_pj, number)
    yield row("edp (pJ x cycles)", lambda each: each.edp, short)
    yield row("utilization", lambda each: each.utilization, lambda value: percent(value, 2))
    yield row(f"{backing} words", lambda each: each.last_level_accesses, number)


def ratio(value: Fraction, first: Fraction) -> str:
    """One value over another, as it reads."""
    return f"{float(value / first):.3f} x" if first else "-"


def _table(comparison: Comparison) -> Table:
    names = [each.name for each in comparison.mappings]
    columns = [title for name in names[1:] for title in (f">{name}", ">ratio")]
    made = table("", f">{names[0]}", *columns)
    for name, values in figures(comparison):
        first = values[0][0]
        others = [cell for value, text in values[1:] for cell in (text, ratio(value, first))]
        made.add_row(name, values[0][1], *others)
    limits = [comparison.bottleneck(position)[0] for position in range(len(names))]
    made.add_row("bound by", limits[0], *(cell for limit in limits[1:] for cell in (limit, "")))
    return made


def explanation(comparison: Comparison) -> Iterator[str]:
    """Why the best mapping is better than each of the others, a paragraph for each."""
    best = comparison.mappings[comparison.best]
    for position, other in enumerate(comparison.mappings):
        if position != comparison.best:
            yield _against(comparison, position)
        if not other.legal:
            yield f"{other.name} is illegal: {_first_violation(other.statistics)}"
        if other.status is not None:
            yield f"{other.name} is {_STATUS.get(other.status, other.status)}."
    if comparison.values.count(comparison.values[comparison.best]) > 1:
        yield f"No mapping has a smaller {comparison.goal.name} than {best.name}."


_STATUS = {"optimal": "proven optimal", "feasible": "the best one found, not proven optimal"}


def _first_violation(statistics: Statistics) -> str:
    verdict = statistics.verdict
    return "" if verdict is None else verdict.violations[0].message


def _against(comparison: Comparison, position: int) -> str:
    best, other = comparison.mappings[comparison.best], comparison.mappings[position]
    goal = comparison.goal.name
    if comparison.values[position] == comparison.values[comparison.best]:
        return f"{other.name} has the same {goal} as {best.name}."
    mine, theirs = best.statistics, other.statistics
    said = [
        f"{best.name} is better: {other.name} has {comparison.ratio(position):.4g} times its"
        f" {goal}, with {_times(theirs.energy_pj, mine.energy_pj)} the energy and"
        f" {_times(theirs.cycles, mine.cycles)} the cycles."
    ]
    said += _energy(comparison, position)
    said.append(_cycles(comparison, position))
    return " ".join(said)


def _times(value: Fraction | int, by: Fraction | int) -> str:
    return f"{float(Fraction(value) / by):.4g} times" if by else "more than 0 times"


def _energy(comparison: Comparison, position: int) -> Iterator[str]:
    """The terms of the energy that differ most."""
    ours = comparison.best

    def change(term: EnergyTerm) -> Fraction:
        return term.energies[position] - term.energies[ours]

    terms = sorted(comparison.terms, key=lambda term: abs(change(term)), reverse=True)
    named = [
        f"{term.name} ({'+' if change(term) > 0 else '-'}{number(abs(change(term)))} pJ)"
        for term in terms[:MOST_TERMS]
        if change(term)
    ]
    if named:
        few = "The term that differs" if len(named) == 1 else "The terms of the energy that differ"
        yield f"{few} most: {', '.join(named)}."


def _cycles(comparison: Comparison, position: int) -> str:
    (mine, own), (theirs, other) = (
        comparison.bottleneck(each) for each in (comparison.best, position)
    )
    best, name = comparison.mappings[comparison.best].name, comparison.mappings[position].name
    if own == other:
        return f"Both need the same cycles, bound by {theirs}."
    return (
        f"{name} is bound by {theirs} ({number(ceil(other))} cycles), {best} by {mine}"
        f" ({number(ceil(own))} cycles)."
    )
