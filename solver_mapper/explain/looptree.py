"""Why no LoopTree mapping exists: capacities and constraints that collide, and what would lift
that.

Each capacity and each constraint is left out in turn, with a search for any mapping at all. What
can be left out without making a mapping possible is no part of the conflict and stays out; what is
left at the end is a conflict of which nothing can be spared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from solver_mapper.core.clock import Clock
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.solution import Status
from solver_mapper.cost.looptree.architecture import Architecture, Component, FanoutText, Text
from solver_mapper.cost.looptree.hardware import Kind
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.usage import with_reachable_usage
from solver_mapper.errors import NOWHERE, InputError, LimitReached, SourceLocation
from solver_mapper.explain.reason import Entry, conflict_lines, repair_lines
from solver_mapper.explain.wording import What
from solver_mapper.solve.fused.solve import solve_tree

_TOO_LATE = "the time was over before it was known whether any mapping is legal"
_SETS = ("keep", "back", "no_refetch_from_above", "no_resend_to_below")


@dataclass(frozen=True)
class TreeRepair:
    """One change that makes some mapping legal."""

    text: str
    entry: Entry

    @property
    def location(self) -> SourceLocation:
        """Where the change would be written."""
        return self.entry.location

    def to_dict(self) -> dict[str, Any]:
        """Text, file and line, as JSON."""
        return {"text": self.text, "file": self.location.file, "line": self.location.line}


@dataclass(frozen=True)
class TreeReason:
    """Whether any mapping is legal; if not, entries that collide, none of which can be spared, and
    what would lift the conflict. A conflict without entries lies in the workload and the order of
    the memories alone. `complete` tells whether the time sufficed for all repairs.
    """

    feasible: bool
    conflict: tuple[Entry, ...] = ()
    repairs: tuple[TreeRepair, ...] = ()
    complete: bool = True
    seconds: float = field(default=0.0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Feasibility, conflict and repairs, as JSON."""
        return {
            "feasible": self.feasible,
            "conflict": [entry.to_dict() for entry in self.conflict],
            "repairs": [repair.to_dict() for repair in self.repairs],
        }

    def __str__(self) -> str:
        return "\n".join(text for text, _ in self.lines())

    def lines(self) -> Iterator[tuple[str, SourceLocation]]:
        """As `Reason.lines`."""
        if self.feasible:
            yield "Legal mappings exist.", NOWHERE
        elif not self.conflict:
            yield (
                "No legal mapping, whatever the capacities and constraints of the architecture.",
                NOWHERE,
            )
        else:
            yield from conflict_lines(self.conflict)
            yield from repair_lines(self.repairs)


@dataclass(frozen=True)
class _Requirement:
    """A capacity or constraint of a component, with the component without it."""

    entry: Entry
    component: str
    lifted: Callable[[Component], Component]
    fanout: str | None = None


@dataclass
class _Inner(Clock):
    """The clock of one search, which ends with the clock of all at the latest."""

    outer: Clock = field(default_factory=Clock)

    @property
    def over(self) -> bool:
        return self.outer.over or super().over


@dataclass(frozen=True)
class _Search:
    """Searches for any mapping, with those options of `solve_tree` that rule some out."""

    clock: Clock
    max_fused_loops: int | None = None
    relax: tuple[str, ...] = ()

    def possible(self, spec: TreeSpec) -> bool:
        """Whether there is any mapping. Raises: LimitReached."""
        if self.clock.over:
            raise LimitReached(_TOO_LATE)
        inner = _Inner(outer=self.clock)

        def seen(progress: Progress) -> None:
            if progress.value is not None:
                inner.stop()

        status: Status = solve_tree(
            spec,
            "energy",
            max_fused_loops=self.max_fused_loops,
            relax=self.relax,
            on_progress=seen,
            clock=inner,
        ).status
        if status == "unknown":
            raise LimitReached(_TOO_LATE)
        return status != "infeasible"

    def admits(self, changed: TreeSpec) -> bool:
        """The same for what was changed: not if it then cannot be searched."""
        try:
            return self.possible(changed)
        except InputError:
            return False


