"""Inputs without a legal mapping, by kind, as the text of files; repairs of that text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from solver_mapper.core.constraints import (
    FactorConstraint,
    KeepConstraint,
    MetricConstraint,
    NestingConstraint,
    PermutationConstraint,
    ProductConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.spec import Spec
from solver_mapper.explain.change import Change
from solver_mapper.explain.reason import Repair
from solver_mapper.mapspace.requirements import (
    Capacity,
    DimensionBound,
    FanoutRequirement,
    LeastFill,
)

ARCH = """\
arch:
  arithmetic: {{name: MAC, instances: {macs}, meshX: {across}, word-bits: 16}}
  storage:
  - {{name: RF, entries: {rf}, instances: {macs}, meshX: {across}, min-utilization: {fill}}}
  - {{name: GLB, entries: {glb}, instances: 1, meshX: 1, min-utilization: 0}}
  - {{name: DRAM, technology: DRAM, instances: 1}}
"""
CONV = """\
problem:
  shape:
    name: conv
    dimensions: [C, K, R, P]
    data-spaces:
    - {{name: W, projection: [[[C]], [[K]], [[R]]]}}
    - {{name: I, projection: [[[C]], [[P], [R]]]}}
    - {{name: O, projection: [[[K]], [[P]]], read-write: true}}
  instance: {{C: {C}, K: {K}, R: {R}, P: {P}}}
