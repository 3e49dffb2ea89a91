"""What a user says about templates: values of variables, and where included files may lie."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from solver_mapper.errors import InputError, SourceLocation


@dataclass(frozen=True)
class TemplateOptions:
    """`variables` of templates by name; `include_dirs`, further folders below which templates may
    include files; `used_elsewhere`, the variables that other input uses: none of them is reported
    as unused.
    """

    variables: Mapping[str, Any] = field(default_factory=dict)
    include_dirs: tuple[str, ...] = ()
    used_elsewhere: frozenset[str] = frozenset()


def variable_of(definition: str) -> tuple[str, Any]:
    """The name and value of `NAME=VALUE`.

    A value in JSON notation (a number, `true`, a list) has the type that it has there, `True` and
    `False` are booleans, and everything else is text.
    Raises: InputError for text of another form.
    """
    name, equals, text = definition.partition("=")
    if not equals or not name.strip().isidentifier():
        raise InputError(
            f"'{definition}' does not set a variable", SourceLocation("-D"), "write -D NAME=VALUE"
        )
    if text in ("True", "False"):
        return name.strip(), text == "True"
    try:
        return name.strip(), json.loads(text)
    except (ValueError, RecursionError):
        return name.strip(), text
