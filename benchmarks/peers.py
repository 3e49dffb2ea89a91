"""The mappers of other programs on equivalent problems, timed in the same run as ours.

AccelForge maps matrix products on arrays like its own `eyeriss` and `simba` examples
(looptree_*.yaml: their levels, sizes, rules and spatial reuse, with energies written down where the
examples ask a component model). We map the same products on the same arrays in Timeloop's terms
(timeloop_*.yaml), because that is the input of the solver that is measured here; how our mapper of
LoopTree files does on AccelForge's own input, and that the optima are equal there, is for
`looptree_speed.py`. The accounts of the two notations differ (who reads what when partial sums come
and go, and how long it takes), so values are not compared.

Timeloop's mapper gets the very document that we solve (those products, and layers of ResNet-50 on
shipped architectures) and ten times the time that our proof took, once for each of its searches
that sample. The best mapping that it wrote is read back, so that both edp are also there in one
account.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import solver_mapper as sm
from solver_mapper.io import bundled
from solver_mapper.io.yaml.documents import read_documents
from solver_mapper.io.yaml.source import Source, to_python

Document = dict[str, Any]

HERE = Path(__file__).resolve().parent
PRODUCTS = ((64, 64, 64), (1024, 1024, 1024), (4096, 4096, 4096), (512, 768, 3072))
"""M x K x N."""
WARM_UP = (96, 80, 112)
LAYERS = ("conv1", "layer2.0.conv2_3x3_s2", "layer4.x.conv3_1x1")
"""Of ResNet-50."""
SEARCHES = ("hybrid", "random-pruned", "random")
"""Timeloop's default, and the others that sample: the rest walk through a space from one end, too
long for real layers.
"""
GEMM_SHAPE = {
    "name": "gemm",
    "dimensions": ["M", "N", "K"],
    "data-spaces": [
        {"name": "Inputs", "projection": [[["M"]], [["K"]]]},
        {"name": "Weights", "projection": [[["K"]], [["N"]]]},
        {"name": "Outputs", "projection": [[["M"]], [["N"]]], "read-write": True},
    ],
}


@dataclass(frozen=True)
class Beside:
    """One case of a peer: seconds of processor time and on the wall, ours and theirs.

    `value` and `peer_value` are the edp in each program's own account, `peer_counted` what our
    model counts for the peer's mapping; None where there is none.
    """

    peer: str
    name: str
    workers: int
    status: str
    value: float | None
    cpu: float
    wall: float
    peer_value: float | None
    peer_cpu: float
    peer_wall: float
    peer_counted: float | None = None

    @property
    def no_worse(self) -> bool | None:
        """Whether our edp is at most the peer's, both in our account; None where there is nothing
        to compare.
        """
        if self.peer_counted is None:
            return None
        return self.value is not None and self.value <= self.peer_counted


def gemm(m: int, k: int, n: int) -> dict[str, Any]:
    """A matrix product as a Timeloop problem."""
    return {"problem": {"shape": GEMM_SHAPE, "instance": {"M": m, "N": n, "K": k}}}


def accelforge(python: Path, workers: int) -> Iterator[Beside]:
    """All products on both arrays, with so many jobs there and CP-SAT workers here."""
    for array in ("eyeriss", "simba"):
        theirs = _accelforge(python, array, workers)
        _ours(_array(array, WARM_UP), workers)
        for sizes, (peer_value, peer_cpu, peer_wall) in zip(PRODUCTS, theirs, strict=True):
            status, value, cpu, wall = _ours(_array(array, sizes), workers)
            yield Beside(
                "accelforge",
                f"{array} {'x'.join(map(str, sizes))}",
                workers,
                status,
                value,
                cpu,
                wall,
                peer_value,
                peer_cpu,
                peer_wall,
            )


def _array(array: str, sizes: tuple[int, int, int]) -> Document:
    """A product on an array, in Timeloop's terms."""
    return _document(HERE / f"timeloop_{array}.yaml", gemm(*sizes))


def _document(*sources: Source) -> Document:
    """All sources joined, as plain values: Timeloop joins files by putting one text after the
    other.
    """
    return dict(to_python(read_documents(*sources)))


def _ours(document: Document, workers: int) -> tuple[str, float | None, float, float]:
    """(status, edp, processor seconds, wall seconds)."""
    spec = sm.load(document)
    started, began = time.process_time(), time.perf_counter()
    solution = sm.solve(spec, "edp", workers=workers)
    cpu, wall = time.process_time() - started, time.perf_counter() - began
    return solution.status, None if solution.value is None else float(solution.value), cpu, wall


