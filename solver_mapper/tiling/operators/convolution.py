"""Convolution, NHWC, with same or valid padding: the operator and how SMAUG tiles it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from solver_mapper.io.yaml.fields import Fields
from solver_mapper.tiling.backend import UNTILED, Backend
from solver_mapper.tiling.cutting import cut_tensor, follow
from solver_mapper.tiling.dims import merged, tiles_along
from solver_mapper.tiling.operator import Array, InvocationWork, Operator, TimeloopForm, operator
from solver_mapper.tiling.operators import reading
from solver_mapper.tiling.search.candidates import (
    Candidates,
    DoesNotFit,
    Extent,
    ExtentGrid,
    TileForm,
    fixed,
)
from solver_mapper.tiling.strategy import Dims, Strategy, Tiles, axis_name, own_axis, own_form
from solver_mapper.tiling.tensors import Rank, Span, Tensor, TiledTensor, Window


@dataclass(frozen=True)
class ConvolutionStrategy(Strategy):
    """`smv_convolution_tiling.cpp`, with cuts along W where a backend's rules allow them."""

    def dims(self, operator: Convolution, backend: Backend) -> dict[str, str]:
        """Outputs are cut along channels if the weights are cut at all, along rows (columns) if the
        inputs are.
        """
        found = super().dims(operator, backend)
        for letter in "HW":
            if tiles_along(found["weights"], letter):
                least = operator.least(backend, "weights")
                raise DoesNotFit(
                    operator.name,
                    {"weights": least},
                    backend.storage(least),
                    backend.scratchpad("weights"),
                    backend.capacity("weights"),
                    "a kernel cannot be cut along its rows and columns",
                )
        outputs = found["outputs"] if found["weights"] == UNTILED else "DimNC"
        cuts = [letter for letter in "HW" if tiles_along(found["inputs"], letter)]
        if cuts:
            outputs = "DimNC" if tiles_along(outputs, "C") else "DimN"
        for letter in cuts:
            outputs = merged(outputs, letter)
        return {**found, "outputs": outputs}

    def candidates(self, operator: Convolution, backend: Backend, dims: Dims) -> Candidates:
        """Inputs vary freely, then kernels, then output channels if nothing else decides them."""
        inputs_axes, inputs = own_form(operator, backend, "inputs", dims["inputs"])
        weights_axes, weights = self.weights(operator, backend, dims, inputs)
        outputs_axes, outputs = self.outputs(operator, backend, dims, inputs, weights)
        return Candidates(
            operator.name,
            (*inputs_axes, *weights_axes, *outputs_axes),
            (inputs, weights, outputs),
            backend,
        )

    def weights(
        self, operator: Convolution, backend: Backend, dims: Dims, inputs: TileForm
    ) -> tuple[tuple[ExtentGrid, ...], TileForm]:
        """Kernels vary by themselves; channels follow the inputs' unless only the weights are cut
        along them.
        """
        axes: list[ExtentGrid] = []
        kernels, rows, cols, channels = (fixed(size) for size in operator.weights.shape)
        if dims["weights"] != UNTILED:
            axes.append(own_axis(operator, backend, "weights", "N"))
            kernels = Extent(axis_name("weights", "N"))
        if tiles_along(dims["inputs"], "C"):
            channels = inputs.extents[3]
        elif tiles_along(dims["weights"], "C"):
            axes.append(own_axis(operator, backend, "weights", "C"))
            channels = Extent(axis_name("weights", "C"))
        return tuple(axes), TileForm(
            "weights", (kernels, rows, cols, channels), self.padding(operator, backend, "weights")
        )

    def outputs(
        self,
        operator: Convolution,
        backend: Backend,
        dims: Dims,
        inputs: TileForm,
        weights: TileForm,
    ) -> tuple[tuple[ExtentGrid, ...], TileForm]:
        """Rows and columns follow a cut of the inputs; channels follow the kernels', or vary if
        only the outputs are cut.
        """
        axes: tuple[ExtentGrid, ...] = ()
        batch, rows, cols, channels = (
            inputs.extents[0],
            *(fixed(size) for size in operator.output.shape[1:]),
        )
        follows = False
        if tiles_along(dims["outputs"], "H"):
            rows, follows = produced(inputs.extents[1], operator.row_window), True
        if tiles_along(dims["outputs"], "W"):
            cols, follows = produced(inputs.extents[2], operator.col_window), True
        if follows or dims["weights"] != UNTILED:
            channels = weights.extents[0]
        elif dims["outputs"] != UNTILED:
            axes = (own_axis(operator, backend, "outputs", "C"),)
            channels = Extent(axes[0].name)
        return axes, TileForm(
            "outputs", (batch, rows, cols, channels), self.padding(operator, backend, "outputs")
        )

    def tiled(
        self, operator: Convolution, backend: Backend, dims: Dims, basic: Tiles
    ) -> dict[str, TiledTensor]:
        """Input tiles overlap; output rows (columns) are what each input tile produces where the
        inputs are cut so.
        """
        windows = {"H": operator.row_window, "W": operator.col_window}
        inputs = cut_tensor(operator.inputs, basic["inputs"], backend.alignment, windows)
        weights = cut_tensor(operator.weights, basic["weights"], backend.alignment)
        outputs = cut_tensor(operator.output, basic["outputs"], backend.alignment)
        by_rows, by_cols = (tiles_along(dims["outputs"], letter) for letter in "HW")
        if by_rows or by_cols:
            whole_rows, whole_cols = ((Span(0, size),) for size in operator.output_size)
            rows = (
                follow(inputs.axes[1], operator.row_window, operator.after_rows)
                if by_rows
                else whole_rows
            )
            cols = (
                follow(
                    inputs.axes[2], operator.col_window, operator.after_cols, operator.after_cols
                )
                if by_cols
                else whole_cols
            )
            outputs = TiledTensor(
                operator.output, (inputs.axes[0], rows, cols, weights.axes[0]), backend.alignment
            )
        return {"inputs": inputs, "weights": weights, "outputs": outputs}


