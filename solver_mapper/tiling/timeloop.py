"""A tiling as Timeloop files: architecture, problem and mapping, for `evaluate` or Timeloop itself.

Each scratchpad becomes a level that keeps one tensor. The levels stand in the order in which their
tiles change, with the loops that select a tile above its level, and each load brings the whole tile
(`no_temporal_reuse`): what is read from the backing store is then what the schedule loads, except
for what Timeloop's problems do not have: alignment padding and rows that no window reaches are not
counted, and zero padding is moved like data.
"""

from __future__ import annotations

import yaml

from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.results.rendering import yaml_of
from solver_mapper.errors import InputError
from solver_mapper.io import bundled
from solver_mapper.io.yaml.source import to_python
from solver_mapper.tiling.nest import NestLoop
from solver_mapper.tiling.operator import Operator, TimeloopForm
from solver_mapper.tiling.result import Tiling
from solver_mapper.tiling.schedule import depth_of

STORE, MULTIPLIER = "Memory", "MAC"


@yaml_of.register
def to_timeloop(tiling: Tiling) -> str:
    """The YAML text of all three parts.

    Raises: InputError where Timeloop's notation cannot express the operator or the nest;
    InfeasibleError without a schedule.
    """
    nest = tiling.sound_nest()
    form = form_of(tiling.operator)
    loops = [each for each in nest.loops if each.trips > 1]
    shown = {each.name: depth for depth, each in enumerate(loops)}
    depths = {
        name: sum(1 for each in nest.loops[: depth_of(nest, name)] if each.name in shown)
        for name in tiling.tiled
    }
    operands = frozenset(form.tensors[each.name] for each in tiling.operator.operands)
    order = sorted(tiling.tiled, key=lambda name: depths[name])
    levels = [
        LevelMapping(
            STORE, _outer(loops[: depths[order[0]]], form), keep=frozenset(form.tensors.values())
        )
    ]
    for position, name in enumerate(order):
        innermost = position + 1 == len(order)
        below = len(loops) if innermost else depths[order[position + 1]]
        temporal = (
            *_outer(loops[depths[name] : below], form),
            *(_inner(tiling, form) if innermost else ()),
        )
        tensor = frozenset({form.tensors[name]})
        levels.append(
            LevelMapping(_level(name), temporal, keep=tensor, no_temporal_reuse=tensor & operands)
        )
    dims = tuple(to_python(bundled.shape(form.shape))["dimensions"])
    mapping = Mapping(tuple(levels), dims, tuple(form.tensors.values()))
    return (
        _heading(tiling)
        + _dump(_architecture(tiling, order))
        + _dump(_problem(form))
        + mapping.to_yaml()
    )


def form_of(operator: Operator) -> TimeloopForm:
    """How Timeloop's shapes express an operator.

    Raises: InputError if none does.
    """
    form = operator.timeloop
    if form is None:
        raise InputError(
            f"{operator.kind} is not a sum of products of two tensors: Timeloop's notation cannot"
            " express it"
        )
    return form


def _outer(loops: list[NestLoop], form: TimeloopForm) -> tuple[Loop, ...]:
    return tuple(loop(form.dims[each.name], each.trips) for each in loops)


def _inner(tiling: Tiling, form: TimeloopForm) -> list[Loop]:
    """The iterations inside a tile; `last` are those of the last piece of each loop."""
    loops = []
    for each in tiling.nest.loops:
        *others, final = (piece.size for piece in each.pieces)
        length = others[0] if others else final
        if any(size != length for size in others) or final > length:
            raise InputError(
                f"the pieces of loop {each.name} have several lengths: Timeloop's notation has one,"
                " and a shorter last"
            )
        if length > 1:
            loops.append(Loop(form.dims[each.name], length, final))
    outside = set(form.dims.values())
    return loops + [
        loop(dim, size)
        for dim, size in form.instance.items()
        if dim not in outside and len(dim) == 1 and size > 1
    ]


def _level(tensor: str) -> str:
    return f"{tensor.capitalize()}Scratchpad"


def _architecture(tiling: Tiling, order: list[str]) -> dict[str, object]:
    """Storage from the multiplier outwards, as Timeloop's flat form lists it."""
    bits = 8 * tiling.backend.element_bytes
    pads = [
        {
            "name": _level(name),
            "entries": tiling.backend.capacity(name),
            "instances": 1,
            "word-bits": bits,
        }
        for name in reversed(order)
    ]
    store = {"name": STORE, "technology": "DRAM", "instances": 1, "word-bits": bits}
    return {
        "arch": {
            "arithmetic": {"name": MULTIPLIER, "instances": 1, "word-bits": bits},
            "storage": [*pads, store],
        }
    }


def _problem(form: TimeloopForm) -> dict[str, object]:
    return {
        "problem": {"shape": to_python(bundled.shape(form.shape)), "instance": dict(form.instance)}
    }


def _heading(tiling: Tiling) -> str:
    return (
        f"# {tiling.operator.name} on {tiling.backend.name}, {tiling.objective} objective:"
        f" {tiling.nest.invocations} tiles' work.\n# Counts are in elements without alignment"
        " padding; zero padding is moved like data.\n\n"
    )


def _dump(part: dict[str, object]) -> str:
    return yaml.safe_dump(part, sort_keys=False, default_flow_style=None, width=120) + "\n"
