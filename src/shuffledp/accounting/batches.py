"""BatchesDpEvent: one epoch of noisy sums of batches, as dp_accounting describes events."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import attr
from dp_accounting import dp_event

from shuffledp.accounting.plain import plain, text_of
from shuffledp.errors import rejected
from shuffledp.neighbours import Relation
from shuffledp.rounds import Composed
from shuffledp.training import SGD, sgd

# The event does not depend on the target that an accountant of training asks for.
_ANY_DELTA = 1e-6
_FIELDS = ("sampler", "noise", "clip", "batch", "per_epoch", "relation")


def _plain(given: Any) -> dict[str, Any]:
    """A relation may be given as a value: its name says it, as it has no numbers."""
    if isinstance(given, Mapping) and isinstance(given.get("relation"), Relation):
        given = {**given, "relation": given["relation"].key}
    return plain(given)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class BatchesDpEvent(dp_event.DpEvent):
    """One epoch of DP-SGD: balls and bins, shuffled or Poisson batches, noise on every sum.

    The accountants count it under its own relation alone: REPLACE_SPECIAL, or ADD_OR_REMOVE_ONE.

    Attributes
    ----------
    training : mapping
        {"sampler", "noise", "clip", "batch", "per_epoch", "relation"}, as for ``sgd``. (A mapping,
        because dp_accounting takes text fields apart into letters.)
    n : int
        Examples.
    published : bool
        Whether theorems proved only in docs/theory-batches.md are left out.
    """

    # As with shuffled mechanisms: all that is compared is plain, and lists have no hash.
    training: Mapping[str, Any] = attr.ib(converter=_plain, hash=False)
    n: int
    published: bool = False

    @classmethod
    def of(cls, run: SGD) -> BatchesDpEvent:
        """The event of one epoch of a run: ``SelfComposedDpEvent(event, run.epochs)`` is all of it.

        Parameters
        ----------
        run : SGD
            What ``sgd(sampler=...)`` returns.
        """
        if not isinstance(run, SGD) or run.sampler is None:
            raise rejected("run", run, "what sgd(sampler=...) returns")
        given = {name: getattr(run, name) for name in _FIELDS} | {"relation": run.relation.key}
        return cls(given, run.n, run.trust == "published")

    @property
    def whole(self) -> tuple[str, int, bool]:
        """All that the event holds, hashable: what an accountant knows it by."""
        return text_of(self.training), self.n, self.published

    def accountant(self) -> SGD:
        """One epoch, as ``sgd`` accounts for it."""
        return _epoch(*self.whole)

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.accountant().relation

    def composed(self) -> Composed:
        """One epoch as a composition."""
        return self.accountant().composed()

    def pld(self, discretization: float) -> Any:
        """Its PLD on a grid, one law for each direction."""
        return self.composed().pld(discretization=discretization)

    def rdp(self, orders: Sequence[float]) -> list[float]:
        """Renyi divergences, certified from above."""
        return self.composed().rdp(orders)


@functools.lru_cache(maxsize=64)
def _epoch(training: str, n: int, published: bool) -> SGD:  # noqa: FBT001 (a cache key)
    """Made once for equal events: its curve is what takes time."""
    given = json.loads(training)
    if set(given) != set(_FIELDS):
        raise rejected("training", given, "exactly " + ", ".join(_FIELDS))
    trust = "published" if published else "all"
    run = sgd(n=n, epochs=1, delta=_ANY_DELTA, trust=trust, **given)
    return replace(run, epochs=1)
