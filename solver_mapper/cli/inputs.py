"""From the words on the command line to a specification."""

from __future__ import annotations

import sys

from solver_mapper import api, library
from solver_mapper.spec.source import Source
from solver_mapper.spec.spec import Spec


def read(files: list[str]) -> Spec:
    """Load FILE...: paths, names of shipped models, and `-` for standard input; warnings go to standard error."""
    sources: list[Source] = [sys.stdin if word == "-" else word for word in files]
    spec = api.load(*library.resolve(*sources))
    for warning in spec.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return spec
