"""What an operator is to the tiler: loops, tensors that follow them, a rule for the tiles, and a
kernel for one block.

To add an operator, subclass `Operator`, and register the class with `@operator("its_name")`.
`docs/reference/tiling.md` does it with transposed convolution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from solver_mapper.errors import InputError, SourceLocation, unknown_name
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.strategy import Strategy
from solver_mapper.tiling.tensors import Rank, Span, Tensor, Window

Array = NDArray[Any]


@dataclass(frozen=True)
class InvocationWork:
    """One invocation's work: the iterations of each loop, and what these touch of each operand.

    `operands[tensor]` is a view of exactly the indices that `Rank.span` names, zero padding left
    out.
    """

    iterations: Mapping[str, Span]
    operands: Mapping[str, Array]

    def padding(self, rank: Rank) -> tuple[int, int]:
        """Zero padding before and after the view along a rank with a window."""
        if rank.loop is None or not isinstance(rank.projection, Window):
            return 0, 0
        return rank.projection.padding(self.iterations[rank.loop])

    def padded(self, tensor: Tensor) -> Array:
        """The view of an operand with its zero padding."""
        return np.pad(self.operands[tensor.name], [self.padding(rank) for rank in tensor.ranks])


@dataclass(frozen=True)
class TimeloopForm:
    """An operator as an instance of a shipped problem shape. `dims[loop]` is the dimension of each
    of its loops, `tensors[name]` the data space of each tensor, and `instance` gives all bounds and
    coefficients.
    """

    shape: str
    dims: Mapping[str, str]
    tensors: Mapping[str, str]
    instance: Mapping[str, int]


@dataclass(frozen=True)
class Operator(ABC):
    """An operation on tensors. Subclasses are frozen dataclasses; `name` is for messages and
    tables.
    """

    name: str

    kind: ClassVar[str] = ""
    """The word under `operator:`, set by `operator()`."""
    strategy: ClassVar[Strategy | None] = None
    """How SMAUG tiles it; None for operators that only the traffic objective tiles."""
    records_storage: ClassVar[bool] = True
    """Whether its tiles are reported with their storage."""

    @classmethod
    @abstractmethod
    def read(cls, name: str, fields: Fields, backend: Backend) -> Self:
        """The operator that the fields of a file describe. Unread fields are reported by the
        caller.

        Raises: InputError.
        """

    @property
    @abstractmethod
    def loops(self) -> Mapping[str, int]:
        """Iterations of each loop, outer to inner in the order of the reference schedule."""

    @property
    @abstractmethod
    def operands(self) -> tuple[Tensor, ...]:
        """The tensors that are read."""

    @property
    @abstractmethod
    def output(self) -> Tensor:
        """The tensor that is written. Its ranks must follow their loops one to one."""

    @abstractmethod
    def compute(self, block: InvocationWork) -> Array:
        """This block's contribution to the output: contributions of blocks that differ in reduction
        loops are added up.

        Returns: an array as large as the iterations of the loops along the output's ranks.
        """

    def stored(self, tensor: Tensor, array: Array) -> Array:
        """A user's array in the ranks of `tensor`; operators that tile something else than the
        logical ranks override this.
        """
        return array

    def restored(self, array: Array) -> Array:
        """An output in the ranks of `output` as the user's array: the inverse of `stored`."""
        return array

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the user's output array."""
        return self.output.shape

    @property
    def timeloop(self) -> TimeloopForm | None:
        """The operator in Timeloop's terms, if one of the shipped problem shapes expresses it."""
        return None

    @property
    def rules(self) -> str:
        """The backend's key for this operator's tile rules."""
        return self.kind

    @property
    def words(self) -> Mapping[str, int]:
        """Sizes that tile rules may name."""
        return {}

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Operands, then the output."""
        return (*self.operands, self.output)

    @cached_property
    def reductions(self) -> frozenset[str]:
        """Loops over which contributions are added up."""
        return frozenset(self.loops) - frozenset(self.output.loops)

    def tensor(self, name: str) -> Tensor:
        """The operand or output called `name`."""
        return next(each for each in self.tensors if each.name == name)

    def least(self, backend: Backend, tensor: str) -> tuple[int, ...]:
        """The least tile that the backend's datapath can work on, never larger than the tensor."""
        return tuple(
            min(least, size)
            for least, size in zip(
                self._rule(backend, tensor, "least"), self.tensor(tensor).shape, strict=True
            )
        )

    def step(self, backend: Backend, tensor: str) -> tuple[int, ...]:
        """The steps by which a tile may grow beyond the least one."""
        return self._rule(backend, tensor, "step")

    def _rule(self, backend: Backend, tensor: str, which: str) -> tuple[int, ...]:
        rule = backend.tiles.get(self.rules, {}).get(tensor)
        if rule is None:
            raise InputError(
                f"backend '{backend.name}' has no tile rule for '{tensor}' of {self.rules}",
                backend.location,
                f"add tiles: {self.rules}: {tensor}: ..., or use the traffic objective",
            )
        words = rule.least if which == "least" else rule.step
        return rule.numbers(words, self.tensor(tensor).shape, {**backend.units, **self.words})


Kind = TypeVar("Kind", bound=type[Operator])
_REGISTRY: dict[str, type[Operator]] = {}


def operator(*names: str) -> Callable[[Kind], Kind]:
    """Class decorator: register an operator under `names`, the first of which is its `kind`."""

    def register(cls: Kind) -> Kind:
        cls.kind = names[0]
        for name in names:
            _REGISTRY[name] = cls
        return cls

    return register


def operator_type(name: str, location: SourceLocation) -> type[Operator]:
    """The operator class known under `name`.

    Raises: InputError with what was probably meant.
    """
    if name not in _REGISTRY:
        raise unknown_name("operator", name, _REGISTRY, location)
    return _REGISTRY[name]
