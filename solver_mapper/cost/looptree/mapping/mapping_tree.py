"""The mapping as a tree: loops, storage, and places where it forks into several Einsums.

    mapping = TreeMapping((
        Storage(("A", "B", "Z"), "DRAM"),
        Temporal("m", 8),
        Storage(("A",), "Buffer"),
        Temporal("k", 1), Temporal("n", 1), Temporal("m", 1),
        Compute("Matmul", "MAC"),
    ))
    print(mapping)
    smaller = mapping.replaced(mapping.nodes[1], Temporal("m", 4))

Nodes are listed outer to inner; only the last of a list may fork. A node is one particular object
in the tree: two equal nodes at different places are different loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from solver_mapper.core.results.rendering import text_of, yaml_of
from solver_mapper.errors import NOWHERE, InputError, SourceLocation


@dataclass(frozen=True)
class Storage:
    """`component` holds a tile of each of `tensors` while the loops above stand still; loops below
    reuse it.

    Several tensors are the same as one node a tensor, in list order. A `persistent` tile stays for
    the whole workload.
    """

    tensors: tuple[str, ...]
    component: str
    persistent: bool = False
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self.component} keeps {', '.join(self.tensors)}" + (
            " (persistent)" if self.persistent else ""
        )


@dataclass(frozen=True)
class Toll:
    """`tensors` pass through `component`, which charges for them and holds nothing."""

    tensors: tuple[str, ...]
    component: str
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self.component} passes {', '.join(self.tensors)}"


class _TreeLoop:
    """What loops in time and in space share."""

    variable: str
    tile_shape: int
    initial_tile_shape: int | None

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that branches below have for the loop."""
        return tuple(self.variable.split("|"))

    @property
    def words(self) -> str:
        """The loop in words."""
        first = f", first {self.initial_tile_shape}" if self.initial_tile_shape is not None else ""
        return f"for {self.variable} in tiles of {self.tile_shape}{first}"


@dataclass(frozen=True)
class Temporal(_TreeLoop):
    """A loop over tiles in time. `tile_shape` is the extent of the tile below the loop, not the
    number of iterations.

    `variable` is a rank variable, or several joined by `|` where branches below call the same loop
    by different names. The first tile has `initial_tile_shape` points, if that is given and the
    variable shares a rank with another.
    """

    variable: str
    tile_shape: int
    initial_tile_shape: int | None = None
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Spatial(_TreeLoop):
    """A loop in space, along the dimension called `name` of the architecture node `component`."""

    variable: str
    tile_shape: int
    component: str
    name: str
    initial_tile_shape: int | None = None
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)

    def __str__(self) -> str:
        return f"parallel-{self.words} over {self.component} {self.name}"


@dataclass(frozen=True)
class Compute:
    """The leaf: `component` computes one point of `einsum`."""

    einsum: str
    component: str
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self.component} computes {self.einsum}"


@dataclass(frozen=True)
class Nested:
    """A run of nodes inside a branch."""

    nodes: tuple[Node, ...]
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True)
class Sequential:
    """A fork: the branches run one after another, once per iteration of the loops above."""

    nodes: tuple[Node, ...]
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True)
class Pipeline:
    """A fork meant for branches that run at the same time. Counted like `Sequential`: latencies add
    up.
    """

    nodes: tuple[Node, ...]
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)


Loop = Temporal | Spatial
Holder = Storage | Toll
Leaf = Storage | Toll | Temporal | Spatial | Compute
Fork = Sequential | Pipeline
Node = Leaf | Nested | Fork


