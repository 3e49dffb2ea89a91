"""One independent way to prove an answer again, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from solver_mapper.core.objective import Objective
from solver_mapper.errors import ExactnessError

Ranks = tuple[Fraction, ...]


@dataclass(frozen=True)
class Route:
    """`did` says what was done, `found` what came out.

    The verdict is "agrees" if that proves the answer again; "consistent" if it bears the answer out
    without proving it; "none" if the route did not get that far. One that contradicts the answer
    raises ExactnessError.
    """

    route: str
    did: str
    verdict: Literal["agrees", "consistent", "none"]
    found: str

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {"route": self.route, "did": self.did, "verdict": self.verdict, "found": self.found}


@dataclass(frozen=True)
class Claim:
    """The answer to be verified: `ranks` of its mapping for all goals (None: proven that there is
    no mapping), `bound` of the first.
    """

    goals: Objective
    ranks: Ranks | None
    bound: Fraction | None
    proven: bool

    @property
    def shown(self) -> str:
        """The answer in the user's units."""
        return self.show(self.ranks)

    def show(self, ranks: Ranks | None) -> str:
        """`ranks` in the user's units."""
        if ranks is None:
            return "no mapping"
        return ", ".join(
            f"{goal.name} {goal.shown(rank):.12g}"
            for goal, rank in zip(self.goals.goals, ranks, strict=False)
        )

    def check(self, route: str, least: Ranks | None) -> None:
        """Compare with the least ranks of all mappings, as `route` found them.

        Raises: ExactnessError if they contradict the answer.
        """
        if self.proven and least != self.ranks:
            raise disagreement(
                route, f"the best is {self.show(least)}", f"the answer proven is {self.shown}"
            )
        if not self.proven and self.ranks is not None:
            if least is None or least > self.ranks:
                raise disagreement(
                    route, f"the best is {self.show(least)}", f"the answer has {self.shown}"
                )
            if self.bound is not None and least[0] < self.bound:
                raise disagreement(
                    route,
                    f"there is a mapping with {self.show(least)}",
                    f"the bound is {self.show((self.bound,))}",
                )


def disagreement(route: str, found: str, claimed: str) -> ExactnessError:
    """The error for two proofs that contradict each other."""
    return ExactnessError(
        f"the verification contradicts the answer: by {route} {found}, but {claimed}"
    )
