"""Random small mapspaces with every feature that the solver knows, made from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer, Network
from solver_mapper.core.constraints import (
    Constraint,
    Constraints,
    FactorConstraint,
    KeepConstraint,
    PermutationConstraint,
    ReuseConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.core.spec import Spec
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.strategies import tensor


@dataclass(frozen=True)
class Instance:
    """A mapspace to search, printable as what made it."""

    seed: int
    architecture: Architecture
    problem: Problem
    constraints: Constraints

    @property
    def spec(self) -> Spec:
        return Spec(self.architecture, self.problem, constraints=self.constraints)

    @property
    def mapspace(self) -> EnumeratedMapspace:
        return EnumeratedMapspace(self.architecture, self.problem, self.constraints)

    def __repr__(self) -> str:
        tensors = [
            f"{t.name}{[[(x.dim, x.coefficient) for x in rank] for rank in t.ranks]}"
            for t in self.problem.tensors
        ]
        lines = [f"seed {self.seed}: {dict(self.problem.bounds)} {' '.join(tensors)}"]
        lines += [
            f"  {buffer}" for buffer in (*self.architecture.levels, self.architecture.arithmetic)
        ]
        lines += [f"  {constraint}" for constraint in self.constraints]
        return "\n".join(lines)


def odd_instance(seed: int, most: int) -> Instance:
    """A random mapspace of at most `most` loop nests that also has what `instance` never draws:
    dimensions that stand several times in an index, mixed signs, strides above kernels, declared
    networks of every kind, prices of many digits and any magnitude, instances that are not in whole
    clusters.
    """
    made = instance(seed, most, [*SHAPES, *ODD_SHAPES])
    random = Random(seed)
    architecture = made.architecture
    if random.random() < 0.4:
        architecture = _declare_networks(random, architecture)
    if random.random() < 0.4:
        architecture = _odd_prices(random, architecture)
    made = replace(made, architecture=architecture)
    return in_odd_clusters(made) if random.random() < 0.3 else made


def in_odd_clusters(made: Instance) -> Instance:
    """The same with levels whose instances are in clusters of any size: the last one may not be
    whole, or no one.
    """
    random, levels = Random(made.seed), []
    for level in made.architecture.levels:
        sizes = [1] if level.instances == 1 else [1, 2, 3, 4, level.instances, 2 * level.instances]
        levels.append(replace(level, cluster_size=random.choice(sizes)))
    return replace(made, architecture=replace(made.architecture, levels=tuple(levels)))


def instance(
    seed: int, most: int = 500, shapes: Sequence[str] = (), wired: bool = True
) -> Instance:
    """A random mapspace of at most `most` loop nests, and rarely of very few; the same for the same
    arguments.

    `shapes` are names of `SHAPES`, `ODD_SHAPES` or `SCATTERED_SHAPES` (none: all of `SHAPES`);
    `wired` says whether networks may charge for what passes.
    """
    random = Random(seed)
    while True:
        architecture, problem = (
            _architecture(random, wired),
            _problem(random, shapes or list(SHAPES)),
        )
        made = Instance(seed, architecture, problem, _constraints(random, architecture, problem))
        nests = made.mapspace.count(most)
        if nests is not None and (nests >= 20 or random.random() < 0.1):
            return made


def _problem(random: Random, shapes: Sequence[str]) -> Problem:
    step, gap = random.choice([(1, 1), (1, 1), (2, 1), (1, 2), (3, 1), (2, 2), (1, 3), (3, 2)])
    window = [("P", step), ("R", gap)]
    kind = random.choice(shapes)
    dims, tensors = (SHAPES | ODD_SHAPES | SCATTERED_SHAPES)[kind](window, random)
    left = random.choice([8, 16, 24, 36, 48])
    bounds = dict.fromkeys(dims, 1)
    for dim in random.sample(list(dims), len(dims)):
        bounds[dim] = random.choice([b for b in (1, 2, 2, 3, 3, 4, 4, 5, 6, 8, 9) if b <= left])
        left //= bounds[dim]
    return Problem(kind, tuple(dims), bounds, tensors)


Window = list[tuple[str, int]]
SHAPES = {
    "matmul": lambda w, r: (
        "MNK",
        (tensor("A", "M", "K"), tensor("B", "K", "N"), _out("Z", "M", "N")),
    ),
    "batched": lambda w, r: (
        "BMNK",
        (tensor("A", "B", "M", "K"), tensor("V", "B", "K", "N"), _out("Z", "B", "M", "N")),
    ),
    "conv1d": lambda w, r: (
        "CKRP",
        (tensor("W", "C", "K", "R"), tensor("I", "C", w), _out("O", "K", "P")),
    ),
    "conv2d": lambda w, r: (
        "CPQRS",
        (
            tensor("W", "C", "R", "S"),
            tensor("I", "C", w, [("Q", r.choice([1, 2])), "S"]),
            _out("O", "P", "Q"),
        ),
    ),
    "depthwise": lambda w, r: (
        "GRPN",
        (tensor("W", "G", "R"), tensor("I", "N", "G", w), _out("O", "N", "G", "P")),
    ),
    "mttkrp": lambda w, r: (
        "IJKL",
        (
            tensor("A", "I", "K", "L"),
            tensor("B", "K", "J"),
            tensor("C", "L", "J"),
            _out("Z", "I", "J"),
        ),
    ),
    "diagonal": lambda w, r: ("MNK", (tensor("A", "M", "M", "K"), _out("Z", "M", ["N", "M"]))),
    "mirror": lambda w, r: ("PRC", (tensor("I", "C", ["P", ("R", -w[1][1])]), _out("Z", "P", "C"))),
    "scatter": lambda w, r: ("PRK", (tensor("I", "K", "P"), tensor("W", "R"), _out("O", "K", w))),
    "strided": lambda w, r: (
        "PKC",
        (tensor("I", "C", [("P", w[0][1] + 1)]), tensor("W", "C", "K"), _out("O", "K", "P")),
    ),
    "window3": lambda w, r: (
        "PRSK",
        (tensor("I", "K", [*w, "S"]), tensor("W", "R", "S"), _out("O", "K", "P")),
    ),
}
ODD_SHAPES = {
    "twice": lambda w, r: (
        "MK",
        (tensor("A", ["M", "M", "K"]), tensor("B", "K"), _out("Z", "M")),
    ),
    "cancels": lambda w, r: (
        "MKN",
        (tensor("A", [("M", 3), ("M", -2), "K"], "N"), _out("Z", "M", "N")),
    ),
    "vanishes": lambda w, r: ("MK", (tensor("A", ["M", ("M", -1), "K"]), _out("Z", "M"))),
    "signs": lambda w, r: (
        "PRSK",
        (tensor("I", [("P", 2), ("R", -1), "S"], "K"), tensor("W", "R", "S"), _out("O", "P", "K")),
    ),
    "sparse": lambda w, r: (
        "KRP",
        (
            tensor("I", [("P", r.choice([4, 5, 7])), "R"]),
            tensor("W", "K", "R"),
            _out("O", "K", "P"),
        ),
    ),
    "dilated": lambda w, r: (
        "PRS",
        (tensor("I", [("P", 3), ("R", 2), ("S", 5)]), tensor("W", "R", "S"), _out("O", "P")),
    ),
    "shared": lambda w, r: (
        "PRK",
        (tensor("I", ["P", "R"], ["R", "K"]), _out("O", "P", "K")),
    ),
}
"""Indices that real problems rarely have."""
SCATTERED_SHAPES = {
    "transposed": lambda w, r: (
        "CKRP",
        (tensor("W", "C", "K", "R"), tensor("I", "C", "P"), _out("O", "K", w)),
    ),
    "transposed2d": lambda w, r: (
        "CPQRS",
        (
            tensor("W", "C", "R", "S"),
            tensor("I", "C", "P", "Q"),
            _out("O", w, [("Q", r.choice([1, 2])), "S"]),
        ),
    ),
    "input gradient": lambda w, r: (
        "GRPN",
        (tensor("W", "G", "R"), tensor("O", "N", "G", "P"), _out("I", "N", "G", w)),
    ),
    "scattered": lambda w, r: (
        "PRQK",
        (
            tensor("I", "K", "P", "Q"),
            tensor("W", "K", "R"),
            _out("O", w, [("Q", r.choice([2, 3]))]),
        ),
    ),
}
"""Partial sums of sliding windows."""
PLAIN = ("matmul", "batched", "mttkrp")
"""Shapes whose tensors are indexed by one dimension a rank."""


def _out(name: str, *ranks: Sequence[tuple[str, int] | str]) -> Tensor:
    return tensor(name, *ranks, read_write=True)


def _architecture(random: Random, wired: bool) -> Architecture:
    depth = random.choice([1, 2, 2, 2, 3, 3])
    mesh_x = mesh_y = 1
    levels = []
    plain = random.random() < 0.4
    leak = Fraction(random.randint(1, 50), 10) if random.random() < 0.2 else Fraction(0)
    for index in range(depth):
        levels.append(_buffer(random, index, mesh_x, mesh_y, plain, leak, wired))
        if random.random() < 0.6:
            mesh_x *= random.choice([2, 2, 3, 4])
            if random.random() < 0.4:
                mesh_y *= random.choice([2, 2, 3])
    units = Arithmetic("MAC", mesh_x * mesh_y, mesh_x, mesh_y, energy=_price(random), leak=leak / 2)
    return Architecture("random", tuple(levels), units)


def _declare_networks(random: Random, architecture: Architecture) -> Architecture:
    """Each level's network declared, of any kind."""
    levels = []
    for buffer in architecture.levels:
        network = Network(
            f"declared below {buffer.name}",
            kind=random.choice(["Legacy", "ReductionTree", "SimpleMulticast"]),
            router_energy=_price(random),
            energy_per_hop=_price(random),
            ingress_energy=_price(random),
            adder_energy=_price(random),
            multicast_energies=((1, _price(random)), (2, _price(random) + 9)),
            declared=True,
        )
        levels.append(replace(buffer, network=network))
    return replace(architecture, levels=tuple(levels))


