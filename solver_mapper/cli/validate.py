"""`solver-mapper validate`: is a mapping legal."""

from __future__ import annotations

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, excerpt, print_result
from solver_mapper.cli.inputs import read_any
from solver_mapper.verdict import Verdict


@command("validate")
def validate(files: Files, as_json: Json = False) -> int:
    """Is the mapping in FILE... legal: hardware, problem and constraints."""
    verdict = api.validate(read_any(files))
    if as_json:
        print_result(verdict, as_json)
    else:
        _print(verdict)
    return YES if verdict.legal else NO


def _print(verdict: Verdict) -> None:
    """The verdict, with the offending line below each violation, and the line of the rule where that is another."""
    first, *rest = str(verdict).split("\n")
    print(first)
    for line, violation in zip(rest, verdict.violations, strict=True):
        print(line)
        asked = () if violation.asked is None else (violation.asked.place,)
        for place in dict.fromkeys((violation.place, *asked)):
            for shown in excerpt(place):
                print(shown)
