"""What a process may find around it: environments, descriptors, stores, devices, and other signals;
and limits where no signal handler helps, in Python.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import solver_mapper as sm
from tests.faults import inputs
from tests.faults.command import Outcome, run
from tests.faults.limit_probes import ANSWERS, LARGE, LIMITED
from tests.faults.registry import clean, commands, ends_with, probe, refused, write

FILES = {
    "a.yaml": inputs.levels([64]),
    "p.yaml": inputs.gemm(8, 8, 8),
    "t.yaml": inputs.tree(1, 4),
    "o.yaml": (
        "operator: {kind: convolution, input_shape: [1, 8, 8, 8], weight_shape: [8, 3, 3, 8],"
        " stride: [1, 1], padding: same}\n"
    ),
}
SOLVE = ("solve", "a.yaml", "p.yaml")


def loaded(*names: str) -> Any:
    return sm.load(*(io.StringIO(LARGE[name]) for name in names))


PYTHON: dict[str, Callable[[float], Any]] = {
    "solve, 6 levels": lambda s: sm.solve(loaded("six.yaml", "convolution.yaml"), time_limit=s),
    "solve, 12 levels": lambda s: sm.solve(loaded("twelve.yaml", "convolution.yaml"), time_limit=s),
    "solve, 12 dimensions": lambda s: sm.solve(
        loaded("three.yaml", "contraction.yaml"), time_limit=s
    ),
    "solve, imperfect": lambda s: sm.solve(
        loaded("meshed.yaml", "convolution.yaml"), factors="imperfect", time_limit=s
    ),
    "solve, branch and bound": lambda s: sm.solve(
        loaded("six.yaml", "convolution.yaml"), engine="branch-and-bound", time_limit=s
    ),
    "solve, 30 Einsums": lambda s: sm.solve(loaded("chain.yaml"), time_limit=s),
    "solve, large Einsums": lambda s: sm.solve(loaded("branches.yaml"), time_limit=s),
    "solve, verify": lambda s: sm.solve(
        loaded("three.yaml", "gemm.yaml"), verify=True, time_limit=s
    ),
    "pareto": lambda s: sm.pareto(loaded("six.yaml", "convolution.yaml"), time_limit=s),
    "pareto, 30 Einsums": lambda s: sm.pareto(loaded("chain.yaml"), time_limit=s),
    "space": lambda s: sm.space(loaded("six.yaml", "convolution.yaml"), time_limit=s),
    "explain": lambda s: sm.explain(loaded("infeasible.yaml", "convolution.yaml"), time_limit=s),
    "fuse": lambda s: sm.fuse(loaded("chain.yaml"), time_limit=s),
    "fuse, large": lambda s: sm.fuse(loaded("branches.yaml"), time_limit=s),
    "fuse, v2": lambda s: sm.fuse(loaded("branches.yaml"), "v2", time_limit=s),
    "bound": lambda s: sm.bound(loaded("three.yaml", "wide.yaml"), time_limit=s),
    "bound, shifts": lambda s: sm.bound(
        loaded("three.yaml", "convolution.yaml"), regular_shifts=True, bypass=True, time_limit=s
    ),
}
for name, call in PYTHON.items():

    def _in_a_thread(folder: Path, call: Callable[[float], Any] = call) -> None:
        """In a thread no signal interrupts the work: it has to look at the clock itself."""
        taken: list[float] = []

        def work() -> None:
            started = time.process_time()
            try:
                call(1.0)
            except sm.LimitReached:
                pass
            finally:
                taken.append(time.process_time() - started)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(60)
        assert taken and taken[0] < 2, taken

    probe(f"time limit in Python: {name}", slow=True)(_in_a_thread)

BELOW: dict[str, Sequence[str]] = {
    "pareto": ("pareto", "six.yaml", "convolution.yaml"),
    "space": ("space", "six.yaml", "convolution.yaml"),
    "explain": ("explain", "infeasible.yaml", "convolution.yaml"),
    "bound": ("bound", "wide.yaml"),
    "fuse": ("fuse", "branches.yaml", "--uneven-fusion"),
    "fuse, v2": ("fuse", "branches.yaml", "--template", "v2"),
    "LoopTree": ("solve", "branches.yaml"),
    "LoopTree, 30 Einsums": ("solve", "chain.yaml"),
}


def _in_own_process(
    words: Sequence[str], folder: Path, address_space: int = resource.RLIM_INFINITY
) -> Outcome:
    """The command in a process that is not forked from this one, whose own memory would count, and
    that ends as the interpreter ends.
    """
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "solver_mapper", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space)),
        timeout=120,
    )
    return Outcome(done.returncode, done.stdout, done.stderr, time.monotonic() - started, 0.0, 0)


for name, words in BELOW.items():
    for megabytes in (300, 450, 900):

        def _below(folder: Path, words: Sequence[str] = words, most: int = megabytes << 20) -> None:
            write(folder, LARGE)
            ends_with(0, 1, 3)(_in_own_process([*words, "--time-limit", "8"], folder, most))

        probe(f"ulimit -v {megabytes} MiB: {name}", slow=True)(_below)


for name, words in LIMITED.items():
    for seconds in (1, 3):

        def _to_the_end(folder: Path, words: Sequence[str] = words, seconds: int = seconds) -> None:
            write(folder, LARGE)
            outcome = _in_own_process([*words, "--time-limit", str(seconds)], folder)
            ends_with(*ANSWERS[words[0]])(outcome)

        probe(f"--time-limit {seconds}, end of the process: {name}", slow=True)(_to_the_end)


def _no_room_to_start(megabytes: int) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        write(folder, FILES)
        ends_with(3, says="out of memory")(_in_own_process(SOLVE, folder, megabytes << 20))

    return work


for megabytes in (150, 180, 200, 220):
    probe(f"ulimit -v {megabytes} MiB: start", slow=megabytes > 150)(_no_room_to_start(megabytes))


def _environment(changes: Mapping[str, str | None]) -> Callable[[], None]:
    def change() -> None:
        for name, value in changes.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    return change


ENVIRONMENTS: dict[str, Mapping[str, str | None]] = {
    "no HOME": {"HOME": None},
    "HOME that is a file": {"HOME": "/dev/null"},
    "no PATH": {"PATH": None},
    "LC_ALL=C": {"LC_ALL": "C", "LANG": "C"},
    "LC_ALL of no locale": {"LC_ALL": "xx_YY.nothing"},
    "TERM=dumb": {"TERM": "dumb"},
    "COLUMNS=0": {"COLUMNS": "0"},
    "COLUMNS=-5": {"COLUMNS": "-5", "LINES": "x"},
    "TMPDIR that is gone": {"TMPDIR": "/nowhere/at/all"},
    "OMP_NUM_THREADS=x": {"OMP_NUM_THREADS": "x"},
    "TZ of no zone": {"TZ": "Mars/Olympus"},
}
for name, changes in ENVIRONMENTS.items():

    def _around(folder: Path, changes: Mapping[str, str | None] = changes) -> None:
        write(folder, FILES)
        outcome = run([*SOLVE, "-o", "out"], folder, before=_environment(changes))
        ends_with(0, out="optimal")(outcome)

    probe(f"environment: {name}")(_around)

LIMITS: dict[str, tuple[dict[int, int], tuple[int, ...]]] = {
    "12 descriptors": ({resource.RLIMIT_NOFILE: 12}, (0, 2)),
    "5 descriptors": ({resource.RLIMIT_NOFILE: 5}, (0, 2)),
    "a stack of 1 MiB": ({resource.RLIMIT_STACK: 1 << 20}, (0,)),
    "no core files": ({resource.RLIMIT_CORE: 0}, (0,)),
}
for name, (limits, codes) in LIMITS.items():

    def _limited(
        folder: Path, limits: dict[int, int] = limits, codes: tuple[int, ...] = codes
    ) -> None:
        write(folder, FILES)
        ends_with(*codes)(run([*SOLVE, "-o", "out"], folder, limits=limits))

    probe(f"limits of the system: {name}")(_limited)


def _folder_gone(folder: Path) -> None:
    """The working folder does not exist any more."""
    write(folder, FILES)
    words = ["solve", str(folder / "a.yaml"), str(folder / "p.yaml")]

    def remove() -> None:
        (gone := folder / "gone").mkdir()
        os.chdir(gone)
        gone.rmdir()

    ends_with(0, 2)(run(words, folder, before=remove))


probe("the working folder is gone")(_folder_gone)


def _umask(folder: Path) -> None:
    write(folder, FILES)
    ends_with(0, 2)(run([*SOLVE, "-o", "out"], folder, before=lambda: os.umask(0o777)))


probe("umask 777")(_umask)

TEXTS: dict[str, tuple[bytes, tuple[int, ...]]] = {
    "a byte-order mark": (b"\xef\xbb\xbf" + FILES["p.yaml"].encode(), (0,)),
    "CRLF": (FILES["p.yaml"].replace("\n", "\r\n").encode(), (0,)),
    "CR": (FILES["p.yaml"].replace("\n", "\r").encode(), (0, 2)),
    "UTF-16": (FILES["p.yaml"].encode("utf-16"), (2,)),
    "UTF-32": (FILES["p.yaml"].encode("utf-32"), (2,)),
    "Latin-1": (FILES["p.yaml"].replace("gemm", "gémm").encode("latin-1"), (2,)),
    "a NUL at the end": (FILES["p.yaml"].encode() + b"\0", (2,)),
    "an end of document": (FILES["p.yaml"].encode() + b"...\n", (0,)),
    "text behind the document": (FILES["p.yaml"].encode() + b"...\nx: [\n", (2,)),
    "a directive": (b"%YAML 1.2\n---\n" + FILES["p.yaml"].encode(), (0, 2)),
    "a reserved directive": (b"%WRONG 9\n---\n" + FILES["p.yaml"].encode(), (0, 2)),
    "no end of line": (FILES["p.yaml"].rstrip().encode(), (0,)),
    "lone surrogates": (FILES["p.yaml"].encode() + b"x: \xed\xa0\x80\n", (2,)),
    "a million spaces": (FILES["p.yaml"].encode() + b" " * 1_000_000, (0,)),
    "gzip": (gzip.compress(FILES["p.yaml"].encode()), (2,)),
}
for name, (content, codes) in TEXTS.items():

    def _text(folder: Path, content: bytes = content, codes: tuple[int, ...] = codes) -> None:
        write(folder, FILES)
        (folder / "p.yaml").write_bytes(content)
        ends_with(*codes)(run(SOLVE, folder))

    probe(f"text: {name}")(_text)

LONG = {
    "values": "- {a: 1, b: 2}\n" * 500_000,
    "items": f"x: [{'1,' * 4_000_000}1]",
    "keys": "".join(f"k{number}: {number}\n" for number in range(499_000)),
    "anchors": f"x: [{'&a 1,' * 1_500_000}1]",
    "an error at the end": "x:\n" + "- {a: 1, b: 2}\n" * 300_000 + "]",
    "brackets": "[" * 8_000_000,
    "dashes": "- " * 4_000_000,
    "colons": "a: " * 2_600_000,
    "escapes": 'x: "' + "\\x41" * 2_000_000 + '"',
}
for name, long in LONG.items():

    def _long(folder: Path, long: str = long) -> None:
        (folder / "long.yaml").write_text(long, encoding="utf-8")
        outcome = run(["validate", "long.yaml"], folder, timeout=200)
        ends_with(2)(outcome)
        assert outcome.cpu < 40 and outcome.peak < 1 << 30, outcome

    probe(f"text of 8 MB: {name}", slow=True)(_long)

    def _long_in_time(folder: Path, long: str = long) -> None:
        write(folder, FILES)
        (folder / "long.yaml").write_text(long, encoding="utf-8")
        outcome = run([*SOLVE, "long.yaml", "--time-limit", "1"], folder, timeout=60)
        ends_with(2, 3)(outcome)
        assert outcome.cpu < 3, outcome

    probe(f"text of 8 MB, --time-limit 1: {name}", slow=True)(_long_in_time)


def _range(name: str, text: str, *words: str) -> None:
    commands(
        "out of the range of floats",
        {"x.yaml": text, "p.yaml": FILES["p.yaml"]},
        {name: (words, ends_with(2, says="out of the range of floating-point numbers"))},
    )


_range(
    "energy",
    inputs.levels([64], energy=1e300),
    *("solve", "x.yaml", "p.yaml", "--objective", "energy^2*delay"),
)
_range("LoopTree energy", FILES["t.yaml"].replace("y: 50", "y: 1.0e+300"), "solve", "x.yaml")
_range("LoopTree speed", FILES["t.yaml"].replace("put: 8", "put: 1.0e-300"), "solve", "x.yaml")
_range(
    "bandwidth",
    inputs.levels([64]).replace("depth: 64", "depth: 64, read_bandwidth: 1.0e-300"),
    *("solve", "x.yaml", "p.yaml"),
)
_range(
    "LoopTree powers",
    FILES["t.yaml"].replace("y: 50", "y: 1.0e+20"),
    *("solve", "x.yaml", "--objective", "energy^16*delay"),
)


def _same_kind(option: str) -> Callable[[Path], None]:
    """What is written to a pipe goes through it; the pipe is not replaced by a file."""

    def work(folder: Path) -> None:
        write(folder, FILES)
        os.mkfifo(folder / "pipe.svg")
        read: list[bytes] = []
        reader = threading.Thread(
            target=lambda: read.append((folder / "pipe.svg").read_bytes()), daemon=True
        )
        reader.start()
        ends_with(0)(run([*SOLVE, option, "pipe.svg"], folder))
        reader.join(10)
        assert (folder / "pipe.svg").is_fifo()
        assert read and len(read[0]) > 100

    return work


for option in ("--html", "--plot", "--certificate"):
    probe(f"a pipe as {option}")(_same_kind(option))


def _chart_on_a_full_disk(folder: Path) -> None:
    """An older picture stays where there is no room for the new one."""
    write(folder, FILES)
    (folder / "x.svg").write_text("mine", encoding="utf-8")
    outcome = run(
        [*SOLVE, "--plot", "x.svg"],
        folder,
        stdout=Path("/dev/null"),
        stderr=Path("/dev/null"),
        limits={resource.RLIMIT_FSIZE: 100},
    )
    assert outcome.code == 2, outcome
    assert (folder / "x.svg").read_text(encoding="utf-8") == "mine"
    assert {path.name for path in folder.glob("*.svg")} == {"x.svg"}


probe("disk full: --plot")(_chart_on_a_full_disk)


def _threads(folder: Path) -> None:
    """Many threads write the same files; each file is one of them, whole."""
    from solver_mapper.core.files import replace_files

    contents = [bytes([65 + number]) * 50_000 for number in range(8)]

    def put(number: int) -> None:
        for _ in range(10):
            replace_files(folder, {"x": contents[number], "y": contents[number]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(8)))
    assert (folder / "x").read_bytes() in contents and (folder / "y").read_bytes() in contents
    assert {path.name for path in folder.iterdir()} == {"x", "y"}


probe("threads that write the same files")(_threads)

CERTIFICATES: dict[str, bytes] = {
    "one line of 2 GB": b"",
    "no gzip": b"{}\n",
    "cut off": gzip.compress(b'{"a": 1}\n' * 100)[:-20],
    "no lines": gzip.compress(b""),
    "not JSON": gzip.compress(b"[1, 2\n"),
    "deep JSON": gzip.compress(b"[" * 100_000 + b"\n"),
    "a long number": gzip.compress(b"9" * 100_000 + b"\n"),
    "null": gzip.compress(b"null\nnull\n"),
}


def _certificate(content: bytes) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        write(folder, FILES)
        if content:
            (folder / "c").write_bytes(content)
        else:
            with gzip.open(folder / "c", "wb", compresslevel=1) as file:
                for _ in range(2048):
                    file.write(bytes(1 << 20))
        refused(run(["check-certificate", "a.yaml", "p.yaml", "c"], folder))

    return work


for name, content in CERTIFICATES.items():
    probe(f"certificate: {name}", slow=not content)(_certificate(content))


def _store(prepare: Callable[[Path], object]) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        write(folder, FILES)
        prepare(folder / "s.sqlite")
        outcome = run(["solve", "a.yaml", "tiny/mm8", "--json"], folder)
        ends_with(0)(outcome)
        ends_with(0, 2)(run(["solve", "a.yaml", "tiny", "--store", "s.sqlite"], folder))

    return work


def _other_schema(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE results (other INTEGER)")


STORES: dict[str, Callable[[Path], object]] = {
    "a folder": lambda path: path.mkdir(),
    "an empty file": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(b"x" * 5000),
    "a database of others": _other_schema,
    "a link to nothing": lambda path: path.symlink_to("nowhere/at/all"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}
for name, prepare in STORES.items():
    probe(f"store: {name}")(_store(prepare))


def _records_of_others(folder: Path) -> None:
    """Rows of a store that are no results are solved again, not believed."""
    write(folder, FILES)
    words = ["solve", "a.yaml", "tiny", "--store", "s.sqlite", "--json"]
    first = run(words, folder)
    ends_with(0)(first)
    with sqlite3.connect(folder / "s.sqlite") as database:
        tables = [
            row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        for table in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            for column in columns[1:]:
                database.execute(f"UPDATE {table} SET {column} = 'null'")
    clean(run(words, folder))


probe("store: rows that are no results", slow=True)(_records_of_others)


def _paused(folder: Path) -> None:
    """A process that was stopped for longer than its limit ends once it goes on."""
    write(folder, LARGE)
    signals = [(0.5, signal.SIGSTOP), (3.0, signal.SIGCONT)]
    words = ["solve", "six.yaml", "convolution.yaml", "--time-limit", "2"]
    ends_with(0, 3)(run(words, folder, signals=signals))


probe("SIGSTOP longer than the limit", slow=True)(_paused)


def _window(folder: Path) -> None:
    write(folder, LARGE)
    signals = [(0.3 + 0.1 * number, signal.SIGWINCH) for number in range(10)]
    words = ["solve", "six.yaml", "convolution.yaml", "--time-limit", "2"]
    ends_with(0, 3)(run(words, folder, signals=signals))


probe("SIGWINCH again and again", slow=True)(_window)


def _no_children(folder: Path) -> None:
    """SIGCHLD is ignored, as some schedulers leave it."""
    write(folder, FILES)
    words = ["solve", "a.yaml", "tiny", "--jobs", "2"]
    ends_with(0)(run(words, folder, before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)))


probe("SIGCHLD ignored, --jobs", slow=True)(_no_children)


KILLS = 100


def _killed(*more: str) -> Callable[[Path], None]:
    """`KILLS` times SIGKILL during a network with -o: nothing stored is lost, no file is
    half-written, and what runs in the end has the answer of an undisturbed run.
    """

    def work(folder: Path) -> None:
        words = [sys.executable, "-m", "solver_mapper", "solve", "eyeriss", "tiny", *more]
        into, started = [*words, "-o", "out"], time.monotonic()
        undisturbed = _values(folder, [*words, "--json"])
        whole, known = time.monotonic() - started, 0
        for number in range(KILLS):
            process = subprocess.Popen(
                into, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                process.wait(whole * (0.1 + number / KILLS))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            stored = _stored(folder / "out" / "results.sqlite")
            assert stored >= known, (number, stored, known)
            known = stored
            _all_whole(folder / "out")
            if number % 10 == 9:  # begin again
                shutil.rmtree(folder / "out", ignore_errors=True)
                known = 0
        assert _values(folder, [*into, "--json"]) == undisturbed

    return work


def _stored(path: Path) -> int:
    """Rows of a store; the database must be sound."""
    if not path.exists():
        return 0
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = database.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        return sum(
            database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables
        )


def _all_whole(folder: Path) -> None:
    import yaml

    for path in folder.rglob("*"):
        if path.name.startswith(".solver-mapper-"):
            continue  # what was being written when the process was killed
        if path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".yaml":
            assert yaml.safe_load(path.read_text(encoding="utf-8"))
        elif path.suffix in (".svg", ".html"):
            assert path.read_text(encoding="utf-8").rstrip().endswith(("</svg>", "</html>")), path


def _values(folder: Path, words: Sequence[str]) -> list[Any]:
    """The totals of a network, and the objective of each layer."""
    done = subprocess.run(words, cwd=folder, capture_output=True, check=True)
    found = json.loads(done.stdout)
    return [found["totals"], *(layer["objective"] for layer in found["layers"])]


probe(f"{KILLS} times SIGKILL during a network", slow=True)(_killed())
probe(f"{KILLS} times SIGKILL during a network, --jobs 2", slow=True)(_killed("--jobs", "2"))


def _judge(outcome: Outcome) -> None:
    ends_with(0, 1, 2)(outcome)


for name, words in {
    "no arguments": [],
    "an empty argument": [""],
    "an empty file name": ["solve", ""],
    "1,000 arguments": ["solve", *["a.yaml"] * 1_000],
    "an argument of 100,000 letters": ["solve", "a" * 100_000],
    "bytes that are no text": ["solve", "\udcff\udcfe.yaml"],
    "the same file twice": ["solve", "a.yaml", "a.yaml", "p.yaml"],
    "a link to itself": ["solve", "loop.yaml"],
    "a file below a file": ["solve", "a.yaml/p.yaml"],
    "-o below a file": [*SOLVE, "-o", "a.yaml/out"],
    "-o an empty name": [*SOLVE, "-o", ""],
    "-o a name of 300 letters": [*SOLVE, "-o", "x" * 300],
    "-o bytes that are no text": [*SOLVE, "-o", "\udcff"],
    "--plot an empty name": [*SOLVE, "--plot", ".svg"],
    "--plot the input": [*SOLVE, "--plot", "p.yaml"],
    "--html a folder": [*SOLVE, "--html", "."],
    "--certificate a folder": [*SOLVE, "--certificate", "."],
}.items():

    def _arguments(folder: Path, words: Sequence[str] = words) -> None:
        write(folder, FILES)
        (folder / "loop.yaml").symlink_to("loop.yaml")
        _judge(run(words, folder))
        assert (folder / "p.yaml").read_text(encoding="utf-8") == FILES["p.yaml"]

    probe(f"arguments: {name}")(_arguments)
