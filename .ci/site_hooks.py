"""Adds the pages, pictures and notebooks that lie outside docs/ to the documentation site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
ADDED = {"examples/README.md": "gallery.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}
ADDED["CHANGELOG.md"] = "CHANGELOG.md"
FOLDERS = {"examples/pictures": "pictures", "examples/notebooks": "notebooks"}
_PARTS = re.compile(r"(<p>|[.;] )(Args|Returns|Yields|Raises): ")
_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s]+)(\))")


def _places() -> dict[str, str]:
    """Where each file of the repository stands on the site."""
    found = dict(ADDED)
    for folder, there in FOLDERS.items():
        for path in sorted((ROOT / folder).iterdir()):
            if path.suffix in (".svg", ".ipynb"):
                found[f"{folder}/{path.name}"] = f"{there}/{path.name}"
    docs = ((path, path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))
    return found | {f"docs/{inner.as_posix()}": inner.as_posix() for _, inner in docs}


@event_priority(100)
def on_files(files: Files, config: Any) -> Files:
    """Add the files, before other plugins look at them."""
    for source, there in ADDED.items():
        files.append(File.generated(config, there, abs_src_path=str(ROOT / source)))
    for there in _places().values():
        if there.startswith(tuple(FOLDERS.values())):
            place = (config.site_dir, config.use_directory_urls)
            files.append(File(there, str(ROOT / "examples"), *place))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links lead to where their targets stand on the site."""
    places = _places()
    here = page.file.src_uri
    source = next((name for name, there in places.items() if there == here), f"docs/{here}")

    def led(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path not in places:
            return match[0]
        link = posixpath.relpath(places[path], posixpath.dirname(here) or ".")
        return f"{match[1]}{link}{'#' + anchor if anchor else ''}{match[3]}"

    return _LINK.sub(led, markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Parts of docstrings stand by themselves, and arguments below each other."""
    if page.file.src_uri != "reference/python.md":
        return html
    parts = _PARTS.sub(
        lambda found: (
            f"{'' if found[1] == '<p>' else found[1].rstrip() + '</p>'}<p><b>{found[2]}:</b> "
        ),
        _outside_code(html),
    )
    return re.sub(r"<p><b>Args:</b> (.*?)</p>", _listed, parts, flags=re.DOTALL)


def _outside_code(html: str) -> str:
    """Ends of lines within paragraphs become blanks; code stays as it is."""
    return re.sub(r"<p>.*?</p>", lambda found: found[0].replace("\n", " "), html, flags=re.DOTALL)


def _listed(found: re.Match[str]) -> str:
    items = re.split(r"[;.] (?=<code>)", found[1])
    return "<p><b>Args:</b></p><ul>" + "".join(f"<li>{each}</li>" for each in items) + "</ul>"
