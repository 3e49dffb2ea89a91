"""Random small problems, architectures and mappings for Hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer, Network
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.problem import Problem, Tensor, Term

MOST_OPERATIONS = 400


@dataclass(frozen=True)
class Case:
    """One thing to evaluate."""

    architecture: Architecture
    problem: Problem
    mapping: Mapping

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        """The part that decides about words, in brief."""
        tensors = [
            f"{t.name}{[[(x.dim, x.coefficient) for x in rank] for rank in t.ranks]}"
            for t in self.problem.tensors
        ]
        written = [t.name for t in self.problem.tensors if t.read_write]
        lines = [f"{dict(self.problem.bounds)} {' '.join(tensors)} writes {written}"]
        for index, level in enumerate(self.mapping.levels):
            loops = " ".join(str(loop) for loop in (*level.temporal, *level.spatial))
            flags = (
                f"{set(level.no_temporal_reuse)} {set(level.no_multicast)}"
                f" {set(level.no_link_transfer)}"
            )
            lines.append(
                f"{level.level} {self.architecture.fanout(index)}: {loops}; keep {set(level.keep)}"
                f" no {flags}"
            )
        return "\n".join(lines)


def tensor(name: str, *ranks: Sequence[tuple[str, int] | str], read_write: bool = False) -> Tensor:
    terms = tuple(
        tuple(Term(t) if isinstance(t, str) else Term(*t) for t in rank) for rank in ranks
    )
    return Tensor(name, terms, read_write)


def each_word(price: float) -> AccessEnergy:
    """A level that pays the same in pJ for each word that it reads, is filled with or updates."""
    return AccessEnergy(*[Fraction(str(price))] * 3)


@st.composite
def bounds_of(draw: st.DrawFn, dims: str, most: int) -> dict[str, int]:
    """Bounds of up to 8 (24 for larger problems) with a product of at most `most`."""
    left, bounds = most, {}
    for dim in draw(st.permutations(dims)):
        bounds[dim] = draw(st.integers(1, max(1, min(8 if most <= MOST_OPERATIONS else 24, left))))
        left //= bounds[dim]
    return {dim: bounds[dim] for dim in dims}


@st.composite
def problems(draw: st.DrawFn, most: int = MOST_OPERATIONS) -> Problem:
    """Matrix products, (depthwise) convolutions with strides and dilations, MTTKRP, and stranger
    index expressions.
    """
    kind = draw(
        st.sampled_from(
            ["matmul", "conv1d", "conv2d", "depthwise", "mttkrp", "diagonal", "mirror", "scatter"]
        )
    )
    step, gap = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    window = [("P", step), ("R", gap)]
    if kind == "matmul":
        dims, tensors = (
            "MNK",
            (tensor("A", "M", "K"), tensor("B", "K", "N"), tensor("Z", "M", "N", read_write=True)),
        )
    elif kind == "conv1d":
        dims = "CKRP"
        tensors = (
            tensor("W", "C", "K", "R"),
            tensor("I", "C", window),
            tensor("O", "K", "P", read_write=True),
        )
    elif kind == "conv2d":
        dims = "CPQRS"
        other = [("Q", draw(st.integers(1, 2))), ("S", draw(st.integers(1, 2)))]
        tensors = (
            tensor("W", "C", "R", "S"),
            tensor("I", "C", window, other),
            tensor("O", "P", "Q", read_write=True),
        )
    elif kind == "depthwise":
        dims = "GRPN"
        tensors = (
            tensor("W", "G", "R"),
            tensor("I", "N", "G", window),
            tensor("O", "N", "G", "P", read_write=True),
        )
    elif kind == "mttkrp":
        dims = "IJKL"
        tensors = (
            tensor("A", "I", "K", "L"),
            tensor("B", "K", "J"),
            tensor("C", "L", "J"),
            tensor("Z", "I", "J", read_write=True),
        )
    elif kind == "diagonal":
        dims, tensors = (
            "MNK",
            (tensor("A", "M", "M", "K"), tensor("Z", "M", ["N", "M"], read_write=True)),
        )
    elif kind == "mirror":
        dims, tensors = (
            "PRC",
            (tensor("I", "C", [("P", 1), ("R", -gap)]), tensor("Z", "P", "C", read_write=True)),
        )
    else:
        dims, tensors = (
            "PRK",
            (tensor("I", "K", "P"), tensor("W", "R"), tensor("O", "K", window, read_write=True)),
        )
    return Problem(kind, tuple(dims), draw(bounds_of(dims, most)), tensors)


@st.composite
def splits(draw: st.DrawFn, bound: int, slots: int, perfect: bool) -> list[tuple[int, int]]:
    """`slots` factors (bound, last), outer to inner, that cover `bound` iterations."""
    factors = []
    left = bound
    for _ in range(slots - 1):
        choices = (
            [f for f in range(1, left + 1) if left % f == 0]
            if perfect
            else list(range(1, left + 1))
        )
        factor = draw(st.sampled_from(choices))
        rounds = -(-left // factor)
        factors.append((factor, left - (rounds - 1) * factor))
        left = rounds
    factors.append((left, left))
    return list(reversed(factors))


@st.composite
def mappings(draw: st.DrawFn, problem: Problem, depth: int, perfect: bool) -> Mapping:
    """Mappings of any order, with spatial loops below every level, bypass, and reuse switched off
    here and there.
    """
    spread = [draw(st.integers(0, 2)) for _ in range(depth)]
    slots = [
        (level, axis) for level in range(depth) for axis in ("", "Y", "X")[: 1 + spread[level]]
    ]
    loops: dict[tuple[int, str], list[Loop]] = {slot: [] for slot in slots}
    for dim in problem.dims:
        for slot, (bound, last) in zip(
            slots, draw(splits(problem.bounds[dim], len(slots), perfect)), strict=True
        ):
            if bound > 1 or draw(st.booleans()):
                loops[slot].append(Loop(dim, bound, last, slot[1]))
    names = frozenset(problem.tensor_names)
    some = st.one_of(st.just(frozenset[str]()), st.frozensets(st.sampled_from(sorted(names))))
    keeps = [
        draw(st.one_of(st.just(names), st.frozensets(st.sampled_from(sorted(names)))))
        for _ in range(depth)
    ]
    nowhere = names.difference(*keeps)
    levels = []
    for level in range(depth):
        temporal = tuple(draw(st.permutations(loops[level, ""])))
        spatial = tuple(
            loop for axis in "YX" for loop in draw(st.permutations(loops.get((level, axis), [])))
        )
        keep = keeps[level] | (nowhere if level == 0 else frozenset())
        levels.append(
            LevelMapping(f"L{level}", temporal, spatial, keep, draw(some), draw(some), draw(some))
        )
    return Mapping(tuple(levels))


prices = st.builds(lambda pence: Fraction(pence, 100), st.integers(0, 900))


@st.composite
def architectures(draw: st.DrawFn, mapping: Mapping) -> Architecture:
    """Levels that offer at least the instances that `mapping` uses, with every figure that costs
    something drawn at random.
    """
    mesh_x = mesh_y = 1
    levels = []
    for level in mapping.levels:
        instances = mesh_x * mesh_y
        levels.append(draw(buffers(level.level, mesh_x, mesh_y, instances)))
        used = dict.fromkeys("XY", 1)
        for loop in level.spatial:
            used[loop.axis] *= loop.bound
        mesh_x *= used["X"] * draw(st.integers(1, 2)) + draw(st.sampled_from([0, 0, 1]))
        mesh_y *= used["Y"] + draw(st.sampled_from([0, 0, 1]))
    units = Arithmetic("MAC", mesh_x * mesh_y, mesh_x, mesh_y, energy=draw(prices))
    return Architecture("random", tuple(levels), units)


@st.composite
def buffers(draw: st.DrawFn, name: str, mesh_x: int, mesh_y: int, instances: int) -> Buffer:
    bandwidth = st.one_of(st.none(), st.builds(Fraction, st.integers(1, 12), st.integers(1, 3)))
    network = Network(
        f"below {name}",
        wire_energy=draw(st.one_of(st.none(), prices)),
        router_energy=draw(prices),
        ingress_energy=draw(prices),
        energy_per_hop=draw(st.one_of(st.none(), prices)),
        tile_width=draw(st.one_of(st.none(), prices)),
    )
    return Buffer(
        name,
        None,
        instances,
        mesh_x,
        mesh_y,
        block_size=draw(st.sampled_from([1, 1, 2, 4])),
        cluster_size=draw(st.sampled_from([1, 1, 2, 3, 4])),
        read_bandwidth=draw(bandwidth),
        write_bandwidth=draw(bandwidth),
        shared_bandwidth=draw(bandwidth),
        reduction_supported=draw(st.booleans()),
        address_energy=draw(prices),
        energy=AccessEnergy(draw(prices), draw(prices), draw(prices)),
        area=draw(prices),
        network=network,
    )


@st.composite
def cases(draw: st.DrawFn, perfect: bool | None = None, most: int = MOST_OPERATIONS) -> Case:
    """A problem of at most `most` operations, a mapping of it, and an architecture on which the
    mapping fits.
    """
    problem = draw(problems(most))
    even = draw(st.booleans()) if perfect is None else perfect
    mapping = draw(mappings(problem, draw(st.integers(1, 4)), even))
    return Case(draw(architectures(mapping)), problem, mapping)
