"""Perfect against imperfect factors: the gain on layers, whole networks and GEMMs.

Run: python benchmarks/imperfect.py [--objective edp] [--time-limit 20] [--layers] [--markdown]
                                    [--every N] [--exercises FOLDER] [--all] [WHAT...]

WHAT is ARCHITECTURE:LAYER (eyeriss:resnet50/conv1) or ARCHITECTURE:NETWORK (eyeriss:alexnet, all
layers, each weighted by its count) of bundled models; ARCHITECTURE:vit577 and bert139 are
transformers with so many tokens (vit_b_16 has 197); GEMM:MxKxN is a product on a mesh of 16 x 16
below a buffer of 65,536 words. FOLDER is a clone of
github.com/Accelergy-Project/timeloop-accelergy-exercises; ARCHITECTURE is then also one of its
dense designs (simba_like:alexnet). `--every N` takes every N-th layer of a network, from the
first. Without any WHAT, a short suite runs; `--all` runs all networks on all architectures. Each
row has the values, how many layers were proven, CPU seconds (the median and the most of one layer),
the gain, the widest gap between value and bound, and on how many layers imperfect factors were
worse. The limit is in CPU seconds. The exit code is 1 if they were worse anywhere.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from networks import exercise_problem, read_shape
from processor_time import processor_limit

import solver_mapper as sm
from solver_mapper.io import bundled

SUITE = (
    "GEMM:127x769x127",
    "GEMM:577x1024x1024",
    "eyeriss:resnet50/conv1",
    "eyeriss:alexnet/conv1",
    "eyeriss:alexnet/conv2",
)
NETWORKS = ("resnet50", "mobilenet_v2", "alexnet", "vit_b_16", "vit577", "bert139", "gpt2/lm_head")
ARCHITECTURES = ("eyeriss", "tpu", "three_level", "simba")
DESIGNS = ("eyeriss_like", "simba_like", "simple_output_stationary", "simple_weight_stationary")
MESH: dict[str, Any] = {
    "arch": {
        "arithmetic": {
            "name": "MAC",
            "instances": 256,
            "meshX": 16,
            "meshY": 16,
            "vector-access-energy": 1.0,
        },
        "storage": [
            {"name": "Buffer", "entries": 65536, "instances": 1, "vector-access-energy": 6.0},
            {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 200.0},
        ],
    }
}
TENSORS = [
    {"name": "A", "projection": [[["M"]], [["K"]]]},
    {"name": "B", "projection": [[["K"]], [["N"]]]},
    {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
]
TOKENS = {"vit577": ("vit_b_16", 197, 577), "bert139": ("bert_base", 512, 139)}


def layers(what: str, exercises: Path | None) -> Iterator[tuple[str, int, sm.Spec]]:
    """Name, count and design of each layer that WHAT names."""
    architecture, name = what.split(":")
    if architecture == "GEMM":
        sizes = dict(zip("MKN", map(int, name.split("x")), strict=True))
        shape = {"name": "gemm", "dimensions": ["M", "K", "N"], "data-spaces": TENSORS}
        yield name, 1, spec_of(MESH, {"problem": {"shape": shape, "instance": sizes}})
        return
    network, tokens, wanted = TOKENS.get(name, (name, 0, 0))
    network, _, only = network.partition("/")
    bundle = bundled.network(network)
    if bundle is None:
        raise SystemExit(f"no network is called '{network}'")
    for each in bundle.layers:
        if only not in ("", each.name):
            continue
        if architecture in DESIGNS and exercises is not None:
            spec = _on_design(exercises / "workspace" / "example_designs", architecture, each)
        else:
            spec = spec_of(architecture, f"{network}/{each.name}")
        yield each.name, 1 if only else each.count, _resized(spec, tokens, wanted)


def spec_of(*sources: Any, **options: Any) -> sm.Spec:
    """What `sm.load` reads."""
    spec = sm.load(*sources, **options)
    assert isinstance(spec, sm.Spec)
    return spec


def _on_design(folder: Path, design: str, layer: bundled.Layer) -> sm.Spec:
    """A bundled layer on a design of the exercises."""
    base = (folder / "layer_shapes" / "problem_base.yaml").read_text(encoding="utf-8")
    problem = exercise_problem(layer, read_shape(base))
    top = folder / "example_designs" / "top.yaml.jinja2"
    with NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({"problem": problem}, file)
        file.flush()
        given = {"architecture": design, "problem": file.name}
        return spec_of(top, variables=given, ignore_sparse=True)


def _resized(spec: sm.Spec, tokens: int, wanted: int) -> sm.Spec:
    """The same with another number of tokens, one of which may be a class token."""
    changed = {tokens: wanted, tokens - 1: wanted - 1} if tokens else {}
    problem = spec.need_problem()
    sizes = {dim: changed.get(size, size) for dim, size in problem.bounds.items()}
    return replace(spec, problem=replace(problem, bounds=sizes))


@dataclass
class Row:
    """Sums over every so-many-th layer of WHAT: of perfect factors, then of imperfect ones. `gap`
    is the widest relative one.
    """

    what: str
    every: int = 1
    values: list[float] = field(default_factory=lambda: [0.0, 0.0])
    proven: list[int] = field(default_factory=lambda: [0, 0])
    seconds: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    worse: int = 0
    gap: float = 0.0

    def text(self, markdown: bool) -> str:
        """The row, as plain text or as a row of a table."""
        number = len(self.seconds[0])
        gain = f"{self.values[0] / self.values[1]:.4g}" if all(self.values) else "-"
        proven = [f"{each}/{number}" for each in self.proven]
        cpu = [f"{statistics.median(each):.1f}, {max(each):.1f}" for each in self.seconds]
        gap = f"{100 * self.gap:.2g} %"
        if markdown:
            names = self.what.split(":")
            shown = [f"{self.every}", gain, f"{self.worse}"]
            cells = [names[1], names[0], *shown, *proven, gap, cpu[1]]
            return "| " + " | ".join(cells) + " |"
        values = [f"{each:12.6g}" for each in self.values]
        columns = zip(values, proven, cpu, strict=True)
        sums = " ".join(f"{value} {some:>6} {cost:>11}" for value, some, cost in columns)
        return f"{self.what:26} {sums} {gain:>8} {gap:>8} {self.worse} worse"


def row(
    what: str,
    objective: str,
    limit: float,
    each_layer: bool,
    exercises: Path | None = None,
    every: int = 1,
) -> Row:
    """Solve every `every`-th layer of WHAT with perfect and with imperfect factors."""
    found = Row(what, every)
    for name, count, spec in islice(layers(what, exercises), 0, None, every):
        values = []
        for kind, factors in enumerate(("perfect", "imperfect")):
            started = time.process_time()
            clock = processor_limit(limit)
            solution = sm.solve(spec, objective, clock=clock, factors=factors)
            found.seconds[kind].append(time.process_time() - started)
            values.append(float(solution.value or 0))
            found.values[kind] += count * values[-1]
            found.proven[kind] += solution.status == "optimal"
        found.worse += _worse(*values)
        found.gap = max(found.gap, 1.0 if solution.gap is None else solution.gap)
        if each_layer:
            gap = "no bound" if solution.gap is None else f"gap {100 * solution.gap:.3g} %"
            gain = values[0] / values[1] if values[1] else 0
            seconds = found.seconds[1][-1]
            print(
                f"  {name:24} {gain:8.4g} {solution.status:>9} {gap:>12} {seconds:6.1f} s",
                file=sys.stderr,
            )
    return found


def _worse(perfect: float, imperfect: float) -> bool:
    """Whether a value of imperfect factors is above that of perfect ones; 0 is no value."""
    if not perfect:
        return False
    return not imperfect or imperfect > perfect * (1 + 1e-6)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=SUITE)
    parser.add_argument("--objective", default="edp")
    parser.add_argument("--time-limit", type=float, default=20.0)
    parser.add_argument("--layers", action="store_true", help="a line for each layer as well")
    parser.add_argument("--every", type=int, default=1, help="only every N-th layer of a network")
    parser.add_argument("--markdown", action="store_true", help="rows of a table")
    parser.add_argument("--exercises", type=Path, help="clone of timeloop-accelergy-exercises")
    parser.add_argument("--all", action="store_true", help="every network on every architecture")
    arguments = parser.parse_args()
    what = list(arguments.what)
    if arguments.all:
        what = [f"{place}:{name}" for place in ARCHITECTURES for name in NETWORKS]
        if arguments.exercises is not None:
            what += [f"{design}:{name}" for design in DESIGNS for name in NETWORKS]
    worse = 0
    for each in what:
        found = row(
            each,
            arguments.objective,
            arguments.time_limit,
            arguments.layers,
            arguments.exercises,
            arguments.every,
        )
        worse += found.worse
        print(found.text(arguments.markdown), flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
