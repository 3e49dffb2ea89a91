"""What an operation is as layers: instances of the bundled shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.onnx.shapes import Operation, OperationGraph


@dataclass(frozen=True)
class ImportedLayer:
    """`count` runs of an instance of a bundled shape."""

    name: str
    shape: str
    instance: Mapping[str, int]
    count: int = 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run: the product of the bounds."""
        return prod(size for name, size in self.instance.items() if len(name) == 1)

    def to_dict(self) -> dict[str, Any]:
        """The layer as an entry of a network's file."""
        return {
            "name": self.name,
            "count": self.count,
            "shape": self.shape,
            "instance": dict(self.instance),
        }


Importer = Callable[[Operation, OperationGraph], Iterator[ImportedLayer]]


def layers_of(operation: Operation, graph: OperationGraph) -> tuple[ImportedLayer, ...] | None:
    """The layers of an operation; None if it is none that this module knows.

    Raises: InputError for unknown sizes; Unsupported for a known operation in a form that no
    bundled shape has.
    """
    importer = _IMPORTERS.get(operation.kind)
    return None if importer is None else tuple(importer(operation, graph))


class Unsupported(Exception):
    """An operation that multiplies and accumulates, in a form that no bundled shape has. `macs` is
    None where unknown.
    """

    def __init__(self, reason: str, macs: int | None):
        super().__init__(reason)
        self.reason, self.macs = reason, macs


def _convolution(weights_at: int) -> Importer:
    """Convolutions whose weights are the input number `weights_at`."""

    def layers(operation: Operation, graph: OperationGraph) -> Iterator[ImportedLayer]:
        weights = graph.shape(operation.inputs[weights_at], operation)
        outputs = graph.shape(operation.outputs[0], operation)
        if len(weights) not in (3, 4):
            macs = prod(outputs) * prod(weights[1:])
            raise Unsupported(f"{len(weights) - 2}-dimensional convolution", macs)
        groups = operation.whole("group", 1)
        window = _Window.of(operation, weights[2:], outputs[2:])
        yield from _grouped(
            operation.name, window, outputs[0], weights[1], weights[0] // groups, groups
        )

    return layers


@dataclass(frozen=True)
class _Window:
    """Outputs P x Q and a window R x S; P and R run along a row. One-dimensional convolutions have
    Q = S = 1.
    """

    p: int
    q: int
    r: int
    s: int
    coefficients: Mapping[str, int]

    @classmethod
    def of(cls, operation: Operation, kernel: tuple[int, ...], outputs: tuple[int, ...]) -> _Window:
        """Rows are the last dimension of a tensor, columns the one before."""
        (height, width), (q, p) = _padded(kernel), _padded(outputs)
        strides = _padded(operation.several("strides", (1,) * len(kernel)))
        dilations = _padded(operation.several("dilations", (1,) * len(kernel)))
        return cls(p, q, width, height, _coefficients(strides, dilations))

    def bounds(self) -> dict[str, int]:
        return {"P": self.p, "Q": self.q, "R": self.r, "S": self.s, **self.coefficients}


