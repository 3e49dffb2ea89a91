"""Writes optimality certificates: the tree of a complete proof by branch and bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from solver_mapper.core.clock import Clock
from solver_mapper.core.results.solution import Solution
from solver_mapper.core.spec import Spec
from solver_mapper.errors import ExactnessError, InputError
from solver_mapper.solve.confirm import ACCEPTED, LEAST_SECONDS, PATIENCE, at_most, gap_text
from solver_mapper.verify.boxes import NONE, Mapspace
from solver_mapper.verify.certificate_format import (
    FORMAT,
    VERSION,
    digest,
    mapping_to_json,
    write_lines,
)
from solver_mapper.verify.prover import Decision, Node, Prover
from solver_mapper.verify.route import Route
from solver_mapper.verify.target import Target


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
    space = Mapspace(spec)
    ranks = None
    if statistics is not None:
        ranks = tuple(goal.rank(statistics) for goal in solution.objective.goals)
    target = Target(space, solution.objective, ranks, gap)
    proof = Prover(target, lambda: clock.over).prove()
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


def _lines(space: Mapspace, header: dict[str, Any], root: Node) -> Iterator[Any]:
    yield header
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.decision is not None:
            yield _decision(space, node.decision)
            nodes += reversed(node.parts)
        elif node.leaf == "bound" and node.least is not None:
            yield ["bound", *node.least]
        else:
            yield [node.leaf] if node.reason is None else [node.leaf, node.reason]


def _decision(space: Mapspace, decision: Decision) -> list[Any]:
    """A decision by names: the part for which it holds comes first."""
    kind, one, two = decision[:3]
    dims, levels = space.problem.dims, space.architecture.level_names
    if kind in ("extent", "loop"):
        level, loops = space.slots[two - (kind == "extent")]
        return [kind, dims[one], levels[level], loops, decision[3]]
    if kind == "store":
        return ["store", space.problem.tensor_names[one], levels[two]]
    return ["innermost", levels[one], [_innermost(dims, code) for code in two]]


def _innermost(dims: tuple[str, ...], code: int) -> str | list[str] | None:
    """The innermost loop of a level: null for none, in a list if it is the only one."""
    if code == NONE:
        return None
    return dims[code] if code < len(dims) else [dims[code - len(dims)]]
