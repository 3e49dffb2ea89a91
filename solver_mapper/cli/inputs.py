"""From the words on the command line to a specification."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BytesIO
from typing import IO

from solver_mapper import api
from solver_mapper.cli.app import say
from solver_mapper.cli.input_options import current
from solver_mapper.cli.request import reading_input
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.bounded import read_stream
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.source import Source
from solver_mapper.io.yaml.warnings import ENERGY_CODES

_WITHOUT_ENERGIES = ENERGY_CODES | {"unread-constraints"}
"""What is no matter of commands that need neither energies nor, perhaps, a problem."""


def read(files: list[str], energies: bool = True, used: frozenset[str] = frozenset()) -> Spec:
    """Load FILE... in level-by-level notation: paths, names of shipped models, and `-` for standard
    input.

    Warnings go to standard error; without `energies`, those about energies are left out, for a
    command that reports none. `used` are the variables of templates that other files use.

    Raises: InputError for LoopTree files, which this command does not take.
    """
    spec = read_any(files, energies, used)
    if isinstance(spec, TreeSpec):
        raise InputError(
            "this command does not take LoopTree files",
            spec.location,
            "give 'architecture:' and 'problem:'",
        )
    return spec


def read_any(
    files: list[str], energies: bool = True, used: frozenset[str] = frozenset()
) -> Spec | TreeSpec:
    """The same for files of either notation."""
    reader, sources = reader_of(files, used)
    warnings = current().warnings if energies else current().warnings.without(_WITHOUT_ENERGIES)
    with reading_input():
        spec = api.read_input(reader, *sources, warnings=warnings)
    for warning in spec.warnings:
        say(f"warning: {warning} [{warning.code}]")
    return spec


def reader_of(
    files: list[str], used: frozenset[str] = frozenset()
) -> tuple[Reader, tuple[Source, ...]]:
    """What reads FILE... under the options of the command line, and FILE... as sources."""
    sources = tuple(standard_input() if word == "-" else word for word in files)
    templates = replace(current().templates, used_elsewhere=used)
    reader = Reader(sources, templates, ignore_sparse=current().ignore_sparse)
    return reader, sources


class _Standard(BytesIO):
    name = "<stdin>"


def standard_input_in_memory() -> IO[bytes]:
    """What stands on standard input, read at once: a study reads its files later, when a signal
    does not end it.

    Raises: InputError.
    """
    with reading_input():
        content = read_stream(standard_input(), _Standard.name)
    return _Standard(content.encode() if isinstance(content, str) else content)


def standard_input() -> IO[bytes]:
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
