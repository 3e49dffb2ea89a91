"""From Timeloop's notation to LoopTrees: always possible.

Energies become J. One cycle becomes one second, for Timeloop's files name no clock: latencies of
converted architectures are in cycles. Storage nodes move up across loops that do not index their
tensor, which makes Timeloop's implied reuse explicit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from solver_mapper.core.architecture import Architecture, Buffer
from solver_mapper.core.mapping import Loop
from solver_mapper.core.mapping import Mapping as LevelMappings
from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Leaf,
    Spatial,
    Storage,
    Temporal,
    TreeMapping,
)
from solver_mapper.io.convert.conversion import Conversion, names_for, number
from solver_mapper.io.convert.differences import IMPLIED_REUSE, applying

_PICO = Fraction(1, 10**12)


def to_looptree(spec: Spec) -> Conversion:
    """Everything that `spec` says as one LoopTree file, with the rules by which its figures may
    differ from Timeloop's.

    Raises: InputError if there is neither architecture, problem nor mapping to convert, or a
    mapping without the others.
    """
    names = names_of(spec)
    parts: list[str] = []
    notes: list[str] = []
    if spec.architecture is not None:
        parts += _architecture(spec.architecture, spec.mapping, names)
    if spec.problem is not None:
        parts += _workload(spec.problem, spec.architecture, names)
    if spec.mapping is not None:
        tree, moved = tree_of(spec.need_architecture(), spec.need_problem(), spec.mapping, names)
        parts.append(tree.to_yaml().rstrip("\n"))
        notes += [IMPLIED_REUSE] if moved else []
    if spec.architecture is not None and spec.problem is not None:
        notes += applying(spec.architecture, spec.problem, spec.mapping)
    if not parts:
        spec.need_mapping()
    return Conversion("\n".join(parts) + "\n", tuple(notes))


@dataclass(frozen=True)
class Names:
    """What levels, tensors and dimensions are called in the LoopTree."""

    levels: Mapping[str, str]
    tensors: Mapping[str, str]
    dims: Mapping[str, str]
    einsum: str

    def fanout(self, level: str) -> str:
        """The name of the spatial dimension below a level."""
        return f"{self.levels[level]}_fanout"


def names_of(spec: Spec) -> Names:
    """Names for levels, tensors and dimensions that LoopTree accepts."""
    levels = (
        (*spec.architecture.level_names, spec.architecture.arithmetic.name)
        if spec.architecture
        else ()
    )
    tensors = spec.problem.tensor_names if spec.problem else ()
    dims = spec.problem.dims if spec.problem else ()
    return Names(
        names_for(levels, False),
        names_for(tensors, False),
        names_for(dims, True),
        next(iter(names_for([spec.problem.name], False).values())) if spec.problem else "Einsum",
    )


def _architecture(
    architecture: Architecture, mapping: LevelMappings | None, names: Names
) -> list[str]:
    lines = ["arch:", "  nodes:"]
    separate = {level.level: level.no_multicast for level in mapping.levels} if mapping else {}
    for index, level in enumerate(architecture.levels):
        if level.entries != 0:
            lines += _memory(level, names)
        fanout = architecture.fanout(index)
        if fanout != (1, 1):
            kept = [
                tensor
                for name, tensor in names.tensors.items()
                if name not in separate.get(level.name, frozenset())
            ]
            reuse = (
                ""
                if not separate.get(level.name)
                else f", may_reuse: {' | '.join(kept) or 'Nothing'}"
            )
            lines += [
                "  - !Container",
                f"    name: {names.fanout(level.name)}",
                "    spatial:",
                *(
                    f"    - {{name: {axis}, fanout: {size}{reuse}}}"
                    for axis, size in zip("XY", fanout, strict=True)
                    if size > 1
                ),
            ]
    unit = architecture.arithmetic
    lines += [
        "  - !Compute",
        f"    name: {names.levels[unit.name]}",
        f"    leak_power: {number(unit.leak * _PICO)}",
        "    actions:",
        f"    - {{name: compute, energy: {number(unit.energy * _PICO)}, throughput: 1}}",
    ]
    return lines


def _memory(level: Buffer, names: Names) -> list[str]:
    size = "inf" if level.capacity is None else str(level.capacity * level.word_bits)
    block = level.word_bits * level.block_size
    return [
        "  - !Memory",
        f"    name: {names.levels[level.name]}",
        f"    size: {size}",
        f"    bits_per_value: {{All: {level.word_bits}}}",
        f"    leak_power: {number(level.energy.leak * _PICO)}",
        f"    total_latency: {_latency(level)}",
        "    actions:",
        (
            f"    - {{name: read, energy: {number(level.energy.read * _PICO)}, bits_per_action:"
            f" {block}, throughput: inf}}"
        ),
        (
            f"    - {{name: write, energy: {number(level.energy.fill * _PICO)}, bits_per_action:"
            f" {block}, throughput: inf}}"
        ),
    ]


def _latency(level: Buffer) -> str:
    """Cycles of one instance: each port by itself, and both together where they share one."""
    block = level.block_size
    parts = []
    for action, bandwidth in (("read", level.read_bandwidth), ("write", level.write_bandwidth)):
        if bandwidth is not None:
            parts.append(f"actions['{action}'].n_calls * {number(Fraction(block) / bandwidth)}")
    if level.shared_bandwidth is not None:
        parts.append(
            f"sum(a.n_calls for a in actions) * {number(Fraction(block) / level.shared_bandwidth)}"
        )
    if not parts:
        return "0"
    return f'"{parts[0]}"' if len(parts) == 1 else f'"max({", ".join(parts)})"'


def _workload(problem: Problem, architecture: Architecture | None, names: Names) -> list[str]:
    bits = architecture.arithmetic.word_bits if architecture else 8
    lines = ["workload:", "  iteration_space_shape:"]
    lines += [
        f"    {names.dims[dim]}: 0 <= {names.dims[dim]} < {problem.bounds[dim]}"
        for dim in problem.dims
    ]
    lines += [
        f"  bits_per_value: {{All: {bits}}}",
        "  einsums:",
        f"  - name: {names.einsum}",
        "    tensor_accesses:",
    ]
    for tensor in problem.tensors:
        ranks = ", ".join(
            f"R{index}: {_index(tensor, index, names)}" for index in range(len(tensor.ranks))
        )
        output = ", output: true" if tensor.read_write else ""
        lines.append(
            f"    - {{name: {names.tensors[tensor.name]}, projection: {{{ranks}}}{output}}}"
        )
    return lines


def _index(tensor: Tensor, rank: int, names: Names) -> str:
    terms = [
        (
            names.dims[term.dim]
            if term.coefficient == 1
            else f"{term.coefficient}*{names.dims[term.dim]}"
        )
        for term in tensor.ranks[rank]
    ]
    return " + ".join(terms) if terms else "0"


@dataclass(frozen=True)
class _Step:
    """A loop of the mapping at a level; spatial ones have an axis. `tile`: the extent below it."""

    loop: Loop
    level: int
    tile: int


def tree_of(
    architecture: Architecture, problem: Problem, mapping: LevelMappings, names: Names
) -> tuple[TreeMapping, bool]:
    """The mapping as a tree, and whether any storage node had to move."""
    steps = list(_steps(mapping))
    starts = [
        sum(step.level < level for step in steps) for level in range(len(architecture.levels))
    ]
    nodes: list[tuple[int, int, str]] = []
    moved = False
    for tensor in problem.tensors:
        outer = 0
        for level, each in enumerate(mapping.levels):
            if tensor.name in each.keep:
                position = starts[level]
                if tensor.name not in each.no_temporal_reuse and any(
                    node[2] == tensor.name for node in nodes
                ):
                    position = _raised(steps, tensor, position, outer)
                moved = moved or position != starts[level]
                nodes.append((position, level, tensor.name))
                outer = position
    order = sorted(nodes, key=lambda node: (node[0], node[1], problem.tensor_names.index(node[2])))
    leaves: list[Leaf] = []
    for index in range(len(steps) + 1):
        for position, level, name in order:
            if position == index:
                leaves.append(
                    Storage((names.tensors[name],), names.levels[architecture.levels[level].name])
                )
        if index < len(steps):
            leaves.append(_loop(architecture, steps[index], names))
    return (
        TreeMapping(
            (*_gathered(leaves), Compute(names.einsum, names.levels[architecture.arithmetic.name]))
        ),
        moved,
    )


def _steps(mapping: LevelMappings) -> Iterator[_Step]:
    """All loops with more than one iteration, outer to inner, with the extents of their tiles."""
    listed = [
        (level, loop)
        for level, each in enumerate(mapping.levels)
        for loop in (*each.temporal, *each.spatial)
        if loop.bound > 1 or loop.last > 1
    ]
    tiles: dict[str, int] = {}
    backwards = []
    for level, loop in reversed(listed):
        tile = tiles.get(loop.dim, 1)
        backwards.append(_Step(loop, level, tile))
        tiles[loop.dim] = tile * loop.bound
    yield from reversed(backwards)


def _raised(steps: list[_Step], tensor: Tensor, position: int, outer: int) -> int:
    """The highest position to which a node can move without its tile changing: above loops that do
    not index the tensor.

    Where a spatial loop is written does not matter to a node, so these are passed as well, if that
    leads anywhere.
    """
    best = position
    for index in range(position - 1, outer - 1, -1):
        loop = steps[index].loop
        if loop.axis:
            continue
        if loop.dim in tensor.dims:
            break
        best = index
    return best


def _loop(architecture: Architecture, step: _Step, names: Names) -> Leaf:
    dim = names.dims[step.loop.dim]
    if step.loop.axis:
        return Spatial(
            dim, step.tile, names.fanout(architecture.levels[step.level].name), step.loop.axis
        )
    return Temporal(dim, step.tile)


def _gathered(leaves: list[Leaf]) -> Iterator[Leaf]:
    """Storage nodes of one component that follow each other as one."""
    waiting: Storage | None = None
    for leaf in leaves:
        if (
            isinstance(leaf, Storage)
            and waiting is not None
            and leaf.component == waiting.component
        ):
            waiting = Storage((*waiting.tensors, *leaf.tensors), leaf.component)
            continue
        if waiting is not None:
            yield waiting
        waiting = leaf if isinstance(leaf, Storage) else None
        if waiting is None:
            yield leaf
    if waiting is not None:
        yield waiting
