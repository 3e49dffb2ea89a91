#!/usr/bin/env python3
"""Whole workloads of AccelForge's `examples/`, mapped by its mapper and by ours in the same run.

usage: fused_graphs.py EXAMPLES --peer-python PYTHON [PART ...] [--json FILE] [--markdown FILE]

EXAMPLES is the folder `examples` of a copy of AccelForge, PYTHON an interpreter (3.12) in which the
package `accelforge` is installed. PART, a part of a case's name, picks cases; `--list` names them.

Each program maps each case in a process of its own with one worker; AccelForge maps a small case
before, untimed, for what it compiles on first use. Times are seconds of processor time without
imports and reading. A process that uses more than its limit (`--limit`, `--peer-limit`, in seconds
of processor time) is stopped; ours then answers with its best mapping and a bound. Then each
program evaluates the mapping that the other found. `--json` keeps the results; cases that it has
are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from processor_time import processor_limit

import solver_mapper as sm

HERE = Path(__file__).resolve().parent
GPT3 = "transformers/gpt/gpt3_6.7B"
PROMPT: dict[str, object] = {"BATCH_SIZE": 1, "DECODE": False, "N_CACHED_TOKENS": 0}
ATTENTION: dict[str, object] = {
    **PROMPT,
    "N_NEW_TOKENS": 256,
    "N_HEADS": 8,
    "N_EMB_PER_HEAD": 64,
    "N_HIDDEN_DIMS": 512,
}
LATENT: dict[str, object] = {**ATTENTION, "N_V_DIMS": 64, "N_Q_LATENT": 128, "N_KV_LATENT": 64}
SIMPLE: dict[str, object] = {"MainMemoryEnergy": 100, "GlobalBufferSize": 16 * 2**20 * 8}
MATMULS: dict[str, object] = {"N_EINSUMS": 3, "M": 512, "KN": 512}
WARM_UP: dict[str, object] = {**SIMPLE, "N_EINSUMS": 1, "M": 8, "KN": 8}
MAIN: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("GPT-3 6.7B, 256 tokens", GPT3, {**PROMPT, "N_NEW_TOKENS": 256}),
    ("GPT-3 6.7B, 2,048 tokens", GPT3, {**PROMPT, "N_NEW_TOKENS": 2048}),
    ("GPT-3 6.7B, 8,192 tokens", GPT3, {**PROMPT, "N_NEW_TOKENS": 8192, "MAX_N_TOKENS": 8192}),
    ("multi-head attention", "transformers/_attention_decode_types/multi_head", ATTENTION),
    ("latent attention", "transformers/_attention_decode_types/multi_head_latent", LATENT),
    ("GPT-3 175B, 2,048 tokens", "transformers/gpt/gpt3_175B", {**PROMPT, "N_NEW_TOKENS": 2048}),
    (
        "GPT-3 6.7B, one token, cache of 2,047",
        GPT3,
        {**PROMPT, "DECODE": True, "N_NEW_TOKENS": 1, "N_CACHED_TOKENS": 2047},
    ),
    (
        "GPT-3 175B, one token, cache of 2,047",
        "transformers/gpt/gpt3_175B",
        {**PROMPT, "DECODE": True, "N_NEW_TOKENS": 1, "N_CACHED_TOKENS": 2047},
    ),
    ("Mamba", "transformers/mamba/mamba", {"BATCH_SIZE": 1}),
    ("mobilenet_28", "cnns/mobilenet/mobilenet_28", {"BATCH_SIZE": 1}),
    ("AlexNet", "compute_in_memory/alexnet", {"BATCH_SIZE": 1}),
    ("ResNet-18", "compute_in_memory/resnet18", {"BATCH_SIZE": 1}),
)
SMALL: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("three products", "basic/matmuls", MATMULS),
    ("multi-head attention", "transformers/_attention_decode_types/multi_head", ATTENTION),
)
TOLERANCE = 1e-5
"""AccelForge computes in single precision."""


@dataclass(frozen=True)
class Case:
    """A workload of the examples on an architecture of the examples.

    `workload` and `machine` are paths in `workloads/` and `arches/`; `loops` is the limit on fused
    loops, None for none.
    """

    name: str
    workload: str
    machine: str
    goal: str
    variables: dict[str, object]
    loops: int | None = 1

    @property
    def key(self) -> str:
        loops = "no limit" if self.loops is None else f"{self.loops} fused"
        return f"{self.name} / {self.machine} / {self.goal} / {loops}"

    def job(self, examples: Path) -> dict[str, Any]:
        """What both programs are told."""
        return {
            "files": [
                str(examples / "arches" / f"{self.machine}.yaml"),
                str(examples / "workloads" / f"{self.workload}.yaml"),
            ],
            "task": self.goal,
            "variables": {**SIMPLE, **self.variables},
            "max_fused_loops": self.loops,
        }


@dataclass(frozen=True)
class Answer:
    """What a program made of a case. `seconds` of processor time, `memory` in MiB at the peak,
    `other` the goal of this program's mapping by the other program.
    """

    status: str
    value: float | None = None
    seconds: float | None = None
    gap: float | None = None
    memory: int | None = None
    relaxed: bool = False
    other: float | None = None
    message: str = ""


def cases() -> Iterator[Case]:
    """All cases, the most important first."""
    for name, workload, variables in MAIN:
        yield Case(name, workload, "simple", "energy", variables)
    yield Case("GPT-3 6.7B, 8,192 tokens", GPT3, "tpu_v4i", "energy", MAIN[2][2])
    for machine in ("simple", "tpu_v4i"):
        for name, workload, variables in SMALL:
            for goal in ("latency", "edp"):
                yield Case(name, workload, machine, goal, variables)
    for name, workload, variables in MAIN:
        yield Case(name, workload, "simple", "energy", variables, None)


def mapped_by_us(job: dict[str, Any], limit: float) -> dict[str, Any]:
    """Our answer to a job; run in a process of its own.

    Where `min_usage` admits no mapping it is lowered, as AccelForge does without saying so.
    """
    spec = sm.load(*map(Path, job["files"]), variables=job["variables"])
    assert isinstance(spec, sm.TreeSpec)
    started = time.process_time()
    relaxed = False
    clock = processor_limit(limit)
    options = {"clock": clock, "max_fused_loops": job["max_fused_loops"]}
    found = sm.solve(spec, job["task"], **options)
    if found.status == "infeasible":
        relaxed = True
        found = sm.solve(spec, job["task"], relax=["min_usage"], **options)
    seconds = time.process_time() - started
    if found.mapping is not None and job.get("save"):
        Path(job["save"]).write_text(found.mapping.to_yaml(), encoding="utf-8")
    return {
        "status": "proven" if found.status == "optimal" else found.status,
        "value": None if found.value is None else float(found.value),
        "seconds": seconds,
        "gap": found.gap,
        "relaxed": relaxed,
    }


def ours(job: dict[str, Any], limit: float) -> Answer:
    done, said, memory, _ = _run([sys.executable, __file__, "--ours", str(limit)], job, None)
    if not done:
        return Answer("failed", memory=memory, message=said[-300:])
    return Answer(**json.loads(said.splitlines()[-1]), memory=memory)


def theirs(
    python: Path, case: Case, examples: Path, our_map: Path, their_map: Path, limit: float
) -> tuple[Answer, float | None]:
    """(AccelForge's answer, its value of our mapping; None where there is none)."""
    job = case.job(examples)
    jobs = [
        Case("", "basic/matmuls", "simple", case.goal, WARM_UP).job(examples),
        {**job, "save": str(their_map)},
    ]
    if our_map.exists():
        jobs.insert(0, {**job, "task": "evaluate", "files": [*job["files"], str(our_map)]})
    command = [str(python), str(HERE / "accelforge_peer.py")]
    _, said, memory, used = _run(command, jobs, limit)
    answers = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    value = None
    if our_map.exists() and answers and "error" not in answers[0]:
        value = goal_of(case, answers[0]["energy"], answers[0]["latency"])
    if len(answers) < len(jobs):
        text = f"more than {limit:.0f} s" if used > limit else f"stopped after {used:.0f} s"
        return Answer("stopped", memory=memory, message=text), value
    found = answers[-1]
    if "error" in found:
        return Answer("error", memory=memory, message=found["error"][:300]), value
    return Answer("mapped", found["value"], found["seconds"], memory=memory), value


def _run(command: list[str], told: object, limit: float | None) -> tuple[bool, str, int, float]:
    """(whether it ended well, what it printed, MiB at the peak, seconds of processor time);
    `limit` in such seconds.
    """

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))

    with tempfile.TemporaryDirectory() as folder:
        told_at, said_at = Path(folder) / "told", Path(folder) / "said"
        told_at.write_text(json.dumps(told), encoding="utf-8")
        with told_at.open("rb") as source, said_at.open("wb") as target:
            process = subprocess.Popen(
                command, cwd=folder, stdin=source, stdout=target, preexec_fn=limited
            )
            _, status, usage = os.wait4(process.pid, 0)
        said = said_at.read_text(encoding="utf-8")
        return status == 0, said, usage.ru_maxrss // 1024, usage.ru_utime + usage.ru_stime


