"""Probes: named cases, each of which runs under one fault and fails if the program gives way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.command import MOST_MEMORY, Outcome, run

Run = Callable[[Path], None]
PROBES: dict[str, Probe] = {}


@dataclass(frozen=True)
class Probe:
    """`run(folder)` raises AssertionError if the fault is not handled. `slow`: takes more than a
    fraction of a second, so it is a campaign.
    """

    name: str
    run: Run
    slow: bool = False


def probe(name: str, *, slow: bool = False) -> Callable[[Run], Run]:
    """Register a probe."""

    def register(work: Run) -> Run:
        assert name not in PROBES, name
        PROBES[name] = Probe(name, work, slow)
        return work

    return register


def commands(
    kind: str,
    files: dict[str, str],
    cases: dict[str, tuple[Sequence[str], Callable[[Outcome], None]]],
    *,
    slow: bool = False,
    timeout: float = 60.0,
    stdin: bytes = b"",
) -> None:
    """A probe for each case: write `files`, run the words, judge the outcome."""
    for name, (words, judge) in cases.items():

        def work(
            folder: Path,
            words: Sequence[str] = words,
            judge: Callable[[Outcome], None] = judge,
        ) -> None:
            write(folder, files)
            judge(run(words, folder, timeout=timeout, stdin=stdin))

        probe(f"{kind}: {name}", slow=slow)(work)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def clean(outcome: Outcome) -> None:
    """Neither a traceback nor an internal error, nothing that a terminal would obey, and bounded
    memory.
    """
    text = outcome.out + outcome.err
    assert "Traceback" not in text, outcome
    assert "internal error" not in text, outcome
    assert outcome.code in (0, 1, 2, 3, 129, 130, 143), outcome
    assert not any(letter in text for letter in "\x1b\x07\x9b\x7f"), outcome
    assert outcome.peak < MOST_MEMORY, outcome


def ends_with(*codes: int, says: str = "", out: str = "") -> Callable[[Outcome], None]:
    """Clean, with one of these exit codes, `says` on standard error, `out` on standard output."""

    def judge(outcome: Outcome) -> None:
        clean(outcome)
        assert outcome.code in codes, outcome
        assert says in outcome.err, outcome
        assert out in outcome.out, outcome

    return judge


def refused(outcome: Outcome) -> None:
    """Clean, exit code 2, in bounded time and memory, with a message of bounded length."""
    ends_with(2)(outcome)
    assert outcome.cpu < 15, outcome
    assert outcome.peak < 1 << 30, outcome
    assert 0 < len(outcome.err) < 20_000, outcome


def within(seconds: float, *codes: int) -> Callable[[Outcome], None]:
    """Clean, with one of these exit codes, and not more processor time than the limit plus its
    tolerance: the larger of 1 s and 10 %. (A loaded machine stretches the wall time.)
    """

    def judge(outcome: Outcome) -> None:
        ends_with(*codes)(outcome)
        assert outcome.cpu <= seconds + max(1.0, seconds / 10), outcome

    return judge
