"""Axes of tensors whose reshaping splits and joins them: every reader and writer of a tensor walks
over the same parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod


class AxisSplit:
    """How an axis of `size` values is split: into `parts`, outermost first, or not at all. Axes
    that are walked together share an extent.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: tuple[AxisSplit, ...] = ()
        self._same: AxisSplit | None = None

    @property
    def root(self) -> AxisSplit:
        """The extent that stands for all that were joined with this one."""
        return self if self._same is None else self._same.root

    @property
    def parts(self) -> tuple[AxisSplit, ...]:
        """What it is split into; nothing if it is not."""
        return self.root._parts

    def split(self, sizes: Sequence[int]) -> None:
        """Split it, of which there are no parts yet, into parts of these sizes."""
        self.root._parts = tuple(map(AxisSplit, sizes))

    def join(self, other: AxisSplit) -> None:
        """Make both, of equal size and without parts, one and the same."""
        if self.root is not other.root:
            other.root._same = self.root


class TensorAxis:
    """One axis of one tensor, or a part of it."""

    def __init__(self, extent: AxisSplit) -> None:
        self.extent = extent
        self._parts: tuple[TensorAxis, ...] = ()

    def leaves(self) -> list[TensorAxis]:
        """Its smallest parts of more than one value, outermost first."""
        if self.extent.parts and not self._parts:
            self._parts = tuple(map(TensorAxis, self.extent.parts))
        if self._parts:
            return [leaf for part in self._parts for leaf in part.leaves()]
        return [self] if self.extent.size > 1 else []


View = tuple[TensorAxis, ...]
"""What an operation takes for one axis: axes of the stored tensor, the outermost first."""


def new_view(size: int) -> View:
    """A view of one new axis."""
    return (TensorAxis(AxisSplit(size)),)


def like(view: View) -> View:
    """New axes that are walked as `view` is."""
    return tuple(TensorAxis(axis.extent) for axis in view)


def leaves(view: View) -> list[TensorAxis]:
    """The innermost parts of all axes, in order."""
    return [leaf for axis in view for leaf in axis.leaves()]


def size_of(view: View) -> int:
    """The number of elements that a view covers."""
    return prod(axis.extent.size for axis in view)


def aligned(one: View, other: View) -> bool:
    """Walk both together: split them into equal parts and join these. False, and nothing done, if
    no parts fit both.
    """
    steps = _steps(one) | _steps(other)
    ordered = sorted(steps)
    if size_of(one) != size_of(other) or any(b % a for a, b in itertools.pairwise(ordered)):
        return False
    for view in (one, other):
        _split(view, ordered)
    for mine, yours in zip(leaves(one), leaves(other), strict=True):
        mine.extent.join(yours.extent)
    return True


def _steps(view: View) -> set[int]:
    """How many values each part and all inside it have."""
    found, inside = {1}, 1
    for leaf in reversed(leaves(view)):
        inside *= leaf.extent.size
        found.add(inside)
    return found


def _split(view: View, steps: Sequence[int]) -> None:
    inside = 1
    for leaf in reversed(leaves(view)):
        outside = inside * leaf.extent.size
        own = [step for step in steps if inside <= step <= outside]
        sizes = [b // a for a, b in itertools.pairwise(own)]
        if len(sizes) > 1:
            leaf.extent.split(sizes[::-1])
        inside = outside