def by_us(case: Case, examples: Path, their_map: Path) -> float | None:
    """Our value of their mapping; None where there is none."""
    if not their_map.exists():
        return None
    job = case.job(examples)
    spec = sm.load(*map(Path, job["files"]), their_map, variables=job["variables"])
    figures = sm.evaluate(spec)
    return float(goal_of(case, figures.energy, figures.latency))


def goal_of(case: Case, energy: float | Fraction, latency: float | Fraction) -> Any:
    return {"energy": energy, "latency": latency, "edp": energy * latency}[case.goal]


@dataclass(frozen=True)
class Row:
    """Both programs' answers to a case."""

    case: Case
    ours: Answer
    theirs: Answer

    @property
    def cells(self) -> list[str]:
        one, two = self.ours, self.theirs
        ratio = one.seconds / two.seconds if one.seconds and two.seconds else None
        status = one.status
        if one.gap and one.status != "proven":
            status = f"gap {one.gap:.2%}"
        return [
            self.case.name,
            f"`{self.case.machine}`" + (" †" if one.relaxed else ""),
            self.case.goal,
            _figure(one.value),
            status,
            _figure(two.value) if two.value is not None else two.message.split(":")[0],
            _agrees(one.value, one.other),
            _agrees(two.value, two.other),
            "" if one.seconds is None else f"{one.seconds:.1f}",
            "" if two.seconds is None else f"{two.seconds:.1f}",
            "" if ratio is None else f"{ratio:.2f}",
            f"{one.memory} / {two.memory}",
        ]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _agrees(claimed: float | None, counted: float | None) -> str:
    if claimed is None or counted is None:
        return ""
    return "=" if abs(counted - claimed) <= TOLERANCE * abs(claimed) else f"{counted:.6g}"


