"""From LoopTrees to Timeloop's notation, where a tree is one branch and level by level."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from solver_mapper.core.mapping import LevelMapping, Loop
from solver_mapper.core.mapping import Mapping as LevelMappings
from solver_mapper.cost.looptree.hardware import Kind
from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath, LoopStep, StorageStep
from solver_mapper.cost.looptree.mapping.mapping_tree import Pipeline, Sequential, Toll, TreeMapping
from solver_mapper.cost.looptree.mapping.prepare import prepare
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.workload import Einsum, Relevance, Workload, indexes_alone
from solver_mapper.errors import InputError
from solver_mapper.io.convert.conversion import Conversion
from solver_mapper.io.convert.timeloop_files import (
    Letters,
    axis_of,
    letters_for,
    write_architecture,
    write_problem,
)


def to_timeloop(spec: TreeSpec) -> Conversion:
    """Architecture, problem and mapping as one Timeloop file.

    Raises: InputError that names the node (or component, or Einsum) that Timeloop's notation cannot
    express.
    """
    architecture, workload = spec.need_architecture(), spec.need_workload()
    if spec.mapping is not None:
        _one_branch(spec.mapping)
        (branch,) = prepare(architecture, workload, spec.mapping).need_sound()
        einsum, chain = branch.einsum, branch.chain
    else:
        einsum = _single(workload)
        chain = architecture.chain(einsum, architecture.enabled_computes(einsum)[0])
    letters = letters_for(einsum)
    lines, notes = write_architecture(chain, einsum)
    text = "\n".join([*lines, *write_problem(einsum, letters)]) + "\n"
    if spec.mapping is not None:
        text += levels_of(branch, letters).to_yaml()
    return Conversion(text, tuple(notes))


def _single(workload: Workload) -> Einsum:
    if len(workload.einsums) > 1:
        raise InputError(
            "Timeloop's notation knows one Einsum at a time",
            workload.einsums[1].location,
            "convert each by itself",
        )
    return workload.einsums[0]


def _one_branch(mapping: TreeMapping) -> None:
    for node in mapping.walk():
        if isinstance(node, (Sequential, Pipeline)) and len(node.nodes) > 1:
            raise InputError(
                f"!{type(node).__name__}: Timeloop's notation has no forks",
                node.location,
                "convert each Einsum by itself",
            )
        if isinstance(node, Toll):
            raise InputError(f"'{node}': Timeloop's notation has no tolls", node.location)


def levels_of(branch: EinsumPath, letters: Letters) -> LevelMappings:
    """The mapping level by level, with dimensions by their letters.

    Raises: InputError that names the node which has no place in a level.
    """
    memories = [level for level, unit in enumerate(branch.chain.units) if unit.kind is Kind.MEMORY]
    cuts = _cuts(branch, memories)
    levels = []
    for number, level in enumerate(memories):
        end = cuts[memories[number + 1]] if number + 1 < len(memories) else branch.length
        temporal = [
            loop for loop in branch.loops if not loop.spatial and cuts[level] <= loop.index < end
        ]
        spatial = [
            loop
            for loop in branch.loops
            if loop.level is not None
            and max((other for other in memories if other < loop.level), default=memories[0])
            == level
        ]
        keep = frozenset(hold.access.name for hold in branch.holds if hold.level == level)
        levels.append(
            LevelMapping(
                branch.chain.units[level].name,
                tuple(_merged(temporal, branch, letters)),
                tuple(_across(spatial, branch, letters)),
                keep,
                no_multicast=_separate(branch, spatial),
                no_link_transfer=frozenset(branch.einsum.tensors) if spatial else frozenset(),
            )
        )
    return LevelMappings(tuple(levels), tuple(letters.values()), branch.einsum.tensors)


def _cuts(branch: EinsumPath, memories: Sequence[int]) -> dict[int, int]:
    """For each memory, the position on the branch from which its loops run.

    It lies at the level's lowest node or below, so that Timeloop's implied reuse gives every node
    of the level the fetches that it has in the tree, and no level has two loops over one variable
    with others between.
    """
    choices: list[list[int]] = []
    for level in memories:
        holds = [hold for hold in branch.holds if hold.level == level]
        lowest = max((hold.index for hold in holds), default=0)
        good = [
            cut
            for cut in range(lowest, branch.length + 1)
            if all(_problem(branch, hold, cut) is None for hold in holds)
        ]
        if not good:
            raise next(
                problem
                for problem in (_problem(branch, hold, lowest) for hold in holds)
                if problem is not None
            )
        choices.append(good)
    found = _monotone(branch, choices, 0)
    if found is None:
        found = _ordered(choices)
    if found is None:
        holds = [hold for level in memories for hold in branch.holds if hold.level == level]
        node = next(
            inner.node for outer, inner in itertools.pairwise(holds) if inner.index < outer.index
        )
        raise InputError(
            f"'{node}' stands above a node of a memory further out: that is not level by level",
            node.location,
        )
    return dict(zip(memories, found, strict=True))


def _monotone(branch: EinsumPath, choices: Sequence[list[int]], before: int) -> list[int] | None:
    """One cut a level, outer to inner, with loops between that a level can have; None if there are
    none.
    """
    if not choices:
        return []
    for cut in choices[0]:
        if cut >= before:
            rest = _monotone(branch, choices[1:], cut)
            if rest is not None and _one_loop_each(branch, cut, rest[0] if rest else branch.length):
                return [cut, *rest]
    return None


def _ordered(choices: Sequence[list[int]]) -> list[int] | None:
    """The highest cuts in order, whatever stands between them."""
    found: list[int] = []
    for good in choices:
        cut = next((cut for cut in good if not found or cut >= found[-1]), None)
        if cut is None:
            return None
        found.append(cut)
    return found


def _one_loop_each(branch: EinsumPath, start: int, end: int) -> bool:
    inside = [
        loop.variable for loop in branch.loops if not loop.spatial and start <= loop.index < end
    ]
    runs = [variable for variable, _ in itertools.groupby(inside)]
    return len(runs) == len(set(runs))


def _problem(branch: EinsumPath, hold: StorageStep, cut: int) -> InputError | None:
    """Why Timeloop, which implies reuse, would not fetch as often as the tree if the node stood at
    its level's cut.
    """
    holders = branch.holders(hold.access.name)
    if hold.backing:
        between = [
            loop for loop in branch.loops if not loop.spatial and hold.index < loop.index < cut
        ]
        return (
            InputError(
                f"'{hold.node}' stands above '{between[0].node}' but others of its level below:"
                " that is not level by level",
                hold.node.location,
            )
            if between
            else None
        )
    parent = holders[holders.index(hold) - 1].index
    raised = cut
    for loop in reversed(
        [loop for loop in branch.loops if not loop.spatial and parent < loop.index < cut]
    ):
        if hold.access.relevance(loop.variable) is not Relevance.IRRELEVANT:
            break
        raised = loop.index
    low, high = sorted((raised, hold.index))
    for loop in branch.loops:
        if loop.spatial or not low <= loop.index < high:
            continue
        if raised < hold.index:
            return InputError(
                f"'{hold.node}' fetches '{hold.access.name}' again for each iteration of"
                f" '{loop.node}': Timeloop implies reuse there",
                hold.node.location,
                f"move it above '{loop.node}'",
            )
        if not indexes_alone(hold.access, loop.variable):
            return InputError(
                f"'{hold.node}' stands above '{loop.node}' and others of its level below: that is"
                " not level by level",
                hold.node.location,
            )
    return None


def _merged(loops: Sequence[LoopStep], branch: EinsumPath, letters: Letters) -> Iterator[Loop]:
    """Temporal loops of one level; neighbours over one variable become one."""
    seen: dict[str, LoopStep] = {}
    runs: list[tuple[str, int]] = []
    for loop in loops:
        trips = _trips(loop, branch)
        if runs and runs[-1][0] == loop.variable:
            runs[-1] = loop.variable, runs[-1][1] * trips
        elif loop.variable in seen and trips > 1:
            raise InputError(
                f"'{loop.node}': a level of Timeloop has one loop over '{loop.variable}', here are"
                " two with others between",
                loop.node.location,
            )
        elif trips > 1:
            runs.append((loop.variable, trips))
            seen[loop.variable] = loop
    for variable, trips in runs:
        yield Loop(letters[variable], trips, trips)


def _across(loops: Sequence[LoopStep], branch: EinsumPath, letters: Letters) -> Iterator[Loop]:
    """Spatial loops below one level, those along Y outside those along X."""
    found: dict[tuple[str, str], int] = {}
    for loop in loops:
        if loop.fanout is None or loop.level is None:
            continue
        axis = axis_of(branch.chain, loop.level, loop.fanout.name)
        key = axis, loop.variable
        if (("Y" if axis == "X" else "X"), loop.variable) in found:
            raise InputError(
                f"'{loop.node}': Timeloop spreads '{loop.variable}' along one axis only",
                loop.node.location,
            )
        found[key] = found.get(key, 1) * _trips(loop, branch)
    for axis in ("Y", "X"):
        for (along, variable), trips in found.items():
            if along == axis and trips > 1:
                yield Loop(letters[variable], trips, trips, axis)


def _trips(loop: LoopStep, branch: EinsumPath) -> int:
    extent = branch.einsum.bounds[loop.variable]
    for other in branch.loops:
        tiles = other.tiles(extent) if other.variable == loop.variable else ()
        if other is loop:
            if len(tiles) > 1 or loop.first is not None:
                raise InputError(
                    f"'{loop.node}' has tiles of different sizes",
                    loop.node.location,
                    "only tile shapes that divide can be converted",
                )
            return tiles[0][1]
        if tiles:
            extent = tiles[0][0]
    return 1


def _separate(branch: EinsumPath, loops: Sequence[LoopStep]) -> frozenset[str]:
    """Tensors that the wires used here cannot serve together."""
    found: set[str] = set()
    for loop in loops:
        if loop.fanout is not None:
            found |= {
                access.name
                for access in branch.einsum.accesses
                if access.relevance(loop.variable) is Relevance.IRRELEVANT
                and access.name not in loop.fanout.may_reuse
            }
    return frozenset(found)
