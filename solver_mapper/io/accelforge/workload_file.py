"""Reading `workload:` and `renames:`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from solver_mapper.core.problem import Tensor
from solver_mapper.cost.looptree.scopes import Rename, bits_of, renames_of, scope_of
from solver_mapper.cost.looptree.workload import Access, Einsum, Workload
from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.io.accelforge.affine import (
    Affine,
    AffineRange,
    parse_affine,
    parse_bounds,
    ranges_of,
)
from solver_mapper.io.yaml.expressions import evaluate
from solver_mapper.io.yaml.fields import Fields, flag_of, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table

_TENSOR = re.compile(r"([A-Za-z_]\w*)\s*\[([^\[\]]*)\]")
_GLUE = re.compile(r"[\s*+/().,-]*")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class _Draft:
    """An access while its Einsum is being read: what the concise form and the explicit entries say
    of it together.
    """

    name: str
    projection: list[tuple[str, Affine]] | None
    output: bool | None
    location: SourceLocation
    bits: Node | None = None
    persistent: bool | None = None


@dataclass(frozen=True)
class _Limits:
    """Sizes of ranks and bounds of rank variables, as one part of the workload gives them."""

    ranks: Mapping[str, tuple[int, SourceLocation]]
    bounds: tuple[tuple[str | None, AffineRange], ...]


def read_workload(
    node: Node,
    renames: Node | None = None,
    variables: Mapping[str, Fraction] | None = None,
    bits_needed: bool = True,
) -> Workload:
    """The record of a `workload:` section.

    Args: `renames`, the top-level section of that name; `variables`, values of words in arithmetic.
    Unless `bits_needed`, a workload may leave out `bits_per_value` altogether: all values then have
    one and the same size.
    Raises: InputError with the location of what is malformed, unbounded, empty or inconsistent
    between Einsums.
    """
    return _WorkloadReader(variables or {}, renames, bits_needed).read(node)


class _WorkloadReader:
    def __init__(self, variables: Mapping[str, Fraction], renames: Node | None, bits_needed: bool):
        self.variables = variables
        self.bits_needed = bits_needed
        self.renames = read_renames(renames)

    def read(self, node: Node) -> Workload:
        fields = Fields(table_of(node, "'workload'"), "the workload")
        limits = _Limits(self.rank_sizes(fields), tuple(self.workload_bounds(fields)))
        bits = fields.table_at("bits_per_value")
        persistent = fields.node("persistent_tensors")
        instances = self.whole(fields, "n_instances", 1)
        entries = sequence_of(fields.require("einsums"), "'einsums' of the workload")
        fields.ignore("version")
        fields.close()
        drafts = [self.einsum(entry, limits) for entry in _flat(entries)]
        if not drafts:
            raise InputError("the workload has no Einsums", fields.location)
        bare = Workload(tuple(einsum for einsum, _, _ in drafts), instances, fields.location)
        _check_names(bare)
        _check_ranks(bare)
        done = [
            self.finish(bare, einsum, drafted, own, bits, persistent)
            for einsum, drafted, own in drafts
        ]
        workload = replace(bare, einsums=tuple(done))
        _check_values(workload)
        return workload

    def finish(
        self,
        workload: Workload,
        einsum: Einsum,
        drafts: list[_Draft],
        own: tuple[Rename, ...],
        bits: Table | None,
        persistent: Node | None,
    ) -> Einsum:
        """`einsum` with its scope, bits and persistence, which need the whole workload."""
        scope = scope_of(
            workload, einsum, renames_of(einsum.name, own, self.renames), self.variables
        )
        given = {
            draft.name: scope.number(
                text_of(draft.bits, "'bits_per_value'"),
                draft.bits.location,
                f"bits of '{draft.name}'",
            )
            for draft in drafts
            if draft.bits is not None
        }
        values = (
            bits_of(einsum, scope, bits, given)
            if self.bits_needed or bits is not None or given
            else scope.bits
        )
        everywhere: frozenset[str] = frozenset()
        if persistent is not None:
            everywhere = scope.tensors(
                text_of(persistent, "'persistent_tensors'"),
                persistent.location,
                "persistent_tensors",
            )
        accesses = tuple(
            replace(
                access,
                bits=values[access.name],
                persistent=access.persistent or access.name in everywhere,
            )
            for access in einsum.accesses
        )
        return replace(einsum, accesses=accesses, scope=replace(scope, bits=values))

    def rank_sizes(self, fields: Fields) -> dict[str, tuple[int, SourceLocation]]:
        table = fields.table_at("rank_sizes")
        sizes: dict[str, tuple[int, SourceLocation]] = {}
        for rank, node in table.entries.items() if table else ():
            if not rank[:1].isupper():
                raise InputError(
                    f"'{rank}' is spelt like a rank variable; ranks start with a capital letter",
                    node.location,
                )
            known = {
                **self.variables,
                **{name: Fraction(size) for name, (size, _) in sizes.items()},
            }
            value = evaluate(
                text_of(node, f"size of rank '{rank}'"),
                known,
                node.location,
                f"size of rank '{rank}'",
            )
            if value.denominator != 1 or value < 1:
                raise InputError(
                    f"the size of rank '{rank}' must be a whole number of at least 1, not {value}",
                    node.location,
                )
            sizes[rank] = int(value), node.location
        return sizes

    def workload_bounds(self, fields: Fields) -> Iterator[tuple[str, AffineRange]]:
        table = fields.table_at("iteration_space_shape")
        for variable, node in table.entries.items() if table else ():
            if variable[:1].isupper():
                raise InputError(
                    f"'{variable}' is spelt like a rank; rank variables start with a small letter",
                    node.location,
                    "give sizes of ranks under 'rank_sizes'",
                )
            for bound in parse_bounds(text_of(node, f"bounds of '{variable}'"), node.location):
                yield variable, bound

    def whole(self, fields: Fields, name: str, default: int) -> int:
        node = fields.node(name)
        if node is None:
            return default
        value = evaluate(
            text_of(node, f"'{name}'"), self.variables, node.location, f"'{name}' of {fields.what}"
        )
        if value.denominator != 1 or value < 1:
            raise InputError(
                f"'{name}' of {fields.what} must be a whole number of at least 1, not {value}",
                node.location,
            )
        return int(value)

    def einsum(
        self, node: Node, shared: _Limits
    ) -> tuple[Einsum, list[_Draft], tuple[Rename, ...]]:
        if isinstance(node, Scalar):
            name, drafts = _concise(text_of(node, "an Einsum"), node.location)
            return self.build(name, drafts, shared, shared, node.location), drafts, ()
        fields = Fields(table_of(node, "an Einsum"), "an Einsum")
        formula = fields.node("einsum")
        name, drafts = (
            _concise(text_of(formula, "'einsum'"), formula.location)
            if formula is not None
            else ("", [])
        )
        name = fields.text("name") or name
        if not name:
            raise InputError("an Einsum lacks 'name'", fields.location)
        fields.what = f"Einsum '{name}'"
        for entry in (
            sequence_of(
                fields.node("tensor_accesses") or Sequence((), node.location), "'tensor_accesses'"
            )
        ).items:
            _merge(drafts, _explicit(entry), formula is not None)
        texts = fields.sequence_at("iteration_space_shape") or Sequence((), node.location)
        bounds = tuple(
            (None, bound)
            for item in texts.items
            for bound in parse_bounds(text_of(item, "a bound"), item.location)
        )
        own = _Limits(self.rank_sizes(fields), bounds)
        instances, copy = (
            self.whole(fields, "n_instances", 1),
            fields.flag("is_copy_operation") or False,
        )
        renames = read_rename_list(fields.node("renames"), f"'renames' of Einsum '{name}'")
        fields.close()
        built = self.build(name, drafts, shared, own, node.location)
        return replace(built, instances=instances, copy=copy), drafts, renames

    def build(
        self,
        name: str,
        drafts: list[_Draft],
        shared: _Limits,
        own: _Limits,
        location: SourceLocation,
    ) -> Einsum:
        if name == "Total":
            raise InputError("'Total' is reserved and cannot name an Einsum", location)
        if not drafts:
            raise InputError(f"Einsum '{name}' has no tensors", location)
        accesses, limits = [], [bound for _, bound in own.bounds] if own is not shared else []
        variables = tuple(
            dict.fromkeys(
                variable
                for draft in drafts
                for _, index in draft.projection or ()
                for variable in (term.dim for term in index.terms)
            )
        )
        limits += [bound for variable, bound in shared.bounds if variable in variables]
        for draft in drafts:
            if draft.projection is None:
                raise InputError(
                    f"tensor '{draft.name}' of Einsum '{name}' lacks 'projection'", draft.location
                )
            accesses.append(
                Access(
                    Tensor(
                        draft.name,
                        tuple(index.terms for _, index in draft.projection),
                        bool(draft.output),
                        draft.location,
                    ),
                    tuple(rank for rank, _ in draft.projection),
                    persistent=bool(draft.persistent),
                    location=draft.location,
                )
            )
            for rank, index in draft.projection:
                size = own.ranks.get(rank) or shared.ranks.get(rank)
                if size:
                    limits.append(AffineRange(index, 0, size[0] - 1, size[1]))
        if not any(access.output for access in accesses):
            raise InputError(
                f"Einsum '{name}' writes no tensor", location, "mark one access with 'output: true'"
            )
        return Einsum(
            name, tuple(accesses), _bounds(name, variables, limits, drafts), location=location
        )


def _bounds(
    name: str, variables: tuple[str, ...], limits: list[AffineRange], drafts: list[_Draft]
) -> dict[str, int]:
    ranges, unbounded = ranges_of(variables, limits)
    if unbounded:
        users = [
            draft
            for draft in drafts
            if any(unbounded[0] in index.variables for _, index in draft.projection or ())
        ]
        ranks = [
            rank for rank, index in users[0].projection or () if unbounded[0] in index.variables
        ]
        raise InputError(
            f"rank variable '{unbounded[0]}' of Einsum '{name}' has no bounds",
            users[0].location,
            f"give the size of rank '{ranks[0]}' under 'rank_sizes', or bounds under"
            " 'iteration_space_shape'",
        )
    for variable, (low, high) in ranges.items():
        if low > high:
            culprit = next(bound for bound in limits if variable in bound.expression.variables)
            raise InputError(
                f"rank variable '{variable}' of Einsum '{name}' has no values: its bounds exclude"
                " each other",
                culprit.location,
            )
    return {variable: ranges[variable][1] - ranges[variable][0] + 1 for variable in variables}


def _flat(node: Sequence) -> Iterator[Node]:
    for item in node.items:
        if isinstance(item, Sequence):
            yield from _flat(item)
        else:
            yield item


def _concise(text: str, location: SourceLocation) -> tuple[str, list[_Draft]]:
    """`Z[m, n] = A[m, k] * B[k, n]`: the output names the Einsum."""
    sides = re.split(r"\+?=", text)
    if len(sides) != 2:
        raise InputError(
            f"'{text}' must have exactly one '='",
            location,
            "write an Einsum as 'Z[m, n] = A[m, k] * B[k, n]'",
        )
    found = [list(_TENSOR.finditer(side)) for side in sides]
    rests = [_TENSOR.sub(" ", side) for side in sides]
    rest = _WORD.sub(" ", rests[1]) if found[1] else rests[1]
    if len(found[0]) != 1 or rests[0].strip() or not found[1] or not _GLUE.fullmatch(rest):
        raise InputError(
            f"cannot read '{text}'", location, "write an Einsum as 'Z[m, n] = A[m, k] * B[k, n]'"
        )
    drafts: list[_Draft] = []
    for match, output in [*((match, False) for match in found[1]), (found[0][0], True)]:
        indices = [part.strip() for part in match[2].split(",")]
        projection = [_index(part, location) for part in indices] if match[2].strip() else []
        _check_projection(match[1], projection, location)
        same = next((draft for draft in drafts if draft.name == match[1]), None)
        if same is None:
            drafts.append(_Draft(match[1], projection, output, location))
        elif same.output or output or same.projection != projection:
            raise InputError(
                f"'{match[1]}' stands more than once in '{text}', with different indices or on both"
                " sides",
                location,
                "give each use of a tensor a name of its own",
            )
    return found[0][0][1], drafts


def _index(text: str, location: SourceLocation) -> tuple[str, Affine]:
    """`k` (rank K) or `K: k + 1`."""
    rank, colon, expression = text.partition(":")
    if colon:
        return rank.strip(), parse_affine(expression, location)
    return text.upper(), _variable(text, location)


def _variable(text: str, location: SourceLocation) -> Affine:
    if not _WORD.fullmatch(text):
        raise InputError(
            f"'{text}' needs the name of its rank", location, f"write for example 'H: {text}'"
        )
    if text[0].isupper():
        raise InputError(
            f"'{text}' is spelt like a rank; rank variables start with a small letter", location
        )
    return parse_affine(text, location)


def _explicit(node: Node) -> _Draft:
    fields = Fields(table_of(node, "an entry of 'tensor_accesses'"), "a tensor access")
    name = text_of(fields.require("name"), "'name' of a tensor access")
    fields.what = f"tensor access '{name}'"
    given = fields.node("projection")
    projection: list[tuple[str, Affine]] | None = None
    if isinstance(given, Table):
        projection = [
            (rank, parse_affine(text_of(item, f"index of rank '{rank}'"), item.location))
            for rank, item in given.entries.items()
        ]
    elif given is not None:
        words = [
            (text_of(item, "a rank variable"), item.location)
            for item in sequence_of(given, "'projection'").items
        ]
        projection = [(word.upper(), _variable(word, location)) for word, location in words]
    if projection is not None:
        _check_projection(name, projection, given.location if given else fields.location)
    output, persistent = fields.node("output"), fields.node("persistent")
    draft = _Draft(
        name,
        projection,
        None if output is None else flag_of(output, "'output'"),
        fields.location,
        fields.node("bits_per_value"),
        None if persistent is None else flag_of(persistent, "'persistent'"),
    )
    fields.close()
    return draft


def _check_projection(
    tensor: str, projection: list[tuple[str, Affine]], location: SourceLocation
) -> None:
    seen: set[str] = set()
    for rank, index in projection:
        if not _WORD.fullmatch(rank) or not rank[0].isupper():
            raise InputError(
                f"'{rank}' cannot name a rank of '{tensor}': ranks start with a capital letter",
                location,
            )
        if rank in seen:
            raise InputError(f"rank '{rank}' of '{tensor}' is indexed twice", location)
        wrong = [variable for variable in index.variables if variable[0].isupper()]
        if wrong:
            raise InputError(
                f"'{wrong[0]}' in the index of '{tensor}' is spelt like a rank; rank variables"
                " start with a small letter",
                location,
            )
        seen.add(rank)


def _merge(drafts: list[_Draft], entry: _Draft, concise: bool) -> None:
    """Add an explicit entry, or what it says beyond the concise form."""
    same = next((draft for draft in drafts if draft.name == entry.name), None)
    if same is None and not concise:
        drafts.append(entry)
        return
    if same is None:
        raise InputError(
            f"tensor '{entry.name}' is not in the Einsum's formula",
            entry.location,
            did_you_mean(entry.name, [draft.name for draft in drafts]),
        )
    if not concise or entry.projection is not None or entry.output is not None:
        raise InputError(
            f"tensor '{entry.name}' is given twice",
            entry.location,
            "the Einsum's formula already says how it is used" if concise else None,
        )
    same.bits, same.persistent, same.location = entry.bits, entry.persistent, entry.location


def read_renames(node: Node | None) -> dict[str, tuple[Rename, ...]]:
    """Top-level `renames:`, by the name of the Einsum they are for ("default" for all)."""
    if node is None:
        return {}
    fields = Fields(table_of(node, "'renames'"), "'renames'")
    result: dict[str, tuple[Rename, ...]] = {}
    for entry in (fields.sequence_at("einsums") or Sequence((), fields.location)).items:
        own = Fields(table_of(entry, "an entry of 'renames'"), "an entry of 'renames'")
        name = text_of(own.require("name"), "'name' of renames")
        lists = [
            read_rename_list(own.node(kind), f"'{kind}' of renames '{name}'")
            for kind in ("tensor_accesses", "rank_variables")
        ]
        own.close()
        result[name] = lists[0] + lists[1]
    fields.close()
    return result


def read_rename_list(node: Node | None, what: str) -> tuple[Rename, ...]:
    """A dict `new name: set expression`, or a list of `{name, source, expected_count}`."""
    if node is None:
        return ()
    if isinstance(node, Table):
        return tuple(
            Rename(name, text_of(item, f"{what}: '{name}'"), None, item.location)
            for name, item in node.entries.items()
        )
    result = []
    for item in sequence_of(node, what).items:
        fields = Fields(table_of(item, f"an entry of {what}"), f"an entry of {what}")
        count = fields.text("expected_count")
        result.append(
            Rename(
                text_of(fields.require("name"), "'name'"),
                text_of(fields.require("source"), "'source'"),
                count,
                fields.location_of("source"),
            )
        )
        fields.close()
    return tuple(result)


def _check_names(workload: Workload) -> None:
    seen: set[str] = set()
    for einsum in workload.einsums:
        if einsum.name in seen:
            raise InputError(f"two Einsums are called '{einsum.name}'", einsum.location)
        seen.add(einsum.name)


def _check_ranks(workload: Workload) -> None:
    first: dict[str, Access] = {}
    for einsum in workload.einsums:
        for access in einsum.accesses:
            known = first.setdefault(access.name, access)
            if sorted(known.rank_names) != sorted(access.rank_names):
                raise InputError(
                    f"tensor '{access.name}' has the ranks {', '.join(access.rank_names)} here but "
                    f"{', '.join(known.rank_names)} at {known.location}",
                    access.location,
                    "a list projection names ranks after its variables; write {RANK: variable}",
                )


def _check_values(workload: Workload) -> None:
    first: dict[str, Access] = {}
    for einsum in workload.einsums:
        for access in einsum.accesses:
            known = first.setdefault(access.name, access)
            if known.persistent != access.persistent:
                raise InputError(
                    f"tensor '{access.name}' is persistent in one Einsum only (see"
                    f" {known.location})",
                    access.location,
                )
