"""Checks an optimality certificate, line by line. docs/explanation/certificate.md explains it to a
sceptic.

The checker walks down the tree: it splits boxes as the certificate says, so that no mapping is
lost, and recomputes each leaf's reason in exact arithmetic. Of the package it uses the reading of
files, the bounds of boxes (`relaxation.py` and what it is made of) and the cost model; neither
OR-Tools nor numpy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solver_mapper.core.objective import parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.verify.boxes import Box, BoxSpace
from solver_mapper.verify.certificate_format import (
    FORMAT,
    VERSION,
    digest,
    mapping_from_json,
    ratio,
    read_lines,
    split_from_json,
)
from solver_mapper.verify.leaves import Target, legal, mappings, mappings_left
from solver_mapper.verify.relaxation import LeastStatistics, Relaxation


class RefusedError(Exception):
    """Why a certificate does not hold."""


@dataclass(frozen=True)
class Check:
    """`holds`, or a `reason` why not; how many `nodes` and `leaves` were read, and `evaluated`
    mappings.
    """

    holds: bool
    reason: str
    nodes: int
    leaves: int
    evaluated: int

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "holds": self.holds,
            "reason": self.reason,
            "nodes": self.nodes,
            "leaves": self.leaves,
            "evaluated_mappings": self.evaluated,
        }

    def __str__(self) -> str:
        if not self.holds:
            return f"The certificate is refused: {self.reason}"
        return (
            f"The certificate holds: {self.reason} ({self.nodes:,} nodes, {self.leaves:,} leaves, "
            f"{self.evaluated:,} mappings evaluated)"
        )


def check_certificate(spec: Spec, path: Path) -> Check:
    """Whether the certificate in a file proves what it says about `spec`.

    Raises: InputError if the file is no certificate of this version.
    """
    lines = read_lines(path)
    header = next(lines, None)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("this is no optimality certificate", SourceLocation(str(path), 1))
    if header.get("version") != VERSION:
        message = f"version {header.get('version')} of the format is not known"
        raise InputError(message, SourceLocation(str(path), 1), f"this program reads {VERSION}")
    walk = _Walk(spec)
    try:
        walk.begin(header)
        walk.tree(lines)
    except RefusedError as error:
        return Check(False, f"line {walk.line}: {error}", walk.nodes, walk.leaves, walk.evaluated)
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        ZeroDivisionError,
    ) as error:
        reason = f"line {walk.line} cannot be read: {error}"
        return Check(False, reason, walk.nodes, walk.leaves, walk.evaluated)
    return Check(True, walk.claim, walk.nodes, walk.leaves, walk.evaluated)


class _Walk:
    """One certificate being read. `line` is the number of the current line."""

    def __init__(self, spec: Spec):
        self.spec = spec
        self.space = BoxSpace(spec.need_architecture(), spec.need_problem(), spec.constraints)
        self.evaluator = Evaluator(self.space.architecture, self.space.problem)
        self.line, self.nodes, self.leaves, self.evaluated = 1, 0, 0, 0
        self.claim = ""

    def begin(self, header: dict[str, Any]) -> None:
        """The specification is the one given; the incumbent is legal and has its values."""
        if header["specification"] != digest(self.spec):
            raise RefusedError("it is about another specification")
        objective, gap = parse_objective(header["objective"]), ratio(header["gap"])
        if not 0 <= gap < 1:
            raise RefusedError(f"a gap of {gap} says nothing")
        if header["incumbent"] is None:
            self.target = Target(self.space, objective, None, gap)
            self.claim = "no mapping is legal"
            return
        mapping = mapping_from_json(self.space, header["incumbent"]["mapping"])
        ranks = tuple(ratio(value) for value in header["incumbent"]["values"])
        if not legal(self.space, mapping):
            raise RefusedError("the incumbent is not legal")
        statistics = self.evaluator.evaluate(mapping)
        if ranks != tuple(goal.rank(statistics) for goal in objective.goals):
            raise RefusedError("the incumbent's values are not what the cost model gives")
        self.target = Target(self.space, objective, ranks, gap)
        shown = ", ".join(
            f"{goal.name} {goal.shown(rank)}"
            for goal, rank in zip(objective.goals, ranks, strict=True)
        )
        self.claim = f"no mapping is better than {shown} by more than {float(100 * gap):g} %"

    def tree(self, lines: Iterator[Any]) -> None:
        """All nodes, in preorder. Boxes still to come are on a stack; at the end there is none."""
        boxes: list[Box | None] = [self.space.root()]
        for self.line, node in enumerate(lines, 2):
            if not boxes:
                raise RefusedError("nodes follow after the last leaf")
            box = boxes.pop()
            self.nodes += 1
            kind, *reason = node
            if kind in ("extent", "store", "innermost"):
                if box is None:
                    raise RefusedError("an empty box is split")
                holds, fails = self.space.split(box, split_from_json(self.space, node))
                boxes += [fails, holds]
            else:
                self.leaves += 1
                self.leaf(kind, reason, box)
        if boxes:
            raise RefusedError(f"{len(boxes)} boxes have no leaf")

    def leaf(self, kind: str, reason: list[Any], box: Box | None) -> None:
        """The reason why a box has no mapping that is better by more than the gap."""
        if kind == "empty":
            if box is not None:
                raise RefusedError("the box is not empty")
        elif box is None:
            raise RefusedError("the box is empty, but the leaf says otherwise")
        elif kind == "unfit":
            if Relaxation(self.space, box).unfit() != reason[0]:
                raise RefusedError("mappings of the box may fit")
        elif kind == "bound":
            self.bound(LeastStatistics(*map(int, reason)), box)
        elif kind == "evaluated":
            self.evaluate(reason[0], box)
        else:
            raise RefusedError(f"a leaf has an unknown reason: {kind}")

    def bound(self, claimed: LeastStatistics, box: Box) -> None:
        """The bound is what the box gives, and is no better than the incumbent."""
        found = Relaxation(self.space, box).statistics()
        if found is not None and any(
            each < said for each, said in zip(found, claimed, strict=True)
        ):
            raise RefusedError(f"a bound of {tuple(claimed)} is claimed; it is {tuple(found)}")
        if not self.target.excludes(claimed):
            raise RefusedError(f"a bound of {tuple(claimed)} does not exclude better mappings")

    def evaluate(self, count: int, box: Box) -> None:
        """No mapping of a box with single loop bounds is better."""
        if mappings_left(self.space, box) is None:
            raise RefusedError("mappings of a box with open loop bounds cannot be listed")
        found = 0
        for mapping in mappings(self.space, box):
            found += 1
            self.evaluated += 1
            if self.target.better(self.evaluator.evaluate(mapping)) and legal(self.space, mapping):
                raise RefusedError(f"there is a better mapping: {mapping}")
        if found != count:
            raise RefusedError(f"the box has {found} mappings, not {count}")
