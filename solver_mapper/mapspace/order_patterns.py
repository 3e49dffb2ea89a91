"""Loop orders, reduced to what they change.

Without sliding windows only this matters of a level's temporal order: which loops irrelevant to a
tensor are innermost (the tensor stays while they run). Orders that agree in it are one *pattern*.
Sliding windows cost different amounts in the orders of one pattern; the cost model evaluates these.
Loops of bound 1 do not exist, so a pattern under a fixed order may demand that some dimensions have
factor 1: then the loops outside them move inwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from solver_mapper.core.dominance import undominated
from solver_mapper.core.loop_orders import Pair


@dataclass(frozen=True)
class Pattern:
    """A class of orders of one level.

    `order` lists the innermost dimensions, innermost first, as far as they matter. `reuse[tensor]`
    are the dimensions across which the tensor stays. `unit` are the dimensions whose factor must be
    1 for the pattern to exist under the level's order constraint.
    """

    order: tuple[str, ...]
    reuse: tuple[tuple[str, frozenset[str]], ...]
    unit: frozenset[str]

    def reused(self, tensor: str) -> frozenset[str]:
        """Dimensions over which a tensor stays while their loops run."""
        return dict(self.reuse).get(tensor, frozenset())


@dataclass(frozen=True)
class _State:
    order: tuple[str, ...]
    unit: frozenset[str]
    alive: frozenset[str]


def patterns(
    dims: tuple[str, ...],
    irrelevant: Mapping[str, frozenset[str]],
    pairs: Collection[Pair] = (),
) -> tuple[Pattern, ...]:
    """All patterns of one level that no other pattern improves upon.

    Args: `dims`, the dimensions with bound above 1; `irrelevant[tensor]`, those that do not index
    it; `pairs`, the order that constraints ask for.

    Dominance: a pattern whose reuse sets are subsets of another's, and which demands at least as
    many units, can never be cheaper, because every count falls as reuse grows.
    """
    found: dict[tuple[object, ...], Pattern] = {}
    seen: set[tuple[object, ...]] = set()
    stack = [_State((), frozenset(), frozenset(t for t, gone in irrelevant.items() if gone))]
    while stack:
        state = stack.pop()
        pattern = Pattern(state.order, _reuse(state.order, irrelevant), state.unit)
        key = (pattern.reuse, frozenset(state.order), state.unit, state.alive)
        if key in seen:
            continue
        seen.add(key)
        found[(pattern.reuse, state.unit)] = pattern
        if state.order and not state.alive:
            continue
        stack += _steps(state, dims, irrelevant, pairs)
    return _undominated(list(found.values()))


def _reuse(
    order: tuple[str, ...], irrelevant: Mapping[str, frozenset[str]]
) -> tuple[tuple[str, frozenset[str]], ...]:
    reuse = []
    for tensor, dims in irrelevant.items():
        kept: set[str] = set()
        for dim in order:
            if dim not in dims:
                break
            kept.add(dim)
        reuse.append((tensor, frozenset(kept)))
    return tuple(reuse)


def _steps(
    state: _State,
    dims: tuple[str, ...],
    irrelevant: Mapping[str, frozenset[str]],
    pairs: Collection[Pair],
) -> list[_State]:
    left = [dim for dim in dims if dim not in state.unit and dim not in state.order]
    nexts, skippable = _available(left, pairs)
    steps = [
        _State(
            (*state.order, dim),
            state.unit,
            frozenset(t for t in state.alive if dim in irrelevant[t]),
        )
        for dim in nexts
    ]
    steps += [_State(state.order, state.unit | {dim}, state.alive) for dim in skippable]
    return steps


def _available(left: list[str], pairs: Collection[Pair]) -> tuple[list[str], list[str]]:
    """Which of the dimensions `left` may come next, and which may be declared unit because others
    wait for them.
    """
    waiting = [(inner, outer) for inner, outer in pairs if inner in left and outer in left]
    nexts = [dim for dim in left if all(outer != dim for _, outer in waiting)]
    return nexts, [dim for dim in nexts or left if any(inner == dim for inner, _ in waiting)]


def arrange(dims: Collection[str], pairs: Collection[Pair]) -> tuple[str, ...]:
    """`dims`, innermost first, in an order that obeys `pairs` and otherwise keeps to the one given;
    pairs in a circle are not obeyed.
    """
    left, placed = list(dims), list[str]()
    while left:
        nexts, _ = _available(left, pairs)
        placed.append((nexts or left)[0])
        left.remove(placed[-1])
    return tuple(placed)


def circular(dims: Collection[str], pairs: Collection[Pair]) -> bool:
    """Whether `pairs` contradict each other for loops over all of `dims`."""
    left = list(dims)
    while left:
        nexts, _ = _available(left, pairs)
        if not nexts:
            return True
        left = [dim for dim in left if dim not in nexts]
    return False


def _undominated(candidates: list[Pattern]) -> tuple[Pattern, ...]:
    def beats(one: Pattern, other: Pattern) -> bool:
        return one.unit <= other.unit and all(
            mine[1] >= theirs[1] for mine, theirs in zip(one.reuse, other.reuse, strict=True)
        )

    weight = {p: (len(p.unit), -sum(len(r) for _, r in p.reuse), p.order) for p in candidates}
    return tuple(undominated(sorted(candidates, key=weight.__getitem__), beats))
