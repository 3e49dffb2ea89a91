"""How many mappings a mapspace has, in words."""

from __future__ import annotations

from textwrap import wrap

from rich.table import Table

from solver_mapper.core.results.mapspace_size import Choices, Cut, MapspaceSize
from solver_mapper.core.results.rendering import text_of
from solver_mapper.report.tables import number, render, short, table, text_width

WHAT = """\
Every number is exact and counts mappings of perfect factors. Two factorizations differ in a loop \
bound or in the axis of a spatial loop. Two loop nests differ in that, or in the order of loops \
above 1, even if both orders cost the same. Two mappings differ in that, or in what levels store."""

BY_ITSELF = "Choices of each level that satisfy its constraints"
LEVEL_BY_LEVEL = f"""\
{BY_ITSELF}, tiles in legal mappings,
and choices from the outermost level to this one that some legal mapping has"""


@text_of.register
def mapspace_size_text(mapspace_size: MapspaceSize) -> str:
    """The tables that there are, and what is counted."""
    parts: list[Table | str] = [_headline(mapspace_size), ""]
    if mapspace_size.legal is not None:
        parts += [_stages(mapspace_size), ""]
    parts += [
        BY_ITSELF if mapspace_size.legal is None else LEVEL_BY_LEVEL,
        _levels(mapspace_size),
        "",
        _dimensions(mapspace_size),
    ]
    if mapspace_size.cuts:
        parts += [
            "",
            "Legal mappings if one constraint or capacity is removed",
            _cuts(mapspace_size),
            *_redundancy(mapspace_size),
        ]
    return render(*parts, "", *wrap(WHAT, text_width()), *_uncounted(mapspace_size))


def _headline(mapspace_size: MapspaceSize) -> str:
    if mapspace_size.legal is None:
        return (
            f"The problem has {mapspace_size.tiles:,} tiles: too many to count the mappings that"
            " satisfy all constraints together.\nBelow are the choices of each level alone; meshes,"
            " capacities and constraints on several loops leave fewer."
        )
    if mapspace_size.empty:
        return "no legal mapping exists; run 'solver-mapper explain'"
    plural = "" if mapspace_size.legal.mappings == 1 else "s"
    limit = ", not counting the constraints named below" if mapspace_size.uncounted else ""
    return f"{mapspace_size.legal.mappings:,} legal mapping{plural}{limit}"


def _stages(mapspace_size: MapspaceSize) -> Table:
    made = table("", ">factorizations", ">loop nests", ">mappings")
    for title, count in (
        ("hardware and problem only", mapspace_size.unconstrained),
        ("satisfying the constraints", mapspace_size.constrained),
        ("fitting the buffers", mapspace_size.legal),
    ):
        if count is not None:
            made.add_row(
                title, number(count.factorizations), number(count.nests), number(count.mappings)
            )
    return made


def _levels(mapspace_size: MapspaceSize) -> Table:
    joint = (">tiles", ">choices\nso far") if mapspace_size.legal is not None else ()
    made = table("level", ">temporal\nfactors", ">orders", ">spatial\nfactors", ">bypass", *joint)
    for level in mapspace_size.levels:
        cells = [_of(each) for each in (level.temporal, level.orders, level.spatial, level.bypass)]
        more = [number(each) for each in (level.tiles, level.down) if each is not None]
        made.add_row(level.level, *cells, *more)
    return made


def _of(choices: Choices) -> str:
    return (
        f"{choices.left:,}"
        if choices.left == choices.all
        else f"{choices.left:,} of {choices.all:,}"
    )


def _dimensions(mapspace_size: MapspaceSize) -> str:
    listed = ", ".join(f"{dim} {_of(each)}" for dim, each in mapspace_size.chains.items())
    return f"Factorizations of each dimension over all loops: {listed or 'none'}"


def _cuts(mapspace_size: MapspaceSize) -> Table:
    made = table("constraint or capacity", ">mappings", ">times", words=(0,))
    for cut in mapspace_size.cuts:
        where = "" if cut.location.line is None else f"{cut.location}: "
        made.add_row(f"{where}{cut.text}", number(cut.without), _times(cut))
    return made


def _times(cut: Cut) -> str:
    """Four digits; a constraint that cuts anything never reads as 1."""
    if cut.times is None:
        return "none before" if cut.without else "still none"
    if cut.redundant:
        return "1 (redundant)" if cut.is_constraint else "1 (never binding)"
    digits = short(cut.times)
    return "above 1" if digits == "1" else digits


def _redundancy(mapspace_size: MapspaceSize) -> list[str]:
    redundant = [cut for cut in mapspace_size.cuts if cut.redundant and cut.is_constraint]
    if not redundant or mapspace_size.empty:
        return []
    spare = [cut for cut in redundant if cut.spare]
    if len(redundant) == 1:
        return ["The redundant constraint prunes nothing: the other constraints imply it."]
    if len(spare) == len(redundant):
        return [
            f"The {len(redundant)} redundant constraints prune nothing; they can all"
            " be removed together."
        ]
    stay = "; ".join(cut.text for cut in redundant if not cut.spare)
    return [
        f"Each of the {len(redundant)} redundant constraints prunes nothing: the other"
        " constraints imply it.",
        f"{len(spare)} of them can be removed together if these stay: {stay}",
    ]


def _uncounted(mapspace_size: MapspaceSize) -> list[str]:
    if not mapspace_size.uncounted:
        return []
    return [
        (
            "Constraints that are not counted (mappings that violate them are in all numbers"
            f" above: {'; '.join(mapspace_size.uncounted)}."
        ),
        (
            "(Caps on figures take an evaluation of each mapping; products of many values, a number"
            " for each.)"
        ),
    ]
