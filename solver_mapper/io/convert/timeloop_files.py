"""LoopTree architectures and Einsums as Timeloop's flat architecture, energy table and problem."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from fractions import Fraction

from solver_mapper.cost.looptree.hardware import Chain, Kind, Unit
from solver_mapper.cost.looptree.workload import Einsum
from solver_mapper.errors import InputError
from solver_mapper.io.convert.conversion import number
from solver_mapper.io.convert.differences import WRITE_BACK
from solver_mapper.io.timeloop.mapping_writer import yaml_word

Letters = Mapping[str, str]
_PICO = 10**12


def letters_for(einsum: Einsum) -> dict[str, str]:
    """A capital letter for each rank variable, its own initial if that is free.

    Raises: InputError for more than 26 variables.
    """
    found: dict[str, str] = {}
    for variable in einsum.variables:
        free = [
            letter
            for letter in (variable[0].upper(), *string.ascii_uppercase)
            if letter not in found.values()
        ]
        if not free:
            raise InputError(
                f"Einsum '{einsum.name}' has more rank variables than Timeloop has letters",
                einsum.location,
            )
        found[variable] = free[0]
    return found


def write_architecture(chain: Chain, einsum: Einsum) -> tuple[list[str], list[str]]:
    """Lines of `arch:` and `ERT:`, and notes on what they cannot say.

    Raises: InputError for a toll, and for a memory whose tensors have words of different sizes.
    """
    memories = [level for level, unit in enumerate(chain.units) if unit.kind is Kind.MEMORY]
    notes = [WRITE_BACK]
    storage: list[list[str]] = []
    tables: list[str] = []
    for unit in chain.units:
        if unit.kind is Kind.TOLL:
            raise InputError(f"'{unit.name}': Timeloop's notation has no tolls", unit.location)
    for level in memories:
        unit = chain.units[level]
        bits = _word_bits(unit, einsum)
        entry = [f"- name: {yaml_word(unit.name)}", f"  word-bits: {bits}", *_mesh(chain, level)]
        if unit.size is not None:
            entry.append(f"  entries: {int(unit.size / bits)}")
        for name, bandwidth in _bandwidths(unit, einsum, notes):
            entry.append(f"  {name}: {number(bandwidth)}")
        storage.append(entry)
        rows = {action: _per_word(unit, action, einsum) for action in ("read", "write")}
        tables += _table(unit.name, {**rows, "update": rows["write"], "leak": unit.leak})
    lines = ["arch:", "  arithmetic:", f"    name: {yaml_word(chain.compute.name)}"]
    lines.append(f"    word-bits: {_word_bits(chain.units[memories[-1]], einsum)}")
    lines += ["  " + line for line in _mesh(chain, len(chain.units) - 1)]
    lines.append("  storage:")
    lines += ["  " + line for entry in reversed(storage) for line in entry]
    compute = {"compute": chain.compute.actions["compute"].energy, "leak": chain.compute.leak}
    return [
        *lines,
        "ERT:",
        "  version: 0.4",
        "  tables:",
        *tables,
        *_table(chain.compute.name, compute),
    ], notes


def _word_bits(unit: Unit, einsum: Einsum) -> int:
    sizes = {unit.bits.get(access.name, access.bits) for access in einsum.accesses}
    if len(sizes) > 1 or next(iter(sizes)).denominator != 1:
        shown = ", ".join(
            f"{access.name} {float(unit.bits[access.name]):g}" for access in einsum.accesses
        )
        raise InputError(
            f"'{unit.name}' holds values of different sizes ({shown} bits): a level of Timeloop has"
            " one word size",
            unit.location,
        )
    return int(next(iter(sizes)))


def _mesh(chain: Chain, level: int) -> Iterator[str]:
    """Instances and their layout, X by Y."""
    across, total = 1, 1
    for index, unit in enumerate(chain.units[: level + 1]):
        for fanout in unit.fanouts:
            total *= fanout.size
            if fanout.size > 1 and axis_of(chain, index, fanout.name) == "X":
                across *= fanout.size
    yield f"  instances: {total}"
    yield f"  meshX: {across}"


def axis_of(chain: Chain, level: int, name: str) -> str:
    """The axis of a spatial dimension: of those between two memories, the first is X, the others Y;
    their own names count.
    """
    memories = [index for index, unit in enumerate(chain.units) if unit.kind is Kind.MEMORY]
    outer = max((index for index in memories if index < level), default=-1)
    inner = min((index for index in memories if index > outer), default=len(chain.units) - 1)
    names = [
        (index, fanout.name)
        for index in range(outer + 1, inner + 1)
        for fanout in chain.units[index].fanouts
        if fanout.size > 1
    ]
    if (
        name in ("X", "Y")
        and {each for _, each in names} <= {"X", "Y"}
        and len(set(names)) == len({each for _, each in names})
    ):
        return name
    return "X" if names.index((level, name)) == 0 else "Y"


def _per_word(unit: Unit, action: str, einsum: Einsum) -> Fraction:
    """Energy in J of one value. Raises: InputError where it differs between tensors."""
    kind = unit.actions[action]
    energies = {
        kind.energy * kind.actions_per_value[access.name] * unit.count_scale
        for access in einsum.accesses
    }
    if len(energies) > 1:
        raise InputError(
            f"a {action} of '{unit.name}' costs more for some tensors: a level of Timeloop has one"
            " price",
            unit.location,
        )
    return next(iter(energies))


def _bandwidths(unit: Unit, einsum: Einsum, notes: list[str]) -> Iterator[tuple[str, Fraction]]:
    """Words per second of the ports, as far as the unit's latency is one of Timeloop's."""
    lines = [
        {action: weight for action, weight in line.weights.items() if weight}
        for line in unit.latency.lines
    ]
    lines = [line for line in lines if line]
    rates = {
        action: unit.actions[action].actions_per_value[einsum.accesses[0].name]
        for action in ("read", "write")
    }
    if any(line.constant for line in unit.latency.lines):
        notes.append(f"latency of '{unit.name}' has a constant, which Timeloop cannot say")
    for line in lines:
        if len(line) == 1:
            ((action, weight),) = line.items()
            yield f"{action}_bandwidth", 1 / (weight * rates[action])
        elif line["read"] * rates["read"] == line["write"] * rates["write"]:
            yield "shared_bandwidth", 1 / (line["read"] * rates["read"])
        else:
            notes.append(
                f"latency of '{unit.name}': Timeloop's shared port takes reads and writes alike"
            )


def _table(name: str, rows: Mapping[str, Fraction]) -> list[str]:
    lines = [f"  - name: {yaml_word(name)}", "    actions:"]
    for action, energy in rows.items():
        lines += [f"    - {{name: {action}, arguments: {{}}, energy: {number(energy * _PICO)}}}"]
    return lines


def _factor(coefficient: int) -> str:
    """The name of a coefficient."""
    return f"{'times' if coefficient > 0 else 'minus'}{abs(coefficient)}"


def write_problem(einsum: Einsum, letters: Letters) -> list[str]:
    """Lines of `problem:`."""
    factors = sorted(
        {
            term.coefficient
            for access in einsum.accesses
            for rank in access.tensor.ranks
            for term in rank
        }
        - {1}
    )
    lines = [
        "problem:",
        "  shape:",
        f"    name: {yaml_word(einsum.name)}",
        f"    dimensions: [{', '.join(letters.values())}]",
    ]
    if factors:
        lines += [
            "    coefficients:",
            *(f"    - {{name: {_factor(each)}, default: {each}}}" for each in factors),
        ]
    lines.append("    data-spaces:")
    for access in einsum.accesses:
        ranks = []
        for rank in access.tensor.ranks:
            terms = [
                (
                    f"[{letters[term.dim]}]"
                    if term.coefficient == 1
                    else f"[{letters[term.dim]}, {_factor(term.coefficient)}]"
                )
                for term in rank
            ]
            ranks.append(f"[{', '.join(terms)}]")
        output = ", read-write: true" if access.output else ""
        lines.append(
            f"    - {{name: {yaml_word(access.name)}, projection: [{', '.join(ranks)}]{output}}}"
        )
    sizes = ", ".join(
        f"{letter}: {einsum.bounds[variable]}" for variable, letter in letters.items()
    )
    times = ", ".join(f"{_factor(each)}: {each}" for each in factors)
    return [*lines, f"  instance: {{{', '.join(part for part in (sizes, times) if part)}}}"]
