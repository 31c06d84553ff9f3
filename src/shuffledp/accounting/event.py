"""ShuffleDpEvent: one round of a shuffled mechanism, as dp_accounting describes events."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import attr
from dp_accounting import dp_event

from shuffledp.accounting.plain import plain, text_of
from shuffledp.accounts import Account, generic, shuffle
from shuffledp.amplification.messages import Messages
from shuffledp.errors import rejected
from shuffledp.neighbours import Relation
from shuffledp.randomizers import Randomizer, randomizer_from_dict

GENERIC = "generic"


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffleDpEvent(dp_event.DpEvent):
    """One round of a local randomizer among n users behind a shuffler.

    REPLACE_ONE neighbours; the accountants refuse mechanisms for neighbours of another relation.

    Attributes
    ----------
    mechanism : mapping
        {"name": ..., parameters}; the name is the randomizer's, or "generic" for any eps0-LDP
        randomizer. (A mapping, because dp_accounting takes text fields apart into letters.)
        Arrays and tuples in it are kept as lists: events are equal if all their numbers are.
    n : int
        Users.
    published : bool
        Whether theorems proved only in docs/theory.md are left out.
    """

    # Lists have no hash: equal events share that of the other fields.
    mechanism: Mapping[str, Any] = attr.ib(converter=plain, hash=False)
    n: int
    published: bool = False

    @classmethod
    def of(cls, mechanism: Account | Randomizer, *, n: int | None = None) -> ShuffleDpEvent:
        """The event of a shuffled mechanism, or of a randomizer among n users.

        Parameters
        ----------
        mechanism : Account or Randomizer
            What runs.
        n : int, optional
            Users, for a randomizer.
        """
        if isinstance(mechanism, Account):
            seen = mechanism.seen
            one = mechanism.is_plain and mechanism.rounds == 1
            if not (one and isinstance(seen, Messages) and isinstance(seen.source, Randomizer)):
                raise rejected("mechanism", mechanism, 'a randomizer, or {"name": "generic", ...}')
            return cls(seen.source.to_dict(), seen.n, seen.trust == "published")
        if not isinstance(mechanism, Randomizer) or n is None:
            raise rejected("mechanism", mechanism, "a shuffled mechanism, or a randomizer and n")
        return cls(mechanism.to_dict(), n)

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.accountant().source.relation

    def pld(self, discretization: float) -> Any:
        """Its PLD on a grid."""
        return self.accountant().pld(discretization=discretization)

    def rdp(self, orders: Sequence[float]) -> list[float]:
        """Renyi divergences, certified from above."""
        return self.accountant().rdp(orders)

    @property
    def whole(self) -> tuple[str, int, bool]:
        """All that the event holds, hashable: what an accountant knows it by."""
        return text_of(self.mechanism), self.n, self.published

    def accountant(self) -> Account:
        """The front door's object of this event."""
        return _accountant(*self.whole)


@functools.lru_cache(maxsize=64)
def _accountant(mechanism: str, n: int, published: bool) -> Account:  # noqa: FBT001 (a cache key)
    """Made once for equal events: its curve is what takes time."""
    given = json.loads(mechanism)
    settings: dict[str, Any] = {"n": n, "trust": "published" if published else "all"}
    if given.get("name") == GENERIC:
        return generic(**{k: v for k, v in given.items() if k != "name"}, **settings)
    return shuffle(randomizer_from_dict(given), **settings)
