"""ShuffleDpEvent: one round of an account, as dp_accounting describes events."""

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
from shuffledp.neighbours.one_user import Relation
from shuffledp.randomizers import Randomizer, randomizer_from_dict
from shuffledp.rounds import Composed, compose
from shuffledp.training import SGD, sgd

GENERIC = "generic"
# The event does not depend on the target that an account of training asks for.
_ANY_DELTA = 1e-6
_BATCHES = ("sampler", "noise", "clip", "batch", "per_epoch", "relation")


def _plain(given: Any) -> dict[str, Any]:
    """A relation may be given as a value: its name says it, as it has no numbers."""
    if isinstance(given, Mapping) and isinstance(given.get("relation"), Relation):
        given = {**given, "relation": given["relation"].key}
    return plain(given)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffleDpEvent(dp_event.DpEvent):
    """One round of a local randomizer among n users behind a shuffler, or one epoch of DP-SGD.

    The accountants count it under its own relation alone: REPLACE_ONE, or of batches
    REPLACE_SPECIAL or ADD_OR_REMOVE_ONE.

    Attributes
    ----------
    mechanism : mapping
        {"name": ..., parameters}; the name is the randomizer's, or "generic" for any eps0-LDP
        randomizer. Of batches {"sampler", "noise", "clip", "batch", "per_epoch", "relation"}, as
        for ``sgd``. (A mapping, because dp_accounting takes text fields apart into letters.)
        Arrays and tuples in it are kept as lists: events are equal if all their numbers are.
    n : int
        Users, or examples.
    published : bool
        Whether theorems proved only in docs/ are left out.
    """

    # Lists have no hash: equal events share that of the other fields.
    mechanism: Mapping[str, Any] = attr.ib(converter=_plain, hash=False)
    n: int
    published: bool = False

    @classmethod
    def of(cls, mechanism: Account | SGD | Randomizer, *, n: int | None = None) -> ShuffleDpEvent:
        """The event of an account of messages, of one epoch of a run, or of a randomizer.

        Of a run with several epochs, ``SelfComposedDpEvent(event, run.epochs)`` is all of it.

        Parameters
        ----------
        mechanism : Account, SGD or Randomizer
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
        if isinstance(mechanism, SGD) and mechanism.sampler is not None:
            given = {name: getattr(mechanism, name) for name in _BATCHES}
            return cls(given, mechanism.n, mechanism.trust == "published")
        if not isinstance(mechanism, Randomizer) or n is None:
            wanted = "a shuffled mechanism, what sgd(sampler=...) returns, or a randomizer and n"
            raise rejected("mechanism", mechanism, wanted)
        return cls(mechanism.to_dict(), n)

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.accountant().relation

    def composed(self) -> Composed:
        """One round, or one epoch, as a composition."""
        made = self.accountant()
        return made.composed() if isinstance(made, SGD) else compose([made])

    def pld(self, discretization: float) -> Any:
        """Its PLD on a grid, one law for each direction."""
        return self.composed().pld(discretization=discretization)

    def rdp(self, orders: Sequence[float]) -> list[float]:
        """Renyi divergences, certified from above."""
        return self.composed().rdp(orders)

    @property
    def whole(self) -> tuple[str, int, bool]:
        """All that the event holds, hashable: what an accountant knows it by."""
        return text_of(self.mechanism), self.n, self.published

    def accountant(self) -> Account | SGD:
        """The front door's object of this event."""
        return _accountant(*self.whole)


@functools.lru_cache(maxsize=64)
def _accountant(mechanism: str, n: int, published: bool) -> Account | SGD:  # noqa: FBT001 (a cache key)
    """Made once for equal events: its curve is what takes time."""
    given = json.loads(mechanism)
    settings: dict[str, Any] = {"n": n, "trust": "published" if published else "all"}
    if "sampler" in given:
        if set(given) != set(_BATCHES):
            raise rejected("mechanism", given, "exactly " + ", ".join(_BATCHES))
        return sgd(epochs=1, delta=_ANY_DELTA, **given, **settings)
    if given.get("name") == GENERIC:
        return generic(**{k: v for k, v in given.items() if k != "name"}, **settings)
    return shuffle(randomizer_from_dict(given), **settings)
