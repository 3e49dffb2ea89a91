"""Hostile input: bombs, huge and endless files, control characters, names of files."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults import inputs
from tests.faults.command import run
from tests.faults.registry import clean, commands, ends_with, probe, refused, write

GOOD = {"a.yaml": inputs.levels([64]), "p.yaml": inputs.gemm(16, 16, 16)}

BOMBS = {
    "aliases, 10^9 values": inputs.bomb(8),
    "aliases, 10^30 values": inputs.bomb(29),
    "aliases, 2^60 values": inputs.bomb(59, width=2),
    "aliases under 'mapping'": inputs.bomb(12, top="mapping"),
    "aliases under 'architecture'": inputs.bomb(12, top="architecture"),
    "aliases under 'sweep'": inputs.bomb(12, top="sweep"),
    "aliases under 'operator'": inputs.bomb(12, top="operator"),
    "aliases under 'arch'": inputs.bomb(12, top="arch"),
    "merge keys": "variables: &v0 {x: 1}\n"
    + "".join(f"k{n}: &v{n + 1} {{<<: [*v{n}, *v{n}], y{n}: *v{n}}}\n" for n in range(40)),
    "cyclic alias": "problem: &a [*a]\n",
    "10,000 brackets": inputs.nested(10_000),
    "400 brackets": inputs.nested(400),
    "150 braces": inputs.nested(150, "{a: ", "}"),
    "10,000 block levels": "".join(f"{' ' * n}a:\n" for n in range(10_000)),
    "long key": f"{'k' * 200_000}: 1\n",
    "long plain value": f"problem: {'v' * 3_000_000}\n",
    "many anchors": "problem: [" + ", ".join(f"&a{n} x" for n in range(50_000)) + "]\n",
    "many documents": "---\nproblem: 1\n" * 20_000,
    "a tag of Python": "problem: !!python/object/apply:os.system [touch owned]\n",
    "no text": "\x00" * 1000,
    "invalid UTF-16": "\ufeff\ufffe" * 100,
    "power of power": inputs.gemm(4, 4, 4).replace("K: 4", "K: 9**9**9**9"),
    "factorial by product": inputs.gemm(4, 4, 4).replace("K: 4", "K: " + "*".join(["9" * 90] * 20)),
    "nested parentheses": inputs.gemm(4, 4, 4).replace("K: 4", "K: " + "(" * 900 + "4" + ")" * 900),
    "many operators": inputs.gemm(4, 4, 4).replace("K: 4", "K: " + "-" * 1500 + "4"),
    "long number": inputs.gemm(4, 4, 4).replace("K: 4", "K: " + "9" * 100_000),
    "shift": inputs.gemm(4, 4, 4).replace("K: 4", "K: 1<<9999999999"),
    "million-fold exponent": inputs.gemm(4, 4, 4).replace("K: 4", "K: 1e1000000000"),
    "calls": inputs.gemm(4, 4, 4).replace("K: 4", "K: " + "abs(" * 300 + "4" + ")" * 300),
}
commands(
    "bomb",
    {**GOOD, **{f"{number}.yaml": text for number, text in enumerate(BOMBS.values())}},
    {
        name: (["validate", "a.yaml", f"{number}.yaml"], refused)
        for number, name in enumerate(BOMBS)
    },
)
commands(
    "bomb in a sweep or an operator",
    {"b.yaml": inputs.bomb(29, top="sweep"), "o.yaml": inputs.bomb(29, top="operator")},
    {
        "sweep": (["sweep", "b.yaml"], refused),
        "tile": (["tile", "o.yaml"], refused),
        "network": (["solve", "eyeriss", "b.yaml"], refused),
        "convert": (["convert", "o.yaml", "--to", "timeloop"], refused),
    },
)

TEMPLATES = {
    "endless loop": "{% for i in range(99999) %}{% for j in range(99999) %}"
    "{% endfor %}{% endfor %}",
    "endless macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "branching macro": "{% macro m(n) %}{% if n %}{% set a = m(n-1) %}{% set b = m(n-1) %}"
    "{% endif %}{% endmacro %}{{ m(60) }}",
    "doubling text": "{% set n = namespace(a='x') %}{% for i in range(60) %}"
    "{% set n.a = n.a ~ n.a %}{% endfor %}",
    "doubling sum": "{% set n = namespace(a='x') %}{% for i in range(60) %}"
    "{% set n.a = n.a + n.a %}{% endfor %}",
    "doubling list": "{% set n = namespace(a=[1]) %}{% for i in range(60) %}"
    "{% set n.a = n.a + n.a %}{% endfor %}",
    "replace": "{{ ('x' * 100000) | replace('x', 'y' * 100000) | length }}",
    "replace method": "{{ ('x' * 100000).replace('x', 'y' * 100000) | length }}",
    "center": "{{ 'x' | center(2000000000) | length }}",
    "ljust": "{{ 'x'.ljust(2000000000) | length }}",
    "format": "{{ '%2000000000d' % 1 }}",
    "format filter": "{{ '%2000000000d' | format(1) }}",
    "format method": "{{ '{:2000000000}'.format(1) }}",
    "join": "{{ range(99999) | join('x' * 100000) | length }}",
    "indent": "{{ ('x\n' * 100000) | indent(100000) | length }}",
    "power": "{{ 9 ** 9 ** 9 }}",
    "repeat": "{{ 'x' * 10 ** 12 }}",
    "shell": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ cycler.__init__.__globals__.os.system('touch owned') }}",
    "include itself": "{{ include('t.yaml') }}",
    "include /etc/passwd": "{{ include_text('/etc/passwd') }}",
    "include ..": "{{ include_text('../../../../../../etc/passwd') }}",
}
for name, body in TEMPLATES.items():

    def _template(folder: Path, body: str = body) -> None:
        write(folder, {**GOOD, "t.yaml": f"{body}\n{GOOD['p.yaml']}"})
        outcome = run(["validate", "a.yaml", "t.yaml"], folder, timeout=60)
        refused(outcome)
        assert "root:" not in outcome.out + outcome.err
        assert not (folder / "owned").exists()

    probe(f"template: {name}")(_template)


def _across_files(folder: Path) -> None:
    """Each file includes the next one ten times: the tree has 10^12 values."""
    for number in range(12):
        inner = f"f{number + 1}.yaml"
        parts = ", ".join([f"{{{{ include('{inner}') }}}}"] * 10)
        (folder / f"f{number}.yaml").write_text(f"variables: {{x: [{parts}]}}\n", encoding="utf-8")
    (folder / "f12.yaml").write_text("x: 1\n", encoding="utf-8")
    refused(run(["validate", "f0.yaml"], folder))


probe("bomb: includes across files")(_across_files)


def _size(megabytes: int, line: bytes) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        write(folder, GOOD)
        with open(folder / "big.yaml", "wb") as file:
            for _ in range(megabytes):
                file.write(line * ((1 << 20) // len(line)))
        refused(run(["validate", "a.yaml", "big.yaml"], folder))

    return work


probe("100 MB of comments")(_size(100, b"# nothing to see\n"))
probe("100 MB of values")(_size(100, b"- {a: 1, b: 2}\n"))


def _sparse(folder: Path) -> None:
    write(folder, GOOD)
    with open(folder / "sparse.yaml", "wb") as file:
        file.truncate(1 << 40)
    refused(run(["validate", "a.yaml", "sparse.yaml"], folder))


probe("a sparse file of 1 TB")(_sparse)

for source in ("/dev/zero", "/dev/urandom", "/dev/null", "/", "/proc/self/mem"):

    def _device(folder: Path, source: str = source) -> None:
        write(folder, GOOD)
        refused(run(["validate", "a.yaml", source], folder))

    probe(f"input {source}")(_device)


def _endless_stdin(folder: Path) -> None:
    write(folder, GOOD)
    refused(run(["validate", "a.yaml", "-"], folder, stdin=Path("/dev/zero")))


probe("input - from /dev/zero")(_endless_stdin)
for command, words in {
    "tile": ["tile", "/dev/zero"],
    "sweep": ["sweep", "/dev/zero"],
    "network": ["solve", "eyeriss", "/dev/zero"],
    "import": ["import", "/dev/zero"],
    "check-certificate": ["check-certificate", "a.yaml", "p.yaml", "/dev/zero"],
    "convert": ["convert", "/dev/zero", "--to", "looptree"],
    "-D": ["validate", "a.yaml", "-D", "x=/dev/zero"],
}.items():

    def _endless(folder: Path, words: Sequence[str] = words) -> None:
        write(folder, GOOD)
        refused(run(words, folder, limits={}))

    probe(f"input /dev/zero: {command}")(_endless)


def _fifo_with_writer(folder: Path) -> None:
    """A pipe with a writer is read like a file."""
    write(folder, GOOD)
    os.mkfifo(folder / "pipe.yaml")

    def feed() -> None:
        with open(folder / "pipe.yaml", "w", encoding="utf-8") as pipe:
            pipe.write(GOOD["p.yaml"])

    threading.Thread(target=feed, daemon=True).start()
    ends_with(0)(run(["solve", "a.yaml", "pipe.yaml"], folder))


probe("a FIFO with a writer")(_fifo_with_writer)


def _fifo_alone(folder: Path) -> None:
    write(folder, GOOD)
    os.mkfifo(folder / "pipe.yaml")
    words = ["solve", "a.yaml", "pipe.yaml", "--time-limit", "1"]
    outcome = run(words, folder, timeout=8)
    ends_with(2, 3)(outcome)
    assert outcome.cpu < 3


probe("a FIFO without a writer, --time-limit 1")(_fifo_alone)

E = inputs.ESCAPE
NAMED = {
    "level": inputs.levels([64]).replace("name: L1", 'name: "\\e[31mred\\a"'),
    "class": inputs.levels([64]).replace("class: SRAM", 'class: "\\e[31mred\\a"'),
    "key": inputs.levels([64]).replace("attributes:", '"\\e[31mred\\a":', 1),
    "top-level key": inputs.levels([64]) + '"\\e[31mred\\a": 1\n',
    "C1 control": inputs.levels([64]).replace("name: L1", 'name: "\\x9b31mred"'),
    "delete": inputs.levels([64]).replace("name: L1", 'name: "L\\x7f"'),
    "carriage return": inputs.levels([64]).replace("name: L1", 'name: "L\\rxx"'),
    "right to left": inputs.levels([64]).replace("name: L1", 'name: "L\\u202exx"'),
}
for name, text in NAMED.items():
    for command in ("solve", "validate", "space"):

        def _escape(folder: Path, text: str = text, command: str = command) -> None:
            write(folder, {"x.yaml": text, "p.yaml": GOOD["p.yaml"]})
            outcome = run([command, "x.yaml", "p.yaml"], folder)
            clean(outcome)
            assert not set("\r\u202e") & set(outcome.out + outcome.err), outcome

        probe(f"escape in a {name}: {command}")(_escape)


def _tensor_names(folder: Path) -> None:
    text = GOOD["p.yaml"].replace("name: A", 'name: "\\e[31mA"')
    write(folder, {**GOOD, "p.yaml": text})
    for words in (["solve", "a.yaml", "p.yaml", "--json"], ["bound", "p.yaml", "-o", "out"]):
        clean(run(words, folder))
    if (folder / "out").exists():
        assert "\x1b" not in (folder / "out" / "curve.svg").read_text(encoding="utf-8")


probe("escape in a tensor")(_tensor_names)


def _markup(folder: Path) -> None:
    """Names that are markup are text in SVG and HTML."""
    write(folder, {"t.yaml": inputs.tree(2, 4).replace("E0", "'<script>alert(1)</script>'")})
    ends_with(0)(run(["solve", "t.yaml", "-o", "out"], folder))
    for name in ("mapping.svg", "mapping.html"):
        text = (folder / "out" / name).read_text(encoding="utf-8")
        assert "<script>alert" not in text, name


probe("markup in names")(_markup)

for where, words in {
    "file name": [f"{E}.yaml"],
    "file name that exists": ["exists"],
    "-o": ["a.yaml", "p.yaml", "-o", f"{E}/x"],
    "--objective": ["a.yaml", "p.yaml", "--objective", E],
    "-D": ["a.yaml", "p.yaml", "-D", f"{E}=1"],
    "option": ["a.yaml", f"--{E}"],
    "-W": ["a.yaml", "-W", E],
}.items():

    def _argument(folder: Path, words: Sequence[str] = words) -> None:
        write(folder, {**GOOD, f"{E}.yaml": "problem: [" if words == ["exists"] else "x: ["})
        clean(
            run(["solve", *(f"{E}.yaml" if word == "exists" else word for word in words)], folder)
        )

    probe(f"escape in {where}")(_argument)


def _command_word(folder: Path) -> None:
    clean(run([E], folder))


probe("escape in the command's name")(_command_word)


def _layer_names(folder: Path) -> None:
    """Names of layers are names of folders, but only below the output folder."""
    problem = json.loads(json.dumps(_problem()))
    names = [
        "../../escaped",
        "/tmp/escaped-layer",
        "..",
        ".",
        "a/../../b",
        "CON",
        "x" * 300,
        "\\..\\y",
    ]
    layers = [{"name": name, "count": 1, "problem": problem} for name in names]
    (folder / "deep" / "er").mkdir(parents=True)
    work = folder / "deep" / "er"
    write(work, {"a.yaml": GOOD["a.yaml"], "net.yaml": json.dumps({"layers": layers})})
    before = {path for path in folder.rglob("*") if ".streams" not in path.parts}
    outcome = run(["solve", "a.yaml", "net.yaml", "-o", "out"], work)
    clean(outcome)
    written = {path for path in folder.rglob("*") if ".streams" not in path.parts} - before
    assert all(path.is_relative_to(work / "out") for path in written), written
    assert not Path("/tmp/escaped-layer").exists()


def _problem() -> object:
    import yaml

    return yaml.safe_load(GOOD["p.yaml"])["problem"]


probe("layers named like paths")(_layer_names)


def _link(folder: Path) -> None:
    """A file of the output folder that is a link elsewhere is replaced, not followed."""
    write(folder, GOOD)
    (folder / "precious").write_text("mine", encoding="utf-8")
    (folder / "out").mkdir()
    (folder / "out" / "map.yaml").symlink_to(folder / "precious")
    ends_with(0)(run(["solve", "a.yaml", "p.yaml", "-o", "out"], folder))
    assert (folder / "precious").read_text(encoding="utf-8") == "mine"


probe("an output file that is a link")(_link)


def _no_pickles(folder: Path) -> None:
    """Bytes in place of a store, a certificate or a model are refused, never loaded."""
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.system, ("touch owned",)

    write(folder, GOOD)
    (folder / "x.pkl").write_bytes(pickle.dumps(Evil()))
    for words in (
        ["solve", "a.yaml", "tiny", "--store", "x.pkl"],
        ["check-certificate", "a.yaml", "p.yaml", "x.pkl"],
        ["import", "x.pkl"],
        ["validate", "x.pkl"],
    ):
        ends_with(2)(run(words, folder))
    assert not (folder / "owned").exists()


probe("pickles are not loaded")(_no_pickles)


def _many_errors(folder: Path) -> None:
    """Of very many mistakes the first are printed, and how many there are more."""
    write(folder, {"x.yaml": "".join(f"k{number}: {number}\n" for number in range(20_000))})
    outcome = run(["validate", "x.yaml"], folder)
    refused(outcome)
    assert "and 19,950 errors more" in outcome.err, outcome


probe("20,000 mistakes")(_many_errors)