def _odd_prices(random: Random, architecture: Architecture) -> Architecture:
    """Energies of many digits, all of one magnitude between 1e-9 and 1e9."""
    unit = Fraction(10) ** random.choice([-18, -14, -9, -5, 0])

    def price() -> Fraction:
        return random.randint(0, 999_999_999) * unit

    levels = [
        replace(buffer, energy=AccessEnergy(price(), price(), price(), buffer.energy.leak * unit))
        for buffer in architecture.levels
    ]
    units = replace(architecture.arithmetic, energy=price(), leak=Fraction(0))
    return replace(architecture, levels=tuple(levels), arithmetic=units)


def _price(random: Random) -> Fraction:
    return Fraction(random.randint(0, 900), 100)


def _bandwidth(random: Random) -> Fraction | None:
    return None if random.random() < 0.6 else Fraction(random.randint(1, 12), random.randint(1, 3))


def _buffer(
    random: Random,
    index: int,
    mesh_x: int,
    mesh_y: int,
    plain: bool,
    leak: Fraction,
    network_links: bool,
) -> Buffer:
    instances = mesh_x * mesh_y
    scale = 20 if index == 0 else 1
    energy = AccessEnergy(
        _price(random) * scale, _price(random) * scale, _price(random) * scale, leak
    )
    entries = (
        None
        if index == 0 or random.random() < 0.2
        else random.choice([2, 4, 6, 8, 10, 12, 16, 24, 32, 64])
    )
    if plain:
        return Buffer(f"L{index}", entries, instances, mesh_x, mesh_y, energy=energy)
    wired = network_links and random.random() < 0.3
    network = Network(
        f"below L{index}",
        router_energy=_price(random),
        energy_per_hop=_price(random),
        ingress_energy=_price(random),
        fill_latency=random.choice([0, 2]),
    )
    limited = random.random() < 0.4
    return Buffer(
        f"L{index}",
        entries,
        instances,
        mesh_x,
        mesh_y,
        block_size=random.choice([1, 1, 1, 2, 4]),
        cluster_size=random.choice([c for c in (1, 1, 2, 3) if instances % c == 0]),
        multiple_buffering=random.choice([Fraction(1)] * 4 + [Fraction(2)]),
        min_utilization=Fraction(1, 2) if entries and random.random() < 0.1 else Fraction(0),
        read_bandwidth=_bandwidth(random) if limited else None,
        write_bandwidth=_bandwidth(random) if limited else None,
        shared_bandwidth=_bandwidth(random) if limited else None,
        reduction_supported=random.random() < 0.7,
        address_energy=random.choice([Fraction(0), Fraction(0), _price(random)]),
        energy=energy,
        network=network if wired else None,
    )


