"""What levels hold, and how many words that takes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.solve.cpsat.linear_form import counter
from solver_mapper.solve.legality.loops import Loops, RequirementTable


@dataclass
class StorageVariables:
    """`keep[tensor, level]` says whether the level holds the tensor. Some level must hold each."""

    loops: Loops
    problem: Problem
    depth: int
    keep: dict[tuple[str, int], cp_model.IntVar] = field(default_factory=dict)
    _used: dict[int, cp_model.LinearExprT] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tensor in self.problem.tensor_names:
            for level in range(self.depth):
                self.keep[tensor, level] = self.loops.model.new_bool_var(f"keep[{tensor},{level}]")
            self.loops.model.add_at_least_one(
                self.keep[tensor, level] for level in range(self.depth)
            )

    def used(self, level: int) -> cp_model.LinearExprT:
        """Words that the tiles of all tensors held by `level` need."""
        if level not in self._used:
            self._used[level] = cp_model.LinearExpr.sum(
                [self._held(tensor, level) for tensor in self.problem.tensors]
            )
        return self._used[level]

    def _held(self, tensor: Tensor, level: int) -> cp_model.IntVar:
        model, keep = self.loops.model, self.keep[tensor.name, level]
        tables = self._factors(tensor, level)
        high = math.prod(max(table.values) for table in tables)
        words = counter(model, high, f"words[{tensor.name},{level}]")
        tile = self._product(tables)
        model.add(words == tile).only_enforce_if(keep)
        model.add(words == 0).only_enforce_if(~keep)
        return words

    def _factors(self, tensor: Tensor, level: int) -> list[RequirementTable]:
        """Tables whose product is the tile of `tensor` at `level`."""
        loops, inside = self.loops, self.loops.inside(level)
        shape = shape_of(tensor, loops.dims)
        tables = [loops.value(loops.loop_slots(shape.plain, inside))]
        for component in shape.components:
            groups = tuple(loops.loop_slots([dim], inside) for dim in component.dims)
            tables.append(loops.joint(groups, partial(_footprint, component)))
        return [table for table in tables if len(table.values) > 1] or tables[:1]

    def _product(self, tables: list[RequirementTable]) -> cp_model.LinearExprT:
        model, result, high = self.loops.model, tables[0].expr, max(tables[0].values)
        for table in tables[1:]:
            high *= max(table.values)
            grown = counter(model, high, "")
            model.add_multiplication_equality(grown, [result, table.expr])
            result = grown
        return result


def _footprint(component: RankComponent, tile: tuple[int, ...]) -> int:
    return component.footprint(dict(zip(component.dims, tile, strict=True)))
