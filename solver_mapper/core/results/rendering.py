"""How results become text, YAML and pictures, dispatched on the type of the result.

Renderers register themselves (`@text_of.register`), so results and cost models import nothing of
`report` and `io`. The package's `__init__` imports all renderers.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any


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
    """The result as HTML for a notebook.

    Raises: TypeError for a type without a renderer.
    """
    raise TypeError(f"no HTML renderer is registered for {type(result).__name__}")


@singledispatch
def page_of(result: object) -> Any:
    """The result as a page: its sections, see `report.html.page`.

    Raises: TypeError for a type without a renderer.
    """
    raise TypeError(f"no page renderer is registered for {type(result).__name__}")


def report_of(result: object) -> str:
    """The page of a result as an HTML document of its own. Raises: see `page_of`."""
    document: str = document_of(page_of(result))
    return document


@singledispatch
def document_of(page: object) -> str:
    """A page as an HTML document of its own.

    Raises: TypeError for anything that is no page.
    """
    raise TypeError(f"{type(page).__name__} is no page")


@singledispatch
def chart_of(result: object, *_: str) -> Any:
    """The result as a chart; what it shows may follow, see the `plot` of each result.

    Raises: TypeError for a type without a renderer; InputError for a chart that does not exist.
    """
    raise TypeError(f"no chart is registered for {type(result).__name__}")


@singledispatch
def figure_of(chart: object) -> Any:
    """A chart as a figure of Matplotlib.

    Raises: TypeError for anything else; InputError where Matplotlib is not installed.
    """
    raise TypeError(f"no figure is registered for {type(chart).__name__}")


@singledispatch
def image_of(chart: object, image_format: str) -> bytes:
    """A chart as a file of an image format: "png" or "pdf".

    Raises: see `figure_of`.
    """
    raise TypeError(f"no image is registered for {type(chart).__name__}")
