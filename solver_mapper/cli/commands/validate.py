"""`solver-mapper validate`: is a mapping legal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, excerpt
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.cli.output import print_answer, print_result
from solver_mapper.cli.request import interruptible, limited, stop_code
from solver_mapper.cli.search_options import Factors, FactorWord
from solver_mapper.core.arguments import refuse_given
from solver_mapper.core.results.verdict import Verdict
from solver_mapper.explain.nearest.suggestion import Suggestion


@command("validate")
def validate(
    files: Files,
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest", help="Also print the legal mapping that changes the fewest factors."
        ),
    ] = False,
    hold_bypass: Annotated[
        bool,
        typer.Option(
            "--hold-bypass", help="With --suggest: keep the bypass of the mapping if possible."
        ),
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="S", help="With --suggest: seconds for the search.", min=0),
    ] = None,
    factors: Factors = FactorWord.PERFECT,
    as_json: Json = False,
) -> int:
    """Check whether a mapping is legal.

    The check covers the hardware, the problem and the constraints."""
    if not suggest:
        refuse_given(
            {
                "--hold-bypass": hold_bypass,
                "--time-limit": time_limit is not None,
                "--factors imperfect": factors is FactorWord.IMPERFECT,
            },
            "is for --suggest",
            COMMAND_LINE,
            "add --suggest",
        )
    clock = limited(time_limit)
    spec = read_any(files, energies=False)
    with interruptible():
        verdict = api.validate(spec)
    suggestion = (
        api.suggest(spec, clock=clock, hold_bypass=hold_bypass, factors=factors.value)
        if suggest
        else None
    )
    if as_json:
        print_result(_Validation(verdict, suggestion), as_json)
    else:
        text = _text(verdict)
        if suggestion is not None and not verdict.legal:
            text += f"{suggestion}\n"
        print_answer(text)
    return stop_code() or (YES if verdict.legal else NO)


@dataclass(frozen=True)
class _Validation:
    """A verdict, with a suggestion where one was asked for."""

    verdict: Verdict
    suggestion: Suggestion | None

    def to_dict(self) -> dict[str, Any]:
        asked = {} if self.suggestion is None else {"suggestion": self.suggestion.to_dict()}
        return {**self.verdict.to_dict(), **asked}


def _text(verdict: Verdict) -> str:
    """The verdict, with the offending line below each violation, and the line of the constraint
    where that is another.
    """
    first, *rest = str(verdict).split("\n")
    lines = [first]
    for line, violation in zip(rest, verdict.violations, strict=True):
        lines.append(line)
        broken = () if violation.constraint is None else (violation.constraint.location,)
        for location in dict.fromkeys((violation.location, *broken)):
            lines += excerpt(location)
    return "\n".join([*lines, ""])
