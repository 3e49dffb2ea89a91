"""Pages as HTML, by templates that escape everything which is not marked as safe."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from solver_mapper.core.results.rendering import document_of, html_of, page_of, svg_of
from solver_mapper.report.charts.plotly import packed_library, plotly_of
from solver_mapper.report.html.page import Page
from solver_mapper.version import __version__


@cache
def _environment() -> Environment:
    loader = PackageLoader("solver_mapper", "report/html/templates")
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"svg": lambda chart: Markup(svg_of(chart)), "anchor": _anchor}
    made.filters["plotly"] = plotly_of
    made.globals["source"] = lambda name: Markup(loader.get_source(made, name)[0])
    return made


def _anchor(title: str) -> str:
    """The title as the name of a place within the page."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


@document_of.register
def document(page: Page) -> str:
    """The page as an HTML document that needs nothing else."""
    text = _environment().get_template("document.html")
    return text.render(page=page, plotly=packed_library(), version=__version__)


def fragment(result: object) -> str:
    """The brief sections of a result's page, for notebooks: no scripts, charts as pictures."""
    return brief(page_of(result))


def brief(page: Page) -> str:
    """The brief sections of a page."""
    sections = [section for section in page.sections if section.brief]
    return _environment().get_template("fragment.html").render(page=page, sections=sections)


def register_fragment(*types: type[Any]) -> None:
    """Let notebooks show results of these types by the brief sections of their pages."""
    for each in types:
        html_of.register(each, fragment)
