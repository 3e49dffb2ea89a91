"""Random LoopTree cases: architecture, workload and mapping as one YAML text.

The generator knows nothing of what is counted. It may write trees that make no sense (a tile in
pieces); `validate` sorts those out.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from random import Random


@dataclass
class Case:
    """A case under construction."""

    rng: Random
    ragged: bool = False
    fanouts: list[tuple[str, str, int, int]] = field(default_factory=list)
    """(component, dimension, size, level) of every spatial dimension."""
    memories: list[tuple[str, int]] = field(default_factory=list)
    """(name, level) of every memory, outer to inner."""
    tolls: list[tuple[str, int]] = field(default_factory=list)

    def some(self, items: list, least: int = 0) -> list:
        count = self.rng.randint(min(least, len(items)), len(items))
        return self.rng.sample(items, count)

    def architecture(self) -> str:
        rng, lines, level = self.rng, ["arch:", "  nodes:"], 0

        def action(name: str) -> str:
            return (
                f"    - {{name: {name}, energy: {rng.randint(1, 900) / 10}, throughput:"
                f" {rng.choice([1, 2, 8, 'inf'])}, bits_per_action: {rng.choice([1, 8, 32])}}}"
            )

        def memory(name: str, size: str, spatial: list[str]) -> None:
            nonlocal level
            leak = rng.choice([0, 0.5, 3]) * (not spatial)
            lines.append(
                f"  - !Memory\n    name: {name}\n    size: {size}\n    area: 0\n    leak_power:"
                f" {leak}"
            )
            if rng.random() < 0.3:
                lines.append("    total_latency: max(a.n_calls / a.throughput for a in actions)")
            lines.extend(["    actions:", action("read"), action("write"), *spatial])
            self.memories.append((name, level))
            level += 1

        def spatial(component: str) -> list[str]:
            found = ["    spatial:"]
            for name in rng.choice([["X"], ["X", "Y"]]):
                size = rng.choice([2, 3, 4, 6])
                reuse = rng.choice(
                    [
                        "",
                        *(
                            f", may_reuse: {tensors}"
                            for tensors in ("All", "Nothing", "Inputs", "Outputs")
                        ),
                    ]
                )
                found.append(f"    - {{name: {name}, fanout: {size}{reuse}}}")
                self.fanouts.append((component, name, size, level))
            return found

        memory("Dram", "inf", [])
        if rng.random() < 0.25:
            lines.append(
                "  - !Toll\n    name: Link\n    leak_power: 0\n    area: 0\n    direction: "
                f"{rng.choice(['up', 'down', 'up_and_down'])}\n    actions:\n{action('read')}"
            )
            self.tolls.append(("Link", level))
            level += 1
        memory("Sram", "100000", [])
        where = rng.choice(["none", "container", "container", "inner", "compute"])
        if where == "container":
            lines.extend(["  - !Container\n    name: Grid", *spatial("Grid")])
            level += 1
        if where == "inner" or rng.random() < 0.6:
            memory("Regs", "100000", spatial("Regs") if where == "inner" else [])
        lines.append(
            "  - !Compute\n    name: Mac\n    area: 0\n    actions:\n    - {name: compute, energy:"
            " 1.5, throughput: 2}"
        )
        lines.append(f"    leak_power: {0 if where == 'compute' else 0.25}")
        if where == "compute":
            lines.extend(spatial("Mac"))
        return "\n".join(lines)

    def nest(
        self,
        einsum: str,
        tensors: dict[str, set[str]],
        extents: dict[str, int],
        held: dict[str, int],
    ) -> list[str]:
        """The nodes of a branch below what is shared. `held[tensor]` is the level of its innermost
        holder so far.
        """
        rng = self.rng
        items: list[tuple[str, str, str]] = []
        for tensor in tensors:
            for name, level in self.memories + self.tolls:
                if level > held[tensor] and rng.random() < 0.5:
                    items.append(
                        (
                            tensor,
                            str(level),
                            (
                                f"!{'Toll' if name == 'Link' else 'Storage'} {{tensors: [{tensor}],"
                                f" component: {name}}}"
                            ),
                        )
                    )
        free = {(component, name): size for component, name, size, _ in self.fanouts}
        for variable, extent in extents.items():
            chain = self.chain(extent)
            for outer, inner in itertools.pairwise(chain):
                trips = -(-outer // inner)
                spots = [spot for spot, size in free.items() if size >= trips]
                if spots and rng.random() < 0.5:
                    component, name = rng.choice(spots)
                    free[component, name] //= trips
                    items.append(
                        (
                            variable,
                            "loop",
                            (
                                f"!Spatial {{rank_variable: {variable}, tile_shape: {inner},"
                                f" component: {component}, name: {name}}}"
                            ),
                        )
                    )
                else:
                    items.append(
                        (
                            variable,
                            "loop",
                            f"!Temporal {{rank_variable: {variable}, tile_shape: {inner}}}",
                        )
                    )
        return [*self.shuffled(items), f"!Compute {{einsum: {einsum}, component: Mac}}"]

    def chain(self, extent: int) -> list[int]:
        """Extents from `extent` down to 1."""
        found = [extent]
        while found[-1] > 1:
            smaller = range(1, found[-1])
            options = [size for size in smaller if self.ragged or found[-1] % size == 0]
            found.append(self.rng.choice([1, *options]))
        return found

    def shuffled(self, items: list[tuple[str, str, str]]) -> list[str]:
        """`items` in random order, loops over one variable and holders of one tensor among
        themselves in theirs.
        """
        queues: dict[str, list[str]] = {}
        for owner, _, text in sorted(
            items, key=lambda item: (item[1] != "loop", item[1] if item[1] != "loop" else "")
        ):
            queues.setdefault(owner, []).append(text)
        order: list[str] = []
        while queues:
            owner = self.rng.choice(sorted(queues))
            order.append(queues[owner].pop(0))
            if not queues[owner]:
                del queues[owner]
        return order


EINSUMS = {
    "mm": {"Z": {"A": "m, k", "B": "k, n", "Z!": "m, n"}},
    "bmm": {"Z": {"A": "b, m, k", "B": "b, k, n", "Z!": "b, m, n"}},
    "conv": {"O": {"I": "C: c, H: p + r", "F": "m, c, r", "O!": "m, p"}},
    "chain2": {
        "E0": {"T0": "m, a", "W0": "a, b", "T1!": "m, b"},
        "E1": {"T1": "m, b", "W1": "b, c", "T2!": "m, c"},
    },
    "chain3": {
        "E0": {"T0": "m, a", "W0": "a, b", "T1!": "m, b"},
        "E1": {"T1": "m, b", "W1": "b, c", "T2!": "m, c"},
        "E2": {"T2": "m, c", "W2": "c, d", "T3!": "m, d"},
    },
    "fanout": {
        "E0": {"A": "m, k", "B": "k, n", "T1!": "m, n"},
        "E1": {"T1": "m, n", "C": "n, u", "U!": "m, u"},
        "E2": {"T1": "m, n", "D": "n, v", "V!": "m, v"},
    },
    "skip": {
        "E0": {"A": "m, k", "B": "k, n", "T1!": "m, n"},
        "E1": {"A": "m, k", "C": "k, u", "U!": "m, u"},
        "E2": {"T1": "m, n", "D": "n, v", "V!": "m, v"},
    },
}


def variables(index: str) -> list[str]:
    words = [part.split(":")[-1] for part in index.split(",")]
    return [word.strip() for part in words for word in part.split("+")]


def random_case(seed: int, ragged: bool = False, kinds: list[str] | None = None) -> str:
    """The YAML text of a case. Args: `ragged`, whether tiles may be cut that do not divide."""
    rng = Random(seed)
    case = Case(rng, ragged)
    arch = case.architecture()
    kind = rng.choice(kinds or list(EINSUMS))
    einsums = EINSUMS[kind]
    names = list(
        dict.fromkeys(
            name
            for access in einsums.values()
            for index in access.values()
            for name in variables(index)
        )
    )
    sizes = [2, 3, 4, 5] if ragged else [2, 3, 4, 6]
    bounds = {name: rng.choice(sizes if len(names) < 6 else sizes[:3]) for name in names}
    wide = rng.choice(["", "T1", "Z", "O"])
    lines = [
        "workload:",
        "  iteration_space_shape:",
        *(f"    {name}: 0 <= {name} < {size}" for name, size in bounds.items()),
    ]
    lines += ["  bits_per_value: {All: 8}", "  einsums:"]
    for name, accesses in einsums.items():
        lines += [f"  - name: {name}", "    tensor_accesses:"]
        for tensor, index in accesses.items():
            projection = f"{{{index}}}" if ":" in index else f"[{index}]"
            more = ", output: true" if tensor.endswith("!") else ""
            more += ", bits_per_value: 16" if tensor.strip("!") == wide else ""
            lines.append(f"    - {{name: {tensor.strip('!')}, projection: {projection}{more}}}")
    return "\n".join([arch, *lines, "mapping:", "  nodes:", *mapping(case, einsums, bounds)]) + "\n"


def mapping(case: Case, einsums: dict[str, dict[str, str]], bounds: dict[str, int]) -> list[str]:
    rng = case.rng
    tensors = {
        name: {tensor.strip("!"): set(variables(index)) for tensor, index in accesses.items()}
        for name, accesses in einsums.items()
    }
    everything = list(dict.fromkeys(tensor for accesses in tensors.values() for tensor in accesses))
    written = {
        tensor.strip("!")
        for accesses in einsums.values()
        for tensor in accesses
        if tensor.endswith("!")
    }
    between = [
        tensor
        for tensor in everything
        if tensor in written and sum(tensor in own for own in tensors.values()) > 1
    ]
    fused = case.some(between) if between else []
    backed = [tensor for tensor in everything if tensor not in fused]
    rng.shuffle(backed)
    nodes = [f"!Storage {{tensors: [{tensor}], component: Dram}}" for tensor in backed]
    if rng.random() < 0.4:
        nodes = [f"!Storage {{tensors: [{', '.join(backed)}], component: Dram}}"]
    held = dict.fromkeys(everything, 0)
    sram = dict(case.memories)["Sram"]
    extents = dict(bounds)
    if len(einsums) > 1:
        nodes += shared_part(case, tensors, fused, backed, held, extents, sram)
        lines = ["!Sequential"]
        for name, own in tensors.items():
            used = {variable for accesses in own.values() for variable in accesses}
            branch = case.nest(
                name, own, {key: extents[key] for key in extents if key in used}, dict(held)
            )
            lines += [
                "  nodes:" if len(lines) == 1 else "",
                "  - !Nested",
                "    nodes:",
                *(f"    - {node}" for node in branch),
            ]
        block = [line for line in lines if line]
        return [
            *(f"  - {node}" for node in nodes),
            f"  - {block[0]}",
            *(f"  {line}" for line in block[1:]),
        ]
    (name,) = einsums
    nodes += case.nest(name, tensors[name], extents, held)
    return [f"  - {node}" for node in nodes]


def shared_part(
    case: Case,
    tensors: dict[str, dict[str, set[str]]],
    fused: list[str],
    backed: list[str],
    held: dict[str, int],
    extents: dict[str, int],
    sram: int,
) -> list[str]:
    """What stands above the fork: loops that all Einsums know and that index every fused tensor,
    and storage.
    """
    rng, nodes = case.rng, []
    common = set.intersection(*(set().union(*own.values()) for own in tensors.values()))
    allowed = sorted(
        variable
        for variable in common
        if all(
            variable in own[tensor] for tensor in fused for own in tensors.values() if tensor in own
        )
    )
    loops = [] if not fused or "skip" in tensors else case.some(allowed)
    for variable in loops:
        chain = case.chain(extents[variable])
        if len(chain) > 1:
            for tensor in case.some(backed)[:1]:
                if held[tensor] < sram and rng.random() < 0.5:
                    held[tensor] = sram
                    nodes.append(f"!Storage {{tensors: [{tensor}], component: Sram}}")
            extents[variable] = chain[1]
            nodes.append(f"!Temporal {{rank_variable: {variable}, tile_shape: {chain[1]}}}")
    for tensor in fused:
        held[tensor] = sram
        nodes.append(f"!Storage {{tensors: [{tensor}], component: Sram}}")
    return nodes
