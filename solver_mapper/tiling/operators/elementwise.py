"""Unary and elementwise operators: tensors are streamed as runs of their storage, whatever their
shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from solver_mapper.errors import InputError
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.operator import Array, InvocationWork, Operator, operator
from solver_mapper.tiling.operators import reading
from solver_mapper.tiling.search.candidates import Candidates, DoesNotFit, TileForm, fixed
from solver_mapper.tiling.strategy import Dims, Strategy
from solver_mapper.tiling.tensors import Rank, Tensor, padded, storage

UNARY = ("relu", "identity", "negative")
BINARY = ("add", "multiply", "less", "less_equal", "greater", "greater_equal")


@dataclass(frozen=True)
class FlatStrategy(Strategy):
    """`smv_unary_op_common.cpp`: runs as long as the scratchpad, the last one shorter."""

    def dims(self, operator: Any, backend: Backend) -> dict[str, str]:
        """No tiling dims: the run is cut by length alone."""
        return {}

    def candidates(self, operator: Flat, backend: Backend, dims: Dims) -> Candidates:
        """One candidate: the longest aligned run of which all tensors fit their scratchpads.
        Raises: DoesNotFit where not even one aligned unit fits.
        """
        length = operator.elements
        names = tuple(tensor.name for tensor in operator.tensors)
        unit = max(backend.alignment, 1)
        for pad, held in backend.groups(names):
            room = backend.elements(pad) // len(held) // unit * unit
            if room == 0:
                raise DoesNotFit(
                    operator.name,
                    dict.fromkeys(held, (1, unit)),
                    unit * len(held),
                    pad,
                    backend.elements(pad),
                )
            length = min(length, room)
        return Candidates(
            operator.name,
            (),
            tuple(TileForm(name, (fixed(1), fixed(length))) for name in names),
            backend,
        )


@dataclass(frozen=True)
class Flat(Operator):
    """Tensors as one run of `elements`: the shape with its last rank padded. `function` names what
    is computed.
    """

    input_shape: tuple[int, ...]
    alignment: int
    function: str

    strategy: ClassVar[Strategy | None] = FlatStrategy()

    @property
    def elements(self) -> int:
        """Length of the run: elements of the shape, the last rank padded to the alignment."""
        return storage(self.input_shape, self.alignment)

    @property
    def loops(self) -> Mapping[str, int]:
        """One loop, E, over the run."""
        return {"E": self.elements}

    @property
    def output(self) -> Tensor:
        """The run that is written."""
        return self.run("outputs")

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the user's output array: that of the inputs, without padding."""
        return self.input_shape

    def run(self, name: str) -> Tensor:
        """A tensor of shape [1, elements], cut along E."""
        return Tensor(name, (Rank("1", 1), Rank("E", self.elements, "E")))

    def stored(self, tensor: Tensor, array: Array) -> Array:
        """The user's array as one run, [1, elements], with zeros as padding."""
        last = self.input_shape[-1]
        widths = [(0, 0)] * (array.ndim - 1) + [(0, padded(last, self.alignment) - last)]
        return np.pad(array, widths).reshape(1, -1)

    def restored(self, array: Array) -> Array:
        """The run in the shape of the inputs, padding removed."""
        last = self.input_shape[-1]
        return array.reshape(*self.input_shape[:-1], padded(last, self.alignment))[..., :last]


def _function(fields: Fields, known: tuple[str, ...]) -> str:
    word = fields.text("function") or known[0]
    if word not in known:
        raise InputError(
            f"unknown function '{word}'",
            fields.location_of("function"),
            f"known here: {', '.join(known)}",
        )
    return word


@operator("unary", "unary_or_eltwise")
@dataclass(frozen=True)
class Unary(Flat):
    """Inputs and outputs of one shape. `function`: relu, identity, negative."""

    @classmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        """`input_shape` of two or four ranks, and `function`. Raises: InputError."""
        shape = reading.input_shape(fields, (2, 4))
        return cls(name, shape, backend.alignment, _function(fields, UNARY))

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """The one input."""
        return (self.run("inputs"),)

    def compute(self, block: InvocationWork) -> Array:
        """`function` of each element."""
        values = block.operands["inputs"]
        if self.function == "relu":
            return np.maximum(values, 0)
        return values if self.function == "identity" else -values


@operator("eltwise")
@dataclass(frozen=True)
class Eltwise(Flat):
    """Two inputs, `inputs` and `inputs1`, and outputs of one shape. `function`: add, multiply,
    less, greater, ..
    """

    @classmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        """`input_shape` of two or four ranks, and `function`. Raises: InputError."""
        shape = reading.input_shape(fields, (2, 4))
        return cls(name, shape, backend.alignment, _function(fields, BINARY))

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """The two inputs."""
        return self.run("inputs"), self.run("inputs1")

    def compute(self, block: InvocationWork) -> Array:
        """`function` of each pair of elements at the same index."""
        left, right = block.operands["inputs"], block.operands["inputs1"]
        function = getattr(np, self.function)
        result: Array = function(left, right)
        return result
