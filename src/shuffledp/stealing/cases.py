"""What label stealing is applied to: a victim's pair and the inputs that the others may hold.

Each case gives its measures at every eps for a choice of a few numbers, and says which choices are
worth trying. All choices are valid (docs/theory-stealing.md, Theorems 2.3, 5.1 and 5.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shuffledp.pair import Array, Indices
from shuffledp.randomizers import JointLaw
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.choices import LARGER, MOST, Tuned, Variations, least_share
from shuffledp.stealing.measures import (
    Difference,
    Split,
    difference,
    labelled,
    reservoir,
)
from shuffledp.stealing.sketch import Sketch
from shuffledp.values.work import Beside

# Shares are apart if they differ by more than this, far above rounding.
_APART = 1e-9
# Types that estimates look at.
_LIKELY = 3
# Of a difference of masses less than this share of them is rounding.
_ROUNDING = 1e-13
# Outputs that speak against the victim's x0 need little of a reservoir.
_AGAINST = (0.2, 1.0, 0.03)


class Case(Protocol):
    """A victim's ordered pair among others of certain types."""

    @property
    def spread(self) -> float:
        """About what eps is in proportion to, to first order: sqrt int (R_x0 - R_x1)^2/R_x."""
        ...

    def gains(self, epsilon: float, choice: Any) -> Gains:
        """The measures at this eps, of all types or of those that are likely to matter."""
        ...

    def sketch(self, epsilon: float, choice: Any) -> Sketch:
        """Those of the types that are likely to matter, side by side in floats: for estimates."""
        ...

    def certified_gains(self, epsilon: float, choice: Any) -> Gains:
        """The measures at this eps, of types that dominate all others."""
        ...

    def least_share(self, log_target: float, n: int) -> float:
        """The share of the blanket that keeps the reservoir from being empty."""
        ...

    def first(self, epsilon: float, log_target: float, n: int) -> Any | None:
        """A choice worth trying where delta(eps) is about that large; None if there is none."""
        ...

    def along(self, scale: float) -> Case:
        """The case for many eps of a curve that falls by a factor e in ``scale``."""
        ...

    def varied(self, choice: Any, epsilon: float, log_target: float, n: int) -> Variations:
        """Groups of variations: of each the best is taken on to the next."""
        ...


