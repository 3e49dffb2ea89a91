"""Softmax over rows: a tile is some whole rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from solver_mapper.io.yaml.fields import Fields
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.operator import Array, InvocationWork, Operator, operator
from solver_mapper.tiling.operators import reading
from solver_mapper.tiling.search.candidates import Candidates, DoesNotFit, TileForm, fixed
from solver_mapper.tiling.strategy import Dims, Strategy
from solver_mapper.tiling.tensors import Rank, Tensor


@dataclass(frozen=True)
class SoftmaxStrategy(Strategy):
    """`smv_softmax_op.cpp`: as many rows as fit."""

    def dims(self, operator: Softmax, backend: Backend) -> dict[str, str]:
        """No tiling dims: rows are never cut."""
        return {}

    def candidates(self, operator: Softmax, backend: Backend, dims: Dims) -> Candidates:
        """One candidate: as many whole rows as fit beside each other. Raises: DoesNotFit where not
        even one row fits.
        """
        rows, width = operator.input_shape
        row = backend.storage((1, width))
        fit = rows
        for pad, held in backend.groups(("inputs", "outputs")):
            room = backend.elements(pad) // (row * len(held))
            if room == 0:
                raise DoesNotFit(
                    operator.name,
                    dict.fromkeys(held, (1, width)),
                    row * len(held),
                    pad,
                    backend.elements(pad),
                    "softmax needs whole rows",
                )
            fit = min(fit, room)
        forms = tuple(TileForm(name, (fixed(fit), fixed(width))) for name in ("inputs", "outputs"))
        return Candidates(operator.name, (), forms, backend)


@operator("softmax")
@dataclass(frozen=True)
class Softmax(Operator):
    """Inputs and outputs [N, C]."""

    input_shape: tuple[int, ...]

    strategy: ClassVar[Strategy | None] = SoftmaxStrategy()
    records_storage: ClassVar[bool] = False

    @classmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        """`input_shape` [N, C]. Raises: InputError."""
        return cls(name, reading.input_shape(fields, (2,)))

    @property
    def loops(self) -> Mapping[str, int]:
        """One loop, N, over rows."""
        return {"N": self.input_shape[0]}

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """The inputs, [N, C]."""
        return (self._rows("inputs"),)

    @property
    def output(self) -> Tensor:
        """[N, C], cut along rows only."""
        return self._rows("outputs")

    def _rows(self, name: str) -> Tensor:
        return Tensor(name, (Rank("N", self.input_shape[0], "N"), Rank("C", self.input_shape[1])))

    def compute(self, block: InvocationWork) -> Array:
        """Softmax of each row, shifted by its maximum so that powers do not overflow."""
        values = block.operands["inputs"]
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        result: Array = powers / powers.sum(axis=1, keepdims=True)
        return result
