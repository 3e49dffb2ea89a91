"""Mutated inputs: every bundled file and every file of the tests, with something wrong in it,
through every public function. A worker process does the work and is watched from outside.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import re
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import yaml

import solver_mapper as sm
from tests.broken_files import constraint_violations
from tests.faults import inputs
from tests.faults.command import MOST_MEMORY

ROOT = Path(__file__).parents[2]
LIMIT = 1.0
"""Seconds for each function that searches."""
TOLERANCE = 1.0
_HANGS = 60.0
"""Wall-clock seconds without a word from the worker after which it is killed."""
_EACH = 150
"""Inputs of one worker, so that its peak of memory says something about them."""

NUMBERS = (
    *("0", "-1", "1", "2", "3", "7", "2147483647", "2147483648", "4294967296"),
    *("9223372036854775807", "9223372036854775808", "1" + "0" * 30, "1e308", "1e-308", "-0.0"),
    *("0.5", "nan", "inf", "-inf", "1e400", "0x7f", "1_000", "true", "null", "''", "64K", "1/3"),
)
WORDS = (
    *(
        "A",
        "B",
        "Z",
        "M",
        "N",
        "K",
        "L0",
        "L1",
        "DRAM",
        "temporal",
        "spatial",
        "bypass",
        "datatype",
    ),
    *("keep", "read_write", "All", "~All", "Inputs", "Outputs", "Intermediates", "inf", "version"),
    *("target", "type", "factors", "permutation", "max", "min", "split", "meshX", "depth", "width"),
)


SHAPES = {
    "gemm": {"M": 4, "N": 6, "K": 8},
    "cnn-layer": {"N": 1, "K": 4, "C": 2, "P": 3, "Q": 3, "R": 2, "S": 2},
    "depthwise": {"N": 1, "G": 4, "P": 3, "Q": 3, "R": 3, "S": 1},
}
"""Small sizes of the bundled shapes."""


@dataclass(frozen=True)
class Base:
    """An input of several files, of one `kind`: specification, sweep, network, operator, model or
    certificate. The last file is the one that is mutated most often.
    """

    kind: str
    files: tuple[tuple[str, bytes], ...]


@dataclass
class Tally:
    """What has been seen: `outcomes[function, outcome]`, the most processor seconds of a function
    and where, the peak of memory in bytes, and what is wrong.
    """

    inputs: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)
    peak: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.inputs += other.inputs
        self.outcomes += other.outcomes
        for name, found in other.slowest.items():
            self.slowest[name] = max(self.slowest.get(name, found), found)
        self.peak = max(self.peak, other.peak)
        self.wrong += other.wrong

    def __str__(self) -> str:
        lines = [f"{self.inputs:,} inputs, peak {self.peak >> 20} MiB, {len(self.wrong)} wrong"]
        for name in sorted({name for name, _ in self.outcomes}):
            seen = {end: n for (other, end), n in sorted(self.outcomes.items()) if other == name}
            slow, where = self.slowest[name]
            lines.append(f"{name}: {seen}, at most {slow:.2f} s CPU ({where})")
        return "\n".join([*lines, *self.wrong])


@cache
def bases() -> tuple[Base, ...]:
    """The inputs that are mutated. Each has small sizes somewhere, so that most searches end."""
    small = ("p.yaml", inputs.gemm(8, 8, 8).encode())
    plain = ("a.yaml", inputs.levels([64]).encode())
    tiny = ("p.yaml", inputs.gemm(2, 3, 4).encode())
    found = [
        Base("specification", (small, plain)),
        Base("specification", (plain, small)),
        Base("specification", (tiny, ("m.yaml", inputs.levels([64, 16], (4, 2)).encode()))),
        Base("specification", (plain, ("c.yaml", inputs.convolution(C=2, M=2, P=3, Q=3).encode()))),
        Base("specification", (plain, ("k.yaml", inputs.contraction(5, 2).encode()))),
        *(Base("specification", (("t.yaml", inputs.tree(n, 4).encode()),)) for n in (1, 2, 3)),
    ]
    for path in _files("tests/data/timeloop", "tests/data/timeloop_model", "tests/data/looptree"):
        found.append(Base("specification", (_read(path),)))
    for path in _files("tests/data/looptree_chains", "tests/data/timeloop_stats"):
        found.append(Base("specification", (_read(path),)))
    for path in _files("models/samples", "models/start", "examples"):
        found.append(Base("specification", (_read(path),)))
    found += [Base("specification", (_read(path),)) for path in _files("tests/data/report")]
    found += _bundled()
    for path in _files("models/workloads"):
        found.append(Base("network", (_read(path),)))
    sweep = {"architecture": "three_level", "workloads": ["tiny/mm8"], "objective": "edp"}
    text = yaml.safe_dump({"sweep": {**sweep, "parameters": {"GLB.depth": [64, 128]}}})
    found += [Base("sweep", (("s.yaml", text.encode()),))] * 3
    vectors = json.loads((ROOT / "tests/data/smaug/vectors.json").read_text(encoding="utf-8"))
    for vector in vectors[::6]:
        own = {key: value for key, value in vector.items() if key != "expected"}
        found.append(Base("operator", (("o.yaml", yaml.safe_dump(own).encode()),)))
    found += [Base("certificate", (plain, tiny, ("c.json", _certificate(plain, tiny))))] * 2
    found += [Base("model", (("m.onnx", each),)) for each in _models()]
    return tuple(found)


def _bundled() -> Iterator[Base]:
    """Each bundled architecture with its constraints, and a small problem; both are mutated."""
    for shape, sizes in SHAPES.items():
        body = yaml.safe_load((ROOT / f"models/shapes/{shape}.yaml").read_text(encoding="utf-8"))
        problem = yaml.safe_dump({"problem": {**body, "instance": sizes}}).encode()
        for folder in sorted((ROOT / "models/architectures").iterdir()):
            files = [_read(folder / "arch.yaml"), ("problem.yaml", problem)]
            if (folder / f"{shape}.yaml").exists():
                files.append(_read(folder / f"{shape}.yaml"))
            yield Base("specification", tuple(files))
            yield Base("specification", (*files[1:], files[0]))


def _files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.yaml")):
            if path.stat().st_size < 12_000:
                yield path


def _read(path: Path) -> tuple[str, bytes]:
    return path.name, path.read_bytes()


def _certificate(*files: tuple[str, bytes]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        sm.solve(sm.load(*(io.StringIO(text.decode()) for _, text in files)), certificate=path)
        return path.read_bytes()


def _models() -> list[bytes]:
    """Small ONNX models, if the package is there."""
    try:
        from onnx import TensorProto, helper
    except ImportError:
        return []
    found = []
    for operator, shapes in (("MatMul", ((4, 8), (8, 2))), ("Conv", ((1, 2, 6, 6), (4, 2, 3, 3)))):
        values = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in zip("xw", shapes, strict=True)
        ]
        end = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        node = helper.make_node(operator, ["x", "w"], ["y"], name="n")
        model = helper.make_model(helper.make_graph([node], "net", values, [end]))
        found.append(model.SerializeToString())
    return found


def mutated(seed: int) -> Base:
    """The input of a number."""
    random = Random(seed)
    base = random.choice(bases())
    files = list(base.files)
    which = -1 if random.random() < 0.8 else random.randrange(len(files))
    name, content = files[which]
    if not _is_text(content) or random.random() < 0.1:
        content = _bytes(content, random)
    else:
        text = content.decode()
        for _ in range(random.choice((1, 1, 1, 1, 2, 3))):
            text = random.choice(_WAYS)(text, random)
        content = text.encode("utf-8", "surrogatepass")
    files[which] = name, content
    return Base(base.kind, tuple(files))


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _bytes(content: bytes, random: Random) -> bytes:
    for _ in range(random.randint(1, 4)):
        at, length = random.randrange(len(content) + 1), random.choice((0, 1, 2, 8, 64))
        part = random.choice((b"", random.randbytes(length), content[at : at + length] * 3))
        content = content[:at] + part + content[at + random.choice((0, length)) :]
    return content


def _number(text: str, random: Random) -> str:
    """Another number in place of one."""
    found = list(re.finditer(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?", text))
    return _put(text, random.choice(found), random.choice(NUMBERS)) if found else text


def _word(text: str, random: Random) -> str:
    """Another word of the file, or a word that means something, in place of one."""
    found = list(re.finditer(r"[A-Za-z_]\w*", text))
    if not found:
        return text
    others = (*WORDS, *(match[0] for match in found))
    return _put(text, random.choice(found), random.choice(others))


def _put(text: str, match: re.Match[str], word: str) -> str:
    return text[: match.start()] + word + text[match.end() :]


def _splice(text: str, random: Random) -> str:
    """Lines of another file."""
    other = random.choice(random.choice(bases()).files)[1].decode("utf-8", "replace").split("\n")
    lines, start = text.split("\n"), random.randrange(len(other))
    at = random.randrange(len(lines) + 1)
    return "\n".join([*lines[:at], *other[start : start + random.randint(1, 8)], *lines[at:]])


def _tree(text: str, random: Random) -> str:
    """A part of the tree moved, doubled or left out."""
    try:
        tree = yaml.load(text, Loader=_Plain)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
    places = list(_places(tree))
    if not places:
        return text
    holder, key = random.choice(places)
    other, name = random.choice(places)
    how = random.choice(("drop", "put", "list", "table", "double"))
    if how == "drop":
        del holder[key]
    elif how == "put":
        holder[key] = json.loads(json.dumps(other[name], default=str))
    elif how == "double" and isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key] = {"x": holder[key]} if how == "table" else [holder[key]]
    return str(yaml.dump(tree, Dumper=_PlainDumper, sort_keys=False))


class _Plain(yaml.SafeLoader):
    """Reads tagged values as `Tagged`, and texts of numbers as numbers."""


class _PlainDumper(yaml.SafeDumper):
    """Writes `Tagged`."""


@dataclass
class Tagged:
    """A value with a local tag."""

    tag: str
    value: Any


def _construct(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return Tagged(node.tag, loader.construct_mapping(node, deep=True))
    if isinstance(node, yaml.SequenceNode):
        return Tagged(node.tag, loader.construct_sequence(node, deep=True))
    return Tagged(node.tag, node.value)


def _represent(dumper: yaml.SafeDumper, tagged: Tagged) -> yaml.Node:
    if isinstance(tagged.value, dict):
        return dumper.represent_mapping(tagged.tag, tagged.value)
    if isinstance(tagged.value, list):
        return dumper.represent_sequence(tagged.tag, tagged.value)
    return dumper.represent_scalar(tagged.tag, str(tagged.value))


_Plain.add_multi_constructor("!", _construct)
_PlainDumper.add_representer(Tagged, _represent)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every list and dict of a tree with each of its keys."""
    tree = tree.value if isinstance(tree, Tagged) else tree
    keys = (
        list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    )
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


