"""Warnings: what was accepted although its writer may have meant something else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from solver_mapper.errors import InputError, SourceLocation, unknown_name

CODES = {
    "accelergy-attribute": "an attribute that only estimators of energy and area read",
    "assumed-shape": "a problem without a shape",
    "bandwidth": (
        "a bandwidth below one word per cycle, or far above what the compute units below can use"
    ),
    "capacity-unit": "a capacity that looks like bytes or kilobytes instead of words",
    "clusters": "instances that are not in whole clusters, so that some pay for no access",
    "free-wires": "wires with an energy per mm, but no area from which their length follows",
    "idle-constraint": "a constraint about loops or tensors where there can be none",
    "left-out-component": "a component that neither stores nor computes",
    "merge-list": "a list that the merge key '<<<' does not join",
    "misspelt-coefficient": (
        "a coefficient of the problem in another letter case, which is not read"
    ),
    "no-energy-table": (
        "an energy that comes from a formula, because neither a table nor an attribute has it"
    ),
    "no-output": "a problem that writes no tensor",
    "power-gating": "power gating, which is not modelled",
    "repeated-key": "a key that is given twice with the same value",
    "replaced-problem": "a problem in the architecture's files, beside a network",
    "ruby": "a mapspace template that says how Timeloop searches",
    "small-level": "a level with fewer words than tensors that it may store",
    "sparse-ignored": "sparse optimizations that --ignore-sparse leaves out",
    "split-above-loops": "a split above the number of loops",
    "split-position": "a split that Timeloop's front end counts from another position",
    "subtree-attribute": "an attribute that does not reach the components of a subtree",
    "unit-dimensions": "a constraint that names dimensions of bound 1 only",
    "unknown-version": "a version that architectures of this form do not have",
    "unread-constraints": "constraints without the problem whose dimensions they name",
    "unread-key": "a key that Timeloop does not read where it stands, or not beside another",
    "unused-density": "densities of a problem without sparse optimizations",
    "unused-energy": "an energy table of a component that the architecture does not have",
    "unused-fact": "an entry of the problem's instance that is neither dimension nor coefficient",
    "unused-variable": "a template variable that no template uses",
    "zero-energy": "an energy of 0 at a level that moves words",
}
"""Every code of a warning, with what it is about."""
ENERGY_CODES = frozenset({"free-wires", "no-energy-table", "unused-energy", "zero-energy"})


class InputWarning(str):
    """The text of one warning, `file:line:column: what`, with its `code` and `location`."""

    code: str
    location: SourceLocation

    def __new__(cls, code: str, location: SourceLocation, what: str) -> InputWarning:
        """The warning as a text with its code and location."""
        text = super().__new__(cls, f"{location}: {what}")
        text.code, text.location = code, location
        return text

    def __reduce__(self) -> tuple[type[InputWarning], tuple[str, SourceLocation, str]]:
        return InputWarning, (self.code, self.location, self.removeprefix(f"{self.location}: "))


@dataclass
class Notes:
    """Warnings gathered while reading, each once. With `ignore_sparse`, sparsity is left out with a
    warning, not refused.
    """

    ignore_sparse: bool = False
    lines: list[InputWarning] = field(default_factory=list)

    def sparse(self, location: SourceLocation, what: str) -> None:
        """Leave out sparsity at `location`, which `what` names. Raises: InputError unless that was
        asked for.
        """
        if not self.ignore_sparse:
            hint = (
                "--ignore-sparse leaves them out: all tensors are then dense (Python:"
                " ignore_sparse=True)"
            )
            raise InputError(f"{what} are not modelled", location, hint)
        self.add("sparse-ignored", location, f"{what} are left out: all tensors are dense")

    def add(self, code: str, location: SourceLocation, what: str) -> None:
        """Add the warning `what` about `location`; `code` is one of `CODES`."""
        if code not in CODES:
            raise KeyError(code)
        warning = InputWarning(code, location, what)
        if warning not in self.lines:
            self.lines.append(warning)


@dataclass(frozen=True)
class WarningFilter:
    """Which warnings count: codes that are turned off, codes that are errors, and whether all are
    (`strict`).
    """

    off: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()
    strict: bool = False

    def without(self, codes: frozenset[str]) -> WarningFilter:
        """The same with further codes turned off."""
        return replace(self, off=self.off | codes)

    def kept(self, warnings: tuple[InputWarning, ...]) -> tuple[InputWarning, ...]:
        """The warnings that are not turned off.

        Raises: InputError for those that are errors, all in one.
        """
        left = tuple(each for each in warnings if each.code not in self.off)
        wrong = [
            InputError(_what(each), each.location)
            for each in left
            if self.strict or each.code in self.errors
        ]
        if wrong:
            raise InputError(wrong[0].message, wrong[0].location, more=tuple(wrong[1:]))
        return left


def warning_filter(
    off: Iterable[str], errors: Iterable[str] = (), *, strict: bool = False
) -> WarningFilter:
    """Raises: InputError for a code that does not exist."""
    off, errors = frozenset(off), frozenset(errors)
    for code in sorted(off | errors):
        if code not in CODES:
            raise unknown_name("warning", code, CODES, SourceLocation("-W"))
    return WarningFilter(off, errors, strict)


def _what(warning: InputWarning) -> str:
    return f"{warning.removeprefix(f'{warning.location}: ')} [{warning.code}]"
