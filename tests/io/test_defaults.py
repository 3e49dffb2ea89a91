"""What Timeloop's two formats (levels, up to version 0.3, and nodes, version 0.4) mean by what is
left out.

In a mapping what is left out has a value; in a constraint it is free.
"""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import pytest

import solver_mapper as sm
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.spec import Spec

LEVELS = """
arch:
  arithmetic: {name: MAC, instances: 4, meshX: 2}
  storage:
  - {name: RF, entries: 64, instances: 4, meshX: 2}
  - {name: GLB, entries: 1024, instances: 1}
  - {name: DRAM, technology: DRAM, instances: 1}
"""
NODES = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8, width: 64}}
  - !Component {name: GLB, class: SRAM, attributes: {depth: 1024, width: 8, datawidth: 8}}
  - !Container {name: PE, spatial: {meshX: 2, meshY: 2}}
  - !Component {name: RF, class: regfile, attributes: {depth: 64, width: 8, datawidth: 8}}
  - !Component {name: MAC, class: intmac}
"""
FORMATS = [pytest.param(LEVELS, "GLB", id="levels"), pytest.param(NODES, "PE", id="nodes")]
"""The same design twice, each with the target of its spatial directives."""


def read(design: str, bounds: dict[str, int], **more: Any) -> Spec:
    """The problem's dimensions are M, N, K in this order; its tensors A(M,K), B(K,N), Z(M,N)."""
    spec = sm.load(
        io.StringIO(design), {"problem": {"shape": "gemm-ABZ", "instance": bounds}, **more}
    )
    assert isinstance(spec, Spec)
    return spec


def mapping(design: str, *directives: dict[str, Any]) -> Mapping:
    return read(design, {"M": 16, "N": 8, "K": 4}, mapping=list(directives)).need_mapping()


def level(found: Mapping, target: str) -> LevelMapping:
    """The level whose spatial loops `target` names, or the one of that name."""
    name = f"inter_{target}_spatial" if target == "PE" else target
    return next(each for each in found.levels if each.level == name)


@pytest.mark.parametrize(("design", "mesh"), FORMATS)
class TestMapping:
    def test_an_omitted_factor_is_1(self, design: str, mesh: str) -> None:
        found = mapping(design, {"target": "GLB", "type": "temporal", "factors": "N=2"})
        assert level(found, "GLB").temporal == (loop("N", 2),)

    def test_omitted_factors_are_1(self, design: str, mesh: str) -> None:
        found = mapping(design, {"target": "GLB", "type": "temporal", "permutation": "KMN"})
        assert list(found.loops()) == []

    def test_an_omitted_directive_has_no_loops(self, design: str, mesh: str) -> None:
        assert (
            list(mapping(design, {"target": "GLB", "type": "bypass", "bypass": []}).loops()) == []
        )

    def test_an_omitted_permutation_is_the_order_of_declaration_innermost_first(
        self, design: str, mesh: str
    ) -> None:
        found = mapping(design, {"target": "GLB", "type": "temporal", "factors": "K=2 M=2 N=2"})
        assert [each.dim for each in level(found, "GLB").temporal] == ["K", "N", "M"]

    def test_dimensions_omitted_in_a_permutation_lie_outside_in_order_of_declaration(
        self, design: str, mesh: str
    ) -> None:
        found = mapping(
            design,
            {"target": "GLB", "type": "temporal", "factors": "K=2 M=2 N=2", "permutation": "N"},
        )
        assert [each.dim for each in level(found, "GLB").temporal] == ["K", "M", "N"]

    def test_an_omitted_split_puts_all_loops_along_x(self, design: str, mesh: str) -> None:
        found = mapping(design, {"target": mesh, "type": "spatial", "factors": "M=2 N=2"})
        assert level(found, mesh).spatial == (loop("N", 2, "X"), loop("M", 2, "X"))

    def test_a_split_counts_the_positions_of_omitted_dimensions(
        self, design: str, mesh: str
    ) -> None:
        found = mapping(
            design,
            {
                "target": mesh,
                "type": "spatial",
                "factors": "M=2 N=2",
                "permutation": "KM",
                "split": 2,
            },
        )
        assert level(found, mesh).spatial == (loop("N", 2, "Y"), loop("M", 2, "X"))

    def test_omitted_bypass_keeps_every_tensor(self, design: str, mesh: str) -> None:
        found = mapping(design, {"target": "GLB", "type": "temporal", "factors": "N=2"})
        assert all(level(found, name).keep == {"A", "B", "Z"} for name in ("DRAM", "GLB", "RF"))

    def test_tensors_omitted_in_a_bypass_directive_are_kept(self, design: str, mesh: str) -> None:
        for lists in ({"bypass": ["A"]}, {"keep": ["B"], "bypass": ["A"]}):
            assert level(
                mapping(design, {"target": "GLB", "type": "bypass", **lists}), "GLB"
            ).keep == {"B", "Z"}
        assert level(
            mapping(design, {"target": "GLB", "type": "bypass", "keep": ["B"]}), "GLB"
        ).keep == {"A", "B", "Z"}

    def test_omitted_reuse_lists_leave_all_reuse_on(self, design: str, mesh: str) -> None:
        for each in mapping(design, {"target": mesh, "type": "spatial", "factors": "M=2"}).levels:
            assert not (each.no_temporal_reuse | each.no_multicast | each.no_link_transfer)


