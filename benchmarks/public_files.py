#!/usr/bin/env python3
"""What becomes of each file that Timeloop and its exercises publish, as it is.

    python benchmarks/public_files.py [--exercises FOLDER] [--timeloop FOLDER] [--group PART]...
        [--limit SECONDS] [--every N] [--json FILE]

The folders are clones of github.com/Accelergy-Project/timeloop-accelergy-exercises and
github.com/NVlabs/timeloop. A case is a list of files and of values for templates. Where it makes a
whole input, its mapping is evaluated, or the best one for edp is searched within `--limit` seconds
of processor time; of the many layers each `--every`th is. A case ends as `optimal`, `feasible`
(with its gap), `infeasible`, `unknown`, `evaluated`, `part` (it loads, and needs other files) or
`refused` (with the first line of the message); any other exception is a `crash`, and the exit code
is then 1.

The group `references` compares figures with the outputs of Timeloop that the exercises contain.
With `--json` a run continues where it ended. `accelforge_examples.py` does the same for AccelForge.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from processor_time import processor_limit

import solver_mapper as sm
from solver_mapper.report.timeloop_stats import timeloop_stats

DENSE = ("eyeriss_like", "simba_like", "simple_output_stationary", "simple_weight_stationary")
ROW = re.compile(r"^ {8}(\S[^:]*?)\s*: (.*)$")
COUNTS = (
    "Scalar reads (per-instance)",
    "Scalar fills (per-instance)",
    "Scalar updates (per-instance)",
    "Temporal reductions (per-instance)",
    "Utilized instances (max)",
    "Energy (total)",
)


@dataclass(frozen=True)
class Case:
    """Files to read together. `reference` is a stats.txt to compare the mapping's figures with."""

    group: str
    name: str
    sources: tuple[Path, ...]
    variables: dict[str, str] = field(default_factory=dict)
    ignore_sparse: bool = False
    reference: Path | None = None
    search: bool = True


@dataclass(frozen=True)
class Outcome:
    """`seconds` of processor time."""

    group: str
    name: str
    status: str
    told: str
    seconds: float


def of_exercises(folder: Path, every: int) -> Iterator[Case]:
    """All cases of the exercises."""
    workspace = folder / "workspace"
    examples = workspace / "example_designs"
    top = examples / "example_designs" / "top.yaml.jinja2"
    shapes = examples / "layer_shapes"
    for path in _files(workspace):
        if shapes not in path.parents and path != top:
            yield Case("files by themselves", _short(path, workspace), (path,))
    layers = [path for path in sorted(shapes.rglob("*.yaml")) if path.parent != shapes]
    for path in layers:
        yield Case("layers by themselves", _short(path, shapes), (path,), search=False)
    for number, path in enumerate(layers):
        for design in ("simba_like", "simple_weight_stationary"):
            given = {"architecture": design, "problem": str(path)}
            name = f"{_short(path, shapes)} on {design}"
            if number % every == 0:
                yield Case("layers on designs", name, (top,), given)
    for path in sorted((examples / "example_designs").rglob("arch.yaml")):
        design = str(path.parent.relative_to(top.parent))
        for sparse in (False, True):
            if not (sparse and design in DENSE):
                name = design + (", --ignore-sparse" if sparse else "")
                given = {"architecture": design}
                yield Case("designs", name, (top,), given, ignore_sparse=sparse)
    tutorials = workspace / "tutorial_exercises"
    interface = tutorials / "02_interface_and_design_space_exploration_2024" / "top.yaml.jinja"
    yield Case("tutorials", "02 top.yaml.jinja", (interface,))
    ispass = tutorials / "01_accelergy_timeloop_2020_ispass" / "timeloop"
    for hardware in sorted(ispass.glob("*/arch")):
        yield from _exercise(hardware.parent)


def _exercise(folder: Path) -> Iterator[Case]:
    """One exercise of tutorial 01: with each mapping, or each set of constraints."""
    hardware = tuple(sorted(folder.glob("arch/**/*.yaml")))
    problem = tuple(sorted(folder.glob("prob/*.yaml")))
    tables = tuple(sorted(folder.glob("ref-output/**/*.ERT.yaml")))[:1]
    for extra in sorted((*folder.glob("map/*.yaml"), *folder.glob("constraints/*.yaml"))):
        files = (*hardware, *problem, *tables, extra)
        yield Case("tutorials", f"01 {folder.name} {extra.stem}", files)
    if not list(folder.glob("map/*.yaml")) and not list(folder.glob("constraints/*.yaml")):
        yield Case("tutorials", f"01 {folder.name}", (*hardware, *problem, *tables))


def of_references(folder: Path) -> Iterator[Case]:
    """Each stats.txt of the exercises with the input that Accelergy and Timeloop recorded beside
    it, and its mapping.
    """
    workspace = folder / "workspace"
    for stats in sorted(workspace.rglob("*stats.txt")):
        beside = stats.parent
        parsed = sorted(beside.glob("*parsed-processed-input.yaml"))
        mappings = sorted((*beside.glob("*map.yaml"), *beside.glob("*map+stats.yaml")))
        name = _short(beside, workspace)
        if parsed:
            files = (parsed[0], *sorted(beside.glob("*.ERT.yaml"))[:1], *mappings[:1])
            yield Case("references", name, files, ignore_sparse=True, reference=stats)