HEAD = (
    "workload",
    "architecture",
    "goal",
    "ours",
    "status",
    "AccelForge",
    "ours, by AccelForge",
    "AccelForge's, by us",
    "CPU s, ours",
    "AccelForge",
    "ratio",
    "MiB, ours / AccelForge",
)


def markdown(rows: list[Row]) -> str:
    parts = []
    for loops, title in ((1, "One fused loop"), (None, "No limit on fused loops")):
        chosen = [row for row in rows if row.case.loops == loops]
        if chosen:
            lines = [list(HEAD), ["---"] * len(HEAD), *(row.cells for row in chosen)]
            text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
            parts.append(f"{title}:\n\n{text}\n")
    return "\n".join(parts)


def row_of(case: Case, options: argparse.Namespace) -> Row:
    examples = options.examples.resolve()
    with tempfile.TemporaryDirectory() as folder:
        our_map, their_map = Path(folder) / "ours.yaml", Path(folder) / "theirs.yaml"
        mine = ours({**case.job(examples), "save": str(our_map)}, options.limit)
        if options.peer_python is None:
            return Row(case, mine, Answer("not run"))
        peer, by_them = theirs(
            options.peer_python, case, examples, our_map, their_map, options.peer_limit
        )
        theirs_by_us = by_us(case, examples, their_map)
    return Row(case, replace(mine, other=by_them), replace(peer, other=theirs_by_us))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("examples", type=Path, nargs="?", help="AccelForge's folder 'examples'")
    parser.add_argument("parts", nargs="*", help="parts of names of cases; all without")
    parser.add_argument("--peer-python", type=Path, help="an interpreter that has AccelForge")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for ours")
    parser.add_argument("--peer-limit", type=float, default=600.0, help="seconds for AccelForge")
    parser.add_argument("--json", type=Path, help="keep the results here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    parser.add_argument("--list", action="store_true", help="name the cases")
    parser.add_argument("--ours", type=float, help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.ours is not None:
        print(json.dumps(mapped_by_us(json.load(sys.stdin), options.ours)))
        return 0
    if options.list:
        print("\n".join(case.key for case in cases()))
        return 0
    if options.examples is None:
        parser.error("name AccelForge's folder 'examples'")
    known: dict[str, Any] = {}
    if options.json is not None and options.json.exists():
        known = json.loads(options.json.read_text(encoding="utf-8"))
    rows = []
    for case in cases():
        if options.parts and not any(part in case.key for part in options.parts):
            continue
        if case.key not in known:
            found = row_of(case, options)
            known[case.key] = {"ours": asdict(found.ours), "theirs": asdict(found.theirs)}
            if options.json is not None:
                options.json.write_text(json.dumps(known, indent=1), encoding="utf-8")
        answers = {side: Answer(**answer) for side, answer in known[case.key].items()}
        rows.append(Row(case, **answers))
        print("| " + " | ".join(rows[-1].cells) + " |", flush=True)
    if options.markdown is not None:
        options.markdown.write_text(markdown(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
