"""Every page of the project: commands print what it shows, programs run, links and citations lead
somewhere.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import typer

from solver_mapper.cli import app
from tests.documents import (
    PAGES,
    ROOT,
    anchors,
    blocks,
    clean,
    printed_by,
    printed_here,
    sessions,
    text_of,
)

SHOWN = [(page, *session) for page in PAGES for session in sessions(page)]
FIRSTS = {command.split()[1]: command for _, command, _ in reversed(SHOWN)}.values()
"""For each of the program's commands, the first one in the pages: it has a process of its own."""
NEED_INPUT = {
    "docs/reference/constraints.md": "tests/test_constraints_page.py",
    "docs/how-to/networks.md": "tests/study/test_pages.py",
    "docs/how-to/sweeps.md": "tests/study/test_pages.py",
    "docs/how-to/import.md": "tests/study/test_pages.py",
}
"""Pages whose programs need input that the page does not have, and the test that runs them."""
PROGRAMS = [page for page in PAGES if blocks(page, "python") and page not in NEED_INPUT]
CITING = sorted((ROOT / "solver_mapper").rglob("*.py"))


@pytest.mark.parametrize(
    ("page", "command", "printed"), SHOWN, ids=[f"{page}: {command}" for page, command, _ in SHOWN]
)
def test_a_command_prints_what_the_page_shows(
    page: str, command: str, printed: str, tmp_path: Path
) -> None:
    """Elapsed seconds apart, a reader sees exactly what the page shows."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    here = command.startswith("solver-mapper ") and command not in FIRSTS
    run = printed_here if here else printed_by
    assert run(command, tmp_path) == clean(printed)


@pytest.mark.parametrize("page", PROGRAMS)
def test_the_programs_of_a_page_run(page: str, tmp_path: Path) -> None:
    """The Python blocks run as they stand, beside the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for program in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            text=True,
            timeout=120,
            capture_output=True,
            check=False,
        )
        assert not done.returncode, done.stderr


def test_programs_that_need_input_have_a_test() -> None:
    for page, test in NEED_INPUT.items():
        assert blocks(page, "python"), page
        assert Path(page).name in text_of(test), page


@cache
def _usages() -> list[tuple[str, str]]:
    """Commands in the pages' shell blocks, indented lines and table cells, without their output."""
    found = []
    for page in PAGES:
        prose = re.sub(r"```console\n.*?```", "", text_of(page), flags=re.DOTALL)
        shell = "\n".join((*blocks(page, "sh"), *re.findall(r"^    \$? ?(.*)$", prose, re.M)))
        lines = re.findall(r"^(?:.*&& )?(?:\S*/)?solver-mapper (.*)$", shell, re.M)
        cells = re.findall(r"`solver-mapper (\w+ [^`]*)`", prose)
        found += [(page, line.strip()) for line in (*lines, *cells) if re.match(r"[a-z]+ \S", line)]
    return found


@pytest.mark.parametrize(("page", "usage"), _usages(), ids=lambda value: value[:60])
def test_a_command_without_output_has_options_that_exist(page: str, usage: str) -> None:
    """Commands that a page names without their output are ones that the program accepts."""
    name, *words = shlex.split(usage.split("`")[0], comments=True)
    group = typer.main.get_command(app)
    command = group.commands[name]  # type: ignore[attr-defined]
    command.make_context(name, words).close()


def test_links_and_anchors_lead_somewhere() -> None:
    for page in PAGES:
        here = ROOT / page
        for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text_of(page)):
            path, _, anchor = target.partition("#")
            there = here.parent / path if path else here
            assert there.exists(), f"{page}: {target}"
            assert not anchor or anchor in anchors(there), f"{page}: {target}"


def test_the_index_has_every_page() -> None:
    index = text_of("docs/README.md")
    for page in PAGES:
        if page.startswith("docs/") and page != "docs/README.md":
            assert f"]({page.removeprefix('docs/')})" in index, page


def test_files_named_in_pages_exist() -> None:
    """A path in backquotes that looks like a Python file is one of the project or the package."""
    for page in PAGES:
        for name in re.findall(r"`([\w/]+/[\w/]+\.py)`", text_of(page)):
            assert (ROOT / name).exists() or (ROOT / "solver_mapper" / name).exists(), (
                f"{page}: {name}"
            )


@pytest.mark.parametrize("path", CITING, ids=lambda path: str(path.relative_to(ROOT)))
def test_citations_in_code_are_pages_with_that_section(path: Path) -> None:
    """`docs/x.md "Section"` in a comment or docstring is a page that has the section, and `x.py` is
    a file of the package; nothing else is cited by number.
    """
    code = re.sub(r"\s+(?:# )?", " ", path.read_text(encoding="utf-8"))
    assert not re.search(r"\breference \d", code), "cite a page of docs/"
    for name, section in re.findall(r'(docs/[\w./-]+\.md)(?:`?,? "([^"]+)")?', code):
        assert (ROOT / name).exists(), name
        assert not section or f"# {section}\n" in text_of(name), f"{name}: {section}"
    for name in re.findall(r"`([\w/]+\.py)`", code):
        assert any(f"/{file.relative_to(ROOT)}".endswith(f"/{name}") for file in CITING), name
