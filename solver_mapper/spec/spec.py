"""Everything that one set of Timeloop-style files says, together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from solver_mapper.errors import NOWHERE, InputError, Place
from solver_mapper.mapping import Mapping
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.constraints import Constraints, Rule
from solver_mapper.spec.problem import Problem


@dataclass(frozen=True)
class Spec:
    """The parts that were given; a part that was not is None. Use `need_...` to ask for one that must be there."""

    architecture: Architecture | None = None
    problem: Problem | None = None
    mapping: Mapping | None = None
    constraints: Constraints = field(default_factory=Constraints)
    place: Place = NOWHERE
    warnings: tuple[str, ...] = ()
    """What was accepted although it may not mean what its writer thinks, one `file:line:column: text` each."""
    directives: tuple[Rule, ...] = ()
    """The directives of `mapping` as rules, if it was read from a file: what a search keeps where the mapping is given in part."""

    def need_architecture(self) -> Architecture:
        if self.architecture is None:
            raise InputError("no architecture was given", self.place, "add a file with 'architecture:' or 'arch:'")
        return self.architecture

    def need_problem(self) -> Problem:
        if self.problem is None:
            raise InputError("no problem was given", self.place, "add a file with 'problem:'")
        return self.problem

    def need_mapping(self) -> Mapping:
        if self.mapping is None:
            raise InputError("no mapping was given", self.place, "add a file with 'mapping:', or let 'solve' find one")
        return self.mapping

    def with_mapping(self, mapping: Mapping) -> Spec:
        return replace(self, mapping=mapping, directives=())
