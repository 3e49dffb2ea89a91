"""How long proofs take: real layers on the shipped architectures, in one process; and beside other
programs' mappers.

    python benchmarks/suites.py [SUITE ...] [--limit SECONDS] [--workers N] [--json FILE]
                                [--peer accelforge --peer-python PYTHON] [--peer timeloop]
                                [--peer ruby]

Suites: eyeriss, three_level, simba (ResNet-50's layers, energy and edp), routers (its layers 4 on
three_level whose networks charge for routers), gemm (language models, unconstrained), primes (sizes
with many small primes). Times are CPU seconds of the whole solve,
which a busy machine disturbs less than wall-clock time; both are in the JSON.

With --peer the suites run only if they are named. `accelforge` needs an interpreter (3.12) in which
AccelForge is installed, `timeloop` and `ruby` (its template for imperfect factors) the program
timeloop-mapper; see peers.py for what is compared, and how. Both sides are timed in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from peers import Beside, accelforge, gemm, timeloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import solver_mapper as sm
from solver_mapper.io import bundled
from solver_mapper.io.yaml.source import Source
from solver_mapper.solve.cpsat.engine import solver_name

PRIMES = ((720, 2520, 5040), (840, 2310, 1260))
"""M x K x N."""
ROUTER_ENERGY = 0.3
"""In pJ a word, at levels that have a network below them: shared memory, registers, or all."""
ROUTERS = (("GLB",), ("RF",), ("DRAM", "GLB", "RF"))
CONV_OF_PRIMES = {"K": 120, "C": 90, "P": 60, "Q": 60, "R": 3, "S": 3, "N": 1}
LANGUAGE_MODELS = ("bert_large", "gpt3_6.7b_prefill", "llama2_7b")


@dataclass(frozen=True)
class Case:
    suite: str
    name: str
    objective: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Timing:
    """`seconds` are of processor time, `wall` by the clock; `megabytes` the most that the process
    held so far.
    """

    suite: str
    name: str
    objective: str
    status: str
    value: float | None
    gap: float | None
    seconds: float
    wall: float
    megabytes: float


def cases() -> Iterator[Case]:
    """All cases, suite by suite."""
    for architecture in ("eyeriss", "three_level", "simba"):
        for objective in ("energy", "edp"):
            for layer in _layers("resnet50"):
                yield Case(
                    f"{architecture} {objective}",
                    layer,
                    objective,
                    (architecture, f"resnet50/{layer}"),
                )
    for levels in ROUTERS:
        architecture = with_routers(levels)
        for objective in ("energy", "edp"):
            for layer in (each for each in _layers("resnet50") if each.startswith("layer4")):
                name = f"{layer}, {' '.join(levels)}"
                sources = (architecture, f"resnet50/{layer}")
                yield Case(f"routers {objective}", name, objective, sources)
    for objective in ("energy", "edp"):
        for network in LANGUAGE_MODELS:
            for layer in _layers(network):
                yield Case(
                    f"gemm {objective}",
                    f"{network}/{layer}",
                    objective,
                    ("three_level", f"{network}/{layer}"),
                )
    for m, k, n in PRIMES:
        yield Case("primes energy", f"{m}x{n}x{k}", "energy", ("three_level", gemm(m, k, n)))
    conv = {"problem": {"shape": "cnn-layer", **CONV_OF_PRIMES}}
    yield Case("primes energy", "conv " + "120x90x60x60x3x3", "energy", ("three_level", conv))


def with_routers(levels: tuple[str, ...]) -> dict[str, Any]:
    """`three_level` with a price for the routers of the networks below these levels."""
    (path,) = bundled.resolve("three_level")
    document: dict[str, Any] = yaml.safe_load(Path(str(path)).read_text(encoding="utf-8"))
    parts = [document["architecture"]]
    for part in parts:
        parts += part.get("subtree", [])
        for buffer in part.get("local", []):
            if buffer["name"] in levels:
                buffer["attributes"]["router-energy"] = ROUTER_ENERGY
    return document


def _layers(name: str) -> list[str]:
    network = bundled.network(name)
    return [layer.name for layer in network.layers] if network else []


def run(case: Case, limit: float, workers: int) -> Timing:
    spec = sm.load(*bundled.resolve(*case.sources))
    started, began = time.process_time(), time.perf_counter()
    solution = sm.solve(spec, case.objective, time_limit=limit, workers=workers)
    seconds, wall = time.process_time() - started, time.perf_counter() - began
    value = None if solution.value is None else float(solution.value)
    return Timing(
        case.suite,
        case.name,
        case.objective,
        solution.status,
        value,
        solution.gap,
        round(seconds, 3),
        round(wall, 3),
        _peak(),
    )


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def table(timings: list[Timing]) -> Table:
    """Median, 95th percentile and worst CPU seconds, the share proven and the peak of memory so
    far, per suite.
    """
    result = Table(
        "suite", "cases", "proven", "median s", "p95 s", "worst s", "peak MiB", "worst case"
    )
    for suite in dict.fromkeys(each.suite for each in timings):
        rows = sorted(
            (each for each in timings if each.suite == suite), key=lambda each: each.seconds
        )
        proven = sum(each.status == "optimal" for each in rows)
        high = rows[min(len(rows) - 1, int(0.95 * len(rows)))].seconds
        result.add_row(
            suite,
            str(len(rows)),
            f"{100 * proven / len(rows):.0f} %",
            f"{statistics.median(r.seconds for r in rows):.2f}",
            f"{high:.2f}",
            f"{rows[-1].seconds:.2f}",
            f"{max(r.megabytes for r in rows):.0f}",
            rows[-1].name,
        )
    return result


def beside_table(rows: list[Beside]) -> Table:
    """Seconds of both sides (processor / wall) and their ratios: above 1, ours are fewer. Where our
    model has counted the peer's mapping, its edp over ours, by its own account / by ours."""
    result = Table("peer", "case", "workers", "ours s", "theirs s", "ratios", "edp", "no worse")
    for row in rows:
        ratios = row.peer_cpu / row.cpu, row.peer_wall / row.wall
        shown = [
            _pair(*each) for each in ((row.cpu, row.wall), (row.peer_cpu, row.peer_wall), ratios)
        ]
        shown[0] += "" if row.status == "optimal" else f", {row.status}"
        edp = row.missing or "-"
        if row.value and row.peer_value and row.peer_counted:
            edp = _pair(row.peer_value / row.value, row.peer_counted / row.value)
        verdict = {None: "-", True: "yes", False: "NO"}[row.no_worse]
        result.add_row(row.peer, row.name, str(row.workers), *shown, edp, verdict)
    return result