@dataclass(frozen=True, eq=False)
class FiniteCase:
    """Outputs in classes: the others hold any of the inputs of the law's rows.

    Attributes
    ----------
    law : JointLaw
        Rows x0, x1, and then one for each type.
    stand_ins : bool
        Whether a type stands for several inputs that symmetry makes alike. Then s may depend on an
        output only through its laws under x0 and x1 and the blanket, which it must not tell
        these inputs apart by.
    """

    law: JointLaw
    stand_ins: bool

    @property
    def spread(self) -> float:
        """sqrt of the types' largest: what eps is in proportion to, to first order."""
        return math.sqrt(float(_spreads(self.law).max(initial=0.0)))

    @property
    def likely(self) -> list[int]:
        """Rows of the types with the largest int (R_x0 - R_x1)^2/R_x."""
        return _WORK.of(self).likely

    def borrowed(self, choice: Tuned, lender: FiniteCase) -> Tuned:
        """Another case's choice, its weights on the types of the same rank in likelihood."""
        weights = [0.0] * self.types
        for mine, its in zip(self.likely, lender.likely, strict=False):
            weights[mine - 2] = choice.weights[its - 2]
        return choice._replace(weights=tuple(weights))

    @property
    def blanket_loss(self) -> float:
        """sqrt(chi_B/max_x chi_x): what the blanket loses of eps at large n."""
        law = self.law
        change = (law.mass[0] - law.mass[1]) ** 2
        some = change > 0.0
        if not bool(some.any()) or not bool((law.blanket[some] > 0.0).all()):
            return math.inf
        chi = [float((change[some] / row[some]).sum()) for row in law.mass[2:] if row[some].all()]
        blanket = float((change[some] / law.blanket[some]).sum())
        return math.sqrt(blanket / max(chi)) if chi and max(chi) > 0.0 else math.inf

    @property
    def types(self) -> int:
        """Rows beside the victim's."""
        return self.law.mass.shape[0] - 2

    def gains(self, epsilon: float, choice: Tuned) -> Gains:
        """Those of the types that are likely to matter: for choosing, not for certifying."""
        return self._gains(self.likely, epsilon, choice)

    def sketch(self, epsilon: float, choice: Tuned) -> Sketch:
        """The same in floats, not rounded outward."""
        law, g = self.law, self._difference(epsilon)
        beta, join = self._split(g, choice)
        stay = (1.0 - join) * g.high
        rest = law.mass[self.likely] - beta
        # What is left of equal masses is rounding.
        some = rest > _ROUNDING * beta
        joined = np.where(beta > 0.0, join * g.high / np.where(beta > 0.0, beta, 1.0), 0.0)
        stolen = np.where(some, stay / np.where(some, rest, 1.0), 0.0)
        count = len(self.likely)
        mass = np.concatenate([np.tile(beta, (count, 1)), np.where(some, rest, 0.0)], axis=1)
        gain = np.concatenate([np.tile(joined, (count, 1)), stolen], axis=1)
        positive = (1.0 - join) * g.positive
        lost = float((np.where(some, 0.0, positive)).sum(axis=1).max())
        return Sketch(mass, gain, beta.size, lost, float(positive.sum()))

    def certified_gains(self, epsilon: float, choice: Tuned) -> Gains:
        """Those of all types."""
        return self._gains(list(range(2, 2 + self.types)), epsilon, choice)

    def _gains(self, rows: list[int], epsilon: float, choice: Tuned) -> Gains:
        """beta = kappa B with kappa by the sign of g, s tuned to the weighted types."""
        law, g = self.law, self._difference(epsilon)
        split = Split(*self._split(g, choice))
        return Gains(
            reservoir(law, g, split),
            [labelled(law, row, g, split) for row in rows],
            math.fsum((1.0 - split.join) * g.positive) * (1.0 + 2.0**-50),
        )

    def _split(self, g: Difference, choice: Tuned) -> tuple[Array, Array]:
        """beta and s."""
        share = np.where(g.high > 0.0, choice.gain, choice.loss)
        beta = np.where(self._silent, choice.silent, share) * self.law.blanket
        return beta, self._join(beta, choice.weights)

    def _difference(self, epsilon: float) -> Difference:
        return _WORK.of(self).difference(self.law, epsilon)

    @property
    def _silent(self) -> np.ndarray:
        return self.law.mass[0] == self.law.mass[1]

    def _join(self, beta: Array, weights: tuple[float, ...]) -> Array:
        """s = beta H/(1 + beta H); 0 where there is no reservoir."""
        part, alike = _WORK.of(self).parts, _WORK.of(self).alike
        beta = np.asarray(np.bincount(part, weights=beta), dtype=float)
        heard = np.zeros(beta.size)
        for weight, mass in zip(weights, alike, strict=True):
            if weight > 0.0:
                rest = mass - beta
                heard += weight * beta / np.where(rest > 0.0, rest, 1.0) * (rest > 0.0)
        return np.where(beta > 0.0, heard / (1.0 + heard), 0.0)[part]

    def least_share(self, log_target: float, n: int) -> float:
        """Of the blanket."""
        return least_share(float(self.law.blanket.sum()), log_target, n)

    def along(self, scale: float) -> FiniteCase:
        """The case itself."""
        del scale
        return self

    def first(self, epsilon: float, log_target: float, n: int) -> Tuned | None:
        """A reservoir of middling size, tuned to the type with the largest spread."""
        weights = self._tunings()[0]
        found = (
            self._sized(factor, ratio, weights, epsilon, log_target, n)
            for factor in LARGER
            for ratio in _AGAINST
        )
        return next((choice for choice in found if choice is not None), None)

    def varied(self, choice: Tuned, epsilon: float, log_target: float, n: int) -> Variations:
        """Other tunings; sizes; more or less where g < 0; and tunings once more."""
        least = self._sized(1.0, choice.loss / choice.gain, choice.weights, epsilon, log_target, n)
        unit = choice.gain if least is None else least.gain

        def sized(old: Tuned, factor: float, ratio: float) -> Iterator[Tuned]:
            new = self._sized(factor, ratio, old.weights, epsilon, log_target, n)
            if new is not None and new != old:
                yield new

        def tuned(old: Tuned) -> Iterator[Tuned]:
            return (old._replace(weights=weights) for weights in self._tunings())

        return (
            tuned,
            lambda old: (new for f in LARGER for new in sized(old, f, old.loss / old.gain)),
            lambda old: (new for r in _AGAINST for new in sized(old, old.gain / unit, r)),
            tuned,
        )

    def _sized(
        self,
        factor: float,
        ratio: float,
        weights: tuple[float, ...],
        epsilon: float,
        log_target: float,
        n: int,
    ) -> Tuned | None:
        """A reservoir ``factor`` times the least, ``ratio`` times as dense where g < 0."""
        g, blanket = self._difference(epsilon).high, self.law.blanket
        against = (g <= 0.0) & ~self._silent
        mass = float(blanket[~against].sum()) + ratio * float(blanket[against].sum())
        share = factor * least_share(mass, log_target, n)
        return Tuned(share, ratio * share, share, weights) if share <= MOST else None

    def _tunings(self) -> list[tuple[float, ...]]:
        """Each of the likely types alone, and these alike."""
        found = [tuple(float(j + 2 == i) for j in range(self.types)) for i in self.likely]
        if len(self.likely) > 1:
            share = 1.0 / len(self.likely)
            found.append(tuple(share * (j + 2 in self.likely) for j in range(self.types)))
        return found


