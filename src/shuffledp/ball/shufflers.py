"""What a certificate may say of a declared shuffler, or of several users changed at once.

The verifier's own arithmetic, words and formulas: from a claim about the setting follows one about
a single user's messages behind a uniform order, which is then recomputed as any other. With
a = e^eps, K = k eps0, g the distance times the orders that matter,

    (1 - 2 g) G delta_1(eps/k) + 2 g (e^K - a)/(e^K + 1) <= delta,   G = (a - 1)/(a^(1/k) - 1) .
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shuffledp import theorems
from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below
from shuffledp.errors import NotCertified
from shuffledp.theorems import Theorem

__all__ = ["Declared", "declared", "one_user"]

_BITS = 256
_UNIFORM = "the analyst sees the messages in a uniformly random order and nothing else of them"
_EACH = (
    "the analyst sees the messages of every shard in a uniformly random order of its own, and "
    "nothing else of them"
)
_SAME = "every user runs the same randomizer, chosen before any message is seen"
_IN_ORDER = (
    "every user runs the same eps0-LDP randomizer, or the i-th message of the shuffled users is "
    "made by the i-th randomizer"
)


@dataclass(frozen=True)
class Declared:
    """What a deployment says of its shuffler and of who may change.

    Attributes
    ----------
    distance : float
        Total variation of an order from a uniform one, in [0, 1/2).
    shards, dummies : int
        As they are declared.
    public : bool
        Whether the analyst knows who is in which shard.
    fills : bool
        Whether a report stands in the place of an absent user's.
    changed : int
        Users who may change at once.
    """

    distance: float
    shards: int
    public: bool
    dummies: int
    fills: bool
    changed: int

    @property
    def apart(self) -> bool:
        """Whether a shard alone hides its users."""
        return self.shards > 1 and self.public

    @property
    def orders(self) -> int:
        """One, or one for every shard: each may tell of the messages of all."""
        return self.shards if self.public else 1

    def hidden(self, batch: int, colluding: Fraction) -> tuple[int, str]:
        """Messages among which one is hidden, and where the number comes from."""
        if batch < self.shards:
            raise NotCertified(f"{self.shards:,} shards of {batch:,} messages")
        shard = batch // self.shards if self.apart else batch
        gone = math.ceil(colluding * shard)
        words = f" / {self.shards:,} shards" if self.apart else ""
        words += f" - {gone:,} colluding" if gone else ""
        words += f" + {self.dummies:,} dummies" if self.dummies else ""
        found = shard - gone + self.dummies
        return found, f"{words} = {found:,}"

    def assumptions(self, distance: str) -> list[str]:
        """What a reader is asked to believe of the shuffler; ``distance`` as it is written."""
        found = []
        if self.distance:
            seen = "of every shard " if self.apart else ""
            given = "all messages and the other shards' orders" if self.apart else "the messages"
            found.append(
                f"the analyst sees the messages {seen}in an order whose law, given {given}, is "
                f"within total variation {distance} of uniform and depends on no more of the data, "
                "and nothing else of them"
            )
        if self.apart:
            found.append(
                f"{self.shards:,} shards, each shuffled on its own: who is in which one is public "
                "and the same in both datasets, and none has less than its even share of a batch, "
                "rounded down"
            )
        elif self.shards > 1:
            found.append(
                f"{self.shards:,} shards of public sizes: who is in which one is drawn uniformly, "
                "whatever the data are, and the analyst does not know it"
            )
        if self.dummies:
            where = " to every shard" if self.apart else ""
            found.append(
                f"the shuffler adds {self.dummies:,} reports{where} by the users' randomizer, of "
                "inputs that do not depend on the users' data, shuffled with the others; the "
                "analyst does not know which they are"
            )
        if self.fills:
            found.append(
                "in the place of a user who sends nothing stands a report by the users' "
                "randomizer, of an input that does not depend on the users' data; nobody who sees "
                "reports with their senders can tell which they are"
            )
        return found

    def relation(self, one: dict[str, Any], words: str) -> tuple[dict[str, Any], str]:
        """The neighbouring relation from that of one user's value, as a table and in words.

        Raises
        ------
        NotCertified
            Where users may be absent and a value may not be replaced by any other.
        """
        head, tail = "neighbouring datasets: one user's ", " (n is public)"
        noun, change = words.removeprefix(head).removesuffix(tail).split(" ", 1)
        if self.fills:
            if one != {"key": "replace-one"}:
                raise NotCertified("absent users of mechanisms with neighbours of their own")
            one = {"key": "or-absent", "one": one}
            change += ", or absent from one of them"
        if self.changed == 1:
            return one, f"{head}{noun} {change}{tail}"
        nouns = noun if noun == "data" else f"{noun}s"
        many = f"up to {self.changed:,} users' {nouns} each {change}"
        together = {"key": "together", "count": self.changed, "one": one}
        return together, f"neighbouring datasets: {many}{tail}"

    def words(self, words: Sequence[str], *, one: str, relation: str) -> tuple[str, ...]:
        """A theorem's assumptions with this relation; what is known of the order is said once."""
        found = [relation if word == one else word for word in words]
        if self.distance:
            found = [_SAME if word == _IN_ORDER else word for word in found if word != _UNIFORM]
        elif self.apart:
            found = [_EACH if word == _UNIFORM else word for word in found]
        return tuple(found)

    def then(self, theorem: Theorem, end: str, *, local: bool, failed: bool) -> Theorem:
        """One user's theorem and the steps from there."""
        upper = end == "upper"
        steps = (
            (upper and self.changed > 1, theorems.TOGETHER),
            (upper and self.distance > 0.0 and not local and not failed, theorems.NEAR_UNIFORM),
            (self.apart and not failed, theorems.SHARDS),
            (self.shards > 1 and not self.public and not failed, theorems.SECRET_SHARDS),
            (self.dummies > 0 and not failed, theorems.DUMMIES),
            (self.fills, theorems.FILLED),
        )
        for used, step in steps:
            theorem = theorem.with_step(step) if used else theorem
        return theorem


