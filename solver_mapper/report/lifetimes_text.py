"""Lifetimes of tensors in the terminal: a row for each tensor in each memory, Einsums across."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from solver_mapper.cost.looptree.lifetimes import Lifetime
from solver_mapper.report.tables import percent, short, text_width

_USED, _KEPT = "█", "░"
_WIDE = 6
"""Columns of an Einsum where there is room."""
_TITLES = ("most bits", "of memory")


def lifetimes_text(lifetimes: Sequence[Lifetime], einsums: Sequence[str]) -> list[str]:
    """The lines; none for a single Einsum, during which every tensor is there."""
    if len(einsums) < 2 or not lifetimes:
        return []
    names = {each: f"  {each.tensor}" for each in lifetimes}
    left = max(len(text) for text in (*names.values(), *(each.component for each in lifetimes)))
    figures = {each: _figures(each) for each in lifetimes}
    sizes = [
        max(len(_TITLES[column]), *(len(row[column]) for row in figures.values()))
        for column in range(len(_TITLES))
    ]
    room = text_width() - left - sum(sizes) - 3 * 2
    titles, width = _heads(einsums, room)
    heads = [each.ljust(width) for each in titles]
    order = "" if titles is einsums else ", numbered as above"
    lines = [
        f"Lifetimes of tensors over the Einsums{order} ({_USED} in use, {_KEPT} kept)",
        _line("".ljust(left), (" " if width > 1 else "").join(heads), _TITLES, sizes),
    ]
    memory = ""
    for each in lifetimes:
        if each.component != memory:
            memory = each.component
            lines.append(memory)
        bar = "".join(_bar(each, width))
        lines.append(_line(names[each].ljust(left), bar, figures[each], sizes))
    return lines


def _figures(each: Lifetime) -> tuple[str, str]:
    share = percent(each.most / each.size) if each.size else ""
    return short(each.most), share


def _heads(einsums: Sequence[str], room: int) -> tuple[Sequence[str], int]:
    """The titles of the Einsums' columns and their width: names, numbers where names have no room,
    and last digits, without gaps, where numbers have none.
    """
    numbers = [str(position) for position in range(1, len(einsums) + 1)]
    for titles in (einsums, numbers):
        longest = max(2, *(len(title) for title in titles))
        for width in (max(longest, _WIDE), longest):
            if len(einsums) * (width + 1) <= room:
                return titles, width
    return [text[-1] for text in numbers], 1


def _bar(each: Lifetime, width: int) -> Iterator[str]:
    """One cell for each Einsum; cells between which the tensor stays are joined."""
    marks = [
        " " if not bits else _USED if used else _KEPT
        for bits, used in zip(each.bits, each.used, strict=True)
    ]
    for mark, following in pairwise((*marks, "")):
        joint = " " if " " in (mark, following) else max(mark, following)
        yield mark * width + (joint if width > 1 and following else "")


def _line(left: str, middle: str, figures: Sequence[str], sizes: Sequence[int]) -> str:
    cells = [text.rjust(size) for text, size in zip(figures, sizes, strict=True)]
    return "  ".join([left, middle, *cells]).rstrip()