_WAYS: tuple[Callable[[str, Random], str], ...] = (
    *(_number, _number, _number, _number, _number, _number, _word, _word, _splice),
    *(_tree, _tree, _tree, constraint_violations),
)


def _through(base: Base, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The functions that an input of this kind goes through. They share what `load` gives."""
    files = [folder / name for name, _ in base.files]
    for path, (_, content) in zip(files, base.files, strict=True):
        path.write_bytes(content)
    last, given = files[-1], {"time_limit": LIMIT}
    if base.kind == "operator":
        yield "tile", lambda: sm.tile(last, **given)
    elif base.kind == "sweep":
        yield "sweep", lambda: sm.sweep(last, **given)
    elif base.kind == "network":
        yield "network", lambda: sm.solve_network("three_level", last, **given)
    elif base.kind == "model":
        yield "import", lambda: sm.import_model(last)
        yield "import --fused", lambda: sm.import_fused(last)
    else:
        found: list[Any] = []
        inner = files[:-1] if base.kind == "certificate" else files
        yield "load", lambda: found.append(sm.load(*inner))
        if found and base.kind == "certificate":
            yield "check-certificate", lambda: sm.check_certificate(found[0], last)
        elif found:
            yield from _of_spec(found[0])


def _of_spec(spec: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    given = {"time_limit": LIMIT}
    if spec.mapping is not None:
        yield "validate", lambda: sm.validate(spec)
        yield "evaluate", lambda: sm.evaluate(spec)
        to = "timeloop" if isinstance(spec, sm.TreeSpec) else "looptree"
        yield "convert", lambda: sm.convert(spec, to)
    yield "solve", lambda: sm.solve(spec, **given)
    yield "space", lambda: sm.space(spec, **given)
    yield "bound", lambda: sm.bound(spec, **given)
    yield "explain", lambda: sm.explain(spec, **given)
    if isinstance(spec, sm.TreeSpec):
        yield "fuse", lambda: sm.fuse(spec, **given)


def _run(seed: int, tell: Callable[[str], None]) -> Tally:
    """One input through all its functions."""
    tally = Tally(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, work in _through(mutated(seed), Path(folder)):
            tell(name)
            started = time.process_time()
            try:
                shown = work()
                text = str(shown) + json.dumps(getattr(shown, "to_dict", dict)())
                end = "answer"
                if any(letter in text for letter in "\x1b\x07\x7f"):
                    tally.wrong.append(f"{seed} {name}: control characters")
            except (sm.InputError, sm.InfeasibleError, sm.LimitReached) as error:
                end = type(error).__name__
            except BaseException as error:
                end = "wrong"
                tally.wrong.append(f"{seed} {name}: {type(error).__name__}: {str(error)[:200]}")
            taken = time.process_time() - started
            tally.outcomes[name, end] += 1
            tally.slowest[name] = taken, str(seed)
            if taken > LIMIT + TOLERANCE:
                tally.wrong.append(f"{seed} {name}: {taken:.2f} s of processor time")
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return tally


def _work(seeds: range, connection: Connection) -> None:
    """The worker: says what it does, then what it has seen."""
    for seed in seeds:
        connection.send((seed, _run(seed, lambda name, seed=seed: connection.send((seed, name)))))
    connection.close()


def campaign(first: int, count: int) -> Tally:
    """The inputs of the numbers from `first` on, in worker processes one after the other."""
    bases()
    total, seed, context = Tally(), first, multiprocessing.get_context("fork")
    while seed < first + count:
        last = min(seed + _EACH, first + count)
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(range(seed, last), theirs))
        worker.start()
        theirs.close()
        seed, stopped = _watch(ours, seed, total)
        if stopped:
            total.wrong.append(stopped)
            worker.kill()
        worker.join()
    return total


def _watch(connection: Connection, seed: int, total: Tally) -> tuple[int, str]:
    """Listen to a worker until it ends. Returns: the next number, and what is wrong with the
    worker.
    """
    doing = "start"
    while True:
        if not connection.poll(_HANGS):
            return seed + 1, f"{seed} {doing}: hangs"
        try:
            seed, said = connection.recv()
        except EOFError:
            return (seed, "") if doing == "" else (seed + 1, f"{seed} {doing}: the process died")
        if isinstance(said, str):
            doing = said
            continue
        total.add(said)
        if said.peak > MOST_MEMORY:
            return seed + 1, f"{seed}: {said.peak >> 20} MiB"
        seed, doing = seed + 1, ""


if __name__ == "__main__":
    import sys

    print(campaign(int(sys.argv[1]), int(sys.argv[2])), flush=True)
