"""An execution of a fused plan, word by word: what is in the buffer at every step, and what moves.

The trace knows the loops of a plan and nothing of its figures. It checks that every operation is
done once, that whatever an operation reads is in the buffer and complete, and that what is fetched
from the backing store has been left there.
"""

from __future__ import annotations

import itertools
from collections import Counter
from math import prod


class Trace:
    """The execution of `plan` of `net`: `accesses` moved and the `peak` of the buffer, in words."""

    def __init__(self, net, plan):
        self.net = net
        self.accesses = self.peak = 0
        self.done = Counter()
        self.sums = Counter()
        self.stored = {name: None for name, writer in net.producer.items() if writer is None}
        self.users_left = {name: set(users) for name, users in net.users.items()}
        for step in plan.steps:
            assert not step.plan.parts
            self._group(step)
        assert all(count == 1 for count in self.done.values())
        assert len(self.done) == sum(prod(problem.bounds.values()) for problem in net.problems)

    def _group(self, step):
        self.whole, self.plan = step.whole, step.plan
        self.resident, self.tiles = {}, {}
        for at in itertools.product(*(range(loop.trips) for loop in step.plan.trunk)):
            self.tiles = {}
            for i, choice in zip(step.plan.members, step.plan.choices, strict=True):
                self._member(i, choice, at)
        for (i, name), words in self.resident.items():
            self._leave(i, name, words)

    def _box(self, einsum, loops, at):
        """The range of each variable inside these loops."""
        ranges = {dim: range(bound) for dim, bound in self.net.problems[einsum].bounds.items()}
        for loop, place in zip(loops, at, strict=True):
            for rank, part in reversed(list(zip(loop.ranks, loop.parts, strict=True))):
                place, step = divmod(place, part)
                if einsum in rank.variables:
                    dim, stride = rank.variables[einsum], rank.strides.get(einsum, 1)
                    digits = sorted({value // stride % rank.bound for value in ranges[dim]})
                    size = len(digits) // part
                    taken = digits[step * size : (step + 1) * size]
                    ranges[dim] = [
                        value for value in ranges[dim] if value // stride % rank.bound in taken
                    ]
        return ranges

    def _words(self, einsum, name, ranges):
        ranks = self.net.use(einsum, name).ranks
        dims = sorted({term.dim for rank in ranks for term in rank})
        return frozenset(
            tuple(
                sum(term.coefficient * point[dims.index(term.dim)] for term in rank)
                for rank in ranks
            )
            for point in itertools.product(*(ranges[dim] for dim in dims))
        )

    def _member(self, i, choice, at):
        trunk = self.plan.trunk
        box = self._box(i, trunk, at)
        for name in self.plan.tiled:
            if i in self.net.users[name]:
                self.tiles.setdefault(name, self._words(i, name, box))
                assert self._words(i, name, box) <= self.tiles[name], (
                    "a reader needs what its writer has not made in this iteration"
                )
        for name, place in choice.resident.items():
            assert place < len(trunk)
            words = self._words(i, name, self._box(i, trunk[:place], at[:place]))
            if self.resident.get((i, name)) != words:
                self._leave(i, name, self.resident.pop((i, name), frozenset()))
                self.resident[i, name] = words
                self._arrive(i, name, words)
        flowing = {}
        order = choice.streamed.order if choice.streamed else ()
        tile = choice.streamed.tile if choice.streamed else {}
        pieces = [
            [box[dim][start : start + tile[dim]] for start in range(0, len(box[dim]), tile[dim])]
            for dim in order
        ]
        for chosen in itertools.product(*pieces):
            inside = {**box, **dict(zip(order, chosen, strict=True))}
            for name in choice.flowing:
                words = self._words(i, name, inside)
                if flowing.get(name) != words:
                    before = flowing.pop(name, frozenset())
                    self._leave(i, name, before)
                    flowing[name] = words
                    self._arrive(i, name, words - before)
            self._compute(i, inside, flowing)
        for name, words in flowing.items():
            self._leave(i, name, words)
        for name, last in [
            (name, max(self.net.users[name] & set(self.plan.members))) for name in list(self.tiles)
        ]:
            if last == i:
                del self.tiles[name]

    def _arrive(self, i, name, words):
        """Words come into the buffer: an output's only if it has been there before."""
        if self.net.use(i, name).read_write:
            back = words & self.stored.get(name, frozenset())
            assert back in (words, frozenset())
            self.accesses += len(back)
            return
        if self.net.producer[name] is not None:
            assert words <= self.stored.get(name, frozenset()), (
                "what is fetched was never left in the backing store"
            )
        self.accesses += len(words)

    def _leave(self, i, name, words):
        if self.net.use(i, name).read_write and words:
            self.accesses += len(words)
            self.stored[name] = self.stored.get(name, frozenset()) | words

    def _compute(self, i, ranges, flowing):
        problem = self.net.problems[i]
        held = sum(self.net.sizes[name] for name in self.whole)
        held += sum(
            len(words) for place in (self.tiles, self.resident, flowing) for words in place.values()
        )
        self.peak = max(self.peak, held)
        there = {
            **flowing,
            **self.tiles,
            **{name: words for (user, name), words in self.resident.items() if user == i},
        }
        for point in itertools.product(*ranges.values()):
            self.done[i, point] += 1
            value = dict(zip(ranges, point, strict=True))
            for tensor in problem.tensors:
                word = tuple(
                    sum(term.coefficient * value[term.dim] for term in rank)
                    for rank in tensor.ranks
                )
                assert tensor.name in self.whole or word in there[tensor.name]
                if tensor.read_write:
                    self.sums[tensor.name, word] += 1
                elif self.net.producer[tensor.name] is not None:
                    writer = self.net.problems[self.net.producer[tensor.name]]
                    mine = writer.tensor(tensor.name).dims
                    assert self.sums[tensor.name, word] == prod(
                        bound for dim, bound in writer.bounds.items() if dim not in mine
                    )
