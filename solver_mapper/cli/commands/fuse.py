"""`solver-mapper fuse`: buffer size against least data movement, several Einsums."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from solver_mapper import api
from solver_mapper.bounds import Curve
from solver_mapper.bounds.fusion import FusionOptions, TensorCore
from solver_mapper.cli.app import Files, Json, command
from solver_mapper.cli.curves import (
    CURVE_FILES,
    CURVE_FOLDER,
    AllMappings,
    Bandwidth,
    MacsPerCycle,
    Pareto,
    check_listing,
    names,
    numbers,
    print_lines,
    write_curve,
)
from solver_mapper.cli.destination import destination
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.cli.pictures import Html, Plots
from solver_mapper.cli.request import interruptible, limited, stop_code
from solver_mapper.cli.search_options import MemoryLimit, TimeLimit
from solver_mapper.core.arguments import refuse_given
from solver_mapper.errors import InputError

Template = Annotated[
    Literal["ffmr", "ffmt", "v2"] | None,
    typer.Option(metavar="ffmr|ffmt|v2", help="The class of fused mappings.", show_default="ffmr"),
]
UnevenFusion = Annotated[
    bool,
    typer.Option(
        "--uneven-fusion", help="Consumers may buffer: fused loops of two Einsums may differ."
    ),
]
UnevenTensors = Annotated[
    bool, typer.Option("--uneven-tensors", help="An Einsum may store a whole tensor on chip.")
]
ShareInputs = Annotated[
    bool,
    typer.Option("--share-inputs", help="A workload input may stay on chip for several Einsums."),
]
Recompute = Annotated[
    bool,
    typer.Option(
        "--recompute", help="An Einsum may be computed again for each tile of the last one."
    ),
]
Most = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Largest number of Einsums in a fused group.",
        min=1,
        show_default="64",
    ),
]
MustFuse = Annotated[
    str | None,
    typer.Option(metavar="T,...", help="Intermediate tensors that must stay on chip."),
]
NeverFuse = Annotated[
    str | None, typer.Option(metavar="T,...", help="Intermediate tensors that must not.")
]
MustFuseEasily = Annotated[
    bool, typer.Option("--must-fuse-easily", help="Also those that small Einsums read.")
]
Head = Annotated[
    str | None, typer.Option(metavar="h,...", help="Variables whose fused loops are outermost.")
]
Batch = Annotated[
    str | None, typer.Option(metavar="b,...", help="Variables whose fused loops come next.")
]
Special = Annotated[
    bool | None,
    typer.Option(
        "--special-ranks/--no-special-ranks",
        show_default="as the template says",
        help="Ranks named head or batch have fused loops outermost (v2: yes).",
    ),
]
HeadIsTiled = Annotated[
    bool, typer.Option("--head-is-tiled", help="A fused loop over heads adds footprints (v2).")
]
LeastTile = Annotated[
    str | None, typer.Option(metavar="m=..,n=..,k=..", help="Least tile of the compute unit.")
]
Folder = Annotated[
    Path | None,
    typer.Option("-o", metavar="DIR", help="Write JSON, CSV, SVG, text and mappings."),
]


@command("fuse")
def fuse(
    files: Files,
    template: Template = None,
    uneven_fusion: UnevenFusion = False,
    uneven_tensors: UnevenTensors = False,
    share_inputs: ShareInputs = False,
    recompute: Recompute = False,
    most: Most = None,
    must_fuse: MustFuse = None,
    never_fuse: NeverFuse = None,
    must_fuse_easily: MustFuseEasily = False,
    head: Head = None,
    batch: Batch = None,
    special: Special = None,
    head_is_tiled: HeadIsTiled = False,
    tensor_core: LeastTile = None,
    output: Annotated[Path | None, CURVE_FOLDER] = None,
    macs_per_cycle: MacsPerCycle = None,
    bandwidth: Bandwidth = None,
    all_mappings: AllMappings = False,
    pareto: Pareto = False,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
) -> int:
    """Bound data movement by buffer size, for fused Einsums.

    No mapping of the chosen class with a buffer of that size moves less data.
    """
    check_listing(
        all_mappings,
        pareto,
        {
            "-o": output,
            "--macs-per-cycle": macs_per_cycle,
            "--bandwidth": bandwidth,
            "--html": html,
            "--plot": plot or None,
        },
    )
    refuse_given(
        {f"--template {template}": all_mappings and template not in (None, "v2")},
        "has no mappings of single Einsums by themselves",
        COMMAND_LINE,
        "--all-mappings lists those of --template v2",
    )
    target = destination(output, html, plot, as_json)
    options = FusionOptions(
        uneven_fusion,
        uneven_tensors,
        share_inputs,
        recompute,
        most,
        names(must_fuse),
        names(never_fuse),
        must_fuse_easily,
        names(head),
        names(batch),
        special,
        head_is_tiled,
        _core(tensor_core),
    )
    clock = limited(time_limit, memory_limit)
    spec = read_any(files, energies=False)
    if all_mappings:
        with interruptible():
            print_lines(api.fuse_mappings(spec, options, pareto=pareto))
        return stop_code()
    target.prepare(Curve, files, CURVE_FILES)
    curve = api.fuse(
        spec,
        template or "ffmr",
        options,
        macs_per_cycle=macs_per_cycle,
        bandwidth=bandwidth,
        clock=clock,
    )
    target.deliver(curve, files, spec, lambda folder: write_curve(curve, folder, trees=True))
    return stop_code()


def _core(text: str | None) -> TensorCore | None:
    sizes = numbers(text, "--tensor-core")
    if sizes is None:
        return None
    if sorted(sizes) != ["k", "m", "n"] or min(sizes.values()) < 1:
        raise InputError(
            "--tensor-core needs m, n and k of at least 1",
            COMMAND_LINE,
            "for example --tensor-core m=1,n=1,k=8",
        )
    return TensorCore(sizes["m"], sizes["n"], sizes["k"])
