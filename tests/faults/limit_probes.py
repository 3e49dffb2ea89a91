"""Time and memory limits, and signals, in every command and phase."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults import inputs
from tests.faults.command import Outcome, run
from tests.faults.registry import Run, clean, commands, ends_with, probe, within, write

LARGE = {
    "six.yaml": inputs.levels([65536, 16384, 4096, 512, 64]),
    "twelve.yaml": inputs.levels([2**size for size in range(20, 9, -1)]),
    "three.yaml": inputs.levels([65536, 256]),
    "meshed.yaml": inputs.levels([65536, 256], mesh=(14, 12)),
    "infeasible.yaml": inputs.levels([65536, 16384, 4096, 512, 2])
    + "mapspace_constraints:\n- {target: L5, type: bypass, keep: [W, I, O], bypass: []}\n",
    "convolution.yaml": inputs.convolution(),
    "gemm.yaml": inputs.gemm(4320, 2520, 5040),
    "contraction.yaml": inputs.contraction(12),
    "chain.yaml": inputs.tree(30),
    "branches.yaml": inputs.tree(12, 5040),
    "network.yaml": inputs.tree(300),
    "wide.yaml": inputs.contraction(9, 5040),
    "sweep.yaml": (
        "sweep: {architecture: [six.yaml], workloads: [resnet50], objective: edp,"
        " parameters: {L1.entries: [65536, 32768, 16384]}}\n"
    ),
    "operator.yaml": (
        "operator: {kind: convolution, input_shape: [1, 224, 224, 512], weight_shape:"
        " [2048, 3, 3, 512], stride: [1, 1], padding: same}\n"
    ),
}

LIMITED: dict[str, Sequence[str]] = {
    "solve, 6 levels": ("solve", "six.yaml", "convolution.yaml"),
    "solve, 6 levels, energy": ("solve", "six.yaml", "convolution.yaml", "--objective", "energy"),
    "solve, 12 levels": ("solve", "twelve.yaml", "convolution.yaml"),
    "solve, 12 dimensions": ("solve", "three.yaml", "contraction.yaml"),
    "solve, 12 levels and dimensions": ("solve", "twelve.yaml", "contraction.yaml"),
    "solve, mesh": ("solve", "meshed.yaml", "convolution.yaml"),
    "solve --verify": ("solve", "six.yaml", "gemm.yaml", "--verify"),
    "solve --certificate": ("solve", "six.yaml", "gemm.yaml", "--certificate", "c.json"),
    "solve, 30 Einsums": ("solve", "chain.yaml"),
    "solve, 300 Einsums": ("solve", "network.yaml", "--max-fused-loops", "1"),
    "solve, 12 large Einsums": ("solve", "branches.yaml"),
    "solve, network": ("solve", "six.yaml", "resnet50"),
    "pareto": ("pareto", "six.yaml", "convolution.yaml"),
    "space": ("space", "six.yaml", "convolution.yaml"),
    "space, 30 Einsums": ("space", "chain.yaml"),
    "space, 12 Einsums of many tiles": ("space", "branches.yaml"),
    "space, 12 levels": ("space", "twelve.yaml", "contraction.yaml"),
    "explain": ("explain", "infeasible.yaml", "convolution.yaml"),
    "fuse": ("fuse", "chain.yaml"),
    "fuse, large": ("fuse", "branches.yaml", "--uneven-fusion"),
    "fuse, v2": ("fuse", "branches.yaml", "--template", "v2"),
    "bound": ("bound", "wide.yaml"),
    "bound, shifts": ("bound", "convolution.yaml", "--regular-shifts", "--bypass"),
    "sweep": ("sweep", "sweep.yaml"),
    "tile, network": ("tile", "resnet50"),
}
ANSWERS = {
    words[0]: codes
    for words, codes in (
        (("solve",), (0, 3)),
        (("pareto",), (0, 3)),
        (("space",), (0, 3)),
        (("explain",), (1, 3)),
        (("fuse",), (0, 3)),
        (("bound",), (0, 3)),
        (("sweep",), (0, 3)),
        (("tile",), (0, 3)),
    )
}

for seconds in (0, 1, 5):
    commands(
        f"--time-limit {seconds}",
        LARGE,
        {
            name: (
                [*words, "--time-limit", str(seconds)],
                within(seconds, *ANSWERS[words[0]]),
            )
            for name, words in LIMITED.items()
        },
        slow=True,
    )

commands(
    "--time-limit in the fast part",
    {"a.yaml": inputs.levels([64]), "p.yaml": inputs.gemm(64, 64, 64), "t.yaml": inputs.tree(3)},
    {
        "solve": (["solve", "a.yaml", "p.yaml", "--time-limit", "0"], within(0, 0, 3)),
        "pareto": (["pareto", "a.yaml", "p.yaml", "--time-limit", "0"], within(0, 0, 3)),
        "space": (["space", "a.yaml", "p.yaml", "--time-limit", "0"], within(0, 0, 3)),
        "explain": (["explain", "a.yaml", "p.yaml", "--time-limit", "0"], within(0, 3)),
        "bound": (["bound", "p.yaml", "--time-limit", "0"], within(0, 0, 3)),
        "fuse": (["fuse", "t.yaml", "--time-limit", "0"], within(0, 0, 3)),
        "solve, LoopTree": (["solve", "t.yaml", "--time-limit", "0"], within(0, 0, 3)),
        "tile": (["tile", "resnet50", "--time-limit", "0"], within(0, 0, 3)),
    },
)


def _large_text(folder: Path) -> None:
    write(folder, LARGE)
    lines = [f"  v{number}: {{a: [1, 2, 3], b: word{number}}}" for number in range(60_000)]
    (folder / "long.yaml").write_text("variables:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    words = ["solve", "three.yaml", "gemm.yaml", "long.yaml", "--time-limit", "2"]
    within(2, 0, 2, 3)(run(words, folder))


probe("--time-limit 2: reading 2 MB", slow=True)(_large_text)

MEMORY_LIMITED: dict[str, Sequence[str]] = {
    name: words
    for name, words in LIMITED.items()
    if name in ("solve, 6 levels", "solve, 12 large Einsums", "pareto", "bound", "solve, network")
}
for name, words in MEMORY_LIMITED.items():

    def _memory(folder: Path, words: Sequence[str] = words) -> None:
        write(folder, LARGE)
        outcome = run([*words, "--time-limit", "20", "--memory-limit", "300M"], folder)
        ends_with(0, 3)(outcome)
        assert outcome.peak < 450 << 20, outcome

    probe(f"--memory-limit: {name}", slow=True)(_memory)

commands(
    "--memory-limit",
    {"a.yaml": inputs.levels([64]), "p.yaml": inputs.gemm(64, 64, 64)},
    {
        "a word": (["solve", "a.yaml", "p.yaml", "--memory-limit", "x"], ends_with(2)),
        "nothing": (["solve", "a.yaml", "p.yaml", "--memory-limit", "0"], ends_with(2)),
        "less than is in use": (
            ["solve", "a.yaml", "p.yaml", "--memory-limit", "1M"],
            ends_with(0, 3),
        ),
        "plenty": (["solve", "a.yaml", "p.yaml", "--memory-limit", "8G"], ends_with(0)),
    },
)


def _below(megabytes: int) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        write(folder, LARGE)
        most = {resource.RLIMIT_AS: megabytes << 20}
        words = ["solve", "six.yaml", "convolution.yaml", "--time-limit", "20"]
        ends_with(0, 3)(run(words, folder, limits=most))

    return work


for megabytes in (900, 1200, 2000):
    probe(f"ulimit -v: {megabytes} MiB", slow=True)(_below(megabytes))


def _stopped(number: int, words: Sequence[str], after: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        write(folder, LARGE)
        outcome = run([*words], folder, signals=[(after, number)], timeout=90)
        clean(outcome)
        assert outcome.code in (128 + number, 0), outcome
        if outcome.code == 128 + number:
            assert outcome.cpu <= after + 1.2, outcome

    return work


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    for name, words in LIMITED.items():
        after = (0.3, 1.0, 2.5)[len(name) % 3]
        probe(f"{number.name} after {after} s: {name}", slow=True)(_stopped(number, words, after))


def _stop_reading(number: int) -> Callable[[Path], None]:
    """The command waits for a pipe that nobody writes to."""

    def work(folder: Path) -> None:
        os.mkfifo(folder / "pipe.yaml")
        outcome = run(["validate", "pipe.yaml"], folder, signals=[(0.2, number)], timeout=5)
        clean(outcome)
        assert outcome.code == 128 + number, outcome

    return work


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    probe(f"{number.name} while reading")(_stop_reading(number))


def _answer_when_stopped(folder: Path) -> None:
    write(folder, LARGE)
    words = ["solve", "meshed.yaml", "convolution.yaml", "--json", "-o", "out"]
    outcome = run(words, folder, signals=[(9.0, signal.SIGTERM)], timeout=90)
    ends_with(143, out='"status": "feasible"')(outcome)
    assert {"solution.json", "map.yaml", "stats.txt"} <= set(os.listdir(folder / "out")), outcome


probe("SIGTERM: best so far printed and written", slow=True)(_answer_when_stopped)


def _twice(folder: Path) -> None:
    write(folder, LARGE)
    signals = [(1.5, signal.SIGINT), (1.55, signal.SIGINT)]
    outcome = run(["solve", "twelve.yaml", "contraction.yaml"], folder, signals=signals)
    clean(outcome)
    assert outcome.code == 130, outcome


probe("second signal ends at once", slow=True)(_twice)


def _ignored_hangup(folder: Path) -> None:
    write(folder, {"a.yaml": inputs.levels([64]), "p.yaml": inputs.gemm(64, 64, 64)})
    outcome = run(
        ["solve", "a.yaml", "p.yaml"],
        folder,
        signals=[(0.1, signal.SIGHUP)],
        before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    ends_with(0)(outcome)


probe("SIGHUP under nohup")(_ignored_hangup)


def _start_up(number: int, after: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "solver_mapper", "models", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        time.sleep(after)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert b"Traceback" not in err, err
        assert process.returncode in (128 + number, -number, 0), process.returncode

    return work


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    for after in (0.15, 0.4, 0.8):
        probe(f"{number.name} during start-up, after {after} s", slow=True)(
            _start_up(number, after)
        )


_MARK = "SOLVER_MAPPER_PROBE"
"""A variable of the environment that tells a probe's processes from those of others."""
TWO = ("solve", "meshed.yaml", "convolution.yaml", "--objective", "energy", "--workers", "2")


