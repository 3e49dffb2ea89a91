"""A skeleton's cost model as arrays: one factor for every key, group of variables and row.

Bounds: with `m` the least factor of each group, a product of factors f = m + (f - m) is at least
the product of all m plus, for each group, its own excess f - m times the m of the others. Of what a
key counts, first fetches may be skipped: that part of it, pos - first, has a key of its own, for
which the least `first` factor serves as m of both; pos is at least first in every row, so the same
inequality holds for their difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.dominance import undominated_rows
from solver_mapper.solve.fused.factors import Factors
from solver_mapper.solve.fused.rows import (
    Dimension,
    Flags,
    RowTable,
    dimensions_of,
    groups_of,
    table_of,
)
from solver_mapper.solve.fused.skeleton import Skeleton
from solver_mapper.solve.fused.terms import Floats, Key, NodeTraffic, SkeletonCost, Terms, model_of

EPSILON = 1e-9
_DOMINANCE = 4000


@dataclass(frozen=True)
class WeightedSum:
    """A sum over keys: `weights[key]`, negative for skipped first fetches, plus `constant`; at most
    `limit` if there is one.
    """

    weights: Floats
    constant: float = 0.0
    limit: float | None = None


@dataclass(frozen=True)
class CompiledGroup:
    """The rows of one group: `factors[key, row]` and `source[row]`, the row of the table from which
    it comes.
    """

    table: RowTable
    factors: Floats
    source: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.source)

    def kept(self, keep: Flags | NDArray[np.int64]) -> CompiledGroup:
        """The rows that `keep` selects."""
        return replace(self, factors=self.factors[:, keep], source=self.source[keep])


@dataclass(frozen=True)
class CompiledTables:
    """`base_of[key]` is the key whose least factor bounds it: the first fetches that are skipped of
    what it counts, or itself.

    `floors` and `equal` are (key, limit) on single products. `shared` are the keys of the trip
    counts of shared loops, and `held` (level, bits held above each shared loop and in all, shared
    tensors left out). Energies and times are floating-point here; what is found is evaluated
    exactly afterwards.
    """

    skeleton: Skeleton
    dimensions: tuple[Dimension, ...]
    groups: tuple[CompiledGroup, ...]
    base_of: NDArray[np.int64]
    energy: WeightedSum
    lines: tuple[WeightedSum, ...]
    limits: tuple[WeightedSum, ...]
    floors: tuple[tuple[int, float], ...]
    equal: tuple[tuple[int, float], ...]
    shared: tuple[int, ...]
    held: tuple[tuple[int, tuple[WeightedSum, ...]], ...]

    @property
    def empty(self) -> bool:
        """Whether some group has no row: the skeleton has no mapping."""
        return any(len(group) == 0 for group in self.groups)


@dataclass
class _Keys:
    """Numbers keys, those with equal factors in all groups, and equal bases, alike."""

    factors: list[Factors]
    index: dict[tuple[Key, int | None], int] = field(default_factory=dict)
    same: dict[tuple[bytes, int | None], int] = field(default_factory=dict)
    rows: list[list[NDArray[np.int64]]] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)

    def of(self, key: Key, base: int | None = None) -> int:
        """The number of a key whose least factors are those of the `base`, or its own."""
        if (key, base) not in self.index:
            arrays = [factors.of(key) for factors in self.factors]
            print_ = b"|".join(array.tobytes() for array in arrays)
            if (print_, base) not in self.same:
                self.same[print_, base] = len(self.rows)
                self.bases.append(len(self.rows) if base is None else base)
                self.rows.append(arrays)
            self.index[key, base] = self.same[print_, base]
        return self.index[key, base]


def compile_skeleton(skeleton: Skeleton) -> CompiledTables:
    """The arrays of a skeleton. A group without rows leaves it `empty`: it has no mapping."""
    einsum = skeleton.einsum
    dimensions = dimensions_of(skeleton)
    variables = [name for name in einsum.variables if einsum.bounds[name] > 1] or list(
        einsum.variables[:1]
    )
    tables = [
        table_of(skeleton, dimensions, group) for group in groups_of(einsum.accesses, variables)
    ]
    model = model_of(skeleton, dimensions)
    keys = _Keys([Factors(skeleton, dimensions, table) for table in tables])
    return _compiled(model, tables, keys)


def _compiled(model: SkeletonCost, tables: Sequence[RowTable], keys: _Keys) -> CompiledTables:
    drafts: list[tuple[dict[int, float], float, float | None]] = []

    def draft(terms: Terms, constant: float = 0.0, limit: float | None = None) -> int:
        weights: dict[int, float] = defaultdict(float)
        for key, weight in terms.weights.items():
            skipped = terms.skips.get(key, 0.0)
            if skipped:
                first = keys.of(_first(key))
                weights[keys.of(key, first)] += skipped
                weights[first] -= skipped
            if weight != skipped:
                weights[keys.of(key)] += weight - skipped
        drafts.append((weights, constant, limit))
        return len(drafts) - 1

    energy = draft(model.energy)
    lines = [draft(terms, constant) for terms, constant in model.lines]
    memories = [(level, draft(terms, limit=size)) for level, terms, size in model.memories]
    caps = [draft(Terms({key: 1.0}), limit=float(limit)) for key, limit in model.caps]
    held = [
        (level, [draft(part) for part in parts])
        for level, parts in model.held.items()
        if any(where == level for where, _ in memories)
    ]
    shared = tuple(keys.of(key) for key in model.shared)
    floors = tuple((keys.of(key), limit) for key, limit in model.floors)
    equal = tuple((keys.of(key), float(value)) for key, value in model.equal)
    keys.of(())
    count = len(keys.rows)
    quantities = []
    for weights, constant, limit in drafts:
        vector = np.zeros(count)
        for index, weight in weights.items():
            vector[index] = weight
        quantities.append(WeightedSum(vector, constant, limit))
    groups = tuple(
        CompiledGroup(
            table,
            np.array([keys.rows[key][position] for key in range(count)], dtype=np.float64).reshape(
                count, -1
            ),
            np.arange(len(table)),
        )
        for position, table in enumerate(tables)
    )
    base_of = np.array(keys.bases, dtype=np.int64)
    limits = tuple(quantities[index] for index in [*(index for _, index in memories), *caps])
    return CompiledTables(
        model.skeleton,
        model.dimensions,
        groups,
        base_of,
        quantities[energy],
        tuple(quantities[index] for index in lines),
        limits,
        floors,
        equal,
        shared,
        tuple((level, tuple(quantities[part] for part in parts)) for level, parts in held),
    )


def _first(key: Key) -> Key:
    return tuple(
        replace(part, first=True) if isinstance(part, NodeTraffic) else part for part in key
    )


@dataclass(frozen=True)
class FactorBounds:
    """`least[group]` and `most[group]`, factors by key; `excess[quantity, group]`, what the best
    row of a group adds at least.
    """

    least: Floats
    most: Floats
    excess: Floats

    def rest(self, groups: Sequence[int]) -> Floats:
        """Product over groups of the least factors, by key."""
        result: Floats = np.prod(self.least[list(groups)], axis=0)
        return result

    def rest_most(self, groups: Sequence[int]) -> Floats:
        """By key, the most that the product of the factors of `groups` can be."""
        result: Floats = np.prod(self.most[list(groups)], axis=0)
        return result

    def of_part(
        self, compiled: CompiledTables, weights: Floats, index: int, part: CompiledGroup
    ) -> FactorBounds:
        """The same if group `index` has the rows of a `part` of it alone."""
        least, most, excess = self.least.copy(), self.most.copy(), self.excess.copy()
        least[index] = part.factors.min(axis=1)[compiled.base_of]
        most[index] = part.factors.max(axis=1)
        excess[:, index] = _excess(weights, least, index, part)
        return FactorBounds(least, most, excess)


def bounds_of(compiled: CompiledTables, weights: Floats) -> FactorBounds:
    """Least factors and excesses for the rows that the groups have now. Args: `weights[quantity,
    key]`.
    """
    own = np.array([group.factors.min(axis=1) for group in compiled.groups])
    least = own[:, compiled.base_of]
    most = np.array([group.factors.max(axis=1) for group in compiled.groups])
    columns = [_excess(weights, least, *each) for each in enumerate(compiled.groups)]
    return FactorBounds(least, most, np.column_stack(columns))


def _excess(weights: Floats, least: Floats, index: int, group: CompiledGroup) -> Floats:
    """What the best row of a group adds at least, by quantity."""
    others = [other for other in range(len(least)) if other != index]
    scaled = weights * np.prod(least[others], axis=0)
    return np.asarray((scaled @ (group.factors - least[index][:, None])).min(axis=1))


def without_dominated(compiled: CompiledTables) -> CompiledTables:
    """Drop rows that another row of their group equals or beats in every factor that counts."""
    return replace(
        compiled, groups=tuple(_undominated(compiled, group) for group in compiled.groups)
    )


def _undominated(compiled: CompiledTables, group: CompiledGroup) -> CompiledGroup:
    if len(group) > _DOMINANCE or len(group) < 2:
        return group
    small = np.zeros(len(group.factors), dtype=bool)
    for quantity in (compiled.energy, *compiled.lines, *compiled.limits):
        small |= quantity.weights > 0
    paired = compiled.base_of != np.arange(len(compiled.base_of))
    exact = sorted({key for key, _ in compiled.equal} | set(compiled.shared))
    large = sorted({key for key, _ in compiled.floors} - set(exact))
    small[exact] = False
    columns = [
        group.factors[small],
        (group.factors - group.factors[compiled.base_of])[paired],
        -group.factors[large],
    ]
    vectors = _distinct(np.vstack(columns)).T
    keys = group.factors[exact].T.astype(np.int64)
    return group.kept(np.sort(undominated_rows(vectors, keys)))


def _distinct(rows: Floats) -> Floats:
    """The rows without repetitions and without those that are constant; at least one."""
    varied = rows[(rows != rows[:, :1]).any(axis=1)]
    return np.unique(varied, axis=0) if len(varied) else rows[:1]
