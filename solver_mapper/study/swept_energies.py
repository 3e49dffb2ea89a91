"""Energies that depend on sizes: formulas of a sweep, such as `6 * sqrt(entries / 65536)`."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from solver_mapper.core.architecture import Architecture
from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.io.yaml.expressions import ExpressionEvaluator
from solver_mapper.io.yaml.source import Scalar

_REAL = {"sqrt": math.sqrt, "log2": math.log2, "log": math.log, "exp": math.exp}


class _Formula(ExpressionEvaluator):
    """Arithmetic as elsewhere; roots, logarithms and powers need not be exact, and are rounded to
    12 digits.
    """

    more_functions = tuple(_REAL)

    def on_call(self, node: ast.Call) -> Any:
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in _REAL
            and len(node.args) == 1
            and not node.keywords
        ):
            return self._rounded(_REAL[node.func.id], float(self.number(self.value(node.args[0]))))
        return super().on_call(node)

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator == 1:
            return super().power(base, exponent)
        return self._rounded(math.pow, float(base), float(exponent))

    def _rounded(self, function: Any, *values: float) -> Fraction:
        try:
            return Fraction(f"{function(*values):.12g}")
        except (ValueError, OverflowError):
            raise self.error("the value is not a finite number") from None


def energies(formulas: Mapping[str, Scalar], architecture: Architecture) -> dict[str, Any]:
    """The energy in pJ that each formula gives, by the path of the attribute.

    A formula may use, of its own level: `entries`, `word_bits`, `bits`, `kilobytes`, `instances`,
    `mesh_x`, `mesh_y`.
    Raises: InputError for a path that names no level, and for a formula that cannot be evaluated or
    is negative.
    """
    return {
        energy_path(path): _energy(path, formula, architecture)
        for path, formula in formulas.items()
    }


def energy_path(path: str, location: SourceLocation | None = None) -> str:
    """`shared_glb.read` as the path of an attribute, `shared_glb.energy.read`.

    Raises: InputError, at `location`, for what is not the path of an energy.
    """
    component, _, action = path.strip().partition(".")
    if not component or not action:
        raise InputError(
            f"'{path}' is not the path of an energy",
            SourceLocation(path) if location is None else location,
            "for example 'shared_glb.read'",
        )
    return path if action.startswith("energy.") else f"{component}.energy.{action}"


def _energy(path: str, formula: Scalar, architecture: Architecture) -> str:
    component = path.partition(".")[0].strip()
    location = formula.location if formula.location.line is not None else SourceLocation(path)
    if component == architecture.arithmetic.name:
        unit = architecture.arithmetic
        names = {
            "word_bits": unit.word_bits,
            "instances": unit.instances,
            "mesh_x": unit.mesh_x,
            "mesh_y": unit.mesh_y,
        }
    elif component in architecture.level_names:
        level = architecture.levels[architecture.index(component)]
        names = {
            "word_bits": level.word_bits,
            "instances": level.instances,
            "mesh_x": level.mesh_x,
            "mesh_y": level.mesh_y,
        }
        if level.entries is not None:
            bits = level.entries * level.word_bits
            names |= {"entries": level.entries, "bits": bits, "kilobytes": Fraction(bits, 8192)}  # type: ignore[dict-item]
    else:
        raise InputError(
            f"there is no level '{component}'",
            location,
            did_you_mean(component, architecture.level_names),
        )
    evaluator = _Formula(names, location, f"the energy of '{path}'")
    value = evaluator.number(evaluator.run(formula.text))
    if value < 0:
        raise InputError(
            f"the energy of '{path}' is {float(value):g} pJ; it must not be negative", location
        )
    return f"{value.numerator}/{value.denominator}"
