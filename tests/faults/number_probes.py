"""Numbers at and beyond the edges, and values that are none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.faults import inputs
from tests.faults.command import run
from tests.faults.registry import clean, commands, ends_with, probe, write

PRIME = 2**31 - 1
ARCHITECTURES = {
    "capacity 2^63": inputs.levels([2**63]),
    "capacity 2^64 + 1": inputs.levels([2**64 + 1]),
    "capacity 10^40": inputs.levels([10**40]),
    "capacity 1": inputs.levels([1]),
    "capacity 3": inputs.levels([3]),
    "mesh 2^16 x 2^16": inputs.levels([64], mesh=(2**16, 2**16)),
    "mesh 2^40": inputs.levels([64], mesh=(2**40, 1)),
    "energy 0": inputs.levels([64], energy=0),
    "energy 1e300": inputs.levels([64], energy=1e300),
    "energy 1e-300": inputs.levels([64], energy=1e-300),
    "no buffer": inputs.levels([]),
}
PROBLEMS = {
    "2^31 - 1": inputs.gemm(PRIME, PRIME, PRIME),
    "2^31": inputs.gemm(2**31, 2**31, 2**31),
    "2^62": inputs.gemm(2**62, 1, 2),
    "2^64": inputs.gemm(2**64, 1, 1),
    "10^30": inputs.gemm(10**30, 1, 1),
    "1": inputs.gemm(1, 1, 1),
    "0": inputs.gemm(0, 1, 1),
    "-1": inputs.gemm(-1, 1, 1),
}
commands(
    "energies of different size",
    {
        "a.yaml": inputs.levels([64, 16], (4, 2)).replace("energy: 2.0", "energy: 2147483648"),
        "p.yaml": inputs.gemm(2, 3, 4),
    },
    {"solve": (["solve", "a.yaml", "p.yaml"], ends_with(0))},
)
AREA = "ART:\n  version: 0.4\n  tables:\n  - {name: L1, area: -1}\n"
commands(
    "an area below 0",
    {"a.yaml": inputs.levels([64]) + AREA, "p.yaml": inputs.gemm(2, 3, 4)},
    {"solve": (["solve", "a.yaml", "p.yaml"], ends_with(2, says="'L1' must be at least 0"))},
)
QUICK = ("capacity 2^63", "energy 0", "2^31 - 1", "1", "2^62")
SEARCHES: dict[str, Sequence[str]] = {
    "solve": ("solve", "a.yaml", "p.yaml", "--time-limit", "2"),
    "pareto": ("pareto", "a.yaml", "p.yaml", "--time-limit", "2"),
    "space": ("space", "a.yaml", "p.yaml"),
    "explain": ("explain", "a.yaml", "p.yaml", "--time-limit", "2"),
    "bound": ("bound", "a.yaml", "p.yaml"),
}

for command, words in SEARCHES.items():
    for name, text in ARCHITECTURES.items():
        commands(
            f"hardware, {name}",
            {"a.yaml": text, "p.yaml": inputs.gemm(16, 16, 16)},
            {command: (words, clean)},
            slow=name not in QUICK or command == "pareto",
        )
    for name, text in PROBLEMS.items():
        commands(
            f"sizes {name}",
            {"a.yaml": inputs.levels([64]), "p.yaml": text},
            {command: (words, clean)},
            slow=name not in QUICK or command == "pareto",
        )

for size in (2**31 - 1, 2**33, 2**40, 2**62, 10**30):
    text = inputs.tree(2, 4).replace("M: 128", f"M: {size}")
    bound = inputs.tree(1, 4).replace("M: 128", f"M: {size}")
    for template in ("ffmr", "ffmt", "v2"):
        commands(
            f"fuse, size {size}",
            {"t.yaml": text},
            {template: (["fuse", "t.yaml", "--template", template], clean)},
            slow=size not in (2**31 - 1, 2**33, 2**62) or template != "ffmr",
        )
    commands(
        f"LoopTree, size {size}",
        {"t.yaml": bound},
        {
            "bound": (["bound", "t.yaml"], clean),
            "bound, shifts": (["bound", "t.yaml", "--regular-shifts"], clean),
        },
        slow=size not in (2**33, 2**62),
    )
for size in (2**31 - 1, 2**33, 2**40):
    commands(
        f"LoopTree, size {size}",
        {"t.yaml": inputs.tree(1, 4).replace("M: 128", f"M: {size}")},
        {"solve": (["solve", "t.yaml", "--time-limit", "2"], clean)},
        slow=size != 2**33,
    )

for size in (0, -1, 1):
    commands(
        f"LoopTree, size {size}",
        {"t.yaml": inputs.tree(2, 4).replace("M: 128", f"M: {size}")},
        {
            "fuse": (["fuse", "t.yaml"], clean),
            "solve": (["solve", "t.yaml", "--time-limit", "2"], clean),
        },
        slow=True,
    )

BASE = ["solve", "a.yaml", "p.yaml"]
VALUES = {
    "--seed": ("-1", "2147483648", "99999999999999999999", "x", ""),
    "--workers": ("0", "-3", "1000000", "99999999999999999999", "1.5"),
    "--gap": ("-0.1", "1.5", "nan", "inf", "x"),
    "--time-limit": ("-1", "nan", "-inf", "x", ""),
    "--objective": (
        "",
        ",",
        "energy,,delay",
        "energy^99999*delay",
        "energy^0",
        "edp^-1",
        "nothing",
    ),
    "--layer-time-limit": ("nan", "5"),
    "--jobs": ("0", "4"),
    "--max-fused-loops": ("-1", "3"),
}
for option, values in VALUES.items():
    for value in values:
        commands(
            f"{option} {value[:24]!r}",
            {"a.yaml": inputs.levels([64]), "p.yaml": inputs.gemm(8, 8, 8)},
            {"solve": ([*BASE, option, value], ends_with(2))},
        )
commands(
    "options in range",
    {"a.yaml": inputs.levels([64]), "p.yaml": inputs.gemm(8, 8, 8)},
    {
        "--seed 2147483647": ([*BASE, "--seed", "2147483647"], ends_with(0)),
        "--time-limit inf": ([*BASE, "--time-limit", "inf"], ends_with(0)),
        "--time-limit 1e300": ([*BASE, "--time-limit", "1e300"], ends_with(0)),
        "--gap 0": ([*BASE, "--gap", "0"], ends_with(0)),
        "--gap 1": ([*BASE, "--gap", "1"], ends_with(0)),
    },
)
for command, words in {
    "pareto": ["pareto", "a.yaml", "p.yaml"],
    "explain": ["explain", "a.yaml", "p.yaml"],
    "tile": ["tile", "resnet50"],
    "network": ["solve", "a.yaml", "tiny"],
}.items():
    for option, value in (("--time-limit", "nan"), ("--time-limit", "-1"), ("--seed", "9" * 20)):
        if option == "--seed" and command == "explain":
            continue
        commands(
            f"{option} {value[:24]!r}",
            {"a.yaml": inputs.levels([64]), "p.yaml": inputs.gemm(8, 8, 8)},
            {command: ([*words, option, value], ends_with(2))},
        )


def _operator(folder: Path) -> None:
    text = (
        "{operator: convolution, input_shape: [1, SIZE, SIZE, SIZE], kernel: {num: SIZE, rows: 3,"
        " cols: 3}, stride: 1, padding: same}\n"
    )
    for size in (0, -1, 1, 2**31 - 1, 2**63, 10**30):
        write(folder, {"o.yaml": text.replace("SIZE", str(size))})
        clean(run(["tile", "o.yaml", "--time-limit", "2"], folder))


probe("operators of any size")(_operator)
