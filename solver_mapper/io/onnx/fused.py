"""An ONNX graph as a LoopTree workload: Einsums that share tensors, for fusion.

Products, convolutions, attention, softmax, normalizations and elementwise operations become
Einsums. What only renames values (reshaping, transposing) changes how a tensor is indexed; what
works on each value by itself is part of the operation before it. Any other operation ends a chain:
what it writes is read as an input of the workload.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import yaml

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.onnx.axes import AxisSplit, TensorAxis, View, aligned, leaves, like, new_view
from solver_mapper.io.onnx.shapes import Operation, OperationGraph, read_graph

BITS = 16
"""Bits of a value, unless the user says otherwise in the file."""
UNARY = frozenset(
    [
        "Abs",
        "BatchNormalization",
        "Cast",
        "Celu",
        "Clip",
        "DequantizeLinear",
        "Dropout",
        "Elu",
        "Erf",
        "Exp",
        "Gelu",
        "HardSigmoid",
        "HardSwish",
        "Identity",
        "LeakyRelu",
        "Log",
        "Mish",
        "Neg",
        "PRelu",
        "QuantizeLinear",
        "Reciprocal",
        "Relu",
        "Selu",
        "Sigmoid",
        "Silu",
        "Softplus",
        "Sqrt",
        "Swish",
        "Tanh",
    ]
)
BINARY = frozenset(["Add", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Sum", "Where"])
RESHAPING = frozenset(["Flatten", "Reshape", "Squeeze", "Unsqueeze"])
NORMALIZING = frozenset(
    [
        "LayerNormalization",
        "LogSoftmax",
        "RMSNormalization",
        "SimplifiedLayerNormalization",
        "Softmax",
    ]
)
_RESERVED = frozenset(
    ["All", "Inputs", "Intermediates", "Nothing", "Outputs", "Persistent", "Shared", "Tensors"]
)


class Ends(Exception):
    """The operation does not become an Einsum here; the message says why."""


@dataclass(frozen=True)
class Value:
    """A value of the graph: the stored tensor, and a view for each of its own axes."""

    tensor: str
    views: tuple[View, ...]


@dataclass(frozen=True)
class TensorUse:
    """A tensor as an Einsum uses it: which `role` each view plays. A view in `windows` is indexed
    by a sum over roles with coefficients instead.
    """

    value: Value
    roles: tuple[str, ...]
    windows: Mapping[int, tuple[tuple[int, str], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class EinsumStep:
    """An Einsum: what it writes and what it reads."""

    output: TensorUse
    inputs: tuple[TensorUse, ...]
    bounds: Mapping[str, View]
    """A view for each role, whose parts are its rank variables."""


@dataclass(frozen=True)
class FusedModel:
    """A workload of the Einsums of a model. `notes` say which operations end chains, and which are
    part of others.
    """

    title: str
    file: str
    rank_sizes: Mapping[str, int]
    einsums: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The content of the file."""
        return {
            "workload": {
                "rank_sizes": dict(self.rank_sizes),
                "bits_per_value": {"All": BITS},
                "einsums": list(self.einsums),
            }
        }

    def to_yaml(self) -> str:
        """The workload as a file that `solve`, `fuse` and `bound` read."""
        head = f"# The Einsums of {Path(self.file).name}.\n"
        notes = "".join(f"# {note}\n" for note in self.notes)
        text = yaml.safe_dump(self.to_dict(), sort_keys=False, width=10**6, allow_unicode=True)
        return f"{head}{notes}{text}"

    def __str__(self) -> str:
        return self.to_yaml().rstrip("\n")


def import_fused(path: str | Path, dims: Mapping[str, int] | None = None) -> FusedModel:
    """Read an ONNX model as a workload of Einsums.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name.
    Raises: InputError for a file that is no ONNX model, for sizes that are not known, and for a
    model without Einsums.
    """
    graph = read_graph(path, dims)
    return _Builder(graph).model()


