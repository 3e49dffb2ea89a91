"""Inner product (fully connected layer): the operator and how SMAUG tiles it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from solver_mapper.errors import InputError
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.tiling.backend import UNTILED, Backend
from solver_mapper.tiling.dims import tiles_along
from solver_mapper.tiling.operator import Array, InvocationWork, Operator, TimeloopForm, operator
from solver_mapper.tiling.operators import reading
from solver_mapper.tiling.search.candidates import Candidates, Extent, ExtentGrid, TileForm, fixed
from solver_mapper.tiling.strategy import (
    EVERY_TIME,
    Dims,
    Reloading,
    Strategy,
    axis_name,
    own_axis,
    own_form,
)
from solver_mapper.tiling.tensors import Rank, Tensor


@dataclass(frozen=True)
class InnerProductStrategy(Strategy):
    """`smv_inner_product_tiling.cpp`."""

    def dims(self, operator: InnerProduct, backend: Backend) -> dict[str, str]:
        """Outputs that are cut at all are cut along neurons if the weights are cut."""
        found = super().dims(operator, backend)
        if found["weights"] != UNTILED and found["outputs"] != UNTILED:
            found["outputs"] = "DimNC"
        return found

    def candidates(self, operator: InnerProduct, backend: Backend, dims: Dims) -> Candidates:
        """Inputs vary freely, then neurons (and activations, if only the weights are cut along
        them), then outputs.
        """
        inputs_axes, inputs = own_form(operator, backend, "inputs", dims["inputs"])
        weights_axes, weights = self.weights(operator, backend, dims, inputs)
        outputs_axes: tuple[ExtentGrid, ...] = ()
        neurons = fixed(operator.num_outputs)
        if dims["outputs"] != UNTILED and dims["weights"] != UNTILED:
            neurons = weights.extents[0]
        elif dims["outputs"] != UNTILED:
            outputs_axes = (own_axis(operator, backend, "outputs", "C"),)
            neurons = Extent(outputs_axes[0].name)
        outputs = TileForm(
            "outputs", (inputs.extents[0], neurons), self.padding(operator, backend, "outputs")
        )
        return Candidates(
            operator.name,
            (*inputs_axes, *weights_axes, *outputs_axes),
            (inputs, weights, outputs),
            backend,
        )

    def weights(
        self, operator: InnerProduct, backend: Backend, dims: Dims, inputs: TileForm
    ) -> tuple[tuple[ExtentGrid, ...], TileForm]:
        """Axes and tile of the weights: activations follow the tile of the inputs where `dims` cuts
        these along C. `inputs` is the tile of the inputs.
        """
        axes: list[ExtentGrid] = []
        neurons, activations = (fixed(size) for size in operator.weights.shape)
        if dims["weights"] != UNTILED:
            axes.append(own_axis(operator, backend, "weights", "N"))
            neurons = Extent(axis_name("weights", "N"))
        if tiles_along(dims["inputs"], "C"):
            activations = inputs.extents[1]
        elif tiles_along(dims["weights"], "C"):
            axes.append(own_axis(operator, backend, "weights", "C"))
            activations = Extent(axis_name("weights", "C"))
        copied = None if dims["weights"] == "DimN" else self.padding(operator, backend, "weights")
        return tuple(axes), TileForm("weights", (neurons, activations), copied)

    def reloading(self, operator: InnerProduct) -> Reloading:
        """The reference's kernel loads its weights at every call."""
        return Reloading({"weights": EVERY_TIME})


@operator("inner_product")
@dataclass(frozen=True)
class InnerProduct(Operator):
    """Inputs [N, C], weights [K, C], outputs [N, K]."""

    input_shape: tuple[int, ...]
    num_outputs: int

    strategy: ClassVar[Strategy | None] = InnerProductStrategy()

    @classmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        """`input_shape` [N, C]; `num_outputs` or `weight_shape` [K, C]. Raises: InputError."""
        shape = reading.input_shape(fields, (2,))
        neurons = fields.integer("num_outputs", least=1)
        weights = reading.weight_shape(fields, (neurons, shape[1]), "[neurons, activations]")
        if neurons is None and weights is None:
            raise InputError("inner_product lacks 'num_outputs'", fields.location)
        return cls(name, shape, weights[0] if weights is not None else neurons or 0)

    @property
    def loops(self) -> Mapping[str, int]:
        """Rows N, neurons K, and activations C, which are summed over."""
        return {"N": self.input_shape[0], "K": self.num_outputs, "C": self.input_shape[1]}

    @property
    def inputs(self) -> Tensor:
        """[N, C]."""
        return Tensor(
            "inputs", (Rank("N", self.input_shape[0], "N"), Rank("C", self.input_shape[1], "C"))
        )

    @property
    def weights(self) -> Tensor:
        """[K, C]: one row for each neuron."""
        return Tensor(
            "weights", (Rank("K", self.num_outputs, "K"), Rank("C", self.input_shape[1], "C"))
        )

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """Inputs and weights."""
        return self.inputs, self.weights

    @property
    def output(self) -> Tensor:
        """[N, K]."""
        return Tensor(
            "outputs", (Rank("N", self.input_shape[0], "N"), Rank("C", self.num_outputs, "K"))
        )

    @property
    def timeloop(self) -> TimeloopForm:
        """Timeloop's M counts rows of the inputs, N neurons, K activations."""
        dims = {"N": "M", "K": "N", "C": "K"}
        return TimeloopForm(
            "gemm",
            dims,
            {tensor.name: tensor.name.capitalize() for tensor in self.tensors},
            {dims[loop]: size for loop, size in self.loops.items()},
        )

    def compute(self, block: InvocationWork) -> Array:
        """Sums over the block's activations, [N, K]."""
        result: Array = np.einsum("nc,kc->nk", block.operands["inputs"], block.operands["weights"])
        return result
