"""The words that set expressions about an Einsum may use: predefined sets, its tensors and rank
variables, ranks, and renames.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from solver_mapper.cost.looptree.sets import EinsumScope, NameSet
from solver_mapper.cost.looptree.workload import Einsum, Workload
from solver_mapper.errors import NOWHERE, InputError, SourceLocation
from solver_mapper.io.yaml.fields import text_of
from solver_mapper.io.yaml.source import Table


@dataclass(frozen=True)
class Rename:
    """`name` stands for the set that `source` describes, which must have `expected_count` members
    if that is given.
    """

    name: str
    source: str
    expected_count: str | None = None
    location: SourceLocation = field(default=NOWHERE, compare=False)


def renames_of(
    einsum: str, own: tuple[Rename, ...], everywhere: Mapping[str, tuple[Rename, ...]]
) -> tuple[Rename, ...]:
    """The renames of one Einsum, in order of evaluation; each name once, the most specific source
    first.
    """
    listed = (*own, *everywhere.get(einsum, ()), *everywhere.get("default", ()))
    return tuple(
        {rename.name: rename for rename in reversed(listed)}[name]
        for name in dict.fromkeys(r.name for r in listed)
    )


def scope_of(
    workload: Workload,
    einsum: Einsum,
    renames: tuple[Rename, ...],
    variables: Mapping[str, Fraction],
) -> EinsumScope:
    """The scope of `einsum`. Raises: InputError for a rename that cannot be evaluated or has an
    unexpected count.
    """
    tensors, used = frozenset(einsum.tensors), frozenset(einsum.variables)

    def some(members: frozenset[str]) -> NameSet:
        return NameSet(members & tensors, tensors)

    def some_variables(members: frozenset[str]) -> NameSet:
        return NameSet(members, used, "rank variable")

    names: dict[str, NameSet | Fraction] = {
        **dict.fromkeys(workload.rank_names, some_variables(frozenset())),
        **{name: some_variables(indexing) for name, indexing in _ranks(einsum).items()},
        **variables,
        **dict.fromkeys(workload.tensors, some(frozenset())),
        **dict.fromkeys(workload.variables, some_variables(frozenset())),
        **{name: some(frozenset((name,))) for name in tensors},
        **{name: some_variables(frozenset((name,))) for name in used},
        "All": some(tensors),
        "Tensors": some(tensors),
        "Nothing": some(frozenset()),
        "Inputs": some(frozenset(access.name for access in einsum.inputs)),
        "Outputs": some(frozenset(access.name for access in einsum.outputs)),
        "Intermediates": some(workload.intermediates),
        "Shared": some(workload.shared),
        "Persistent": some(
            frozenset(access.name for access in einsum.accesses if access.persistent)
        ),
    }
    relevant = {access.name: access.variables for access in einsum.accesses}
    scope = EinsumScope(names, relevant, {access.name: access.bits for access in einsum.accesses})
    for rename in renames:
        what = f"rename '{rename.name}' of Einsum '{einsum.name}'"
        value = scope.names_in(rename.source, rename.location, what)
        if rename.expected_count is not None:
            count = scope.number(rename.expected_count, rename.location, what)
            if count != len(value):
                raise InputError(
                    f"{what}: '{rename.source}' is {value}, but {count} members are expected",
                    rename.location,
                )
        scope = scope.with_names({rename.name: value})
    return scope


def _ranks(einsum: Einsum) -> dict[str, frozenset[str]]:
    """For each rank of the Einsum's tensors, the variables by which it indexes it."""
    found: dict[str, frozenset[str]] = {}
    for access in einsum.accesses:
        for name, rank in zip(access.rank_names, access.tensor.ranks, strict=True):
            found[name] = found.get(name, frozenset()) | {term.dim for term in rank}
    return found


def bits_of(
    einsum: Einsum, scope: EinsumScope, table: Table | None, given: Mapping[str, Fraction]
) -> dict[str, Fraction]:
    """Bits per value of each tensor of `einsum`: `given` on its access, else from the workload's
    `bits_per_value`.

    Raises: InputError for a tensor without bits, for keys that overlap, and for sizes that are not
    positive.
    """
    found = by_set(table, scope, "bits_per_value") if table is not None else {}
    result: dict[str, Fraction] = {}
    for access in einsum.accesses:
        bits = given.get(access.name, found.get(access.name))
        if bits is None:
            raise InputError(
                f"tensor '{access.name}' of Einsum '{einsum.name}' has no bits_per_value",
                access.location,
                "write 'bits_per_value: {All: 8}' under 'workload', or bits_per_value on the"
                " access",
            )
        if bits <= 0:
            raise InputError(
                f"bits_per_value of '{access.name}' must be more than 0, not {bits}",
                access.location,
            )
        result[access.name] = bits
    return result


def by_set(table: Table, scope: EinsumScope, what: str) -> dict[str, Fraction]:
    """A number for each tensor, from a table whose keys are set expressions; `Other` names what no
    other key does.

    Raises: InputError where two keys name one tensor.
    """
    found: dict[str, tuple[str, Fraction]] = {}
    last = [key for key in table.entries if re.search(r"\bOther\b", key)]
    everything = scope.names["All"]
    for key in [key for key in table.entries if key not in last] + last:
        node = table.entries[key]
        if isinstance(everything, NameSet):
            scope = scope.with_names(
                {"Other": replace(everything, members=everything.members - set(found))}
            )
        value = scope.number(text_of(node, f"{what}: '{key}'"), node.location, what)
        for tensor in sorted(scope.tensors(key, table.key_locations[key], what)):
            if tensor in found:
                raise InputError(
                    f"{what}: both '{found[tensor][0]}' and '{key}' name '{tensor}'",
                    table.key_locations[key],
                    "keys must not overlap; 'Other' names the rest",
                )
            found[tensor] = key, value
    return {tensor: value for tensor, (_, value) in found.items()}