def _padded(sizes: tuple[int, ...]) -> tuple[int, int]:
    """(height, width), of one dimension as of a height of 1."""
    return (1, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


def _coefficients(strides: tuple[int, int], dilations: tuple[int, int]) -> dict[str, int]:
    named = {
        "Hstride": strides[0],
        "Wstride": strides[1],
        "Hdilation": dilations[0],
        "Wdilation": dilations[1],
    }
    return {name: value for name, value in named.items() if value != 1}


def _grouped(
    name: str, window: _Window, batch: int, channels: int, kernels: int, groups: int
) -> Iterator[ImportedLayer]:
    """`groups` independent convolutions of `channels` input and `kernels` output channels each."""
    if groups > 1 and channels == kernels == 1:
        yield ImportedLayer(name, "depthwise", {"N": batch, "G": groups, **window.bounds()})
    else:
        yield ImportedLayer(
            name, "cnn-layer", {"N": batch, "K": kernels, "C": channels, **window.bounds()}, groups
        )


def _transposed(operation: Operation, graph: OperationGraph) -> Iterator[ImportedLayer]:
    """A transposed convolution as one ordinary convolution for each phase of its strides.

    Output o takes tap r of input i where o + pad = i * stride + r * dilation: outputs that agree
    modulo the stride use the same taps.
    """
    weights = graph.shape(operation.inputs[1], operation)
    outputs = graph.shape(operation.outputs[0], operation)
    inputs = graph.shape(operation.inputs[0], operation)
    if len(weights) not in (3, 4):
        raise Unsupported(
            f"{len(weights) - 2}-dimensional transposed convolution",
            prod(inputs) * prod(weights[1:]),
        )
    groups, ones = operation.whole("group", 1), (1,) * len(weights[2:])
    strides, dilations = operation.several("strides", ones), operation.several("dilations", ones)
    pads = operation.several("pads", (0,) * 2 * len(ones))[: len(ones)]
    axes = [
        _phases(*each)
        for each in zip(outputs[2:], weights[2:], strides, dilations, pads, strict=True)
    ]
    rows, columns = (axes[-1], axes[0] if len(axes) == 2 else [_Phase(1, 1, 1)])
    channels, kernels = weights[0] // groups, weights[1]
    for number, (across, down) in enumerate((across, down) for down in columns for across in rows):
        window = _Window(
            across.outputs,
            down.outputs,
            across.taps,
            down.taps,
            _coefficients((1, 1), (down.spacing, across.spacing)),
        )
        yield from _grouped(
            f"{operation.name}/phase{number}", window, outputs[0], channels, kernels, groups
        )


@dataclass(frozen=True)
class _Phase:
    """Outputs of one remainder modulo the stride; `taps` of the kernel, whose inputs lie `spacing`
    apart.
    """

    outputs: int
    taps: int
    spacing: int


def _phases(outputs: int, kernel: int, stride: int, dilation: int, pad: int) -> list[_Phase]:
    """The phases of one axis that have taps and outputs."""
    spacing = dilation // math.gcd(stride, dilation)
    found = []
    for remainder in range(stride):
        taps = sum((tap * dilation) % stride == remainder for tap in range(kernel))
        own = sum((each + pad) % stride == remainder for each in range(outputs))
        if taps and own:
            found.append(_Phase(own, taps, spacing if taps > 1 else 1))
    return found


def _gemm(operation: Operation, graph: OperationGraph) -> Iterator[ImportedLayer]:
    a, b = (graph.shape(operation.inputs[each], operation) for each in (0, 1))
    m, k = a[::-1] if operation.whole("transA", 0) else a
    n = b[0] if operation.whole("transB", 0) else b[1]
    yield ImportedLayer(operation.name, "gemm", {"M": m, "N": n, "K": k})


def _product(right_at: int) -> Importer:
    """Products as numpy's matmul; the right factor is the input number `right_at`."""

    def layers(operation: Operation, graph: OperationGraph) -> Iterator[ImportedLayer]:
        a = graph.shape(operation.inputs[0], operation)
        b = graph.shape(operation.inputs[right_at], operation)
        yield matmul(operation.name, a, b)

    return layers


def matmul(name: str, a: tuple[int, ...], b: tuple[int, ...], count: int = 1) -> ImportedLayer:
    """The product of arrays of these shapes, batches broadcast.

    A batch that only the left factor has is more rows of it, one that only the right factor has
    more columns: the tensors have the sizes that they have.
    """
    a, b = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    depth = max(len(a), len(b)) - 2
    left, right = ((1,) * (depth + 2 - len(each)) + each[:-2] for each in (a, b))
    pairs = list(zip(left, right, strict=True))
    both = prod(x for x, y in pairs if x > 1 and y > 1)
    rows, columns = prod(x for x, y in pairs if y == 1), prod(y for x, y in pairs if x == 1)
    bounds = {"M": a[-2] * rows, "N": b[-1] * columns, "K": a[-1]}
    return (
        ImportedLayer(name, "batched-gemm", {"H": both, **bounds}, count)
        if both > 1
        else ImportedLayer(name, "gemm", bounds, count)
    )


def _attention(operation: Operation, graph: OperationGraph) -> Iterator[ImportedLayer]:
    """Attention (opset 23) as its two products. Heads that share keys and values are more rows of
    one product.
    """
    q, k, v = (graph.shape(operation.inputs[each], operation) for each in (0, 1, 2))
    heads, shared = operation.whole("q_num_heads", 0), operation.whole("kv_num_heads", 0)
    if len(q) == 3:
        if heads < 1 or shared < 1:
            raise InputError(
                f"'{operation.name}' does not say how many heads it has", SourceLocation(graph.file)
            )
        q, k, v = _split(q, heads), _split(k, shared), _split(v, shared)
    past = (
        graph.shape(operation.inputs[4], operation)[2]
        if len(operation.inputs) > 4 and operation.inputs[4]
        else 0
    )
    batch, rows, keys = q[0] * k[1], q[2] * (q[1] // k[1]), k[2] + past
    yield matmul(f"{operation.name}/scores", (batch, rows, q[3]), (batch, q[3], keys))
    yield matmul(f"{operation.name}/context", (batch, rows, keys), (batch, keys, v[3]))


def _split(shape: tuple[int, ...], heads: int) -> tuple[int, ...]:
    """[batch, tokens, heads * size] as [batch, heads, tokens, size]."""
    return shape[0], heads, shape[1], shape[2] // heads


_IMPORTERS: dict[str, Importer] = {
    "Conv": _convolution(1),
    "ConvInteger": _convolution(1),
    "QLinearConv": _convolution(3),
    "ConvTranspose": _transposed,
    "Gemm": _gemm,
    "MatMul": _product(1),
    "MatMulInteger": _product(1),
    "QLinearMatMul": _product(3),
    "Attention": _attention,
}