class _Builder:
    def __init__(self, graph: OperationGraph) -> None:
        self.graph = graph
        self.values: dict[str, Value] = {}
        self.stored: dict[str, Value] = {}
        self.steps: list[EinsumStep] = []
        self.absorbed: Counter[str] = Counter()
        self.ended: Counter[tuple[str, str]] = Counter()

    def model(self) -> FusedModel:
        for operation in self.graph.operations:
            known = any(name in self.values for name in operation.inputs)
            if operation.outputs[0] in self.graph.constants or not (
                known or operation.kind in _EINSUMS
            ):
                continue
            try:
                self._take(operation)
            except Ends as error:
                self.ended[operation.kind, str(error)] += 1
            except (IndexError, ValueError):
                raise InputError(
                    f"'{operation.name}' ({operation.kind}) has tensors of unexpected shapes",
                    SourceLocation(self.graph.file),
                ) from None
        if not self.steps:
            raise InputError(
                "the model has no operations that become Einsums", SourceLocation(self.graph.file)
            )
        return _written(self)

    def _take(self, operation: Operation) -> None:
        if operation.kind in _EINSUMS:
            _EINSUMS[operation.kind](self, operation)
        elif operation.kind in RESHAPING:
            self._reshaped(operation)
        elif operation.kind == "Transpose":
            value = self.value(operation.inputs[0], operation)
            order = operation.several("perm", tuple(range(len(value.views)))[::-1])
            views = tuple(value.views[at] for at in order)
            self.values[operation.outputs[0]] = Value(value.tensor, views)
        elif operation.kind in UNARY:
            self._absorb(operation, operation.inputs[0])
        elif operation.kind in BINARY:
            self._elementwise(operation)
        elif operation.kind in NORMALIZING:
            self._normalized(operation)
        else:
            raise Ends("is no operation that becomes an Einsum")

    def value(self, name: str, reader: Operation) -> Value:
        """What is known of a tensor; one that no Einsum writes is an input of the workload."""
        if name not in self.values:
            shape = self.graph.shape(name, reader)
            self.values[name] = self.stored_value(name, tuple(map(new_view, shape)))
        return self.values[name]

    def stored_value(self, name: str, views: tuple[View, ...]) -> Value:
        """A new tensor, called after the value `name`."""
        tensor = _word(name, self.stored)
        self.stored[tensor] = Value(tensor, views)
        return self.stored[tensor]

    def add(
        self,
        name: str,
        roles: Sequence[str],
        inputs: Sequence[TensorUse],
        bounds: Mapping[str, View],
    ) -> None:
        """An Einsum that writes the value `name`, whose axes play `roles` ("": one of size 1)."""
        views = tuple(like(bounds[role]) if role else new_view(1) for role in roles)
        self.values[name] = self.stored_value(name, views)
        output = TensorUse(self.values[name], tuple(roles))
        self.steps.append(EinsumStep(output, tuple(inputs), bounds))

    def _absorb(self, operation: Operation, name: str) -> None:
        self.values[operation.outputs[0]] = self.value(name, operation)
        self.absorbed[operation.kind] += 1

    def _reshaped(self, operation: Operation) -> None:
        value = self.value(operation.inputs[0], operation)
        shape = self.graph.shape(operation.outputs[0], operation)
        whole = tuple(axis for view in value.views for axis in view)
        target = tuple(TensorAxis(AxisSplit(size)) for size in shape)
        if not aligned(whole, target):
            raise Ends("reshapes axes that have no common parts")
        rest, views = leaves(whole), []
        for size in shape:
            taken: list[TensorAxis] = []
            while prod(axis.extent.size for axis in taken) < size:
                taken.append(rest.pop(0))
            views.append(tuple(taken) or new_view(1))
        self.values[operation.outputs[0]] = Value(value.tensor, tuple(views))

    def _elementwise(self, operation: Operation) -> None:
        shape = self.graph.shape(operation.outputs[0], operation)
        changing = [name for name in operation.inputs if name and name not in self.graph.constants]
        moving = [name for name in changing if self.graph.shape(name, operation) == shape]
        others = [name for name in changing if name not in moving]
        if not moving:
            raise Ends("broadcasts all of its inputs")
        if len(moving) == 1 and not others:
            self._absorb(operation, moving[0])
            return
        if others:
            raise Ends("combines tensors of different shapes")
        roles = tuple(f"n{at}" if size > 1 else "" for at, size in enumerate(shape))
        values = [self.value(name, operation) for name in dict.fromkeys(moving)]
        bounds = self._together(roles, values)
        self.add(operation.outputs[0], roles, [TensorUse(each, roles) for each in values], bounds)

    def _normalized(self, operation: Operation) -> None:
        """A figure of each row, then every value with it."""
        value = self.value(operation.inputs[0], operation)
        first = operation.whole("axis", -1) % len(value.views)
        single = operation.kind in ("Softmax", "LogSoftmax")
        reduced = range(first, first + 1 if single else len(value.views))
        roles = tuple(
            f"m{at}" if size > 1 else ""
            for at, size in enumerate(self.graph.shape(operation.inputs[0], operation))
        )
        kept = tuple("" if at in reduced else role for at, role in enumerate(roles))
        bounds = self._together(roles, [value])
        rows = f"{operation.outputs[0]}_rows"
        self.add(rows, kept, [TensorUse(value, roles)], bounds)
        both = [TensorUse(value, roles), TensorUse(self.values[rows], kept)]
        self.add(operation.outputs[0], roles, both, bounds)

    def _together(self, roles: Sequence[str], values: Sequence[Value]) -> dict[str, View]:
        """The views of `values` walked together, by role. Raises: Ends."""
        bounds: dict[str, View] = {}
        for value in values:
            self.join(bounds, value.views, roles)
        return bounds

    def join(self, bounds: dict[str, View], views: Sequence[View], roles: Sequence[str]) -> None:
        """Walk `views` together with those that play the same roles. Raises: Ends."""
        for role, view in zip(roles, views, strict=True):
            if role and not aligned(bounds.setdefault(role, view), view):
                raise Ends("walks over axes that have no common parts")


