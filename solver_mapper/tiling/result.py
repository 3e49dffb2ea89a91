"""A tiling: what was chosen, what it moves, and why it is believed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

from solver_mapper.core.results.chart import Chart
from solver_mapper.core.results.rendering import chart_of, yaml_of
from solver_mapper.core.results.shown import Shown
from solver_mapper.core.results.verdict import Verdict
from solver_mapper.errors import InfeasibleError
from solver_mapper.tiling import data
from solver_mapper.tiling.backend import Backend
from solver_mapper.tiling.dims import dims_of
from solver_mapper.tiling.movement import algorithmic_minimum
from solver_mapper.tiling.nest import BadNest, MovedElements, TilingNest
from solver_mapper.tiling.operator import Array, Operator
from solver_mapper.tiling.schedule import Invocation, invocations, loop_nest_text
from solver_mapper.tiling.tensors import TiledTensor

WEIGHTS = "weights"


@dataclass(frozen=True)
class TilingCertificate:
    """How the choice was made. `mapspace` names what was chosen from, `value` the figure that was
    optimised and `bound` its proven limit: equal, unless a limit stopped the proof. `checks` lists
    what was computed in a second way.
    """

    objective: str
    mapspace: str
    value: int
    bound: int
    solver: str
    seed: int
    checks: tuple[str, ...] = ()
    parameters: Mapping[str, int | bool] = field(default_factory=dict)

    @property
    def optimal(self) -> bool:
        """Whether `value` is proven to be the best."""
        return self.value == self.bound

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "objective": self.objective,
            "mapspace": self.mapspace,
            "value": self.value,
            "bound": self.bound,
            "status": "optimal" if self.optimal else "feasible",
            "solver": self.solver,
            "seed": self.seed,
            "parameters": dict(self.parameters),
            "checks": list(self.checks),
        }


@dataclass(frozen=True)
class Tiling(Shown):
    """Tiles and a schedule for one operator on one backend.

    `dims[tensor]` are the tiling dims, `basic[tensor]` the size that every tile has except at
    boundaries, `total` the elements of one basic tile of each tensor, as the mode counts them.
    `tiled[tensor]` are the tiles, `nest` the schedule. A tiling that a user gave has a `verdict`
    instead of a `certificate`.
    """

    operator: Operator
    backend: Backend
    objective: str
    dims: Mapping[str, str]
    basic: Mapping[str, tuple[int, ...]]
    total: int
    tiled: Mapping[str, TiledTensor]
    nest: TilingNest
    certificate: TilingCertificate | None
    notes: tuple[str, ...] = field(default=())
    verdict: Verdict | None = None

    @cached_property
    def moved(self) -> MovedElements:
        """Elements that the schedule moves.

        Raises: InfeasibleError if no schedule iterates over these tiles.
        """
        try:
            return self.nest.moved()
        except BadNest as error:
            raise self._refused(error) from None

    @cached_property
    def defect(self) -> str | None:
        """Why the schedule would not compute the operator, or None. SMAUG's own tilings sometimes
        have a defect.
        """
        try:
            self.nest.check()
        except BadNest as error:
            return str(error)
        for pad, held in self.backend.groups(tuple(self.tiled)):
            needed, room = (
                sum(self.tiled[name].largest for name in held),
                self.backend.elements(pad),
            )
            if needed > room:
                return (
                    f"the tiles of {' and '.join(held)} take {needed} elements, scratchpad"
                    f" '{pad.name}' holds {room}"
                )
        return None

    @property
    def fault(self) -> str | None:
        """The first violation of a tiling that a user gave, or the defect; None if the tiling can
        be used.
        """
        if self.verdict is not None and not self.verdict.legal:
            return self.verdict.violations[0].message
        return self.defect

    def sound_nest(self) -> TilingNest:
        """The nest, if it computes the operator.

        Raises: InfeasibleError with what is wrong.
        """
        if self.defect is not None:
            raise self._refused(self.defect)
        return self.nest

    def _refused(self, why: object) -> InfeasibleError:
        return InfeasibleError(
            f"{self.operator.name}: these tiles do not compute the operator: {why}; "
            "the traffic objective finds tiles that do"
        )

    @property
    def traffic(self) -> int:
        """Elements loaded and stored in all, with alignment padding and halo."""
        return self.moved.total

    @cached_property
    def algorithmic_minimum(self) -> int:
        """Elements that any tiling moves."""
        return algorithmic_minimum(self.operator, self.backend.alignment)

    @property
    def utilization(self) -> Fraction:
        """Share of the scratchpads' elements that the largest tiles occupy."""
        pads = {
            pad.name: self.backend.elements(pad)
            for pad, _ in self.backend.groups(tuple(self.tiled))
        }
        return Fraction(sum(tiled.largest for tiled in self.tiled.values()), sum(pads.values()))

    def schedule(self) -> Iterator[Invocation]:
        """The kernel invocations in order.

        Raises: InfeasibleError if there is no valid schedule.
        """
        return invocations(self.sound_nest())

    def tiles(self, tensor: str, array: Array, copy: bool = False) -> dict[tuple[int, ...], Array]:
        """Cut a tensor's array into its tiles, by grid index: views of `array`, or with `copy`
        arrays of their own.

        Raises: InputError if the array does not have the tensor's shape.
        """
        cut = data.cut_array(
            self.tiled[tensor], self.operator.stored(self.operator.tensor(tensor), array)
        )
        return {index: tile.copy() for index, tile in cut.items()} if copy else cut

    def assemble(self, tiles: data.Tiles) -> Array:
        """Put output tiles together.

        Raises: InputError if one is missing or of another size.
        """
        return self.operator.restored(
            data.assemble_array(self.tiled[self.operator.output.name], tiles)
        )

    def run(self, **arrays: Array) -> Array:
        """Compute the operator in numpy tile by tile, as the schedule says.

        Raises: InputError for wrong arrays, InfeasibleError if there is no valid schedule.
        """
        known = {tensor.name: tensor for tensor in self.operator.operands}
        stored = {
            name: self.operator.stored(known[name], array) if name in known else array
            for name, array in arrays.items()
        }
        return self.operator.restored(data.run(self.sound_nest(), stored))

    def to_timeloop(self) -> str:
        """Architecture, problem and mapping as YAML that `evaluate` and Timeloop read.

        Raises: InputError where Timeloop's notation cannot express the operator or the nest;
        InfeasibleError without a schedule.
        """
        return yaml_of(self)

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints."""
        result: dict[str, Any] = {
            "operator": self.operator.kind,
            "name": self.operator.name,
            "objective": self.objective,
            "backend": self.backend.name,
            "tiling_dims": dict(self.dims),
            "basic_tile": {name: list(sizes) for name, sizes in self.basic.items()},
            "total_tile_elems": self.total,
            "output_shape": list(self.operator.output_shape),
            "tiles": {
                name: _tiles_dict(tiled, self.operator.records_storage)
                for name, tiled in self.tiled.items()
            },
            "schedule": self._schedule_dict(),
            "compulsory_elems": self.algorithmic_minimum,
            "utilization": float(self.utilization),
            "notes": list(self.notes),
        }
        proof = {} if self.certificate is None else {"certificate": self.certificate.to_dict()}
        return result | proof | ({} if self.verdict is None else self.verdict.to_dict())

    def _schedule_dict(self) -> dict[str, Any]:
        try:
            moved = self.moved
        except InfeasibleError as error:
            return {"error": str(error)}
        return {
            "invocations": moved.invocations,
            "input_elems_loaded": sum(
                count for name, count in moved.loaded.items() if name != WEIGHTS
            ),
            "weight_elems_loaded": moved.loaded.get(WEIGHTS, 0),
            "output_elems_stored": moved.stored,
            "elems_moved": moved.total,
            "defect": self.defect,
            "loops": [{"loop": loop.name, "trips": loop.trips} for loop in self.nest.loops],
            "nest": loop_nest_text(self.nest).splitlines(),
        }

    def plot(self) -> Chart:
        """A chart of the elements moved, by tensor.

        Raises: InfeasibleError if no schedule iterates over these tiles.
        """
        return cast(Chart, chart_of(self))


def tiling_of(
    nest: TilingNest, backend: Backend, objective: str, certificate: TilingCertificate | None = None
) -> Tiling:
    """A tiling from its nest alone: tile shapes are the largest tiles', and tiling dims name the
    ranks cut.

    Args: `certificate`; without one, the tiling is reported as found, with the algorithmic minimum
    for a bound.
    """
    operator, tiled = nest.operator, nest.tiled
    if certificate is None:
        floor = algorithmic_minimum(operator, backend.alignment)
        certificate = TilingCertificate(
            objective, "one tiling", nest.moved().total, floor, "none", 0
        )
    basic = {
        name: tuple(max(span.size for span in axis) for axis in each.axes)
        for name, each in tiled.items()
    }
    dims = {name: dims_of(each.grid) for name, each in tiled.items()}
    total = sum(each.largest for each in tiled.values())
    return Tiling(operator, backend, objective, dims, basic, total, tiled, nest, certificate)


def _tiles_dict(tiled: TiledTensor, with_storage: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "grid": list(tiled.grid),
        "count": tiled.count,
        "per_dim_rle": tiled.runs(),
    }
    if with_storage:
        result |= {"storage_elems_sum": tiled.total, "storage_elems_max": tiled.largest}
    return result
