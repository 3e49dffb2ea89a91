"""From a tree to the branches of its Einsums, and everything on the way that makes no sense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from solver_mapper.core.results.verdict import Violation
from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.hardware import Chain, Kind
from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath, LoopStep, StorageStep
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Holder,
    Leaf,
    Nested,
    Pipeline,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    Toll,
    TreeMapping,
)
from solver_mapper.cost.looptree.mapping.soundness import branch_problems, common_problems
from solver_mapper.cost.looptree.workload import Einsum, Relevance, Workload
from solver_mapper.deadline import check_time
from solver_mapper.errors import InputError, did_you_mean


@dataclass
class Prepared:
    """`branches` in execution order; `problems` are what keeps the mapping from being counted at
    all.

    `sound` are the branches that have no problem themselves.
    """

    branches: list[EinsumPath] = field(default_factory=list)
    problems: list[Violation] = field(default_factory=list)
    sound: list[EinsumPath] = field(default_factory=list)

    def need_sound(self) -> tuple[EinsumPath, ...]:
        """The branches. Raises: InputError with all problems if there are any."""
        if self.problems:
            errors = [InputError(problem.message, problem.location) for problem in self.problems]
            raise InputError(errors[0].message, errors[0].location, None, tuple(errors[1:]))
        return tuple(self.branches)


def prepare(architecture: Architecture, workload: Workload, mapping: TreeMapping) -> Prepared:
    """The branches of a mapping, with names resolved.

    Raises: InputError for a tree without proper ends, and for an architecture that cannot be
    evaluated; TimeUp.
    """
    result = Prepared()
    unknown: set[int] = set()
    for node, problem in _names(architecture, workload, mapping):
        result.problems.append(problem)
        unknown.add(id(node))
    for path in mapping.branches():
        check_time()
        leaf = path[-1]
        if not isinstance(leaf, Compute) or id(leaf) in unknown:
            continue
        einsum = workload.by_name[leaf.einsum]
        if leaf.component not in architecture.enabled_computes(einsum):
            text = f"compute '{leaf.component}' is not enabled for Einsum '{einsum.name}'"
            result.problems.append(
                Violation("unknown-name", text, level=leaf.component, location=leaf.location)
            )
            unknown.add(id(leaf))
            continue
        result.branches.append(branch_of(einsum, architecture.chain(einsum, leaf.component), path))
    own = [tuple(branch_problems(branch, unknown)) for branch in result.branches]
    result.problems += [problem for problems in own for problem in problems]
    result.problems += common_problems(workload, mapping, result.branches, unknown)
    result.sound = [
        branch
        for branch, problems in zip(result.branches, own, strict=True)
        if not problems and not any(id(node) in unknown for node in branch.nodes)
    ]
    return result


def branch_of(einsum: Einsum, chain: Chain, path: tuple[Leaf, ...]) -> EinsumPath:
    """One Einsum's view of a path, skipping what names nothing it knows.

    A copy moves values between the backing holders of its tensors only: what stands below the last
    of them has no part in it, unless its component is further out.
    """
    loops: list[LoopStep] = []
    holds: list[StorageStep] = []
    seen: set[str] = set()
    joint = {
        variable
        for access in einsum.accesses
        for variable in access.variables
        if access.relevance(variable) is Relevance.PARTIAL
    }
    for node in path:
        index = len(loops) + len(holds)
        if isinstance(node, (Temporal, Spatial)):
            own = [variable for variable in node.variables if variable in einsum.bounds]
            first = node.initial_tile_shape if own and own[0] in joint else None
            unit = chain.by_name.get(node.component) if isinstance(node, Spatial) else None
            if own:
                fanout = unit.fanout(node.name) if unit and isinstance(node, Spatial) else None
                level = chain.position.get(node.component, 0) if isinstance(node, Spatial) else None
                loops.append(LoopStep(node, index, own[0], first, fanout, level))
        elif isinstance(node, (Storage, Toll)) and node.component in chain.by_name:
            for tensor in dict.fromkeys(node.tensors):
                if tensor in einsum.by_tensor:
                    holds.append(
                        StorageStep(
                            node,
                            len(loops) + len(holds),
                            einsum.by_tensor[tensor],
                            chain.by_name[node.component],
                            chain.position[node.component],
                            tensor not in seen,
                        )
                    )
                    seen.add(tensor)
    if einsum.copy:
        backing = [hold for hold in holds if hold.backing]
        last = max((hold.index for hold in backing), default=-1)
        innermost = max((hold.level for hold in backing), default=-1)
        holds = [hold for hold in holds if hold.index <= last or hold.level < innermost]
    return EinsumPath(einsum, chain, path, tuple(loops), tuple(holds))


def _names(
    architecture: Architecture, workload: Workload, mapping: TreeMapping
) -> Iterator[tuple[Leaf, Violation]]:
    """Names in the mapping that neither architecture nor workload has, with their nodes."""
    for node in mapping.walk():
        if not isinstance(node, (Nested, Sequential, Pipeline)):
            yield from ((node, problem) for problem in _names_of(architecture, workload, node))


def _names_of(architecture: Architecture, workload: Workload, node: Leaf) -> Iterator[Violation]:
    if isinstance(node, (Storage, Toll)):
        wanted = Kind.MEMORY if isinstance(node, Storage) else Kind.TOLL
        yield from _component(architecture, node, wanted)
        for tensor in node.tensors:
            if tensor not in workload.tensors:
                yield _unknown("tensor", tensor, workload.tensors, node, tensor=tensor)
    elif isinstance(node, (Temporal, Spatial)):
        for variable in node.variables:
            if variable not in workload.variables:
                yield _unknown(
                    "rank variable", variable, workload.variables, node, dimension=variable
                )
        if isinstance(node, Spatial):
            yield from _dimension(architecture, node)
    elif isinstance(node, Compute):
        if node.einsum not in workload.by_name:
            yield _unknown("Einsum", node.einsum, tuple(workload.by_name), node)
        yield from _component(architecture, node, Kind.COMPUTE)


def _component(
    architecture: Architecture, node: Holder | Compute, wanted: Kind
) -> Iterator[Violation]:
    known = tuple(
        component.name for component in architecture.root.components() if component.kind is wanted
    )
    component = architecture.by_name.get(node.component)
    if component is None:
        yield _unknown("component", node.component, known, node, level=node.component)
    elif component.kind is not wanted:
        text = (
            f"'{node.component}' is a {component.kind.value.lower()}, not a {wanted.value.lower()}"
        )
        yield Violation("unknown-name", text, level=node.component, location=node.location)


def _dimension(architecture: Architecture, node: Spatial) -> Iterator[Violation]:
    component = architecture.by_name.get(node.component)
    if component is None:
        known = tuple(each.name for each in architecture.root.components() if each.fanouts)
        yield _unknown("component", node.component, known, node, level=node.component)
    elif node.name not in [fanout.name for fanout in component.fanouts]:
        names = tuple(fanout.name for fanout in component.fanouts)
        yield _unknown(
            f"spatial dimension of '{node.component}'", node.name, names, node, level=node.component
        )


def _unknown(
    kind: str,
    word: str,
    known: tuple[str, ...],
    node: Leaf,
    level: str | None = None,
    tensor: str | None = None,
    dimension: str | None = None,
) -> Violation:
    hint = did_you_mean(word, known)
    return Violation(
        "unknown-name",
        f"unknown {kind} '{word}'" + (f"; {hint}" if hint else ""),
        level=level,
        tensor=tensor,
        dimension=dimension,
        location=node.location,
    )
