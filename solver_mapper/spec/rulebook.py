"""Rules as they are gathered from all constraint files: equal ones once, contradictions refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from solver_mapper.errors import InputError
from solver_mapper.spec.constraints import HARDWARE, Constraints, FactorRule, KeepRule, PermutationRule, ProductRule, Rule, SplitRule
from solver_mapper.spec.ordering import ordered_pairs


@dataclass
class Rulebook:
    """`dims` are the problem's dimensions."""

    dims: Collection[str]
    rules: list[Rule] = field(default_factory=list)

    def add(self, rule: Rule) -> None:
        """Take `rule` in, unless it says what another one says already.

        Two values for one factor, product, split or keep flag, and two permutations that order the same two loops differently, are
        contradictions; limits that merely leave nothing over (`P=4` and `P<=2`) are not, they have no mapping.

        Where the hardware asks the same, it is the hardware's rule.
        Raises: InputError that shows both places.
        """
        for number, other in enumerate(self.rules):
            if rule == other:
                self.rules[number] = rule if rule.origin == HARDWARE else other
                return
            if rule.level == other.level and self._contradicts(rule, other):
                raise InputError(f"'{rule.text}' contradicts '{other.text}' at {other.place}", rule.place, "keep one of them")
        self.rules.append(rule)

    def done(self) -> Constraints:
        return Constraints(tuple(self.rules))

    def _contradicts(self, rule: Rule, other: Rule) -> bool:
        if isinstance(rule, FactorRule) and isinstance(other, FactorRule):
            same = (rule.kind, rule.dim) == (other.kind, other.dim)
            return same and rule.comparison == other.comparison == "=="
        if isinstance(rule, PermutationRule) and isinstance(other, PermutationRule):
            reversed_pairs = {(outer, inner) for inner, outer in ordered_pairs(other, self.dims)}
            return rule.kind == other.kind and not reversed_pairs.isdisjoint(ordered_pairs(rule, self.dims))
        if isinstance(rule, ProductRule) and isinstance(other, ProductRule):
            return rule.loops == other.loops and rule.comparison == other.comparison == "=="
        if isinstance(rule, KeepRule) and isinstance(other, KeepRule):
            return rule.tensor == other.tensor
        return isinstance(rule, SplitRule) and isinstance(other, SplitRule)
