"""A proof by branch and bound that shares nothing with the CP-SAT engine.

Boxes, how decisions split them (`boxes.py`) and their bounds (`box_bounds.py`) are the checker's,
so that every complete proof is a certificate; the search is here. The incumbent's value is given;
the search shows that no mapping is better by more than the gap. It takes the box whose bound is
least, and halves the values of the variable that raised the bounds of both parts most where it was
tried before; variables that are like none before are tried first (pseudo-costs initialized by
strong branching, Achterberg, Koch, Martin: Branching rules revisited, 2005). Where a trial excludes
one of the parts, the other is all that is left of the box. Boxes that are down to single
loop bounds, but whose bound grants more reuse than there is, are excluded by evaluating their
mappings.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from math import inf, prod
from typing import Any

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import Mapping
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.verify.box_bounds import Bound
from solver_mapper.verify.boxes import NONE, Box, Mapspace, loop_choices, mappings
from solver_mapper.verify.target import Least, Target

Decision = tuple[Any, ...]
UNTRIED = 2.0
"""Promise of a decision that is like none tried before: more than any gain."""
MOST_ORDERED = 2
"""Levels whose innermost loops are all decided before tile sizes."""
MOST_EVALUATED = 10_000
"""Mappings that are evaluated to decide one box."""
LEAST_GAIN = 1e-6
"""A part whose bound does not rise counts as much, so that decisions compare by the other part."""
EXCLUDED = 0.1
"""Promise of a variable of which a part was excluded at once."""
MOST_TRIED = 3
"""Variables tried for one box, unless none raises both bounds."""


@dataclass(slots=True)
class Node:
    """A box of the tree, None if it is empty. `leaf`: "bound", "empty", "unfit", "evaluated", or
    "open" where time or means ended, with its `reason`; a node that is split has a `decision` and
    two `parts`."""

    box: Box | None
    least: Least | None = None
    progress: float = 0.0
    decision: Decision | None = None
    parts: tuple[Node, ...] = ()
    leaf: str | None = None
    reason: str | int | None = None


@dataclass
class ProofTree:
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
        return min([accepted, *(share(self.target, node.least) for node in self.open)])


def share(target: Target, least: Least | None) -> Fraction:
    """The first goal's least value as a share of the incumbent's; 0 if nothing is known."""
    if least is None or target.ranks is None or not target.ranks[0]:
        return Fraction(0)
    return target.values(least)[0] / target.ranks[0]


@dataclass
class _Record:
    """What trying a decision gained, on average over the last times."""

    times: int = 0
    gain: float = 0.0

    def add(self, gain: float) -> None:
        self.times = min(self.times + 1, 20)
        self.gain += (gain - self.gain) / self.times


class Prover:
    """One search, until `over` says that the time is, or `most_nodes` boxes are split."""

    def __init__(
        self, target: Target, over: Callable[[], bool], most_nodes: int | None = None
    ) -> None:
        self.space, self.target, self.over = target.space, target, over
        self.most_nodes = inf if most_nodes is None else most_nodes
        self._records: dict[Decision, _Record] = {}
        self._evaluator = Evaluator(self.space.architecture, self.space.problem)

    def prove(self) -> ProofTree:
        """Search until every box is decided, a better mapping is found, or the limits are met."""
        root = self._node(self.space.root())
        proof, order = ProofTree(self.target, root), count()
        queue = [(root.progress, next(order), root)] if root.leaf is None else []
        while queue and not proof.better and proof.nodes < self.most_nodes and not self.over():
            node = heapq.heappop(queue)[2]
            last = self._reduced_split(node, proof)
            for part in last.parts or [last] * (last is not node):
                if part.leaf is None:
                    heapq.heappush(queue, (part.progress, next(order), part))
            if last is node and not node.parts:
                if self.over():
                    proof.open.append(node)
                elif node.leaf is None:
                    self._evaluate(node, proof)
        proof.open += [node for *_, node in queue]
        return proof

    def _node(self, box: Box | None) -> Node:
        goals = float(len(self.target.objective.goals))
        if box is None:
            return Node(None, None, goals, leaf="empty")
        bound = Bound(self.space, box)
        reason = bound.unfit()
        if reason is not None:
            return Node(box, None, goals, leaf="unfit", reason=reason)
        found = []
        for least in bound.least():
            if self.target.excludes(least):
                return Node(box, least, goals, leaf="bound")
            found.append(Node(box, least, self._progress(least)))
        return max(found, key=lambda node: node.progress)

    def _progress(self, least: Least) -> float:
        """How far a box with these figures is from being excluded: for each goal at most 1."""
        done = 0.0
        values = self.target.values(least)
        for value, rank in zip(values, self.target.ranks or (), strict=False):
            if value < rank * (1 - self.target.gap):
                return done + min(float(value / rank), 1 - 2**-30)
            done += 1
        return done

    def _reduced_split(self, node: Node, proof: ProofTree) -> Node:
        """Split a node by the best of the decisions tried, after all those that exclude one part at
        once. Returns what is left of the node, without parts if there is nothing to decide."""
        assert node.box is not None
        best, choice, tried = -1.0, None, 0
        for key in sorted(self._open(node.box), key=self._promise, reverse=True):
            promise = self._promise(key)
            if promise < UNTRIED and (
                promise <= best or (tried >= MOST_TRIED and best > 2 * LEAST_GAIN)
            ):
                break
            while node.box and (decision := self._decision(node.box, key)):
                proof.nodes += 1
                parts = tuple(self._node(part) for part in self.space.split(node.box, decision))
                left = [part for part in parts if part.leaf is None]
                if len(left) == 2:
                    gain = self._gain(node, parts)
                    self._records.setdefault(key, _Record()).add(gain)
                    tried += 1
                    if gain > best:
                        best, choice = gain, (node, decision, parts)
                    break
                self._records.setdefault(key, _Record()).add(EXCLUDED)
                node.decision, node.parts = decision, parts
                if not left:
                    return node
                node = left[0]
            if self.over():
                break
        if choice is None:
            return node
        if choice[0] is not node and node.box:
            decision = choice[1]
            parts = tuple(self._node(part) for part in self.space.split(node.box, decision))
            choice = node, decision, parts
        node.decision, node.parts = choice[1:]
        return node

    def _gain(self, node: Node, parts: tuple[Node, ...]) -> float:
        """How far both parts are closer to being excluded than the node, 1 at most."""
        left = len(self.target.objective.goals) - node.progress
        one, two = (max((part.progress - node.progress) / left, LEAST_GAIN) for part in parts)
        return float((one * two) ** 0.5)

    def _promise(self, key: Decision) -> float:
        """What deciding about a variable gained before."""
        record = self._records.get(key)
        return record.gain if record else UNTRIED

    def _decision(self, box: Box, key: Decision) -> Decision | None:
        """The decision about a variable that halves its values; None if it has only one."""
        kind, x, y = key[:3]
        if kind in ("store", "innermost"):
            if kind == "store":
                return key if len({choice[y] for choice in box.stores[x]}) > 1 else None
            return key if 0 < len(box.innermost[x] & set(y)) < len(box.innermost[x]) else None
        values = (box.chains[x].extents if kind == "extent" else box.chains[x].bounds)[y]
        return (kind, x, y, values[(len(values) - 1) // 2]) if len(values) > 1 else None

    def _open(self, box: Box) -> Iterable[Decision]:
        """Variables to decide. Who stores what comes first, then innermost loops, unless those of
        many levels are open: bounds are weak before."""
        stores = [
            ("store", tensor, level)
            for tensor, choices in enumerate(box.stores)
            for level in range(self.space.depth)
            if len({choice[level] for choice in choices}) > 1
        ]
        if stores:
            return stores
        levels = range(self.space.depth)
        orders: list[Decision] = [
            ("innermost", level, each)
            for level in reversed(levels)
            for each in self._orders(box, level)
        ]
        if orders and len({level for _, level, _ in orders}) <= MOST_ORDERED:
            return orders
        extents: list[Decision] = [
            ("extent", d, position)
            for d, chains in enumerate(box.chains)
            for position in reversed(self.space.tile)
            if len(chains.extents[position]) > 1
        ]
        extents += [
            ("loop", d, slot)
            for d, chains in enumerate(box.chains)
            for slot in self.space.spatial
            if slot is not None and len(chains.bounds[slot]) > 1
        ]
        return orders + extents or [
            ("innermost", level, (code,))
            for level, codes in enumerate(box.innermost)
            if len(codes) > 1
            for code in sorted(codes)
        ]

    def _orders(self, box: Box, level: int) -> list[tuple[int, ...]]:
        """Innermost loops of a level, those together that are the same for all tensors which may be
        stored further inside; none if all are the same."""
        number = len(box.chains)
        inside = [
            t
            for t, choices in zip(self.space.tensors, box.stores, strict=True)
            if any(any(choice[level + 1 :]) for choice in choices)
        ]
        groups: dict[Any, list[int]] = {}
        for code in sorted(box.innermost[level]) if inside else ():
            d = code % number
            spared = [
                (d in t.free, d in t.free and code >= number and level > 0, t.window and d in t.own)
                for t in inside
            ]
            moves = d if any(window for *_, window in spared) else None
            key = NONE if code == NONE else (moves, *spared)
            groups.setdefault(key, []).append(code)
        return [tuple(each) for each in groups.values()] if len(groups) > 1 else []

    def _evaluate(self, node: Node, proof: ProofTree) -> None:
        """Evaluate all mappings of a box that cannot be split."""
        assert node.box is not None
        if _most_mappings(self.space, node.box) > MOST_EVALUATED:
            node.leaf = "open"
            proof.open.append(node)
            return
        node.leaf, node.reason = "evaluated", 0
        for mapping in mappings(self.space, node.box):
            proof.evaluated += 1
            node.reason += 1
            statistics = self._evaluator.evaluate(mapping)
            values = [goal.rank(statistics) for goal in self.target.objective.goals]
            if self.target.better(values) and is_legal(self.space.spec, mapping):
                proof.better = mapping
                return


def _most_mappings(space: Mapspace, box: Box) -> int:
    """How many mappings a box with single loop bounds has, at most; one more than are evaluated
    where a slot has too many loops to list their orders."""
    if any(
        sum(each.bounds[slot][0] > 1 for each in box.chains) > 6 for slot in range(len(space.slots))
    ):
        return MOST_EVALUATED + 1
    return prod(map(len, (*box.stores, *loop_choices(space, box))))
