"""How long the curves of one GPT-3 6.7B block take: each layer's bound, then the fused curve of all
ten Einsums.

    python benchmarks/gpt3_block.py [--share-inputs]

Times are CPU seconds of one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import solver_mapper as sm
from solver_mapper.bounds.fusion import FusionOptions

BLOCK = Path(__file__).resolve().parent.parent / "examples" / "fusion" / "gpt3_6.7b_block.yaml"
BUFFERS = (2**10, 2**14, 2**18, 2**20, 2**22, 2**24, 2**26, 2**28)
"""Buffer sizes, in words, at which the fused curve is read."""


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return run(), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--share-inputs", action="store_true", help="inputs may stay on chip between their readers"
    )
    options = FusionOptions(share_inputs=parser.parse_args().share_inputs)
    spec, console = sm.load(BLOCK), Console()
    layers = Table(
        "Einsum", "least accesses", "smallest buffer that reaches them", "steps", "seconds"
    )
    for einsum in spec.need_workload().einsums:
        curve, seconds = timed(lambda name=einsum.name: sm.bound(spec, einsum=name))
        layers.add_row(
            einsum.name,
            f"{curve.least:,}",
            f"{curve.enough:,}",
            str(len(curve.points)),
            f"{seconds:.2f}",
        )
    console.print(layers)
    curve, seconds = timed(lambda: sm.fuse(spec, options=options))
    table = Table("buffer", "unfused", "whole tensors kept", "fused")
    for buffer in BUFFERS:
        beside = [
            min(moved for size, moved in curve.beside[name] if size <= buffer)
            for name in ("unfused", "untiled fusion")
        ]
        table.add_row(*(f"{figure:,}" for figure in (buffer, *beside, curve.accesses(buffer))))
    console.print(table)
    console.print(
        f"{len(curve.points)} steps in {seconds:.1f} s; least {curve.least:,} with"
        f" {curve.enough:,}. Proven: {curve.proof}"
    )


if __name__ == "__main__":
    main()
