"""Sums: the analyst sees how many 1s each coordinate has over all reports, and no report.

Coordinates are independent given the data, so what is released of two neighbours differs in
independent sums of bits: those of the coordinates that the user's data changes
(docs/theory-sums.md, Theorem 1.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import _check, theorems
from shuffledp.amplification.messages import Messages
from shuffledp.amplification.seen import Quantity, Seen
from shuffledp.arithmetic.balls import arb, float_above
from shuffledp.bound import Bound, Theorem, with_end_of
from shuffledp.errors import rejected
from shuffledp.laws.sources import Source
from shuffledp.neighbours import REPLACEMENT, Relation, relation_named
from shuffledp.randomizers import Gaussian, Randomizer
from shuffledp.rounds import Composed, compose
from shuffledp.views.added_up import REPLACE_SPECIAL, AddedUp
from shuffledp.views.datasets import (
    alike_round,
    local_guarantee,
    one_coordinate,
    pure_of_one,
    searched,
)
from shuffledp.views.noise import AddedNoise
from shuffledp.views.normal import normal_sum

# Coordinates times rounds is what is composed: 1e9 at the most.
_MOST_ONES, _MOST_ROUNDS = 500, 10**6
# Three or four pairs of data sets are tried, each a composition that takes seconds.
_LOOSER = 2e-3


@dataclass(frozen=True)
class Sums(AddedUp, Seen):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A mechanism among n users whose reports are added up."""

    def bound(self, quantity: Quantity, value: float) -> Bound:
        """Both ends."""
        if self.normal is not None:
            return normal_sum(self, self.normal, quantity, value)
        return self._best(quantity, value)

    def again(self, rounds: int) -> Sums:
        """The same sums in this many rounds, with fresh randomness."""
        return replace(self, rounds=_check.count("rounds", rounds, high=_MOST_ROUNDS))

    def words(self, one: Bound) -> tuple[str, ...]:
        """What any end takes for granted."""
        del one
        return self.assumptions()

    def _best(self, quantity: Quantity, value: float) -> Bound:
        """By all data sets of a coordinate; and, where 0 and 1 are not alike, by two ways more."""
        found = searched(self, quantity=quantity, value=value)
        if self.changed == self.falling:
            return found
        if self.added is None and self.items and self.relation == REPLACEMENT:
            # Sums are made of the messages. One bit falls and one rises, which the bits' bound
            # does not know: it counts both as the worse of the two.
            one = self._messages
            seen = one.composed(self.rtol) if self.rounds > 1 else one
            other = seen.bound(quantity, value)
            if other.upper < found.upper and other.upper_theorem is not None:
                theorem = theorems.SUMS_OF_MESSAGES.with_step(other.upper_theorem)
                other = replace(other, upper_theorem=theorem)
                found = replace(with_end_of(found, other, "upper"), notes=other.notes)
        for composed, witness in self._falling_and_rising():
            lower = composed.bound(quantity, value)
            if lower.lower > found.lower:
                found = replace(
                    with_end_of(found, lower, "lower"),
                    lower_theorem=self.theorems[1],
                    witness={**found.witness, "lower": witness},
                )
        return found

    def _falling_and_rising(self) -> list[tuple[Composed, dict[str, Any]]]:
        """Data sets whose coordinates fall and rise while all others hold one value there."""
        found = []
        for down, up in self.changes():
            for falls, rises in self.others(down, up):
                parts = [
                    (alike_round(self, falls=way, ones=held == 1), times * self.rounds)
                    for way, held, times in ((True, falls, down), (False, rises, up))
                    if times
                ]
                witness = {
                    "analysis": "sums-dataset",
                    "falling": down,
                    "rising": up,
                    "others": {"falling": falls, "rising": rises},
                }
                found.append((compose(parts, rtol=self.rtol or _LOOSER), witness))
        return found

    # --------------------------------------------------- what several users who change ask

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """log of delta's upper end for one user, at any eps; one coordinate's is followed to it."""
        if self.normal is not None:
            return lambda epsilon: _log_upper(self.bound("delta", epsilon))
        if self.changed == 1:
            one, width = self.of_all, one_coordinate(self).width
            return lambda epsilon: one.log_delta(epsilon, width=width).high
        return compose([(one_coordinate(self), self.changed)]).log_uppers(log_target)

    def lower_log_delta(self, changed: int, epsilon: float) -> tuple[float, dict[str, Any]]:
        """The lower end of the messages if a report is one bit, which its sum tells; else -inf."""
        if not self._is_messages:
            return super().lower_log_delta(changed, epsilon)
        return self._messages.lower_log_delta(changed, epsilon)

    def lower_epsilon(
        self, changed: int, log_delta: float, *, above: float, cap: float
    ) -> tuple[float, dict[str, Any]] | None:
        """The same of eps."""
        if not self._is_messages:
            return None
        return self._messages.lower_epsilon(changed, log_delta, above=above, cap=cap)

    @property
    def _is_messages(self) -> bool:
        """Whether the sums tell what all messages in a random order do, and no less."""
        return self.normal is None and self.count == 1 and self.added is None

    @property
    def _messages(self) -> Messages:
        return Messages(self.mechanism, self.n, self.rounds)

    @property
    def guarantee(self) -> float:
        """Pure guarantee of one user's reports, or of the sums if their noise has a smaller one."""
        own = local_guarantee(self)
        if self.added is None or self.normal is not None:
            return own
        return min(own, float_above(arb(pure_of_one(self)) * self.changed))

    def upper_theorem_at(self, epsilon: float, one: Bound) -> Theorem | None:
        """What one user's upper end rests on, at every eps."""
        del epsilon, one
        return self.theorems[0]

    def together(self, changed: int) -> Sums | None:
        """With normal noise k users move the sum as far as one with a range k times as wide."""
        noise = self.normal
        if noise is None:
            return None
        width = (noise.high - noise.low) * changed * (1.0 + 4.0 * math.ulp(1.0))
        return replace(self, mechanism=Gaussian(sigma=noise.sigma, low=0.0, high=width))