def _constraints(random: Random, architecture: Architecture, problem: Problem) -> Constraints:
    constraints: list[Constraint] = []
    for index, buffer in enumerate(architecture.levels):
        kinds = ["temporal"] + (["spatial"] if max(architecture.fanout(index)) > 1 else [])
        for kind in kinds:
            if random.random() < 0.2:
                constraints += _factor_rules(random, buffer.name, kind, problem)
            if random.random() < 0.2:
                constraints.append(_permutation(random, buffer.name, kind, problem))
        if len(kinds) > 1 and random.random() < 0.2:
            constraints.append(
                SplitConstraint(buffer.name, "split", random.randint(0, len(problem.dims)))
            )
        for tensor_name in problem.tensor_names:
            if random.random() < 0.2:
                keep = random.random() < 0.6 if index else random.random() < 0.9
                constraints.append(KeepConstraint(buffer.name, "keep", tensor_name, keep))
        for flag in ("no_temporal_reuse", "no_multicast", "no_link_transfer"):
            if random.random() < 0.08:
                some = random.sample(
                    problem.tensor_names, random.randint(1, len(problem.tensor_names))
                )
                constraints.append(ReuseConstraint(buffer.name, flag, flag, frozenset(some)))
    if random.random() < 0.1:
        constraints.append(
            UtilizationConstraint(
                architecture.levels[-1].name, "utilization", Fraction(random.randint(1, 2), 4)
            )
        )
    return Constraints(tuple(constraints))


def _factor_rules(random: Random, level: str, kind: str, problem: Problem) -> list[Constraint]:
    constraints: list[Constraint] = []
    for dim in random.sample(problem.dims, random.randint(1, 2)):
        comparison = random.choice(["==", "==", "<=", "<=", "<=", ">=", "!=", "<"])
        constraints.append(
            FactorConstraint(
                level,
                "factor",
                kind,
                dim,
                comparison,
                random.choice([1, 1, 2, *divisors(problem.bounds[dim])]),
            )
        )
    return constraints


def _permutation(random: Random, level: str, kind: str, problem: Problem) -> PermutationConstraint:
    dims = random.sample(problem.dims, len(problem.dims))
    cut = random.randint(0, len(dims))
    end = random.choice([len(dims), random.randint(cut, len(dims))])
    return PermutationConstraint(
        level, "permutation", kind, tuple(dims[:cut]), tuple(dims[end:]), random.random() < 0.2
    )