def _matmul(build: _Builder, operation: Operation) -> None:
    a, b = (build.value(name, operation) for name in operation.inputs[:2])
    _product(build, operation.outputs[0], a, b)


def _gemm(build: _Builder, operation: Operation) -> None:
    a, b = (build.value(name, operation) for name in operation.inputs[:2])
    if operation.whole("transA", 0):
        a = Value(a.tensor, a.views[::-1])
    if operation.whole("transB", 0):
        b = Value(b.tensor, b.views[::-1])
    _product(build, operation.outputs[0], a, b)


def _product(build: _Builder, name: str, a: Value, b: Value) -> None:
    """Matrix products as numpy's matmul, batches broadcast."""
    if len(a.views) < 2 or len(b.views) < 2:
        raise Ends("multiplies by a vector")
    depth = max(len(a.views), len(b.views)) - 2
    roles = []
    for value, last in ((a, ("m", "k")), (b, ("k", "n"))):
        own = len(value.views) - 2
        batch = [
            f"b{depth - own + at}" if leaves(view) else ""
            for at, view in enumerate(value.views[:-2])
        ]
        matrix = [
            role if leaves(view) else "" for role, view in zip(last, value.views[-2:], strict=True)
        ]
        roles.append((*batch, *matrix))
    bounds: dict[str, View] = {}
    for value, played in zip((a, b), roles, strict=True):
        build.join(bounds, value.views, played)
    written = [*(f"b{at}" for at in range(depth)), "m", "n"]
    out = [role if role in bounds else "" for role in written]
    build.add(name, out, [TensorUse(a, roles[0]), TensorUse(b, roles[1])], bounds)


def _convolution(build: _Builder, operation: Operation) -> None:
    """Convolutions without groups, and depthwise ones. Where borders are padded, the padded input
    is a tensor of its own.
    """
    graph, (data, kernel) = build.graph, operation.inputs[:2]
    weights, outputs = graph.shape(kernel, operation), graph.shape(operation.outputs[0], operation)
    groups = operation.whole("group", 1)
    depthwise = groups > 1 and weights[:2] == (groups, 1)
    if groups > 1 and not depthwise:
        raise Ends("has groups")
    axes = len(weights) - 2
    strides, dilations = (operation.several(key, (1,) * axes) for key in ("strides", "dilations"))
    needed = tuple(
        (out - 1) * stride + (taps - 1) * dilation + 1
        for out, taps, stride, dilation in zip(
            outputs[2:], weights[2:], strides, dilations, strict=True
        )
    )
    value = build.value(data, operation)
    if any(
        need > len_ for need, len_ in zip(needed, graph.shape(data, operation)[2:], strict=True)
    ):
        shape = (*graph.shape(data, operation)[:2], *needed)
        value = build.stored_value(f"{data}_padded", tuple(map(new_view, shape)))
        build.ended["padding", "makes a tensor of its own"] += 1
    channel = "n" if depthwise else "c"
    out = ["b", "n", *(f"p{at}" for at in range(axes))]
    bounds: dict[str, View] = {}
    build.join(bounds, value.views[:2], ["b", channel])
    filters = build.value(kernel, operation)
    taps = [f"r{at}" for at in range(axes)]
    played = ["n", "" if depthwise else "c", *taps]
    build.join(bounds, filters.views, played)
    bounds |= {f"p{at}": new_view(size) for at, size in enumerate(outputs[2:])}
    windows = {2 + at: ((strides[at], f"p{at}"), (dilations[at], f"r{at}")) for at in range(axes)}
    if any(len(leaves(view)) > 1 for view in (*value.views[2:], *(bounds[t] for t in taps))):
        raise Ends("slides over an axis that is split")
    if any(
        leaves(view) and not any(leaves(bounds[part]) for _, part in windows[2 + at])
        for at, view in enumerate(value.views[2:])
    ):
        raise Ends("reads a single position of an axis")
    inputs = [
        TensorUse(value, ("b", channel, *[""] * axes), windows),
        TensorUse(filters, tuple(played)),
    ]
    build.add(operation.outputs[0], out, inputs, bounds)


