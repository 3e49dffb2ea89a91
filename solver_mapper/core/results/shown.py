"""What every result offers to be looked at."""

from __future__ import annotations

from pathlib import Path

from solver_mapper.core.arguments import require_path
from solver_mapper.core.files import file_errors, write_whole
from solver_mapper.core.results.rendering import html_of, report_of, text_of


class Shown:
    """Text for terminals, HTML for notebooks, and a report of one file."""

    __slots__ = ()

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one HTML file that needs nothing else; written to `path` if one is given.

        Charts can be examined where Plotly is installed (extra `report`), else they are pictures.
        Raises: InputError if the file cannot be written.
        """
        text = report_of(self)
        if path is not None:
            require_path("path", path)
            with file_errors(Path(path)):
                write_whole(Path(path), text.encode("utf-8", "backslashreplace"))
        return text
