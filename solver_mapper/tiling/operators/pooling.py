"""Max and average pooling, NHWC, without padding: the operator and how SMAUG tiles it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from solver_mapper.errors import InputError
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.cutting import cut_tensor
from solver_mapper.tiling.dims import merged, tiles_along
from solver_mapper.tiling.operator import Array, InvocationWork, Operator, operator
from solver_mapper.tiling.operators import reading
from solver_mapper.tiling.operators.convolution import produced
from solver_mapper.tiling.search.candidates import Candidates, TileForm, fixed
from solver_mapper.tiling.strategy import Dims, Strategy, Tiles, own_form
from solver_mapper.tiling.tensors import Rank, Tensor, TiledTensor, Window


@dataclass(frozen=True)
class PoolingStrategy(Strategy):
    """`smv_pooling_tiling.cpp`."""

    def dims(self, operator: Pooling, backend: Backend) -> dict[str, str]:
        """Outputs are cut along rows and columns if the inputs are; the reference then keeps at
        most one further dimension.
        """
        found = super().dims(operator, backend)
        outputs = found["outputs"]
        if tiles_along(found["inputs"], "H"):
            outputs = _joined(outputs, "H", "CW", backend)
        if tiles_along(found["inputs"], "W"):
            outputs = _joined(outputs, "W", "CH", backend)
        return {**found, "outputs": outputs}

    def candidates(self, operator: Pooling, backend: Backend, dims: Dims) -> Candidates:
        """Inputs vary freely, outputs follow."""
        axes, inputs = own_form(operator, backend, "inputs", dims["inputs"])
        batch, rows, cols, channels = (
            inputs.extents[0],
            *(fixed(size) for size in operator.output.shape[1:]),
        )
        if tiles_along(dims["outputs"], "H"):
            rows = produced(inputs.extents[1], operator.row_window)
        if tiles_along(dims["outputs"], "W"):
            cols = produced(inputs.extents[2], operator.col_window)
        if tiles_along(dims["inputs"], "C") and tiles_along(dims["outputs"], "C"):
            channels = inputs.extents[3]
        outputs = TileForm(
            "outputs", (batch, rows, cols, channels), self.padding(operator, backend, "outputs")
        )
        return Candidates(operator.name, axes, (inputs, outputs), backend)

    def tiled(
        self, operator: Pooling, backend: Backend, dims: Dims, basic: Tiles
    ) -> dict[str, TiledTensor]:
        """Inputs cut so that each tile has the whole windows of its output tile; outputs cut into
        tiles of the basic shape.
        """
        windows = {"H": operator.row_window, "W": operator.col_window}
        return {
            "inputs": cut_tensor(operator.inputs, basic["inputs"], backend.alignment, windows),
            "outputs": cut_tensor(operator.output, basic["outputs"], backend.alignment),
        }


def _joined(dims: str, letter: str, others: str, backend: Backend) -> str:
    """`letter` with the first of `others` that is cut already; with both if the backend knows cuts
    along so many dimensions.
    """
    kept = [other for other in others if tiles_along(dims, other)]
    full = merged(dims, letter)
    if full in backend.preference or not kept:
        return full if kept else merged("DimN", letter)
    return merged("Dim" + "N" + kept[0], letter)


@operator("pooling")
@dataclass(frozen=True)
class Pooling(Operator):
    """Inputs [N, H, W, C], outputs [N, P, Q, C]. `pool` and `stride` are (rows, columns); averages
    of integers round down.
    """

    input_shape: tuple[int, ...]
    pool: tuple[int, int]
    stride: tuple[int, int]
    average: bool
    output_size: tuple[int, int]

    strategy: ClassVar[Strategy | None] = PoolingStrategy()

    @classmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        """`input_shape` [N, H, W, C], `pool`, `stride` (as `pool` if absent) and `mode`. Raises:
        InputError.
        """
        shape = reading.input_shape(fields, (4,))
        pool = reading.pair(fields, "pool")
        stride = reading.pair(fields, "stride", pool)
        padding, mode = fields.text("padding"), fields.text("mode") or "max"
        if padding not in (None, "valid"):
            raise InputError(
                f"pooling with '{padding}' padding is not supported",
                fields.location_of("padding"),
                "write valid",
            )
        if mode not in ("max", "average"):
            raise InputError(
                f"'mode' must be max or average, not '{mode}'", fields.location_of("mode")
            )
        sizes = [
            reading.positions(size, field, step, False, fields.location_of("input_shape"))
            for size, field, step in zip(shape[1:3], pool, stride, strict=True)
        ]
        return cls(name, shape, pool, stride, mode == "average", (sizes[0], sizes[1]))

    @property
    def row_window(self) -> Window:
        """The input rows that each output row reads."""
        return reading.window(self.input_shape[1], self.pool[0], self.stride[0], False)

    @property
    def col_window(self) -> Window:
        """The input columns that each output column reads."""
        return reading.window(self.input_shape[2], self.pool[1], self.stride[1], False)

    @property
    def loops(self) -> Mapping[str, int]:
        """Images N, output rows H and columns W, channels C."""
        return {
            "N": self.input_shape[0],
            "H": self.output_size[0],
            "W": self.output_size[1],
            "C": self.input_shape[3],
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
    def operands(self) -> tuple[Tensor, ...]:
        """The inputs."""
        return (self.inputs,)

    @property
    def output(self) -> Tensor:
        """[N, P, Q, C], each rank along its own loop."""
        return Tensor(
            "outputs", tuple(Rank(letter, size, letter) for letter, size in self.loops.items())
        )

    @property
    def words(self) -> Mapping[str, int]:
        """Window size and stride along rows and columns."""
        return {
            "kernel_rows": self.pool[0],
            "kernel_cols": self.pool[1],
            "stride_rows": self.stride[0],
            "stride_cols": self.stride[1],
        }

    def compute(self, block: InvocationWork) -> Array:
        """The maximum or average of each window; averages of integers round down."""
        windows = np.lib.stride_tricks.sliding_window_view(
            block.operands["inputs"], self.pool, axis=(1, 2)
        )
        strided = windows[:, :: self.stride[0], :: self.stride[1]]
        if not self.average:
            result: Array = strided.max(axis=(-2, -1))
        else:
            total, count = strided.sum(axis=(-2, -1)), self.pool[0] * self.pool[1]
            result = total // count if np.issubdtype(total.dtype, np.integer) else total / count
        return result
