"""Inputs that are large, hostile or extreme, as the text of files."""

from __future__ import annotations

import yaml

ESCAPE = "\x1b[31mred\x07"
"""What a terminal would obey."""

LEVEL = {
    "name": "L",
    "class": "SRAM",
    "attributes": {"width": 16, "datawidth": 16, "vector-access-energy": 1.0},
}


def levels(depths: list[int | None], mesh: tuple[int, int] = (1, 1), energy: float = 1.0) -> str:
    """An architecture in Timeloop's v0.4: an unlimited memory, then buffers of `depths` rows (None:
    unlimited), then compute units in a mesh.
    """
    nodes = ["architecture:", "  version: 0.4", "  nodes:"]
    for number, depth in enumerate([None, *depths]):
        size = "" if depth is None else f"depth: {depth}, "
        kind = "DRAM" if number == 0 else "SRAM"
        nodes.append(
            f"  - !Component {{name: L{number}, class: {kind}, attributes: {{{size}width: 16,"
            f" datawidth: 16, vector-access-energy: {energy * (len(depths) + 1 - number)}}}}}"
        )
    if mesh != (1, 1):
        nodes.append(
            f"  - !Container {{name: PE, spatial: {{meshX: {mesh[0]}, meshY: {mesh[1]}}}}}"
        )
    nodes.append(
        "  - !Component {name: mac, class: intmac, attributes: {datawidth: 16, energy: "
        f"{energy}}}}}"
    )
    return "\n".join(nodes) + "\n"


def gemm(m: int, n: int, k: int) -> str:
    return yaml.safe_dump(
        {
            "problem": {
                "version": 0.4,
                "shape": {
                    "name": "gemm",
                    "dimensions": ["M", "N", "K"],
                    "data_spaces": [
                        {"name": "A", "projection": [[["M"]], [["K"]]]},
                        {"name": "B", "projection": [[["K"]], [["N"]]]},
                        {"name": "Z", "projection": [[["M"]], [["N"]]], "read_write": True},
                    ],
                },
                "instance": {"M": m, "N": n, "K": k},
            }
        }
    )


def convolution(**sizes: int) -> str:
    instance = {"N": 1, "C": 96, "M": 256, "P": 27, "Q": 27, "R": 5, "S": 5} | sizes
    return yaml.safe_dump(
        {
            "problem": {
                "version": 0.4,
                "shape": {
                    "name": "convolution",
                    "dimensions": list(instance),
                    "data_spaces": [
                        {"name": "W", "projection": [[["M"]], [["C"]], [["R"]], [["S"]]]},
                        {
                            "name": "I",
                            "projection": [[["N"]], [["C"]], [["P"], ["R"]], [["Q"], ["S"]]],
                        },
                        {
                            "name": "O",
                            "projection": [[["N"]], [["M"]], [["P"]], [["Q"]]],
                            "read_write": True,
                        },
                    ],
                },
                "instance": instance,
            }
        }
    )


def contraction(count: int, size: int = 12) -> str:
    """A tensor contraction over `count` dimensions: a third are shared by each pair of tensors."""
    dims = [f"D{number}" for number in range(count)]
    parts = [dims[0::3], dims[1::3], dims[2::3]]
    spaces = [
        {"name": "A", "projection": [[[dim]] for dim in parts[0] + parts[1]]},
        {"name": "B", "projection": [[[dim]] for dim in parts[1] + parts[2]]},
        {
            "name": "Z",
            "projection": [[[dim]] for dim in parts[0] + parts[2]],
            "read_write": True,
        },
    ]
    return yaml.safe_dump(
        {
            "problem": {
                "version": 0.4,
                "shape": {"name": "contraction", "dimensions": dims, "data_spaces": spaces},
                "instance": dict.fromkeys(dims, size),
            }
        }
    )


TREE_ARCHITECTURE = """\
arch:
  nodes:
  - !Memory
    name: Dram
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 50, throughput: 8}, {name: write, energy: 60, throughput: 8}]
  - !Memory
    name: Sram
    size: SIZE
    leak_power: 0
    area: 0
    tensors: {keep: ~Dram, may_keep: All}
    actions: [{name: read, energy: 2, throughput: 32}, {name: write, energy: 2, throughput: 32}]
  - !Compute
    name: Mac
    leak_power: 0
    area: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""


def chain(count: int, size: int = 64, rows: int = 128) -> str:
    """The workload of a chain of `count` matrix products."""
    sizes = {"M": rows, **{f"N{number}": size for number in range(count + 1)}}
    lines = [
        "workload:",
        f"  rank_sizes: {{{', '.join(f'{name}: {value}' for name, value in sizes.items())}}}",
        "  bits_per_value: {All: 8}",
        "  einsums:",
    ]
    for number in range(count):
        lines += [
            f"  - name: E{number}",
            "    tensor_accesses:",
            f"    - {{name: T{number}, projection: [m, n{number}]}}",
            f"    - {{name: W{number}, projection: [n{number}, n{number + 1}]}}",
            f"    - {{name: T{number + 1}, projection: [m, n{number + 1}], output: True}}",
            f"    renames: {{input: T{number}, weight: W{number}, output: T{number + 1}}}",
        ]
    return "\n".join(lines) + "\n"


def tree(count: int, size: int = 64, buffer: float = 100000.5) -> str:
    return TREE_ARCHITECTURE.replace("SIZE", str(buffer)) + chain(count, size)


def bomb(depth: int, width: int = 10, top: str = "problem") -> str:
    """Aliases of aliases: `width` to the power of `depth` values."""
    lines = ["variables:", "  a0: &a0 [x, x, x]"]
    for number in range(1, depth + 1):
        lines.append(f"  a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * width)}]")
    return "\n".join([*lines, f"{top}: *a{depth}", ""])


def nested(depth: int, left: str = "[", right: str = "]") -> str:
    return f"problem: {left * depth}1{right * depth}\n"
