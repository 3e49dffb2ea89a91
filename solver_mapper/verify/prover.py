"""A proof by branch and bound that shares nothing with the CP-SAT engine: its own boxes, bounds and
search.

The incumbent's value is given; the search shows that no mapping is better by more than the gap. It
takes the box whose bound is least, and splits it by the decision that raises the bounds of both
parts most: a few decisions that did so before are tried (strong branching on pseudo-costs,
Achterberg, Koch, Martin: Branching constraints revisited, 2005). Boxes that are down to single
bounds, but whose bound grants more reuse than there is, are excluded by evaluating their mappings.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

from solver_mapper.core.mapping import Mapping
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.verify.boxes import Box, BoxSpace, Split
from solver_mapper.verify.leaves import Target, legal, mappings, mappings_left
from solver_mapper.verify.loop_tables import members
from solver_mapper.verify.relaxation import LeastStatistics, Relaxation

TRIED, RELIABLE = 4, 3
"""Decisions tried at a node; and how often each is tried before its record counts."""
MOST_EVALUATED = 3000
"""Mappings that are evaluated to decide one box."""
LEAST_GAIN = 1e-4


@dataclass(slots=True)
class Node:
    """A box of the tree, None if it is empty. `leaf`: "bound", "empty", "evaluated", or "open"
    where time or means ended; a node that is split has a `split` and two `parts`."""

    box: Box | None
    statistics: LeastStatistics | None = None
    split: Split | None = None
    parts: tuple[Node, ...] = ()
    leaf: str | None = None


@dataclass
class Proof:
    """The tree so far. `better`: a legal mapping that beats the incumbent and ends the search."""

    target: Target
    root: Node
    nodes: int = 0
    evaluated: int = 0
    open: list[Node] = field(default_factory=list)
    better: Mapping | None = None

    @property
    def complete(self) -> bool:
        """Whether the tree proves that no mapping is better."""
        return self.better is None and not self.open

    @property
    def reached(self) -> Fraction:
        """No mapping's first goal is below this share of the incumbent's value."""
        accepted = 1 - self.target.gap
        if self.complete:
            return accepted
        shares = [self.target.share(node.statistics) for node in self.open]
        return min([accepted, *shares])


@dataclass
class _Record:
    """What trying a decision gained, on average over the last times."""

    times: int = 0
    gain: float = 0.0

    def add(self, gain: float) -> None:
        self.times = min(self.times + 1, 20)
        self.gain += (gain - self.gain) / self.times


class Prover:
    """One search."""

    def __init__(self, space: BoxSpace, target: Target, over: Callable[[], bool]):
        self.space, self.target, self.over = space, target, over
        self._records: dict[Split, _Record] = {}
        self._evaluator = Evaluator(space.architecture, space.problem)

    def prove(self) -> Proof:
        """Search until every box is decided, a better mapping is found, or `over` says that the
        time is.
        """
        root = self._node(self.space.root())
        proof, order = Proof(self.target, root), count()
        queue = [(self._progress(root), next(order), root)] if root.leaf is None else []
        while queue and proof.better is None and not self.over():
            _, _, node = heapq.heappop(queue)
            proof.nodes += 1
            parts = self._best_split(node)
            if not parts:
                self._evaluate(node, proof)
            for part in parts:
                if part.leaf is None:
                    heapq.heappush(queue, (self._progress(part), next(order), part))
        proof.open += [node for *_, node in queue]
        return proof

    def _node(self, box: Box | None) -> Node:
        if box is None:
            return Node(None, leaf="empty")
        statistics = Relaxation(self.space, box).statistics()
        return Node(box, statistics, leaf="bound" if self.target.excludes(statistics) else None)

    def _progress(self, node: Node) -> float:
        return (
            float(len(self.target.objective.goals))
            if node.leaf is not None
            else self.target.progress(node.statistics)
        )

    def _best_split(self, node: Node) -> tuple[Node, ...]:
        """Split a node by the best of the decisions tried; () if there is none left."""
        assert node.box is not None
        best, here = -1.0, self._progress(node)
        left = len(self.target.objective.goals) - here
        for tried, split in enumerate(
            sorted(self._splits(node.box), key=self._promise, reverse=True)
        ):
            record = self._records.setdefault(split, _Record())
            if tried >= TRIED and record.times >= RELIABLE and best > LEAST_GAIN:
                break
            parts = tuple(self._node(part) for part in self.space.split(node.box, split))
            gains = [max((self._progress(part) - here) / left, LEAST_GAIN) for part in parts]
            gain = (gains[0] * gains[1]) ** 0.5
            record.add(gain)
            if gain > best:
                best, node.split, node.parts = gain, split, parts
            if all(part.leaf for part in parts):
                break
        return node.parts

    def _promise(self, split: Split) -> float:
        record = self._records.get(split)
        return 2.0 if record is None or record.times < RELIABLE else record.gain

    def _splits(self, box: Box) -> Iterable[Split]:
        """Decisions to try. Who stores what comes first: bounds are weak before."""
        space = self.space
        stores = [
            ("store", tensor, level, 0)
            for tensor, mask in enumerate(box.stores)
            for level in range(space.levels)
            if len({space.stores[tensor][number][level] for number in members(mask)}) > 1
        ]
        if stores:
            return stores
        splits = [
            ("innermost", level, 1 << number, 0)
            for level, mask in enumerate(Relaxation(space, box).innermost)
            if mask.bit_count() > 1
            for number in members(mask)
        ]
        for dim, masks in enumerate(box.extents):
            for position, mask in enumerate(masks):
                values = [space.divisors[dim][number] for number in members(mask)]
                splits += (
                    [
                        ("extent", dim, position, value)
                        for value in {values[(len(values) - 1) // 2], values[0], values[-2]}
                    ]
                    if len(values) > 1
                    else []
                )
        return splits

    def _evaluate(self, node: Node, proof: Proof) -> None:
        """Evaluate all mappings of a box that cannot be split."""
        assert node.box is not None
        left = mappings_left(self.space, node.box)
        if left is None or left > MOST_EVALUATED:
            node.leaf = "open"
            proof.open.append(node)
            return
        node.leaf = "evaluated"
        for mapping in mappings(self.space, node.box):
            proof.evaluated += 1
            if self.target.better(self._evaluator.evaluate(mapping)) and legal(self.space, mapping):
                proof.better = mapping
                return
