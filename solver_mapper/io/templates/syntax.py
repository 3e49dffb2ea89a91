"""Which files are templates, and how a rendered one refers to files that it includes."""

from __future__ import annotations

SUFFIXES = (".jinja", ".jinja2", ".j2")
LOADED_TAG = "!include_loaded"
"""The YAML tag of the text that `include` returns: a name under which the loaded file is known, and
keys in it.
"""
_MARKS = ("{{", "{%")


def is_template(name: str, text: str) -> bool:
    """Whether the file `name` is a Jinja2 template: by its suffix, or by a mark of Jinja2 in a line
    that is not a YAML comment.
    """
    if name.lower().endswith(SUFFIXES):
        return True
    if not any(mark in text for mark in _MARKS):
        return False
    lines = (line for line in text.split("\n") if not line.lstrip().startswith("#"))
    return any(mark in line for line in lines for mark in _MARKS)
