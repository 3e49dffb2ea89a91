"""Small random graphs of Einsums, and their optimum by looking at every tree: every path of every
Einsum, every way to share loops.

Costs, reservations and lifetimes are worked out here from the rules, not by the package. Paths hold
their nodes and loops in every order. Of the paths of one Einsum that share the same loops and hand
over the same tensors, only those are joined that no other beats in cost and in what it reserves
below each number of loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from random import Random

Index = tuple[tuple[str, ...], ...]
"""The variables that each rank of a tensor adds up."""
Loop = tuple[str, int, bool]
"""A variable, its trips, and whether it runs in space. As a step of a path also a tensor with 0
trips: its node on chip.
"""


@dataclass(frozen=True)
class Einsum:
    name: str
    tensors: Mapping[str, Index]
    output: str
    copy: bool = False

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                name for ranks in self.tensors.values() for rank in ranks for name in rank
            )
        )


@dataclass(frozen=True)
class Problem:
    """A graph on a memory `Sram`, with `fanout` copies of that (`copied` is "Sram") or of the
    compute ("Mac"), whose wires serve all copies at once with tensors in `reuse`. `keeps_all`:
    whether all tensors must stand in `Sram` on their way to the compute.
    """

    einsums: tuple[Einsum, ...]
    ranks: Mapping[str, tuple[str, ...]]
    bounds: Mapping[str, int]
    size: int
    dram: int
    rate: int | None
    objective: str
    fanout: int = 1
    copied: str = "Mac"
    keeps_all: bool = False
    reuse: frozenset[str] = frozenset()

    def users(self, tensor: str) -> list[int]:
        return [
            position for position, einsum in enumerate(self.einsums) if tensor in einsum.tensors
        ]

    @cached_property
    def handed(self) -> tuple[str, ...]:
        """Tensors that one Einsum writes and another reads."""
        return tuple(einsum.output for einsum in self.einsums if len(self.users(einsum.output)) > 1)

    def apart(self, tensor: str) -> bool:
        """Whether a tensor may not be handed over on chip: copied, where the memory has copies."""
        return (
            self.copied == "Sram"
            and self.fanout > 1
            and any(self.einsums[position].copy for position in self.users(tensor))
        )

    def _spatial(self) -> Iterator[str]:
        if self.fanout > 1:
            reuse = " | ".join(sorted(self.reuse)) or "Nothing"
            yield f"    spatial: [{{name: X, fanout: {self.fanout}, may_reuse: {reuse}}}]"

    def text(self) -> str:
        rate = "inf" if self.rate is None else self.rate
        lines = [
            "arch:",
            "  nodes:",
            "  - !Memory",
            "    name: Dram",
            "    size: inf",
            "    leak_power: 0",
            "    tensors: {keep: ~Intermediates, may_keep: All}",
            "    actions:",
            *(
                f"    - {{name: {action}, energy: {self.dram}, throughput: {rate}}}"
                for action in ("read", "write")
            ),
            "  - !Memory",
            "    name: Sram",
            f"    size: {self.size}",
            "    leak_power: 0",
            f"    tensors: {{keep: {'All' if self.keeps_all else '~Dram'}, may_keep: All}}",
            *(self._spatial() if self.copied == "Sram" else ()),
            "    actions:",
            *(
                f"    - {{name: {action}, energy: 1, throughput: inf}}"
                for action in ("read", "write")
            ),
            "  - !Compute",
            "    name: Mac",
            *(self._spatial() if self.copied == "Mac" else ()),
            "    leak_power: 0",
            "    actions:",
            "    - {name: compute, energy: 1, throughput: 1}",
            "workload:",
            "  iteration_space_shape:",
            *(f"    {name}: 0 <= {name} < {bound}" for name, bound in self.bounds.items()),
            "  bits_per_value: {All: 1}",
            "  einsums:",
        ]
        for einsum in self.einsums:
            lines += [
                f"  - name: {einsum.name}",
                f"    is_copy_operation: {einsum.copy}",
                "    tensor_accesses:",
            ]
            for tensor, index in einsum.tensors.items():
                ranks = ", ".join(
                    f"{rank}: {' + '.join(names)}"
                    for rank, names in zip(self.ranks[tensor], index, strict=True)
                )
                lines.append(
                    f"    - {{name: {tensor}, projection: {{{ranks}}}, output:"
                    f" {tensor == einsum.output}}}"
                )
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Path:
    """A path of one Einsum: `loops` outer to inner; `nodes` (tensor, loops above)
    on chip; `handed[tensor]` loops above what is handed over there; `held` (loops above, bits) of
    all other reservations."""

    energy: int
    latency: Fraction
    loops: tuple[Loop, ...]
    nodes: tuple[tuple[str, int], ...]
    handed: tuple[tuple[str, int], ...]
    held: tuple[tuple[int, int], ...]


class Paths:
    """All paths of one Einsum."""

    def __init__(self, problem: Problem, position: int):
        self.problem, self.einsum = problem, problem.einsums[position]
        self.bounds = {name: problem.bounds[name] for name in self.einsum.variables}

    def all(self) -> Iterator[Path]:
        mine = [
            name
            for name in self.einsum.tensors
            if name in self.problem.handed and not self.problem.apart(name)
        ]
        for count in range(len(mine) + 1):
            for handed in itertools.combinations(mine, count):
                others = (
                    []
                    if self.einsum.copy
                    else [name for name in self.einsum.tensors if name not in handed]
                )
                least = len(others) if self.problem.keeps_all else 0
                for some in itertools.chain.from_iterable(
                    itertools.combinations(others, n) for n in range(least, len(others) + 1)
                ):
                    yield from self._placed(handed, some)

    def _placed(self, handed: tuple[str, ...], kept: tuple[str, ...]) -> Iterator[Path]:
        held = [(name, 0, False) for name in (*handed, *kept)]
        for rows in itertools.product(
            *(self._splits(name, bound) for name, bound in self.bounds.items())
        ):
            loops = [loop for row in rows for loop in row]
            if prod(trips for _, trips, space in loops if space) <= self.problem.fanout:
                for order in set(itertools.permutations([*loops, *held])):
                    if self._outside(order):
                        yield self._path(order, frozenset(handed))

    def _splits(self, name: str, bound: int) -> list[list[Loop]]:
        """A variable's loops: any number in time, at most one in space."""
        most = 1 if self.einsum.copy else self.problem.fanout
        return [
            [*((name, trips, False) for trips in row), *([(name, spread, True)] * (spread > 1))]
            for spread in range(1, min(most, bound) + 1)
            if bound % spread == 0
            for row in _factorings(bound // spread)
        ]

    def _outside(self, order: tuple[Loop, ...]) -> bool:
        """Whether loops in space stand on the right side of all nodes on chip."""
        space = [place for place, step in enumerate(order) if step[2]]
        held = [place for place, step in enumerate(order) if not step[1]]
        if not space or not held:
            return True
        if self.problem.copied == "Sram":
            return space[-1] < held[0]
        return held[-1] < space[0]

    def _path(self, order: tuple[Loop, ...], handed: frozenset[str]) -> Path:
        energy, dram = 0, 0
        nodes, homes, held, loops = [], [], [], []
        for place, (name, trips, space) in enumerate(order):
            if trips:
                loops.append((name, trips, space))
            else:
                nodes.append((name, len(loops)))
                if name in handed:
                    homes.append((name, len(loops)))
                else:
                    held.append(self._reserved(order, place))
        for tensor in self.einsum.tensors:
            cost, far = self._moved(order, tensor, tensor in handed)
            energy, dram = energy + cost, dram + far
        operations = 0 if self.einsum.copy else prod(self.bounds.values())
        steps = 0 if self.einsum.copy else prod(trips for _, trips, space in loops if not space)
        rate = self.problem.rate
        latency = max(Fraction(steps), Fraction(dram, rate) if rate else Fraction(0))
        return Path(
            energy + operations,
            latency,
            tuple(loops),
            tuple(nodes),
            tuple(sorted(homes)),
            tuple(sorted(held)),
        )

    def _tile(self, tensor: str, above: tuple[Loop, ...]) -> int:
        extent = dict(self.bounds)
        for name, trips, _ in above:
            if trips:
                extent[name] //= trips
        return prod(
            1 + sum(extent[name] - 1 for name in rank) for rank in self.einsum.tensors[tensor]
        )

    def _moved(self, order: tuple[Loop, ...], tensor: str, handed: bool) -> tuple[int, int]:
        """Energy of one tensor's traffic, and reads and writes of Dram."""
        if self.einsum.copy:
            total = prod(self.bounds.values())
            both = len({name for name, trips, _ in order if not trips})
            return (
                (0, 0)
                if both in (0, len(self.einsum.tensors))
                else (total * (1 if handed else self.problem.dram), 0 if handed else total)
            )
        held = (tensor, 0, False)
        place = order.index(held) if held in order else 0
        near = self._exchanged(order, tensor, place)
        if handed:
            return near, 0
        if held not in order:
            return near * self.problem.dram, near
        above = order[:place]
        far, there = self._exchanged(above, tensor, 0), self._exchanged(above, tensor, len(above))
        return near + there + far * self.problem.dram, far

    def _exchanged(self, above: tuple[Loop, ...], tensor: str, outer: int) -> int:
        """Values that a place below these loops reads and returns, as its parent below the first
        `outer` of the steps counts them: copies below that, which need the same, count once where
        wires may reuse the tensor. Outputs are not fetched the first time.
        """
        ranks = self.einsum.tensors[tensor]
        indexing, alone = (
            {name for rank in ranks for name in rank},
            {rank[0] for rank in ranks if len(rank) == 1},
        )
        count = first = self._tile(tensor, above)
        for place, (name, trips, space) in enumerate(above):
            once = space and place >= outer and name not in indexing
            if trips and not (once and tensor in self.problem.reuse):
                count *= trips
                if space or name in alone:
                    first *= trips
        return count + count - first if tensor == self.einsum.output else count

    def _reserved(self, order: tuple[Loop, ...], place: int) -> tuple[int, int]:
        """(Loops above, bits) of a node's reservation, lowered through the loops in time directly
        below that index its tensor.
        """
        tensor = order[place][0]
        ranks = self.einsum.tensors[tensor]
        end = place + 1
        while end < len(order) and order[end][1] and not order[end][2]:
            found = [rank for rank in ranks if order[end][0] in rank]
            if not found:
                break
            end += 1
            if len(found[0]) > 1:
                break
        return sum(1 for _, trips, _ in order[:end] if trips), self._tile(tensor, order[:end])


def _factorings(number: int) -> list[tuple[int, ...]]:
    """Ordered products of factors above 1."""
    if number == 1:
        return [()]
    return [
        (first, *rest)
        for first in range(2, number + 1)
        if number % first == 0
        for rest in _factorings(number // first)
    ]


Signature = tuple[tuple[Loop, ...], tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], bool]
"""The loops down to some number, tensors handed over, for each other tensor in common the loops
above its node on chip, and whether further loops run over copies of the memory.
"""


class GraphEnumeration:
    def __init__(self, problem: Problem):
        self.problem = problem
        self.families = self._families()
        self.best: Fraction | None = None
        self.choices = [self._choices(position) for position in range(len(problem.einsums))]

    def _choices(self, position: int) -> dict[Signature, list[tuple[Path, tuple[int, ...]]]]:
        found: dict[Signature, list[tuple[Path, tuple[int, ...]]]] = {}
        for path in set(Paths(self.problem, position).all()):
            deepest = max((depth for _, depth in path.handed), default=0)
            common = tuple(
                sorted(
                    (name, depth)
                    for name, depth in path.nodes
                    if len(self.problem.users(name)) > 1 and (name, depth) not in path.handed
                )
            )
            for count in range(deepest, len(path.loops) + 1):
                if self._sharable(path, count):
                    own = tuple(
                        sum(bits for depth, bits in path.held if depth == level)
                        for level in range(count)
                    )
                    total = sum(bits for _, bits in path.held)
                    spread = self.problem.copied == "Sram" and any(
                        space for _, _, space in path.loops[count:]
                    )
                    if total <= self.problem.size:
                        found.setdefault(
                            (path.loops[:count], path.handed, common, spread), []
                        ).append((path, (*own, total)))
        return {key: _undominated(listed) for key, listed in found.items()}

    def _sharable(self, path: Path, count: int) -> bool:
        """Whether the first loops of a path may be shared: each variable at most once in time and
        once in space, and loops in space only over copies of the memory.
        """
        shared = path.loops[:count]
        if self.problem.copied == "Mac" and any(space for _, _, space in shared):
            return False
        return len({(name, space) for name, _, space in shared}) == count

    def optimum(self) -> Fraction | None:
        """The least value of the objective over all trees; None if there is none."""
        self._extend([], [])
        return self.best

    def _extend(
        self, chosen: list[tuple[Signature, Path, tuple[int, ...]]], open_loops: list[int]
    ) -> None:
        position = len(chosen)
        if position == len(self.problem.einsums):
            if self._fits(chosen, open_loops):
                value = self._value([path for _, path, _ in chosen])
                self.best = value if self.best is None else min(self.best, value)
            return
        for signature, listed in self.choices[position].items():
            left = open_loops[-1] if open_loops else 0
            for right in (
                range(len(signature[0]) + 1) if position + 1 < len(self.problem.einsums) else (0,)
            ):
                if max(left, right) == len(signature[0]) and self._agree(
                    [item[0] for item in chosen], signature, [*open_loops, right]
                ):
                    for path, held in listed:
                        if (
                            self.best is None
                            or self._value([*(item[1] for item in chosen), path], position + 1)
                            < self.best
                        ):
                            self._extend([*chosen, (signature, path, held)], [*open_loops, right])

    def _value(self, paths: list[Path], rest: int | None = None) -> Fraction:
        """The objective, or a lower bound where the Einsums from `rest` on are open."""
        later = self.choices[rest:] if rest is not None else []
        energy = sum(path.energy for path in paths) + sum(
            min(p.energy for listed in each.values() for p, _ in listed) for each in later
        )
        latency = sum((path.latency for path in paths), Fraction(0)) + sum(
            min(p.latency for listed in each.values() for p, _ in listed) for each in later
        )
        return {"energy": Fraction(energy), "latency": latency, "edp": energy * latency}[
            self.problem.objective
        ]

    def _agree(self, before: list[Signature], signature: Signature, open_loops: list[int]) -> bool:
        """Whether an Einsum may follow those before it, `open_loops[i]` being shared by i and i +
        1.
        """
        position = len(before)
        left, right = (open_loops[position - 1] if position else 0), open_loops[position]
        for tensor, depth in signature[2]:
            users = self.problem.users(tensor)
            if depth < max(
                0 if users[0] == position else left, 0 if users[-1] == position else right
            ):
                return False
        homes = dict(signature[1])
        for tensor in self.problem.einsums[position].tensors:
            users = self.problem.users(tensor)
            if (
                tensor in self.problem.handed
                and users[0] < position
                and dict(before[users[0]][1]).get(tensor) != homes.get(tensor)
            ):
                return False
        alive = self._alive(before, signature)
        if signature[3] and (alive or self._taken(before, signature)):
            return False
        if right != max((depth for _, depth in alive), default=0):
            return False
        return all(
            self._shared(before, signature, other, min(open_loops[other:position]))
            for other in range(position)
        )

    def _taken(self, before: list[Signature], signature: Signature) -> bool:
        """Whether something is in the memory for this Einsum or a later one, so that only shared
        loops may run over its copies.
        """
        return bool(signature[1]) or any(
            self.problem.users(tensor)[-1] >= len(before)
            for each in before
            for tensor, _ in each[1]
        )

    def _alive(self, before: list[Signature], signature: Signature) -> list[tuple[str, int]]:
        """What is handed over to Einsums after this one."""
        position = len(before)
        return [
            (tensor, depth)
            for tensor, depth in {item for each in (*before, signature) for item in each[1]}
            if self.problem.users(tensor)[-1] > position
        ]

    def _shared(
        self, before: list[Signature], signature: Signature, other: int, count: int
    ) -> bool:
        """Whether an Einsum and one before may have their first `count` loops in common."""
        position = len(before)
        einsum, earlier = self.problem.einsums[position], self.problem.einsums[other]
        for (mine, trips, space), (theirs, times, there) in zip(
            signature[0][:count], before[other][0][:count], strict=True
        ):
            same = self.families[position, mine] == self.families[other, theirs]
            if (
                not same
                or (trips, space) != (times, there)
                or self.problem.bounds[mine] != self.problem.bounds[theirs]
            ):
                return False
            if mine != theirs and (mine in earlier.variables or theirs in einsum.variables):
                return False
            tensor = earlier.output
            if tensor in einsum.tensors and self._rank(other, tensor, theirs) != (
                self._rank(position, tensor, mine) or "none"
            ):
                return False
        return True

    def _rank(self, position: int, tensor: str, variable: str) -> str | None:
        index = self.problem.einsums[position].tensors[tensor]
        return next(
            (
                rank
                for rank, names in zip(self.problem.ranks[tensor], index, strict=True)
                if names == (variable,)
            ),
            None,
        )

    def _families(self) -> dict[tuple[int, str], int]:
        items = [
            (position, name)
            for position, einsum in enumerate(self.problem.einsums)
            for name in einsum.variables
        ]
        number = {item: index for index, item in enumerate(items)}
        for _ in items:
            for one, other in itertools.combinations(items, 2):
                for tensor in self.problem.handed:
                    if (
                        tensor in self.problem.einsums[one[0]].tensors
                        and tensor in self.problem.einsums[other[0]].tensors
                    ):
                        rank = self._rank(one[0], tensor, one[1])
                        if rank is not None and rank == self._rank(other[0], tensor, other[1]):
                            number[one] = number[other] = min(number[one], number[other])
        return number

    def _fits(
        self, chosen: list[tuple[Signature, Path, tuple[int, ...]]], open_loops: list[int]
    ) -> bool:
        return all(
            self._used(chosen, open_loops, position) <= self.problem.size
            for position in range(len(chosen))
        )

    def _used(
        self,
        chosen: list[tuple[Signature, Path, tuple[int, ...]]],
        open_loops: list[int],
        position: int,
    ) -> int:
        """Bits in use while one Einsum runs."""
        used = 0
        tiles: dict[str, int] = {}
        for other, (signature, _, held) in enumerate(chosen):
            low, high = sorted((other, position))
            common = min(open_loops[low:high], default=len(signature[0]))
            used += held[-1] if other == position else sum(held[:common])
            for tensor, depth in signature[1]:
                users = self.problem.users(tensor)
                if other == position or common > depth or users[0] <= position <= users[-1]:
                    paths = Paths(self.problem, other)
                    tiles[tensor] = max(
                        tiles.get(tensor, 0), paths._tile(tensor, signature[0][:depth])
                    )
        return used + sum(tiles.values())


def _undominated(listed: list[tuple[Path, tuple[int, ...]]]) -> list[tuple[Path, tuple[int, ...]]]:
    kept: list[tuple[Path, tuple[int, ...]]] = []
    for path, held in sorted(listed, key=lambda item: (item[0].energy, item[0].latency, item[1])):
        if not any(
            other.latency <= path.latency and all(a <= b for a, b in zip(bits, held, strict=True))
            for other, bits in kept
        ):
            kept.append((path, held))
    return kept


def _einsum(output: str, copy: bool = False, **tensors: str) -> Einsum:
    """`_einsum("Z", A="m k", Z="m")`; ranks are separated by spaces, variables that a rank adds up
    by `+`.
    """
    return Einsum(
        "E" + output,
        {
            name: tuple(tuple(rank.split("+")) for rank in text.split())
            for name, text in tensors.items()
        },
        output,
        copy,
    )


GRAPHS = {
    "chain": (_einsum("B", A="m a", B="m a"), _einsum("C", B="m a", C="m")),
    "product": (_einsum("B", A="m a", V="a b", B="m b"), _einsum("C", B="m b", C="m b")),
    "chain of three": (
        _einsum("B", A="m a", B="m a"),
        _einsum("C", B="m a", C="m a"),
        _einsum("D", C="m a", D="a"),
    ),
    "fork": (
        _einsum("B", A="m a", B="m a"),
        _einsum("C", B="m a", C="m"),
        _einsum("D", B="m a", D="a"),
    ),
    "join": (
        _einsum("B", A="m a", B="m a"),
        _einsum("C", X="m a", C="m a"),
        _einsum("D", B="m a", C="m a", D="m"),
    ),
    "copy": (
        _einsum("B", copy=True, A="m a", B="m a"),
        _einsum("C", B="m a", C="m"),
        _einsum("D", B="m a", D="a"),
    ),
    "skip": (
        _einsum("B", A="m", B="m"),
        _einsum("C", B="m", C="m"),
        _einsum("D", C="m", D="m"),
        _einsum("E", B="m", D="m", E="m"),
    ),
    "renamed": (
        _einsum("B", A="m a", B="m a"),
        _einsum("C", B="p a", C="p"),
        _einsum("D", C="q", D="q"),
    ),
    "attention": (
        _einsum("K", X="m", K="m"),
        _einsum("Q", X="m", Q="m"),
        _einsum("S", Q="m", K="p", S="m p"),
        _einsum("Z", S="m p", Z="m"),
    ),
    "window": (_einsum("B", A="x", B="x"), _einsum("C", B="p+r", F="r", C="p")),
    "reduction": (_einsum("B", A="m a", B="m"), _einsum("C", B="m", C="m")),
    "unconnected": (
        _einsum("B", A="m", B="m"),
        _einsum("D", C="a", D="a"),
        _einsum("E", D="a", E="a"),
    ),
}


def random_graph(seed: int, name: str | None = None) -> Problem:
    """One of `GRAPHS`, that of this name if it is given."""
    rng = Random(seed)
    drawn = rng.choice(list(GRAPHS))
    name = name or drawn
    einsums = GRAPHS[name]
    ranks: dict[str, tuple[str, ...]] = {}
    for einsum in einsums:
        for tensor, index in einsum.tensors.items():
            ranks.setdefault(tensor, tuple(f"R{number}" for number in range(len(index))))
    variables = list(dict.fromkeys(variable for einsum in einsums for variable in einsum.variables))
    size = 2 if name == "attention" else rng.choice([2, 2, 3, 4])
    bounds = {
        variable: rng.choice([2, 2, 3, 4]) if variable in "ab" else size for variable in variables
    }
    if name == "window":
        bounds |= {"p": 3, "r": 2, "x": 4}
    return Problem(
        einsums,
        ranks,
        bounds,
        rng.choice([2, 3, 4, 5, 6, 8, 12, 20]),
        rng.choice([3, 10, 40]),
        rng.choice([None, None, 1, 2]),
        rng.choice(["energy", "energy", "edp", "latency"]),
    )


def random_spatial_graph(seed: int) -> Problem:
    """A graph on several copies of the memory or of the compute."""
    rng = Random(seed)
    problem = random_graph(seed)
    tensors = list(problem.ranks)
    reuse = rng.choice([tensors, [], [name for name in tensors if rng.random() < 0.5]])
    return replace(
        problem,
        fanout=rng.choice([2, 2, 3, 4]),
        copied=rng.choice(["Sram", "Mac"]),
        reuse=frozenset(reuse),
    )