@cache
def listed(design: str, *constraints: tuple[tuple[str, str], ...]) -> tuple[Mapping, ...]:
    """All mappings of a product of 2 x 2 x 1 under constraints."""
    spec = read(
        design,
        {"M": 2, "N": 2, "K": 1},
        architecture_constraints=[dict(each) for each in constraints],
    )
    return tuple(sm.enumerate(spec))


def constraint(**fields: str) -> tuple[tuple[str, str], ...]:
    return tuple(fields.items())


@pytest.mark.parametrize(("design", "mesh"), FORMATS)
class TestConstraints:
    def test_omitted_factors_are_free(self, design: str, mesh: str) -> None:
        found = listed(design, constraint(target="GLB", type="temporal", factors="M=2"))
        bounds = {
            tuple(each.bound for each in level(one, "GLB").temporal if each.dim == "N")
            for one in found
        }
        assert {(2,)} < bounds and all(loop("M", 2) in level(one, "GLB").temporal for one in found)

    def test_an_omitted_permutation_leaves_every_order(self, design: str, mesh: str) -> None:
        found = listed(design, constraint(target="GLB", type="temporal", factors="M=2 N=2"))
        orders = {
            tuple(each.dim for each in level(one, "GLB").temporal if each.bound > 1)
            for one in found
        }
        assert orders == {("M", "N"), ("N", "M")}

    def test_dimensions_omitted_in_a_permutation_lie_outside_in_any_order(
        self, design: str, mesh: str
    ) -> None:
        fixed = constraint(target="GLB", type="temporal", factors="M=2 N=2", permutation="K")
        orders = {
            tuple(each.dim for each in level(one, "GLB").temporal if each.bound > 1)
            for one in listed(design, fixed)
        }
        assert orders == {("M", "N"), ("N", "M")}
        inner = constraint(target="GLB", type="temporal", factors="M=2 N=2", permutation="N")
        orders = {
            tuple(each.dim for each in level(one, "GLB").temporal if each.bound > 1)
            for one in listed(design, inner)
        }
        assert orders == {("M", "N")}

    def test_an_omitted_split_leaves_both_axes(self, design: str, mesh: str) -> None:
        found = listed(design, constraint(target=mesh, type="spatial", factors="M=2 N=2"))
        axes = {
            tuple(sorted((each.dim, each.axis) for each in level(one, mesh).spatial))
            for one in found
        }
        assert axes == {(("M", "X"), ("N", "Y")), (("M", "Y"), ("N", "X"))}

    def test_omitted_bypass_is_free_but_for_the_outermost_level(
        self, design: str, mesh: str
    ) -> None:
        found = listed(design, constraint(target="GLB", type="temporal", factors="M=2 N=2"))
        assert {level(one, "DRAM").keep for one in found} == {frozenset("ABZ")}
        for name in ("GLB", "RF"):
            assert len({level(one, name).keep for one in found}) == 8

    def test_no_constraints_at_all_leave_the_same_freedom(self, design: str, mesh: str) -> None:
        free = sm.space(read(design, {"M": 2, "N": 2, "K": 1})).to_dict()
        assert len(listed(design)) == free["legal"]["mappings"]