def _marked(mark: str, number: int, seconds: float) -> bool:
    """Whether so many processes with the mark run within some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = 0
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                variables = (folder / "environ").read_bytes().split(b"\0")
                found += f"{_MARK}={mark}".encode() in variables
        if found == number:
            return True
        time.sleep(0.05)
    return False


def _two_workers(signals: Sequence[int], words: Sequence[str], *codes: int) -> Run:
    """The process beside the search ends with it, however that ends."""

    def work(folder: Path) -> None:
        write(folder, LARGE)
        process = subprocess.Popen(
            [sys.executable, "-m", "solver_mapper", *TWO, *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, _MARK: folder.name},
        )
        assert _marked(folder.name, 2, 60), "no process has been started beside the search"
        for number in signals:
            time.sleep(0.5)
            process.send_signal(number)
        out, err = process.communicate(timeout=90)
        assert b"Traceback" not in out + err, err
        assert process.returncode in codes, (process.returncode, err)
        assert _marked(folder.name, 0, 10), "a process is left"

    return work


for name, signals, words, codes in (
    ("--time-limit", (), ("--time-limit", "20"), (0,)),
    ("--memory-limit", (), ("--memory-limit", "190M", "--time-limit", "60"), (0, 3)),
    ("SIGINT", (signal.SIGINT,), (), (130,)),
    ("SIGTERM", (signal.SIGTERM,), (), (143,)),
    ("SIGKILL", (signal.SIGKILL,), (), (-signal.SIGKILL,)),
    ("SIGINT twice", (signal.SIGINT, signal.SIGINT), (), (130, -signal.SIGINT)),
):
    probe(f"two workers: {name}", slow=True)(_two_workers(signals, words, *codes))


def _same_clock(outcome: Outcome) -> None:
    """A step of the wall clock changes no limit: the monotonic clock counts."""
    within(1, 0, 3)(outcome)


def _clock_jump(folder: Path) -> None:
    """The wall clock jumps by a day, both ways, while the search runs."""
    write(folder, LARGE)

    def jump() -> None:
        real, calls = time.time, [0]

        def jumping() -> float:
            calls[0] += 1
            return real() + (86400 if calls[0] % 2 else -86400)

        time.time = jumping

    words = ["solve", "six.yaml", "convolution.yaml", "--time-limit", "1"]
    _same_clock(run(words, folder, before=jump))


probe("clock jumps", slow=True)(_clock_jump)
