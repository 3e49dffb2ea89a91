"""The size of a fused design space in words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from textwrap import wrap

from rich.table import Table

from solver_mapper.core.results.fusion_space import FusionSpaceSize
from solver_mapper.core.results.rendering import text_of
from solver_mapper.report.tables import number, render, table, text_width

WHAT = """\
Every number is exact and counts mappings by the rules of Orojenesis v2 onto one backing store, \
one buffer and one unit; an architecture in the files is not read. Tile sizes divide. Each number \
includes the choices above it; a factor is the average number of choices for each choice above."""


@text_of.register
def fusion_space_text(size: FusionSpaceSize) -> str:
    """Both tables, and what is counted."""
    fused = ", ".join(size.fusable) or "none"
    return render(
        f"{size.mappings:,} fused mappings; tensors that may stay on chip: {fused}",
        "",
        _together(size),
        "",
        "Each Einsum by itself",
        _einsums(size),
        "",
        *wrap(WHAT, text_width()),
    )


def _together(size: FusionSpaceSize) -> Table:
    made = table("all Einsums together", ">choices", ">factor")
    counts = (size.fused_sets, size.loop_orders, size.tiles, size.mappings)
    for (name, factor), count in zip(size.factors.items(), counts, strict=True):
        made.add_row(name, number(count), _rounded(factor))
    return made


def _rounded(factor: Fraction) -> str:
    """Four significant digits; factors of many Einsums exceed what a double can hold."""
    return f"{Decimal(factor.numerator) / Decimal(factor.denominator):.4g}"


def _einsums(size: FusionSpaceSize) -> Table:
    made = table(
        "Einsum", ">fused sets", ">fused loop orders", ">tile sizes", ">intra-layer loop orders"
    )
    for each in size.einsums:
        counts = (each.fused_sets, each.loop_orders, each.tiles, each.mappings)
        made.add_row(each.einsum, *map(number, counts))
    return made
