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
account. Its template Ruby has imperfect factors, and is compared with ours in the same way.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from imperfect import MESH, spec_of

import solver_mapper as sm
from solver_mapper.core.mapping import Loop
from solver_mapper.io import bundled
from solver_mapper.io.yaml.documents import read_documents
from solver_mapper.io.yaml.source import Source, to_python
from solver_mapper.verify.imperfect import ImperfectMapspace, last_rounds

Document = dict[str, Any]

HERE = Path(__file__).resolve().parent
PRODUCTS = ((64, 64, 64), (1024, 1024, 1024), (4096, 4096, 4096), (512, 768, 3072))
"""M x K x N."""
WARM_UP = (96, 80, 112)
LAYERS = ("conv1", "layer2.0.conv2_3x3_s2", "layer4.x.conv3_1x1")
"""Of ResNet-50."""
UNEVEN_PRODUCTS = ((13, 29, 17), (31, 61, 37), (127, 769, 127), (197, 768, 197), (577, 1024, 1024))
"""M x K x N, on the mesh of `imperfect.py`."""
UNEVEN_LAYERS = {
    "eyeriss": (
        "resnet50/conv1",
        "resnet50/layer1.0.conv1_1x1",
        "resnet50/layer1.x.conv2_3x3",
        "alexnet/conv1",
        "alexnet/conv2",
        "alexnet/conv3",
        "alexnet/fc8",
    ),
    "simba": ("resnet50/layer1.0.conv1_1x1", "alexnet/fc8"),
}
"""Layers by architecture."""
SEARCHES = ("hybrid", "random-pruned", "random")
"""Timeloop's default, and the others that sample: the rest walk through a space from one end, too
long for real layers.
"""
UNLIMITED = 2**32 - 1
"""Invalid mappings in a row after which Timeloop's mapper ends."""
MEMORY = 8 << 30
"""Bytes of address space that Timeloop's mapper may take."""
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
    model counts for the peer's mapping; None where there is none. `missing` says why.
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
    missing: str = ""

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


def _ours(
    document: Document, workers: int, factors: str = "perfect"
) -> tuple[str, float | None, float, float]:
    """(status, edp, processor seconds, wall seconds)."""
    spec = sm.load(document)
    started, began = time.process_time(), time.perf_counter()
    solution = sm.solve(spec, "edp", workers=workers, factors=factors)
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


def ruby_cases() -> Iterator[tuple[str, Document]]:
    """Products on a mesh and layers on shipped architectures, with sizes that do not divide."""
    for sizes in UNEVEN_PRODUCTS:
        yield f"mesh {'x'.join(map(str, sizes))}", {**MESH, **gemm(*sizes)}
    for name, layers in UNEVEN_LAYERS.items():
        for layer in layers:
            yield f"{name}, {layer}", _document(*bundled.resolve(name, layer))


def timeloop(program: str = "timeloop-mapper", factors: str = "perfect") -> Iterator[Beside]:
    """All cases by Timeloop's own mapper: the best of its searches, each with one thread and ten
    times our time. Its template for imperfect factors is Ruby.

    Raises: FileNotFoundError if there is no such program; SystemExit, with what it said, if it
    fails.
    """
    if shutil.which(program) is None:
        raise FileNotFoundError(f"{program} is not on this machine")
    _ours(_array("eyeriss", WARM_UP), 1)
    for name, document in ruby_cases() if factors == "imperfect" else timeloop_cases():
        status, value, cpu, wall = _ours(document, 1, factors)
        tries = [_timeloop(program, document, search, 10 * wall, factors) for search in SEARCHES]
        peer_value, peer_counted = min(
            (each.found for each in tries if each.found),
            key=lambda found: found[1],
            default=(None, None),
        )
        yield Beside(
            "ruby" if factors == "imperfect" else "timeloop",
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
            "" if peer_counted else ", ".join(sorted({each.missing for each in tries})),
        )


def _as_ruby(document: Document) -> Document:
    """The same for the template Ruby, whose spatial loops may end early wherever there are any.

    Ruby takes last rounds and bounds up to a number that is given for each level; temporal loops
    with such a number would lose their longer bounds.
    """
    architecture = spec_of(document).need_architecture()
    sides = {level.name: max(architecture.fanout(i)) for i, level in enumerate(architecture.levels)}
    constraints = [
        *document.get("mapspace_constraints", []),
        *(
            {"target": name, "type": "spatial", "remainders": side}
            for name, side in sides.items()
            if side > 1
        ),
    ]
    others = {key: value for key, value in document.items() if key != "mapspace_constraints"}
    return {**others, "mapspace": {"template": "ruby", "constraints": constraints}}