def of_timeloop(folder: Path) -> Iterator[Case]:
    """Timeloop's own configurations, problem shapes and tests."""
    for path in _files(folder):
        yield Case("Timeloop's files", _short(path, folder), (path,))
    single = folder / "orojenesis" / "configs" / "single-einsum"
    for mapper in sorted(single.glob("*mapper.yaml")):
        files = (single / "arch.yaml", mapper)
        yield Case("Timeloop's files", f"{_short(mapper, folder)} with arch.yaml", files)


def _files(folder: Path) -> list[Path]:
    suffixes = ("*.yaml", "*.yml", "*.jinja", "*.jinja2", "*.j2", "*.cfg")
    return sorted(path for suffix in suffixes for path in folder.rglob(suffix))


def _short(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder))


def outcome(case: Case, limit: float) -> Outcome:
    """Load one case, and evaluate or solve what it makes."""
    started = time.process_time()

    def ended(status: str, told: str = "") -> Outcome:
        seconds = round(time.process_time() - started, 2)
        return Outcome(case.group, case.name, status, told, seconds)

    try:
        spec = sm.load(*case.sources, variables=case.variables, ignore_sparse=case.ignore_sparse)
        if not isinstance(spec, sm.Spec):
            return ended("part", "LoopTree")
        if spec.architecture is None or spec.problem is None:
            return ended("part")
        if spec.mapping is not None:
            statistics = sm.evaluate(spec)
            if case.reference is None:
                return ended("evaluated", f"{float(statistics.energy_pj):.6g} pJ")
            return ended(*compared(timeloop_stats(statistics), case.reference.read_text()))
        if not case.search:
            return ended("loads")
        clock = processor_limit(limit)
        found = sm.solve(spec, "edp", workers=1, clock=clock)
    except sm.SolverMapperError as error:
        return ended("refused", str(error).splitlines()[0])
    except Exception:
        return ended("crash", traceback.format_exc())
    told = "" if found.value is None else f"{float(found.value):.6g}"
    gap = f", gap {found.gap:.2%}" if found.status == "feasible" and found.gap else ""
    return ended(found.status, told + gap)


def compared(ours: str, theirs: str) -> tuple[str, str]:
    """ "equal" if all counts and energies of tensors in two stats.txt agree, else what differs."""
    found, expected = rows(ours), rows(theirs)
    shared = found.keys() & expected.keys()
    wrong = [
        f"{' '.join(key)}: {found[key]}, not {expected[key]}"
        for key in sorted(shared)
        if found[key] != expected[key]
    ]
    missing = sorted(expected.keys() - found.keys())
    told = f"{len(shared)} figures"
    if missing:
        told += f"; {len(missing)} of levels or tensors that are not here, such as {missing[0]}"
    if wrong:
        told += f"; {len(wrong)} differ: {wrong[0]}"
    return ("equal" if not wrong and not missing else "differs"), told


def rows(text: str) -> dict[tuple[str, str, str], str]:
    """Figures of a stats.txt by level, tensor and name."""
    level, tensor, found = "", "", {}
    for line in text.split("\nNetworks\n")[0].splitlines():
        heading = re.match(r"=== (.*) ===", line)
        name = re.match(r"^ {4}(\w+):$", line)
        row = ROW.match(line)
        if heading:
            level, tensor = heading.group(1), ""
        elif name:
            tensor = name.group(1)
        elif row and tensor and row.group(1) in COUNTS:
            found[level, tensor, row.group(1)] = row.group(2).strip()
    return found


def main() -> int:
    """Run all cases and print their counts by group."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--exercises", type=Path)
    parser.add_argument("--timeloop", type=Path)
    parser.add_argument("--group", action="append", help="parts of names of groups")
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--every", type=int, default=27)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    cases: list[Case] = []
    if given.exercises is not None:
        cases += [*of_exercises(given.exercises, given.every), *of_references(given.exercises)]
    if given.timeloop is not None:
        cases += of_timeloop(given.timeloop)
    known: dict[str, dict[str, object]] = {}
    if given.json is not None and given.json.exists():
        known = json.loads(given.json.read_text(encoding="utf-8"))
    results = []
    for case in cases:
        if given.group and not any(part in case.group for part in given.group):
            continue
        key = f"{case.group}: {case.name}"
        if key not in known:
            known[key] = asdict(outcome(case, given.limit))
            if given.json is not None:
                given.json.write_text(json.dumps(known, indent=1), encoding="utf-8")
        result = Outcome(**known[key])  # type: ignore[arg-type]
        results.append(result)
        if result.group not in ("layers by themselves", "files by themselves"):
            print(f"{key}: {result.status} {result.told} ({result.seconds:.1f} s)", flush=True)
    for group in dict.fromkeys(result.group for result in results):
        found = Counter(result.status for result in results if result.group == group)
        told = ", ".join(f"{count} {status}" for status, count in found.most_common())
        print(f"{group}: {sum(found.values())} tried: {told}")
    return int(any(result.status == "crash" for result in results))


if __name__ == "__main__":
    sys.exit(main())
