"""The mappers of other programs on equivalent problems, timed in the same run as ours.

AccelForge maps matrix products on arrays like its own `eyeriss` and `simba` examples (looptree_*.yaml: their levels, sizes, rules and
spatial reuse, with energies written down where the examples ask a component model). We map the same products on the same arrays
in Timeloop's terms (timeloop_*.yaml), because that is the input of the solver that is measured here; how our mapper of LoopTree
files does on AccelForge's own input, and that the optima are equal there, is for `looptree_speed.py`. The accounts of the two notations
differ (who reads what when partial sums come and go, and how long it takes), so values are not compared.

Timeloop's mapper gets our own architectures, problems and constraints, and ten times the time that our proof took.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import solver_mapper as sm

HERE = Path(__file__).resolve().parent
PRODUCTS = ((64, 64, 64), (1024, 1024, 1024), (4096, 4096, 4096), (512, 768, 3072))
"""M x K x N."""
WARM_UP = (96, 80, 112)
GEMM_SHAPE = {"name": "gemm", "dimensions": ["M", "N", "K"], "data-spaces": [
    {"name": "Inputs", "projection": [[["M"]], [["K"]]]}, {"name": "Weights", "projection": [[["K"]], [["N"]]]},
    {"name": "Outputs", "projection": [[["M"]], [["N"]]], "read-write": True}]}


@dataclass(frozen=True)
class Beside:
    """One case of a peer: seconds of processor time and on the wall, ours and theirs; `value` and `peer_value` are the edp, in each
    program's own account."""

    peer: str
    name: str
    workers: int
    status: str
    value: float | None
    cpu: float
    wall: float
    peer_value: float | None
    peer_cpu: float | None
    peer_wall: float | None


def gemm(m: int, k: int, n: int) -> dict[str, Any]:
    """A matrix product as a Timeloop problem."""
    return {"problem": {"shape": GEMM_SHAPE, "instance": {"M": m, "N": n, "K": k}}}


def accelforge(python: Path, workers: int) -> Iterator[Beside]:
    """All products on both arrays, with so many jobs there and CP-SAT workers here."""
    for array in ("eyeriss", "simba"):
        theirs = _accelforge(python, array, workers)
        _ours(array, WARM_UP, workers)
        for sizes, (peer_value, peer_cpu, peer_wall) in zip(PRODUCTS, theirs, strict=True):
            status, value, cpu, wall = _ours(array, sizes, workers)
            yield Beside("accelforge", f"{array} {'x'.join(map(str, sizes))}", workers, status, value, cpu, wall,
                         peer_value, peer_cpu, peer_wall)


def _ours(array: str, sizes: tuple[int, int, int], workers: int) -> tuple[str, float | None, float, float]:
    spec = sm.load(HERE / f"timeloop_{array}.yaml", gemm(*sizes))
    started, began = time.process_time(), time.perf_counter()
    solution = sm.solve(spec, "edp", workers=workers)
    cpu, wall = time.process_time() - started, time.perf_counter() - began
    return solution.status, None if solution.value is None else float(solution.value), cpu, wall


def _accelforge(python: Path, array: str, jobs: int) -> list[tuple[float, float, float]]:
    """(edp, processor seconds, wall seconds) for each product."""
    with tempfile.TemporaryDirectory() as folder:
        asked = []
        for sizes in (WARM_UP, *PRODUCTS):
            path = Path(folder) / f"{'x'.join(map(str, sizes))}.yaml"
            path.write_text((HERE / f"looptree_{array}.yaml").read_text(encoding="utf-8") + _workload(*sizes), encoding="utf-8")
            asked.append([str(path), "edp"])
        done = subprocess.run([str(python), str(HERE / "accelforge_peer.py"), str(jobs)], input=json.dumps(asked), cwd=folder,
                              text=True, stdout=subprocess.PIPE, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for each in answers:
        if "error" in each:
            raise SystemExit(f"AccelForge: {each['error']}")
    return [(each["value"], each["seconds"], each["wall"]) for each in answers[1:]]


def _workload(m: int, k: int, n: int) -> str:
    return (f"workload:\n  rank_sizes: {{M: {m}, K: {k}, N: {n}}}\n  bits_per_value: {{All: 8}}\n  einsums:\n  - name: E\n"
            "    tensor_accesses:\n    - {name: A, projection: [m, k]}\n    - {name: B, projection: [k, n]}\n"
            "    - {name: Z, projection: [m, n], output: True}\n    renames: {input: A, weight: B, output: Z}\n")


def timeloop(program: str = "timeloop-mapper") -> Iterator[Beside]:
    """The products on the same arrays, by Timeloop's own mapper with ten times our time.

    Raises: FileNotFoundError if there is no such program.
    """
    if shutil.which(program) is None:
        raise FileNotFoundError(f"{program} is not on this machine")
    for array in ("eyeriss", "simba"):
        for sizes in PRODUCTS:
            status, value, cpu, wall = _ours(array, sizes, 1)
            peer_value, peer_wall = _timeloop(program, array, sizes, 10 * wall)
            yield Beside("timeloop", f"{array} {'x'.join(map(str, sizes))}", 1, status, value, cpu, wall, peer_value, None, peer_wall)


def _timeloop(program: str, array: str, sizes: tuple[int, int, int], seconds: float) -> tuple[float | None, float]:
    """(the best edp in pJ x cycles of what it wrote in time, wall seconds)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "problem.yaml").write_text(json.dumps(gemm(*sizes)), encoding="utf-8")
        search = {"optimization-metrics": ["edp"], "live-status": False, "num-threads": 1, "timeout": 0, "victory-condition": 0}
        (Path(folder) / "mapper.yaml").write_text(json.dumps({"mapper": search}), encoding="utf-8")
        began = time.perf_counter()
        process = subprocess.Popen([program, str(HERE / f"timeloop_{array}.yaml"), "problem.yaml", "mapper.yaml"], cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(2)  # it ends with what it has
            process.wait()
        wall = time.perf_counter() - began
        stats = Path(folder) / "timeloop-mapper.stats.txt"
        return (edp_of(stats.read_text(encoding="utf-8")) if stats.exists() else None), wall


def edp_of(stats: str) -> float | None:
    """pJ x cycles, of the summary that Timeloop writes: cycles, and energy in uJ."""
    cycles, energy = (re.search(rf"^{name}: ([0-9.e+]+)", stats, re.MULTILINE) for name in ("Cycles", "Energy"))
    return None if cycles is None or energy is None else float(cycles[1]) * float(energy[1]) * 1e6
