"""Fields that several operators share."""

from __future__ import annotations

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.fields import Fields, integer_of, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar
from solver_mapper.tiling.tensors import Window

LARGEST = 1 << 20
"""Sizes beyond this are refused: tiles are kept one by one."""


def shape_of(node: Node, what: str, ranks: tuple[int, ...]) -> tuple[int, ...]:
    """A list of as many positive sizes as one of `ranks` says."""
    sizes = tuple(
        integer_of(item, f"a size of {what}", 1) for item in sequence_of(node, what).items
    )
    if max(sizes, default=0) > LARGEST:
        raise InputError(
            f"{what} has a size of {max(sizes)}, at most {LARGEST} is supported", node.location
        )
    if len(sizes) not in ranks:
        raise InputError(
            f"{what} must list {' or '.join(map(str, ranks))} sizes, not {len(sizes)}",
            node.location,
        )
    return sizes


def input_shape(fields: Fields, ranks: tuple[int, ...]) -> tuple[int, ...]:
    """`input_shape`, and `layout` if given: NHWC for four ranks, NC for two."""
    shape = shape_of(fields.require("input_shape"), "'input_shape'", ranks)
    layout = fields.text("layout")
    expected = {4: "NHWC", 2: "NC"}.get(len(shape))
    if layout is not None and expected is not None and layout != expected:
        raise InputError(
            f"layout '{layout}' is not supported for {len(shape)} ranks",
            fields.location_of("layout"),
            f"order the sizes as {expected}",
        )
    return shape


def weight_shape(
    fields: Fields, expected: tuple[int | None, ...], meaning: str
) -> tuple[int, ...] | None:
    """`weight_shape` if given, checked against what is known already (None: not known)."""
    node = fields.node("weight_shape")
    if node is None:
        return None
    shape = shape_of(node, "'weight_shape'", (len(expected),))
    if any(known not in (None, size) for size, known in zip(shape, expected, strict=True)):
        wanted = ", ".join("any" if known is None else str(known) for known in expected)
        raise InputError(
            f"'weight_shape' {list(shape)} does not fit the operator",
            node.location,
            f"{meaning} = [{wanted}]",
        )
    return shape


def pair(fields: Fields, name: str, default: tuple[int, int] | None = None) -> tuple[int, int]:
    """Two positive numbers, rows then columns; a single number counts for both."""
    node = fields.node(name)
    if node is None and default is not None:
        return default
    node = fields.require(name)
    if isinstance(node, Scalar):
        both = integer_of(node, f"'{name}'", 1)
        if both > LARGEST:
            raise InputError(f"'{name}' is {both}, at most {LARGEST} is supported", node.location)
        return both, both
    rows, columns = shape_of(node, f"'{name}'", (2,))
    return rows, columns


def kernel(fields: Fields, channels: int) -> tuple[int, int, int]:
    """Output channels, rows and columns, from `kernel: {num, rows, cols}` or from `weight_shape:
    [num, rows, cols, channels]`.
    """
    meaning = "[output channels, rows, columns, input channels]"
    if (
        not fields.has("kernel")
        and (shape := weight_shape(fields, (None, None, None, channels), meaning)) is not None
    ):
        return shape[0], shape[1], shape[2]
    own = Fields(table_of(fields.require("kernel"), "'kernel'"), "the kernel")
    num, rows, cols = (
        integer_of(own.require(word), f"'{word}'", 1) for word in ("num", "rows", "cols")
    )
    own.close()
    if max(num, rows, cols) > LARGEST:
        raise InputError(
            f"the kernel has a size of {max(num, rows, cols)}, at most {LARGEST} is supported",
            own.location,
        )
    weight_shape(fields, (num, rows, cols, channels), meaning)
    return num, rows, cols


def same_padding(fields: Fields) -> bool:
    """`padding: same | valid`; it must be said, since there is no harmless default."""
    word = text_of(fields.require("padding"), "'padding'")
    if word not in ("same", "valid"):
        raise InputError(
            f"'padding' must be same or valid, not '{word}'", fields.location_of("padding")
        )
    return word == "same"


def window(size: int, field: int, stride: int, same: bool) -> Window:
    """A sliding window; same padding adds `field - 1` indices in all, the larger half before."""
    return Window(field, stride, field // 2 if same else 0, size)


def after(field: int, same: bool) -> int:
    """Padding behind a rank under same padding."""
    return field - 1 - field // 2 if same else 0


def positions(size: int, field: int, stride: int, same: bool, location: SourceLocation) -> int:
    """How many windows fit along a rank.

    Raises: InputError if none does.
    """
    room = size - field + (field - 1 if same else 0)
    if room < 0:
        raise InputError(f"a window of {field} does not fit into {size}", location)
    return room // stride + 1