def explain_tree(spec: TreeSpec, clock: Clock) -> TreeReason:
    """See `api.explain`. Raises: InputError as `solve_tree`; LimitReached."""
    search = _Search(clock)
    if search.possible(spec):
        return TreeReason(True, seconds=clock.seconds)
    conflict = _conflict(spec, search)
    repairs: list[TreeRepair] = []
    complete = True
    try:
        repairs.extend(_repairs(spec, conflict, search))
    except LimitReached:
        complete = False
    entries = tuple(each.entry for each in conflict)
    return TreeReason(False, entries, tuple(repairs), complete, clock.seconds)


def tree_conflict_entries(
    spec: TreeSpec,
    clock: Clock,
    *,
    max_fused_loops: int | None = None,
    relax: Iterable[str] = (),
) -> tuple[dict[str, Any], ...]:
    """The conflict of an infeasible `spec` as JSON, under these options of `solve_tree`; empty if
    the time does not suffice for one.
    """
    try:
        conflict = _conflict(spec, _Search(clock, max_fused_loops, tuple(relax)))
    except LimitReached:
        return ()
    return tuple(each.entry.to_dict() for each in conflict)


def _conflict(spec: TreeSpec, search: _Search) -> list[_Requirement]:
    """Requirements that collide, none of which can be spared; none if no mapping is possible
    without all of them. Numbers are suspected before sets of tensors.
    """
    requirements = list(_requirements(spec.need_architecture()))
    numbers = [each for each in requirements if each.entry.what != "constraint"]
    lifted = next(
        (some for some in (numbers, requirements) if search.admits(_without(spec, some))), []
    )
    conflict = lifted
    for each in lifted:
        rest = [other for other in conflict if other is not each]
        others = [other for other in lifted if other not in rest]
        if not search.admits(_without(spec, others)):
            conflict = rest
    return conflict


def _without(spec: TreeSpec, requirements: Iterable[_Requirement]) -> TreeSpec:
    architecture = spec.need_architecture()
    for each in requirements:
        architecture = architecture.changed(each.component, each.lifted)
    return replace(spec, architecture=architecture)


def _requirements(architecture: Architecture) -> Iterator[_Requirement]:
    """All capacities and constraints that a user wrote."""
    for component in architecture.root.components():
        size = component.values.get("size")
        if component.kind is Kind.MEMORY and size is not None and not size.infinite:
            yield _Requirement(
                _entry("capacity", f"size of '{component.name}': {size.text} bits", size),
                component.name,
                lambda memory: memory.with_value("size", "inf"),
            )
        for name in _SETS:
            if name in component.holding.values:
                given = component.holding.values[name]
                yield _Requirement(
                    _entry("constraint", f"'{name}: {given.text}' of '{component.name}'", given),
                    component.name,
                    _without_set(name),
                )
        for index, rule in enumerate(component.holding.tile_shape):
            text = f"{rule.expression.text} {rule.operator} {rule.value.text}"
            yield _Requirement(
                _entry("constraint", f"tile_shape of '{component.name}': {text}", rule.expression),
                component.name,
                _without_shape(index),
            )
        for fanout in component.fanouts:
            yield from _of_fanout(component, fanout)


def _of_fanout(component: Component, fanout: FanoutText) -> Iterator[_Requirement]:
    what = f"'{fanout.name}' of '{component.name}'"
    for name in ("min_usage", "reuse"):
        if name in fanout.values:
            given = fanout.values[name]
            yield _Requirement(
                _entry(
                    "utilization" if name == "min_usage" else "constraint",
                    f"'{name}: {given.text}' of spatial {what}",
                    given,
                ),
                component.name,
                _without_fanout_value(fanout.name, name),
                fanout.name if name == "min_usage" else None,
            )
    for index, rule in enumerate(fanout.loop_bounds):
        text = f"{rule.expression.text} {rule.operator} {rule.value.text}"
        yield _Requirement(
            _entry("constraint", f"loop_bounds of spatial {what}: {text}", rule.expression),
            component.name,
            _without_bound(fanout.name, index),
        )


def _entry(what: What, text: str, given: Text) -> Entry:
    return Entry(what, text, given.location)


_ANYTHING = "All"