@dataclass(frozen=True)
class TreeMapping:
    """A LoopTree. `nodes` are outer to inner; the last is a `Compute`, a fork, or a run that ends
    in one of them.
    """

    nodes: tuple[Node, ...]
    location: SourceLocation = field(default=NOWHERE, compare=False, kw_only=True)

    def branches(self) -> tuple[tuple[Leaf, ...], ...]:
        """One list of nodes from the root to each leaf, forks and runs left out.

        Branches share the very same node objects above their forks.
        Raises: InputError for a node that forks anywhere but at the end of its list, and for a list
        without an end.
        """
        return tuple(_branches(self.nodes, (), self.location))

    def walk(self) -> Iterator[Node]:
        """All nodes, each before those below it."""
        for node in self.nodes:
            yield from _walk(node)

    def find(self, test: Callable[[Node], bool]) -> Node:
        """The first node that passes `test`. Raises: LookupError if none does."""
        for node in self.walk():
            if test(node):
                return node
        raise LookupError("no node of the mapping passes the test")

    def replaced(self, old: Node, *new: Node) -> TreeMapping:
        """The mapping with `new` (nothing, one node or several) in the place of this very node.

        Raises: LookupError if `old` is not a node of this mapping.
        """
        nodes, found = _replaced(self.nodes, old, new)
        if not found:
            raise LookupError(f"'{old}' is not a node of this mapping")
        return replace(self, nodes=nodes)

    def to_yaml(self) -> str:
        """The mapping as a LoopTree file (`mapping: {nodes: ...}`)."""
        return yaml_of(self)

    def __str__(self) -> str:
        return text_of(self)


def _walk(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, (Nested, Sequential, Pipeline)):
        for child in node.nodes:
            yield from _walk(child)


def _branches(
    nodes: tuple[Node, ...], above: tuple[Leaf, ...], location: SourceLocation
) -> Iterator[tuple[Leaf, ...]]:
    run = above
    for index, node in enumerate(nodes):
        last = index + 1 == len(nodes)
        if isinstance(node, (Nested, Sequential, Pipeline, Compute)) and not last:
            raise InputError(
                f"nothing can stand below {_name(node)} in its list",
                nodes[index + 1].location,
                "only the last node of a list may fork or compute",
            )
        if isinstance(node, (Storage, Toll, Temporal, Spatial)):
            run = (*run, node)
        elif isinstance(node, Compute):
            yield (*run, node)
        elif isinstance(node, Nested):
            yield from _branches(node.nodes, run, node.location)
        else:
            if not node.nodes:
                raise InputError(f"{_name(node)} has no branches", node.location)
            for child in node.nodes:
                yield from _branches(
                    child.nodes if isinstance(child, Nested) else (child,), run, child.location
                )
        if last and isinstance(node, (Storage, Toll, Temporal, Spatial)):
            raise InputError(f"the branch ends at '{node}' without a !Compute", node.location)
    if not nodes:
        raise InputError("an empty list of nodes", location, "a branch ends in !Compute")


def _replaced(
    nodes: tuple[Node, ...], old: Node, new: tuple[Node, ...]
) -> tuple[tuple[Node, ...], bool]:
    for index, node in enumerate(nodes):
        if node is old:
            return (*nodes[:index], *new, *nodes[index + 1 :]), True
        if isinstance(node, (Nested, Sequential, Pipeline)):
            inner, found = _replaced(node.nodes, old, new)
            if found:
                return (*nodes[:index], replace(node, nodes=inner), *nodes[index + 1 :]), True
    return nodes, False


def _name(node: Node) -> str:
    return f"!{type(node).__name__}"


def plain_nodes(nodes: tuple[Node, ...]) -> list[dict[str, Any]]:
    """The nodes as plain Python values, each with its kind under "node"."""
    found: list[dict[str, Any]] = []
    for node in nodes:
        entry: dict[str, Any] = {"node": type(node).__name__}
        if isinstance(node, (Nested, Sequential, Pipeline)):
            entry["nodes"] = plain_nodes(node.nodes)
        elif isinstance(node, (Storage, Toll)):
            entry |= {"tensors": list(node.tensors), "component": node.component}
            if isinstance(node, Storage) and node.persistent:
                entry["persistent"] = True
        elif isinstance(node, Compute):
            entry |= {"einsum": node.einsum, "component": node.component}
        else:
            entry |= {
                "rank_variable": list(node.variables) if len(node.variables) > 1 else node.variable,
                "tile_shape": node.tile_shape,
            }
            if node.initial_tile_shape is not None:
                entry["initial_tile_shape"] = node.initial_tile_shape
            if isinstance(node, Spatial):
                entry |= {"component": node.component, "name": node.name}
        found.append(entry)
    return found