def _accelforge(python: Path, array: str, jobs: int) -> list[tuple[float, float, float]]:
    """(edp, processor seconds, wall seconds) for each product."""
    with tempfile.TemporaryDirectory() as folder:
        constraint = []
        for sizes in (WARM_UP, *PRODUCTS):
            path = Path(folder) / f"{'x'.join(map(str, sizes))}.yaml"
            path.write_text(
                (HERE / f"looptree_{array}.yaml").read_text(encoding="utf-8") + _workload(*sizes),
                encoding="utf-8",
            )
            constraint.append([str(path), "edp"])
        done = subprocess.run(
            [str(python), str(HERE / "accelforge_peer.py"), str(jobs)],
            input=json.dumps(constraint),
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for each in answers:
        if "error" in each:
            raise SystemExit(f"AccelForge: {each['error']}")
    return [(each["value"], each["seconds"], each["wall"]) for each in answers[1:]]


def _workload(m: int, k: int, n: int) -> str:
    return (
        f"workload:\n  rank_sizes: {{M: {m}, K: {k}, N: {n}}}\n  bits_per_value: {{All: 8}}\n "
        " einsums:\n  - name: E\n    tensor_accesses:\n    - {name: A, projection: [m, k]}\n   "
        " - {name: B, projection: [k, n]}\n    - {name: Z, projection: [m, n], output: True}\n"
        "    renames: {input: A, weight: B, output: Z}\n"
    )


def timeloop_cases() -> Iterator[tuple[str, Document]]:
    """Products on the arrays, and layers on shipped architectures with their dataflow rules."""
    for array in ("eyeriss", "simba"):
        for sizes in PRODUCTS:
            yield f"{array} {'x'.join(map(str, sizes))}", _array(array, sizes)
    for name in ("eyeriss", "simba", "three_level"):
        for layer in LAYERS:
            yield f"{name}, {layer}", _document(*bundled.resolve(name, f"resnet50/{layer}"))


def timeloop(program: str = "timeloop-mapper") -> Iterator[Beside]:
    """All cases by Timeloop's own mapper: the best of its searches, each with one thread and ten
    times our time.

    Raises: FileNotFoundError if there is no such program; SystemExit, with what it said, if it
    fails.
    """
    if shutil.which(program) is None:
        raise FileNotFoundError(f"{program} is not on this machine")
    _ours(_array("eyeriss", WARM_UP), 1)
    for name, document in timeloop_cases():
        status, value, cpu, wall = _ours(document, 1)
        tries = [_timeloop(program, document, search, 10 * wall) for search in SEARCHES]
        peer_value, peer_counted = min(
            (each.found for each in tries if each.found),
            key=lambda found: found[1],
            default=(None, None),
        )
        yield Beside(
            "timeloop",
            name,
            1,
            status,
            value,
            cpu,
            wall,
            peer_value,
            sum(each.cpu for each in tries),
            sum(each.wall for each in tries),
            peer_counted,
        )


@dataclass(frozen=True)
class Search:
    """What one search of Timeloop's took, and the edp of the best mapping that it found, by its own
    account and by ours.
    """

    cpu: float
    wall: float
    found: tuple[float, float] | None


def _timeloop(program: str, document: Document, search: str, seconds: float) -> Search:
    options = {
        "algorithm": search,
        "optimization-metrics": ["edp"],
        "num-threads": 1,
        "timeout": 0,
        "victory-condition": 0,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = json.dumps({**document, "mapper": options})
        # Decimals are text here, to stay exact; Timeloop takes no quoted ones.
        (folder / "input.yaml").write_text(
            re.sub(r'"(-?[0-9]+\.[0-9]+)"', r"\1", text), encoding="utf-8"
        )
        began, started = time.perf_counter(), _children()
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(
                [program, "input.yaml"], cwd=folder, stdout=said, stderr=said
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(
                    signal.SIGINT
                )  # at the first one it ends with what it has, at a second without
                process.wait()
        cpu, wall = _children() - started, time.perf_counter() - began
        if process.returncode != 0:
            raise SystemExit(
                f"{program}: "
                + "\n".join((folder / "said").read_text(encoding="utf-8").splitlines()[-9:])
            )
        stats = folder / "timeloop-mapper.stats.txt"
        if not stats.exists():
            return Search(cpu, wall, None)
        counted = _counted(document, folder / "timeloop-mapper.map.yaml")
        return Search(cpu, wall, (edp_of(stats.read_text(encoding="utf-8")), counted))


def _children() -> float:
    """Seconds of processor time of all programs that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _counted(document: Document, mapping: Path) -> float:
    """The edp of a mapping in our account.

    Raises: SystemExit if it is not legal, because then the two programs do not search the same
    space.
    """
    spec = sm.load(document, mapping)
    verdict = sm.validate(spec)
    if not verdict.legal:
        raise SystemExit(
            "the mapping that timeloop-mapper found is"
            f" {verdict}\n{mapping.read_text(encoding='utf-8')}"
        )
    return float(sm.evaluate(spec).edp)


def edp_of(stats: str) -> float:
    """pJ x cycles, of the summary that Timeloop writes: cycles, computes, and fJ for each compute,
    its most precise figure.
    """
    cycles, computes, energy = (
        float(re.findall(rf"^\s*{name}\s*[:=]\s*([0-9.e+]+)$", stats, re.MULTILINE)[-1])
        for name in ("Cycles", "Computes", "Total")
    )
    return cycles * computes * energy / 1000
