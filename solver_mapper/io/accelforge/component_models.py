"""Figures that component models supply: asked of AccelForge, where that package is installed, and
written into LoopTree input.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from solver_mapper.cost.looptree.architecture import lacking_numbers
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.accelforge.architecture_file import read_architecture
from solver_mapper.io.estimators import reason_of
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.io.yaml.source import Node, Scalar, Table, to_python
from solver_mapper.io.yaml.source import Sequence as Listed

_SECTIONS = ("arch", "workload", "variables", "renames")
_SPATIAL = ("fanout", "min_usage", "usage_scale")
_TABLES = ("bits_per_value", "values_per_action")
_NUMBERS = ("size", "actions_scale", "leak_power", "area")
_INCLUDED = frozenset(
    {"energy_scale", "throughput_scale", "leak_power_scale", "area_scale", "latency_scale"}
    | {"n_parallel_instances", "bits_per_action", "component_class", "total_area"}
    | {"total_leak_power", "extra_attributes_for_component_model", "component_modeling_log"}
)
"""What models were asked with, and scales that the figures already contain."""
INSTALL = (
    "install 'solver-mapper[accelforge]' (Python 3.12 or newer), and 'solver-mapper energies"
    " FILE... -o FILLED.yaml' writes the figures of its models; or write them by hand"
)


@dataclass(frozen=True)
class Figures:
    """The evaluated numbers of one component for one Einsum; `tables` in the order of the file."""

    numbers: Mapping[str, float] = field(default_factory=dict)
    actions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    spatial: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    tables: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class FilledInput:
    """LoopTree input whose components have all figures."""

    content: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The content as plain data; tags of nodes stand under the key `tag`."""
        plain: dict[str, Any] = json.loads(json.dumps(self.content))
        return plain

    def to_yaml(self) -> str:
        """The content as a file that `solve` and AccelForge read."""
        head = "# Figures of components by AccelForge's models.\n"
        return head + yaml.dump(self.content, Dumper=_Dumper, sort_keys=False, width=100)

    def __str__(self) -> str:
        return self.to_yaml().rstrip("\n")


class _Tagged(dict[str, Any]):
    """A YAML mapping with a tag."""

    def __init__(self, tag: str, entries: Mapping[str, Any]):
        super().__init__(entries)
        self.tag = tag


class _Dumper(yaml.SafeDumper):
    """Writes tags, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Whether equal parts are written out each time."""
        return True


_Dumper.add_representer(
    _Tagged, lambda dumper, node: dumper.represent_mapping(node.tag, dict(node).items())
)


def filled(
    top: Table,
    files: Sequence[Path],
    variables: Mapping[str, Any],
    functions: Sequence[Path] = (),
    main_memory: bool = False,
) -> FilledInput:
    """`top`, the input that `files` render with `variables`, with all figures of its components.

    Args: `functions`, Python files with functions that expressions call; `main_memory`, whether to
    put a free memory of any size outermost, for a macro that has none.
    Raises: InputError, naming every figure that is missing, if AccelForge is not installed, and
    with its reason if it cannot tell a figure.
    """
    fields = Fields(top, "the input")
    arch, workload = fields.require("arch"), fields.require("workload")
    missing = lacking_numbers(read_architecture(arch, fields.node("variables")))
    sections = {name: top.entries[name] for name in _SECTIONS if name in top.entries}
    by_einsum = _asked(sections, files, variables, functions, missing, arch.location)
    assert isinstance(arch, Table)
    nodes = arch.entries["nodes"]
    assert isinstance(nodes, Listed)
    listed = [_node(each, by_einsum) for each in nodes.items]
    if main_memory:
        listed.insert(0, _main_memory(top))
    others = {"workload": workload, "renames": top.entries.get("renames")}
    return FilledInput(
        {
            "arch": {"nodes": listed},
            **{name: _plain(node) for name, node in others.items() if node is not None},
        }
    )


def _main_memory(top: Table) -> _Tagged:
    action = {"energy": 0, "throughput": "inf"}
    return _Tagged(
        "!Memory",
        {
            "name": "MainMemory",
            "size": "inf",
            "leak_power": 0,
            "area": 0,
            "tensors": {"keep": "~weight"},
            "actions": [{"name": name, **action} for name in ("read", "write")],
        },
    )


def _node(node: Node, by_einsum: Mapping[str, Mapping[str, Figures]]) -> Any:
    """A node of the architecture with its figures."""
    assert isinstance(node, Table)
    entries = dict(node.entries)
    inner = entries.pop("nodes", None)
    result = {key: _plain(item) for key, item in entries.items() if key not in _INCLUDED}
    name = str(result.get("name", ""))
    found = {einsum: parts[name] for einsum, parts in by_einsum.items() if name in parts}
    if found:
        result |= _figures(node, result, found)
    if isinstance(inner, Listed):
        result["nodes"] = [_node(each, by_einsum) for each in inner.items]
    return _Tagged(node.tag or "", result)


