"""Output that cannot be written: full disks, folders that are none, closed streams and pipes."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults import inputs
from tests.faults.command import CLOSED, Outcome, run
from tests.faults.registry import clean, ends_with, probe, write

FILES = {
    "a.yaml": inputs.levels([64]),
    "p.yaml": inputs.gemm(16, 16, 16),
    "t.yaml": inputs.tree(1, 8),
    "two.yaml": inputs.tree(2, 4),
    "none.yaml": inputs.levels([1])
    + "mapspace_constraints:\n- {target: L1, type: bypass, keep: [A, B, Z], bypass: []}\n",
    "o.yaml": (
        "{operator: convolution, input_shape: [1, 8, 8, 8], kernel: {num: 8, rows: 3, cols: 3},"
        " stride: 1, padding: same}\n"
    ),
    "layers.yaml": ("layers:\n- {name: one, count: 1, shape: gemm, M: 8, N: 8, K: 8}\n"),
    "sweep.yaml": (
        "sweep: {architecture: a.yaml, workloads: [tiny], objective: edp,"
        " parameters: {L1.entries: [64, 32]}}\n"
    ),
}
WRITERS: dict[str, Sequence[str]] = {
    "solve": ("solve", "a.yaml", "p.yaml"),
    "solve, LoopTree": ("solve", "t.yaml"),
    "pareto": ("pareto", "a.yaml", "p.yaml"),
    "bound": ("bound", "p.yaml"),
    "fuse": ("fuse", "two.yaml"),
    "evaluate": ("evaluate", "a.yaml", "p.yaml", "map.yaml"),
    "network": ("solve", "a.yaml", "tiny"),
    "sweep": ("sweep", "sweep.yaml"),
}
MAPPING = """\
mapping:
- {target: L0, type: temporal, factors: M=16 N=16 K=16, permutation: MNK}
- {target: L1, type: temporal, factors: M=1 N=1 K=1, permutation: MNK}
"""
QUICK = ("solve", "bound", "evaluate", "network")


def prepared(folder: Path) -> None:
    write(folder, FILES | {"map.yaml": MAPPING})


def answered(outcome: Outcome) -> None:
    """A message, exit code 2, and the answer on standard output all the same."""
    ends_with(2)(outcome)
    assert "cannot be written" in outcome.err, outcome
    assert outcome.out.strip(), outcome


def _is_a_file(words: Sequence[str]) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        prepared(folder)
        (folder / "out").write_text("mine", encoding="utf-8")
        outcome = run([*words, "-o", "out"], folder)
        ends_with(2, says="cannot be written")(outcome)
        assert (folder / "out").read_text(encoding="utf-8") == "mine"

    return work


def _full(words: Sequence[str], room: int) -> Callable[[Path], None]:
    """No file may grow beyond `room` bytes. (Standard output is a pipe.)"""

    def work(folder: Path) -> None:
        prepared(folder)
        out, err = _Pipe(), _Pipe()
        outcome = run(
            [*words, "-o", "out"],
            folder,
            stdout=out.write_end,
            stderr=err.write_end,
            limits={resource.RLIMIT_FSIZE: room},
        )
        text, message = out.text(), err.text()
        assert outcome.code == 2 and "cannot be" in message, (outcome, message)
        assert text.strip() or "store of results" in message, (outcome, message)
        nothing_half_written(folder / "out")

    return work


def nothing_half_written(folder: Path) -> None:
    """Files of a result are there as a whole or not at all, and no temporary files are."""
    if not folder.exists():
        return
    found = [path for path in folder.rglob("*") if path.is_file()]
    found = [path for path in found if not path.name.startswith("results.sqlite")]
    assert not found, found


class _Pipe:
    """A pipe whose other end is read in a thread."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        self._parts: list[bytes] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while part := os.read(self._read_end, 1 << 16):
            self._parts.append(part)

    def text(self) -> str:
        os.close(self.write_end)
        self._thread.join(10)
        return b"".join(self._parts).decode()


def _vanishes(words: Sequence[str]) -> Callable[[Path], None]:
    """The output folder is taken away while the command runs, and a file stands in its place."""

    def work(folder: Path) -> None:
        prepared(folder)
        out = folder / "deep" / "out"
        stop = threading.Event()

        def remove() -> None:
            while not out.exists() and not stop.is_set():
                time.sleep(0.001)
            shutil.rmtree(folder / "deep", ignore_errors=True)
            try:
                (folder / "deep").write_text("a file", encoding="utf-8")
            except OSError:
                shutil.rmtree(folder / "deep", ignore_errors=True)

        thread = threading.Thread(target=remove, daemon=True)
        thread.start()
        outcome = run([*words, "-o", "deep/out"], folder)
        stop.set()
        thread.join()
        clean(outcome)
        assert outcome.code in (0, 2), outcome
        assert outcome.out.strip() or outcome.code == 2, outcome

    return work


