"""Lower bounds of energy, cycles and last-level accesses of all mappings of a box.

The arithmetic is exact; docs/explanation/proof.md "Proving it again" says what they are for.
"""

from __future__ import annotations

from itertools import combinations
from math import isqrt, prod
from typing import NamedTuple

from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.verify.flows import Flows
from solver_mapper.verify.loop_tables import members


class Term(NamedTuple):
    """A cost of at least `value` that is a constant over the product of a tensor's free dimensions
    in a tile of `level`, and of its spatial loops over them at the levels `spread`."""

    value: int
    tensor: int
    level: int
    spread: tuple[int, ...]


class LeastStatistics(NamedTuple):
    """Lower bounds: energy in pJ / unit, cycles, words read and written at the outermost level."""

    energy: int
    cycles: int
    last_level: int


class Relaxation(Flows):
    """Lower bounds for one box."""

    def _costs(
        self, tensor: int, stored: tuple[bool, ...]
    ) -> tuple[int, int, list[Term], list[tuple[int, int]]]:
        """For one choice of levels: the least energy, a second bound of it that is the sum of the
        terms less first reads, these terms, and the least words (read, written) at each level."""
        space, written, levels = self.space, self.space.tensors[tensor].written, self.space.levels
        held = [level for level in range(levels) if stored[level]]
        energy = linear = 0
        terms: list[Term] = []
        words = [[0, 0] for _ in range(levels + 1)]
        for outer, inner in zip(held, [*held[1:], levels], strict=True):
            flow = self.flow(tensor, outer, inner)
            read, reread, _, update = space.energies[outer]
            fill = space.energies[inner][2] if inner < levels else 0
            plain = written and space.tensors[tensor].plain
            upward = flow.sent * (update + reread * plain) if written else flow.sent * read
            downward = (flow.delivered if plain or not written else flow.refilled) * fill
            energy += flow.sent * update + flow.reread * reread if written else flow.sent * read
            energy += flow.refilled * fill
            linear += upward + downward - flow.first[0] * reread - flow.first[1] * fill
            terms += [
                Term(value, tensor, *form)
                for value, form in zip((upward, downward), flow.forms, strict=True)
                if form and value
            ]
            words[outer][0] += flow.reread if written else flow.sent
            words[outer][1] += flow.sent * written
            words[inner][1] += flow.refilled
        return energy, linear, terms, [(each[0], each[1]) for each in words[:levels]]

    def _together(self, terms: list[Term]) -> int:
        """By how much pairs of terms exceed the sums of their bounds, as they compete for the same
        room and the same array.

        If a >= a0, b >= b0 and ab >= p, then a + b >= 2 sqrt(p) where both can be sqrt(p), else m +
        p / m with m = max(a0, b0).
        """
        gains = []
        for one, two in combinations(range(len(terms)), 2):
            if terms[one].level != terms[two].level and not (
                terms[one].spread and terms[two].spread
            ):
                continue
            if terms[one].tensor == terms[two].tensor:
                continue
            more, less = self._competing(terms[one], terms[two])
            if more > less:
                high, low = sorted((terms[one].value, terms[two].value), reverse=True)
                least = high * low * more // less
                gains.append(
                    (
                        (isqrt(4 * least) if least >= high * high else high + least // high)
                        - high
                        - low,
                        one,
                        two,
                    )
                )
        total, used = 0, set[int]()
        for gain, one, two in sorted(gains, reverse=True):
            if gain > 0 and not used & {one, two}:
                used |= {one, two}
                total += gain
        return total

    def _competing(self, one: Term, two: Term) -> tuple[int, int]:
        """A fraction by which the product of two terms exceeds the product of their bounds."""
        space = self.space
        first, second = space.tensors[one.tensor], space.tensors[two.tensor]
        if set(first.free) & set(second.free):
            return 1, 1
        both = tuple(sorted(first.free + second.free))
        more = less = 1
        if one.level == two.level:
            more, less = (
                self.largest(first.free, one.level) * self.largest(second.free, one.level),
                self.largest(both, one.level),
            )
        for level in set(one.spread) & set(two.spread):
            if not any(space.off("no_multicast", level, each.name) for each in (first, second)):
                more *= self.spread(level, first.free) * self.spread(level, second.free)
                less *= self.spread(level, both)
        return more, less

    def statistics(self) -> LeastStatistics | None:
        """Least figures of the mappings of the box; None if it has none that fits."""
        space = self.space
        if self.unfit() is not None:
            return None
        spread = [self.spread(level, range(space.dims)) for level in range(space.levels)]
        energy, linear, last_level = space.operations, 0, 0
        terms: list[Term] = []
        words = [[0, 0] for _ in range(space.levels)]
        for tensor, choices in enumerate(space.stores):
            costs = [
                self._costs(tensor, choices[number]) for number in members(self.box.stores[tensor])
            ]
            energy += min(each[0] for each in costs)
            last_level += min(sum(each[3][0]) for each in costs)
            if len(costs) == 1:
                linear += costs[0][1] - costs[0][0]
                terms += costs[0][2]
                words = [
                    [have[0] + more[0], have[1] + more[1]]
                    for have, more in zip(words, costs[0][3], strict=True)
                ]
        energy += max(0, linear + self._together(terms))
        cycles = self._cycles(spread, words)
        return LeastStatistics(energy + space.leak * cycles, cycles, last_level)

    def _cycles(self, spread: list[int], words: list[list[int]]) -> int:
        cycles = -(-self.space.problem.macs // prod(spread))
        for number, level in enumerate(self.space.architecture.levels):
            read, write = words[number]
            for moved, bandwidth in (
                (read, level.read_bandwidth),
                (write, level.write_bandwidth),
                (read + write, level.shared_bandwidth),
            ):
                if bandwidth is not None:
                    cycles = max(
                        cycles,
                        -(
                            -moved
                            * bandwidth.denominator
                            // (bandwidth.numerator * prod(spread[:number]))
                        ),
                    )
        return cycles + latency(self.space.architecture)