_EINSUMS: dict[str, Callable[[_Builder, Operation], None]] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _convolution,
}


def _written(build: _Builder) -> FusedModel:
    """The workload's text: a name for each rank variable, a rank for each part of a tensor."""
    names = _Names()
    ranks: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    einsums = []
    for step in build.steps:
        variables = names.variables(step)

        def access(use: TensorUse, variables: Mapping[str, list[str]] = variables) -> str:
            words, own = _indices(use, variables, build.stored[use.value.tensor])
            known = ranks.setdefault(use.value.tensor, own)
            return f"{use.value.tensor}[{', '.join(map(_index, known, words))}]"

        inputs = " * ".join(access(use) for use in step.inputs)
        einsums.append(f"{access(step.output)} = {inputs}")
        for role, view in step.bounds.items():
            for name, leaf in zip(variables[role], leaves(view), strict=True):
                sizes[name.upper()] = leaf.extent.size
    absorbed = ", ".join(f"{count} x {kind}" for kind, count in sorted(build.absorbed.items()))
    notes = [f"part of the operation before: {absorbed}"] if absorbed else []
    notes += [
        f"ends a chain: {count} x {kind}, which {reason}"
        for (kind, reason), count in sorted(build.ended.items())
        if count
    ]
    return FusedModel(build.graph.name, build.graph.file, sizes, tuple(einsums), tuple(notes))


@dataclass
class _Names:
    """Names of rank variables: parts that are walked together have one name, unless one Einsum
    walks over it twice.
    """

    known: dict[AxisSplit, str] = field(default_factory=dict)

    def variables(self, step: EinsumStep) -> dict[str, list[str]]:
        """The variables of each role, outermost first."""
        taken: set[str] = set()
        found: dict[str, list[str]] = {}
        for role, view in step.bounds.items():
            found[role] = []
            for leaf in leaves(view):
                name = self._of(leaf.extent.root, role[0])
                number = 1
                while (own := name if number == 1 else f"{name}_{number}") in taken:
                    number += 1
                taken.add(own)
                found[role].append(own)
        return found

    def _of(self, extent: AxisSplit, letter: str) -> str:
        if extent not in self.known:
            count = sum(name.rstrip("0123456789") == letter for name in self.known.values())
            self.known[extent] = f"{letter}{count or ''}"
        return self.known[extent]


def _indices(
    use: TensorUse, variables: Mapping[str, list[str]], stored: Value
) -> tuple[list[str], list[str]]:
    """For each part of the stored tensor, how `use` indexes it, and a name for its rank."""
    words: dict[TensorAxis, str] = {}
    ranks: dict[TensorAxis, str] = {}
    for at, (role, view) in enumerate(zip(use.roles, use.value.views, strict=True)):
        own = leaves(view)
        if at in use.windows and own:
            terms = [
                name if coefficient == 1 else f"{coefficient}*{name}"
                for coefficient, part in use.windows[at]
                for name in variables[part]
            ]
            words[own[0]], ranks[own[0]] = " + ".join(terms), f"X_{stored.tensor}_{at}".upper()
        elif role:
            for leaf, name in zip(own, variables[role], strict=True):
                words[leaf], ranks[leaf] = name, name.upper()
    order = [leaf for view in stored.views for leaf in leaves(view)]
    return [words[leaf] for leaf in order], [ranks[leaf] for leaf in order]


def _index(rank: str, word: str) -> str:
    return word if word.upper() == rank else f"{rank}: {word}"


def _word(name: str, taken: Mapping[str, Value]) -> str:
    """A name as Einsums have it, made of that of a value."""
    plain = re.sub(r"\W+", "_", name).strip("_") or "tensor"
    plain = plain if plain[0].isalpha() and plain not in _RESERVED else f"T_{plain}"
    number, word = 1, plain
    while word in taken or word == "Total":
        number += 1
        word = f"{plain}_{number}"
    return word
