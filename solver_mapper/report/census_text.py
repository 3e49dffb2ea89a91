"""The census of mappings in words."""

from __future__ import annotations

from rich.table import Table

from solver_mapper.census.census import Census, Choices, Cut
from solver_mapper.report.plain import number, render, short, table

WHAT = """\
Counted are mappings of perfect factors. Factorizations differ in a loop bound or the axis of a spatial loop; loop nests also in
the order of loops above 1, whether or not that changes any figure; mappings also in what levels keep. Every number is exact."""

BY_ITSELF = "Choices that rules leave, each by itself"
LEVEL_BY_LEVEL = f"""\
{BY_ITSELF}; then the tiles that occur in legal mappings,
and the different ways to choose all levels so far that lead to one"""


def census_text(census: Census) -> str:
    """The tables that there are, and what is counted."""
    parts: list[Table | str] = [_headline(census), ""]
    if census.legal is not None:
        parts += [_stages(census), ""]
    parts += [BY_ITSELF if census.legal is None else LEVEL_BY_LEVEL, _levels(census), "", _dimensions(census)]
    if census.cuts:
        parts += ["", "Mappings without one rule or capacity, the others kept", _cuts(census), *_redundancy(census)]
    return render(*parts, "", WHAT, *_uncounted(census))


def _headline(census: Census) -> str:
    if census.legal is None:
        return (f"The problem has {census.tiles:,} tiles: too many to count the mappings that obey all rules together.\n"
                "Counted is what each choice has by itself; meshes, capacities and rules over several loops cut more.")
    if census.empty:
        return "no mapping is legal: see 'explain'"
    plural = "" if census.legal.mappings == 1 else "s"
    return f"{census.legal.mappings:,} legal mapping{plural}{', as far as rules are counted' if census.uncounted else ''}"


def _stages(census: Census) -> Table:
    made = table("", ">factorizations", ">loop nests", ">mappings")
    for title, count in (("on these meshes, without rules", census.unruled), ("obeying the rules", census.ruled),
                         ("fitting the buffers", census.legal)):
        if count is not None:
            made.add_row(title, number(count.factorizations), number(count.nests), number(count.mappings))
    return made


def _levels(census: Census) -> Table:
    joint = (">tiles", ">ways down to here") if census.legal is not None else ()
    made = table("level", ">temporal factors", ">orders", ">spatial factors", ">bypass", *joint)
    for level in census.levels:
        cells = [_of(each) for each in (level.temporal, level.orders, level.spatial, level.bypass)]
        more = [number(each) for each in (level.tiles, level.down) if each is not None]
        made.add_row(level.level, *cells, *more)
    return made


def _of(choices: Choices) -> str:
    return f"{choices.left:,}" if choices.left == choices.all else f"{choices.left:,} of {choices.all:,}"


def _dimensions(census: Census) -> str:
    listed = ", ".join(f"{dim} {_of(each)}" for dim, each in census.chains.items())
    return f"Factorizations of each dimension over all loops: {listed or 'none'}"


def _cuts(census: Census) -> Table:
    made = table("rule or capacity", ">mappings without it", ">times")
    for cut in census.cuts:
        where = "" if cut.place.line is None else f"{cut.place}: "
        made.add_row(f"{where}{cut.text}", number(cut.without), _times(cut))
    return made


def _times(cut: Cut) -> str:
    """Four digits; a rule that cuts anything never reads as 1."""
    if cut.times is None:
        return "from none" if cut.without else "still none"
    if cut.redundant:
        return "1 (redundant)" if cut.is_rule else "1 (never too small)"
    digits = short(cut.times)
    return "above 1" if digits == "1" else digits


def _redundancy(census: Census) -> list[str]:
    redundant = [cut for cut in census.cuts if cut.redundant and cut.is_rule]
    if not redundant or census.empty:
        return []
    spare = [cut for cut in redundant if cut.spare]
    if len(redundant) == 1:
        return ["The redundant rule cuts nothing that the others leave."]
    if len(spare) == len(redundant):
        return [f"The {len(redundant)} redundant rules cut nothing that the others leave, and can all be dropped together."]
    stay = "; ".join(cut.text for cut in redundant if not cut.spare)
    return [f"Each of the {len(redundant)} redundant rules cuts nothing that the others leave.",
            f"{len(spare)} of them can be dropped together; then these must stay: {stay}"]


def _uncounted(census: Census) -> list[str]:
    if not census.uncounted:
        return []
    return [f"Not counted are these rules, so that mappings which break them are in all numbers above: {'; '.join(census.uncounted)}.",
            "(Caps on figures take an evaluation of each mapping; products of many values, a number for each.)"]
