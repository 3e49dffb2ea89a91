"""Writes optimality certificates: the tree of a complete proof by branch and bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from solver_mapper.core.clock import Clock
from solver_mapper.core.solution import Solution
from solver_mapper.core.spec import Spec
from solver_mapper.errors import ExactnessError, InputError
from solver_mapper.solve.confirm import ACCEPTED, LEAST_SECONDS, PATIENCE, at_most, gap_text
from solver_mapper.verify.boxes import BoxSpace
from solver_mapper.verify.certificate_format import (
    FORMAT,
    VERSION,
    digest,
    mapping_to_json,
    split_to_json,
    write_lines,
)
from solver_mapper.verify.leaves import Target, mappings
from solver_mapper.verify.prover import Node, Prover
from solver_mapper.verify.relaxation import Relaxation
from solver_mapper.verify.route import Route


class CertificateNotWrittenError(InputError):
    """The file of a certificate cannot be written; `solution` is the answer all the same."""

    def __init__(self, error: InputError, solution: Solution):
        super().__init__(error.message, error.location, error.hint)
        self.solution = solution

    def __reduce__(self) -> tuple[type[InputError], tuple[object, ...]]:
        return type(self), (InputError(self.message, self.location, self.hint), self.solution)


def with_certificate(
    spec: Spec, solution: Solution, path: Path, gap: float, clock: Clock
) -> Solution:
    """The answer proven by branch and bound, the tree written to a file. The answer's own
    certificate says what became of it.

    Raises: ExactnessError if there is a better mapping although the answer is proven; InputError
    if the file cannot be written.
    """
    route = Route("certificate file", "nothing was written", "none", _unproven(solution))
    if solution.status in ("optimal", "infeasible"):
        patience = max(LEAST_SECONDS, PATIENCE * solution.seconds.get("solve", 0.0))
        try:
            with at_most(clock, patience):
                route = _written(spec, solution, path, max(ACCEPTED, Fraction(gap)), clock)
        except InputError as error:
            raise CertificateNotWrittenError(error, solution) from None
    told = (*solution.certificate.verification, route.to_dict())
    return replace(solution, certificate=replace(solution.certificate, verification=told))


def _unproven(solution: Solution) -> str:
    return "there is no answer" if solution.status == "unknown" else "the answer is not proven"


def _written(spec: Spec, solution: Solution, path: Path, gap: Fraction, clock: Clock) -> Route:
    name, statistics = "certificate file", solution.evaluation
    space = BoxSpace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    ranks = None
    if statistics is not None:
        ranks = tuple(goal.rank(statistics) for goal in solution.objective.goals)
    target = Target(space, solution.objective, ranks, gap)
    proof = Prover(space, target, lambda: clock.over).prove()
    if proof.better is not None:
        raise ExactnessError(f"branch and bound finds a better mapping: {proof.better}")
    if not proof.complete:
        return Route(
            name, "nothing was written", "none", "branch and bound did not end in the time given"
        )
    write_lines(path, _lines(space, _header(spec, solution, target), proof.root))
    return Route(
        name,
        f"{proof.nodes:,} boxes were split and written to {path}",
        "agrees",
        f"confirmed: no mapping is better by more than {gap_text(gap)}"
        if ranks
        else "confirmed: there is no mapping",
    )


def _header(spec: Spec, solution: Solution, target: Target) -> dict[str, Any]:
    space = target.space
    incumbent = None
    if solution.mapping is not None and target.ranks is not None:
        values = [str(rank) for rank in target.ranks]
        incumbent = {"mapping": mapping_to_json(solution.mapping), "values": values}
    return {
        "format": FORMAT,
        "version": VERSION,
        "specification": digest(spec),
        "objective": [goal.name for goal in solution.objective.goals],
        "gap": str(target.gap),
        "mapspace": {
            "factors": "perfect",
            "levels": list(space.architecture.level_names),
            "dimensions": {dim: space.problem.bounds[dim] for dim in space.problem.dims},
            "energy_unit_pj": f"1/{space.unit}",
        },
        "incumbent": incumbent,
    }


def _lines(space: BoxSpace, header: dict[str, Any], root: Node) -> Iterator[Any]:
    yield header
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.split is not None:
            yield split_to_json(space, node.split)
            nodes += reversed(node.parts)
        else:
            yield _leaf(space, node)


def _leaf(space: BoxSpace, node: Node) -> list[Any]:
    if node.box is None:
        return ["empty"]
    if node.leaf == "evaluated":
        return ["evaluated", sum(1 for _ in mappings(space, node.box))]
    if node.statistics is None:
        return ["unfit", Relaxation(space, node.box).unfit()]
    return ["bound", *node.statistics]
