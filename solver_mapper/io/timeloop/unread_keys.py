"""Keys that stand in public files although Timeloop does not read them."""

from __future__ import annotations

from solver_mapper.io.yaml.fields import Fields
from solver_mapper.io.yaml.source import Sequence
from solver_mapper.io.yaml.warnings import Notes


def note_unread(fields: Fields, notes: Notes, *names: str, why: str = "") -> None:
    """A warning for each of `names` that was written: neither Timeloop nor this program reads it,
    for `why`.
    """
    for name in names:
        if fields.has(name):
            what = f"'{name}' of {fields.what} is not read, as in Timeloop{why and f': {why}'}"
            notes.add("unread-key", fields.location_of(name), what)


def note_loops(fields: Fields, notes: Notes) -> None:
    """A warning for keys of loops where it is said what levels keep."""
    note_unread(
        *(fields, notes, "factors", "permutation", "split"), why="what is kept has no loops"
    )


def note_stream(fields: Fields, notes: Notes) -> None:
    """A warning for a `stream` that was written. Outputs of 2021 count a tensor at a level that
    bypasses it if it is listed there.
    """
    node = fields.node("stream")
    if not isinstance(node, Sequence) or not node.items:
        note_unread(fields, notes, "stream")
        return
    what = (
        f"'stream' of {fields.what} is not read, as in the present version of Timeloop; older"
        " versions read it, and their figures may differ"
    )
    notes.add("unread-key", node.location, what)
