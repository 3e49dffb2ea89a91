"""How often proofs close on designs that nobody tuned for: random architectures with real layers.

    python benchmarks/random_architectures.py [--first N] [--cases N]
        [--more bandwidths|blocks|constraints|networks] [--objective NAME]...
        [--limit SECONDS] [--json FILE]

Case N is drawn from the random seed N: 3, 4 or 5 levels in turn, one or two meshes of any shape,
buffers of any size, a bandwidth now and then, and a layer of a real network, each for energy and
edp. Nothing is constrained: factors, orders and bypass are free. With `--more`, the same designs
also have bandwidths at most inner levels, or levels that read and write blocks of words, or
constraints on stores, innermost loops and factors at inner levels, or networks that charge for hops
and routers. One worker; seconds are of processor time, of the whole solve, and so is the limit.
"""

from __future__ import annotations

from random import Random
from typing import Any

from proofs import Case, measure, parser

import solver_mapper as sm

MORE = ("bandwidths", "blocks", "constraints", "networks")
"""What designs may have besides."""
MESHES = ((12, 14), (7, 9), (32, 8), (16, 16), (3, 5), (1, 8), (4, 4), (8, 8), (1, 1))
SMALL_MESHES = ((4, 4), (1, 8), (3, 5), (2, 4))
CONVOLUTIONS = (
    ("alexnet conv1", 4, {"C": 3, "M": 96, "P": 55, "Q": 55, "R": 11, "S": 11}),
    ("alexnet conv2", 1, {"C": 48, "M": 256, "P": 27, "Q": 27, "R": 5, "S": 5}),
    ("resnet conv1", 2, {"C": 3, "M": 64, "P": 112, "Q": 112, "R": 7, "S": 7}),
    ("resnet conv2", 1, {"C": 64, "M": 64, "P": 56, "Q": 56, "R": 3, "S": 3}),
    ("resnet shortcut", 2, {"C": 128, "M": 256, "P": 28, "Q": 28}),
    ("resnet conv5, batch 4", 2, {"C": 256, "M": 512, "P": 7, "Q": 7, "R": 3, "S": 3, "N": 4}),
    ("resnet conv5 1x1", 1, {"C": 512, "M": 2048, "P": 7, "Q": 7}),
    ("resnext conv4, grouped", 1, {"C": 16, "M": 16, "P": 14, "Q": 14, "R": 3, "S": 3, "G": 32}),
)
"""Name, stride, sizes other than 1."""
DEPTHWISE = ((32, 112, 1), (96, 56, 2), (144, 56, 1), (384, 14, 1), (960, 7, 1))
"""Channels, rows and columns, stride of mobilenet_v2's layers."""
PRODUCTS = ((1, 197, 768, 768), (1, 512, 1024, 1024), (12, 197, 197, 64), (16, 512, 512, 64))
"""Batch, rows, columns, contracted."""


