"""The least product of a network's energy and cycles, over the layers' fronts.

A product of two positive sums is quasi-concave, so over the convex hull of all possible pairs of
sums it is least at a vertex; each vertex is a sum of one vertex of each layer's own hull, and thus
a choice of mappings. Walking along the hull therefore finds the optimum over all choices, also
over those in which equal layers have different mappings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import attrgetter

NETWORK_EDP = "network-edp"


@dataclass(frozen=True)
class LayerPoint:
    """Energy (pJ) and cycles of one run of a layer, and the number of the choice."""

    energy: Fraction
    cycles: int
    number: int


@dataclass(frozen=True)
class _Edge:
    """A step of a layer to its next choice, which costs energy and saves cycles."""

    saved: Fraction
    """Cycles saved for each pJ."""
    layer: int
    after: LayerPoint


def least_product(layers: Sequence[tuple[int, Sequence[LayerPoint]]]) -> list[LayerPoint]:
    """The choice of each layer with which the product of total energy and cycles is least.

    Args: `layers`, for each layer how often it runs and its choices, at least one.
    """
    hulls = [lower_hull(choices) for _, choices in layers]
    chosen = [hull[0] for hull in hulls]
    edges = [
        _Edge(Fraction(one.cycles - two.cycles) / (two.energy - one.energy), number, two)
        for number, hull in enumerate(hulls)
        for one, two in pairwise(hull)
    ]
    energy = sum(
        (count * own.energy for (count, _), own in zip(layers, chosen, strict=True)), Fraction(0)
    )
    cycles = sum(count * own.cycles for (count, _), own in zip(layers, chosen, strict=True))
    best, least = list(chosen), energy * cycles
    for edge in sorted(edges, key=attrgetter("saved"), reverse=True):
        count, before = layers[edge.layer][0], chosen[edge.layer]
        energy += count * (edge.after.energy - before.energy)
        cycles += count * (edge.after.cycles - before.cycles)
        chosen[edge.layer] = edge.after
        if energy * cycles < least:
            best, least = list(chosen), energy * cycles
    return best


def lower_hull(choices: Sequence[LayerPoint]) -> list[LayerPoint]:
    """The vertices of the hull that faces less energy and fewer cycles, by rising energy."""
    hull: list[LayerPoint] = []
    for point in sorted(choices, key=lambda each: (each.energy, each.cycles)):
        if hull and point.cycles >= hull[-1].cycles:
            continue
        while len(hull) > 1 and not _turns(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _turns(a: LayerPoint, b: LayerPoint, c: LayerPoint) -> bool:
    """Whether b lies strictly below the line from a to c, whose energies rise."""
    along, whole = b.energy - a.energy, c.energy - a.energy
    return (b.cycles - a.cycles) * whole < (c.cycles - a.cycles) * along
