"""Checks an optimality certificate. docs/explanation/certificate.md explains it to a sceptic.

A certificate is a tree. A node stands for a *box*, a set of mappings; an inner node splits its box
in two, a leaf says why no mapping of its box is better than the incumbent. The checker splits boxes
itself (`boxes.py`), so that no mapping is lost, and works out what each leaf claims
(`box_bounds.py`), in whole numbers. Else it uses only the reading of files, and the evaluation and
the legality of one mapping.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from operator import ge
from pathlib import Path
from typing import Any

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import loop
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.verify.box_bounds import Bound
from solver_mapper.verify.boxes import NONE, Box, Mapspace, mappings
from solver_mapper.verify.certificate_format import Check, assembled, digest, read_certificate
from solver_mapper.verify.target import Least, Target


class RefusedError(Exception):
    """Why a certificate does not hold."""


def check_certificate(spec: Spec, path: Path) -> Check:
    """Whether the certificate in a file proves what it says about `spec`.

    Raises: InputError if the file is no certificate of this version.
    """
    header, nodes = read_certificate(path)
    walk = Walk(spec)
    try:
        walk.begin(header)
        walk.tree(nodes)
    except RefusedError as error:
        holds, reason = False, f"line {walk.line}: {error}"
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError) as error:
        holds, reason = False, f"line {walk.line} cannot be read: {error}"
    else:
        holds, reason = True, walk.claim
    return Check(holds, reason, walk.line - 1, walk.leaves, walk.evaluated)


class Walk:
    """One certificate being read. `line` is the number of the current line."""

    def __init__(self, spec: Spec):
        self.spec, self.space = spec, Mapspace(spec)
        self.evaluate = Evaluator(self.space.architecture, self.space.problem).evaluate
        self.line, self.leaves, self.evaluated, self.claim = 1, 0, 0, "no mapping is legal"

    def begin(self, header: dict[str, Any]) -> None:
        """The specification is the one given; the incumbent is legal and has its values."""
        if header["specification"] != digest(self.spec):
            raise RefusedError("it is about another specification")
        objective, gap, ranks = parse_objective(header["objective"]), Fraction(header["gap"]), None
        if not 0 <= gap < 1:
            raise RefusedError(f"a gap of {gap} says nothing")
        if header["incumbent"] is not None:
            levels = header["incumbent"]["mapping"]
            outer = [[loop(*x) for x in each["temporal"]] for each in levels]
            inner = [[loop(*x) for x in each["spatial"]] for each in levels]
            mapping = assembled(self.spec, outer, inner, [each["stores"] for each in levels])
            if not is_legal(self.spec, mapping):
                raise RefusedError("the incumbent is not legal")
            statistics = self.evaluate(mapping)
            ranks = tuple(goal.rank(statistics) for goal in objective.goals)
            if ranks != tuple(map(Fraction, header["incumbent"]["values"])):
                raise RefusedError("the incumbent's values are not what the cost model gives")
            pairs = zip(objective.goals, ranks, strict=True)
            shown = ", ".join(f"{goal.name} {goal.shown(rank)}" for goal, rank in pairs)
            self.claim = f"no mapping is better than {shown} by more than {float(100 * gap):g} %"
        self.target = Target(self.space, objective, ranks, gap)

    def tree(self, nodes: Iterable[Any]) -> None:
        """All nodes, in preorder. Boxes still to come are on a stack; at the end there is none."""
        boxes = [self.space.root()]
        for self.line, (kind, *words) in enumerate(nodes, 2):
            if not boxes:
                raise RefusedError("nodes follow after the last leaf")
            box = boxes.pop()
            if box is not None and kind in ("extent", "loop", "store", "innermost"):
                boxes += reversed(self.space.split(box, self.decision(kind, words)))
            else:
                self.leaves += 1
                self.leaf(kind, words, box)
        if boxes:
            raise RefusedError(f"{len(boxes)} boxes have no leaf")

    def decision(self, kind: str, words: list[Any]) -> tuple[Any, ...]:
        """A decision by numbers instead of names."""
        levels, dims = self.space.architecture.level_names, self.space.problem.dims
        if kind in ("extent", "loop"):
            slot = self.space.slots.index((levels.index(words[1]), words[2]))
            return kind, dims.index(words[0]), slot + (kind == "extent"), int(words[3])
        if kind == "store":
            return kind, self.space.problem.tensor_names.index(words[0]), levels.index(words[1])
        only = [dims.index(*x) + len(dims) for x in words[1] if isinstance(x, list)]
        inner = [dims.index(x) for x in words[1] if isinstance(x, str)]
        return kind, levels.index(words[0]), only + inner + [NONE] * (None in words[1])

    def leaf(self, kind: str, words: list[Any], box: Box | None) -> None:
        """The reason why a box has no mapping that is better by more than the gap."""
        if box is None or kind == "empty":
            if box is not None or kind != "empty":
                raise RefusedError(f"the box is {'not ' * (box is not None)}empty")
        elif kind == "unfit":
            if Bound(self.space, box).unfit() != words[0]:
                raise RefusedError("mappings of the box may fit")
        elif kind == "bound":
            claimed, found = Least(*map(int, words)), list(Bound(self.space, box).least())
            if not any(all(map(ge, each, claimed)) for each in found):
                raise RefusedError(f"a bound of {tuple(claimed)} is claimed; it is {found[-1]}")
            if not self.target.excludes(claimed):
                raise RefusedError(f"a bound of {tuple(claimed)} does not exclude better mappings")
        elif kind == "evaluated":
            before = self.evaluated
            for mapping in mappings(self.space, box):
                self.evaluated += 1
                statistics = self.evaluate(mapping)
                values = [goal.rank(statistics) for goal in self.target.objective.goals]
                if self.target.better(values) and is_legal(self.spec, mapping):
                    raise RefusedError(f"there is a better mapping: {mapping}")
            if words != [self.evaluated - before]:
                raise RefusedError(f"the box has {self.evaluated - before} mappings, not {words}")
        else:
            raise RefusedError(f"the box is not empty, and {kind} is no reason")
