"""Small random problems, and their optimum by looking at every mapping: all storage choices,
orders, and tilings.

The cost of a mapping is worked out here from the rules, not by the package. Nothing is left out for
being dominated: loops stand at every place, in every order that could matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import prod
from random import Random

SHAPES = {
    "mm": ({"A": ["m", "k"], "B": ["k", "n"], "Z": ["m", "n"]}, "Z"),
    "mv": ({"A": ["k"], "B": ["k", "n"], "Z": ["n"]}, "Z"),
    "bmm": ({"A": ["b", "m", "k"], "B": ["b", "k"], "Z": ["b", "m"]}, "Z"),
    "conv": ({"I": ["p+r"], "F": ["m", "r"], "O": ["m", "p"]}, "O"),
}


@dataclass
class Memory:
    name: str
    level: int
    size: int | None
    read: int
    write: int
    rate: int | None
    """Reads or writes per second; None for no limit."""
    keep: list[str]
    may: list[str]
    shape: tuple[str, str, int] | None = None
    once: list[str] = field(default_factory=list)
    """Tensors fetched at most once from above."""


@dataclass
class Dim:
    level: int
    size: int
    may_reuse: list[str]
    reuse: list[str]
    only: str | None
    """The one variable that may be spread, if the others are bound to 1."""
    min_usage: Fraction


@dataclass
class Problem:
    tensors: dict[str, list[str]]
    output: str
    bounds: dict[str, int]
    memories: list[Memory]
    dims: list[Dim]
    leak: int
    objective: str

    def text(self) -> str:
        lines = ["arch:", "  nodes:"]
        compute = (
            max(memory.level for memory in self.memories)
            + 1
            + any(dim.level > self.memories[-1].level for dim in self.dims)
        )
        for level in range(compute):
            for memory in self.memories:
                if memory.level == level:
                    rate = "inf" if memory.rate is None else memory.rate
                    lines.append(
                        f"  - !Memory\n    name: {memory.name}\n    size: {memory.size or 'inf'}\n"
                        f"    leak_power: {self.leak if memory.size else 0}"
                    )
                    rules = [
                        f"keep: {' | '.join(memory.keep) or 'Nothing'}",
                        f"may_keep: {' | '.join(memory.may) or 'Nothing'}",
                    ]
                    if memory.shape:
                        variable, operator, value = memory.shape
                        rules.append(
                            f"tile_shape: [{{expression: {variable}, operator: '{operator}', value:"
                            f" {value}}}]"
                        )
                    if memory.once:
                        rules.append(f"no_refetch_from_above: {' | '.join(memory.once)}")
                    lines.append(f"    tensors: {{{', '.join(rules)}}}\n    actions:")
                    lines += [
                        f"    - {{name: {action}, energy: {energy}, throughput: {rate}}}"
                        for action, energy in (("read", memory.read), ("write", memory.write))
                    ]
            spatial = []
            for index, dim in enumerate(self.dims):
                if dim.level == level:
                    rest = f", reuse: {' | '.join(dim.reuse)}" if dim.reuse else ""
                    if dim.only:
                        rest += (
                            f", loop_bounds: [{{expression: ~{dim.only}, operator: '==', value:"
                            " 1}]"
                        )
                    spatial.append(
                        f"    - {{name: D{index}, fanout: {dim.size}, may_reuse:"
                        f" {' | '.join(dim.may_reuse) or 'Nothing'}, min_usage:"
                        f" {dim.min_usage}{rest}}}"
                    )
            if spatial:
                lines += ["  - !Container\n    name: Grid\n    spatial:", *spatial]
        lines.append(
            "  - !Compute\n    name: Mac\n    leak_power: 0\n    actions: [{name: compute, energy:"
            " 1, throughput: 1}]"
        )
        lines += [
            "workload:",
            "  iteration_space_shape:",
            *(f"    {name}: 0 <= {name} < {size}" for name, size in self.bounds.items()),
        ]
        lines += ["  bits_per_value: {All: 1}", "  einsums:", "  - name: E", "    tensor_accesses:"]
        for tensor, ranks in self.tensors.items():
            index = ", ".join(
                f"{rank.upper().replace('+', '')}: {rank.replace('+', ' + ')}" for rank in ranks
            )
            lines.append(
                f"    - {{name: {tensor}, projection:"
                f" {{{index}}}{', output: true' if tensor == self.output else ''}}}"
            )
        return "\n".join(lines) + "\n"


def random_problem(seed: int) -> Problem:
    rng = Random(seed)
    tensors, output = SHAPES[rng.choice(list(SHAPES))]
    names = list(
        dict.fromkeys(
            variable for ranks in tensors.values() for rank in ranks for variable in rank.split("+")
        )
    )
    bounds = {name: rng.choice([2, 3, 4] if len(names) < 4 else [2, 2, 3]) for name in names}
    memories = [
        Memory(
            "Dram",
            0,
            None,
            rng.choice([20, 50]),
            rng.choice([20, 60]),
            rng.choice([None, 1, 2]),
            list(tensors),
            [],
        )
    ]
    if rng.random() < 0.2:
        memories[0].keep, memories[0].may = [], list(tensors)
    level, dims = 1, []

    def spread() -> None:
        nonlocal level
        for _ in range(rng.choice([1, 1, 2])):
            dims.append(
                Dim(
                    level,
                    rng.choice([2, 2, 3]),
                    rng.sample(list(tensors), rng.randint(0, 3)),
                    rng.sample(list(tensors), 1) if rng.random() < 0.2 else [],
                    rng.choice(names) if rng.random() < 0.2 else None,
                    Fraction(rng.choice([0, 0, 0, 1]), 2),
                )
            )
        level += 1

    where = rng.choice([None, 1, 2])
    if where == 1 and rng.random() < 0.5:
        spread()
        where = None
    may = rng.sample(list(tensors), rng.randint(1, 3))
    shape = (
        (rng.choice(names), rng.choice(["<=", ">=", "=="]), rng.choice([1, 2]))
        if rng.random() < 0.15
        else None
    )
    size, costs, rate = (
        rng.choice([4, 6, 8, 12, 20]),
        (rng.choice([2, 4]), rng.choice([2, 5])),
        rng.choice([None, 2, 8]),
    )
    keep = [name for name in may if rng.random() < 0.3]
    memories.append(
        Memory(
            "Sram",
            level,
            size,
            *costs,
            rate,
            keep,
            may,
            shape,
            may[:1] if rng.random() < 0.15 else [],
        )
    )
    level += 1
    if where is not None:
        spread()
    if rng.random() < 0.35:
        may = rng.sample(list(tensors), 1)
        size, rate = rng.choice([1, 2, 4]), rng.choice([None, 4])
        memories.append(
            Memory("Regs", level, size, 1, 1, rate, may if rng.random() < 0.5 else [], may)
        )
        level += 1
    return Problem(
        tensors,
        output,
        bounds,
        memories,
        dims,
        rng.choice([0, 0, 3]),
        rng.choice(["energy", "energy", "latency", "edp"]),
    )


@dataclass(frozen=True)
class Step:
    """One thing on a path: `kind` is "hold" (of tensor `name` at `level`), "for" or "par" (over
    variable `name`).
    """

    kind: str
    name: str
    level: int = -1
    trips: int = 1
    dim: int = -1


Path = tuple[Step, ...]


@cache
def factorings(number: int, places: int) -> tuple[tuple[int, ...], ...]:
    if places == 0:
        return ((),) if number == 1 else ()
    return tuple(
        (first, *rest)
        for first in range(1, number + 1)
        if number % first == 0
        for rest in factorings(number // first, places - 1)
    )


class Enumeration:
    def __init__(self, problem: Problem):
        self.p = problem
        self.compute_level = 99
        self.levels = {memory.level: memory for memory in problem.memories}
        self.variables = {
            tensor: {name for rank in ranks for name in rank.split("+")}
            for tensor, ranks in problem.tensors.items()
        }
        self.shared = {
            tensor: {name for rank in ranks if "+" in rank for name in rank.split("+")}
            for tensor, ranks in problem.tensors.items()
        }

    def best(self) -> Fraction | None:
        """The least value of the objective over all legal mappings; None if there is none."""
        least: Fraction | None = None
        for holders in self.storage():
            for path in self.paths(holders):
                value = self.value(path)
                if (
                    value is not None
                    and (least is None or value < least)
                    and any(map(self.fits, self.orders(path)))
                ):
                    least = value
        return least

    def size(self) -> int:
        """How many tilings there are to look at."""
        total = 0
        for holders in self.storage():
            places = len(holders) - sum(level == 0 for level, _ in holders) + 1 + len(self.p.dims)
            total += prod(len(factorings(bound, places)) for bound in self.p.bounds.values())
        return total

    def storage(self) -> Iterator[list[tuple[int, str]]]:
        """Every choice and order of (level, tensor)."""
        options = []
        for memory in self.p.memories:
            extra = [tensor for tensor in memory.may if tensor not in memory.keep]
            options.append(
                [
                    memory.keep + list(more)
                    for count in range(len(extra) + 1)
                    for more in itertools.combinations(extra, count)
                ]
            )
        for choice in itertools.product(*options):
            if set(itertools.chain(*choice)) == set(self.p.tensors):
                orders = [
                    list(itertools.permutations(kept)) if index else [tuple(kept)]
                    for index, kept in enumerate(choice)
                ]
                for order in itertools.product(*orders):
                    yield [
                        (memory.level, tensor)
                        for memory, kept in zip(self.p.memories, order, strict=True)
                        for tensor in kept
                    ]

    def paths(self, holders: list[tuple[int, str]]) -> Iterator[Path]:
        """Every tiling: loops over each variable at each place below the outermost memory and along
        each dimension.
        """
        roots = sum(level == 0 for level, _ in holders)
        gaps = len(holders) - roots + 1
        splits = []
        for variable, bound in self.p.bounds.items():
            splits.append(
                [
                    (variable, row)
                    for row in factorings(bound, gaps + len(self.p.dims))
                    if all(
                        self.may_spread(index, variable, row[gaps + index])
                        for index in range(len(self.p.dims))
                    )
                ]
            )
        for rows in itertools.product(*splits):
            used = [prod(row[gaps + index] for _, row in rows) for index in range(len(self.p.dims))]
            if any(
                count > dim.size or count < dim.min_usage * dim.size
                for count, dim in zip(used, self.p.dims, strict=True)
            ):
                continue
            yield self.path(holders, roots, gaps, rows)

    def may_spread(self, index: int, variable: str, trips: int) -> bool:
        dim = self.p.dims[index]
        return trips == 1 or (
            all(variable not in self.variables[tensor] for tensor in dim.reuse)
            and dim.only in (None, variable)
        )

    def path(
        self,
        holders: list[tuple[int, str]],
        roots: int,
        gaps: int,
        rows: tuple[tuple[str, tuple[int, ...]], ...],
    ) -> Path:
        steps = [Step("hold", tensor, level) for level, tensor in holders[:roots]]
        left = list(range(len(self.p.dims)))
        for gap in range(gaps):
            steps += [
                Step("for", variable, trips=row[gap]) for variable, row in rows if row[gap] > 1
            ]
            level = holders[roots + gap][0] if gap + 1 < gaps else self.compute_level
            for index in [index for index in left if self.p.dims[index].level <= level]:
                left.remove(index)
                steps += [
                    Step("par", variable, self.p.dims[index].level, row[gaps + index], index)
                    for variable, row in rows
                    if row[gaps + index] > 1
                ]
            if gap + 1 < gaps:
                steps.append(Step("hold", holders[roots + gap][1], level))
        return tuple(steps)

    def above(self, path: Path, place: int, level: int) -> list[Step]:
        """The loops that divide what stands at a place of the path, at a level of the hardware."""
        return [
            step
            for index, step in enumerate(path)
            if (step.kind == "for" and index < place)
            or (step.kind == "par" and step.level <= level)
        ]

    def words(self, tensor: str, loops: list[Step]) -> int:
        tile = dict(self.p.bounds)
        for step in loops:
            tile[step.name] //= step.trips
        return prod(
            sum(tile[name] - 1 for name in rank.split("+")) + 1 for rank in self.p.tensors[tensor]
        )

    def value(self, path: Path) -> Fraction | None:
        """Energy, latency or their product; None where a loop repeats what only exists below it."""
        energy = Fraction(prod(self.p.bounds.values()))
        busy: dict[tuple[int, str], int] = {}
        for tensor in self.p.tensors:
            places = [
                (index, step.level)
                for index, step in enumerate(path)
                if step.kind == "hold" and step.name == tensor
            ]
            first = places[0][0]
            if any(
                step.kind == "for"
                and (step.name not in self.variables[tensor] or step.name in self.shared[tensor])
                for step in path[:first]
            ):
                return None
            if not self.rules(path, tensor, places):
                return None
            for (_, outer), (place, inner) in itertools.pairwise(
                [*places, (len(path), self.compute_level)]
            ):
                loops = self.above(path, place, inner)
                size = self.words(tensor, loops)
                for level, action, share in self.actions(tensor, outer, inner):
                    total, unit = self.traffic(tensor, size, loops, level, action == "fetch")
                    memory = self.levels[level]
                    kind = "read" if share == "read" else "write"
                    energy += total * (memory.read if kind == "read" else memory.write)
                    busy[level, kind] = busy.get((level, kind), 0) + unit
        latency = Fraction(prod(step.trips for step in path if step.kind == "for"))
        for memory in self.p.memories:
            if memory.rate is not None:
                calls = sum(busy.get((memory.level, kind), 0) for kind in ("read", "write"))
                latency = max(latency, Fraction(calls, memory.rate))
        copies = {
            memory.level: prod(dim.size for dim in self.p.dims if dim.level <= memory.level)
            for memory in self.p.memories
        }
        energy += (
            self.p.leak
            * latency
            * sum(copies[memory.level] for memory in self.p.memories if memory.size)
        )
        return {"energy": energy, "latency": latency, "edp": energy * latency}[self.p.objective]

    def actions(self, tensor: str, outer: int, inner: int) -> Iterator[tuple[int, str, str]]:
        """(level, fetch or return, read or write) for traffic between two holders."""
        yield outer, "fetch", "read"
        if inner != self.compute_level:
            yield inner, "fetch", "write"
        if tensor == self.p.output:
            yield outer, "return", "write"
            if inner != self.compute_level:
                yield inner, "return", "read"

    def traffic(
        self, tensor: str, size: int, loops: list[Step], seen: int, fetch: bool
    ) -> tuple[int, int]:
        """Values, in all and of one instance, that one side at level `seen` moves; first fetches of
        outputs are none.
        """

        def count(first: bool, unit: bool) -> int:
            total = size
            for step in loops:
                relevant = step.name in self.variables[tensor]
                if step.kind == "for":
                    repeats = (
                        step.trips
                        if not first or (relevant and step.name not in self.shared[tensor])
                        else 1
                    )
                elif step.level > seen:
                    merged = not relevant and tensor in self.p.dims[step.dim].may_reuse
                    repeats = 1 if merged else step.trips
                else:
                    repeats = 1 if unit else step.trips
                total *= repeats
            return total

        skipped = fetch and tensor == self.p.output
        return (
            count(False, False) - (count(True, False) if skipped else 0),
            count(False, True) - (count(True, True) if skipped else 0),
        )

    def rules(self, path: Path, tensor: str, places: list[tuple[int, int]]) -> bool:
        for number, (place, level) in enumerate(places):
            memory, loops = self.levels[level], self.above(path, place, level)
            if memory.shape:
                variable, operator, value = memory.shape
                tile = self.p.bounds[variable] // prod(
                    step.trips for step in loops if step.name == variable
                )
                if not {"<=": tile <= value, ">=": tile >= value, "==": tile == value}[operator]:
                    return False
            if (
                tensor in memory.once
                and number
                and any(
                    step.trips > 1
                    and step.name not in self.variables[tensor]
                    and not (step.kind == "par" and tensor in self.p.dims[step.dim].may_reuse)
                    for step in loops
                )
            ):
                return False
        return True

    def orders(self, path: Path) -> Iterator[Path]:
        """The path with the loops of every run in every order."""
        runs = [
            list(group) for _, group in itertools.groupby(path, key=lambda step: step.kind == "for")
        ]
        options = [
            list(itertools.permutations(run)) if run[0].kind == "for" else [tuple(run)]
            for run in runs
        ]
        for choice in itertools.product(*options):
            yield tuple(itertools.chain(*choice))

    def fits(self, path: Path) -> bool:
        for memory in self.p.memories:
            if memory.size is not None:
                used = 0
                for place, step in enumerate(path):
                    if step.kind == "hold" and step.level == memory.level:
                        backing = not any(
                            other.kind == "hold" and other.name == step.name
                            for other in path[:place]
                        )
                        where = place if backing else self.lowered(path, place)
                        used += self.words(step.name, self.above(path, where, step.level))
                if used > memory.size:
                    return False
        return True

    def lowered(self, path: Path, place: int) -> int:
        tensor = path[place].name
        for index in range(place + 1, len(path)):
            step = path[index]
            if step.kind == "hold" or (step.kind == "par" and step.level != path[place].level):
                return index
            if step.kind == "for" and step.name not in self.variables[tensor]:
                return index
            if step.kind == "for" and step.name in self.shared[tensor]:
                return index + 1
        return len(path)
