"""How long proofs take: real layers on the shipped architectures, one process, one worker.

    python benchmarks/suites.py [SUITE ...] [--limit SECONDS] [--json FILE]

Suites: eyeriss, three_level, simba (ResNet-50's layers, energy and edp), gemm (language models, unconstrained), primes (sizes with many
small primes). Times are CPU seconds of the whole solve, which a busy machine disturbs less than wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import solver_mapper as sm
from solver_mapper import library
from solver_mapper.spec.source import Source

GEMM_SHAPE = {"name": "gemm", "dimensions": ["M", "N", "K"], "data-spaces": [
    {"name": "Inputs", "projection": [[["M"]], [["K"]]]}, {"name": "Weights", "projection": [[["K"]], [["N"]]]},
    {"name": "Outputs", "projection": [[["M"]], [["N"]]], "read-write": True}]}
PRIMES = ((720, 5040, 2520), (840, 1260, 2310))
LANGUAGE_MODELS = ("bert_large", "gpt3_6.7b_prefill", "llama2_7b")


@dataclass(frozen=True)
class Case:
    suite: str
    name: str
    objective: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Timing:
    suite: str
    name: str
    objective: str
    status: str
    value: float | None
    gap: float | None
    seconds: float


def cases() -> Iterator[Case]:
    """All cases, suite by suite."""
    for architecture in ("eyeriss", "three_level", "simba"):
        for objective in ("energy", "edp"):
            for layer in _layers("resnet50"):
                yield Case(f"{architecture} {objective}", layer, objective, (architecture, f"resnet50/{layer}"))
    for network in LANGUAGE_MODELS:
        for layer in _layers(network):
            yield Case("gemm energy", f"{network}/{layer}", "energy", ("three_level", f"{network}/{layer}"))
    for m, n, k in PRIMES:
        problem = {"problem": {"shape": GEMM_SHAPE, "instance": {"M": m, "N": n, "K": k}}}
        yield Case("primes energy", f"{m}x{n}x{k}", "energy", ("three_level", problem))


def _layers(name: str) -> list[str]:
    network = library.network(name)
    return [layer.name for layer in network.layers] if network else []


def run(case: Case, limit: float) -> Timing:
    spec = sm.load(*library.resolve(*case.sources))
    started = time.process_time()
    solution = sm.solve(spec, case.objective, time_limit=limit)
    seconds = time.process_time() - started
    value = None if solution.value is None else float(solution.value)
    return Timing(case.suite, case.name, case.objective, solution.status, value, solution.gap, round(seconds, 3))


def table(timings: list[Timing]) -> Table:
    """Median, 95th percentile and worst CPU seconds, and the share proven, per suite."""
    result = Table("suite", "cases", "proven", "median s", "p95 s", "worst s", "worst case")
    for suite in dict.fromkeys(each.suite for each in timings):
        rows = sorted((each for each in timings if each.suite == suite), key=lambda each: each.seconds)
        proven = sum(each.status == "optimal" for each in rows)
        high = rows[min(len(rows) - 1, int(0.95 * len(rows)))].seconds
        result.add_row(suite, str(len(rows)), f"{100 * proven / len(rows):.0f} %", f"{statistics.median(r.seconds for r in rows):.2f}",
                       f"{high:.2f}", f"{rows[-1].seconds:.2f}", rows[-1].name)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chosen = [case for case in cases() if not options.suites or any(case.suite.startswith(suite) for suite in options.suites)]
    timings = []
    with Progress() as progress:
        bar = progress.add_task("solving", total=len(chosen))
        for case in chosen:
            progress.update(bar, description=f"{case.suite} {case.name}")
            timings.append(run(case, options.limit))
            progress.advance(bar)
    console = Console()
    console.print(table(timings))
    console.print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in timings], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
