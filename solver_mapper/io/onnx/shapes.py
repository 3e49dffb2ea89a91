"""The sizes of all tensors of an ONNX model. The only module that imports `onnx`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solver_mapper.errors import InputError, SourceLocation

Attribute = int | float | str | tuple[int, ...] | None


@dataclass(frozen=True)
class Operation:
    """A node of the graph. `inputs` and `outputs` are names, "" where an optional one is absent."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    nested: bool = False
    """Whether it has subgraphs: branches and loops."""

    def whole(self, key: str, default: int) -> int:
        """A whole-number attribute."""
        value = self.attributes.get(key, default)
        return value if isinstance(value, int) else default

    def several(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """An attribute of several whole numbers."""
        value = self.attributes.get(key)
        return value if isinstance(value, tuple) else default


@dataclass(frozen=True)
class OperationGraph:
    """The operations of a model in order. A size in `shapes` is a number, or a word where the model
    leaves it open.
    """

    name: str
    file: str
    operations: tuple[Operation, ...]
    shapes: Mapping[str, tuple[int | str, ...]]
    constants: frozenset[str] = frozenset()
    """Tensors that do not depend on the model's inputs."""

    def shape(self, tensor: str, reader: Operation) -> tuple[int, ...]:
        """The sizes of a tensor.

        Raises: InputError, naming what to give, where they are not known.
        """
        sizes, location = self.shapes.get(tensor), SourceLocation(self.file)
        if sizes is None:
            raise InputError(
                f"the shape of '{tensor}', which '{reader.name}' needs, cannot be inferred",
                location,
            )
        open_ = [size for size in sizes if not isinstance(size, int)]
        if open_:
            known = [size for size in open_ if size]
            hint = (
                f"import it with --dim {known[0]}=..."
                if known
                else "export the model with fixed sizes"
            )
            raise InputError(
                f"the shape of '{tensor}' is {_text(sizes)}: not all sizes are known",
                location,
                hint,
            )
        return tuple(size for size in sizes if isinstance(size, int))


def read_graph(path: str | Path, dims: Mapping[str, int] | None = None) -> OperationGraph:
    """Read a model and infer its shapes; weights are not loaded.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name.
    Raises: InputError for a file that is no ONNX model, and for names in `dims` that the model does
    not have.
    """
    try:
        import onnx
        from google.protobuf.message import DecodeError
        from onnx import inliner, shape_inference
    except ImportError:
        raise InputError(
            "the package 'onnx' is not installed",
            SourceLocation(str(path)),
            "install solver-mapper with the extra 'onnx'",
        ) from None
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise InputError("not a regular file", SourceLocation(str(path)))
        model = onnx.load(str(path), load_external_data=False)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", SourceLocation(str(path))) from None
    except (DecodeError, ValueError, TypeError):
        raise InputError("not an ONNX model", SourceLocation(str(path))) from None
    if not model.graph.node:
        raise InputError("not an ONNX model with a graph", SourceLocation(str(path)))
    _set_dims(model, dims or {}, str(path))
    try:
        if model.functions:
            model = inliner.inline_local_functions(model)
        model = shape_inference.infer_shapes(model, data_prop=True)
    except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
        raise InputError(
            f"its shapes cannot be inferred: {str(error).strip()[:200]}", SourceLocation(str(path))
        ) from None
    operations = tuple(_operations(model))
    return OperationGraph(
        model.graph.name or Path(path).stem,
        str(path),
        operations,
        _shapes(model),
        _constants(model, operations),
    )


def _constants(model: Any, operations: tuple[Operation, ...]) -> frozenset[str]:
    """Weights, and what operations make of weights alone."""
    found = {each.name for each in model.graph.initializer}
    for operation in operations:
        if not operation.nested and found.issuperset(filter(None, operation.inputs)):
            found |= set(operation.outputs)
    return frozenset(found)


def _set_dims(model: Any, dims: Mapping[str, int], file: str) -> None:
    """Put numbers in the place of open sizes."""
    known: set[str] = set()
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                known.add(dim.dim_param)
                if dim.dim_param in dims:
                    dim.dim_value = dims[dim.dim_param]
    for name in dims:
        if name not in known:
            listed = (
                f"open sizes are {', '.join(sorted(known))}" if known else "all its sizes are fixed"
            )
            raise InputError(f"the model has no open size '{name}'", SourceLocation(file), listed)


def _operations(model: Any) -> list[Operation]:
    found = []
    for number, node in enumerate(model.graph.node):
        attributes = {each.name: _attribute(each) for each in node.attribute}
        nested = any(each.HasField("g") or each.graphs for each in node.attribute)
        name = node.name or (node.output[0] if node.output else f"{node.op_type}_{number}")
        kind = (
            f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        )
        found.append(
            Operation(name, kind, tuple(node.input), tuple(node.output), attributes, nested)
        )
    return found


def _attribute(each: Any) -> Attribute:
    if each.ints:
        return tuple(each.ints)
    if each.HasField("i"):
        return int(each.i)
    if each.HasField("f"):
        return float(each.f)
    return bytes(each.s).decode("utf-8", "replace") if each.HasField("s") else None


def _shapes(model: Any) -> dict[str, tuple[int | str, ...]]:
    found: dict[str, tuple[int | str, ...]] = {}
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
            dims = value.type.tensor_type.shape.dim
            found[value.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in dims
            )
    found |= {each.name: tuple(each.dims) for each in model.graph.initializer}
    return found


def _text(sizes: tuple[int | str, ...]) -> str:
    return "[" + ", ".join(str(size) if size != "" else "?" for size in sizes) + "]"
