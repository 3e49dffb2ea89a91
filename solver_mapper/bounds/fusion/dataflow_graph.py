"""A workload as fusion sees it: Einsums as loop nests, and who writes and reads each tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from solver_mapper.bounds.bound_curve import LARGEST
from solver_mapper.bounds.fusion.tensor_cores import BlockSizes, TensorCore, blocks_of
from solver_mapper.bounds.search import largest_traffic
from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.cost.looptree.workload import Workload
from solver_mapper.cost.snowcat.tensor_size import touched_words
from solver_mapper.errors import InputError


@dataclass(frozen=True)
class DataflowGraph:
    """`problems[i]` is Einsum i, in the workload's order; tensors are shared by name. A word of
    `tensor` weighs `weights[tensor]` units. `repeats[i]`: how often Einsum i runs. `blocks[i]`:
    alternatives of what its tile sizes are multiples of.
    """

    workload: Workload
    problems: tuple[Problem, ...]
    weights: Mapping[str, int]
    units: str
    repeats: tuple[int, ...]
    blocks: tuple[tuple[BlockSizes, ...], ...]

    @cached_property
    def everything(self) -> frozenset[int]:
        """Positions of all Einsums."""
        return frozenset(range(len(self.problems)))

    @cached_property
    def users(self) -> Mapping[str, frozenset[int]]:
        """By tensor, positions of the Einsums that read or write it."""
        return {name: frozenset(self.workload.users(name)) for name in self.workload.tensors}

    @cached_property
    def producer(self) -> Mapping[str, int | None]:
        """By tensor, position of the Einsum that writes it; None for inputs of the workload."""
        return {
            name: next(iter(self.workload.producers(name)), None) for name in self.workload.tensors
        }

    @cached_property
    def intermediates(self) -> frozenset[str]:
        """Tensors that one Einsum writes and others read."""
        return self.workload.intermediates

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Tensors that several Einsums use, in the order of first use."""
        return tuple(name for name in self.workload.tensors if len(self.users[name]) > 1)

    @cached_property
    def needs(self) -> tuple[frozenset[int], ...]:
        """Per Einsum, the Einsums that write what it reads."""
        return tuple(
            frozenset(
                writer
                for name in problem.tensor_names
                if (writer := self.producer[name]) not in (None, i)
            )
            for i, problem in enumerate(self.problems)
        )

    def use(self, einsum: int, tensor: str) -> Tensor:
        """How Einsum `einsum` indexes `tensor`."""
        return self.problems[einsum].tensor(tensor)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Units that a buffer needs for each whole tensor: the largest box that any of its users
        touches.
        """
        return {
            name: (
                self.weights[name]
                * max(self.use(i, name).footprint(self.problems[i].bounds) for i in users)
            )
            for name, users in self.users.items()
        }

    @cached_property
    def touched(self) -> Mapping[str, int]:
        """Units of each tensor that its users touch, at least: the most of any one user."""
        return {
            name: (
                self.weights[name]
                * max(touched_words(self.use(i, name), self.problems[i].bounds) for i in users)
            )
            for name, users in self.users.items()
        }

    @cached_property
    def dtype(self) -> DTypeLike:
        """int64 if no sum of this workload's traffic can overflow it, else Python integers."""
        runs = zip(self.problems, self.repeats, strict=True)
        most = sum(repeat * largest_traffic(problem, self.weights) for problem, repeat in runs)
        return np.int64 if 4 * (most + sum(self.sizes.values())) < LARGEST else np.dtype(object)

    @cached_property
    def operations(self) -> int:
        """Multiplications and additions of all Einsums: two a point, less the first addition of
        each output.
        """
        return sum(
            repeat
            * max(
                1,
                2 * problem.macs
                - sum(
                    touched_words(tensor, problem.bounds)
                    for tensor in problem.tensors
                    if tensor.read_write
                ),
            )
            for problem, repeat in zip(self.problems, self.repeats, strict=True)
        )


def net_of(workload: Workload, core: TensorCore | None = None) -> DataflowGraph:
    """The net of `workload`. Figures are in words where all tensors have words of one size, else in
    bytes, or bits if need be. With `core`, its blocks bound tiles from below.

    Raises: InputError for a tensor that two Einsums write, that is read before it is written, or
    whose words are not whole bits.
    """
    for name in workload.tensors:
        writers, readers = workload.producers(name), workload.consumers(name)
        location = workload.access(name).location
        if len(writers) > 1:
            raise InputError(f"'{name}' is written by more than one Einsum", location)
        if writers and readers and min(readers) <= writers[0]:
            raise InputError(
                f"'{name}' is read by Einsum '{workload.einsums[min(readers)].name}' before it is"
                " written",
                location,
            )
    weights, units = _weights(workload)
    problems = tuple(einsum.problem for einsum in workload.einsums)
    blocks = tuple(blocks_of(problem, core) if core else ({},) for problem in problems)
    repeats = tuple(einsum.instances * workload.instances for einsum in workload.einsums)
    return DataflowGraph(workload, problems, weights, units, repeats, blocks)


def _weights(workload: Workload) -> tuple[dict[str, int], str]:
    bits = {name: workload.access(name).bits for name in workload.tensors}
    if len(set(bits.values())) == 1:
        return dict.fromkeys(bits, 1), "words"
    for name, each in bits.items():
        if each.denominator != 1 or each < 1:
            raise InputError(
                f"words of '{name}' have {each} bits; a bound needs whole bits",
                workload.access(name).location,
            )
    if all(each % 8 == 0 for each in bits.values()):
        return {name: int(each) // 8 for name, each in bits.items()}, "bytes"
    return {name: int(each) for name, each in bits.items()}, "bits"