def produced(rows: Extent, window: Window) -> Extent:
    """Windows that fit into a tile with the padding before it: the most that any tile produces."""
    if rows.axis is None:
        return fixed(
            Extent("x", window.before - window.field, window.stride, 1).at({"x": rows.plus})
        )
    return replace(rows, offset=window.before - window.field, divisor=window.stride, plus=1)


@operator("convolution")
@dataclass(frozen=True)
class Convolution(Operator):
    """Inputs [N, H, W, C], weights [K, R, S, C], outputs [N, P, Q, K]. `stride` and `kernel` are
    (rows, columns).

    SMAUG itself runs one image at a time; for more, outputs have as many as the inputs.
    """

    input_shape: tuple[int, ...]
    num_kernels: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    same: bool
    output_size: tuple[int, int]

    strategy: ClassVar[Strategy | None] = ConvolutionStrategy()

    @classmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        """`input_shape` [N, H, W, C], the number and size of kernels, `stride` and padding. Raises:
        InputError.
        """
        shape = reading.input_shape(fields, (4,))
        num, *kernel = reading.kernel(fields, shape[3])
        stride = reading.pair(fields, "stride")
        same = reading.same_padding(fields)
        sizes = [
            reading.positions(size, field, step, same, fields.location_of("input_shape"))
            for size, field, step in zip(shape[1:3], kernel, stride, strict=True)
        ]
        return cls(name, shape, num, (kernel[0], kernel[1]), stride, same, (sizes[0], sizes[1]))

    @property
    def row_window(self) -> Window:
        """The input rows that each output row reads."""
        return reading.window(self.input_shape[1], self.kernel[0], self.stride[0], self.same)

    @property
    def col_window(self) -> Window:
        """The input columns that each output column reads."""
        return reading.window(self.input_shape[2], self.kernel[1], self.stride[1], self.same)

    @property
    def after_rows(self) -> int:
        """Padding below the image."""
        return reading.after(self.kernel[0], self.same)

    @property
    def after_cols(self) -> int:
        """Padding to the right of the image."""
        return reading.after(self.kernel[1], self.same)

    @property
    def loops(self) -> Mapping[str, int]:
        """Images N, output rows H and columns W, kernels K, and input channels C, which are summed
        over.
        """
        batch, _, _, channels = self.input_shape
        return {
            "N": batch,
            "H": self.output_size[0],
            "W": self.output_size[1],
            "K": self.num_kernels,
            "C": channels,
        }

    @property
    def inputs(self) -> Tensor:
        """[N, H, W, C]; rows and columns follow the output's through windows."""
        batch, rows, cols, channels = self.input_shape
        return Tensor(
            "inputs",
            (
                Rank("N", batch, "N"),
                Rank("H", rows, "H", self.row_window),
                Rank("W", cols, "W", self.col_window),
                Rank("C", channels, "C"),
            ),
        )

    @property
    def weights(self) -> Tensor:
        """[K, R, S, C]: kernels are never cut along rows and columns."""
        return Tensor(
            "weights",
            (
                Rank("K", self.num_kernels, "K"),
                Rank("R", self.kernel[0]),
                Rank("S", self.kernel[1]),
                Rank("C", self.input_shape[3], "C"),
            ),
        )

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """Inputs and weights."""
        return self.inputs, self.weights

    @property
    def output(self) -> Tensor:
        """[N, P, Q, K]: one channel for each kernel."""
        rows, cols = self.output_size
        return Tensor(
            "outputs",
            (
                Rank("N", self.input_shape[0], "N"),
                Rank("H", rows, "H"),
                Rank("W", cols, "W"),
                Rank("C", self.num_kernels, "K"),
            ),
        )

    @property
    def words(self) -> Mapping[str, int]:
        """Kernel size and stride along rows and columns."""
        return {
            "kernel_rows": self.kernel[0],
            "kernel_cols": self.kernel[1],
            "stride_rows": self.stride[0],
            "stride_cols": self.stride[1],
        }

    @property
    def timeloop(self) -> TimeloopForm:
        """Timeloop's Q and S run down columns of the image, its P and R along rows."""
        loops = self.loops
        instance = {
            "R": self.kernel[1],
            "S": self.kernel[0],
            "P": loops["W"],
            "Q": loops["H"],
            "C": loops["C"],
            "K": loops["K"],
            "N": loops["N"],
            "Wstride": self.stride[1],
            "Hstride": self.stride[0],
        }
        return TimeloopForm(
            "cnn-layer",
            {"N": "N", "H": "Q", "W": "P", "K": "K", "C": "C"},
            {tensor.name: tensor.name.capitalize() for tensor in self.tensors},
            instance,
        )

    def compute(self, block: InvocationWork) -> Array:
        """The sums over the block's input channels and the whole window, zero padding included."""
        image, kernels = block.padded(self.inputs), block.operands["weights"]
        windows = np.lib.stride_tricks.sliding_window_view(image, self.kernel, axis=(1, 2))
        strided = windows[:, :: self.stride[0], :: self.stride[1]]
        result: Array = np.einsum("nhwcrs,krsc->nhwk", strided, kernels)
        return result