@dataclass(frozen=True)
class Search:
    """What one search of Timeloop's took, and the edp of the best mapping that it found, by its own
    account and by ours; or why there is none.
    """

    cpu: float
    wall: float
    found: tuple[float, float] | None
    missing: str = ""


def _timeloop(
    program: str, document: Document, search: str, seconds: float, factors: str
) -> Search:
    options = {
        "algorithm": search,
        "optimization-metrics": ["edp"],
        "num-threads": 1,
        "timeout": UNLIMITED,
        "victory-condition": 0,
    }
    asked = _as_ruby(document) if factors == "imperfect" else document
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = json.dumps({**asked, "mapper": options})
        # Decimals are text here, to stay exact; Timeloop takes no quoted ones.
        (folder / "input.yaml").write_text(
            re.sub(r'"(-?[0-9]+\.[0-9]+)"', r"\1", text), encoding="utf-8"
        )
        began, started = time.perf_counter(), _children()
        code, said = _run(program, folder, seconds)
        cpu, wall = _children() - started, time.perf_counter() - began
        if "bad_alloc" in said:
            return Search(cpu, wall, None, "out of memory")
        if code != 0:
            raise SystemExit(f"{program}: " + "\n".join(said.splitlines()[-9:]))
        stats = folder / "timeloop-mapper.stats.txt"
        if not stats.exists() or not stats.stat().st_size:
            return Search(cpu, wall, None, "no mapping")
        counted = _counted(document, folder / "timeloop-mapper.map.yaml", factors)
        return Search(cpu, wall, (edp_of(stats.read_text(encoding="utf-8")), counted))


def _run(program: str, folder: Path, seconds: float) -> tuple[int, str]:
    """(exit code, what it said) of the program, interrupted after so many seconds: at the first
    interrupt it ends with what it has.
    """
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [program, "input.yaml"], cwd=folder, stdout=said, stderr=said, preexec_fn=_limit_memory
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
    return process.returncode, (folder / "said").read_text(encoding="utf-8")


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _children() -> float:
    """Seconds of processor time of all programs that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _counted(document: Document, mapping: Path, factors: str) -> float:
    """The edp of a mapping in our account.

    Raises: SystemExit if it is not legal, because then the two programs do not search the same
    space.
    """
    spec = spec_of(document, mapping)
    if factors == "imperfect":
        spec = _with_last_rounds(spec)
    verdict = sm.validate(spec)
    if not verdict.legal:
        raise SystemExit(
            "the mapping that timeloop-mapper found is"
            f" {verdict}\n{mapping.read_text(encoding='utf-8')}"
        )
    return float(sm.evaluate(spec).edp)


def _with_last_rounds(spec: sm.Spec) -> sm.Spec:
    """The same mapping with last rounds, which Timeloop's file leaves out: they follow from bounds.

    Raises: SystemExit if the mapping is not one of our mapspace.
    """
    problem, mapping = spec.need_problem(), spec.need_mapping()
    lasts = {
        dim: iter(
            last_rounds(size, tuple(each.bound for each in mapping.loops() if each.dim == dim))
        )
        for dim, size in problem.bounds.items()
    }

    def told(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return tuple(replace(each, last=next(lasts[each.dim])) for each in loops)

    levels = tuple(
        replace(level, temporal=told(level.temporal), spatial=told(level.spatial))
        for level in mapping.levels
    )
    whole = replace(mapping, levels=levels)
    space = ImperfectMapspace(spec.need_architecture(), problem, spec.constraints)
    if not space.contains(whole):
        raise SystemExit(f"the mapping that timeloop-mapper found is not in our mapspace:\n{whole}")
    return replace(spec, mapping=whole)


def edp_of(stats: str) -> float:
    """pJ x cycles, of the summary that Timeloop writes: cycles, computes, and fJ for each compute,
    its most precise figure.
    """
    cycles, computes, energy = (
        float(re.findall(rf"^\s*{name}\s*[:=]\s*([0-9.e+]+)$", stats, re.MULTILINE)[-1])
        for name in ("Cycles", "Computes", "Total")
    )
    return cycles * computes * energy / 1000