class _Work:
    """What all choices for one case share.

    Attributes
    ----------
    likely : list of int
        Rows of the types with the largest int (R_x0 - R_x1)^2/R_x.
    parts : array of int, shape (classes,)
        Which classes share s: those alike in x0, x1 and the blanket, or each for itself.
    alike : list of arrays
        Masses of the types' parts.
    """

    def __init__(self, law: JointLaw, *, stand_ins: bool) -> None:
        order = np.argsort(-_spreads(law), kind="stable")
        self.likely = [2 + int(j) for j in order[:_LIKELY]]
        self.parts = _parts(law) if stand_ins else np.arange(law.blanket.size)
        self.alike = [
            np.asarray(np.bincount(self.parts, weights=m), dtype=float) for m in law.mass[2:]
        ]
        self._last: tuple[float, Difference] | None = None

    def difference(self, law: JointLaw, epsilon: float) -> Difference:
        """Kept for the eps that was asked for last: choices are looked at one after the other."""
        last = self._last
        if last is None or last[0] != epsilon:
            last = self._last = epsilon, difference(law, epsilon)
        return last[1]


def _spreads(law: JointLaw) -> Array:
    """int (R_x0 - R_x1)^2/R_x of each type, shape (types,)."""
    p0, p1, others = law.mass[0], law.mass[1], law.mass[2:]
    change = (p0 - p1) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(change > 0.0, change / others, 0.0).sum(axis=1)


def _parts(law: JointLaw) -> Indices:
    """Classes that are alike in x0, x1 and the blanket have one number."""
    total = law.mass[0] + law.mass[1] + law.blanket
    alike = [_clusters(law.mass[k] / total) for k in (0, 1)]
    return np.unique(np.array(alike), axis=1, return_inverse=True)[1].reshape(-1)


def _clusters(shares: Array) -> Indices:
    """Numbers of groups of shares: neighbours in order are together unless clearly apart.

    Shares that are equal but for rounding are never apart; others may be together.
    """
    order = np.argsort(shares, kind="stable")
    number = np.cumsum(np.append(False, np.diff(shares[order]) > _APART))
    found = np.empty(shares.size, dtype=np.intp)
    found[order] = number
    return found


_WORK: Beside[FiniteCase, _Work] = Beside(lambda case: _Work(case.law, stand_ins=case.stand_ins))
