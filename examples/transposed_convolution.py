"""Adding an operator: transposed convolution (also called deconvolution), and an optimizer that
departs from SMAUG's steps.

    outputs[n, o, p, k] = sum of inputs[n, h, w, c] * weights[k, r, s, c] over all h, r with h *
    stride + r == o + crop, all w, s with w * stride + s == p + crop, and all c

`import transposed_convolution` (or `solver-mapper tile --with transposed_convolution.py OP.yaml`)
makes it known. OP.yaml:

    operator: transposed_convolution
    input_shape: [1, 14, 14, 64]
    kernel: {num: 32, rows: 4, cols: 4}
    stride: 2
    crop: 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from solver_mapper import InputError
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.tiling import (
    Backend,
    Candidates,
    Extent,
    ExtentGrid,
    InvocationWork,
    NestLoop,
    Operator,
    Options,
    Rank,
    Span,
    Strategy,
    Tensor,
    TiledTensor,
    TileForm,
    Tiling,
    TilingNest,
    cut,
    cut_by_loops,
    fixed,
    objective,
    operator,
    tiles_along,
    tiling_of,
)
from solver_mapper.tiling.operators import reading


@dataclass(frozen=True)
class Spread:
    """Which inputs a span of outputs needs: the relation that makes tiles of one follow from tiles
    of the other.
    """

    field: int
    stride: int
    crop: int
    limit: int

    def span(self, iterations: Span) -> Span:
        first = -((self.field - 1 - self.crop - iterations.start) // self.stride)
        last = (iterations.stop - 1 + self.crop) // self.stride
        first, last = max(first, 0), min(last, self.limit - 1)
        return Span(first, last - first + 1)


@dataclass(frozen=True)
class TransposedStrategy(Strategy):
    """Rows, input channels and kernels vary, whichever of the tensors make it necessary."""

    def candidates(
        self, operator: TransposedConvolution, backend: Backend, dims: Mapping[str, str]
    ) -> Candidates:
        """Step 2: output rows in whole strides, and how many input rows these need at most."""
        batch, rows, cols, kernels = operator.output.shape
        _, in_rows, in_cols, channels = operator.inputs.shape
        axes = []
        rows_out, rows_in, some_kernels, some_channels = (
            fixed(size) for size in (rows, in_rows, kernels, channels)
        )
        if any(tiles_along(dims[tensor], "H") for tensor in ("inputs", "outputs")):
            axes.append(ExtentGrid("rows", operator.stride, operator.stride, rows))
            rows_out = Extent("rows")
            rows_in = Extent("rows", offset=operator.kernel[0] - 2, divisor=operator.stride, plus=1)
        if any(tiles_along(dims[tensor], "C") for tensor in ("inputs", "weights")):
            axes.append(ExtentGrid("channels", min(32, channels), 32, channels))
            some_channels = Extent("channels")
        if tiles_along(dims["weights"], "N") or tiles_along(dims["outputs"], "C"):
            axes.append(ExtentGrid("kernels", min(8, kernels), 8, kernels))
            some_kernels = Extent("kernels")
        forms = (
            TileForm("inputs", (fixed(batch), rows_in, fixed(in_cols), some_channels)),
            TileForm(
                "weights",
                (some_kernels, fixed(operator.kernel[0]), fixed(operator.kernel[1]), some_channels),
            ),
            TileForm("outputs", (fixed(batch), rows_out, fixed(cols), some_kernels)),
        )
        return Candidates(operator.name, tuple(axes), forms, backend)

    def tiled(
        self,
        operator: TransposedConvolution,
        backend: Backend,
        dims: Mapping[str, str],
        basic: Mapping[str, tuple[int, ...]],
    ) -> dict[str, TiledTensor]:
        """Step 3: cut the loops; each tensor's tiles are what the pieces touch. (Step 4, the nest,
        is as inherited.)
        """
        loops = operator.loops
        pieces = {
            "H": cut(loops["H"], basic["outputs"][1]),
            "K": cut(loops["K"], basic["weights"][0]),
            "C": cut(loops["C"], basic["weights"][3]),
        }
        return {
            tensor.name: cut_by_loops(tensor, pieces, backend.alignment)
            for tensor in operator.tensors
        }


@operator("transposed_convolution")
@dataclass(frozen=True)
class TransposedConvolution(Operator):
    """Inputs [N, H, W, C], weights [K, R, S, C], outputs [N, O, P, K]; `crop` outputs are dropped
    on every side.
    """

    input_shape: tuple[int, ...]
    num_kernels: int
    kernel: tuple[int, int]
    stride: int
    crop: int

    strategy: ClassVar[Strategy | None] = TransposedStrategy()

    @classmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        shape = reading.input_shape(fields, (4,))
        num, *kernel = reading.kernel(fields, shape[3])
        stride = fields.integer("stride", least=1) or 1
        crop = fields.integer("crop") or 0
        if stride > min(kernel):
            raise InputError(
                "a stride larger than the kernel leaves outputs empty", fields.location_of("stride")
            )
        if crop >= min(kernel):
            raise InputError("'crop' must be smaller than the kernel", fields.location_of("crop"))
        return cls(name, shape, num, (kernel[0], kernel[1]), stride, crop)

    @property
    def loops(self) -> Mapping[str, int]:
        batch, rows, cols, channels = self.input_shape
        size = [
            (extent - 1) * self.stride + field - 2 * self.crop
            for extent, field in zip((rows, cols), self.kernel, strict=True)
        ]
        return {"N": batch, "H": size[0], "W": size[1], "K": self.num_kernels, "C": channels}

    @property
    def inputs(self) -> Tensor:
        batch, rows, cols, channels = self.input_shape
        return Tensor(
            "inputs",
            (
                Rank("N", batch, "N"),
                Rank("H", rows, "H", Spread(self.kernel[0], self.stride, self.crop, rows)),
                Rank("W", cols, "W", Spread(self.kernel[1], self.stride, self.crop, cols)),
                Rank("C", channels, "C"),
            ),
        )

    @property
    def operands(self) -> tuple[Tensor, ...]:
        rows, cols = self.kernel
        weights = Tensor(
            "weights",
            (
                Rank("K", self.num_kernels, "K"),
                Rank("R", rows),
                Rank("S", cols),
                Rank("C", self.input_shape[3], "C"),
            ),
        )
        return self.inputs, weights

    @property
    def output(self) -> Tensor:
        return Tensor("outputs", tuple(Rank(loop, self.loops[loop], loop) for loop in "NHWK"))

    def least(self, backend: Backend, tensor: str) -> tuple[int, ...]:
        """Minimum shapes. A backend's file may list them instead, under `tiles:
        transposed_convolution:`.
        """
        shape = self.tensor(tensor).shape
        needed = (self.stride + self.kernel[0] - 2) // self.stride + 1
        wanted = {
            "inputs": (1, needed, shape[2], 32),
            "weights": (8, *self.kernel, 32),
            "outputs": (1, self.stride, shape[2], 8),
        }
        return tuple(min(pair) for pair in zip(wanted[tensor], shape, strict=True))

    def compute(self, block: InvocationWork) -> np.ndarray:
        """Every input is spread over the outputs of this block, one element of the kernel at a
        time.
        """
        values, weights = block.operands["inputs"], block.operands["weights"]
        rows, cols = (block.iterations[loop] for loop in "HW")
        corner = self.inputs.ranks[1].span(rows).start, self.inputs.ranks[2].span(cols).start
        result = np.zeros(
            (values.shape[0], rows.size, cols.size, weights.shape[0]),
            dtype=np.result_type(values, weights),
        )
        for r, s in np.ndindex(self.kernel):
            o = (corner[0] + np.arange(values.shape[1])) * self.stride + r - self.crop - rows.start
            p = (corner[1] + np.arange(values.shape[2])) * self.stride + s - self.crop - cols.start
            keep_o, keep_p = (o >= 0) & (o < rows.size), (p >= 0) & (p < cols.size)
            part = values[:, keep_o][:, :, keep_p] @ weights[:, r, s].T
            result[np.ix_(np.arange(values.shape[0]), o[keep_o], p[keep_p])] += part
        return result


@objective("row by row")
def row_by_row(operator: Operator, backend: Backend, options: Options) -> Tiling:
    """An optimizer of one's own: an output row of eight kernels at a time. It may do anything that
    ends in a nest.
    """
    loops = operator.loops
    pieces = {"H": cut(loops["H"], 1), "K": cut(loops["K"], 8)}
    tiled = {
        tensor.name: cut_by_loops(tensor, pieces, backend.alignment) for tensor in operator.tensors
    }
    nest = TilingNest(
        operator,
        tuple(NestLoop(name, pieces.get(name, (Span(0, size),))) for name, size in loops.items()),
        tiled,
    )
    return tiling_of(nest, backend, "row by row")


def main() -> None:
    """Tile one by all three, run each tile by tile, and compare with the whole."""
    import solver_mapper as sm

    description = {
        "operator": "transposed_convolution",
        "input_shape": [1, 14, 14, 64],
        "kernel": {"num": 32, "rows": 4, "cols": 4},
        "stride": 2,
        "crop": 1,
        "spad_bytes": 16384,
    }
    random = np.random.default_rng(0)
    inputs = random.integers(-9, 10, size=(1, 14, 14, 64))
    weights = random.integers(-9, 10, size=(32, 4, 4, 64))
    whole = sm.tile({**description, "spad_bytes": 1 << 20}).run(inputs=inputs, weights=weights)
    for goal in ("utilization", "traffic", "row by row"):
        tiling = sm.tile(description, objective=goal)
        same = np.array_equal(tiling.run(inputs=inputs, weights=weights), whole)
        print(
            f"{goal}: {tiling.traffic:,} elements moved, {tiling.nest.invocations} invocations,"
            f" equal to the whole: {same}"
        )


if __name__ == "__main__":
    main()
