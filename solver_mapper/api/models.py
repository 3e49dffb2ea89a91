"""What comes from other programs: ONNX models, energies of components."""

from __future__ import annotations

from collections.abc import Mapping as Table
from pathlib import Path

from solver_mapper.core.arguments import require_number
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError
from solver_mapper.io.estimators import EstimatedTable, estimated
from solver_mapper.io.onnx.fused import FusedModel
from solver_mapper.io.onnx.fused import import_fused as read_fused
from solver_mapper.io.onnx.model import ImportedModel
from solver_mapper.io.onnx.model import import_model as read_onnx


def import_model(path: str | Path, dims: Table[str, int] | None = None) -> ImportedModel:
    """The layers of an ONNX model, and what is left out; needs the package `onnx`.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name: `{"batch": 1}`.
    Raises: InputError for a file that is no ONNX model, and for sizes that are not known.
    """
    return read_onnx(path, dims)


def import_fused(path: str | Path, dims: Table[str, int] | None = None) -> FusedModel:
    """An ONNX model as a LoopTree workload of Einsums that share tensors, for `fuse` and `solve`;
    needs the package `onnx`.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name: `{"batch": 1}`.
    Raises: InputError for a file that is no ONNX model, for sizes that are not known, and for a
    model without Einsums.
    """
    return read_fused(path, dims)


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
        )
    require_number("tech_node", tech_node, 1)
    return estimated(spec.need_architecture(), tech_node)
