#!/usr/bin/env python3
"""What becomes of each file of AccelForge's `examples/`: it loads, is solved, is proven optimal, or
is refused with a message.

usage: accelforge_examples.py EXAMPLES [PART ...] [--time-limit S] [--markdown FILE]

EXAMPLES is the folder `examples` of a copy of AccelForge. Every architecture gets two products of
64x64x64 in 8-bit values (one with a workload of its own keeps that), every workload runs on
`simple` (MainMemoryEnergy 100, GlobalBufferSize 16 MiB) and on `tpu_v4i`, every mapping is
evaluated with the workload that it is for. PART (a part of the name of a case) picks cases. At most
one loop is shared. The goal is EDP for architectures and energy for workloads. `--time-limit` is in
seconds of processor time for each case, so that other work on the machine does not matter.

A case ends as `optimal`, `feasible` (with its gap), `infeasible`, `unknown`, `evaluated` or
`refused` (with the first line of the message); any other exception is a `crash`, and the exit code
is then 1. `--markdown` writes the table of docs/reference/public_files.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import solver_mapper as sm
from solver_mapper.core.clock import Clock

TEMPLATE_VARIABLES: dict[str, object] = {
    "BATCH_SIZE": 1,
    "DECODE": False,
    "N_NEW_TOKENS": 2048,
    "N_CACHED_TOKENS": 0,
    "CHUNK_SIZE": 512,
    "N_EINSUMS": 2,
}
SIMPLE: dict[str, object] = {"MainMemoryEnergy": 100, "GlobalBufferSize": 16 * 2**20 * 8}
SMALL: dict[str, object] = {**TEMPLATE_VARIABLES, "M": 64, "KN": 64}
ATTENTION_TYPES = {"llama4_scout": ("chunked_local", "grouped_query")}
ATTENTION_TYPES["llama4_maverick"] = ATTENTION_TYPES["llama4_scout"]
WORKLOAD_OF_MAPPING = {"matmuls": "matmuls", "matvecs": "matvecs"}


class ProcessorClock(Clock):
    """A clock of the seconds of processor time that this process uses."""

    def __init__(self, limit: float):
        super().__init__(limit)
        self.began = time.process_time()

    @property
    def seconds(self) -> float:
        return time.process_time() - self.began


@dataclass(frozen=True)
class Case:
    """Files to read together and what to do with them."""

    name: str
    sources: tuple[Path, ...]
    task: str
    variables: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of a case. `seconds` of processor time."""

    case: Case
    status: str
    value: str
    seconds: float
    message: str = ""


def cases(examples: Path) -> Iterator[Case]:
    """Every file of the examples that is not a part of another, as a case."""
    product = examples / "workloads" / "basic" / "matmuls.yaml"
    for path in _files(examples / "arches"):
        name = f"{_short(path, examples)} x two products"
        own = path.read_text(encoding="utf-8").find("\nworkload:") >= 0
        if _is_memory_cell(path):
            continue
        yield Case(name, (path,) if own else (path, product), "edp", SMALL)
    for path in [*_files(examples / "workloads"), *_files(examples / "misc")]:
        for extra, label in _variants(path):
            for machine in ("simple", "tpu_v4i"):
                yield Case(
                    f"{_short(path, examples)}{label} on {machine}",
                    (examples / "arches" / f"{machine}.yaml", path),
                    "energy",
                    {**TEMPLATE_VARIABLES, **SIMPLE, **extra},
                )
    for path in _files(examples / "mappings"):
        yield Case(
            _short(path, examples),
            (examples / "arches" / "simple.yaml", _workload_of(path, examples), path),
            "evaluate",
            SMALL,
        )


def _files(folder: Path) -> list[Path]:
    """The YAML files below `folder` that stand by themselves: not in a folder, nor with a name,
    that begins with an underscore.
    """
    return [
        path
        for path in sorted(folder.rglob("*.yaml"))
        if not any(part.startswith("_") for part in path.relative_to(folder).parts)
    ]


def _is_memory_cell(path: Path) -> bool:
    """Whether the file is a component model's parameters, not an input of a mapper."""
    return path.parent.name == "memory_cells"


def _short(path: Path, examples: Path) -> str:
    return str(path.relative_to(examples).with_suffix(""))


def _variants(path: Path) -> Iterator[tuple[dict[str, object], str]]:
    types = ATTENTION_TYPES.get(path.stem)
    if types is None:
        yield {}, ""
    else:
        for kind in types:
            yield {"ATTENTION_TYPE": kind}, f" ({kind})"


def _workload_of(path: Path, examples: Path) -> Path:
    kind = next((name for key, name in WORKLOAD_OF_MAPPING.items() if key in path.stem), "matvecs")
    return examples / "workloads" / "basic" / f"{kind}.yaml"


def outcome(case: Case, time_limit: float) -> Outcome:
    """Load and run one case."""
    started = time.process_time()

    def ended(status: str, value: str = "", message: str = "") -> Outcome:
        return Outcome(case, status, value, time.process_time() - started, message)

    try:
        spec = sm.load(*case.sources, variables=case.variables)
        assert isinstance(spec, sm.TreeSpec)
        if case.task == "evaluate":
            figures = sm.evaluate(spec)
            return ended("evaluated", f"{float(figures.energy):.6g}")
        found = sm.solve(spec, case.task, clock=ProcessorClock(time_limit), max_fused_loops=1)
        relaxed = ""
        if found.status == "infeasible":
            reason = found.conflict[0]["text"] if found.conflict else "no mapping"
            found = sm.solve(
                spec,
                case.task,
                clock=ProcessorClock(time_limit),
                max_fused_loops=1,
                relax=("min_usage",),
            )
            relaxed = f"infeasible ({reason}); the value is that with `--relax min_usage`"
    except sm.SolverMapperError as error:
        return ended("refused", message=str(error).splitlines()[0])
    except Exception:
        return ended("crash", message=traceback.format_exc())
    value = "" if found.value is None else f"{float(found.value):.6g}"
    if found.status == "feasible" and found.gap is not None:
        value += f", gap {found.gap:.2%}"
    return ended(found.status, value, relaxed)


def line(result: Outcome, examples: Path) -> str:
    message = result.message.replace(f"{examples}/", "")
    return (
        f"{result.case.name:75} {result.status:10} {result.value:28} {result.seconds:7.1f} s"
        f"  {message}"
    )


def markdown(results: list[Outcome], examples: Path) -> str:
    """The rows of the documentation's table."""
    rows = ["| files | outcome | value | CPU s | message |", "| --- | --- | --- | --- | --- |"]
    for each in results:
        message = re.sub(r"\s+", " ", each.message.replace(f"{examples}/", "")).replace("|", "\\|")
        rows.append(
            f"| {each.case.name} | {each.status} | {each.value} | {each.seconds:.1f} | {message} |"
        )
    return "\n".join(rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("examples", type=Path, help="AccelForge's folder 'examples'")
    parser.add_argument("parts", nargs="*", help="parts of names of cases; all without")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each case")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    options = parser.parse_intermixed_args()
    examples = options.examples.resolve()
    chosen = [
        case
        for case in cases(examples)
        if not options.parts or any(part in case.name for part in options.parts)
    ]
    if not chosen:
        parser.error("no case has such a name")
    results = []
    for case in chosen:
        results.append(outcome(case, options.time_limit))
        print(line(results[-1], examples), flush=True)
    if options.markdown is not None:
        options.markdown.write_text(markdown(results, examples), encoding="utf-8")
    return int(any(each.status == "crash" for each in results))


if __name__ == "__main__":
    sys.exit(main())
