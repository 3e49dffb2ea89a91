"""The public functions: the only place that joins reading, the nest model and the solver."""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence

from solver_mapper.bounds import Curve, TilePoint
from solver_mapper.bounds.for_spec import bound_spec
from solver_mapper.mapping import Mapping
from solver_mapper.nest.figures import Figures
from solver_mapper.nest.legality import violations
from solver_mapper.nest.model import evaluate as evaluate_nest
from solver_mapper.spec.load import load
from solver_mapper.spec.spec import Spec
from solver_mapper.verdict import Verdict

__all__ = ["bound", "evaluate", "load", "validate"]


def evaluate(spec: Spec, mapping: Mapping | None = None) -> Figures:
    """Exact figures of a mapping.

    Args: `mapping`, or None for the one in `spec`.
    Raises: InputError if a part is missing.
    """
    return evaluate_nest(spec.need_architecture(), spec.need_problem(), mapping or spec.need_mapping())


def validate(spec: Spec, mapping: Mapping | None = None) -> Verdict:
    """Whether a mapping is legal: hardware, problem and constraints. All violations are listed.

    Args: `mapping`, or None for the one in `spec`.
    Raises: InputError if a part is missing.
    """
    return Verdict(violations(spec.need_architecture(), spec.need_problem(), mapping or spec.need_mapping()))


def bound(spec: Spec, *, word_bits: Table[str, int] | None = None, stationary: str | None = None,
          order: Sequence[str] | None = None, tiles: Table[str, int] | None = None,
          constrained: bool = False) -> Curve[TilePoint]:
    """Buffer size against the least data movement that any mapping of the problem can have, with a mapping for each step.

    Args: `word_bits[tensor]`, sizes of words (figures are then in bytes or bits instead of words). `stationary`, `order` and
    `tiles` ask for the curve of one dataflow, `constrained` for that of the constraint files. An architecture is optional: its
    buffers are marked.
    Raises: InputError for a missing problem or names that it does not have; InfeasibleError for a dataflow without mappings.
    """
    return bound_spec(spec, spec.need_problem(), word_bits=word_bits, stationary=stationary, order=order, tiles=tiles,
                      constrained=constrained)
