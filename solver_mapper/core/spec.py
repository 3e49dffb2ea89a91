"""Everything that one set of Timeloop-style files says, together."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, field, replace

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.arguments import NEED_MAPPING, require_names, require_part
from solver_mapper.core.constraints import Constraint, Constraints
from solver_mapper.core.editing import edited
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.errors import NOWHERE, SourceLocation
from solver_mapper.io.yaml.source import Table
from solver_mapper.io.yaml.warnings import InputWarning


@dataclass(frozen=True)
class Spec:
    """The parts that were given; a part that was not is None. Use `need_...` to ask for one that
    must be there.
    """

    architecture: Architecture | None = None
    problem: Problem | None = None
    mapping: Mapping | None = None
    constraints: Constraints = field(default_factory=Constraints)
    location: SourceLocation = NOWHERE
    warnings: tuple[InputWarning, ...] = ()
    """What was accepted although it may not mean what its writer thinks, one `file:line:column:
    text` each.
    """
    directives: tuple[Constraint, ...] = ()
    """The directives of `mapping` as constraints, if it was read from a file: what a search keeps
    where the mapping is given in part.
    """

    source: Table | None = field(default=None, compare=False, repr=False)
    """What was read, if it was: `with_attributes` changes it and reads it again."""

    def with_attributes(self, values: abc.Mapping[str, object]) -> Spec:
        """The specification with other attributes, by path: `{"shared_glb.entries": 32768,
        "PE.count": 16}`.

        The paths are those of `solver_mapper.io.timeloop.architecture.attribute_paths`. What
        depends on an attribute follows it: capacities, meshes, and energies that a formula gives;
        energies of a reference table stay as they are.
        Raises: InputError for a path that leads nowhere, and for values that cannot be used.
        """
        changed: Spec = edited(self, require_names("values", values))
        return changed

    def need_architecture(self) -> Architecture:
        """The architecture. Raises: InputError if none was given."""
        return require_part(
            self.architecture,
            "architecture",
            self.location,
            "add a file with 'architecture:' or 'arch:'",
        )

    def need_problem(self) -> Problem:
        """The problem. Raises: InputError if none was given."""
        return require_part(self.problem, "problem", self.location, "add a file with 'problem:'")

    def need_mapping(self) -> Mapping:
        """The mapping. Raises: InputError if none was given."""
        return require_part(self.mapping, "mapping", self.location, NEED_MAPPING)

    def with_mapping(self, mapping: Mapping) -> Spec:
        """The same with another mapping, as if it had been given in full."""
        return replace(self, mapping=mapping, directives=())
