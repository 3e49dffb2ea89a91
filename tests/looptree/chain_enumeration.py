"""Small random chains of two Einsums; their optimum over every mapping, fused or not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from random import Random

from tests.looptree.enumeration import Dim, Enumeration, Memory, Path, Problem, Step, factorings

TENSORS = (
    {"T0": ["m", "a"], "W0": ["a", "b"], "T1": ["m", "b"]},
    {"T1": ["m", "b"], "W1": ["b", "c"], "T2": ["m", "c"]},
)
Point = tuple[Fraction, Fraction, tuple[tuple[int, int], ...]]
"""Energy, latency, and for each finite memory: bits held while the other Einsum runs, and all bits
while this one runs.
"""


@dataclass
class Chain:
    einsums: tuple[Problem, Problem]
    fusing: bool

    def text(self) -> str:
        one, two = (problem.text() for problem in self.einsums)
        arch, workload = one.split("workload:")
        keep = "keep: ~Intermediates, may_keep: All" if self.fusing else "keep: All"
        arch = arch.replace("keep: T0 | W0 | T1, may_keep: Nothing", keep)
        arch = arch.replace("T0 | W0 | T1", "All").replace(
            "keep: W0, may_keep: W0", "keep: W0 | W1, may_keep: Nothing"
        )
        head, tail = two.split("workload:")[1].split("  einsums:\n")
        names = {
            line.split(":")[0].strip(): line
            for part in (workload.split("  einsums:\n")[0], head)
            for line in part.splitlines()
            if "<" in line
        }
        first = workload.split("  einsums:\n")[1].replace("name: E\n", "name: E0\n")
        second = tail.replace("name: E\n", "name: E1\n")
        return (
            arch
            + "workload:\n  iteration_space_shape:\n"
            + "\n".join(names.values())
            + "\n  bits_per_value: {All: 1}\n  einsums:\n"
            + first
            + second
        )


def random_chain(seed: int) -> Chain:
    rng = Random(seed)
    bounds = {name: rng.choice([2, 2, 3] if name in "mb" else [1, 2, 2]) for name in "mabc"}
    size, read, write = rng.choice([6, 8, 10, 14, 20]), rng.choice([2, 4]), rng.choice([2, 5])
    dram = rng.choice([20, 50]), rng.choice([20, 60]), rng.choice([None, 2])
    rate, leak, objective = (
        rng.choice([None, 2, 8]),
        rng.choice([0, 0, 3]),
        rng.choice(["energy", "energy", "latency", "edp"]),
    )
    spread = rng.random() < 0.3
    inner = rng.choice(["W0", "T1"]) if rng.random() < 0.2 else None
    inner_size = rng.choice([1, 2])
    problems = []
    for index, tensors in enumerate(TENSORS):
        memories = [
            Memory("Dram", 0, None, *dram, list(tensors), []),
            Memory("Sram", 1, size, read, write, rate, [], list(tensors)),
        ]
        if inner is not None:
            kept = [{"W0": "W1"}.get(inner, inner) if index else inner]
            memories.append(Memory("Regs", 3 if spread else 2, inner_size, 1, 1, None, kept, kept))
        dims = [Dim(2, 2, list(tensors), [], None, Fraction(0))] if spread else []
        used = {name: bounds[name] for ranks in tensors.values() for name in ranks}
        problems.append(
            Problem(tensors, "T1" if not index else "T2", used, memories, dims, leak, objective)
        )
    return Chain((problems[0], problems[1]), rng.random() < 0.85)


class ChainEnumeration:
    def __init__(self, chain: Chain):
        self.chain = chain

    def best(self) -> Fraction:
        """The least value of the objective over all legal mappings."""
        problems = self.chain.einsums
        objective, sizes = (
            problems[0].objective,
            [memory.size for memory in problems[0].memories if memory.size],
        )
        apart = [pareto(self.points(problem, None, 0)) for problem in problems]
        least = min(value(objective, one, two) for one in apart[0] for two in apart[1])
        spread = any(problem.dims for problem in problems)
        for level, shared in (
            itertools.product([1] if spread else [1, 2], self.shared_loops())
            if self.chain.fusing
            else ()
        ):
            left, right = (pareto(self.points(problem, shared, level)) for problem in problems)
            for one, two in itertools.product(left, right):
                if all(
                    a[1] + b[0] <= size and b[1] + a[0] <= size
                    for a, b, size in zip(one[2], two[2], sizes, strict=True)
                ):
                    least = min(least, value(objective, one, two))
        return least

    def shared_loops(self) -> Iterator[list[tuple[str, int]]]:
        """Every order of at most one loop over each rank of T1, with every number of iterations."""
        bounds = self.chain.einsums[0].bounds
        for count in range(3):
            for names in itertools.permutations("mb", count):
                for trips in itertools.product(
                    *(
                        [t for t in range(2, bounds[name] + 1) if bounds[name] % t == 0]
                        for name in names
                    )
                ):
                    yield list(zip(names, trips, strict=True))

    def points(
        self, problem: Problem, shared: list[tuple[str, int]] | None, level: int
    ) -> Iterator[Point]:
        """Every mapping of one Einsum, fused at a level below these loops (None: not fused)."""
        single = Fusing(problem, shared, level)
        for path, depth in single.all_paths():
            cost = single.cost(path)
            for order in single.orders_below(path, depth):
                bits = [
                    (single.bits(order, depth, memory.level), memory.size)
                    for memory in problem.memories
                    if memory.size
                ]
                if all(used <= size for (_, used), size in bits):
                    yield *cost, tuple(each for each, _ in bits)


class Fusing(Enumeration):
    """One Einsum that shares loops with another."""

    def __init__(self, problem: Problem, shared: list[tuple[str, int]] | None, level: int):
        super().__init__(problem)
        self.handed, self.level = shared, level

    def cost(self, path: Path) -> tuple[Fraction, Fraction]:
        wanted = self.p.objective
        result = []
        for name in ("energy", "latency"):
            self.p.objective = name
            result.append(self.value(path) or Fraction(0))
        self.p.objective = wanted
        return result[0], result[1]

    def all_paths(self) -> Iterator[tuple[Path, int]]:
        """Paths, with the number of steps that are shared or stand above what is shared."""
        for holders in self.storage():
            if self.handed is None:
                if all((0, tensor) in holders for tensor in self.p.tensors):
                    yield from ((path, 0) for path in self.paths(holders))
            else:
                yield from self.fused_paths([holder for holder in holders if holder != (0, "T1")])

    def fused_paths(self, holders: list[tuple[int, str]]) -> Iterator[tuple[Path, int]]:
        if (
            next((level for level, tensor in holders if tensor == "T1"), None) != self.level
            or self.handed is None
        ):
            return
        roots = [holder for holder in holders if holder[0] == 0]
        nodes = holders[len(roots) :]
        place = nodes.index((self.level, "T1"))
        for cuts in itertools.combinations_with_replacement(range(place + 1), len(self.handed)):
            steps = [Step("hold", tensor, level) for level, tensor in roots]
            for index in range(place + 1):
                steps += [
                    Step("for", name, trips=trips)
                    for cut, (name, trips) in zip(cuts, self.handed, strict=True)
                    if cut == index
                ]
                steps.append(Step("hold", nodes[index][1], nodes[index][0]))
            yield from self.completed(steps, nodes[place + 1 :])

    def completed(
        self, above: list[Step], nodes: list[tuple[int, str]]
    ) -> Iterator[tuple[Path, int]]:
        """Loops of this Einsum alone, below what it shares."""
        left = dict(self.p.bounds)
        for step in above:
            if step.kind == "for":
                left[step.name] //= step.trips
        gaps = len(nodes) + 1
        rows = [
            [(name, row) for row in factorings(bound, gaps + len(self.p.dims))]
            for name, bound in left.items()
        ]
        for chosen in itertools.product(*rows):
            used = [
                prod(row[gaps + index] for _, row in chosen) for index in range(len(self.p.dims))
            ]
            if all(count <= dim.size for count, dim in zip(used, self.p.dims, strict=True)):
                tail = self.path([(0, ""), *nodes], 1, gaps, chosen)[1:]
                yield (*above, *tail), len(above)

    def orders_below(self, path: Path, depth: int) -> Iterator[Path]:
        for order in self.orders(path[depth:]):
            yield (*path[:depth], *order)

    def bits(self, path: Path, depth: int, level: int) -> tuple[int, int]:
        """Bits held above some shared loop, and all bits, at one level."""
        loops = sum(step.kind == "for" for step in path[:depth])
        held = used = 0
        for place, step in enumerate(path):
            if step.kind == "hold" and step.level == level:
                backing = not any(
                    other.kind == "hold" and other.name == step.name for other in path[:place]
                )
                where = place if backing else self.lowered(path, place)
                size = self.words(step.name, self.above(path, where, level))
                used += size
                held += size * (sum(other.kind == "for" for other in path[:where]) < loops)
        return held, used


def value(objective: str, one: Point, two: Point) -> Fraction:
    energy, latency = one[0] + two[0], one[1] + two[1]
    return {"energy": energy, "latency": latency, "edp": energy * latency}[objective]


def pareto(points: Iterator[Point]) -> list[Point]:
    kept: list[Point] = []
    for point in sorted(set(points)):
        if not any(
            other[1] <= point[1]
            and all(
                a <= b
                for one, two in zip(other[2], point[2], strict=True)
                for a, b in zip(one, two, strict=True)
            )
            for other in kept
        ):
            kept.append(point)
    return kept
