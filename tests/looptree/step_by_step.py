"""Executes a LoopTree mapping step by step on concrete coordinates and counts what happens. It
knows no formula.

Every holder instance keeps the set of elements that it has now; every loop iterates; every element
that crosses from one instance to another is counted, one by one.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from solver_mapper.cost.looptree.hardware import Chain, Kind
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Nested,
    Node,
    Pipeline,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    Toll,
)
from solver_mapper.cost.looptree.mapping.prepare import prepare
from solver_mapper.cost.looptree.workload import Access, Einsum

Element = tuple[int, ...]
Instance = tuple[tuple[int, int], ...]
"""(position of a spatial loop, copy) for every spatial loop that tells instances apart."""


@dataclass
class Walk:
    """One Einsum on one path. `moved[component, tensor, action]` counts values by instance."""

    einsum: Einsum
    chain: Chain
    path: list[Node]
    moved: dict[tuple[str, str, str], Counter[Instance]] = field(default_factory=dict)
    steps: Counter[Instance] = field(default_factory=Counter)
    seen: dict[tuple[int, Instance], set[Element]] = field(default_factory=dict)
    at: dict[int, int] = field(default_factory=dict)
    """Iteration of each temporal loop that is running, by position."""

    def __post_init__(self) -> None:
        nodes: list[Node] = []
        for node in self.path:
            if isinstance(node, (Storage, Toll)):
                nodes += [
                    (
                        Storage((tensor,), node.component)
                        if isinstance(node, Storage)
                        else Toll((tensor,), node.component)
                    )
                    for tensor in node.tensors
                    if tensor in self.einsum.tensors
                ]
            else:
                nodes.append(node)
        self.path = nodes
        self.spatial = {
            index: self.chain.position[node.component]
            for index, node in enumerate(nodes)
            if isinstance(node, Spatial)
        }
        self.extent: dict[int, int] = {}
        sizes = dict(self.einsum.bounds)
        for index, node in enumerate(nodes):
            if isinstance(node, (Temporal, Spatial)):
                self.extent[index] = sizes[node.variable]
                sizes[node.variable] = node.tile_shape

    def trips(self, index: int) -> int:
        node = self.path[index]
        assert isinstance(node, (Temporal, Spatial))
        return len(range(0, self.extent[index], node.tile_shape))

    def instances(self, level: int) -> Iterator[Instance]:
        loops = [index for index, where in self.spatial.items() if where <= level]
        for copies in itertools.product(*(range(self.trips(index)) for index in loops)):
            yield tuple(zip(loops, copies, strict=True))

    def interval(self, variable: str, fixed: dict[int, int]) -> range:
        """The points of `variable` that the loops in `fixed` leave."""
        points = range(self.einsum.bounds[variable])
        for index, node in enumerate(self.path):
            if (
                index in fixed
                and isinstance(node, (Temporal, Spatial))
                and node.variable == variable
            ):
                points = points[
                    fixed[index] * node.tile_shape : (fixed[index] + 1) * node.tile_shape
                ]
        return points

    def elements(self, access: Access, index: int, instance: Instance) -> set[Element]:
        """What the tensor's tile at a position is, for one instance: nothing where the instance has
        no work in this step.
        """
        fixed = {loop: step for loop, step in self.at.items() if loop < index} | dict(instance)
        others = [
            loop
            for loop in self.extent
            if loop not in fixed
            and any(
                below > loop and self.path[below].variable == self.path[loop].variable
                for below in fixed
            )
        ]
        found: set[Element] = set()
        for copies in itertools.product(*(range(self.trips(loop)) for loop in others)):
            all_fixed = fixed | dict(zip(others, copies, strict=True))
            points = {
                variable: self.interval(variable, all_fixed) for variable in self.einsum.bounds
            }
            if all(points.values()):
                ranks = [[term.dim for term in rank] for rank in access.tensor.ranks]
                found |= set(
                    itertools.product(
                        *(
                            {
                                sum(point)
                                for point in itertools.product(*(points[name] for name in names))
                            }
                            for names in ranks
                        )
                    )
                )
        return found

    def count(
        self, component: str, tensor: str, action: str, instance: Instance, values: int
    ) -> None:
        self.moved.setdefault((component, tensor, action), Counter())[instance] += values

    def run(self, index: int = 0) -> None:
        node = self.path[index]
        if isinstance(node, Temporal):
            for step in range(self.trips(index)):
                self.at[index] = step
                self.run(index + 1)
            del self.at[index]
        elif isinstance(node, Spatial):
            self.run(index + 1)
        elif isinstance(node, Compute):
            for access in self.einsum.accesses:
                self.exchange(index, access, leaving=False)
            for instance in self.instances(len(self.chain.units) - 1):
                fixed = self.at | dict(instance)
                if all(self.interval(variable, fixed) for variable in self.einsum.bounds):
                    self.steps[instance] += 1
            for access in self.einsum.accesses:
                self.exchange(index, access, leaving=True)
        else:
            assert isinstance(node, (Storage, Toll))
            access = self.einsum.by_tensor[node.tensors[0]]
            real = isinstance(node, Storage)
            if real:
                self.exchange(index, access, leaving=False)
            self.run(index + 1)
            if real:
                self.exchange(index, access, leaving=True)

    def exchange(self, index: int, access: Access, leaving: bool) -> None:
        """Fetch the tile of the holder at `index` from the one above (or, `leaving`, return it),
        tolls in between paid.
        """
        above = [
            other
            for other, node in enumerate(self.path[:index])
            if isinstance(node, (Storage, Toll)) and node.tensors == (access.name,)
        ]
        if not above or (leaving and not access.output):
            return
        parent = max(other for other in above if isinstance(self.path[other], Storage))
        tolls = [other for other in above if other > parent]
        here = self.path[index]
        level = (
            len(self.chain.units) - 1
            if isinstance(here, Compute)
            else self.chain.position[here.component]
        )
        crossing: dict[int, dict[Instance, set[tuple[Element, Instance]]]] = {
            viewer: {} for viewer in [parent, *tolls]
        }
        for instance in self.instances(level):
            tile = self.elements(access, index, instance)
            if access.output and not leaving:
                known = self.seen.setdefault((index, instance), set())
                tile, fresh = tile & known, tile - known
                known |= fresh
            if not isinstance(here, Compute):
                self.count(
                    here.component, access.name, "read" if leaving else "write", instance, len(tile)
                )
            for viewer, found in crossing.items():
                found.setdefault(self.restricted(instance, viewer), set()).update(
                    (element, self.group(instance, viewer, access)) for element in tile
                )
        for viewer, found in crossing.items():
            node = self.path[viewer]
            assert isinstance(node, (Storage, Toll))
            direction = self.chain.by_name[node.component].direction.get(access.name, "")
            if viewer != parent and direction == ("down" if leaving else "up"):
                continue
            action = "read" if viewer != parent or not leaving else "write"
            for instance, elements in found.items():
                self.count(node.component, access.name, action, instance, len(elements))

    def restricted(self, instance: Instance, viewer: int) -> Instance:
        """The instance at `viewer` that serves `instance`."""
        level = self.chain.position[self.path[viewer].component]  # type: ignore[union-attr]
        return tuple((loop, copy) for loop, copy in instance if self.spatial[loop] <= level)

    def group(self, instance: Instance, viewer: int, access: Access) -> Instance:
        """What tells apart accesses on the wires below `viewer`: copies that the wires cannot serve
        together.
        """
        level = self.chain.position[self.path[viewer].component]  # type: ignore[union-attr]
        kept = []
        for loop, copy in instance:
            node = self.path[loop]
            assert isinstance(node, Spatial)
            fanout = self.chain.by_name[node.component].fanout(node.name)
            assert fanout is not None
            if self.spatial[loop] > level and (
                access.name not in fanout.may_reuse or node.variable in access.variables
            ):
                kept.append((loop, copy))
        return tuple(kept)


@dataclass
class Totals:
    energy: Fraction = Fraction(0)
    latency: Fraction = Fraction(0)
    actions: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)


def walk(spec) -> Totals:
    """Energy, latency and actions[Einsum, component, tensor, action] of the mapping of a
    `TreeSpec`, by execution.
    """
    totals = Totals()
    for branch in prepare(spec.architecture, spec.workload, spec.mapping).need_sound():
        chain, einsum = branch.chain, branch.einsum
        one = Walk(einsum, chain, list(branch.nodes))
        one.run()
        calls: dict[str, dict[str, Counter[Instance]]] = {
            chain.compute.name: {"compute": one.steps}
        }
        energy = sum(one.steps.values()) * chain.compute.actions["compute"].energy
        for (component, tensor, action), moved in one.moved.items():
            unit = chain.by_name[component]
            rate = unit.actions[action].actions_per_value[tensor]
            total = sum(moved.values()) * rate
            totals.actions[einsum.name, component, tensor, action] += total
            energy += total * unit.actions[action].energy
            busy = calls.setdefault(component, {}).setdefault(action, Counter())
            for instance, values in moved.items():
                busy[instance] += values * rate
        latency = max(
            chain.by_name[component].latency.at(
                {action: counts[instance] for action, counts in actions.items()}
            )
            for component, actions in calls.items()
            for instance in set().union(*actions.values())
        )
        energy += (
            sum(
                unit.leak * unit.instances
                for unit in chain.units
                if unit.kind is not Kind.CONTAINER
            )
            * latency
        )
        totals.energy, totals.latency = totals.energy + energy, totals.latency + latency
    return totals


def peak_bits(spec) -> dict[str, Fraction]:
    """The most that any instance of each memory holds at any time, by execution of the whole tree.

    A tile is set aside when its Einsum gets to it. It is given back when the innermost loop around
    it goes on; without such a loop above the fork, when its branch is done; and where it hands a
    tensor to others, when the last of them is done.
    """
    branches = prepare(spec.architecture, spec.workload, spec.mapping).need_sound()
    walks = {
        branch.einsum.name: Walk(branch.einsum, branch.chain, list(branch.nodes))
        for branch in branches
    }
    memory = _Memory(walks, {branch.einsum.name: list(branch.nodes) for branch in branches})
    memory.run(list(spec.mapping.nodes), {}, [])
    return memory.peaks


@dataclass
class _Tile:
    component: str
    bits: Fraction
    loops: int
    backing: bool


@dataclass
class _Memory:
    walks: dict[str, Walk]
    nodes: dict[str, list[Node]]
    live: dict[tuple[str, str, int], _Tile] = field(default_factory=dict)
    peaks: dict[str, Fraction] = field(default_factory=dict)
    last: str = ""

    def run(self, nodes: list[Node], at: dict[int, int], above: list[Node]) -> None:
        for position, node in enumerate(nodes):
            if isinstance(node, Nested):
                return self.run(list(node.nodes), at, above)
            if isinstance(node, (Sequential, Pipeline)):
                for child in node.nodes:
                    self.run([child], at, above)
                    self.drop(
                        sum(isinstance(each, (Temporal, Spatial)) for each in above),
                        keep_shared=True,
                    )
                return None
            if isinstance(node, Compute):
                return self.compute(node.einsum, at)
            if isinstance(node, Temporal):
                inside = [*above, node]
                for step in range(self.trips(node)):
                    self.run(nodes[position + 1 :], at | {id(node): step}, inside)
                    self.drop(
                        sum(isinstance(each, (Temporal, Spatial)) for each in inside),
                        keep_shared=False,
                    )
                return None
            above = [*above, node]
        return None

    def trips(self, node: Temporal) -> int:
        for name, walk in self.walks.items():
            for index, other in enumerate(self.nodes[name]):
                if other is node:
                    loops = [each for each in walk.path if isinstance(each, (Temporal, Spatial))]
                    mine = [
                        each
                        for each in self.nodes[name][:index]
                        if isinstance(each, (Temporal, Spatial))
                    ]
                    return walk.trips(walk.path.index(loops[len(mine)]))
        raise LookupError(node)

    def drop(self, depth: int, keep_shared: bool) -> None:
        """Give back what stands below `depth` loops, unless another Einsum still needs it."""
        order = list(self.walks)
        for key, tile in list(self.live.items()):
            _, tensor, _ = key
            waiting = [
                name
                for name in order[order.index(self.last) + 1 :]
                if tensor in self.walks[name].einsum.tensors
            ]
            if tile.loops >= depth and not (keep_shared and tile.backing and waiting):
                del self.live[key]

    def compute(self, name: str, at: dict[int, int]) -> None:
        walk = self.walks[name]
        loops = [
            index for index, node in enumerate(walk.path) if isinstance(node, (Temporal, Spatial))
        ]
        originals = [node for node in self.nodes[name] if isinstance(node, (Temporal, Spatial))]
        steps = {
            index: at.get(id(node), 0)
            for index, node in zip(loops, originals, strict=True)
            if isinstance(node, Temporal)
        }
        walk.at = steps
        seen: set[str] = set()
        owners = [
            node
            for node in self.nodes[name]
            if isinstance(node, (Storage, Toll))
            for tensor in node.tensors
            if tensor in walk.einsum.tensors
        ]
        holders = [
            index for index, node in enumerate(walk.path) if isinstance(node, (Storage, Toll))
        ]
        for index, owner in zip(holders, owners, strict=True):
            node = walk.path[index]
            tensor = node.tensors[0]
            backing = tensor not in seen
            seen.add(tensor)
            if isinstance(node, Storage):
                level, access = walk.chain.position[node.component], walk.einsum.by_tensor[tensor]
                place = index if backing else set_aside(walk, index, access, level)
                around = sum(other < place for other in steps) + sum(
                    where <= level for where in walk.spatial.values()
                )
                values = max(
                    len(walk.elements(access, place, instance))
                    for instance in walk.instances(level)
                )
                bits = values * walk.chain.by_name[node.component].bits[tensor]
                self.live[name, tensor, id(owner)] = _Tile(node.component, bits, around, backing)
        self.note()
        self.last = name

    def note(self) -> None:
        totals: dict[str, dict[tuple[str, int], Fraction]] = {}
        for (_, tensor, node), tile in self.live.items():
            own = totals.setdefault(tile.component, {})
            own[tensor, node] = max(tile.bits, own.get((tensor, node), Fraction(0)))
        for component, parts in totals.items():
            self.peaks[component] = max(
                self.peaks.get(component, Fraction(0)), sum(parts.values(), Fraction(0))
            )


def set_aside(walk: Walk, index: int, access: Access, level: int) -> int:
    """Where memory for a tile is taken: past the loops right below that go through the tile piece
    by piece.
    """
    for place in range(index + 1, len(walk.path)):
        node = walk.path[place]
        if isinstance(node, Spatial) and walk.spatial[place] == level:
            continue
        if not isinstance(node, Temporal) or node.variable not in access.variables:
            return place
        if any(
            other < place and where > level and walk.path[other].variable == node.variable  # type: ignore[union-attr]
            for other, where in walk.spatial.items()
        ):
            return place
        if any(
            len(rank) > 1 and any(term.dim == node.variable for term in rank)
            for rank in access.tensor.ranks
        ):
            return place + 1
    return len(walk.path)
