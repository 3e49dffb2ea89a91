"""Constraints about the order of loops, checked: permutations, and which positions of the spatial
order lie along X.

Loops of bound 1 have no position in a mapping, so they never offend; in the full order that a split
counts, every dimension has one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from solver_mapper.check.loops import cited, location_in, loops_of
from solver_mapper.core.constraints import NestingConstraint, PermutationConstraint, SplitConstraint
from solver_mapper.core.loop_orders import Pair, inside, order_of, outside
from solver_mapper.core.mapping import LevelMapping
from solver_mapper.core.results.verdict import Violation


def order(
    constraint: PermutationConstraint | NestingConstraint,
    level: LevelMapping,
    dims: Collection[str],
) -> Iterator[Violation]:
    """At most one violation: the first pair of loops, from the inside, that stands the wrong way
    round.
    """
    kind, pairs = order_of(constraint, dims) or ("temporal", frozenset())
    found = [each.dim for each in loops_of(level, kind)]
    wrong = {(outer, inner) for inner, outer in pairs}
    pair = next(
        ((a, b) for index, a in enumerate(found) for b in found[index + 1 :] if (a, b) in wrong),
        None,
    )
    if pair is not None:
        listed = " ".join(found)
        yield Violation(
            "permutation" if isinstance(constraint, PermutationConstraint) else "dataflow",
            f"{level.level} {kind}: innermost first the loops are {listed}; "
            f"{cited(constraint)} requires {pair[1]} inside {pair[0]}",
            level=level.level,
            dimension=pair[1],
            found=listed,
            limit=constraint.text.rpartition(" ")[2],
            location=location_in(level, constraint, f"{kind} permutation", kind),
            constraint=constraint,
        )


def split(
    constraint: SplitConstraint, level: LevelMapping, dims: tuple[str, ...], pairs: Collection[Pair]
) -> Iterator[Violation]:
    """Whether the dimensions can be put in an order that obeys `pairs`, such that exactly those
    that lie along X (or have no loop) come first, `constraint.split` of them. Positions count from
    0, the innermost.
    """
    count = min(constraint.split, len(dims))
    loops = loops_of(level, "spatial")
    why: list[tuple[str, str | None]] = []
    for each in loops:
        low, high = len(inside([each.dim], pairs)) - 1, len(dims) - len(outside([each.dim], pairs))
        if (low >= count) if each.axis == "X" else (high < count):
            position = (
                f"{low}"
                if low == high
                else f"{low} or further out"
                if each.axis == "X"
                else f"{high} or further in"
            )
            why.append((f"{each.dim} lies along {each.axis} but has position {position}", each.dim))
    across = [each.dim for each in loops if each.axis == "X"]
    along = [each.dim for each in loops if each.axis == "Y"]
    first, last = inside(across, pairs), outside(along, pairs)
    if not why and len(first) > count:
        why = [(f"the loops along X ({' '.join(across)}) take {len(first)} positions", None)]
    if not why and len(dims) - len(last) < count:
        why = [(f"the loops along Y ({' '.join(along)}) take {len(last)} positions", None)]
    for reason, dim in why:
        yield Violation(
            "split",
            f"{level.level} spatial: {reason}; "
            f"{cited(constraint)} puts the innermost {count} of {len(dims)} along X",
            level=level.level,
            dimension=dim,
            found=len(first),
            limit=constraint.split,
            location=location_in(level, constraint, "spatial split", "spatial"),
            constraint=constraint,
        )
