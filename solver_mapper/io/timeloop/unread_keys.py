"""Keys that stand in public files although Timeloop does not read them."""

from __future__ import annotations

from solver_mapper.io.yaml.fields import Fields
from solver_mapper.io.yaml.warnings import Notes


def note_unread(fields: Fields, notes: Notes, *names: str, why: str = "") -> None:
    """A warning for each of `names` that was written: neither Timeloop nor this program reads it,
    for `why`.
    """
    for name in names:
        if fields.has(name):
            what = f"'{name}' of {fields.what} is not read, as in Timeloop{why and f': {why}'}"
            notes.add("unread-key", fields.location_of(name), what)