def architecture(random: Random, depth: int) -> dict[str, Any]:
    """DRAM and `depth - 1` buffers, each smaller and cheaper than the one outside, and a mesh or
    two anywhere between them.
    """
    meshes = [(1, 1)] * depth
    spots = random.sample(range(depth), random.choice([1, 1, 2]))
    for spot in spots:
        meshes[spot] = random.choice(MESHES if len(spots) == 1 else SMALL_MESHES)
    energy, entries = float(random.choice([100, 200, 400])), 2 ** random.randint(15, 18)
    x = y = 1
    storage: list[dict[str, Any]] = []
    for level in range(depth):
        buffer: dict[str, Any] = {"name": f"L{level}", "vector-access-energy": round(energy, 4)}
        if level:
            buffer["entries"] = int(entries * random.uniform(0.6, 1.4))
            entries = max(16, entries // 2 ** random.randint(2, 4))
        else:
            buffer["technology"] = "DRAM"
            if random.random() < 0.4:
                buffer["bandwidth"] = random.choice([4, 8, 16])
        storage.append(buffer | {"instances": x * y, "meshX": x, "meshY": y})
        energy /= random.uniform(2, 8)
        x, y = x * meshes[level][0], y * meshes[level][1]
    units = {"name": "MAC", "vector-access-energy": 1.0, "instances": x * y, "meshX": x, "meshY": y}
    return {"arch": {"arithmetic": units, "storage": storage[::-1]}}


def layer(random: Random) -> tuple[str, dict[str, Any]]:
    """A layer's name and its problem."""
    kind = random.choice(["convolution", "convolution", "convolution", "depthwise", "product"])
    if kind == "product":
        batch, rows, columns, inner = random.choice(PRODUCTS)
        spaces = {"A": "H M K", "B": "H K N", "Z": "H M N"}
        sizes = {"H": batch, "M": rows, "N": columns, "K": inner}
        return f"product {batch}x{rows}x{columns}x{inner}", problem(spaces, 1, sizes)
    if kind == "depthwise":
        channels, rows, stride = random.choice(DEPTHWISE)
        spaces = {"W": "C R S", "I": "C P+R Q+S", "Z": "C P Q"}
        sizes = {"C": channels, "P": rows, "Q": rows, "R": 3, "S": 3}
        return f"depthwise {channels}x{rows}", problem(spaces, stride, sizes)
    name, stride, given = random.choice(CONVOLUTIONS)
    spaces = {"W": "G C M R S", "I": "N G C P+R Q+S", "Z": "N G M P Q"}
    return name, problem(spaces, stride, dict.fromkeys("GNCMPQRS", 1) | given)


def problem(
    spaces: dict[str, str], stride: int, sizes: dict[str, int], written: str = "Z"
) -> dict[str, Any]:
    """Tensors by their ranks; the first term of a sum is taken `stride` times. `written` is the
    result.
    """

    def rank(text: str) -> list[list[str]]:
        first, *others = text.split("+")
        return [[first, "stride"] if others else [first], *([each] for each in others)]

    listed = [
        {"name": name, "projection": [rank(text) for text in ranks.split()]}
        | ({"read-write": True} if name == written else {})
        for name, ranks in spaces.items()
    ]
    shape = {
        "name": "layer",
        "dimensions": list(sizes),
        "coefficients": [{"name": "stride", "default": stride}],
        "data-spaces": listed,
    }
    return {"problem": {"shape": shape, "instance": sizes}}


def add_bandwidths(random: Random, storage: list[dict[str, Any]]) -> None:
    """Limit what most levels but DRAM read, write, or both, in words a cycle."""
    for buffer in storage[:-1]:
        if random.random() < 0.7:
            port = random.choice(["read_bandwidth", "write_bandwidth", "bandwidth", "both"])
            words = random.choice([1, 2, 4, 8, 16, 32])
            if port == "both":
                buffer["read_bandwidth"] = words
                buffer["write_bandwidth"] = random.choice([1, 2, 4, 8])
            else:
                buffer[port] = words


def add_blocks(random: Random, storage: list[dict[str, Any]]) -> None:
    """Let levels read and write blocks, a word of which costs what it cost before."""
    for buffer in storage:
        block = random.choice([1, 2, 4, 16])
        buffer["block-size"] = block
        buffer["vector-access-energy"] = round(block * buffer["vector-access-energy"], 4)


def add_networks(random: Random, storage: list[dict[str, Any]]) -> None:
    """Let the networks below all levels charge in pJ for hops of words, routers on their way, or
    both.
    """
    for buffer in storage:
        charged = random.choice([("hop",), ("router",), ("hop", "router")])
        if "hop" in charged:
            buffer["energy-per-hop"] = random.choice([0.02, 0.05, 0.1, 0.5])
        if "router" in charged:
            buffer["router-energy"] = random.choice([0.05, 0.1, 0.3, 1.0])


def constraints(
    random: Random, storage: list[dict[str, Any]], tensors: list[str], dims: list[str]
) -> list[dict[str, Any]]:
    """What some levels but DRAM have to hold or not, innermost loops, and factors of 1."""
    found: list[dict[str, Any]] = []
    for buffer in storage[:-1]:
        if random.random() < 0.5:
            some = random.sample(tensors, random.randint(1, len(tensors)))
            keep = some[: random.randint(0, len(some))]
            bypass = [name for name in tensors if name not in some]
            found.append({"type": "bypass", "keep": keep, "bypass": bypass})
            found[-1]["target"] = buffer["name"]
        if random.random() < 0.4:
            innermost = " ".join(random.sample(dims, random.randint(1, 3)))
            found.append({"type": "temporal", "permutation": innermost, "target": buffer["name"]})
        if random.random() < 0.3:
            factors = " ".join(f"{dim}=1" for dim in random.sample(dims, 2))
            found.append({"type": "temporal", "factors": factors, "target": buffer["name"]})
    return found


def drawn(number: int, more: str | None = None) -> Case:
    """Case `number`, with one of `MORE` if that is asked for."""
    random, levels = Random(number), 3 + number % 3
    machine, (name, workload) = architecture(random, levels), layer(random)
    random, storage = Random(1000 + number), machine["arch"]["storage"]
    inputs = [machine, workload]
    if more == "bandwidths":
        add_bandwidths(random, storage)
    elif more == "blocks":
        add_blocks(random, storage)
    elif more == "networks":
        add_networks(random, storage)
    elif more == "constraints":
        shape = workload["problem"]["shape"]
        tensors = [each["name"] for each in shape["data-spaces"]]
        targets = constraints(random, storage, tensors, shape["dimensions"])
        inputs.append({"architecture_constraints": {"targets": targets}})
    return Case({"levels": levels}, f"{number} {name}", sm.load(*inputs))


def main() -> None:
    options = parser(__doc__, limit=60.0)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--cases", type=int, default=42)
    options.add_argument("--more", choices=MORE)
    words = options.parse_args()
    numbers = range(words.first, words.first + words.cases)
    measure((drawn(number, words.more) for number in numbers), words)


if __name__ == "__main__":
    main()
