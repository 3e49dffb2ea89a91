"""Batch normalisation after convolutions (four ranks) and inner products (two): the operator and
how SMAUG tiles it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from solver_mapper.io.yaml.fields import Fields
from solver_mapper.tiling.backend import UNTILED, Backend
from solver_mapper.tiling.dims import tiles_along
from solver_mapper.tiling.operator import Array, InvocationWork, Operator, operator
from solver_mapper.tiling.operators import reading
from solver_mapper.tiling.search.candidates import Candidates, DoesNotFit, TileForm, fixed
from solver_mapper.tiling.strategy import EVERY_TIME, Dims, Reloading, Strategy, own_axes, own_form
from solver_mapper.tiling.tensors import Rank, Tensor

PARAMETERS = 4
"""Rows of the weights: mean, 1 / sqrt(variance + epsilon), gamma, beta."""


@dataclass(frozen=True)
class BatchNormStrategy(Strategy):
    """`smv_batch_norm_tiling.cpp`."""

    def dims(self, operator: BatchNorm, backend: Backend) -> dict[str, str]:
        """Outputs are cut like inputs."""
        found = super().dims(operator, backend)
        found["outputs"] = found["inputs"]
        if operator.images and found["weights"] != UNTILED:
            whole = operator.weights.shape
            raise DoesNotFit(
                operator.name,
                {"weights": whole},
                backend.storage(whole),
                backend.scratchpad("weights"),
                backend.capacity("weights"),
                "parameters of images cannot be cut",
            )
        return found

    def candidates(self, operator: BatchNorm, backend: Backend, dims: Dims) -> Candidates:
        """Inputs vary freely, outputs are alike; parameters are whole, follow the inputs' channels,
        or vary freely.

        The reference stops enumerating at the first parameters that do not fit. Where they follow
        the inputs' channels that happens before the batch grows, so its first extent is the only
        one.
        """
        axes, inputs = own_form(operator, backend, "inputs", dims["inputs"])
        weights_axes, extents = own_axes(operator, backend, "weights", dims["weights"])
        weights_axes = tuple(axis for axis in weights_axes if axis.name.endswith(" C"))
        if dims["weights"] != UNTILED and tiles_along(dims["inputs"], "C"):
            axes = tuple(
                replace(axis, last=axis.first) if axis.name.endswith(" N") else axis
                for axis in axes
            )
            weights_axes, extents = (), inputs.extents
        weights = TileForm(
            "weights", (fixed(PARAMETERS), extents[1]), self.padding(operator, backend, "weights")
        )
        return Candidates(
            operator.name,
            (*axes, *weights_axes),
            (inputs, weights, replace(inputs, tensor="outputs")),
            backend,
        )

    def reloading(self, operator: BatchNorm) -> Reloading:
        """The reference's kernels load parameters at every call (two ranks) or at the first
        channels (four ranks).

        With two ranks, an output tile that takes several parameter tiles is sent back after the
        first of them too.
        """
        return Reloading(
            {"weights": "C" if operator.images else EVERY_TIME}, stores_first=not operator.images
        )


@operator("batch_norm")
@dataclass(frozen=True)
class BatchNorm(Operator):
    """Inputs and outputs [N, H, W, C] or [N, C]; weights [4, C]: mean, 1 / sqrt(variance +
    epsilon), gamma, beta.
    """

    input_shape: tuple[int, ...]

    strategy: ClassVar[Strategy | None] = BatchNormStrategy()

    @classmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        """`input_shape`, [N, H, W, C] or [N, C]; a `weight_shape` must be [4, C]. Raises:
        InputError.
        """
        shape = reading.input_shape(fields, (2, 4))
        reading.weight_shape(
            fields, (PARAMETERS, shape[-1]), "[mean, 1/deviation, gamma, beta; channels]"
        )
        return cls(name, shape)

    @property
    def images(self) -> bool:
        """Whether inputs have rows and columns."""
        return len(self.input_shape) == 4

    @property
    def rules(self) -> str:
        """The backend's key for its tile rules: shapes of four and of two ranks have their own."""
        return "batch_norm" if self.images else "batch_norm_2d"

    @property
    def loops(self) -> Mapping[str, int]:
        """One loop for each rank of the inputs."""
        return dict(zip("NHWC" if self.images else "NC", self.input_shape, strict=True))

    @property
    def inputs(self) -> Tensor:
        """[N, H, W, C] or [N, C], each rank along its own loop."""
        return Tensor(
            "inputs", tuple(Rank(letter, size, letter) for letter, size in self.loops.items())
        )

    @property
    def weights(self) -> Tensor:
        """[4, C]: four parameters for each channel, never cut along the first rank."""
        return Tensor(
            "weights", (Rank("parameter", PARAMETERS), Rank("C", self.input_shape[-1], "C"))
        )

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """Inputs and weights."""
        return self.inputs, self.weights

    @property
    def output(self) -> Tensor:
        """As large as the inputs, and cut alike."""
        return replace(self.inputs, name="outputs")

    def compute(self, block: InvocationWork) -> Array:
        """`(inputs - mean) * scale * gamma + beta` for the block's channels."""
        mean, scale, gamma, beta = block.operands["weights"]
        result: Array = (block.operands["inputs"] - mean) * scale * gamma + beta
        return result