"""
NUMBERS = {
    "macs": 16,
    "across": 4,
    "rf": 32,
    "glb": 512,
    "fill": 0,
    "C": 4,
    "K": 8,
    "R": 3,
    "P": 16,
}


@dataclass(frozen=True)
class Case:
    """`lines` are constraints, one on each line of the constraint file; `numbers` replace those of
    the design.
    """

    kind: str
    lines: tuple[str, ...]
    numbers: dict[str, int | str] = field(default_factory=dict)

    def write(self, folder: Path) -> list[Path]:
        numbers = {**NUMBERS, **self.numbers}
        texts = {
            "arch": ARCH.format(**numbers),
            "problem": CONV.format(**numbers),
            "rules": (
                "architecture_constraints:\n" + "".join(f"- {{{line}}}\n" for line in self.lines)
            ),
        }
        for name, text in texts.items():
            (folder / f"{name}.yaml").write_text(text)
        return [folder / f"{name}.yaml" for name in texts]


def temporal(target: str, rest: str) -> str:
    return f"target: {target}, type: temporal, {rest}"


def spatial(target: str, rest: str) -> str:
    return f"target: {target}, type: spatial, {rest}"


def storage(target: str, rest: str) -> str:
    return f"target: {target}, type: bypass, {rest}"


def everywhere(
    dim: str, factor: str, levels: tuple[str, ...] = ("DRAM", "GLB", "RF")
) -> tuple[str, ...]:
    """The same factor of one dimension in every temporal and spatial nest of a design with one
    mesh.
    """
    return (
        *(temporal(level, f"factors: {dim}{factor}") for level in levels),
        spatial("GLB", f"factors: {dim}{factor}"),
    )


def cases() -> Iterator[Case]:
    for dim, size in (("C", 4), ("K", 8), ("P", 16)):
        yield Case(
            "capacity",
            (temporal("RF", f"factors: {dim}={size}"), storage("RF", "keep: [W, I, O]")),
            {"rf": size},
        )
    yield Case(
        "capacity",
        (temporal("GLB", "factors: C=0 P=0 R=0"), storage("GLB", "keep: [I]")),
        {"glb": 71},
    )
    yield Case(
        "capacity",
        (temporal("GLB", "factors: C>=4 P>=8"), storage("GLB", "keep: [I, O]")),
        {"glb": 30},
    )
    yield Case("kept but too large", (storage("RF", "keep: [W, I, O]"),), {"rf": 2})
    yield Case("kept but too large", (storage("RF", "keep: [W, I]"),), {"rf": 1})
    yield Case("kept but too large", (storage("GLB", "keep: [O]"),), {"glb": 0})
    yield Case(
        "kept but too large",
        (storage("GLB", "keep: [W, O]"), storage("RF", "keep: [I]")),
        {"glb": 1},
    )
    yield Case("kept but too large", ("target: RF, type: dataspace, keep_only: [W, O]",), {"rf": 1})
    for factors in ("K=8", "C=8", "P=16 C=2", "P>=5 K=1 C=1 R=1", "R=3 P=2 K=4 C=1"):
        yield Case("mesh", (spatial("GLB", f"factors: {factors}"),), {"macs": 4, "C": 8})
    yield Case("mesh", (spatial("DRAM", "factors: P=2"),))
    for one, other in (
        ("P=4", "P<=2"),
        ("P>=8", "P<8"),
        ("P=2", "P!=2"),
        ("K>4", "K<=4"),
        ("C=4", "C<4"),
    ):
        yield Case(
            "contradicting factors",
            (temporal("GLB", f"factors: {one}"), temporal("GLB", f"factors: {other}")),
        )
    for limit, bound in ((2, 64), (1, 5), (3, 32), (2, 27)):
        yield Case("product below the bound", everywhere("P", f"<={limit}"), {"P": bound})
    yield Case("product below the bound", everywhere("K", "=2"), {"K": 32})
    for first, second, bound in ((4, 8, 16), (3, 2, 8), (2, 2, 6), (7, 1, 16)):
        fixed = (temporal("GLB", f"factors: P={first}"), temporal("RF", f"factors: P={second}"))
        yield Case("product beyond the bound", fixed, {"P": bound})
    yield Case(
        "product beyond the bound",
        (temporal("RF", "factors: K>=4"), temporal("DRAM", "factors: K>=4")),
    )
    for dim in "RCKP":
        yield Case("missing dimension", everywhere(dim, "=1"))
    yield Case(
        "missing dimension",
        (
            *everywhere("R", "=1", ("DRAM", "GLB")),
            "target: RF, type: temporal, factors_only: [K=2, C=2]",
        ),
    )
    circle = tuple(temporal("GLB", f"permutation: {order}") for order in ("C*K", "K*P", "P*C"))
    for factors in ("C=2 K=2 P=2", "C=4 K>=2 P>1", "C!=1 K!=1 P!=1"):
        yield Case("permutation clash", (*circle, temporal("GLB", f"factors: {factors}")))
    yield Case(
        "permutation clash",
        (spatial("GLB", "permutation: CKRP, split: 1, factors: K=2"),),
        {"macs": 4},
    )
    yield Case(
        "permutation clash",
        (spatial("GLB", "permutation: P*K, factors: K=2 P=2"), spatial("GLB", "split: 1")),
        {"macs": 4},
    )
    for count, dims in ((0, "K=4 C=4"), (4, "K=4 C=4"), (0, "P=16"), (3, "R=3 C=2 K=2 P=2")):
        yield Case("split", (spatial("GLB", f"split: {count}, factors: {dims}"),))
    for tensor in "WIO":
        yield Case(
            "all bypassed",
            tuple(storage(level, f"bypass: [{tensor}]") for level in ("DRAM", "GLB", "RF")),
        )
    yield Case(
        "all bypassed",
        (
            storage("DRAM", "bypass: '*'"),
            storage("GLB", "bypass: '*'"),
            storage("RF", "bypass: [O]"),
        ),
    )
    for least, factors in (
        (1, "K<=2 C=1 P<=4"),
        (0.8, "P=1 K<=4 C<=2"),
        (0.8, "R=3"),
        (1, "P=1 K=1"),
    ):
        use = f"target: RF, type: utilization, min: {least}"
        yield Case("utilization of the array", (use, spatial("GLB", f"factors: {factors}")))
    yield Case(
        "utilization of the array",
        ("target: RF, type: parallelism, min: 0.9",),
        {"C": 3, "K": 3, "R": 3, "P": 9},
    )
    for fill, factors in ((1, "P=1 K=1 C=1"), (0.9, "P<=2 K=1 R=1"), (0.5, "C=1 K=1 R=1 P=2")):
        yield Case(
            "utilization of a buffer", (temporal("RF", f"factors: {factors}"),), {"fill": fill}
        )
    for residual in ("P=6,4", "P=10,6", "K=5,3"):
        yield Case("residual", (temporal("GLB", f"factors: '{residual}'"),))
    yield from _additions()


def _additions() -> Iterator[Case]:
    """Inputs in which limits on products, caps on figures or dataflows collide with something."""
    for number, line in enumerate(
        (
            "spatial: {product: 'C*K >= 32'}",
            "spatial: {product: 'C*K*P = 5'}",
            "target: GLB, temporal: {product: 'C*P >= 128'}",
        )
    ):
        yield Case("product over levels", (line,), {} if number else {"C": 8})
    yield Case(
        "product over levels",
        ("spatial: {product: 'C*K <= 2'}", spatial("GLB", "factors: C=2 K=4")),
    )
    nested = (
        "target: GLB, dataflow: weight-stationary",
        temporal("GLB", "permutation: C*P"),
        temporal("GLB", "factors: C=2 P=2"),
    )
    yield Case("dataflow", nested)
    yield Case(
        "dataflow",
        (
            "target: RF, dataflow: weight-stationary",
            "target: RF, dataflow: output-stationary",
            temporal("RF", "factors: C=2 P=2"),
        ),
    )
    yield Case("metric cap", ("metrics: {cycles: '<= 95'}",))
    yield Case("metric cap", ("metrics: {cycles: '< 96'}", spatial("GLB", "factors: K<=4")))
    yield Case(
        "metric cap",
        (
            "metrics: {cycles: 100}",
            spatial("GLB", "factors: K<=4"),
            spatial("GLB", "factors: C=1 R=1 P<=2"),
        ),
    )
    yield Case("metric cap", ("metrics: {energy_pj: '<= 200.5', cycles: '<= 96'}",))
    yield Case("metric cap", ("metrics: {cycles: '<= 90'}", "metrics: {energy_pj: '<= 200'}"))
    yield Case(
        "metric cap",
        ("metrics: {edp: '<= 1'}", temporal("RF", "factors: R=2")),
        {"C": 2, "K": 2, "P": 4},
    )
    yield Case(
        "metric cap",
        ("metrics: {last_level_accesses: '<= 30'}", temporal("GLB", "factors: P=1")),
        {"C": 2, "K": 4, "P": 4},
    )


def edited(text: str, repair: Repair, spec: Spec) -> dict[str, str]:
    """`text` by file name with `repair` made in it; `spec` is what the files say before."""
    files = dict(spec_files(text))
    for change, entry in zip(repair.changes, repair.entries, strict=True):
        name = Path(entry.location.file).name
        lines = files[name].split("\n")
        row, column = entry.location.line, entry.location.column
        assert row is not None and column is not None
        lines[row - 1] = _edit(lines[row - 1], column - 1, change)
        files[name] = "\n".join(lines)
    if any(isinstance(change.requirement, FanoutRequirement) for change in repair.changes):
        files["arch.yaml"] = _with_meshes(files["arch.yaml"], repair.apply(spec))
    return files


def spec_files(text: str) -> Iterator[tuple[str, str]]:
    """The parts of texts joined by `joined`."""
    for part in text.split("\f"):
        name, _, content = part.partition("\n")
        yield name, content


def joined(files: list[Path]) -> str:
    return "\f".join(f"{file.name}\n{file.read_text()}" for file in files)


def _edit(line: str, at: int, change: Change) -> str:
    """The line with what stands at column `at` changed."""
    ask, head, tail = change.requirement, line[:at], line[at:]
    if isinstance(ask, FactorConstraint):
        if tail.startswith("["):
            return f"{head}[{ask.dim}={change.to}, {tail[1:]}"
        number = "" if change.to is None else rf"\g<1>{change.to}"
        return head + re.sub(r"^(\w+?(?:[<>!]?=|[<>])?)\d+(,\d+)?", number, tail)
    if isinstance(ask, KeepConstraint):
        if "_only" in line:
            return re.sub(rf"\b{ask.tensor}, |, {ask.tensor}\b|\b{ask.tensor}\b(?=\])", "", line)
        others = ", ".join(name for name in "WIO" if name != ask.tensor)
        return head + (
            tail.replace("'*'", f"[{others}]")
            if tail.startswith("'*'")
            else re.sub(rf"^{ask.tensor}(, )?", "", tail)
        )
    if isinstance(ask, MetricConstraint):
        return head + re.sub(r"^('?<?=? ?)[\d.]+", rf"\g<1>{float(change.to)}", tail).replace(
            "'< ", "'<= ", 1
        )  # type: ignore[arg-type]
    if isinstance(ask, ProductConstraint):
        return head + re.sub(r"^([^\d}]+)\d+", rf"\g<1>{change.to}", tail)
    if isinstance(ask, NestingConstraint):
        return re.sub(
            r"target: \w+, dataflow: [\w-]+", rf"{re.split(',', line[3:])[0]}, type: temporal", line
        )
    if isinstance(ask, PermutationConstraint):
        return head + re.sub(r"^[^,}]+", "''", tail)
    if isinstance(ask, LeastFill):
        return re.sub(r"(min-utilization: )[\d.]+", rf"\g<1>{float(change.to or 0)}", line)  # type: ignore[arg-type]
    if isinstance(ask, SplitConstraint | UtilizationConstraint | Capacity | DimensionBound):
        to = change.to if isinstance(change.to, int) else float(change.to)  # type: ignore[arg-type]
        return head + re.sub(r"^[\d.]+", str(to), tail)
    return line


def _with_meshes(text: str, spec: Spec) -> str:
    architecture = spec.need_architecture()
    for part in (*architecture.levels, architecture.arithmetic):
        text = re.sub(
            rf"(name: {part.name},.*?instances: )\d+(, meshX: )\d+",
            rf"\g<1>{part.instances}\g<2>{part.mesh_x}",
            text,
        )
    return text
