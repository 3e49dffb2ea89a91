"""Versions that architectures state."""

from __future__ import annotations

from solver_mapper.io.yaml.fields import Fields
from solver_mapper.io.yaml.warnings import Notes

VERSIONS = ("0.1", "0.2", "0.3", "0.4")


def version_of(fields: Fields, notes: Notes, *, read_as: str) -> str | None:
    """The version that an architecture states, None if it states none. One that Timeloop does not
    have gets a warning: it is read as what its form is.
    """
    version = fields.text("version")
    if version is not None and version not in VERSIONS:
        what = f"there is no version '{version}' of architectures; this one is read as {read_as}"
        notes.add("unknown-version", fields.location_of("version"), what)
    return version
