"""Options about reading, which every command with FILE... has: one place adds them, and `current`
tells what was said.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer

from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.core.arguments import refuse_given
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.templates import TemplateOptions, variable_of
from solver_mapper.io.yaml.warnings import WarningFilter, warning_filter

P = ParamSpec("P")
Define = Annotated[
    list[str] | None,
    typer.Option(
        "-D",
        "--define",
        metavar="NAME=VALUE",
        help="Set a variable of the Jinja2 templates in FILE... (repeatable).",
    ),
]
IncludeDirs = Annotated[
    list[str] | None,
    typer.Option(
        "--include-dir",
        metavar="DIR",
        help="Directory from which templates may include files (repeatable).",
    ),
]
IgnoreSparse = Annotated[
    bool, typer.Option("--ignore-sparse", help="Read sparse designs as dense ones.")
]
Warnings = Annotated[
    list[str] | None,
    typer.Option(
        "-W",
        metavar="CODE",
        help="Turn a warning off; -W error:CODE makes it an error (repeatable).",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Make every warning an error.")]


@dataclass(frozen=True)
class InputOptions:
    """What was said on the command line about reading."""

    templates: TemplateOptions = field(default_factory=TemplateOptions)
    ignore_sparse: bool = False
    warnings: WarningFilter = field(default_factory=WarningFilter)


_current: ContextVar[InputOptions] = ContextVar("input_options")


def current() -> InputOptions:
    """The options of the command that is running."""
    return _current.get(InputOptions())


def refuse_for_operators() -> None:
    """Raises: InputError for options about warnings, which files for `tile` do not have."""
    refuse_given(
        {
            "--ignore-sparse": current().ignore_sparse,
            "-W or --strict": current().warnings != WarningFilter(),
        },
        "is for architectures and problems: operators have no such warnings",
        COMMAND_LINE,
    )


def input_options(
    define: Define = None,
    include_dir: IncludeDirs = None,
    ignore_sparse: IgnoreSparse = False,
    warning: Warnings = None,
    strict: Strict = False,
) -> InputOptions:
    """The options as one record.

    Raises: InputError for a definition that is none, a variable that is set twice, and an unknown
    code of a warning.
    """
    variables: dict[str, Any] = {}
    for definition in define or ():
        name, value = variable_of(definition)
        if name in variables:
            raise InputError(
                f"the variable '{name}' is set twice", SourceLocation("-D"), "keep one of them"
            )
        variables[name] = value
    for folder in include_dir or ():
        if not Path(folder).is_dir():
            raise InputError(f"--include-dir: there is no folder '{folder}'", COMMAND_LINE)
    said = [word.removeprefix("ignore:") for word in warning or ()]
    errors = [word.removeprefix("error:") for word in said if word.startswith("error:")]
    off = [word for word in said if not word.startswith("error:")]
    templates = TemplateOptions(variables, tuple(include_dir or ()))
    return InputOptions(templates, ignore_sparse, warning_filter(off, errors, strict=strict))


def with_input_options(work: Callable[P, int]) -> Callable[..., int]:
    """`work` with the parameters of `input_options` added to its own, if it takes files."""
    own = inspect.signature(work, eval_str=True)
    if not {"files", "sweep_file"} & set(own.parameters):
        return work
    added = inspect.signature(input_options, eval_str=True).parameters

    @functools.wraps(work)
    def wrapped(*args: Any, **kwargs: Any) -> int:
        token = _current.set(
            input_options(**{name: kwargs.pop(name) for name in added if name in kwargs})
        )
        try:
            return work(*args, **kwargs)
        finally:
            _current.reset(token)

    extra = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in added.values()]
    vars(wrapped)["__signature__"] = own.replace(parameters=[*own.parameters.values(), *extra])
    return wrapped
