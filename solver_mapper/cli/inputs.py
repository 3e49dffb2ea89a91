"""From the words on the command line to a specification."""

from __future__ import annotations

import sys

from solver_mapper import api
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.source import Source


def read(files: list[str]) -> Spec:
    """Load FILE... in level-by-level notation: paths, names of shipped models, and `-` for standard
    input.

    Warnings go to standard error. Raises: InputError for LoopTree files, which this command does
    not take.
    """
    spec = read_any(files)
    if isinstance(spec, TreeSpec):
        raise InputError(
            "this command does not take LoopTree files",
            spec.place,
            "give 'architecture:' and 'problem:'",
        )
    return spec


def read_any(files: list[str]) -> Spec | TreeSpec:
    """The same for files of either notation."""
    spec = api.load(*(standard_input() if word == "-" else word for word in files))
    for warning in spec.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return spec


def standard_input() -> Source:
    """The bytes of standard input: what is no text is then reported like any other binary file.

    Raises: InputError if it is closed.
    """
    if sys.stdin is None:
        raise InputError(
            "standard input is closed",
            SourceLocation("-"),
            "'-' stands for it; give a file instead",
        )
    return sys.stdin.buffer
