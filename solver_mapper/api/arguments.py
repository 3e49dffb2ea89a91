"""What the public functions ask of their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from math import inf
from os import PathLike
from typing import Any, TypeVar, cast

from solver_mapper import constraints as rules_module
from solver_mapper.bounds.fusion import FusionOptions
from solver_mapper.constraints import ConstraintSet
from solver_mapper.core.arguments import (
    refuse_given,
    require_kind,
    require_names,
    require_number,
    require_path,
)
from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.reuse_flags import with_reuse_flags
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError
from solver_mapper.solve.cpsat.engine import MOST_SEED, MOST_WORKERS
from solver_mapper.study.design import Reading
from solver_mapper.study.execution.store import Store

ConstraintSets = ConstraintSet | Sequence[ConstraintSet]

F = TypeVar("F", bound=Callable[..., Any])

NOT_FOR_TREES = "is not supported for LoopTree input"


def checked(function: F) -> F:
    """Decorator: arguments of a public function are checked by their names, see `_CHECKS`, and
    numbers become Python's own. None is accepted where it is the default.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        for name, value in given.arguments.items():
            if value is not None or signature.parameters[name].default is not None:
                given.arguments[name] = _CHECKS.get(name, _any)(name, value)
        return function(*given.args, **given.kwargs)

    return cast(F, call)


def _any(name: str, value: object) -> object:
    return value


def _spec(name: str, value: object) -> object:
    if not isinstance(value, (Spec, TreeSpec)):
        raise InputError(
            f"a specification is needed, not {type(value).__name__}",
            hint="make one with solver_mapper.load(...)",
        )
    return value


def _words(name: str, value: object) -> object:
    listed = isinstance(value, Collection) and not isinstance(value, (str, bytes))
    if not listed or not all(isinstance(each, (str, PathLike)) for each in cast(Any, value)):
        raise InputError(f"{name} is {value!r:.60}; it must be a list of words")
    return value


def _word_or_words(name: str, value: object) -> object:
    return value if isinstance(value, str) else _words(name, value)


def _sizes(name: str, value: object) -> object:
    return {
        key: require_number(f"{name} of '{key}'", size, -inf, whole=True, needed=True)
        for key, size in require_names(name, value).items()
    }


def _function(name: str, value: object) -> object:
    if not callable(value):
        raise InputError(f"{name} is {value!r:.60}; it must be a function")
    return value


def _flag(name: str, value: object) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # NumPy's is called bool or bool_
        raise InputError(f"{name} is {value!r:.60}; it must be True or False")
    return bool(value)


def _number(
    least: float, most: float = inf, *, whole: bool = False
) -> Callable[[str, object], object]:
    return lambda name, value: require_number(name, value, least, most, whole=whole, needed=True)


def _kind(kind: type | tuple[type, ...], what: str) -> Callable[[str, object], object]:
    return lambda name, value: require_kind(name, value, kind, what)


_CHECKS: dict[str, Callable[[str, object], object]] = {
    "spec": _spec,
    "gap": _number(0, 1),
    "workers": _number(1, MOST_WORKERS, whole=True),
    "seed": _number(0, MOST_SEED, whole=True),
    "limit": _number(0, whole=True),
    "jobs": _number(1, whole=True),
    "memory": _number(1, whole=True),
    "tech_node": _number(1),
    **dict.fromkeys(("macs_per_cycle", "bandwidth"), _number(-inf)),
    **dict.fromkeys(("time_limit", "layer_time_limit"), _number(0)),
    **dict.fromkeys(
        (
            *("verify", "tie_break", "keep_mapping", "orders", "every", "optimum", "hold_bypass"),
            *("constrained", "regular_shifts", "bypass", "pareto", "ignore_sparse", "strict"),
            "main_memory",
        ),
        _flag,
    ),
    **dict.fromkeys(
        ("engine", "factors", "to", "template", "einsum", "stationary", "scheduler"),
        _kind(str, "a word"),
    ),
    **dict.fromkeys(("metrics", "include_dirs", "ignore_warnings", "order", "functions"), _words),
    "relax": _word_or_words,
    **dict.fromkeys(("variables", "dims", "mappings"), require_names),
    **dict.fromkeys(("word_bits", "tiles"), _sizes),
    **dict.fromkeys(("path", "certificate"), require_path),
    "store": _kind((str, PathLike, Store), "a path or a Store"),
    **dict.fromkeys(("on_progress", "model_hook"), _function),
    "clock": _kind(Clock, "a Clock"),
    "options": _kind(FusionOptions, "FusionOptions"),
    "reading": _kind(Reading, "a Reading"),
}


def _require_mapping(mapping: object) -> None:
    """Raises: InputError for what is no mapping."""
    if mapping is not None and not isinstance(mapping, (Mapping, TreeMapping)):
        raise InputError(
            f"a mapping is needed, not {type(mapping).__name__}",
            hint="load a file with it beside the others",
        )


def tree_mapping(spec: TreeSpec, mapping: Mapping | TreeMapping | None) -> TreeMapping:
    """`mapping`, or the one in `spec`.
    Raises: InputError if there is none, or for a Timeloop mapping.
    """
    _require_mapping(mapping)
    if isinstance(mapping, Mapping):
        raise InputError(
            "a LoopTree specification needs a LoopTree mapping, not a level-by-level one"
        )
    return mapping or spec.need_mapping()


def level_mapping(spec: Spec, mapping: Mapping | TreeMapping | None) -> Mapping:
    """`mapping` under what the constraints say about reuse, or the one in `spec`.
    Raises: InputError if there is none, or for a LoopTree mapping.
    """
    _require_mapping(mapping)
    if isinstance(mapping, TreeMapping):
        raise InputError(
            "a level-by-level specification needs a level-by-level mapping, not a LoopTree"
        )
    return with_reuse_flags(mapping, spec.constraints) if mapping else spec.need_mapping()


def under(spec: Spec, constraints: ConstraintSets) -> Spec:
    """`spec` with further constraints."""
    return rules_module.add(spec, constraints) if are_given(constraints) else spec


def refuse_two_clocks(clock: Clock | None, time_limit: float | None) -> None:
    """Raises: InputError for a time limit beside a clock."""
    refuse_given(
        {"time_limit": clock is not None and time_limit is not None},
        "is not supported beside a clock",
        hint="give the clock the time limit",
    )


def are_given(constraints: ConstraintSets) -> bool:
    """Whether there are further constraints. Raises: InputError for what is none."""
    listed = [constraints] if isinstance(constraints, ConstraintSet) else constraints
    if not isinstance(listed, Sequence) or not all(
        isinstance(each, ConstraintSet) for each in listed
    ):
        raise InputError(
            f"constraints are {constraints!r:.60}; they must be ConstraintSet objects",
            hint="see solver_mapper.constraints",
        )
    return isinstance(constraints, ConstraintSet) or bool(constraints)
