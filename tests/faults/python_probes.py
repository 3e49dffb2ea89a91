"""The Python face: values that are none, copies and pickles, threads, processes, manners."""

from __future__ import annotations

import asyncio
import copy
import multiprocessing
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm
from tests.faults import inputs
from tests.faults.registry import probe

ROOT = Path(__file__).parents[2]


def spec() -> sm.Spec:
    found = sm.load("three_level", "tiny/mm8")
    assert isinstance(found, sm.Spec)
    return found


def tree() -> sm.TreeSpec:
    found = sm.load(yaml_with_tags(inputs.tree(2, 4)))
    assert isinstance(found, sm.TreeSpec)
    return found


def yaml_with_tags(text: str) -> Any:
    import io

    return io.StringIO(text)


NOT_SOURCES: dict[str, Any] = {
    "None": None,
    "a number": 3,
    "a list": ["three_level"],
    "a set": {"three_level"},
    "bytes": b"problem: {}",
    "a class": int,
    "an empty string": "",
    "a NUL in a name": "a\0b",
    "a cyclic dict": None,
    "a deep dict": None,
    "a dict of objects": {"problem": object()},
    "a dict with keys that are no text": {"problem": {1: {None: 2}}},
    "infinity": {"problem": {"instance": {"M": float("inf")}}},
}
NOT_SOURCES["a cyclic dict"] = (cyclic := {"problem": {}})
cyclic["problem"]["x"] = cyclic
deep: dict[str, Any] = {}
for _ in range(3000):
    deep = {"problem": deep}
NOT_SOURCES["a deep dict"] = deep

for name, value in NOT_SOURCES.items():

    def _load(folder: Path, value: Any = value) -> None:
        with pytest.raises(sm.InputError):
            sm.load(value)

    probe(f"load: {name}")(_load)

NOT_SPECS: dict[str, Callable[[], Any]] = {
    "solve(None)": lambda: sm.solve(None),  # type: ignore[call-overload]
    "evaluate(None)": lambda: sm.evaluate(None),  # type: ignore[call-overload]
    "validate(None)": lambda: sm.validate(None),  # type: ignore[arg-type]
    "explain(None)": lambda: sm.explain(None),  # type: ignore[arg-type]
    "pareto(None)": lambda: sm.pareto(None),  # type: ignore[arg-type]
    "space(None)": lambda: sm.space(None),  # type: ignore[arg-type]
    "bound(None)": lambda: sm.bound(None),  # type: ignore[arg-type]
    "fuse(None)": lambda: sm.fuse(None),  # type: ignore[arg-type]
    "convert(None)": lambda: sm.convert(None, "looptree"),  # type: ignore[arg-type]
    "suggest(None)": lambda: sm.suggest(None),  # type: ignore[arg-type]
    "tile(None)": lambda: sm.tile(None),  # type: ignore[arg-type]
    "tile({})": lambda: sm.tile({}),
    "enumerate(None)": lambda: sm.enumerate(None),  # type: ignore[arg-type]
    "sweep(None)": lambda: sm.sweep(None),  # type: ignore[arg-type]
    "solve_network(None)": lambda: sm.solve_network(None, "tiny"),  # type: ignore[arg-type]
    "solve_network of nothing": lambda: sm.solve_network("three_level", None),  # type: ignore[arg-type]
    "import_model(None)": lambda: sm.import_model(None),  # type: ignore[arg-type]
    "check_certificate of nothing": lambda: sm.check_certificate(spec(), "/nowhere"),
    "an empty objective": lambda: sm.solve(spec(), ""),
    "no objectives": lambda: sm.solve(spec(), []),
    "objective None": lambda: sm.solve(spec(), None),  # type: ignore[call-overload]
    "objective 3": lambda: sm.solve(spec(), 3),  # type: ignore[call-overload]
    "seed -1": lambda: sm.solve(spec(), seed=-1),
    "seed 2^31": lambda: sm.solve(spec(), seed=2**31),
    "seed 1.5": lambda: sm.solve(spec(), seed=1.5),  # type: ignore[call-overload]
    "seed None": lambda: sm.solve(spec(), seed=None),  # type: ignore[call-overload]
    "workers 0": lambda: sm.solve(spec(), workers=0),
    "workers 10^9": lambda: sm.solve(spec(), workers=10**9),
    "workers 1.5": lambda: sm.solve(spec(), workers=1.5),  # type: ignore[call-overload]
    "gap -1": lambda: sm.solve(spec(), gap=-1.0),
    "gap NaN": lambda: sm.solve(spec(), gap=float("nan")),
    "gap 'x'": lambda: sm.solve(spec(), gap="x"),  # type: ignore[call-overload]
    "time limit -1": lambda: sm.solve(spec(), time_limit=-1),
    "time limit NaN": lambda: sm.solve(spec(), time_limit=float("nan")),
    "time limit 'x'": lambda: sm.solve(spec(), time_limit="x"),  # type: ignore[call-overload]
    "metrics of nothing": lambda: sm.pareto(spec(), []),
    "metrics None": lambda: sm.pareto(spec(), None),  # type: ignore[arg-type]
    "a mapping of another kind": lambda: sm.evaluate(spec(), "map.yaml"),  # type: ignore[call-overload]
    "convert to None": lambda: sm.convert(spec(), None),  # type: ignore[arg-type]
    "template None": lambda: sm.fuse(tree(), None),  # type: ignore[arg-type]
    "enumerate, limit -1": lambda: list(sm.enumerate(spec(), -1)),
    "constraints 3": lambda: sm.validate(spec(), constraints=3),  # type: ignore[arg-type]
}
for name, call in NOT_SPECS.items():

    def _call(folder: Path, call: Callable[[], Any] = call) -> None:
        with pytest.raises(sm.InputError):
            call()

    probe(f"Python: {name}")(_call)


