"""The curve of a workload of several Einsums that may keep tensors on chip between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from solver_mapper.bounds.curve import Curve, CurvePoint
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph, net_of
from solver_mapper.bounds.fusion.evaluate import account
from solver_mapper.bounds.fusion.ffmt import ffmt_plans
from solver_mapper.bounds.fusion.join import joined
from solver_mapper.bounds.fusion.orojenesis_v2.graph_join import V2
from solver_mapper.bounds.fusion.orojenesis_v2.listing import EinsumMapping, einsum_mappings
from solver_mapper.bounds.fusion.plan import FusionPlan, PlanRules
from solver_mapper.bounds.fusion.points import FamilyPoint, FusedPoint
from solver_mapper.bounds.fusion.special import SpecialRanks, named
from solver_mapper.bounds.fusion.tensor_cores import TensorCore
from solver_mapper.cost.looptree.workload import Workload
from solver_mapper.errors import ExactnessError, InfeasibleError, InputError, unknown_name

Template = Literal["ffmr", "ffmt", "v2"]

_MOST = 64
"""Einsums fused tile by tile at a time unless another number is asked for."""


@dataclass(frozen=True)
class FusionOptions:
    """What fused mappings may do.

    `uneven`: fused loops of two Einsums may differ; the second waits and buffers. `uneven_tensors`:
    an Einsum may hold the whole tile of a tensor while others stream past it in smaller ones.
    `share_inputs`: a workload input that several Einsums read may stay on chip between them.
    `recompute`: a loop over a rank of the last Einsum alone, which indexes no fused tensor, may
    stand above the fused loops; the other Einsums then run again. `most`: Einsums fused tile by
    tile at a time (template ffmr; None: 64). `must_fuse` and `never_fuse` name intermediates;
    `must_fuse_easily` adds the inputs of Einsums with a single input, and of those whose smallest
    tensor is more than 128 times smaller than the next. `head` and `batch` name rank variables
    across which nothing is reused (see `special`); `special`: so are those with "head" or "batch"
    in their names (None: for the template v2); `head_is_tiled` (template v2): a common loop over
    heads, or over a batch that acts like heads, makes footprints additive; else heads run one after
    another, and their working sets are freed between them.
    `tensor_core`: blocks that no tile is smaller than; either operand may take either side.
    """

    uneven: bool = False
    uneven_tensors: bool = False
    share_inputs: bool = False
    recompute: bool = False
    most: int | None = None
    must_fuse: Sequence[str] = ()
    never_fuse: Sequence[str] = ()
    must_fuse_easily: bool = False
    head: Sequence[str] = ()
    batch: Sequence[str] = ()
    special: bool | None = None
    head_is_tiled: bool = False
    tensor_core: TensorCore | None = None


PLAIN = FusionOptions()


def fuse(
    workload: Workload, template: Template = "ffmr", options: FusionOptions = PLAIN
) -> Curve[Any]:
    """Least traffic of a whole workload for every buffer size, fusion included; exact for the
    template.

    `template`: "ffmr", fused loops above all others, every subset of intermediates unfused, whole
    or tiled; "ffmt", the template of the Orojenesis paper, for chains; "v2", the published rules of
    Orojenesis v2.
    Returns: a curve of `FusedPoint` (of `FamilyPoint` for "v2").
    Raises: InputError for a workload or options that the template does not know, InfeasibleError if
    no mapping is left.
    """
    if template not in get_args(Template):
        raise InputError(
            f"unknown template '{template}'",
            workload.location,
            f"known here: {', '.join(get_args(Template))}",
        )
    net = net_of(workload, options.tensor_core)
    check_options(net, template, options)
    finder = _FINDERS[template]
    points, assumed, proof = finder(net, options)
    if not points:
        raise InfeasibleError("no fused mapping obeys all that was asked for")
    beside = {"unfused": _curve(joined(net, PlanRules(most=1, whole=False)).plans)}
    if template == "ffmr":
        beside["untiled fusion"] = _curve(joined(net, PlanRules(most=1)).plans)
    if options.uneven:
        beside["even fusion"] = _curve(finder(net, replace(options, uneven=False)).points)
    title = f"{', '.join(problem.name for problem in net.problems)} ({template})"
    return Curve(
        title,
        net.units,
        tuple(points),
        _algorithmic_minimum(net),
        net.operations,
        sum(net.touched.values()),
        (*_SNOWCAT, *assumed),
        beside=beside,
        extra={"template": template},
        macs=sum(
            problem.macs * count for problem, count in zip(net.problems, net.repeats, strict=True)
        ),
        proof=proof,
    )


def fuse_mappings(
    workload: Workload, options: FusionOptions = PLAIN, *, pareto: bool = False
) -> Iterator[EinsumMapping]:
    """All mappings of the single Einsums that `fuse(workload, "v2", options)` joins, one by one.

    `pareto`: only those that no other with the same fused tensors and the same ordered fused loops
    improves upon; equal ones are all given.
    Raises: InputError as `fuse`.
    """
    net = net_of(workload, options.tensor_core)
    check_options(net, "v2", options)
    return einsum_mappings(
        net,
        net.intermediates - set(options.never_fuse),
        must_names(net, options),
        special_ranks(net, options, by_name=True),
        options.uneven_tensors,
        pareto,
    )


_SNOWCAT = (
    (
        "one backing store without limit, one buffer, one unit (the Snowcat model); perfect"
        " factors: tile sizes divide"
    ),
)


class _Answer(NamedTuple):
    points: tuple[CurvePoint, ...]
    assumed: tuple[str, ...]
    proof: str


def _ffmr(net: DataflowGraph, options: FusionOptions) -> _Answer:
    rules = PlanRules(
        most=_MOST if options.most is None else options.most,
        inputs=options.share_inputs,
        recompute=options.recompute,
        uneven_tensors=options.uneven_tensors,
        uneven=options.uneven,
        must=must_names(net, options),
        special=special_ranks(net, options, by_name=False),
        never=frozenset(options.never_fuse),
    )
    said = [
        (
            "groups run in any order that dependencies allow; the Einsums of a group in the"
            " workload's order"
        ),
        (
            "a tensor that stays on chip is fused for all its users; partial sums never cross"
            " between Einsums"
        ),
    ]
    said += [] if options.recompute else ["no Einsum runs twice"]
    said += (
        []
        if options.share_inputs
        else ["Einsums that read the same workload input fetch it each for itself"]
    )
    said += (
        []
        if options.uneven_tensors
        else ["tensors that stream past an Einsum do so in one common tile"]
    )
    plans, proof = joined(net, rules)
    return _Answer(
        _checked(net, plans), tuple(said), f"{proof}; each mapping was counted again from its loops"
    )


def _ffmt(net: DataflowGraph, _: FusionOptions) -> _Answer:
    return _Answer(
        _checked(net, ffmt_plans(net)),
        (
            (
                "all Einsums fused by one loop over rows; whole rows of activations on chip;"
                " weights resident or streamed"
            ),
        ),
        "every mapping of the template was counted",
    )


def _v2(net: DataflowGraph, options: FusionOptions) -> _Answer:
    rule = special_ranks(net, options, by_name=True)
    fusable = net.intermediates - set(options.never_fuse)
    picks = V2(
        net, fusable, must_names(net, options), rule, options.uneven, options.uneven_tensors
    ).picks()
    return _Answer(
        tuple(FamilyPoint(pick.buffer, pick.accesses, pick.chosen, net) for pick in picks),
        (
            (
                "capacities by the rules of Orojenesis v2: sums over Einsums that are tiled-fused,"
                " the maximum over others, whatever the sizes of their fused loops; a tensor that"
                " only one side holds whole counts there alone"
            ),
        ),
        "every family of every Einsum was joined with every other that the rules allow",
    )


def _checked(net: DataflowGraph, plans: Iterable[FusionPlan]) -> tuple[FusedPoint, ...]:
    points = []
    for plan in plans:
        counted = account(net, plan)
        if (counted.buffer, counted.accesses) != (plan.buffer, plan.accesses):
            raise ExactnessError(
                f"the search counted ({plan.buffer}, {plan.accesses}), the plan costs "
                f"({counted.buffer}, {counted.accesses})"
            )
        points.append(FusedPoint(plan, counted, net))
    return tuple(points)


_FINDERS: dict[str, Callable[[DataflowGraph, FusionOptions], _Answer]] = {
    "ffmr": _ffmr,
    "ffmt": _ffmt,
    "v2": _v2,
}


def _curve(points: Iterable[FusionPlan | CurvePoint]) -> tuple[tuple[int, int], ...]:
    return tuple((point.buffer, point.accesses) for point in points)


def special_ranks(net: DataflowGraph, options: FusionOptions, by_name: bool) -> SpecialRanks:
    """The variables that options name and, if they ask for it or say nothing and the template does
    (`by_name`), those so called.
    """
    wanted = by_name if options.special is None else options.special
    called = named(net.workload) if wanted else SpecialRanks()
    return SpecialRanks(
        called.head | set(options.head), called.batch | set(options.batch), options.head_is_tiled
    )


def must_names(net: DataflowGraph, options: FusionOptions) -> frozenset[str]:
    """Intermediates that may not pass through the backing store."""
    must = set(options.must_fuse)
    for problem in net.problems if options.must_fuse_easily else ():
        inputs = {tensor.name for tensor in problem.tensors if not tensor.read_write}
        sizes = sorted(net.sizes[name] for name in problem.tensor_names)
        if len(inputs) <= 1 or (len(sizes) > 1 and sizes[0] * 128 < sizes[1]):
            must |= inputs & net.intermediates
    return frozenset(must) - frozenset(options.never_fuse)


def _algorithmic_minimum(net: DataflowGraph) -> int:
    """Workload inputs and outputs, each word once."""
    return sum(
        net.touched[name] * net.repeats[min(net.users[name])]
        for name in net.workload.tensors
        if name not in net.intermediates
    )


def check_options(net: DataflowGraph, template: str, options: FusionOptions) -> None:
    """Raises: InputError for options that the workload or the template does not know."""
    location = net.workload.location
    for name in (*options.must_fuse, *options.never_fuse):
        if name not in net.intermediates:
            raise unknown_name("intermediate tensor", name, net.intermediates, location)
    both = sorted(set(options.must_fuse) & set(options.never_fuse))
    if both:
        raise InputError(
            f"'{both[0]}' is both among the tensors to fuse and among those never to", location
        )
    for name in (*options.head, *options.batch):
        if name not in net.workload.variables:
            raise unknown_name("rank variable", name, net.workload.variables, location)
    both = sorted(set(options.head) & set(options.batch))
    if both:
        raise InputError(f"'{both[0]}' is both among the heads and among the batches", location)
    if options.most is not None and options.most < 1:
        raise InputError(f"groups have at least 1 Einsum, not {options.most}", location)
    for flag, templates in (
        ("uneven", ("ffmr", "v2")),
        ("uneven_tensors", ("ffmr", "v2")),
        ("share_inputs", ("ffmr",)),
        ("recompute", ("ffmr",)),
        ("most", ("ffmr",)),
        ("must_fuse", ("ffmr", "v2")),
        ("never_fuse", ("ffmr", "v2")),
        ("must_fuse_easily", ("ffmr", "v2")),
        ("head", ("ffmr", "v2")),
        ("batch", ("ffmr", "v2")),
        ("special", ("ffmr", "v2")),
        ("head_is_tiled", ("v2",)),
        ("tensor_core", ("ffmr", "v2")),
    ):
        if getattr(options, flag) and template not in templates:
            raise InputError(
                f"'{flag}' has no meaning for the template '{template}'",
                location,
                f"it has one for {', '.join(templates)}",
            )
    if (
        template == "ffmr"
        and options.uneven
        and (options.head or options.batch or options.special or options.recompute)
    ):
        raise InputError(
            "'uneven' cannot be combined with 'head', 'batch', 'special' or 'recompute'", location
        )