def _without_set(name: str) -> Callable[[Component], Component]:
    def change(component: Component) -> Component:
        holding = component.holding
        values = {key: text for key, text in holding.values.items() if key != name}
        if name in ("keep", "back"):
            values.setdefault("may_keep", Text(_ANYTHING, holding.location))
        return replace(component, holding=replace(holding, values=values))

    return change


def _without_shape(index: int) -> Callable[[Component], Component]:
    """The tile shape at `index` always holds; the others keep their numbers."""

    def change(component: Component) -> Component:
        holding = component.holding
        shapes = list(holding.tile_shape)
        shapes[index] = replace(shapes[index], operator=">=", value=Text("1"))
        return replace(component, holding=replace(holding, tile_shape=tuple(shapes)))

    return change


def _in_fanout(
    name: str, change: Callable[[FanoutText], FanoutText]
) -> Callable[[Component], Component]:
    return lambda component: replace(
        component,
        fanouts=tuple(change(each) if each.name == name else each for each in component.fanouts),
    )


def _ungated(values: Mapping[str, Text]) -> dict[str, Text]:
    """The values of a fan-out of which all copies are switched on. That is no matter of whether
    there are mappings, but is not searched where not all copies are used.
    """
    return {key: text for key, text in values.items() if key != "power_gateable"}


def _without_fanout_value(fanout: str, name: str) -> Callable[[Component], Component]:
    def change(given: FanoutText) -> FanoutText:
        values = {key: text for key, text in given.values.items() if key != name}
        if name == "min_usage":
            values = _ungated(values)
        if name == "reuse":
            values.setdefault("may_reuse", given.values[name])
        return replace(given, values=values)

    return _in_fanout(fanout, change)


def _without_bound(fanout: str, index: int) -> Callable[[Component], Component]:
    def change(given: FanoutText) -> FanoutText:
        bounds = list(given.loop_bounds)
        bounds[index] = replace(bounds[index], operator=">=", value=Text("1"))
        return replace(given, loop_bounds=tuple(bounds))

    return _in_fanout(fanout, change)


def _repairs(
    spec: TreeSpec, conflict: Iterable[_Requirement], search: _Search
) -> Iterator[TreeRepair]:
    """For each entry that lifts the conflict by itself, the least change of it that does."""
    for each in conflict:
        if not search.admits(_without(spec, [each])):
            continue
        if each.entry.what == "capacity":
            size = _least_size(spec, each, search)
            text = f"raise the size of '{each.component}' to at least {size} bits"
        elif each.fanout is not None:
            text = _lower_usage(spec, each, search)
        else:
            text = f"leave out {each.entry.text}"
        yield TreeRepair(text, each.entry)


def _least_size(spec: TreeSpec, requirement: _Requirement, search: _Search) -> int:
    """The fewest whole bits that make some mapping possible."""

    def fits(bits: int) -> bool:
        resized = spec.need_architecture().changed(
            requirement.component, lambda memory: memory.with_value("size", str(bits))
        )
        return search.admits(replace(spec, architecture=resized))

    high = 1
    while not fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _lower_usage(spec: TreeSpec, requirement: _Requirement, search: _Search) -> str:
    """Advice for a `min_usage`: what all Einsums reach, if that suffices."""
    what = f"'{requirement.fanout}' of '{requirement.component}'"
    architecture, least = spec.need_architecture(), Fraction(1)
    for einsum in spec.need_workload().einsums:
        for compute in architecture.enabled_computes(einsum):
            for unit in with_reachable_usage(architecture.chain(einsum, compute), einsum).units:
                for fanout in unit.fanouts:
                    if (unit.name, fanout.name) == (requirement.component, requirement.fanout):
                        least = min(least, fanout.min_usage)
    lowered = architecture.changed(
        requirement.component,
        _in_fanout(
            requirement.fanout or "",
            lambda given: replace(
                given, values={**_ungated(given.values), "min_usage": Text(str(least))}
            ),
        ),
    )
    if search.admits(replace(spec, architecture=lowered)):
        return f"lower min_usage of {what} to {float(least):g}, or '--relax min_usage'"
    return f"leave out min_usage of {what}"