def operator() -> dict[str, Any]:
    import json

    vectors = json.loads((ROOT / "tests/data/smaug/vectors.json").read_text(encoding="utf-8"))
    vector: dict[str, Any] = vectors[0]
    vector.pop("expected")
    return vector


def infeasible() -> sm.Spec:
    texts = (inputs.levels([1]), inputs.gemm(4, 4, 4))
    everything = {"target": "L1", "type": "bypass", "keep": ["A", "B", "Z"]}
    found = sm.load(*(yaml_with_tags(text) for text in texts), {"mapspace": [everything]})
    assert isinstance(found, sm.Spec)
    return found


def mapped() -> sm.Spec:
    from dataclasses import replace

    own = spec()
    mapping = sm.solve(own).mapping
    return replace(own, mapping=mapping)


def illegal() -> sm.Verdict:
    own = spec()
    first = next(iter(sm.enumerate(own, 1)))
    return sm.validate(own, first)


def error_of(call: Callable[[], Any]) -> sm.SolverMapperError:
    try:
        call()
    except sm.SolverMapperError as error:
        return error
    raise AssertionError("no error was raised")


RESULTS: dict[str, Callable[[], Any]] = {
    "Spec": spec,
    "TreeSpec": tree,
    "Solution": lambda: sm.solve(spec()),
    "infeasible Solution": lambda: sm.solve(infeasible()),
    "Statistics": lambda: sm.solve(spec()).evaluation,
    "Mapping": lambda: sm.solve(spec()).mapping,
    "Verdict": illegal,
    "Reason": lambda: sm.explain(infeasible()),
    "Front": lambda: sm.pareto(spec()),
    "MapspaceSize": lambda: sm.space(spec()),
    "Suggestion": lambda: sm.suggest(mapped()),
    "Curve": lambda: sm.bound(spec()),
    "fused Curve": lambda: sm.fuse(tree()),
    "fused Curve, v2": lambda: sm.fuse(tree(), "v2"),
    "TreeSolution": lambda: sm.solve(tree()),
    "TreeMapping": lambda: sm.solve(tree()).mapping,
    "TreeStatistics": lambda: sm.solve(tree()).evaluation,
    "Conversion": lambda: sm.convert(mapped(), "looptree"),
    "Tiling": lambda: sm.tile(operator()),
    "Tiling, traffic": lambda: sm.tile(operator(), objective="traffic"),
    "NetworkResult": lambda: sm.solve_network("three_level", "tiny", time_limit=20),
    "InputError": lambda: error_of(lambda: sm.load({"problem": 1})),
    "InputError with more": lambda: sm.InputError("one", more=(sm.InputError("two", hint="h"),)),
    "InfeasibleError": lambda: sm.InfeasibleError("none"),
    "LimitReached": lambda: sm.LimitReached("late"),
    "ExactnessError": lambda: sm.ExactnessError("differs"),
    "ConstraintSet": lambda: sm.ConstraintSet(()),
    "FusionOptions": lambda: sm.FusionOptions(),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def _same(name: str, made: Callable[[], Any]) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        value = made()
        for way, copied in WAYS.items():
            other = copied(value)
            assert other == value, way
            assert str(other) == str(value), way
            if hasattr(value, "to_dict"):
                assert other.to_dict() == value.to_dict(), way

    return work


for name, made in RESULTS.items():
    probe(f"copies: {name}", slow=name == "NetworkResult")(_same(name, made))


def _unchanged(folder: Path) -> None:
    """Neither importing nor solving changes settings of the process."""
    code = (
        "import logging, signal, sys, locale, threading\n"
        "before = ([signal.getsignal(n) for n in (1, 2, 13, 14, 15)], logging.root.handlers[:],"
        " logging.root.level, sys.getrecursionlimit(),"
        " sys.get_int_max_str_digits(), locale.setlocale(locale.LC_ALL))\n"
        "import solver_mapper as sm\n"
        "sm.solve(sm.load('three_level', 'tiny/mm8'))\n"
        "try: sm.load({'problem': 1})\n"
        "except sm.InputError: pass\n"
        "after = ([signal.getsignal(n) for n in (1, 2, 13, 14, 15)], logging.root.handlers[:],"
        " logging.root.level, sys.getrecursionlimit(),"
        " sys.get_int_max_str_digits(), locale.setlocale(locale.LC_ALL))\n"
        "assert before == after, (before, after)\n"
        "assert threading.active_count() == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"" and done.stderr == b"", (done.stdout, done.stderr)


probe("manners: settings of the process")(_unchanged)


def values(count: int) -> Iterator[sm.Spec]:
    for _ in range(count):
        yield spec()


def _value(of: sm.Spec) -> Any:
    return sm.solve(of).value


def _threads(folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(_value, values(6)))) == 1


probe("manners: threads")(_threads)


def _asynchronous(folder: Path) -> None:
    async def both() -> list[Any]:
        return await asyncio.gather(*(asyncio.to_thread(_value, each) for each in values(3)))

    assert len(set(asyncio.run(both()))) == 1


probe("manners: asyncio")(_asynchronous)


def _spawned(folder: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(_value, spec()).result() == _value(spec())


probe("manners: spawn", slow=True)(_spawned)


def _limit_in_a_thread(folder: Path) -> None:
    """A limit holds outside the main thread, where no signal handler can run."""
    six = sm.load(
        *(
            yaml_with_tags(text)
            for text in (inputs.levels([65536, 16384, 4096, 512, 64]), inputs.convolution())
        )
    )
    found: list[Any] = []

    def work() -> None:
        import time

        started = time.thread_time()
        found.append(sm.solve(six, time_limit=1))
        found.append(time.thread_time() - started)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0].status in ("feasible", "unknown", "optimal")
    assert found[1] < 2.2, found[1]


probe("manners: a time limit in a thread", slow=True)(_limit_in_a_thread)


def _warnings(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sm.solve(spec())


probe("manners: no warnings")(_warnings)
