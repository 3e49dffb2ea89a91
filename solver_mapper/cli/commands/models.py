"""`solver-mapper models`: what comes with the package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer
import yaml
from rich.table import Table

from solver_mapper.cli.app import YES, Json, command
from solver_mapper.cli.output import columns_of, print_answer, print_text
from solver_mapper.core.architecture import Architecture
from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.io import bundled
from solver_mapper.io.bundled import Accelerator, Layer, LayerNetwork
from solver_mapper.io.timeloop.specification import load
from solver_mapper.io.yaml.source import to_python
from solver_mapper.report.tables import on_terminal, render, table

Name = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="An architecture, network or layer to show in detail."),
]


@command("models")
def models(name: Name = None, as_json: Json = False) -> int:
    """List bundled architectures and networks, or show one.

    A layer is printed as a Timeloop problem, ready to be saved as a file.
    """
    if name is None:
        dump(_overview()) if as_json else show(_overview_tables())
    elif (accelerator := bundled.architecture(name)) is not None:
        dump(_architecture(accelerator)) if as_json else show(_architecture_tables(accelerator))
    elif (network := bundled.network(name)) is not None:
        dump(_network(network)) if as_json else show(_network_tables(network))
    else:
        _show_layer(_layer(name), as_json)
    return YES


def dump(data: dict[str, Any]) -> None:
    """Print `data` as one JSON object."""
    print_text(json.dumps(data, ensure_ascii=False) + "\n")


def show(parts: Iterable[Table | str]) -> None:
    """Print tables and lines, with an empty line between them."""
    with on_terminal(columns_of(sys.stdout)):
        text = "\n\n".join(render(part) for part in parts)
    print_answer(f"{text}\n")


def _show_layer(layer: Layer, as_json: bool) -> None:
    problem = {"problem": to_python(layer.problem)}
    if as_json:
        dump({"name": layer.full_name, "count": layer.count, "macs": layer.macs, **problem})
    else:
        print_text(
            f"# {layer.full_name}, run {layer.count} x, {layer.macs:,} multiply-accumulates each\n"
            + yaml.safe_dump(problem, sort_keys=False, default_flow_style=None, width=120)
        )


def _layer(name: str) -> Layer:
    found = bundled.layer(name)
    if found is None:
        known = (*bundled.model_names(), *(each.name for each in bundled.networks()))
        raise InputError(
            "no model has that name",
            SourceLocation(name),
            did_you_mean(name, known) or "'solver-mapper models' lists them",
        )
    return found


def _overview() -> dict[str, Any]:
    return {
        "architectures": [_architecture(each) for each in bundled.architectures()],
        "networks": [_network(each) for each in bundled.networks()],
    }


def _overview_tables() -> list[Table | str]:
    accelerators = table("architecture", "what it is", words=(1,))
    for each in bundled.architectures():
        accelerators.add_row(each.name, each.title)
    networks = table("network", "what it is", ">layers", ">GMAC", words=(1,))
    for net in bundled.networks():
        networks.add_row(net.name, net.title, str(len(net.layers)), f"{net.macs / 1e9:,.3f}")
    return [
        accelerators,
        networks,
        (
            "To see one:      solver-mapper models resnet50\n"
            "To map a layer:  solver-mapper solve eyeriss resnet50/conv1"
        ),
    ]


def _architecture(each: Accelerator) -> dict[str, Any]:
    hardware = _hardware(each)
    levels = [
        {
            "name": level.name,
            "entries": level.entries,
            "word_bits": level.word_bits,
            "mesh": [level.mesh_x, level.mesh_y],
        }
        for level in hardware.levels
    ]
    unit = hardware.arithmetic
    return {
        "name": each.name,
        "title": each.title,
        "levels": levels,
        "arithmetic": {
            "name": unit.name,
            "word_bits": unit.word_bits,
            "mesh": [unit.mesh_x, unit.mesh_y],
        },
        "dataflows": list(each.dataflows),
        "folder": str(bundled.path("architectures", each.name)),
    }


def _architecture_tables(each: Accelerator) -> list[Table | str]:
    hardware = _hardware(each)
    levels = table(
        "level", ">words", ">bits", ">instances", ">mesh", ">pJ a read", ">a fill", ">an update"
    )
    for level in hardware.levels:
        size = "unlimited" if level.entries is None else f"{level.entries:,}"
        costs = (
            f"{float(cost):g}"
            for cost in (level.energy.read, level.energy.fill, level.energy.update)
        )
        levels.add_row(
            level.name,
            size,
            str(level.word_bits),
            f"{level.instances:,}",
            f"{level.mesh_x} x {level.mesh_y}",
            *costs,
        )
    unit = hardware.arithmetic
    mesh = f"{unit.mesh_x} x {unit.mesh_y}"
    levels.add_row(
        unit.name, "", str(unit.word_bits), f"{unit.instances:,}", mesh, f"{float(unit.energy):g}"
    )
    constraints = (
        f"Dataflow constraints for {', '.join(each.dataflows)}"
        if each.dataflows
        else "Without dataflow constraints"
    )
    return [
        f"{each.title}.",
        levels,
        f"{constraints}. Files: {bundled.path('architectures', each.name)}",
    ]


def _hardware(each: Accelerator) -> Architecture:
    # Constraints on keeping and bypassing name tensors, so they can only be read beside some
    # problem.
    return load(*bundled.resolve(f"{each.name}/arch", "tiny/mm8")).need_architecture()


def _network(net: LayerNetwork) -> dict[str, Any]:
    layers = [
        {
            "name": layer.name,
            "shape": layer.shape,
            "count": layer.count,
            "macs": layer.macs,
            "instance": layer.instance,
        }
        for layer in net.layers
    ]
    return {
        "name": net.name,
        "title": net.title,
        "aliases": list(net.aliases),
        "macs": net.macs,
        "layers": layers,
    }


def _network_tables(net: LayerNetwork) -> list[Table | str]:
    layers = table("layer", "shape", "instance", ">runs", ">MMAC each", words=(2,))
    for layer in net.layers:
        bounds = " ".join(f"{name}={value}" for name, value in layer.instance.items())
        layers.add_row(
            layer.name, layer.shape, bounds, str(layer.count), f"{layer.macs / 1e6:,.3f}"
        )
    return [
        f"{net.title}.",
        layers,
        f"To see one:  solver-mapper models {net.name}/{net.layers[0].name}",
    ]
