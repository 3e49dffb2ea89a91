"""The command `solver-mapper`: parse arguments, call the public face, print. One file a command."""

from solver_mapper.cli import (
    bound,
    check_certificate,
    compare,
    convert,
    evaluate,
    explain,
    fuse,
    import_model,
    init,
    models,
    pareto,
    schema,
    solve,
    space,
    sweep,
    tile,
    validate,
)
from solver_mapper.cli.app import app, main

__all__ = [
    "app",
    "bound",
    "check_certificate",
    "compare",
    "convert",
    "evaluate",
    "explain",
    "fuse",
    "import_model",
    "init",
    "main",
    "models",
    "pareto",
    "schema",
    "solve",
    "space",
    "sweep",
    "tile",
    "validate",
]
