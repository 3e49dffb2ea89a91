"""How results become text, YAML and pictures, dispatched on the type of the result.

Renderers register themselves (`@text_of.register`), so results and cost models import nothing of
`report` and `io`. The package's `__init__` imports all renderers.
"""

from __future__ import annotations

from functools import singledispatch


@singledispatch
def text_of(result: object) -> str:
    """The result as its user reads it in a terminal.

    Raises: TypeError for a type without a renderer.
    """
    raise TypeError(f"no text renderer is registered for {type(result).__name__}")


@singledispatch
def yaml_of(mapping: object) -> str:
    """The mapping as a file in its own notation.

    Raises: TypeError for a type without a writer; InputError for what the notation cannot express.
    """
    raise TypeError(f"no YAML writer is registered for {type(mapping).__name__}")


@singledispatch
def svg_of(result: object) -> str:
    """The result as an SVG document.

    Raises: TypeError for a type without a renderer.
    """
    raise TypeError(f"no SVG renderer is registered for {type(result).__name__}")


@singledispatch
def html_of(result: object, *_: object) -> str:
    """The result as a self-contained HTML document; what else is shown follows it.

    Raises: TypeError for a type without a renderer.
    """
    raise TypeError(f"no HTML renderer is registered for {type(result).__name__}")
