"""What units send more than was claimed, learned from how a candidate's units stand.

Of words that neighbours might pass on, the model claims the most that sizes allow. `Standing` says
for one way to stand what share of the units' windows no neighbour can have, whatever the loops
outside are and however spatial loops are ordered. That share is sent: for all mappings whose units
stand so, at all sizes of the runs outside.

What is sent is not passed on, and the model counts what neighbours read as claimed. So of the words
that the parent sends more, it is charged with as many as cost no more than what neighbours then do
not read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.windows import least_sent
from solver_mapper.solve.cpsat.compile import CompiledSpace
from solver_mapper.solve.cpsat.engine import LARGEST
from solver_mapper.solve.cpsat.exclusion import differing
from solver_mapper.solve.cpsat.linear_form import highest
from solver_mapper.solve.cpsat.networks.links import LinkClaim
from solver_mapper.solve.cpsat.networks.neighbour_forwarding import ClaimedRun, ForwardingClaim
from solver_mapper.solve.cpsat.networks.standing import Moves, StandingDecisions
from solver_mapper.solve.cpsat.sliding_windows.windows import SentWords

Values = Mapping[int, int]
"""Values of the decisions, by the indices of their variables."""
Shares = tuple[Fraction, Fraction]
MOST_LISTED, MOST_MEMBERS = 3_000, 300
"""How many exponents are listed for one limit, and how many ways to stand are looked at."""


@dataclass
class HelpLimits:
    """Adds to the model what candidates teach, no longer than the clock allows."""

    compiled: CompiledSpace
    clock: Clock
    _known: set[Hashable] = field(default_factory=set)
    _decisions: dict[tuple[str, int], StandingDecisions] = field(default_factory=dict)
    _shares: dict[Hashable, Shares] = field(default_factory=dict)

    def learn(self, values: Values, needed: Fraction) -> bool:
        """Whether the model now claims more for a candidate, by `needed` pJ where possible."""
        depth = self.compiled.variables.space.depth
        learned = False
        for claim in self.compiled.forwarding_claims:
            if values[claim.literal.index]:
                learned |= self._limit(claim, values, needed)
        for linked in self.compiled.link_claims:
            if values[linked.on.index]:
                decisions = self._decisions_of(linked.tensor, depth)
                chosen = decisions.read(values)
                if self._is_new(linked.more.index, chosen):
                    share = decisions.standing(chosen).lone_share()
                    here = self._standing_so(decisions, dict(enumerate(chosen)))
                    learned |= self._ask_anew(linked, share, here)
        return learned

    def _decisions_of(self, tensor: Tensor, child: int) -> StandingDecisions:
        key = tensor.name, child
        if key not in self._decisions:
            self._decisions[key] = StandingDecisions(self.compiled.variables, tensor, child)
        return self._decisions[key]

    def _is_new(self, *key: Hashable) -> bool:
        new = key not in self._known
        self._known.add(key)
        return new

    def _standing_so(
        self, decisions: StandingDecisions, exponents: Mapping[int, int]
    ) -> cp_model.IntVar:
        """A literal that holds wherever these exponents, by their numbers, are so."""
        model = self.compiled.model
        here = model.new_bool_var("here")
        chosen = [(decisions.exponents[k].powers, value) for k, value in exponents.items()]
        model.add_bool_or([*differing(model, chosen), here])
        return here

    def _limit(self, claim: ForwardingClaim, values: Values, needed: Fraction) -> bool:
        """Units that stand so ask for what no neighbour can have, and claim no help where none has
        anything. So do all that stand otherwise, as far as that is as much as is `needed`; if it
        was not, those that stand so pay all.
        """
        decisions = self._decisions_of(claim.tensor, claim.child)
        chosen = decisions.read(values)
        kind = claim.tensor.name, claim.child, claim.run, claim.between_runs, claim.rows
        if self._is_new(kind, chosen):
            target = self._target(claim, values, needed)
            kept, members, shares = self._widened(claim, decisions, chosen, target)
        elif self._is_new(kind, chosen, "all"):
            kept, members = dict(enumerate(chosen)), [chosen]
            shares = self._shares_of(claim, decisions, chosen)
        else:
            return False
        sharing = max(decisions.standing(each).sharing for each in members)
        for names in decisions.alike:
            here = self._standing_so(decisions, decisions.renamed(kept, names))
            run = claim.run and names.get(claim.run, claim.run)
            for each in self.compiled.forwarding_claims:
                if (each.tensor.name, each.child, each.run) == (*kind[:2], run) and (
                    each.rows or not claim.rows
                ):
                    self._charge(each, shares, sharing, here)
        _, steps, sent = _held(claim, values)
        return least_sent(steps, *_of_claim(claim, shares)) > sent

    def _charge(
        self, claim: ForwardingClaim, shares: Shares, sharing: Fraction, here: cp_model.IntVar
    ) -> None:
        if min(_of_claim(claim, shares)) == 1:
            self.compiled.model.add_implication(here, ~claim.literal)
            return
        for literal, run, sent in claim.points:
            if sent:
                missing = least_sent(run, *_of_claim(claim, shares)) / sent - 1
                self._send_more(claim, missing, sharing, here, literal)

    def _shares_of(
        self, claim: ForwardingClaim, decisions: StandingDecisions, exponents: tuple[int, ...]
    ) -> Shares:
        """The shares of windows that parents send at least after moves within the claim's runs, and
        between them.
        """
        key = claim.tensor.name, claim.child, claim.run, exponents
        if key not in self._shares:
            standing = decisions.standing(exponents)
            if claim.run is None:
                share = standing.lone_share()
                self._shares[key] = share, share
            else:
                self._shares[key] = (
                    standing.lone_share(Moves.WITHIN, claim.run),
                    standing.lone_share(Moves.BETWEEN, claim.run),
                )
        return self._shares[key]

    def _target(
        self, claim: ForwardingClaim, values: Values, needed: Fraction
    ) -> Callable[[Shares], bool]:
        """Whether shares make the candidate pay as much as is `needed`."""
        _, run, sent = _held(claim, values)
        weights = {v.index: weight for v, weight in self.compiled.energy.gathered()}
        price = sum(
            weights.get(each.more.index, 0) * values[each.words.index] for each in self._sent(claim)
        )
        least = sent * (1 + needed / price) if price > 0 else math.inf
        return lambda shares: least_sent(run, *_of_claim(claim, shares)) >= least

    def _widened(
        self,
        claim: ForwardingClaim,
        decisions: StandingDecisions,
        chosen: tuple[int, ...],
        enough: Callable[[Shares], bool],
    ) -> tuple[dict[int, int], list[tuple[int, ...]], Shares]:
        """The exponents that count, with their values; all who stand so, and their least shares.

        One exponent after the other is left out if shares are high enough whatever it is, or no
        lower.
        """
        kept, members = dict(enumerate(chosen)), [chosen]
        least = self._shares_of(claim, decisions, chosen)
        for number in range(len(chosen)):
            wider = [
                (*each[:number], value, *each[number + 1 :])
                for each in members
                for value in range(decisions.highest(number) + 1)
            ]
            later = (0,) * (len(chosen) - number - 1)  # what these are may make room
            wider = [each for each in wider if decisions.fits((*each[: number + 1], *later))]
            fewest = self._fewest(claim, decisions, wider, least, enough)
            if fewest is not None:
                del kept[number]
                members, least = wider, fewest
        members = [each for each in members if decisions.possible(each, rows=claim.rows)]
        return kept, members or [chosen], least

    def _fewest(
        self,
        claim: ForwardingClaim,
        decisions: StandingDecisions,
        members: list[tuple[int, ...]],
        least: Shares,
        enough: Callable[[Shares], bool],
    ) -> Shares | None:
        """The least shares of those `members` that can be; None if they are below `least` and not
        high enough, or there are too many, or no time is left.
        """
        if len(members) > MOST_LISTED:
            return None
        members = [each for each in members if decisions.possible(each, rows=claim.rows)]
        if len(members) > MOST_MEMBERS:
            return None
        fewest = least
        for each in members:
            within, between = self._shares_of(claim, decisions, each)
            fewest = min(fewest[0], within), min(fewest[1], between)
            if self.clock.over or not (fewest == least or enough(fewest)):
                return None
        return fewest

    def _sent(self, claim: ForwardingClaim) -> list[SentWords]:
        return [
            each
            for each in self.compiled.sent_words
            if (each.tensor, each.child) == (claim.tensor, claim.child)
        ]

    def _send_more(
        self,
        claim: ForwardingClaim,
        missing: Fraction,
        sharing: Fraction,
        here: cp_model.IntVar,
        literal: cp_model.IntVar,
    ) -> None:
        """Where `here` and `literal` hold, the share of the words that is `missing` is sent as
        well, less what so many units that share each of them do not read of each other then.
        """
        for each in self._sent(claim):
            share = missing * self._worth(each, sharing)
            if share <= 0:
                continue
            if highest(each.words) * max(share.numerator, share.denominator) < LARGEST:
                self.compiled.model.add(
                    share.denominator * each.more >= share.numerator * each.words
                ).only_enforce_if(here, literal)

    def _worth(self, sent: SentWords, sharing: Fraction) -> Fraction:
        """Which part of the price of a word that is sent is not saved as neighbours read less."""
        levels = self.compiled.variables.space.architecture.levels
        if sent.child == len(levels):
            return Fraction(1)
        price = levels[sent.parent].energy
        paid = min(price.read, price.update) if sent.tensor.read_write else price.read
        between = range(sent.parent, sent.child - 1)
        fanouts = map(self.compiled.variables.space.architecture.fanout, between)
        reads = sharing * math.prod(x * y for x, y in fanouts)
        saved = reads * levels[sent.child].energy.read
        return max(1 - saved / paid, Fraction(0)) if paid > 0 else Fraction(0)

    def _ask_anew(self, claim: LinkClaim, share: Fraction, here: cp_model.IntVar) -> bool:
        """Compute units that stand so, and have no neighbour with the same word, ask for it in idle
        steps as well: of G different words that all ask for at a step, L that no two neighbours
        want. In n steps, m of which bring other words, that is m G + (n - m) L in all: with A = n G
        asked for in all steps and S = m G sent in those m, S + (A - S) L / G.
        """
        lone, words = share.numerator, share.denominator
        if not lone or (claim.asked.highest() + claim.sent.highest()) * words >= LARGEST:
            return False
        needed, constant = (claim.asked - claim.sent).whole(Fraction(1))
        self.compiled.model.add(words * claim.more >= lone * (needed + constant)).only_enforce_if(
            here, claim.on
        )
        return True


def _held(claim: ForwardingClaim, values: Values) -> ClaimedRun:
    """The run for which a candidate claims help."""
    return next(each for each in claim.points if values[each.literal.index])


def _of_claim(claim: ForwardingClaim, shares: Shares) -> Shares:
    """Shares as far as a claim grants less: between runs it may claim no help."""
    within, between = shares
    return within, between if claim.between_runs else Fraction(1)