def _pair(first: float, second: float) -> str:
    return f"{first:.3g} / {second:.3g}"


def peers(names: list[str], python: Path | None) -> Iterator[Beside]:
    """What the peers named take, with one and with two workers where they know of workers."""
    for name in names:
        if name == "accelforge":
            if python is None:
                raise SystemExit(
                    "--peer accelforge needs --peer-python, an interpreter in which AccelForge is"
                    " installed"
                )
            for workers in (1, 2):
                yield from accelforge(python, workers)
        else:
            try:
                yield from timeloop(factors="imperfect" if name == "ruby" else "perfect")
            except FileNotFoundError as error:
                raise SystemExit(f"--peer {name}: {error}") from None


def watched(chosen: list[Case], limit: float, workers: int) -> Iterator[Timing]:
    with Progress() as progress:
        bar = progress.add_task("solving", total=len(chosen))
        for case in chosen:
            progress.update(bar, description=f"{case.suite} {case.name}")
            yield run(case, limit, workers)
            progress.advance(bar)


def record(timings: Iterable[Timing], rows: Iterable[Beside]) -> dict[str, object]:
    """Everything that the tables show, and where it was measured."""
    machine = {
        "cpus": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "solver": solver_name(),
    }
    return {
        "machine": machine,
        "timings": [asdict(each) for each in timings],
        "peers": [asdict(row) for row in rows],
        "peak_megabytes": _peak(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help="the beginning of a suite's name; all without"
    )
    parser.add_argument(
        "--limit", type=float, default=30.0, help="seconds on the wall for each case"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--peer", action="append", default=[], choices=["accelforge", "timeloop", "ruby"]
    )
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = options.suites or ([""] if not options.peer else [])
    chosen = [case for case in cases() if any(case.suite.startswith(suite) for suite in wanted)]
    console = Console()
    timings = list(watched(chosen, options.limit, options.workers)) if chosen else []
    if timings:
        console.print(table(timings))
    rows = list(peers(options.peer, options.peer_python))
    if rows:
        console.print(beside_table(rows))
    console.print(f"peak memory {_peak():.0f} MiB")
    if options.json:
        options.json.write_text(
            json.dumps(record(timings, rows), indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
