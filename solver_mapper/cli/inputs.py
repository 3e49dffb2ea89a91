"""From the words on the command line to a specification."""

from __future__ import annotations

import sys

from solver_mapper import api, library
from solver_mapper.errors import InputError
from solver_mapper.looptree.spec import TreeSpec
from solver_mapper.spec.source import Source
from solver_mapper.spec.spec import Spec


def read(files: list[str]) -> Spec:
    """Load FILE... in level-by-level notation: paths, names of shipped models, and `-` for standard input.

    Warnings go to standard error. Raises: InputError for LoopTree files, which this command does not take.
    """
    spec = read_any(files)
    if isinstance(spec, TreeSpec):
        raise InputError("this command does not take LoopTree files", spec.place, "give 'architecture:' and 'problem:'")
    return spec


def read_any(files: list[str]) -> Spec | TreeSpec:
    """The same for files of either notation."""
    sources: list[Source] = [sys.stdin if word == "-" else word for word in files]
    spec = api.load(*library.resolve(*sources))
    for warning in spec.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return spec
