"""BatchesDpEvent: one epoch of noisy sums of batches, as dp_accounting describes events."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import attr
from dp_accounting import dp_event

from shuffledp.composition import Composed
from shuffledp.errors import rejected
from shuffledp.neighbours import Relation
from shuffledp.training import BatchedSGD, sgd

# The event does not depend on the target that an accountant of training asks for.
_ANY_DELTA = 1e-6
_FIELDS = ("sampler", "noise", "clip", "batch", "per_epoch", "relation")


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

    training: Mapping[str, Any]
    n: int
    published: bool = False

    @classmethod
    def of(cls, run: BatchedSGD) -> BatchesDpEvent:
        """The event of one epoch of a run: ``SelfComposedDpEvent(event, run.epochs)`` is all of it.

        Parameters
        ----------
        run : BatchedSGD
            What ``sgd(sampler=...)`` returns.
        """
        if not isinstance(run, BatchedSGD):
            raise rejected("run", run, "what sgd(sampler=...) returns")
        given = {name: getattr(run, name) for name in _FIELDS} | {"relation": run.relation.key}
        return cls(given, run.n, run.trust == "published")

    def accountant(self) -> BatchedSGD:
        """One epoch, as ``sgd`` accounts for it."""
        return _epoch(tuple(sorted(dict(self.training).items())), self.n, self.published)

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
def _epoch(
    training: tuple[tuple[str, Any], ...],
    n: int,
    published: bool,  # noqa: FBT001 (a cache key)
) -> BatchedSGD:
    """Made once for equal events: its curve is what takes time."""
    given = dict(training)
    if set(given) != set(_FIELDS):
        raise rejected("training", given, "exactly " + ", ".join(_FIELDS))
    trust = "published" if published else "all"
    run = sgd(n=n, epochs=1, delta=_ANY_DELTA, trust=trust, **given)
    return replace(run, epochs=1)
