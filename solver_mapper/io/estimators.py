"""Energies of components by Accelergy's successor hwcomponents, where it is installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from solver_mapper.core.architecture import Architecture
from solver_mapper.errors import InputError, SourceLocation

Estimate = Callable[[str, dict[str, Any], str, dict[str, Any]], Any]
"""`hwcomponents.get_action_cost`: class, attributes, action and its arguments; `energy` is in J."""

_ERROR = re.compile(r"\w*(Error|Exception): ")
_BUILD_CACTI = (
    "the program 'cacti' of the package hwcomponents-cacti does not run here; build it from the"
    " sources beside it (make clean opt), or write the energy into an ERT by hand"
)


@dataclass(frozen=True)
class TableEntry:
    """One figure of a table: the action's name there, and what the estimator is asked for."""

    name: str
    asked: str
    arguments: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class EstimatedComponent:
    """A component as an estimator knows it."""

    name: str
    kind: str
    attributes: tuple[tuple[str, float], ...]
    actions: tuple[TableEntry, ...]
    location: SourceLocation

    def __str__(self) -> str:
        listed = ", ".join(f"{key}={value:g}" for key, value in self.attributes)
        return f"{self.kind}({listed})"


@dataclass(frozen=True)
class EstimatedTable:
    """An energy reference table (pJ). `origins` say for each component how it was estimated."""

    energies: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
    origins: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The content of the file."""
        tables = [
            {"name": name, "actions": [{"name": action, "energy": pj} for action, pj in rows]}
            for name, rows in self.energies
        ]
        return {"ERT": {"version": 0.4, "tables": tables}}

    def to_yaml(self) -> str:
        """The table as a file that stands beside the architecture."""
        head = "".join(f"# {line}\n" for line in self.origins)
        return head + yaml.safe_dump(self.to_dict(), sort_keys=False)

    def __str__(self) -> str:
        return self.to_yaml().rstrip("\n")


def parts_of(architecture: Architecture, tech_node: float) -> tuple[EstimatedComponent, ...]:
    """What is to be estimated: every level that stores something, and the compute units.

    Args: `tech_node` in nm. An access is one block of a level.
    """
    node = ("tech_node", tech_node * 1e-9)
    parts = []
    for level in architecture.levels:
        if level.entries == 0:
            continue
        width = level.word_bits * level.block_size
        moved = (("bits_per_action", width),)
        actions = tuple(
            TableEntry(name, asked, moved)
            for name, asked in (("read", "read"), ("write", "write"), ("update", "write"))
        )
        own: tuple[tuple[str, float], ...]
        if level.technology == "DRAM" or level.entries is None:
            kind, own = "LPDDR4", (("width", width),)
        elif level.entries <= level.block_size:
            kind, own = "Register", (node, ("width", width))
        else:
            size = level.word_bits * level.entries
            kind, own = "SRAM", (node, ("width", width), ("size", size))
        parts.append(EstimatedComponent(level.name, kind, own, actions, level.location))
    unit = architecture.arithmetic
    widths = (("multiplier_width", unit.word_bits), ("adder_width", 2 * unit.word_bits))
    parts.append(
        EstimatedComponent(
            unit.name, "IntMAC", (node, *widths), (TableEntry("compute", "compute"),), unit.location
        )
    )
    return tuple(parts)


def estimated(architecture: Architecture, tech_node: float) -> EstimatedTable:
    """A table of all energies of `architecture`.

    Args: `tech_node` in nm.
    Raises: InputError, naming every figure that is missing, if hwcomponents is not installed or
    does not know a component.
    """
    parts = parts_of(architecture, tech_node)
    estimate = _estimator(parts)
    found, missing = [], []
    for part in parts:
        rows = []
        for action in part.actions:
            try:
                cost = estimate(
                    part.kind, dict(part.attributes), action.asked, dict(action.arguments)
                )
                rows.append((action.name, float(cost.energy) * 1e12))
            except Exception as error:  # an estimator raises what it likes
                missing.append((part, action, str(error)))
        found.append((part.name, tuple(rows)))
    if missing:
        raise _all_of(
            [
                InputError(
                    f"no energy of '{action.name}' of '{part.name}': hwcomponents fails for"
                    f" {part}: {reason_of(text)}",
                    part.location,
                    _BUILD_CACTI
                    if "CACTI failed" in text
                    else "write the energy into an ERT by hand",
                )
                for part, action, text in missing
            ]
        )
    origins = ("Estimated by hwcomponents.", *(f"{part.name}: {part}" for part in parts))
    return EstimatedTable(tuple(found), origins)


def reason_of(text: str) -> str:
    """The error in a message of hwcomponents, which ends with the log of each model that it tried;
    its first line if there is none.
    """
    lines = [line.strip(" |") for line in text.strip().split("\n")]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines)[0][:160]


def _estimator(parts: Sequence[EstimatedComponent]) -> Estimate:
    try:
        import hwcomponents
    except ImportError:
        raise _all_of(
            [
                InputError(
                    f"'{part.name}' needs energies (pJ) of"
                    f" {', '.join(action.name for action in part.actions)}; it would be estimated"
                    f" as {part}",
                    part.location,
                    "install 'solver-mapper[energies]' (Python 3.12 or newer), or run 'accelergy"
                    " FILE... -o DIR' and give DIR/ERT.yaml beside the architecture",
                )
                for part in parts
            ]
        ) from None
    estimate: Estimate = hwcomponents.get_action_cost
    return estimate


def _all_of(errors: Sequence[InputError]) -> InputError:
    """All errors as one."""
    first, *others = errors
    return InputError(first.message, first.location, first.hint, tuple(others))
