"""Plans of a whole workload, and the rules that say which plans a search may use."""

from __future__ import annotations

from dataclasses import dataclass

from solver_mapper.bounds.fusion.groups.group import GroupPlan
from solver_mapper.bounds.fusion.special import NONE_SPECIAL, SpecialRanks


@dataclass(frozen=True)
class FusionStep:
    """One group (or single Einsum) in the order of execution. `whole` are the tensors that are on
    chip in full meanwhile.
    """

    plan: GroupPlan
    whole: frozenset[str]


@dataclass(frozen=True)
class FusionPlan:
    """One point of a workload's bound curve: its groups in order of execution."""

    buffer: int
    accesses: int
    steps: tuple[FusionStep, ...]


@dataclass(frozen=True)
class PlanRules:
    """What a search may use.

    `most`: Einsums fused tile by tile, 1 for none. `whole`: tensors kept on chip in full. `inputs`:
    workload inputs shared on chip by the Einsums that read them. `recompute`: a loop above the
    common ones. `uneven_tensors`: tensors held whole during an Einsum's run (see `Leaves`).
    `uneven`: fused loops that differ (see `nested`). `special`: ranks whose loops stand outermost
    (see `trunks_of`). `must`: shared tensors that may not pass through the backing store; `never`:
    shared tensors that must. `states`: how many states of execution to walk through before CP-SAT
    takes over.
    """

    most: int = 64
    whole: bool = True
    inputs: bool = False
    recompute: bool = False
    uneven_tensors: bool = False
    uneven: bool = False
    special: SpecialRanks = NONE_SPECIAL
    must: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    states: int = 20_000