def _log_upper(found: Bound) -> float:
    return 0.0 if found.log_upper is None else found.log_upper


def summed(
    mechanism: Source,
    n: int,
    *,
    ones: int,
    relation: Relation | str,
    rtol: float | None,
    added: AddedNoise | None = None,
) -> Sums:
    """A checked ``Sums``; the arguments are those of ``shuffle(view="sums")``."""
    if not isinstance(mechanism, Randomizer):
        raise rejected("mechanism", mechanism, "a randomizer such as RAPPOR(d=10, eps0=4.0)")
    found = relation_named(relation)
    one, count = Sums(mechanism, 1), 1
    if one.normal is None:
        _ = one.bits  # refuses reports that are none
        count = one.count
    # Of a single bit, or of a number, no value stands for nothing.
    allowed = (REPLACEMENT,) if count == 1 else (REPLACEMENT, REPLACE_SPECIAL)
    if found not in allowed:
        keys = " or ".join(f'"{r.key}"' for r in allowed)
        raise rejected("relation", found.key, f"{keys} for sums of {mechanism.name}")
    if added is not None and not isinstance(added, AddedNoise):
        raise rejected("added", added, 'none, or AddedNoise(kind="discrete-laplace", scale=2.0)')
    if added is not None and one.normal is not None:
        raise rejected("added", added, "none where numbers with normal noise are added up")
    return Sums(
        mechanism=mechanism,
        n=_check.count("n", n),
        ones=_check.count("ones", ones, high=min(count, _MOST_ONES)),
        relation=found,
        rtol=None if rtol is None else _check.real("rtol", rtol, low=1e-6, high=0.1),
        added=added,
    )


__all__ = ["Sums", "summed"]