def _figures(node: Table, given: Mapping[str, Any], found: Mapping[str, Figures]) -> dict[str, Any]:
    """What replaces the entries of a component: numbers where all Einsums have the same."""
    result: dict[str, Any] = {}
    one = next(iter(found.values()))
    for name in _NUMBERS:
        values = {each.numbers.get(name) for each in found.values()}
        wanted = name in given or name in ("leak_power", "area")
        if wanted and len(values) == 1 and None not in values:
            result[name] = _number(one.numbers[name])
        elif name == "leak_power" and len(values) > 1:
            raise _differs(node, name, found)
    for name in _TABLES:
        tables = {each.tables.get(name) for each in found.values()}
        if name in given and len(tables) == 1 and None not in tables:
            result[name] = _table(given[name], one.tables[name])
    if "spatial" in given:
        result["spatial"] = [_spatial(each, found) for each in given["spatial"]]
    if one.actions:
        result["actions"] = [
            {"name": action, **_action(node, action, found), **_own_table(given, action)}
            for action in one.actions
        ]
    return result


def _table(given: Mapping[str, Any], values: tuple[float, ...]) -> dict[str, Any]:
    """The numbers of a table of sets; as they were written where sets overlap or are empty."""
    if len(set(values)) == 1:
        return dict.fromkeys(given, _number(values[0]))
    if len(values) == len(given):
        return {key: _number(value) for key, value in zip(given, values, strict=True)}
    return dict(given)


def _spatial(entry: Mapping[str, Any], found: Mapping[str, Figures]) -> dict[str, Any]:
    result = dict(entry)
    for name in _SPATIAL:
        values = {each.spatial.get(str(entry["name"]), {}).get(name) for each in found.values()}
        value = values.pop()
        if name in entry and not values and value is not None:
            result[name] = _number(value)
    return result


def _action(node: Table, action: str, found: Mapping[str, Figures]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name in next(iter(found.values())).actions[action]:
        values = {each.actions[action][name] for each in found.values()}
        if len(values) > 1:
            raise _differs(node, f"{name} of '{action}'", found)
        result[name] = _number(values.pop())
    return result


def _own_table(given: Mapping[str, Any], action: str) -> dict[str, Any]:
    """values_per_action of an action, as written."""
    for each in given.get("actions") or ():
        if each.get("name") == action and "values_per_action" in each:
            return {"values_per_action": each["values_per_action"]}
    return {}


def _differs(node: Table, what: str, found: Mapping[str, Figures]) -> InputError:
    name = _plain(node.entries["name"])
    return InputError(
        f"{what} of '{name}' differs between the Einsums {', '.join(found)}",
        node.location,
        "give the Einsums one by one",
    )


def _number(value: float) -> int | float | str:
    if math.isinf(value):
        return "inf"
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def _plain(node: Node) -> Any:
    """Plain values with tags; numbers as numbers."""
    if isinstance(node, Table):
        entries = {key: _plain(item) for key, item in node.entries.items()}
        return _Tagged(node.tag, entries) if node.tag else entries
    if isinstance(node, Listed):
        return [_plain(item) for item in node.items]
    if isinstance(node, Scalar) and not node.quoted:
        value = yaml.safe_load(node.text) if node.text else None
        if isinstance(value, (bool, int, float)):
            return value
    return to_python(node)


def _asked(
    sections: Mapping[str, Node],
    files: Sequence[Path],
    variables: Mapping[str, Any],
    functions: Sequence[Path],
    missing: Sequence[InputError],
    location: SourceLocation,
) -> dict[str, dict[str, Figures]]:
    """The figures of all components, by Einsum."""
    try:
        import accelforge
    except ImportError:
        if missing:
            raise InputError(
                missing[0].message, missing[0].location, INSTALL, tuple(missing[1:])
            ) from None
        raise InputError("the package 'accelforge' is not installed", location, INSTALL) from None
    kinds = {
        "arch": accelforge.Arch,
        "workload": accelforge.Workload,
        "variables": accelforge.Variables,
        "renames": accelforge.Renames,
    }
    einsum = ""
    try:
        parts = {
            name: kinds[name].from_yaml(
                *map(str, files), top_key=name, jinja_parse_data=dict(variables)
            )
            for name in sections
        }
        spec = accelforge.Spec(**parts)
        spec.config.expression_custom_functions.extend(map(str, functions))
        result = {}
        for each in spec.workload.einsums:
            einsum = str(each.name)
            costs = spec.calculate_component_costs(einsum_name=einsum)
            result[einsum] = dict(_evaluated(costs))
    except Exception as error:  # models and expressions raise what they like
        about = f" for Einsum '{einsum}'" if einsum else ""
        raise InputError(
            f"AccelForge cannot tell the figures of components{about}: {reason_of(str(error))}",
            location,
            "functions that expressions call stand in Python files: --functions FILE.py",
        ) from None
    return result


def _evaluated(costs: Any) -> Iterator[tuple[str, Figures]]:
    """The figures in AccelForge's specification, whose expressions have been evaluated."""
    for leaf, _ in costs.arch.iterate_hierarchically():
        actions = {
            str(action.name): {
                name: float(getattr(action, name))
                for name in ("energy", "throughput", "bits_per_action")
                if getattr(action, name, None) is not None
            }
            for action in getattr(leaf, "actions", ())
        }
        numbers = {
            name: float(value)
            for name in _NUMBERS
            if isinstance(value := getattr(leaf, name, None), (int, float))
        }
        spatial = {
            str(each.name): {name: float(getattr(each, name)) for name in _SPATIAL}
            for each in leaf.spatial
        }
        tables = {
            name: tuple(float(value) for value in getattr(leaf, name).values())
            for name in _TABLES
            if getattr(leaf, name, None)
        }
        yield str(leaf.name), Figures(numbers, actions, spatial, tables)
