"""Reading a specification."""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from solver_mapper.api.arguments import checked
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError
from solver_mapper.io import bundled
from solver_mapper.io.accelforge.specification import is_tree_input, read_tree_spec
from solver_mapper.io.templates import TemplateOptions
from solver_mapper.io.timeloop.problem_file import refuse_list
from solver_mapper.io.timeloop.specification import read_spec
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.source import Source
from solver_mapper.io.yaml.warnings import WarningFilter, warning_filter
from solver_mapper.tiling.read import is_operator


@checked
def load(
    *sources: Source,
    variables: Table[str, Any] | None = None,
    include_dirs: Sequence[str] = (),
    ignore_sparse: bool = False,
    ignore_warnings: Sequence[str] = (),
    strict: bool = False,
) -> Spec | TreeSpec:
    """Read and check files (paths, open files, dicts of their contents, or names of bundled
    models), merged by top-level key.

    Names are those of the command line: `load("eyeriss", "resnet50/conv1")`.

    Args: `variables`, values for Jinja2 templates among the files; `include_dirs`, folders below
    which templates may include files, beside the folders of the files themselves; `ignore_sparse`,
    to read a sparse design as a dense one; `ignore_warnings`, codes of warnings that are left out;
    `strict`, to make every other warning an error.
    Returns: a `TreeSpec` for LoopTree input (`workload:`, `mapping: {nodes: ...}`, or an `arch:` of
    tagged nodes), else a `Spec`.
    Raises: InputError, with file, line and column, for anything that cannot be used.
    """
    reader = Reader(
        sources, TemplateOptions(variables or {}, tuple(include_dirs)), ignore_sparse=ignore_sparse
    )
    return read_input(reader, *sources, warnings=warning_filter(ignore_warnings, strict=strict))


def read_input(
    reader: Reader, *sources: Source, warnings: WarningFilter | None = None
) -> Spec | TreeSpec:
    """The specification in `sources`, read by `reader`, with the warnings that `warnings` keeps.
    Raises: InputError.
    """
    top = reader.all(*bundled.resolve(*sources, reader=reader))
    if is_operator(top):
        location = top.key_locations.get("operator", top.location)
        raise InputError(
            "this is an operator for tiling, not an architecture and a problem",
            location,
            "use 'solver-mapper tile'",
        )
    refuse_list(top.entries.get("problem"))
    spec: Spec | TreeSpec = (
        read_tree_spec(top) if is_tree_input(top) else read_spec(top, reader.notes)
    )
    found = tuple(dict.fromkeys((*reader.notes.lines, *spec.warnings)))
    return replace(spec, warnings=(warnings or WarningFilter()).kept(found))
