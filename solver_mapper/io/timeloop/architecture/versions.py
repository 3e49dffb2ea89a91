"""Versions that architectures state."""

from __future__ import annotations

from solver_mapper.io.yaml.fields import Fields
from solver_mapper.io.yaml.warnings import Notes


def version_of(fields: Fields, notes: Notes, form: str, known: tuple[str, ...]) -> str | None:
    """The version that an architecture of some `form` states, None if it states none. One that this
    form does not have in Timeloop gets a warning: an architecture is read by its form.
    """
    version = fields.text("version")
    if version is not None and version not in known:
        what = (
            f"an architecture with '{form}' has version {' or '.join(known)}, not '{version}'; it"
            " is read all the same"
        )
        notes.add("unknown-version", fields.location_of("version"), what)
    return version
