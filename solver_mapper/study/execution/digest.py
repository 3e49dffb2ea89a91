"""The key under which a result is stored: a digest of everything that decides the answer.

Names of layers, comments and positions in files do not take part: equal layers have one key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from solver_mapper.core.spec import Spec
from solver_mapper.solve.cpsat.engine import solver_name


def digest(spec: Spec, *options: object) -> str:
    """SHA-256 of a specification without its mapping, of `options`, and of the versions that solve
    it.

    Args: `options`, frozen dataclasses and plain values.
    """
    problem = spec.need_problem()
    parts = {
        "architecture": canonical(spec.need_architecture()),
        "problem": [canonical(part) for part in (problem.dims, problem.bounds, problem.tensors)],
        "constraints": canonical(spec.constraints),
        "directives": canonical(spec.directives),
        "options": canonical(options),
        "versions": [package_version(), solver_name()],
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def package_version() -> str:
    """The version of this package, "unknown" where it runs without having been installed."""
    try:
        return version("solver-mapper")
    except PackageNotFoundError:
        return "unknown"


def canonical(value: Any) -> Any:
    """`value` as JSON values: equal for equal values, different for different ones.

    Fields of dataclasses that take no part in comparisons take none here.
    Raises: TypeError for a value whose content is unknown, such as a function.
    """
    if is_dataclass(value) and not isinstance(value, type):
        content = {f.name: canonical(getattr(value, f.name)) for f in fields(value) if f.compare}
        return [type(value).__name__, content]
    if isinstance(value, Mapping):
        return {"mapping": sorted([canonical(key), canonical(each)] for key, each in value.items())}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((canonical(each) for each in value), key=json.dumps)}
    if isinstance(value, (list, tuple)):
        return [canonical(each) for each in value]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a {type(value).__name__} cannot be part of a digest")