def _closed_output(words: Sequence[str]) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        prepared(folder)
        outcome = run([*words, "-o", "out"], folder, stdout=CLOSED)
        clean(outcome)
        assert outcome.code == 0, outcome
        assert any(name.endswith(".json") for name in os.listdir(folder / "out")), outcome

    return work


def _full_output(words: Sequence[str]) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        prepared(folder)
        outcome = run([*words, "-o", "out"], folder, stdout=Path("/dev/full"))
        ends_with(2, says="standard output")(outcome)
        assert any(name.endswith(".json") for name in os.listdir(folder / "out")), outcome

    return work


def _closed_pipe(words: Sequence[str]) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        prepared(folder)
        read_end, write_end = os.pipe()
        os.close(read_end)
        outcome = run([*words, "-o", "out"], folder, stdout=write_end)
        os.close(write_end)
        clean(outcome)
        assert outcome.code == 0, outcome
        assert any(name.endswith(".json") for name in os.listdir(folder / "out")), outcome

    return work


def _bad_errors(words: Sequence[str], stream: Path | str) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        prepared(folder)
        outcome = run([*words, "-o", "out"], folder, stderr=stream)
        clean(outcome)
        assert outcome.code == 0, outcome
        assert outcome.out.strip(), outcome

    return work


def _all_closed(words: Sequence[str]) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        prepared(folder)
        outcome = run([*words, "-o", "out"], folder, stdin=CLOSED, stdout=CLOSED, stderr=CLOSED)
        assert outcome.code == 0, outcome
        records = [path for path in (folder / "out").rglob("*.json") if path.is_file()]
        assert records, os.listdir(folder / "out")
        for path in records:
            json.loads(path.read_text(encoding="utf-8"))

    return work


for name, words in WRITERS.items():
    slow = name not in QUICK
    probe(f"-o names a file: {name}", slow=slow)(_is_a_file(words))
    probe(f"disk full at once: {name}", slow=slow)(_full(words, 0))
    probe(f"disk full after 200 bytes: {name}", slow=slow)(_full(words, 200))
    probe(f"folder vanishes: {name}", slow=slow)(_vanishes(words))
    probe(f"stdout closed: {name}", slow=slow)(_closed_output(words))
    probe(f"stdout full: {name}", slow=slow)(_full_output(words))
    probe(f"stdout a closed pipe: {name}", slow=slow)(_closed_pipe(words))
    probe(f"stderr closed: {name}", slow=slow)(_bad_errors(words, CLOSED))
    probe(f"stderr full: {name}", slow=slow)(_bad_errors(words, Path("/dev/full")))
    probe(f"all streams closed: {name}", slow=slow)(_all_closed(words))

PRINTERS: dict[str, Sequence[str]] = {
    "models": ("models",),
    "models --json": ("models", "--json"),
    "validate": ("validate", "a.yaml", "p.yaml", "map.yaml"),
    "space": ("space", "a.yaml", "p.yaml", "--json"),
    "explain": ("explain", "none.yaml", "p.yaml"),
    "convert": ("convert", "a.yaml", "p.yaml", "map.yaml", "--to", "looptree"),
    "schema": ("schema",),
    "--help": ("--help",),
    "--version": ("--version",),
    "tile": ("tile", "o.yaml"),
}
for name, words in PRINTERS.items():

    def _printed_to(target: str, words: Sequence[str] = words) -> Callable[[Path], None]:
        def work(folder: Path) -> None:
            prepared(folder)
            if target == "pipe":
                read_end, write_end = os.pipe()
                os.close(read_end)
                outcome = run(words, folder, stdout=write_end)
                os.close(write_end)
            else:
                outcome = run(words, folder, stdout=CLOSED if target == CLOSED else Path(target))
            clean(outcome)
            assert outcome.code in ((2,) if target == "/dev/full" else (0, 1)), outcome

        return work

    for target in (CLOSED, "/dev/full", "pipe"):
        probe(f"stdout {target}: {name}")(_printed_to(target))


