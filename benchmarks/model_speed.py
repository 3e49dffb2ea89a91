#!/usr/bin/env python3
"""How many mappings a second the cost model evaluates: one by one, and in batches.

usage: model_speed.py [--mappings N] [--batch N] [--timeloop CASE.yaml]

The problem is a ResNet convolution with seven dimensions (N=4, K=C=64, P=Q=56, R=S=3) on four
storage levels above a 14 x 12 array. Each mapping is drawn at random (factors, orders, bypass), so
that nothing can be remembered from one to the next. If `timeloop-model` is on the PATH, it is timed
on the same machine with the file given by `--timeloop`. Our own times are seconds of processor time
of this one process, so that a busy machine distorts them little.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from batch_model import BatchEvaluator

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.problem import Problem, Tensor, Term
from solver_mapper.cost.timeloop import Evaluator

BOUNDS = {"N": 4, "K": 64, "C": 64, "P": 56, "Q": 56, "R": 3, "S": 3}


def problem() -> Problem:
    def ranks(*names: str) -> tuple[tuple[Term, ...], ...]:
        return tuple(tuple(Term(dim) for dim in name) for name in names)

    tensors = (
        Tensor("Weights", ranks("K", "C", "R", "S")),
        Tensor("Inputs", ranks("N", "C", "PR", "QS")),
        Tensor("Outputs", ranks("N", "K", "P", "Q"), read_write=True),
    )
    return Problem("conv", tuple(BOUNDS), BOUNDS, tensors)


def architecture() -> Architecture:
    def price(read: str, write: str) -> AccessEnergy:
        return AccessEnergy(Fraction(read), Fraction(write), Fraction(write))

    levels = (
        Buffer("DRAM", energy=price("139.043", "115.365"), reduction_supported=False),
        Buffer(
            "GLB",
            1 << 16,
            energy=price("21.339", "20.524"),
            block_size=4,
            read_bandwidth=Fraction(8),
        ),
        Buffer("RF", 1 << 9, 168, 14, 12, energy=price("1.5", "1.25")),
        Buffer("REG", 1 << 4, 168, 14, 12, energy=price("0.2", "0.3")),
    )
    return Architecture(
        "eyeriss-like", levels, Arithmetic("MAC", 168, 14, 12, energy=Fraction("1.85"))
    )


def template(rng: random.Random, levels: tuple[Buffer, ...]) -> Mapping:
    """Random orders and bypass; every dimension at every level, and below the second level along X
    or Y.
    """
    tensors = frozenset({"Weights", "Inputs", "Outputs"})
    plans = []
    for index, level in enumerate(levels):
        dims = rng.sample(list(BOUNDS), len(BOUNDS))
        keep = (
            tensors
            if index == 0
            else frozenset(each for each in sorted(tensors) if rng.random() < 0.8)
        )
        spatial = (
            tuple(Loop(dim, 1, 1, "Y" if at < 3 else "X") for at, dim in enumerate(dims))
            if index == 1
            else ()
        )
        temporal = tuple(Loop(dim, 1, 1) for dim in rng.sample(dims, len(dims)))
        plans.append(LevelMapping(level.name, temporal, spatial, keep))
    return Mapping(tuple(plans))


def factor_rows(rng: np.random.Generator, plan: Mapping, count: int) -> np.ndarray:
    """Each prime factor of each dimension at a random loop over it."""
    slots = list(plan.loops())
    rows = np.ones((count, len(slots)), dtype=np.int64)
    for dim, bound in BOUNDS.items():
        places = [place for place, loop in enumerate(slots) if loop.dim == dim]
        for prime in (2, 3, 5, 7):
            while bound % prime == 0:
                rows[np.arange(count), rng.choice(places, size=count)] *= prime
                bound //= prime
    return rows


def with_factors(plan: Mapping, row: np.ndarray) -> Mapping:
    bounds = iter(int(factor) for factor in row)

    def filled(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        drawn = [(loop, next(bounds)) for loop in loops]
        return tuple(Loop(loop.dim, bound, bound, loop.axis) for loop, bound in drawn if bound > 1)

    return Mapping(
        tuple(
            replace(each, temporal=filled(each.temporal), spatial=filled(each.spatial))
            for each in plan.levels
        )
    )


def fits_array(mapping: Mapping) -> bool:
    used = {"X": 1, "Y": 1}
    for loop in mapping.levels[1].spatial:
        used[loop.axis] *= loop.bound
    return used["X"] <= 14 and used["Y"] <= 12


def single(count: int) -> float:
    """Mappings a second, one call each, the fastest of three rounds."""
    machine, work = architecture(), problem()
    evaluator = Evaluator(machine, work)
    rng, numbers = random.Random(1), np.random.default_rng(1)
    mappings: list[Mapping] = []
    while len(mappings) < count:
        plan = template(rng, machine.levels)
        mappings += [
            each
            for row in factor_rows(numbers, plan, 50)
            if fits_array(each := with_factors(plan, row))
        ]
    return count / min(
        _seconds(lambda: [evaluator.evaluate(each) for each in mappings[:count]]) for _ in range(3)
    )


def batched(count: int) -> float:
    """Mappings a second in one call, the fastest of three rounds."""
    plan = template(random.Random(1), architecture().levels)
    rows = factor_rows(np.random.default_rng(1), plan, count)
    evaluator = BatchEvaluator(architecture(), problem(), plan)
    return count / min(_seconds(lambda: evaluator.evaluate(rows)) for _ in range(3))


def timeloop(case: Path) -> float:
    """Evaluations a second of `timeloop-model`, a process each."""
    with tempfile.TemporaryDirectory() as place:
        command = ["timeloop-model", str(case.resolve())]
        started = time.perf_counter()
        subprocess.run(command, cwd=place, check=True, capture_output=True)
        return 1 / (time.perf_counter() - started)


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mappings", type=int, default=500, help="mappings evaluated one by one")
    parser.add_argument("--batch", type=int, default=500_000, help="mappings evaluated in a batch")
    parser.add_argument("--timeloop", type=Path, help="a Timeloop case to time timeloop-model with")
    options = parser.parse_args()
    print(f"one by one   {single(options.mappings):12,.0f} mappings/s")
    print(f"in a batch   {batched(options.batch):12,.0f} mappings/s")
    if options.timeloop is None or shutil.which("timeloop-model") is None:
        print("timeloop-model: not timed (needs --timeloop CASE.yaml and the program on the PATH)")
    else:
        print(f"timeloop-model {timeloop(options.timeloop):10,.1f} mappings/s")


if __name__ == "__main__":
    main()
