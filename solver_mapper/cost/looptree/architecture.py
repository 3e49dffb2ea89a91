"""The accelerator as its user wrote it, expressions still unevaluated, and its evaluation for one
Einsum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from solver_mapper.cost.looptree.hardware import (
    Action,
    Aside,
    Chain,
    Fanout,
    Kind,
    LoopBoundRule,
    Unit,
)
from solver_mapper.cost.looptree.latency import DEFAULT, Rate, latency_of
from solver_mapper.cost.looptree.scopes import by_set
from solver_mapper.cost.looptree.sets import EinsumScope, NameSet
from solver_mapper.cost.looptree.usage import with_reachable_usage
from solver_mapper.cost.looptree.workload import Einsum
from solver_mapper.errors import NOWHERE, InputError, SourceLocation, unknown_name
from solver_mapper.io.yaml.source import Table

_DIRECTIONS = ("up", "down", "up_and_down")


@dataclass(frozen=True)
class Text:
    """Something to evaluate later, and where it stands."""

    text: str
    location: SourceLocation = field(default=NOWHERE, compare=False)

    @property
    def infinite(self) -> bool:
        """Whether it is a word for infinity, such as `inf`."""
        return self.text.lower() in _INFINITE


_INFINITE = ("inf", ".inf", "infinity")
Texts = Mapping[str, Text]


@dataclass(frozen=True)
class ComparisonText:
    """A comparison as written, such as `m <= 4`."""

    expression: Text
    operator: str
    value: Text


@dataclass(frozen=True)
class FanoutText:
    """`values` holds fanout, may_reuse, reuse, min_usage, usage_scale and power_gateable as far as
    they were given.
    """

    name: str
    values: Texts
    loop_bounds: tuple[ComparisonText, ...] = ()
    location: SourceLocation = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class ActionText:
    """`values` holds energy, throughput, latency, bits_per_action and scales as far as they were
    given.
    """

    name: str
    values: Texts = field(default_factory=dict)
    values_per_action: Table | None = None
    location: SourceLocation = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class HoldingText:
    """`values` holds keep, may_keep, back, no_refetch_from_above and no_resend_to_below as far as
    they were given.
    """

    values: Texts = field(default_factory=dict)
    tile_shape: tuple[ComparisonText, ...] = ()
    order_options: tuple[tuple[Text, ...], ...] = ()
    force_order: bool = True
    location: SourceLocation = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Component:
    """A memory, toll, compute or container. `values` holds the scalar fields as far as they were
    given.
    """

    name: str
    kind: Kind
    values: Texts = field(default_factory=dict)
    fanouts: tuple[FanoutText, ...] = ()
    actions: tuple[ActionText, ...] = ()
    bits_per_value: Table | None = None
    values_per_action: Table | None = None
    direction: Text | Table | None = None
    holding: HoldingText = HoldingText()
    component_class: str | None = None
    location: SourceLocation = field(default=NOWHERE, compare=False)

    def with_value(self, name: str, text: str | None) -> Component:
        """The component with another value of a scalar field; None leaves the field out."""
        values = {key: value for key, value in self.values.items() if key != name}
        if text is not None:
            values[name] = Text(text, self.values[name].location)
        return replace(self, values=values)

    @property
    def dummy(self) -> bool:
        """Whether its class is `Dummy`: energies and latencies that it does not give are 0."""
        return self.component_class is not None and self.component_class.lower() == "dummy"


@dataclass(frozen=True)
class Branch:
    """A list of nodes, outer to inner. A `fork` leaves the main path, which goes on after it.

    `fork_gated`: nothing in the fork leaks while a compute outside it works. `rest_gated`: nothing
    after the fork leaks while a compute in it works.
    """

    nodes: tuple[Component | Branch, ...]
    fork: bool = False
    location: SourceLocation = field(default=NOWHERE, compare=False)
    fork_gated: bool = False
    rest_gated: bool = False

    def components(self) -> Iterator[Component]:
        """All components below, in the order of the file."""
        for node in self.nodes:
            if isinstance(node, Component):
                yield node
            else:
                yield from node.components()


@dataclass(frozen=True)
class Architecture:
    """The tree of components, and the values of `variables`. With `soft_usage`, a `min_usage` that
    an Einsum cannot reach is the most that it can."""

    root: Branch
    variables: Texts = field(default_factory=dict)
    location: SourceLocation = field(default=NOWHERE, compare=False)
    soft_usage: bool = False

    @cached_property
    def by_name(self) -> Mapping[str, Component]:
        """Components by name."""
        return {component.name: component for component in self.root.components()}

    @property
    def computes(self) -> tuple[Component, ...]:
        """The components that compute."""
        return tuple(
            component for component in self.root.components() if component.kind is Kind.COMPUTE
        )

    def changed(self, name: str, change: Callable[[Component], Component]) -> Architecture:
        """The architecture with another component in the place of the one called `name`."""
        root = replace(self.root, nodes=tuple(_changed(self.root.nodes, name, change)))
        return Architecture(root, self.variables, self.location, self.soft_usage)

    def path(self, compute: str) -> tuple[Component, ...]:
        """The components from the root to `compute`. Raises: InputError if there is no compute of
        that name.
        """
        found = _path(self.root, compute)
        if found is None:
            raise unknown_name(
                "compute", compute, [component.name for component in self.computes], self.location
            )
        return found

    def scope(self, einsum: Einsum) -> EinsumScope:
        """What expressions of the architecture may mention for one Einsum."""
        scope = einsum.scope
        for name, text in self.variables.items():
            value = scope.evaluate(text.text, text.location, f"variable '{name}'")
            if not isinstance(value, (NameSet, Fraction)):
                raise InputError(f"variable '{name}' must be a number or a set", text.location)
            scope = scope.with_names({name: value})
        return scope

    def enabled_computes(self, einsum: Einsum) -> tuple[str, ...]:
        """The computes that may run `einsum`."""
        scope = self.scope(einsum)
        return tuple(component.name for component in self.computes if _enabled(component, scope))

    def chain(self, einsum: Einsum, compute: str) -> Chain:
        """The units that `einsum` sees on the way to `compute`, with all expressions evaluated;
        remembered for the next time.

        Raises: InputError for expressions that cannot be evaluated, and for numbers that are
        missing or negative.
        """
        key = id(einsum), compute
        if key not in self._chains:
            self._chains[key] = einsum, self._evaluated(einsum, compute)
        return self._chains[key][1]

    @cached_property
    def _chains(self) -> dict[tuple[int, str], tuple[Einsum, Chain]]:
        """Chains by Einsum and compute. An Einsum is kept beside its chain, so that no other can
        take on its identity.
        """
        return {}

    def _evaluated(self, einsum: Einsum, compute: str) -> Chain:
        need_numbers(self)
        scope = self.scope(einsum)
        on_path = self.path(compute)
        instances = dict(_instances(self.root, 1, scope))
        units = {
            component.name: unit_of(component, scope, einsum, instances[component.name])
            for component in self.root.components()
        }
        enabled = [component.name for component in on_path if _enabled(component, scope)]
        chain = Chain(
            tuple(units[name] for name in enabled),
            tuple(
                Aside(units[name], max(above & set(enabled), key=enabled.index, default=None))
                for name, above in _aside(self.root, compute, units)
                if units[name].kind is not Kind.CONTAINER
            ),
        )
        return with_reachable_usage(chain, einsum) if self.soft_usage else chain


def _changed(
    nodes: Iterable[Component | Branch], name: str, change: Callable[[Component], Component]
) -> Iterator[Component | Branch]:
    for node in nodes:
        if isinstance(node, Branch):
            yield replace(node, nodes=tuple(_changed(node.nodes, name, change)))
        else:
            yield change(node) if node.name == name else node


def _aside(
    branch: Branch,
    compute: str,
    units: Mapping[str, Unit],
    above: frozenset[str] = frozenset(),
    off: bool = False,
) -> Iterator[tuple[str, frozenset[str]]]:
    """The components off the path of `compute` that are not switched off while it works, each with
    those on the path that stand `above` it; none in `branch` if it is `off` itself. None of the
    copies of a fan-out off the path is used: if it may be switched off, so is what follows it.
    """
    works = any(component.name == compute for component in branch.components())
    for node in _main_path(branch):
        if isinstance(node, Branch):
            forked = any(component.name == compute for component in node.components())
            gated = off or (node.fork_gated and not forked)
            yield from _aside(node, compute, units, above, gated)
            off = off or (node.rest_gated and forked)
            works = works and not forked
        elif works:
            above |= {node.name}
            works = node.name != compute
        else:
            off = off or any(fanout.power_gateable for fanout in units[node.name].fanouts)
            if not off:
                yield node.name, above


def _main_path(branch: Branch) -> Iterator[Component | Branch]:
    """The components and forks in `branch`, as if nothing but forks were nested."""
    for node in branch.nodes:
        if isinstance(node, Branch) and not node.fork:
            yield from _main_path(node)
        else:
            yield node


def _path(branch: Branch, compute: str) -> tuple[Component, ...] | None:
    above: list[Component] = []
    for node in branch.nodes:
        if isinstance(node, Branch):
            inner = _path(node, compute)
            if inner is not None:
                return (*above, *inner)
            if not node.fork:
                above += [
                    component
                    for component in node.components()
                    if component.kind is not Kind.COMPUTE
                ]
        elif node.kind is not Kind.COMPUTE:
            above.append(node)
        elif node.name == compute:
            return (*above, node)
    return None


def _instances(branch: Branch, outside: int, scope: EinsumScope) -> Iterator[tuple[str, int]]:
    """How many copies of each component there are. A component's own fanout counts for it and for
    all below.
    """
    for node in branch.nodes:
        if isinstance(node, Branch):
            inner = list(_instances(node, outside, scope))
            yield from inner
            if inner and not node.fork:
                outside = inner[-1][1]
        else:
            own = outside
            for fanout in node.fanouts:
                own *= _whole(fanout.values["fanout"], scope, f"fanout of '{node.name}'")
            yield node.name, own
            if node.kind is not Kind.COMPUTE:
                outside = own


def _enabled(component: Component, scope: EinsumScope) -> bool:
    text = component.values.get("enabled")
    if text is None or text.text.lower() in ("true", "yes"):
        return True
    if text.text.lower() in ("false", "no"):
        return False
    return bool(scope.evaluate(text.text, text.location, f"'enabled' of '{component.name}'"))


def unit_of(component: Component, scope: EinsumScope, einsum: Einsum, instances: int) -> Unit:
    """One component with its expressions evaluated for one Einsum."""
    fanouts = tuple(_fanout(fanout, scope, component.name) for fanout in component.fanouts)
    if component.kind is Kind.CONTAINER:
        return Unit(
            component.name,
            component.kind,
            fanouts,
            instances=instances,
            location=component.location,
        )
    what = f"of '{component.name}'"

    def value(name: str, default: int = 0) -> Fraction:
        return _positive(component.values.get(name), scope, f"'{name}' {what}", default)

    local = scope
    for name in ("size", "bits_per_action"):
        if name in component.values and component.values[name].text.lower() not in _INFINITE:
            local = local.with_names({name: value(name)})
    bits = {access.name: access.bits for access in einsum.accesses}
    if component.bits_per_value is not None:
        bits |= by_set(component.bits_per_value, scope, f"bits_per_value {what}")
    rates = [_rate(component, action, local) for action in component.actions]
    total = component.values.get("total_latency", Text(DEFAULT, component.location))
    latency = latency_of(total.text, rates, local.names, total.location, f"total_latency {what}")
    size = component.values.get("size")
    return Unit(
        component.name,
        component.kind,
        fanouts,
        size=None if size is None or size.text.lower() in _INFINITE else value("size"),
        actions={
            action.name: _action(component, action, local, bits, einsum)
            for action in component.actions
        },
        latency=latency,
        leak=value("leak_power") * value("leak_power_scale", 1) * value("n_parallel_instances", 1),
        instances=instances,
        bits=bits,
        direction=_directions(component, scope, einsum),
        skip_first=component.values.get("skip_initial_output_write", Text("true")).text.lower()
        in ("true", "1"),
        count_scale=value("actions_scale", 1),
        location=component.location,
        size_location=size.location if size is not None else component.location,
    )


def need_numbers(architecture: Architecture) -> None:
    """Raises: InputError that names every number that component models would have to supply."""
    errors = lacking_numbers(architecture)
    if errors:
        raise InputError(errors[0].message, errors[0].location, errors[0].hint, tuple(errors[1:]))


def lacking_numbers(architecture: Architecture) -> list[InputError]:
    """One error for each component that lacks numbers which component models would supply."""
    return [error for each in architecture.root.components() for error in _lacking(each)]


def _lacking(component: Component) -> Iterator[InputError]:
    if component.dummy or component.kind is Kind.CONTAINER:
        return
    missing = ["'leak_power' (W; 0 is fine)"] if "leak_power" not in component.values else []
    for action in component.actions:
        lacking = [] if "energy" in action.values else ["energy (J)"]
        if "total_latency" not in component.values and not {"throughput", "latency"} & set(
            action.values
        ):
            lacking.append("throughput (1/s, or inf)")
        if lacking:
            missing.append(f"{' and '.join(lacking)} for action '{action.name}'")
    if missing:
        model = (
            f"component_class '{component.component_class}' is a model of another package"
            if component.component_class
            else "no component model is available"
        )
        yield InputError(
            f"'{component.name}' lacks {'; '.join(missing)}",
            component.location,
            f"{model}: 'solver-mapper energies FILE... -o FILLED.yaml' asks AccelForge's models"
            " where they are installed; or write the numbers, or 'component_class: Dummy' for none",
        )


def _rate(component: Component, action: ActionText, scope: EinsumScope) -> Rate:
    what = f"of action '{action.name}' of '{component.name}'"
    throughput, latency = action.values.get("throughput"), action.values.get("latency")
    scale = (
        _positive(component.values.get("throughput_scale"), scope, "'throughput_scale'", 1)
        * _positive(action.values.get("throughput_scale"), scope, "'throughput_scale'", 1)
        * _positive(
            component.values.get("n_parallel_instances"), scope, "'n_parallel_instances'", 1
        )
    )
    rate: Fraction | str | None = "inf" if component.dummy else None
    if throughput is not None:
        infinite = throughput.text.lower() in _INFINITE
        rate = (
            "inf" if infinite else _positive(throughput, scope, f"'throughput' {what}", 0) * scale
        )
    elif latency is not None:
        seconds = _positive(latency, scope, f"'latency' {what}", 0)
        rate = scale / seconds if seconds else "inf"
    if rate == 0:
        raise InputError(
            f"'throughput' {what} must be more than 0",
            throughput.location if throughput else component.location,
            "write 'inf' for no limit",
        )
    return Rate(action.name, rate)


def _action(
    component: Component,
    action: ActionText,
    scope: EinsumScope,
    bits: Mapping[str, Fraction],
    einsum: Einsum,
) -> Action:
    what = f"of action '{action.name}' of '{component.name}'"
    energy = (
        _signed(action.values.get("energy"), scope, f"'energy' {what}")
        * _positive(component.values.get("energy_scale"), scope, "'energy_scale'", 1)
        * _positive(action.values.get("energy_scale"), scope, "'energy_scale'", 1)
    )
    if component.kind is Kind.COMPUTE:
        return Action(energy)
    per_action = _positive(
        action.values.get("bits_per_action", component.values.get("bits_per_action")),
        scope,
        f"'bits_per_action' {what}",
        1,
    )
    if per_action == 0:
        raise InputError(f"'bits_per_action' {what} must be more than 0", action.location)
    counts = {access.name: bits[access.name] / per_action for access in einsum.accesses}
    for table in (component.values_per_action, action.values_per_action):
        if table is not None:
            given = by_set(table, scope, f"values_per_action {what}")
            if any(number <= 0 for number in given.values()):
                raise InputError(f"values_per_action {what} must be more than 0", table.location)
            counts |= {tensor: 1 / number for tensor, number in given.items()}
    return Action(energy, counts)


def _fanout(fanout: FanoutText, scope: EinsumScope, owner: str) -> Fanout:
    what = f"spatial '{fanout.name}' of '{owner}'"

    def tensors(name: str, default: str) -> frozenset[str]:
        text = fanout.values.get(name, Text(default, fanout.location))
        return scope.tensors(text.text, text.location, f"'{name}' of {what}")

    reuse = fanout.values.get("reuse")
    gate = fanout.values.get("power_gateable")
    usage = _positive(fanout.values.get("min_usage"), scope, f"'min_usage' of {what}", 0)
    if usage > 1:
        raise InputError(
            f"'min_usage' of {what} must lie between 0 and 1, not {usage}",
            fanout.values["min_usage"].location,
        )
    return Fanout(
        fanout.name,
        _whole(fanout.values["fanout"], scope, f"fanout of {what}"),
        may_reuse=tensors("may_reuse", reuse.text if reuse is not None else "All"),
        reuse=tensors("reuse", "Nothing"),
        loop_bounds=tuple(
            comparison_of(text, scope, f"loop_bounds of {what}") for text in fanout.loop_bounds
        ),
        min_usage=usage,
        usage_scale=_positive(
            fanout.values.get("usage_scale"), scope, f"'usage_scale' of {what}", 1
        ),
        power_gateable=gate is not None and gate.text.lower() in ("true", "yes", "1"),
        location=fanout.location,
    )


def comparison_of(text: ComparisonText, scope: EinsumScope, what: str) -> LoopBoundRule:
    """A comparison with its set and number evaluated. Raises: InputError for an unknown operator or
    a set of tensors.
    """
    product = text.operator.startswith("product")
    operator = text.operator.removeprefix("product").strip()
    if operator not in ("==", "<=", ">=", "<", ">"):
        raise InputError(
            f"{what}: unknown operator '{text.operator}'",
            text.expression.location,
            "known: == <= >= < >, each also with 'product' in front",
        )
    named = scope.names_in(text.expression.text, text.expression.location, what)
    if named.kind == "tensor":
        named = scope.names_in(
            f"({text.expression.text}).rank_variables", text.expression.location, what
        )
    value = scope.number(text.value.text, text.value.location, what)
    if value.denominator != 1:
        raise InputError(f"{what}: {value} is not a whole number", text.value.location)
    shown = f"{text.expression.text} {text.operator} {value}"
    return LoopBoundRule(
        named.members, operator, int(value), product, shown, text.expression.location
    )


def _directions(component: Component, scope: EinsumScope, einsum: Einsum) -> dict[str, str]:
    given = component.direction
    if component.kind is not Kind.TOLL:
        return {}
    if given is None:
        raise InputError(
            f"toll '{component.name}' lacks 'direction'",
            component.location,
            "up, down or up_and_down",
        )
    pairs = (
        [("All", given)]
        if isinstance(given, Text)
        else [
            (key, Text(getattr(node, "text", ""), node.location))
            for key, node in given.entries.items()
        ]
    )
    result: dict[str, str] = {}
    for key, text in pairs:
        if text.text not in _DIRECTIONS:
            raise InputError(
                f"direction of '{component.name}' must be up, down or up_and_down, not"
                f" '{text.text}'",
                text.location,
            )
        result |= dict.fromkeys(
            scope.tensors(key, text.location, f"direction of '{component.name}'"), text.text
        )
    missing = [access.name for access in einsum.accesses if access.name not in result]
    if missing:
        raise InputError(
            f"direction of '{component.name}' says nothing about {', '.join(missing)}",
            component.location,
        )
    return result


def _signed(text: Text | None, scope: EinsumScope, what: str) -> Fraction:
    return Fraction(0) if text is None else scope.number(text.text, text.location, what)


def _positive(text: Text | None, scope: EinsumScope, what: str, default: int) -> Fraction:
    if text is None:
        return Fraction(default)
    value = scope.number(text.text, text.location, what)
    if value < 0:
        raise InputError(f"{what} must not be negative, but is {value}", text.location)
    return value


def _whole(text: Text, scope: EinsumScope, what: str) -> int:
    value = scope.number(text.text, text.location, what)
    if value.denominator != 1 or value < 1:
        raise InputError(f"{what} must be a whole number of at least 1, not {value}", text.location)
    return int(value)