def _replaced(folder: Path) -> None:
    prepared(folder)
    ends_with(0)(run(["solve", "a.yaml", "p.yaml", "-o", "out"], folder))
    (folder / "out" / "notes.txt").write_text("mine", encoding="utf-8")
    ends_with(1)(run(["solve", "none.yaml", "p.yaml", "-o", "out"], folder))
    assert set(os.listdir(folder / "out")) <= {"notes.txt", "solution.json", "report.html"}


probe("-o replaces an older result: solve")(_replaced)


def _fewer_steps(folder: Path) -> None:
    prepared(folder)
    ends_with(0)(run(["bound", "p.yaml", "-o", "out"], folder))
    many = set(os.listdir(folder / "out"))
    write(folder, {"p.yaml": inputs.gemm(2, 2, 1)})
    ends_with(0)(run(["bound", "p.yaml", "-o", "out"], folder))
    few = set(os.listdir(folder / "out"))
    fresh = run(["bound", "p.yaml", "-o", "fresh"], folder)
    ends_with(0)(fresh)
    assert few == set(os.listdir(folder / "fresh")) != many


probe("-o replaces an older result: bound")(_fewer_steps)


def _keeps_input(folder: Path) -> None:
    """A mapping that is the user's own is not taken for a part of an older result."""
    write(folder, FILES)
    ends_with(1)(run(["solve", "none.yaml", "p.yaml", "-o", "."], folder))
    write(folder, {"map.yaml": MAPPING})
    ends_with(1)(run(["solve", "none.yaml", "p.yaml", "-o", "."], folder))
    assert (folder / "map.yaml").read_text(encoding="utf-8") == MAPPING


probe("-o leaves files that are no results")(_keeps_input)


def _older_stays(folder: Path) -> None:
    """Where the new result cannot be written, the older one is untouched."""
    prepared(folder)
    ends_with(0)(run(["solve", "a.yaml", "p.yaml", "-o", "out"], folder))
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    pipe = _Pipe()
    outcome = run(
        ["solve", "a.yaml", "p.yaml", "--objective", "energy", "-o", "out"],
        folder,
        stdout=pipe.write_end,
        limits={resource.RLIMIT_FSIZE: 900},
    )
    assert pipe.text().strip()
    ends_with(2, says="cannot be written")(outcome)
    assert before == {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


probe("older result untouched by a full disk")(_older_stays)


def _small_disk(folder: Path) -> None:
    """A tmpfs of 16 KiB, where mounting is allowed."""
    prepared(folder)
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        return
    try:
        answered(run(["solve", "a.yaml", "tiny", "-o", "disk/out"], folder))
        answered(run(["bound", "p.yaml", "-o", "disk/curve"], folder))
        leftovers = [path for path in (disk / "curve").rglob("*") if path.is_file()]
        assert not leftovers
    finally:
        subprocess.run(["umount", str(disk)], check=False)


probe("a small disk is full", slow=True)(_small_disk)


def _read_only_disk(folder: Path) -> None:
    prepared(folder)
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k,ro", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        return
    try:
        for name in ("solve", "bound", "network"):
            outcome = run([*WRITERS[name], "-o", "disk/out"], folder)
            ends_with(2, says="cannot be written")(outcome)
    finally:
        subprocess.run(["umount", str(disk)], check=False)


probe("a read-only disk")(_read_only_disk)

SINGLE_FILES: dict[str, Sequence[str]] = {
    "schema -o": ("schema", "-o"),
    "solve --certificate": ("solve", "a.yaml", "p.yaml", "--certificate"),
}
for name, words in SINGLE_FILES.items():

    def _file(words: Sequence[str] = words) -> Callable[[Path], None]:
        def work(folder: Path) -> None:
            prepared(folder)
            outcome = run([*words, "/proc/nothing/here"], folder)
            ends_with(2, says="cannot be written")(outcome)

        return work

    probe(f"cannot be written: {name}")(_file())


def _certificate_full(folder: Path) -> None:
    prepared(folder)
    pipe = _Pipe()
    outcome = run(
        ["solve", "a.yaml", "p.yaml", "--certificate", "c.json"],
        folder,
        stdout=pipe.write_end,
        limits={resource.RLIMIT_FSIZE: 100},
    )
    text = pipe.text()
    ends_with(2, says="cannot be written")(outcome)
    assert "L0" in text, "the answer is lost"
    assert not (folder / "c.json").exists()


probe("disk full: --certificate")(_certificate_full)