def declared(shuffler: Mapping[str, Any] | None, changed: int) -> Declared | None:
    """What a deployment declares; None for one perfect shuffler and one user.

    Parameters
    ----------
    shuffler : mapping or None
        The deployment's table.
    changed : int
        Users who may change at once.
    """
    if shuffler is None and changed == 1:
        return None
    table = {} if shuffler is None else shuffler
    return Declared(
        distance=table.get("distance", 0.0),
        shards=table.get("shards", 1),
        public=table.get("assignment", "public") == "public",
        dummies=table.get("dummies", 0),
        fills=table.get("fills", False),
        changed=changed,
    )


def one_user(
    setting: Declared,
    epsilon: float,
    targets: tuple[float, float],
    *,
    guarantee: float | None,
    uniform: bool,
) -> tuple[float, tuple[float, float]] | None:
    """Where one user's delta has to be below what, for a claim about the setting to hold.

    Parameters
    ----------
    setting : Declared
        With ``changed`` and ``distance``.
    epsilon : float
        eps of the claim, >= 0.
    targets : tuple of two floats
        Logarithms just below and above the delta that is claimed; may be -inf.
    guarantee : float or None
        eps0 of one report, where one is known.
    uniform : bool
        Whether the order's distance does not count.

    Returns
    -------
    tuple of a float and two floats, or None
        eps of a step, rounded down; the logarithms there, the first rounded down and the second
        up. None if the distance alone costs more than is claimed.
    """
    k, step = setting.changed, epsilon
    with ctx.workprec(_BITS):
        if k > 1:
            step = max(float_below(arb(epsilon) / k), 0.0)
        a, one = arb(epsilon).exp(), arb(step).exp()
        factor = (one**k - 1) / (one - 1) if step > 0.0 and k > 1 else arb(k)
        distance = arb(0) if uniform else arb(setting.distance) * setting.orders
        if distance == 0:
            factor_log = factor.log()
            low, high = (target - factor_log for target in map(_ball, targets))
            return step, (float_below(low), float_above(high) if high.is_finite() else targets[1])
        if not distance < arb("0.5"):
            raise NotCertified("an order that far from uniform")
        left = arb(1)
        if guarantee is not None:
            grown = (arb(guarantee) * k).exp()
            left = (grown - a) / (grown + 1)
            if not left > 0:
                left = arb(0)
        low, high = ((_ball(t).exp() - 2 * distance * left) / (1 - 2 * distance) for t in targets)
        if high < 0:
            return None
        if not low > 0:
            raise NotCertified("the distance from uniform costs about what is claimed")
        return step, (float_below((low / factor).log()), float_above((high / factor).log()))


def _ball(log: float) -> arb:
    """A logarithm as a ball; far below every float for that of 0."""
    return arb(log) if math.isfinite(log) else arb(-1e18)
