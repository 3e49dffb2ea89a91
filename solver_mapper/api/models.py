"""What comes from other programs: ONNX models, energies of components."""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from solver_mapper.api.arguments import checked
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError
from solver_mapper.io.accelforge.component_models import FilledInput, filled
from solver_mapper.io.accelforge.specification import is_tree_input
from solver_mapper.io.estimators import EstimatedTable, estimated
from solver_mapper.io.onnx.fused import FusedModel
from solver_mapper.io.onnx.fused import import_fused as read_fused
from solver_mapper.io.onnx.model import ImportedModel
from solver_mapper.io.onnx.model import import_model as read_onnx
from solver_mapper.io.templates import TemplateOptions
from solver_mapper.io.yaml.documents import Reader


@checked
def import_model(path: str | Path, dims: Table[str, int] | None = None) -> ImportedModel:
    """The layers of an ONNX model, and what is left out; needs the package `onnx`.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name: `{"batch": 1}`.
    Raises: InputError for a file that is no ONNX model, and for sizes that are not known.
    """
    return read_onnx(path, dims)


@checked
def import_fused(path: str | Path, dims: Table[str, int] | None = None) -> FusedModel:
    """An ONNX model as a LoopTree workload of Einsums that share tensors, for `fuse` and `solve`;
    needs the package `onnx`.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name: `{"batch": 1}`.
    Raises: InputError for a file that is no ONNX model, for sizes that are not known, and for a
    model without Einsums.
    """
    return read_fused(path, dims)


@checked
def energies(spec: Spec | TreeSpec, tech_node: float = 45) -> EstimatedTable:
    """Energies of the components of an architecture, as an energy reference table that stands
    beside it; needs the package `hwcomponents`.

    Args: `tech_node` in nm.
    Raises: InputError, naming every figure that is missing, if hwcomponents is not installed or
    does not know a component.
    """
    if isinstance(spec, TreeSpec):
        raise InputError(
            "energies of LoopTree files stand in their actions; there is no table to write",
            spec.location,
            "fill_components(FILE, ...) writes the figures of component models into the files",
        )
    return estimated(spec.need_architecture(), tech_node)


@checked
def fill_components(
    *files: str | Path,
    variables: Table[str, Any] | None = None,
    functions: Sequence[str | Path] = (),
    main_memory: bool = False,
) -> FilledInput:
    """LoopTree files with all figures that AccelForge's component models supply: energies,
    throughputs, leakage, and what expressions with lists, words and functions give; needs the
    package `accelforge`.

    Args: `variables` of Jinja2 templates; `functions`, Python files, which are run, with functions
    that expressions call; `main_memory`, whether to put a free memory of any size outermost, for a
    compute-in-memory macro that has none.
    Raises: InputError, naming every figure that is missing, if AccelForge is not installed, and
    with its reason if it cannot tell a figure.
    """
    reader = Reader(files, TemplateOptions(variables or {}))
    top = reader.all(*files)
    if not is_tree_input(top):
        raise InputError(
            "these are not LoopTree files",
            top.location,
            "'energies' writes a table for an architecture in Timeloop's notation",
        )
    return filled(
        top, [Path(file) for file in files], variables or {}, [*map(Path, functions)], main_memory
    )
