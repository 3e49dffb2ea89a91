"""The command `solver-mapper`: parse arguments, call the public face, print."""

from solver_mapper.cli import commands
from solver_mapper.cli.app import app, main

__all__ = ["app", "commands", "main"]
